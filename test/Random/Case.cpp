//===- Case.cpp - one program, its inputs and who runs it -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Case.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace polyattn;
using namespace polyattn::random;
using llvm::StringRef;

static constexpr char kMark[] = "// case: ";

std::string Case::format() const {
  std::vector<std::string> numbers;
  for (int64_t positions : calls)
    numbers.push_back(std::to_string(positions));
  return llvm::formatv(
             "{0}B={1} T={2} Tk={3} H={4} Hkv={5} N={6} seed={7} inputs={8} padded={9} "
             "threads={10} segments={11} invariant={12} direction={13} state_every={14} "
             "calls={15} wrt={16} accumulate={17} tile={18} invalid={19} targets={20}\n{21}",
             kMark, sizes.batch, sizes.queries, sizes.keys, sizes.heads, sizes.kvHeads,
             sizes.sequences, seed, inputs, int(padded), threads, segments, int(invariant),
             nameOf(direction), stateEvery, llvm::join(numbers, ","), llvm::join(wrt, ","),
             int(accumulate), int(isTile), int(isInvalid), llvm::join(targets, ","), text)
      .str();
}

static llvm::SmallVector<StringRef> listOf(StringRef value) {
  llvm::SmallVector<StringRef> parts;
  value.split(parts, ',', -1, /*KeepEmpty=*/false);
  return parts;
}

static std::vector<std::string> namesOf(StringRef value) {
  std::vector<std::string> names;
  for (StringRef part : listOf(value))
    names.push_back(part.str());
  return names;
}

/// Those of a list that are numbers.
static std::vector<int64_t> numbersOf(StringRef value) {
  std::vector<int64_t> numbers;
  int64_t number;
  for (StringRef part : listOf(value))
    if (!part.getAsInteger(10, number))
      numbers.push_back(number);
  return numbers;
}

llvm::Expected<Case> Case::parse(StringRef text) {
  size_t at = text.find(kMark);
  if (at == StringRef::npos)
    return llvm::createStringError("expected a line `" + StringRef(kMark) + "NAME=VALUE ...`");
  auto [line, rest] = text.drop_front(at + sizeof(kMark) - 1).split('\n');
  Case result;
  result.text = rest.str();
  llvm::SmallVector<StringRef> fields;
  line.split(fields, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef field : fields) {
    auto [name, value] = field.split('=');
    int64_t number = 0;
    bool isNumber = !value.getAsInteger(10, number);
    int64_t *size = llvm::StringSwitch<int64_t *>(name)
                        .Case("B", &result.sizes.batch)
                        .Case("T", &result.sizes.queries)
                        .Case("Tk", &result.sizes.keys)
                        .Case("H", &result.sizes.heads)
                        .Case("Hkv", &result.sizes.kvHeads)
                        .Case("N", &result.sizes.sequences)
                        .Case("threads", &result.threads)
                        .Case("state_every", &result.stateEvery)
                        .Case("segments", &result.segments)
                        .Default(nullptr);
    bool *flag = llvm::StringSwitch<bool *>(name)
                     .Case("padded", &result.padded)
                     .Case("invariant", &result.invariant)
                     .Case("accumulate", &result.accumulate)
                     .Case("tile", &result.isTile)
                     .Case("invalid", &result.isInvalid)
                     .Default(nullptr);
    if (size && isNumber) {
      *size = number;
    } else if (flag && isNumber) {
      *flag = number != 0;
    } else if (name == "seed" && isNumber) {
      result.seed = uint64_t(number);
    } else if (name == "inputs") {
      result.inputs = value.str();
    } else if (name == "direction" && parseDirection(value)) {
      result.direction = *parseDirection(value);
    } else if (name == "calls" && numbersOf(value).size() == listOf(value).size()) {
      result.calls = numbersOf(value);
    } else if (name == "targets") {
      result.targets = namesOf(value);
    } else if (name == "wrt") {
      result.wrt = namesOf(value);
    } else {
      return llvm::createStringError("'" + field + "' says nothing of a case");
    }
  }
  return result;
}
