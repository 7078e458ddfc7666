//===- Machine.cpp - numbers of the modelled GPU --------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "Failure.h"
#include "TextLine.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

using namespace polyattn::gpumodel;

static std::map<std::string, double *> fieldsOf(Machine &machine) {
  return {
#define POLYATTN_GPU_MODEL_NUMBER(FIELD, NAME) {NAME, &machine.FIELD},
      POLYATTN_GPU_MODEL_NUMBERS(POLYATTN_GPU_MODEL_NUMBER)
#undef POLYATTN_GPU_MODEL_NUMBER
  };
}

static double *find(const std::map<std::string, double *> &fields, const std::string &name,
                    const std::string &where) {
  auto found = fields.find(name);
  if (found != fields.end())
    return found->second;
  std::vector<std::string> names;
  names.reserve(fields.size());
  for (const auto &field : fields)
    names.push_back(field.first);
  throw Failure(where + ": there is no number " + name + " of the machine; the nearest is " +
                nearest(name, names));
}

static double readNumber(const std::string &text, const std::string &where) {
  char *end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !std::isfinite(number) || number < 0)
    throw Failure(where + ": expected a number that is not negative, and got '" + text + "'");
  return number;
}

/// Numbers that divide others, or that sizes are made of.
static void checkPositive(const Machine &machine) {
  const std::pair<const char *, double> positive[] = {
      {"clock_ghz", machine.clockGhz},
      {"multiprocessors", machine.multiprocessors},
      {"clusters_of_two", machine.clustersOfTwo},
      {"register_unit", machine.registerUnit},
      {"remote_bytes_per_clock", machine.remoteBytesPerClock},
      {"l2_bytes_per_clock", machine.l2BytesPerClock},
      {"sm_bytes_per_clock", machine.smBytesPerClock},
      {"sm_store_bytes_per_clock", machine.smStoreBytesPerClock},
      {"memory_terabytes_per_second", machine.memoryTerabytesPerSecond},
      {"lsu_queue", machine.lsuQueue}};
  for (const auto &[name, value] : positive)
    if (value <= 0)
      throw Failure(std::string("number ") + name + " of the machine has to be positive");
}

Machine polyattn::gpumodel::readMachine(const std::string &text,
                                        const std::vector<std::string> &settings) {
  Machine machine;
  std::map<std::string, double *> fields = fieldsOf(machine);
  std::vector<std::string> seen;
  std::stringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    std::string where = "line " + std::to_string(++number) + " of the machine's table";
    line = trim(line);
    if (line.empty() || line[0] == '#')
      continue;
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '|');)
      cells.push_back(trim(cell));
    if (cells.size() != 4 || cells[3].empty())
      throw Failure(where + ": expected NAME | VALUE | UNIT | SOURCE");
    double *field = find(fields, cells[0], where);
    if (std::find(seen.begin(), seen.end(), cells[0]) != seen.end())
      throw Failure(where + ": " + cells[0] + " has a value already");
    seen.push_back(cells[0]);
    *field = readNumber(cells[1], where);
  }
  for (const auto &field : fields)
    if (std::find(seen.begin(), seen.end(), field.first) == seen.end())
      throw Failure("the machine's table has no " + field.first);
  for (const std::string &setting : settings) {
    size_t equals = setting.find('=');
    std::string where = "--set " + setting;
    if (equals == std::string::npos)
      throw Failure(where + ": expected NAME=VALUE");
    double *field = find(fields, setting.substr(0, equals), where);
    *field = readNumber(setting.substr(equals + 1), where);
  }
  checkPositive(machine);
  return machine;
}
