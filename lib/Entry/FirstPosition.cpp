//===- FirstPosition.cpp - where calls begin in their sequences -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Entry/Signature.h"

using namespace llvm;
using namespace polyattn;

/// Whether a table of positions is among the arguments.
static bool hasTables(const Signature &signature) {
  return any_of(signature.arguments,
                [](const TensorSignature &t) { return t.role == Role::Positional; });
}

Error polyattn::checkFirstPosition(const Signature &signature, const CallSizes &sizes,
                                   const HostTensor &first) {
  int64_t length = std::max(sizes.queries, sizes.keys);
  int64_t limit = hasTables(signature) ? sizes.rows : kPositionLimit;
  std::string problem;
  first.forEach([&](int64_t batch, void *address) {
    if (!problem.empty())
      return;
    int64_t value = loadInteger(first.type, address);
    raw_string_ostream stream(problem);
    if (value < 0)
      stream << "a position of at least 0";
    else if (value % signature.positionUnit != 0)
      stream << "a multiple of the local block, " << signature.positionUnit;
    else if (length > limit)
      stream << "tables of at least " << length << " rows, they have L = " << limit;
    else if (value > limit - length)
      stream << "at most " << limit - length << ", so that " << length << " rows end within "
             << (hasTables(signature) ? "the tables' L = " : "") << limit << " positions";
    else
      return;
    stream << ", got " << value << " for batch " << batch;
  });
  if (problem.empty())
    return Error::success();
  const TensorSignature &argument = signature.arguments[*signature.firstPosition];
  return createStringError("argument '" + argument.name + "': expected " + problem);
}
