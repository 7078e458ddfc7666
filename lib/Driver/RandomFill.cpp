//===- RandomFill.cpp - random arguments ----------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "llvm/Support/xxhash.h"
#include <numeric>
#include <random>

using namespace polyattn;
using namespace polyattn::driver;

namespace {

/// The standard's distributions differ from library to library; the engine does not.
class Generator {
public:
  explicit Generator(uint64_t seed) : engine(seed) {}

  /// Uniform in (0, 1).
  double uniform() { return ((engine() >> 11) + 0.5) * 0x1p-53; }
  /// Standard normal, by Box and Muller.
  double normal() {
    if (spare) {
      double value = *spare;
      spare.reset();
      return value;
    }
    double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * M_PI * uniform();
    spare = radius * std::sin(angle);
    return radius * std::cos(angle);
  }

private:
  std::mt19937_64 engine;
  std::optional<double> spare;
};

} // namespace

int64_t driver::lastRandomPosition(const Signature &signature) {
  constexpr int64_t kFew = 1024, kLongestBlock = 1 << 20;
  int64_t unit = signature.positionUnit;
  return unit > kLongestBlock ? 0 : std::max(kFew / unit, int64_t(4)) * unit;
}

/// The first `count` of all slots in any order, and -1 once they are given away.
static std::vector<int64_t> randomSlots(Generator &generator, int64_t slots, int64_t count) {
  std::vector<int64_t> order(std::max(slots, count), -1);
  std::iota(order.begin(), order.begin() + slots, 0);
  for (int64_t i = slots; i-- > 1;)
    std::swap(order[i], order[int64_t(generator.uniform() * double(i + 1))]);
  return order;
}

/// Bounds anywhere: some sequences are empty where there are many.
static std::vector<int64_t> randomOffsets(Generator &generator, const CallSizes &sizes) {
  std::vector<int64_t> bounds(sizes.sequences + 1, 0);
  for (int64_t &bound : bounds)
    bound = int64_t(generator.uniform() * double(sizes.queries + 1));
  llvm::sort(bounds);
  bounds.front() = 0;
  bounds.back() = sizes.queries;
  return bounds;
}

void driver::fillRandom(const Signature &signature, const TensorSignature &argument,
                        const CallSizes &sizes, uint64_t seed, const HostTensor &tensor) {
  // A name's values do not depend on which other arguments are random.
  Generator generator(seed + llvm::xxh3_64bits(argument.name));
  int64_t last = tensor.sizes.empty() ? 1 : std::max<int64_t>(1, tensor.sizes.back());
  int64_t rows = tensor.rank() < 2 ? 1 : std::max<int64_t>(1, tensor.sizes[tensor.rank() - 2]);
  int64_t lastPosition = lastRandomPosition(signature);
  if (sizes.rows)
    lastPosition = std::min(lastPosition, sizes.rows - std::max(sizes.queries, sizes.keys));
  if (const SizeLimit *limit = signature.limitOf(kPositions); limit && signature.slots)
    lastPosition = std::min(lastPosition, limit->most - sizes.queries);
  std::vector<int64_t> numbers;
  if (argument.role == Role::Slots)
    numbers = randomSlots(generator, sizes.slots, tensor.count());
  else if (argument.role == Role::Offsets)
    numbers = randomOffsets(generator, sizes);
  auto next = [&](int64_t linear) -> double {
    switch (argument.role) {
    case Role::Slots:
    case Role::Offsets:
      return double(numbers[linear]);
    case Role::Lengths: {
      bool isWhole = generator.uniform() < 0.5;
      double length = std::floor(generator.uniform() * double(sizes.queries + 1));
      return isWhole ? double(sizes.queries) : length;
    }
    case Role::First: {
      if (signature.slots && generator.uniform() < 0.25)
        return 0;
      int64_t multiples = std::max<int64_t>(lastPosition, 0) / signature.positionUnit;
      return double(signature.positionUnit) *
             std::floor(generator.uniform() * double(multiples + 1));
    }
    case Role::Weight:
      return generator.normal() / std::sqrt(double(rows));
    case Role::Vector:
      return 0.1 * generator.normal();
    case Role::Gain:
      return 1 + 0.1 * generator.normal();
    case Role::Frequencies:
      // `last` pairs of 2 `last` rotated elements.
      return std::pow(10000.0, -double(linear % last) / double(last));
    case Role::Lags:
      // A score and its logarithm alike: positive, and smaller where positions are distant.
      return 0.5 + 0.5 * generator.uniform() - 0.25 * double(linear % last) / double(last);
    case Role::Decay:
      return std::log(0.9 + 0.1 * generator.uniform());
    case Role::State:
      return 0.1 * std::fabs(generator.normal());
    default:
      return generator.normal();
    }
  };
  tensor.forEach(
      [&](int64_t linear, void *address) { storeElement(tensor.type, address, next(linear)); });
}
