//===- LaunchPlan.h - how the kernels of an entry are launched --*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The op `tile.entry` as plain data: processors and GPUs, the emulator, the interpreter, the JSON
// of an artifact and `--explain` use this one. docs/TileDialect.md says what the parts mean, and
// runtime/plan.h is the form that launches read.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LAUNCH_LAUNCHPLAN_H
#define POLYATTN_LAUNCH_LAUNCHPLAN_H

#include "polyattn/Tensor/ElementType.h"
#include "runtime/plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace polyattn {

/// `times * ceildiv(base + plus, divisor)`.
struct LaunchExtent {
  enum Base {
    Number = POLYATTN_RT_NUMBER,
    Dimension = POLYATTN_RT_DIMENSION,
    Segments = POLYATTN_RT_SEGMENTS,
    Splits = POLYATTN_RT_SPLITS,
    Parts = POLYATTN_RT_PARTS,
  };
  Base base = Number;
  int64_t tensor = 0, dimension = 0, plus = 0, divisor = 1, times = 1;

  static LaunchExtent number(int64_t number) { return {Number, 0, 0, number, 1, 1}; }
  static LaunchExtent dimensionOf(int64_t tensor, int64_t dimension) {
    return {Dimension, tensor, dimension, 0, 1, 1};
  }
};

struct LaunchWorkspace {
  enum Fill {
    None = POLYATTN_RT_FILL_NONE,
    Zero = POLYATTN_RT_FILL_ZERO,
    Launch = POLYATTN_RT_FILL_LAUNCH,
    Program = POLYATTN_RT_FILL_PROGRAM,
  };
  std::string name;
  ElementType dtype = ElementType::F32;
  Fill fill = None;
  std::vector<LaunchExtent> shape;
};

struct LaunchStage {
  enum Kind {
    Plain = POLYATTN_RT_STAGE,
    PerSplit = POLYATTN_RT_STAGE_PER_SPLIT,
    CombinesSplits = POLYATTN_RT_STAGE_COMBINES_SPLITS,
    Chained = POLYATTN_RT_STAGE_CHAINED,
    SumsSegments = POLYATTN_RT_STAGE_SUMS_SEGMENTS,
  };
  std::string function;
  std::vector<LaunchExtent> programs;
  /// Numbers of the plan's workspaces, in the order of the kernel's arguments.
  std::vector<int64_t> workspaces;
  Kind kind = Plain;
  /// Bytes of scratch of each thread on a processor, of each CTA on a GPU.
  int64_t scratchBytes = 0;
  /// CTAs of a program.
  int64_t cluster = 1;
};

struct LaunchChoice {
  LaunchExtent::Base kind = LaunchExtent::Segments;
  LaunchExtent of;
  /// What a kind does not have is 0.
  int64_t block = 0, multiple = 0, minPositions = 0, prefixCostPercent = 0, subsegments = 0,
          max = 0, bytes = 0;

  /// The number of that name in `tile.choose` and JSON.
  static int64_t LaunchChoice::*field(llvm::StringRef name);
};

struct LaunchPlan {
  std::vector<LaunchWorkspace> workspaces;
  /// Run one after another.
  std::vector<LaunchStage> stages;
  std::vector<LaunchChoice> choices;

  /// The choice of that kind, or null.
  const LaunchChoice *find(LaunchExtent::Base kind) const;
  /// The stage of that function, or null.
  const LaunchStage *findStage(llvm::StringRef function) const;

  llvm::json::Value toJSON() const;
  /// Refuses in a line whatever a launcher could not take: the text may come from a damaged file.
  /// `ranks` has those of the caller's tensors.
  static llvm::Expected<LaunchPlan> fromJSON(const llvm::json::Value &value,
                                             llvm::ArrayRef<int64_t> ranks);
  /// What is wrong with the plan of an entry with tensors of these ranks, as fromJSON says it.
  llvm::Error verify(llvm::ArrayRef<int64_t> ranks) const;
};

/// An extent as `tile.entry` has it, with names for the sizes of tensors where `nameOf` has any.
std::string
toString(const LaunchExtent &extent,
         llvm::function_ref<std::string(int64_t tensor, int64_t dimension)> nameOf = nullptr);

/// The runtime's form of a plan; `functions` are the addresses of the stages, or none for a GPU.
class RuntimePlan {
public:
  explicit RuntimePlan(const LaunchPlan &plan, llvm::ArrayRef<polyattn_rt_function> functions = {});
  RuntimePlan(const RuntimePlan &) = delete;
  RuntimePlan &operator=(const RuntimePlan &) = delete;
  const polyattn_rt_plan &get() const { return plan; }

private:
  std::vector<polyattn_rt_workspace_rule> workspaces;
  std::vector<polyattn_rt_stage_rule> stages;
  std::vector<std::vector<int64_t>> used;
  std::vector<polyattn_rt_choice_rule> choices;
  polyattn_rt_plan plan;
};

polyattn_rt_extent runtimeExtent(const LaunchExtent &extent);

} // namespace polyattn

#endif // POLYATTN_LAUNCH_LAUNCHPLAN_H
