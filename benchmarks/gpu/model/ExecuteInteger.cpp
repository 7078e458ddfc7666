//===- ExecuteInteger.cpp - integer arithmetic of lanes -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execute.h"
#include "Failure.h"
#include <algorithm>

using namespace polyattn::gpumodel;

bool polyattn::gpumodel::holds(int comparison, int64_t a, int64_t b) {
  return comparison == 15 || holdsInOrder(comparison, a, b);
}

static int64_t asInteger(uint32_t value, bool isUnsigned) {
  return isUnsigned ? static_cast<int64_t>(value) : static_cast<int32_t>(value);
}

namespace {

/// Splits operands: a destination, predicates that take carries, sources, predicates of carries in.
struct Sources {
  Sources(const Instruction &instruction) {
    const std::vector<Operand> &operands = instruction.operands;
    size_t k = 1;
    for (; k < operands.size() && operands[k].kind == OperandKind::Predicate; ++k)
      carriesOut.push_back(&operands[k]);
    for (; k < operands.size(); ++k)
      (operands[k].kind == OperandKind::Predicate ? carriesIn : values).push_back(&operands[k]);
  }

  /// The carry into each lane, 0 where the instruction has none.
  Lanes carry(const Instruction &instruction, const Registers &registers) const {
    Lanes sum{};
    if (instruction.has(Modifier::X))
      for (const Operand *operand : carriesIn) {
        Mask mask = registers.predicate(*operand);
        for (int lane = 0; lane < kLanes; ++lane)
          sum[lane] += isSet(mask, lane);
      }
    return sum;
  }

  const Operand &value(size_t k) const { return *values.at(k); }

  std::vector<const Operand *> carriesOut, values, carriesIn;
};

} // namespace

static void addThree(const Instruction &instruction, Registers &registers, Mask mask) {
  Sources sources(instruction);
  Lanes carry = sources.carry(instruction, registers);
  WideLanes sum;
  std::copy(carry.begin(), carry.end(), sum.begin());
  for (const Operand *operand : sources.values) {
    Lanes value = registers.raw(*operand);
    for (int lane = 0; lane < kLanes; ++lane)
      // A negation adds the complement and one, which carries where the value is zero.
      sum[lane] += operand->negative   ? static_cast<uint64_t>(~value[lane]) + 1
                   : operand->inverted ? static_cast<uint64_t>(~value[lane])
                                       : value[lane];
  }
  registers.write(instruction.operands[0],
                  eachLane([&](int lane) { return static_cast<uint32_t>(sum[lane]); }), mask);
  for (size_t k = 0; k < sources.carriesOut.size(); ++k)
    registers.writePredicate(*sources.carriesOut[k],
                             lanesWhere([&](int lane) { return sum[lane] >> 32 > k; }), mask);
}

static uint64_t multiply(uint32_t a, uint32_t b, bool isUnsigned) {
  return isUnsigned ? static_cast<uint64_t>(a) * b
                    : static_cast<uint64_t>(asInteger(a, false) * asInteger(b, false));
}

static void multiplyAdd(const Instruction &instruction, Registers &registers, Mask mask) {
  Sources sources(instruction);
  const Operand &target = instruction.operands[0];
  if (instruction.has(Modifier::MOV)) {
    registers.write(target, registers.integer(sources.value(2)), mask);
    return;
  }
  Lanes a = registers.integer(sources.value(0)), b = registers.integer(sources.value(1));
  Lanes carry = sources.carry(instruction, registers);
  bool isWide = instruction.has(Modifier::WIDE), isHigh = instruction.has(Modifier::HI);
  if (!isWide && !isHigh) {
    Lanes c = registers.integer(sources.value(2));
    registers.write(target,
                    eachLane([&](int lane) { return a[lane] * b[lane] + c[lane] + carry[lane]; }),
                    mask);
    return;
  }
  WideLanes c = registers.wide(sources.value(2)), sum;
  Mask carryOut = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    auto exact =
        static_cast<unsigned __int128>(multiply(a[lane], b[lane], instruction.has(Modifier::U32))) +
        c[lane] + carry[lane];
    sum[lane] = static_cast<uint64_t>(exact);
    carryOut |= static_cast<Mask>(exact >> 64 & 1) << lane;
  }
  Lanes upper = eachLane([&](int lane) { return static_cast<uint32_t>(sum[lane] >> 32); });
  if (isWide)
    registers.write(target, eachLane([&](int lane) { return static_cast<uint32_t>(sum[lane]); }),
                    mask);
  registers.write(target, upper, mask, isWide);
  for (const Operand *operand : sources.carriesOut)
    registers.writePredicate(*operand, carryOut, mask);
}

static void shiftAdd(const Instruction &instruction, Registers &registers, Mask mask) {
  Sources sources(instruction);
  if (sources.values.back()->kind != OperandKind::Immediate)
    throw Failure("instruction " + instruction.text + ": only shifts by a constant are modelled");
  uint32_t shift = sources.values.back()->immediate & 31;
  Lanes a = registers.raw(sources.value(0)), b = registers.integer(sources.value(1)), upper{};
  bool isHigh = instruction.has(Modifier::HI), extends = instruction.has(Modifier::SX32);
  if (isHigh && !extends && sources.values.size() > 3)
    upper = registers.raw(sources.value(2));
  Lanes carry = sources.carry(instruction, registers);
  WideLanes sum;
  for (int lane = 0; lane < kLanes; ++lane) {
    uint64_t whole = extends ? static_cast<uint64_t>(asInteger(a[lane], false))
                             : static_cast<uint64_t>(upper[lane]) << 32 | a[lane];
    if (sources.value(0).negative)
      whole = 0 - whole;
    uint64_t shifted = whole << shift;
    sum[lane] = static_cast<uint64_t>(static_cast<uint32_t>(isHigh ? shifted >> 32 : shifted)) +
                b[lane] + carry[lane];
  }
  registers.write(instruction.operands[0],
                  eachLane([&](int lane) { return static_cast<uint32_t>(sum[lane]); }), mask);
  for (const Operand *operand : sources.carriesOut)
    registers.writePredicate(*operand, lanesWhere([&](int lane) { return sum[lane] >> 32 & 1; }),
                             mask);
}

static void logicThree(const Instruction &instruction, Registers &registers, Mask mask) {
  const std::vector<Operand> &operands = instruction.operands;
  size_t first = operands.at(0).kind == OperandKind::Predicate;
  Lanes a = registers.integer(operands.at(first + 1)),
        b = registers.integer(operands.at(first + 2)),
        c = registers.integer(operands.at(first + 3));
  uint32_t table = operands.at(first + 4).immediate;
  Lanes result{};
  for (int term = 0; term < 8; ++term)
    if (table >> term & 1)
      for (int lane = 0; lane < kLanes; ++lane)
        result[lane] |= (term & 4 ? a[lane] : ~a[lane]) & (term & 2 ? b[lane] : ~b[lane]) &
                        (term & 1 ? c[lane] : ~c[lane]);
  registers.write(operands[first], result, mask);
  if (first) {
    Mask nonzero = lanesWhere([&](int lane) { return result[lane] != 0; });
    if (operands.back().kind == OperandKind::Predicate)
      nonzero |= registers.predicate(operands.back());
    registers.writePredicate(operands[0], nonzero, mask);
  }
}

static void funnelShift(const Instruction &instruction, Registers &registers, Mask mask) {
  const std::vector<Operand> &operands = instruction.operands;
  Lanes lower = registers.raw(operands.at(1)), by = registers.raw(operands.at(2)),
        upper = registers.raw(operands.at(3));
  bool isSigned = instruction.has(Modifier::S32) || instruction.has(Modifier::S64);
  bool isWide = instruction.has(Modifier::U64) || instruction.has(Modifier::S64);
  bool right = instruction.has(Modifier::R), high = instruction.has(Modifier::HI);
  uint32_t most = isWide ? 63 : 32;
  registers.write(operands[0], eachLane([&](int lane) {
                    uint64_t whole = static_cast<uint64_t>(upper[lane]) << 32 | lower[lane];
                    uint32_t shift = instruction.has(Modifier::W) ? by[lane] & (isWide ? 63 : 31)
                                                                  : std::min(by[lane], most);
                    uint64_t result =
                        !right     ? whole << shift
                        : isSigned ? static_cast<uint64_t>(static_cast<int64_t>(whole) >> shift)
                                   : whole >> shift;
                    return static_cast<uint32_t>(high ? result >> 32 : result);
                  }),
                  mask);
}

static void permute(const Instruction &instruction, Registers &registers, Mask mask) {
  const std::vector<Operand> &operands = instruction.operands;
  Lanes lower = registers.raw(operands.at(1)), selectors = registers.raw(operands.at(2)),
        upper = registers.raw(operands.at(3));
  registers.write(operands[0], eachLane([&](int lane) {
                    uint64_t bytes = static_cast<uint64_t>(upper[lane]) << 32 | lower[lane];
                    uint32_t result = 0;
                    for (int k = 0; k < 4; ++k) {
                      uint32_t selector = selectors[lane] >> 4 * k & 15;
                      uint32_t byte = bytes >> 8 * (selector & 7) & 0xff;
                      if (selector & 8)
                        byte = byte & 0x80 ? 0xff : 0;
                      result |= byte << 8 * k;
                    }
                    return result;
                  }),
                  mask);
}

static void compare(const Instruction &instruction, Registers &registers, Mask mask) {
  const std::vector<Operand> &operands = instruction.operands;
  Lanes a = registers.integer(operands.at(2)), b = registers.integer(operands.at(3));
  bool isUnsigned = instruction.has(Modifier::U32), extended = instruction.has(Modifier::EX);
  // The comparison of the lower halves, which decides where the upper halves are equal.
  Mask lower = extended ? registers.predicate(operands.at(5)) : 0;
  Mask result = lanesWhere([&](int lane) {
    int64_t left = asInteger(a[lane], isUnsigned), right = asInteger(b[lane], isUnsigned);
    if (extended && left == right)
      return isSet(lower, lane);
    return holds(instruction.comparison, left, right);
  });
  writeComparison(instruction, registers, result, mask);
}

/// The smaller of two where the predicate is true, else the larger.
static Lanes smallerOrLarger(const Lanes &a, const Lanes &b, Mask smaller, bool isUnsigned) {
  return eachLane([&](int lane) {
    bool less = asInteger(a[lane], isUnsigned) < asInteger(b[lane], isUnsigned);
    return less == isSet(smaller, lane) ? a[lane] : b[lane];
  });
}

static void minMax(const Instruction &instruction, Registers &registers, Mask mask) {
  const std::vector<Operand> &operands = instruction.operands;
  bool adds = instruction.operation == Operation::AddMinMax;
  Lanes a = registers.integer(operands.at(1)), b = registers.integer(operands.at(2));
  Mask smaller = registers.predicate(operands.at(adds ? 4 : 3));
  if (adds) {
    for (int lane = 0; lane < kLanes; ++lane)
      a[lane] += b[lane];
    b = registers.integer(operands.at(3));
  }
  registers.write(operands[0], smallerOrLarger(a, b, smaller, instruction.has(Modifier::U32)),
                  mask);
}

static uint32_t signExtend(uint32_t value, uint32_t bits, bool isUnsigned) {
  if (bits >= 32)
    return value;
  if (isUnsigned || bits == 0)
    return value & ((1u << bits) - 1);
  return static_cast<uint32_t>(static_cast<int32_t>(value << (32 - bits)) >> (32 - bits));
}

static uint32_t findLeadingOne(uint32_t value, bool isUnsigned, bool asShift) {
  if (!isUnsigned && static_cast<int32_t>(value) < 0)
    value = ~value;
  if (value == 0)
    return ~0u;
  return asShift ? __builtin_clz(value) : 31 - __builtin_clz(value);
}

static uint32_t reverse(uint32_t value) {
  uint32_t result = 0;
  for (int k = 0; k < 32; ++k)
    result |= (value >> k & 1) << (31 - k);
  return result;
}

bool polyattn::gpumodel::executeInteger(const Instruction &instruction, Registers &registers,
                                        Mask mask) {
  const std::vector<Operand> &operands = instruction.operands;
  auto isUnsigned = instruction.has(Modifier::U32);
  auto source = [&](size_t k) { return registers.integer(operands.at(k)); };
  auto map = [&](auto function) { registers.write(operands.at(0), eachLane(function), mask); };
  switch (instruction.operation) {
  case Operation::Add3:
    addThree(instruction, registers, mask);
    return true;
  case Operation::MultiplyAdd:
    multiplyAdd(instruction, registers, mask);
    return true;
  case Operation::ShiftAdd:
    shiftAdd(instruction, registers, mask);
    return true;
  case Operation::Logic3:
    logicThree(instruction, registers, mask);
    return true;
  case Operation::FunnelShift:
    funnelShift(instruction, registers, mask);
    return true;
  case Operation::Permute:
    permute(instruction, registers, mask);
    return true;
  case Operation::Compare:
    compare(instruction, registers, mask);
    return true;
  case Operation::MinMax:
  case Operation::AddMinMax:
    minMax(instruction, registers, mask);
    return true;
  case Operation::Select: {
    Lanes a = source(1), b = source(2);
    Mask first = registers.predicate(operands.at(3));
    map([&](int lane) { return isSet(first, lane) ? a[lane] : b[lane]; });
    return true;
  }
  case Operation::Add: {
    Lanes a = source(1), b = source(2);
    map([&](int lane) { return a[lane] + b[lane]; });
    return true;
  }
  case Operation::Absolute: {
    Lanes a = source(1);
    map([&](int lane) { return static_cast<int32_t>(a[lane]) < 0 ? 0 - a[lane] : a[lane]; });
    return true;
  }
  case Operation::SignExtend: {
    Lanes a = source(1), bits = source(2);
    map([&](int lane) { return signExtend(a[lane], bits[lane], isUnsigned); });
    return true;
  }
  case Operation::BitMask: {
    Lanes begin = source(1), bits = source(2);
    map([&](int lane) {
      uint64_t ones = (uint64_t(1) << std::min(bits[lane], 32u)) - 1;
      return static_cast<uint32_t>(ones << std::min(begin[lane], 32u));
    });
    return true;
  }
  case Operation::PopulationCount: {
    Lanes a = source(1);
    map([&](int lane) { return static_cast<uint32_t>(__builtin_popcount(a[lane])); });
    return true;
  }
  case Operation::FindLeadingOne: {
    Lanes a = source(1);
    map([&](int lane) {
      return findLeadingOne(a[lane], isUnsigned, instruction.has(Modifier::SH));
    });
    return true;
  }
  case Operation::ReverseBits: {
    Lanes a = source(1);
    map([&](int lane) { return reverse(a[lane]); });
    return true;
  }
  default:
    return false;
  }
}
