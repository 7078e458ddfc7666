//===- DecodedSequences.cpp - sequences that several calls decode ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecodedSequences.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <numeric>

using namespace polyattn;
using namespace polyattn::random;
using llvm::ArrayRef;

/// Slots that no sequence has.
static constexpr int64_t kSpareSlots = 2;

/// The part of a tensor at the first indices.
static HostTensor partOf(const HostTensor &tensor, ArrayRef<int64_t> index) {
  HostTensor part = tensor;
  int64_t offset = 0;
  for (auto [i, stride] : llvm::zip(index, tensor.strides))
    offset += i * stride;
  part.data = static_cast<char *>(tensor.data) + offset * bytesOf(tensor.type);
  part.sizes.erase(part.sizes.begin(), part.sizes.begin() + index.size());
  part.strides.erase(part.strides.begin(), part.strides.begin() + index.size());
  return part;
}

static void fill(const HostTensor &tensor, double value) {
  tensor.forEach([&](int64_t, void *address) { storeElement(tensor.type, address, value); });
}

static bool isSequence(const TensorSignature &tensor) {
  return tensor.dims.size() > 1 && tensor.dims[0] == kBatch &&
         (tensor.dims[1] == kPositions || tensor.dims[1] == kKeyPositions);
}

static std::vector<int64_t> numbersOf(std::optional<unsigned> argument,
                                      ArrayRef<HostTensor> arguments) {
  std::vector<int64_t> numbers;
  if (argument)
    arguments[*argument].forEach([&](int64_t, void *address) {
      numbers.push_back(loadInteger(arguments[*argument].type, address));
    });
  return numbers;
}

DecodedSequences::DecodedSequences(const Case &trial, const Signature &definition,
                                   const CallSizes &sizes, ArrayRef<HostTensor> arguments)
    : trial(trial), definition(definition), sizes(sizes), arguments(arguments),
      engine(trial.seed + 29) {
  std::vector<int64_t> offsets = numbersOf(definition.offsets, arguments);
  std::vector<int64_t> first = numbersOf(definition.firstPosition, arguments);
  int64_t count = definition.offsets ? sizes.sequences : sizes.batch;
  std::vector<int64_t> slots(count + kSpareSlots);
  std::iota(slots.begin(), slots.end(), 0);
  std::shuffle(slots.begin(), slots.end(), engine);
  for (int64_t n = 0; n < count; ++n) {
    int64_t begin = first.empty() ? 0 : first[n];
    if (definition.offsets)
      sequences.push_back({0, offsets[n], offsets[n + 1] - offsets[n], begin, slots[n]});
    else
      sequences.push_back({n, 0, sizes.queries, begin, slots[n]});
  }
  this->sizes.slots = count + kSpareSlots;
  // Tables without a first position have a row for each of the call's positions.
  if (!definition.firstPosition && !definition.offsets)
    this->sizes.rows = sizes.queries;
}

void DecodedSequences::clearStates(const Signature &definition, const CallSizes &sizes,
                                   ArrayRef<HostTensor> arguments) {
  std::vector<int64_t> first = numbersOf(definition.firstPosition, arguments);
  int64_t count = definition.offsets ? sizes.sequences : sizes.batch;
  for (auto [tensor, argument] : llvm::zip_equal(arguments, definition.arguments))
    for (int64_t n = 0; argument.role == Role::State && n < count; ++n)
      if (first.empty() || first[n] == 0)
        fill(partOf(tensor, {n}), 0);
}

const HostTensor *DecodedSequences::findArgument(llvm::StringRef name) const {
  for (auto [tensor, argument] : llvm::zip_equal(arguments, definition.arguments))
    if (argument.name == name)
      return &tensor;
  return nullptr;
}

/// What a sequence that goes on has computed before is given, or nothing; a new one finds NaN.
llvm::Error DecodedSequences::makePools(const Signature &decode) {
  pools.assign(decode.arguments.size(), std::nullopt);
  for (const TensorSignature &result : decode.results) {
    if (!result.argument)
      continue;
    const TensorSignature &argument = decode.arguments[*result.argument];
    auto pool = allocateTensor(argument.type, shapeOf(argument, sizes),
                               trial.padded ? Layout::Padded : Layout::Contiguous);
    if (!pool)
      return pool.takeError();
    const HostTensor *initial = findArgument(argument.name);
    for (auto [n, sequence] : llvm::enumerate(sequences))
      if (sequence.first > 0 && initial)
        copyElements(partOf(*initial, {int64_t(n)}), partOf(*pool, {sequence.slot}));
      else if (sequence.first > 0)
        fill(partOf(*pool, {sequence.slot}), 0);
    pools[*result.argument] = std::move(*pool);
  }
  return llvm::Error::success();
}

std::vector<DecodedSequences::Part> DecodedSequences::chooseParts(int64_t positions, bool isLast) {
  auto below = [&](int64_t count) { return int64_t(engine() % uint64_t(count)); };
  std::vector<Part> parts;
  for (Sequence &sequence : sequences) {
    Part part{&sequence, 0, 0, std::min(positions, sequence.length - sequence.done), true};
    if (!isLast && below(4) == 0)
      part.length = below(part.length + 1);
    if (!isLast && below(8) == 0) {
      part.hasSlot = false;
      part.length = 0;
    }
    parts.push_back(part);
  }
  std::shuffle(parts.begin(), parts.end(), engine);
  int64_t row = 0;
  for (auto [i, part] : llvm::enumerate(parts)) {
    part.batch = definition.offsets ? 0 : int64_t(i);
    part.row = definition.offsets ? row : 0;
    row += part.length;
  }
  return parts;
}

llvm::Expected<HostTensor> DecodedSequences::argumentOf(const Signature &decode, size_t number,
                                                        ArrayRef<Part> parts,
                                                        const CallSizes &callSizes) {
  const TensorSignature &argument = decode.arguments[number];
  if (pools[number])
    return *pools[number];
  const HostTensor *whole = findArgument(argument.name);
  bool isNumbers = argument.role == Role::Slots || argument.role == Role::First ||
                   argument.role == Role::Lengths || argument.role == Role::Offsets;
  llvm::SmallVector<int64_t, 4> shape = shapeOf(argument, callSizes);
  if (!isNumbers && !isSequence(argument) && whole->sizes == shape)
    return *whole;
  auto tensor =
      allocateTensor(argument.type, shape, trial.padded ? Layout::Padded : Layout::Contiguous);
  if (!tensor)
    return tensor.takeError();
  // Rows behind a length are NaN, and nobody may look at them.
  for (auto [i, part] : llvm::enumerate(parts)) {
    const Sequence &sequence = *part.sequence;
    auto set = [&](int64_t at, int64_t value) {
      storeElement(argument.type, partOf(*tensor, {at}).data, double(value));
    };
    int64_t place = int64_t(i);
    switch (argument.role) {
    case Role::Slots:
      set(place, part.hasSlot ? sequence.slot : -1);
      break;
    case Role::First:
      set(place, sequence.first + sequence.done);
      break;
    case Role::Lengths:
      set(place, part.length);
      break;
    case Role::Offsets:
      set(place, part.row);
      set(place + 1, part.row + part.length);
      break;
    default: // or what nothing reads any more, which is NaN
      for (int64_t row = 0; isSequence(argument) && row < part.length; ++row)
        copyElements(partOf(*whole, {sequence.batch, sequence.row + sequence.done + row}),
                     partOf(*tensor, {part.batch, part.row + row}));
    }
  }
  if (argument.role == Role::Offsets && parts.empty())
    fill(*tensor, 0);
  return *tensor;
}

llvm::Error DecodedSequences::takeRows(const TensorSignature &result, const HostTensor &from,
                                       ArrayRef<Part> parts, const HostTensor &to) const {
  for (const Part &part : parts) {
    const Sequence &sequence = *part.sequence;
    for (int64_t row = 0; row < part.length; ++row)
      copyElements(partOf(from, {part.batch, part.row + row}),
                   partOf(to, {sequence.batch, sequence.row + sequence.done + row}));
    bool isZero = true;
    for (int64_t row = part.length; !definition.offsets && row < from.sizes[1]; ++row)
      partOf(from, {part.batch, row}).forEach([&](int64_t, void *address) {
        isZero &= loadElement(from.type, address) == 0;
      });
    if (!isZero)
      return llvm::createStringError("result '" + result.name +
                                     "': a row behind the length of its batch is not zero");
  }
  if (!from.paddingIsPoison())
    return llvm::createStringError("result '" + result.name +
                                   "': memory between its rows was written");
  return llvm::Error::success();
}

llvm::Error DecodedSequences::call(Executable &executable, const Signature &decode,
                                   ArrayRef<Part> parts, int64_t positions,
                                   ArrayRef<HostTensor> results) {
  CallSizes callSizes = sizes;
  callSizes.queries = callSizes.keys = positions;
  std::vector<HostTensor> callArguments, callResults;
  for (size_t i = 0; i < decode.arguments.size(); ++i) {
    auto argument = argumentOf(decode, i, parts, callSizes);
    if (!argument)
      return argument.takeError();
    callArguments.push_back(std::move(*argument));
  }
  if (llvm::Error error =
          checkNumbers(decode, callSizes, [&](unsigned i) { return &callArguments[i]; }))
    return error;
  for (const TensorSignature &result : decode.results) {
    if (result.argument) {
      callResults.push_back(*pools[*result.argument]);
      continue;
    }
    auto tensor = allocateTensor(result.type, shapeOf(result, callSizes),
                                 trial.padded ? Layout::Padded : Layout::Contiguous);
    if (!tensor)
      return tensor.takeError();
    callResults.push_back(std::move(*tensor));
  }
  if (llvm::Error error =
          executable.run({callArguments, callResults, callSizes, int(trial.threads)}))
    return error;
  for (auto [result, from] : llvm::zip_equal(decode.results, callResults))
    for (auto [wanted, to] : llvm::zip_equal(definition.results, results))
      if (!result.argument && wanted.name == result.name)
        if (llvm::Error error = takeRows(result, from, parts, to))
          return error;
  for (const Part &part : parts)
    part.sequence->done += part.length;
  return llvm::Error::success();
}

llvm::Error DecodedSequences::takeStates(const Signature &decode,
                                         ArrayRef<HostTensor> results) const {
  for (const TensorSignature &result : decode.results) {
    if (!result.argument)
      continue;
    const HostTensor &pool = *pools[*result.argument];
    for (auto [wanted, to] : llvm::zip_equal(definition.results, results))
      for (auto [n, sequence] : llvm::enumerate(sequences))
        if (wanted.name == result.name)
          copyElements(partOf(pool, {sequence.slot}), partOf(to, {int64_t(n)}));
    bool isUntouched = pool.paddingIsPoison();
    for (int64_t slot = 0; slot < sizes.slots; ++slot)
      if (llvm::none_of(sequences, [&](const Sequence &s) { return s.slot == slot; }))
        partOf(pool, {slot}).forEach([&](int64_t, void *address) {
          isUntouched &= std::isnan(loadElement(pool.type, address));
        });
    if (!isUntouched)
      return llvm::createStringError("result '" + result.name +
                                     "': memory of no sequence was written");
  }
  return llvm::Error::success();
}

llvm::Error DecodedSequences::run(Executable &executable, const Signature &decode,
                                  ArrayRef<HostTensor> results) {
  if (llvm::Error error = makePools(decode))
    return error;
  // Packed sequences fill all positions.
  auto positionsOf = [&](ArrayRef<Part> parts, int64_t wanted) {
    int64_t packed = parts.empty() ? 0 : parts.back().row + parts.back().length;
    return definition.offsets ? packed : wanted;
  };
  for (int64_t positions : trial.calls) {
    if (const SizeLimit *limit = decode.limitOf(kPositions))
      positions = std::min(positions, limit->most);
    std::vector<Part> parts = chooseParts(positions, /*isLast=*/false);
    if (llvm::Error error = call(executable, decode, parts, positionsOf(parts, positions), results))
      return error;
  }
  int64_t left = 0;
  for (const Sequence &sequence : sequences)
    left = std::max(left, sequence.length - sequence.done);
  std::vector<Part> parts = chooseParts(left, /*isLast=*/true);
  if (llvm::Error error = call(executable, decode, parts, positionsOf(parts, left), results))
    return error;
  return takeStates(decode, results);
}
