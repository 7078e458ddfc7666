//===- Registers.cpp - registers of a warp --------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Registers.h"
#include "Failure.h"

using namespace polyattn::gpumodel;

void Constants::set(int bank, uint32_t offset, const void *data, size_t size) {
  std::vector<uint8_t> &bytes = banks.at(bank);
  if (bytes.size() < offset + size)
    bytes.resize(offset + size);
  std::memcpy(bytes.data() + offset, data, size);
}

uint32_t Constants::read(int bank, int64_t offset) const {
  uint32_t value = 0;
  if (bank < 0 || bank >= static_cast<int>(banks.size()) || offset < 0)
    return value;
  const std::vector<uint8_t> &bytes = banks[bank];
  if (offset + 4 <= static_cast<int64_t>(bytes.size()))
    std::memcpy(&value, bytes.data() + offset, 4);
  return value;
}

Registers::Registers(const Constants &constants) : constants(constants) {
  predicates[kTrue] = predicates[kUniformTrue] = kAllLanes;
}

/// Bounds come first: a listing may name registers that no GPU has.
static int checked(int index, size_t size, const char *what) {
  if (index < 0 || index >= static_cast<int>(size))
    throw Failure("there is no " + std::string(what) + " " + std::to_string(index));
  return index;
}

static uint32_t partOf(uint32_t value, Part part) {
  switch (part) {
  case Part::Whole:
    return value;
  case Part::Half0:
    return value & 0xffff;
  case Part::Half1:
    return value >> 16;
  default:
    return value >> 8 * (static_cast<int>(part) - static_cast<int>(Part::Byte0)) & 0xff;
  }
}

Lanes Registers::raw(const Operand &operand) const {
  Lanes value{};
  switch (operand.kind) {
  case OperandKind::Register:
    if (operand.index != kZeroRegister)
      value = vector[checked(operand.index, vector.size(), "register")];
    break;
  case OperandKind::Uniform:
    if (operand.index != kZeroRegister)
      value.fill(uniform[checked(operand.index, uniform.size(), "uniform register")]);
    break;
  case OperandKind::Immediate:
    value.fill(operand.immediate);
    break;
  case OperandKind::Constant: {
    WideLanes at = addresses(operand);
    value = eachLane(
        [&](int lane) { return constants.read(operand.bank, static_cast<int32_t>(at[lane])); });
    break;
  }
  default:
    break;
  }
  if (operand.part != Part::Whole)
    for (uint32_t &lane : value)
      lane = partOf(lane, operand.part);
  return value;
}

Lanes Registers::rawUpper(const Operand &operand) const {
  Operand upper = operand;
  if (operand.kind == OperandKind::Register || operand.kind == OperandKind::Uniform)
    upper.index += upper.index != kZeroRegister;
  else if (operand.kind == OperandKind::Constant)
    upper.offset += 4;
  else if (operand.kind == OperandKind::Immediate)
    upper.immediate = static_cast<int32_t>(operand.immediate) < 0 ? ~0u : 0;
  return raw(upper);
}

Lanes Registers::integer(const Operand &operand) const {
  Lanes value = raw(operand);
  if (!operand.absolute && !operand.inverted && !operand.negative)
    return value;
  for (uint32_t &lane : value) {
    if (operand.absolute && static_cast<int32_t>(lane) < 0)
      lane = 0 - lane;
    if (operand.inverted)
      lane = ~lane;
    if (operand.negative)
      lane = 0 - lane;
  }
  return value;
}

WideLanes Registers::wide(const Operand &operand) const {
  Lanes lower = raw(operand), upper = rawUpper(operand);
  WideLanes value;
  for (int lane = 0; lane < kLanes; ++lane) {
    uint64_t whole = static_cast<uint64_t>(upper[lane]) << 32 | lower[lane];
    if (operand.inverted)
      whole = ~whole;
    value[lane] = operand.negative ? 0 - whole : whole;
  }
  return value;
}

FloatLanes Registers::floats(const Operand &operand) const {
  Lanes value = raw(operand);
  FloatLanes result;
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t bits = value[lane];
    if (operand.absolute)
      bits &= 0x7fffffffu;
    if (operand.negative)
      bits ^= 0x80000000u;
    result[lane] = bitsOf<float>(bits);
  }
  return result;
}

Mask Registers::predicate(const Operand &operand) const {
  Mask mask = predicates[checked(operand.index, predicates.size(), "predicate")];
  return operand.inverted ? ~mask : mask;
}

WideLanes Registers::addresses(const Operand &operand) const {
  uint64_t common = static_cast<uint64_t>(operand.offset);
  if (operand.uniformIndex >= 0 && operand.uniformIndex != kZeroRegister) {
    int index = checked(operand.uniformIndex, uniform.size() - 1, "uniform register");
    common += uniform[index];
    if (operand.wideUniform)
      common += static_cast<uint64_t>(uniform[index + 1]) << 32;
  }
  bool narrow = !operand.wide && !operand.wideUniform;
  WideLanes result;
  result.fill(narrow ? static_cast<uint32_t>(common) : common);
  if (operand.index < 0 || operand.index == kZeroRegister)
    return result;
  const Lanes &lower = vector[checked(operand.index, vector.size() - 1, "register")];
  const Lanes &upper = vector[operand.index + 1];
  for (int lane = 0; lane < kLanes; ++lane) {
    uint64_t own = lower[lane];
    if (operand.wide)
      own |= static_cast<uint64_t>(upper[lane]) << 32;
    uint64_t address = (own << operand.scale) + common;
    result[lane] = narrow ? static_cast<uint32_t>(address) : address;
  }
  return result;
}

void Registers::write(const Operand &operand, const Lanes &value, Mask mask, int next) {
  int index = operand.index == kZeroRegister ? kZeroRegister : operand.index + next;
  if (operand.kind == OperandKind::Uniform) {
    if (index != kZeroRegister)
      uniform[checked(index, uniform.size(), "uniform register")] = value[firstLane(mask)];
    return;
  }
  if (operand.kind != OperandKind::Register || index == kZeroRegister)
    return;
  Lanes &target = vector[checked(index, vector.size(), "register")];
  if (mask == kAllLanes) {
    target = value;
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane)
    if (isSet(mask, lane))
      target[lane] = value[lane];
}

void Registers::writePredicateAt(int index, Mask value, Mask mask) {
  if (index == kTrue || index == kUniformTrue)
    return;
  Mask &target = predicates[checked(index, predicates.size(), "predicate")];
  if (index > kTrue)
    target = isSet(value, firstLane(mask)) && mask ? kAllLanes : 0;
  else
    target = (target & ~mask) | (value & mask);
}

void Registers::writePredicate(const Operand &operand, Mask value, Mask mask) {
  if (operand.kind == OperandKind::Predicate)
    writePredicateAt(operand.index, value, mask);
}
