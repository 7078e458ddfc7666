//===- Session.cpp - many cases, and what became of them ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "Spoil.h"
#include "TilePrograms.h"
#include "polyattn/Pipelines/Registration.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <chrono>

using namespace polyattn;
using namespace polyattn::random;
using test::ProcessEnd;

/// Far more than a case takes. A driver of GPUs reserves more addresses than it has memory, so with
/// it these have no limit.
static test::ProcessLimits limitsFor(const std::vector<std::vector<std::string>> &targets) {
  bool hasDriver = llvm::any_of(targets, [](const std::vector<std::string> &group) {
    return llvm::is_contained(group, "cuda");
  });
  return {/*seconds=*/120, hasDriver ? 0 : size_t(3) << 30};
}

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Session::Session(SessionOptions options, llvm::raw_ostream &out)
    : options(std::move(options)), out(out) {
  registerDialects(dialects);
  registerTargets(targets);
}

Case Session::makeCase(size_t number, Choices &choices) const {
  bool isTile = int((number * 37) % 100) < options.tilePercent;
  Case made = isTile ? makeTileProgram(choices) : makeSpec(choices, options.weights);
  if (!isTile && choices.chance(6)) {
    made.isInvalid = true;
    made.text = spoil(choices, made.text);
  }
  for (const std::vector<std::string> &group : options.targets)
    made.targets.push_back(group[(number + number / group.size()) % group.size()]);
  return made;
}

/// Messages of one kind: without places and numbers.
static std::string kindOf(llvm::StringRef message) {
  size_t at = message.find("): ");
  if (message.starts_with("loc(") && at != llvm::StringRef::npos)
    message = message.drop_front(at + 3);
  std::string kind;
  for (char c : message.split('\n').first.take_front(90))
    if (!llvm::isDigit(c))
      kind += c;
  return kind;
}

std::vector<Session::Failure> Session::failuresOf(const TrialReport &report,
                                                  const ProcessEnd &end) {
  std::vector<Failure> failures;
  for (int i = 0; i < report.count; ++i) {
    const TrialReport::Entry &entry = report.entries[i];
    if (entry.outcome != Outcome::Wrong)
      continue;
    llvm::StringRef message = entry.message;
    failures.push_back({entry.target,
                        message.starts_with("result '") ? "wrong numbers" : kindOf(message),
                        entry.message});
  }
  if (!end.empty())
    failures.push_back({report.stage, end, end});
  return failures;
}

void Session::count(const TrialReport &report) {
  for (int i = 0; i < report.count; ++i) {
    const TrialReport::Entry &entry = report.entries[i];
    Count &count = counts[entry.target];
    count.right += entry.outcome == Outcome::Right;
    count.refused += entry.outcome == Outcome::Refused;
    count.wrong += entry.outcome == Outcome::Wrong;
    count.rows += entry.compared;
    count.undetermined += entry.undetermined;
    if (entry.outcome == Outcome::Right)
      count.worst = std::max(count.worst, entry.worst);
    if (entry.outcome == Outcome::Refused)
      ++refusals[std::string(entry.target) + ": " + kindOf(entry.message)];
  }
}

std::vector<Session::Failure> Session::tryCase(const Case &trial, TrialReport *copy) {
  std::vector<Failure> failures;
  test::forEachInProcess([](size_t i) { return i < 1; }, 1, sizeof(TrialReport),
                         limitsFor({trial.targets}),
                         [&](size_t, void *report) {
                           runTrial(trial, dialects, targets, *static_cast<TrialReport *>(report));
                         },
                         [&](size_t, const void *report, const ProcessEnd &end) {
                           failures = failuresOf(*static_cast<const TrialReport *>(report), end);
                           if (copy)
                             *copy = *static_cast<const TrialReport *>(report);
                         });
  return failures;
}

/// The case with one target, and as small as it can be made.
Case Session::shrunk(size_t number, const Failure &failure) {
  auto make = [&](Choices &choices) {
    Case made = makeCase(number, choices);
    bool isTarget = llvm::is_contained(made.targets, failure.target);
    made.targets.clear();
    if (isTarget)
      made.targets = {failure.target};
    return made;
  };
  auto start = std::chrono::steady_clock::now();
  auto attempt = [&](const Numbers &numbers) {
    Choices choices(numbers);
    if (secondsSince(start) > options.shrinkSeconds)
      return Attempt();
    Case made = make(choices);
    Attempt result{false, choices.getNumbers(), choices.getGroups()};
    for (const Failure &other : tryCase(made))
      result.interesting |= other.key() == failure.key();
    return result;
  };
  Choices first(options.seed * 0x9e3779b97f4a7c15 + number);
  make(first);
  Choices best(shrink(attempt(first.getNumbers()), options.tries, attempt));
  return make(best);
}

void Session::keepFailure(size_t number, const Failure &failure) {
  if (++failures[failure.key()] > options.keep)
    return;
  Case smallest = shrunk(number, failure);
  llvm::SmallString<128> path(options.folder);
  llvm::sys::path::append(path, "random-" + std::to_string(options.seed) + "-" +
                                    std::to_string(number) + "-" + failure.target + ".mlir");
  // A folder that cannot be made leaves a file that cannot be opened, of which is said why.
  (void)llvm::sys::fs::create_directories(options.folder);
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  std::string message = failure.message;
  for (const Failure &other : tryCase(smallest))
    if (other.key() == failure.key())
      message = other.message;
  std::string comment;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(message).split(lines, '\n');
  for (llvm::StringRef line : lines)
    comment += ("// " + line + "\n").str();
  if (code)
    out << "'" << path << "': " << code.message() << "\n";
  else
    file << "// " << failure.key() << "\n"
         << comment << "// polyattn-random --replay " << path << "\n"
         << smallest.format();
  out << "case " << number << ", " << failure.key() << ": " << message << "\n  "
      << "polyattn-random --replay " << path << "\n";
}

int Session::run() {
  auto start = std::chrono::steady_clock::now();
  size_t cases = 0;
  std::vector<std::pair<size_t, Failure>> found;
  test::forEachInProcess(
      [&](size_t i) { return i < options.count && secondsSince(start) < options.seconds; },
      options.jobs, sizeof(TrialReport), limitsFor(options.targets),
      [&](size_t i, void *report) {
        size_t number = options.first + i;
        Choices choices(options.seed * 0x9e3779b97f4a7c15 + number);
        runTrial(makeCase(number, choices), dialects, targets, *static_cast<TrialReport *>(report));
      },
      [&](size_t i, const void *memory, const ProcessEnd &end) {
        const auto &report = *static_cast<const TrialReport *>(memory);
        ++cases;
        count(report);
        for (Failure &failure : failuresOf(report, end))
          found.push_back({options.first + i, std::move(failure)});
      });
  double seconds = secondsSince(start);
  llvm::sort(found, [](const auto &a, const auto &b) { return a.first < b.first; });
  for (const auto &[number, failure] : found)
    keepFailure(number, failure);
  printSummary(cases, seconds);
  return int(found.size());
}

void Session::printSummary(size_t cases, double seconds) {
  for (const auto &[target, count] : counts)
    out << llvm::format("%-18s %6lld right %5lld refused %4lld wrong, %8lld rows, %lld badly "
                        "determined, at most %.2f of what is allowed\n",
                        target.c_str(), (long long)count.right, (long long)count.refused,
                        (long long)count.wrong, (long long)count.rows,
                        (long long)count.undetermined, count.worst);
  for (const auto &[reason, count] : refusals)
    out << llvm::format("%6lld refused: ", (long long)count) << reason << "\n";
  int64_t all = 0;
  for (const auto &[key, count] : failures) {
    out << llvm::format("%6lld failed: ", (long long)count) << key << "\n";
    all += count;
  }
  out << "seed " << options.seed << ": " << cases << " cases from " << options.first << " on in "
      << int(seconds) << " s, " << all << " failed\n";
}

int Session::replay(const Case &trial) {
  TrialReport report = {};
  std::vector<Failure> found = tryCase(trial, &report);
  for (int i = 0; i < report.count; ++i) {
    const TrialReport::Entry &entry = report.entries[i];
    static constexpr const char *kNames[] = {"not run", "right", "refused", "wrong"};
    out << entry.target << ": " << kNames[static_cast<int>(entry.outcome)] << " " << entry.message
        << llvm::format(" (%lld rows, %lld badly determined, %.3g of what is allowed)\n",
                        (long long)entry.compared, (long long)entry.undetermined, entry.worst);
  }
  for (const Failure &failure : found)
    out << failure.key() << "\n";
  return int(found.size());
}
