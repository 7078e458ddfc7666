//===- ExecuteFloat.cpp - floating-point arithmetic of lanes --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execute.h"
#include <cmath>
#include <limits>

using namespace polyattn::gpumodel;

/// Two bf16 numbers of 1/16: what packed halves give, and what tensors hold.
static constexpr uint32_t kPackedConstant = 0x3d803d80, kConstant = 0x3d800000;

bool polyattn::gpumodel::holds(int comparison, float a, float b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  if (comparison == 0 || comparison == 15)
    return comparison == 15;
  if (comparison == 7 || comparison == 8)
    return unordered == (comparison == 8);
  if (unordered)
    return comparison > 8;
  return holdsInOrder(comparison > 8 ? comparison - 8 : comparison, a, b);
}

static float function(const Instruction &instruction, float x) {
  if (instruction.has(Modifier::RCP))
    return 1 / x;
  if (instruction.has(Modifier::RSQ))
    return 1 / std::sqrt(x);
  if (instruction.has(Modifier::SQRT))
    return std::sqrt(x);
  if (instruction.has(Modifier::EX2))
    return std::exp2(x);
  if (instruction.has(Modifier::LG2))
    return std::log2(x);
  if (instruction.has(Modifier::SIN))
    return std::sin(x);
  if (instruction.has(Modifier::COS))
    return std::cos(x);
  return instruction.has(Modifier::TANH) ? std::tanh(x) : 0;
}

static uint32_t roundToHalf(float x) {
  auto bits = bitsOf<uint32_t>(x);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static void toFloat(const Instruction &instruction, Registers &registers, Mask mask) {
  const Operand &from = instruction.operands.back();
  bool isWide = instruction.has(Modifier::U64) || instruction.has(Modifier::S64);
  bool isUnsigned = instruction.has(Modifier::U64) || instruction.has(Modifier::U32) ||
                    instruction.has(Modifier::U16) || instruction.has(Modifier::U8);
  WideLanes wide = isWide ? registers.wide(from) : WideLanes{};
  Lanes narrow = registers.integer(from);
  registers.write(instruction.operands.at(0), eachLane([&](int lane) {
                    double exact =
                        isWide
                            ? (isUnsigned ? static_cast<double>(wide[lane])
                                          : static_cast<double>(static_cast<int64_t>(wide[lane])))
                        : isUnsigned ? static_cast<double>(narrow[lane])
                                     : static_cast<double>(static_cast<int32_t>(narrow[lane]));
                    auto rounded = static_cast<float>(exact);
                    if (instruction.has(Modifier::RP) && rounded < exact)
                      rounded = std::nextafter(rounded, std::numeric_limits<float>::infinity());
                    return bitsOf<uint32_t>(rounded);
                  }),
                  mask);
}

/// Rounded, and clamped to the range of the type, as the hardware does it.
static uint64_t clampToInteger(double x, bool isUnsigned, int bits) {
  if (std::isnan(x))
    return 0;
  double end = std::ldexp(1.0, isUnsigned ? bits : bits - 1);
  if (x >= end)
    return ~uint64_t(0) >> (isUnsigned ? 64 - bits : 65 - bits);
  if (isUnsigned)
    return x <= 0 ? 0 : static_cast<uint64_t>(x);
  return static_cast<uint64_t>(x < -end ? static_cast<int64_t>(-end) : static_cast<int64_t>(x));
}

static void toInteger(const Instruction &instruction, Registers &registers, Mask mask) {
  bool isWide = instruction.has(Modifier::U64) || instruction.has(Modifier::S64);
  bool isUnsigned = instruction.has(Modifier::U64) || instruction.has(Modifier::U32);
  FloatLanes from = registers.floats(instruction.operands.back());
  WideLanes result;
  for (int lane = 0; lane < kLanes; ++lane) {
    float x =
        instruction.has(Modifier::TRUNC) ? std::trunc(from[lane]) : std::nearbyint(from[lane]);
    result[lane] = clampToInteger(x, isUnsigned, isWide ? 64 : 32);
  }
  const Operand &target = instruction.operands.at(0);
  registers.write(target, eachLane([&](int lane) { return static_cast<uint32_t>(result[lane]); }),
                  mask);
  if (isWide)
    registers.write(target,
                    eachLane([&](int lane) { return static_cast<uint32_t>(result[lane] >> 32); }),
                    mask, 1);
}

/// `HFMA2 R2, -RZ, RZ, 1, 2` is how constants are written into a register.
static void halves(const Instruction &instruction, Registers &registers, Mask mask) {
  const std::vector<Operand> &operands = instruction.operands;
  bool isConstant = operands.size() >= 3 && operands[1].index == kZeroRegister &&
                    operands[2].index == kZeroRegister &&
                    operands.back().kind == OperandKind::Immediate;
  Lanes value;
  value.fill(isConstant                   ? instruction.upperWord
             : instruction.hasText("F32") ? kConstant
                                          : kPackedConstant);
  registers.write(operands.at(0), value, mask);
}

static void matrixMultiply(const Instruction &instruction, Registers &registers) {
  Operand addend = instruction.operands.at(3);
  const Operand &target = instruction.operands[0];
  std::array<Lanes, 4> sums{};
  for (int k = 0; k < 4; ++k) {
    if (addend.index == kZeroRegister)
      continue;
    sums[k] = registers.raw(addend);
    ++addend.index;
  }
  for (int k = 0; k < 4; ++k)
    registers.write(target, sums[k], kAllLanes, k);
}

static void writeDouble(const Instruction &instruction, Registers &registers, Mask mask) {
  const Operand &target = instruction.operands.at(0);
  registers.writePredicate(target, 0, mask);
  registers.write(target, Lanes{}, mask);
  registers.write(target, Lanes{}, mask, 1);
}

bool polyattn::gpumodel::executeFloat(const Instruction &instruction, Registers &registers,
                                      Mask mask) {
  const std::vector<Operand> &operands = instruction.operands;
  auto source = [&](size_t k) { return registers.floats(operands.at(k)); };
  auto map = [&](auto function) {
    registers.write(operands.at(0),
                    eachLane([&](int lane) { return bitsOf<uint32_t>(float(function(lane))); }),
                    mask);
  };
  switch (instruction.operation) {
  case Operation::FloatAdd: {
    FloatLanes a = source(1), b = source(2);
    map([&](int lane) { return a[lane] + b[lane]; });
    return true;
  }
  case Operation::FloatMultiply: {
    FloatLanes a = source(1), b = source(2);
    map([&](int lane) { return a[lane] * b[lane]; });
    return true;
  }
  case Operation::FloatMultiplyAdd: {
    FloatLanes a = source(1), b = source(2), c = source(3);
    map([&](int lane) { return a[lane] * b[lane] + c[lane]; });
    return true;
  }
  case Operation::FloatMinMax: {
    FloatLanes a = source(1), b = source(2);
    Mask smaller = registers.predicate(operands.at(3));
    map([&](int lane) {
      return isSet(smaller, lane) ? std::fmin(a[lane], b[lane]) : std::fmax(a[lane], b[lane]);
    });
    return true;
  }
  case Operation::FloatSelect: {
    FloatLanes a = source(1), b = source(2);
    Mask first = registers.predicate(operands.at(3));
    map([&](int lane) { return isSet(first, lane) ? a[lane] : b[lane]; });
    return true;
  }
  case Operation::FloatCompare: {
    FloatLanes a = source(2), b = source(3);
    Mask result =
        lanesWhere([&](int lane) { return holds(instruction.comparison, a[lane], b[lane]); });
    writeComparison(instruction, registers, result, mask);
    return true;
  }
  case Operation::FloatFunction: {
    FloatLanes a = source(1);
    map([&](int lane) { return function(instruction, a[lane]); });
    return true;
  }
  case Operation::PackHalves: {
    FloatLanes a = source(1), b = source(2);
    registers.write(operands[0], eachLane([&](int lane) {
                      return roundToHalf(a[lane]) << 16 | (roundToHalf(b[lane]) & 0xffff);
                    }),
                    mask);
    return true;
  }
  case Operation::ConvertFloat:
    registers.write(operands.at(0), registers.raw(operands.back()), mask);
    return true;
  case Operation::IntegerToFloat:
    toFloat(instruction, registers, mask);
    return true;
  case Operation::FloatToInteger:
    toInteger(instruction, registers, mask);
    return true;
  case Operation::Halves:
    halves(instruction, registers, mask);
    return true;
  case Operation::MatrixMultiply:
    matrixMultiply(instruction, registers);
    return true;
  case Operation::Double:
    writeDouble(instruction, registers, mask);
    return true;
  case Operation::FloatCheck:
    registers.writePredicate(operands.at(0), 0, mask);
    return true;
  case Operation::CompareHalves:
    registers.writePredicate(operands.at(0), 0, mask);
    registers.writePredicate(operands.at(1), 0, mask);
    return true;
  default:
    return false;
  }
}
