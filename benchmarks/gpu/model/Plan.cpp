//===- Plan.cpp - how an entry's kernels are launched for sizes of a call -===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "Failure.h"
#include "Launch.h"
#include "TextLine.h"
#include "runtime/plan.h"
#include <algorithm>

using namespace polyattn::gpumodel;

namespace {

using Extents = std::vector<polyattn_rt_extent>;

/// The tables of the runtime, and the memory behind their pointers.
struct Plan {
  std::vector<std::vector<int64_t>> sizes;
  std::vector<polyattn_rt_workspace_rule> workspaces;
  std::vector<polyattn_rt_stage_rule> stages;
  std::vector<polyattn_rt_choice_rule> choices;
  uint32_t resident = 0;
  int64_t segments = 0;
};

} // namespace

/// BASE TENSOR DIMENSION PLUS DIVISOR TIMES, where a base is number, size, segments, splits, parts.
static polyattn_rt_extent readExtent(TextLine &line, const Plan &plan) {
  static const char *const bases[] = {"number", "size", "segments", "splits", "parts"};
  std::string base = line.word("the base of a size");
  const auto *found = std::find(std::begin(bases), std::end(bases), base);
  if (found == std::end(bases))
    line.fail("unknown base of a size '" + base + "'");
  polyattn_rt_extent extent{};
  extent.base = found - std::begin(bases);
  extent.tensor = line.number("a tensor");
  extent.dimension = line.number("a dimension");
  extent.plus = line.number("a number to add");
  extent.divisor = line.number("a divisor");
  extent.times = line.number("a factor");
  if (extent.divisor < 1)
    line.fail("a divisor has to be positive");
  if (extent.base == POLYATTN_RT_DIMENSION &&
      (extent.tensor < 0 || extent.tensor >= static_cast<int64_t>(plan.sizes.size()) ||
       extent.dimension < 0 ||
       extent.dimension >= static_cast<int64_t>(plan.sizes[extent.tensor].size())))
    line.fail("there is no such tensor or dimension");
  return extent;
}

static Extents readExtents(TextLine &line, const Plan &plan, size_t most) {
  Extents extents;
  while (!line.ended())
    extents.push_back(readExtent(line, plan));
  if (extents.size() > most)
    line.fail("there are too many sizes");
  return extents;
}

static void readWorkspace(TextLine &line, Plan &plan) {
  std::string name = line.word("a dtype");
  polyattn_rt_workspace_rule rule{};
  for (int32_t dtype = POLYATTN_F32; dtype <= POLYATTN_F64; ++dtype)
    if (name == polyattn_dtype_name(dtype))
      rule.dtype = dtype;
  if (!rule.dtype)
    line.fail("unknown dtype '" + name + "'");
  Extents sizes = readExtents(line, plan, POLYATTN_MAX_RANK);
  rule.rank = static_cast<int64_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), rule.sizes);
  plan.workspaces.push_back(rule);
}

static void readStage(TextLine &line, Plan &plan) {
  polyattn_rt_stage_rule stage{};
  std::string kind = line.word("a kind of stage");
  if (kind == "sums_segments")
    stage.kind = POLYATTN_RT_STAGE_SUMS_SEGMENTS;
  else if (kind != "plain")
    line.fail("only plain and sums_segments are kinds of stages on a GPU, and got '" + kind + "'");
  stage.cluster = line.number("CTAs of a program");
  stage.scratch_bytes = line.number("bytes of a workspace");
  Extents programs = readExtents(line, plan, POLYATTN_RT_MAX_FACTORS);
  stage.num_programs = static_cast<int64_t>(programs.size());
  std::copy(programs.begin(), programs.end(), stage.programs);
  plan.stages.push_back(stage);
}

static void readChoice(TextLine &line, Plan &plan) {
  polyattn_rt_choice_rule rule{};
  std::string kind = line.word("a kind of choice");
  rule.kind = kind == "segments" ? POLYATTN_RT_SEGMENTS : kind == "parts" ? POLYATTN_RT_PARTS : -1;
  if (rule.kind < 0)
    line.fail("only segments and parts are chosen on a GPU, and got '" + kind + "'");
  for (int64_t *field : {&rule.block, &rule.multiple, &rule.min_positions,
                         &rule.prefix_cost_percent, &rule.subsegments, &rule.max, &rule.bytes})
    *field = line.number("a number of the choice");
  rule.of = readExtent(line, plan);
  plan.choices.push_back(rule);
}

/// The runtime asks the driver how many CTAs of each kernel fit; the least counts.
static void readKernel(TextLine &line, Plan &plan, const Machine &machine) {
  Launch launch;
  launch.warps = static_cast<uint32_t>(line.integer("1 to 32 warps", 32));
  launch.registers = static_cast<uint32_t>(line.integer("registers of a thread", kZeroRegister));
  launch.shared = static_cast<uint32_t>(line.integer("bytes of shared memory", 1 << 20));
  if (!launch.warps)
    line.fail("expected 1 to 32 warps");
  uint32_t resident = residentCTAs(launch, machine);
  plan.resident = plan.resident ? std::min(plan.resident, resident) : resident;
}

static Plan readPlan(const std::string &text, const Machine &machine) {
  Plan plan;
  std::stringstream lines(text);
  int number = 0;
  for (std::string content; std::getline(lines, content);) {
    TextLine line("line " + std::to_string(++number) + " of the plan", content);
    if (line.ended())
      continue;
    std::string keyword = line.word("a keyword");
    if (keyword == "sizes") {
      plan.sizes.emplace_back();
      while (!line.ended())
        plan.sizes.back().push_back(line.number("a size"));
    } else if (keyword == "workspace")
      readWorkspace(line, plan);
    else if (keyword == "stage")
      readStage(line, plan);
    else if (keyword == "choice")
      readChoice(line, plan);
    else if (keyword == "kernel")
      readKernel(line, plan, machine);
    else if (keyword == "segments")
      plan.segments = static_cast<int64_t>(line.integer("a number of segments", 1 << 20));
    else
      line.fail("unknown keyword '" + keyword + "'");
  }
  return plan;
}

static polyattn_rt_launch choose(const Plan &plan, const Machine &machine,
                                 const std::vector<const int64_t *> &sizes) {
  polyattn_rt_plan tables{plan.workspaces.data(), static_cast<int64_t>(plan.workspaces.size()),
                          plan.stages.data(),     static_cast<int64_t>(plan.stages.size()),
                          plan.choices.data(),    static_cast<int64_t>(plan.choices.size())};
  polyattn_rt_workers workers =
      polyattn_rt_multiprocessors(static_cast<int64_t>(machine.multiprocessors), plan.resident);
  polyattn_rt_launch launch{sizes.data(), 1, 1, 1};
  polyattn_rt_choose(&tables, &workers, &launch);
  if (plan.segments > 1 && !polyattn_rt_find_choice(&tables, POLYATTN_RT_SEGMENTS))
    throw Failure("its positions cannot be cut into " + std::to_string(plan.segments) +
                  " segments");
  if (plan.segments)
    launch.segments = plan.segments;
  return launch;
}

void polyattn::gpumodel::writeChoices(std::ostream &out, const std::string &text,
                                      const Machine &machine) {
  Plan plan = readPlan(text, machine);
  std::vector<const int64_t *> sizes;
  sizes.reserve(plan.sizes.size());
  for (const std::vector<int64_t> &tensor : plan.sizes)
    sizes.push_back(tensor.data());
  polyattn_rt_launch launch = choose(plan, machine, sizes);
  out << "{\"segments\": " << launch.segments << ", \"parts\": " << launch.parts
      << ", \"programs\": [";
  for (size_t k = 0; k < plan.stages.size(); ++k)
    out << (k ? ", " : "") << polyattn_rt_count_programs(&plan.stages[k], &launch);
  out << "], \"workspaces\": [";
  for (size_t k = 0; k < plan.workspaces.size(); ++k) {
    out << (k ? ", [" : "[");
    for (int64_t d = 0; d < plan.workspaces[k].rank; ++d)
      out << (d ? ", " : "") << polyattn_rt_extent_value(&plan.workspaces[k].sizes[d], &launch);
    out << "]";
  }
  out << "]}\n";
}
