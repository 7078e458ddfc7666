//===- CallNumbers.cpp - whole numbers that decide which memory is read ---===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Entry/Signature.h"
#include "llvm/ADT/DenseMap.h"

using namespace llvm;
using namespace polyattn;

/// Whether a table of positions is among the arguments.
static bool hasTables(const Signature &signature) {
  return any_of(signature.arguments,
                [](const TensorSignature &t) { return t.role == Role::Positional; });
}

namespace {
/// The numbers of a call, those of batch b, or of packed sequence b, at index b; empty where the
/// entry has none.
class Checker {
public:
  Checker(const Signature &signature, const CallSizes &sizes, WholeNumbers numbers)
      : signature(signature), sizes(sizes), slots(load(signature.slots, numbers)),
        lengths(load(signature.lengths, numbers)), offsets(load(signature.offsets, numbers)),
        first(load(signature.firstPosition, numbers)) {}

  Error check() const {
    if (Error error = checkSlots())
      return error;
    if (Error error = checkLengths())
      return error;
    if (Error error = checkOffsets())
      return error;
    // Where a call ends is not known without its offsets.
    if (signature.offsets && offsets.empty())
      return Error::success();
    if (Error error = checkFirst())
      return error;
    return checkLimit();
  }

private:
  static SmallVector<int64_t> load(std::optional<unsigned> argument, WholeNumbers numbers) {
    SmallVector<int64_t> values;
    if (const HostTensor *tensor = argument ? numbers(*argument) : nullptr)
      tensor->forEach(
          [&](int64_t, void *address) { values.push_back(loadInteger(tensor->type, address)); });
    return values;
  }

  Error fail(unsigned argument, const Twine &expected, int64_t value, const Twine &where) const {
    return createStringError("argument '" + signature.arguments[argument].name + "': expected " +
                             expected + ", got " + Twine(value) + where);
  }
  Error fail(unsigned argument, const Twine &expected, int64_t value, size_t batch) const {
    StringRef what = signature.offsets ? " for sequence " : " for batch ";
    return fail(argument, expected, value, what + Twine(batch));
  }

  Error checkSlots() const {
    DenseMap<int64_t, size_t> taken;
    for (auto [batch, slot] : enumerate(slots)) {
      if (slot < 0)
        continue;
      if (slot >= sizes.slots)
        return fail(*signature.slots, "a slot below P = " + Twine(sizes.slots), slot, batch);
      auto [before, isNew] = taken.try_emplace(slot, batch);
      if (!isNew)
        return fail(*signature.slots, "another slot than that of batch " + Twine(before->second),
                    slot, batch);
    }
    return Error::success();
  }

  Error checkLengths() const {
    for (auto [batch, length] : enumerate(lengths))
      if (length < 0 || length > sizes.queries)
        return fail(*signature.lengths, "a length from 0 to T = " + Twine(sizes.queries), length,
                    batch);
    return Error::success();
  }

  Error checkOffsets() const {
    auto fail = [&](const Twine &expected, size_t i) {
      return this->fail(*signature.offsets, expected, offsets[i], " at " + Twine(i));
    };
    if (offsets.empty())
      return Error::success();
    if (offsets[0] != 0)
      return fail("the first offset to be 0", 0);
    for (size_t i = 1; i < offsets.size(); ++i) {
      if (offsets[i] < offsets[i - 1])
        return fail("at least the offset before, " + Twine(offsets[i - 1]), i);
      if (hasTables(signature) && offsets[i] - offsets[i - 1] > sizes.rows)
        return fail("sequences no longer than tables, L = " + Twine(sizes.rows) +
                        ", and so at most " + Twine(offsets[i - 1] + sizes.rows),
                    i);
    }
    if (offsets.back() != sizes.queries)
      return fail("the last offset to be T = " + Twine(sizes.queries), offsets.size() - 1);
    return Error::success();
  }

  /// The positions of a batch, or sequence, that are computed.
  int64_t lengthOf(size_t batch) const {
    if (!offsets.empty())
      return offsets[batch + 1] - offsets[batch];
    return lengths.empty() ? std::max(sizes.queries, sizes.keys) : lengths[batch];
  }

  Error checkFirst() const {
    int64_t limit = hasTables(signature) ? sizes.rows : kPositionLimit;
    for (auto [batch, value] : enumerate(first)) {
      if (!slots.empty() && slots[batch] < 0)
        continue;
      int64_t length = lengthOf(batch);
      std::string problem;
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
        continue;
      return fail(*signature.firstPosition, problem, value, batch);
    }
    return Error::success();
  }

  /// A sequence has the positions of the call, and those before where calls continue it.
  Error checkLimit() const {
    const SizeLimit *limit = signature.limitOf(kPositions);
    size_t count = !offsets.empty() ? offsets.size() - 1 : signature.slots ? first.size() : 0;
    for (size_t batch = 0; limit && batch < count; ++batch) {
      if (!slots.empty() && slots[batch] < 0)
        continue;
      int64_t length = lengthOf(batch) + (signature.slots && !first.empty() ? first[batch] : 0);
      if (length > limit->most)
        return failLimit(signature, kPositions, length,
                         (signature.offsets ? " in sequence " : " in batch ") + Twine(batch));
    }
    return Error::success();
  }

  const Signature &signature;
  const CallSizes &sizes;
  SmallVector<int64_t> slots, lengths, offsets, first;
};
} // namespace

Error polyattn::failLimit(const Signature &signature, SizeName size, int64_t came,
                          const Twine &where) {
  const SizeLimit &limit = *signature.limitOf(size);
  const TensorSignature &argument = signature.arguments[limit.argument];
  std::string name = sizeToString(size);
  return createStringError("argument '" + argument.name + "': expected " + name +
                           " <= " + Twine(limit.most) + " with shape " + argument.formatDims() +
                           ", got " + name + " = " + Twine(came) + where);
}

Error polyattn::checkNumbers(const Signature &signature, const CallSizes &sizes,
                             WholeNumbers numbers) {
  return Checker(signature, sizes, numbers).check();
}
