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
  return llvm::formatv(
             "{0}B={1} T={2} Tk={3} H={4} Hkv={5} N={6} seed={7} inputs={8} padded={9} "
             "threads={10} segments={11} invariant={12} tile={13} invalid={14} targets={15}\n{16}",
             kMark, sizes.batch, sizes.queries, sizes.keys, sizes.heads, sizes.kvHeads,
             sizes.sequences, seed, inputs, int(padded), threads, segments, int(invariant),
             int(isTile), int(isInvalid), llvm::join(targets, ","), text)
      .str();
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
                        .Case("segments", &result.segments)
                        .Default(nullptr);
    bool *flag = llvm::StringSwitch<bool *>(name)
                     .Case("padded", &result.padded)
                     .Case("invariant", &result.invariant)
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
    } else if (name == "targets") {
      llvm::SmallVector<StringRef> names;
      value.split(names, ',', -1, /*KeepEmpty=*/false);
      result.targets.assign(names.begin(), names.end());
    } else {
      return llvm::createStringError("'" + field + "' says nothing of a case");
    }
  }
  return result;
}
