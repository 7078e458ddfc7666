//===- Report.cpp - caught and survived -----------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "llvm/Support/Format.h"
#include <map>

using namespace polyattn;
using namespace polyattn::mutation;

void Counts::add(const Verdict &verdict) {
  ++all;
  if (verdict.kind == Verdict::NotReached)
    ++notReached;
  else if (verdict.kind == Verdict::Same)
    ++same;
  else if (verdict.kind == Verdict::Crashed)
    ++crashed;
  else if (verdict.byChecker)
    ++(verdict.byNumbers ? byBoth : byChecker);
  else
    ++(verdict.byNumbers ? byNumbers : survived);
}

double Counts::share() const {
  int changes = all - notReached - same;
  return changes ? double(caught()) / changes : 1;
}

llvm::json::Object Counts::toJson() const {
  return llvm::json::Object{
      {"mutants", all},          {"not_reached", notReached}, {"same", same},
      {"by_checker", byChecker}, {"by_numbers", byNumbers},   {"by_both", byBoth},
      {"survived", survived},    {"crashed", crashed},        {"caught_share", share()}};
}

/// The op and the change, without the numbers of a change that has some.
static std::string kindOf(const Mutant &mutant) {
  llvm::StringRef change = mutant.change;
  if (change.starts_with("lane "))
    change = "lane changed";
  return mutant.op + ": " + change.str();
}

static std::string reasonOf(const Verdict &verdict) {
  switch (verdict.kind) {
  case Verdict::NotReached:
    return "the op is not executed on these inputs";
  case Verdict::Same:
    return "no change on these inputs: equal values, or what it is already";
  case Verdict::Crashed:
    return "the emulator crashed or took too long";
  case Verdict::Ran:
    break;
  }
  if (verdict.identical)
    return "the same results to the bit";
  std::string text;
  llvm::raw_string_ostream(text) << "within the tolerance: a relative error of "
                                 << llvm::format("%.2g", verdict.error);
  return text;
}

Counts Report::count() const {
  Counts counts;
  for (const Verdict &verdict : verdicts)
    counts.add(verdict);
  return counts;
}

static void printCounts(llvm::raw_ostream &stream, llvm::StringRef name, const Counts &counts) {
  stream << llvm::left_justify(name, 48)
         << llvm::format("%6d %6d %6d %8d %8d %6d %6d %6d %7.1f%%\n", counts.all, counts.notReached,
                         counts.same, counts.byChecker, counts.byNumbers, counts.byBoth,
                         counts.survived, counts.crashed, 100 * counts.share());
}

void Report::print(llvm::raw_ostream &stream) const {
  std::map<std::string, Counts> kinds;
  for (auto [number, verdict] : llvm::zip_equal(numbers, verdicts))
    kinds[kindOf(mutants[number])].add(verdict);
  stream << llvm::left_justify("@" + kernel, 48)
         << "   all notrun   same  checker  numbers   both  alive  crash  caught\n";
  for (const auto &[kind, counts] : kinds)
    printCounts(stream, kind, counts);
  printCounts(stream, "in all", count());
  for (auto [number, verdict] : llvm::zip_equal(numbers, verdicts)) {
    if (verdict.isCaught() || verdict.kind == Verdict::Same)
      continue;
    const Mutant &mutant = mutants[number];
    stream << kernel << ":" << mutant.line << ": " << mutant.op << ": " << mutant.change
           << " (the spec's " << mutant.origin << "): " << reasonOf(verdict) << "\n";
  }
}

llvm::json::Value Report::toJson() const {
  llvm::json::Array list;
  for (auto [number, verdict] : llvm::zip_equal(numbers, verdicts)) {
    const Mutant &mutant = mutants[number];
    llvm::json::Object entry{{"number", number},
                             {"op", mutant.op},
                             {"change", mutant.change},
                             {"line", mutant.line},
                             {"origin", mutant.origin},
                             {"by_checker", verdict.byChecker},
                             {"by_numbers", verdict.byNumbers}};
    if (verdict.isCaught())
      entry["message"] = llvm::json::fixUTF8(verdict.message);
    else
      entry["reason"] = reasonOf(verdict);
    list.push_back(std::move(entry));
  }
  llvm::json::Object object = count().toJson();
  object["kernel"] = kernel;
  object["tolerance"] = tolerance;
  object["list"] = std::move(list);
  return object;
}
