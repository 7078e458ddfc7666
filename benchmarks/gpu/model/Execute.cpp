//===- Execute.cpp - moves, predicates and special registers --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execute.h"
#include "Failure.h"
#include <functional>
#include <unordered_map>

using namespace polyattn::gpumodel;

void polyattn::gpumodel::writeComparison(const Instruction &instruction, Registers &registers,
                                         Mask result, Mask mask) {
  Mask complement = ~result;
  Mask joined = registers.predicate(instruction.operands.at(4));
  for (Mask *value : {&result, &complement}) {
    if (instruction.has(Modifier::OR))
      *value |= joined;
    else if (instruction.has(Modifier::XOR))
      *value ^= joined;
    else
      *value &= joined;
  }
  registers.writePredicate(instruction.operands[0], result, mask);
  registers.writePredicate(instruction.operands[1], complement, mask);
}

static uint32_t specialRegister(const std::string &name, int lane, const Identity &identity,
                                uint32_t clock) {
  static const std::unordered_map<std::string, std::function<uint32_t(const Identity &, int lane)>>
      known = {
          {"SR_TID.X", [](const Identity &i, int lane) { return i.warp * kLanes + lane; }},
          {"SR_CTAID.X", [](const Identity &i, int) { return i.cta; }},
          {"SR_NCTAID.X", [](const Identity &i, int) { return i.grid; }},
          {"SR_NTID.X", [](const Identity &i, int) { return i.threads; }},
          {"SR_LANEID", [](const Identity &, int lane) { return lane; }},
          {"SR_CgaCtaId", [](const Identity &i, int) { return i.rank; }},
          {"SR_CLUSTERID.X", [](const Identity &i, int) { return i.cta / i.cluster; }},
          {"SR_LTMASK", [](const Identity &, int lane) { return (1u << lane) - 1; }},
          {"SR_LEMASK", [](const Identity &, int lane) { return ~0u >> (31 - lane); }},
          {"SR_EQMASK", [](const Identity &, int lane) { return 1u << lane; }},
          // Generic addresses of shared memory are above this one.
          {"SR_SWINHI", [](const Identity &, int) { return 0x7f00u; }},
      };
  static const char *const zeros[] = {"SRZ",        "SR_TID.Y",   "SR_TID.Z",
                                      "SR_CTAID.Y", "SR_CTAID.Z", "SR_SWINLO"};
  if (auto found = known.find(name); found != known.end())
    return found->second(identity, lane);
  for (const char *zero : zeros)
    if (name == zero)
      return 0;
  if (name.rfind("SR_CLOCK", 0) == 0)
    return clock;
  throw Failure("unknown special register " + name);
}

static Lanes specialRegisters(const std::string &name, const Identity &identity, uint32_t clock) {
  return eachLane([&](int lane) { return specialRegister(name, lane, identity, clock); });
}

static void vote(const Instruction &instruction, Registers &registers, Mask mask) {
  Mask votes = registers.predicate(instruction.operands.back()) & mask;
  bool result = instruction.has(Modifier::ALL)  ? votes == mask
                : instruction.has(Modifier::EQ) ? votes == mask || votes == 0
                                                : votes != 0;
  Lanes ballot;
  ballot.fill(votes);
  for (size_t k = 0; k + 1 < instruction.operands.size(); ++k) {
    registers.writePredicate(instruction.operands[k], result ? kAllLanes : 0, mask);
    registers.write(instruction.operands[k], ballot, mask);
  }
}

static void predicateLogic(const Instruction &instruction, Registers &registers, Mask mask) {
  const std::vector<Operand> &operands = instruction.operands;
  Mask a = registers.predicate(operands.at(2)), b = registers.predicate(operands.at(3)),
       c = registers.predicate(operands.at(4));
  for (int result = 0; result < 2; ++result) {
    uint32_t table = operands.at(5 + result).immediate;
    Mask value = lanesWhere([&](int lane) {
      return table >> (isSet(a, lane) * 4 + isSet(b, lane) * 2 + isSet(c, lane)) & 1;
    });
    registers.writePredicate(operands[result], value, mask);
  }
}

static void loadConstant(const Instruction &instruction, Registers &registers, Mask mask) {
  const Operand &from = instruction.operands.at(1);
  Lanes value = registers.raw(from), upper = registers.rawUpper(from);
  if (instruction.bytes < 4)
    for (uint32_t &lane : value)
      lane &= (1u << 8 * instruction.bytes) - 1;
  registers.write(instruction.operands[0], value, mask);
  if (instruction.bytes == 8)
    registers.write(instruction.operands[0], upper, mask, 1);
}

void polyattn::gpumodel::executeShuffle(const Instruction &instruction, Registers &registers,
                                        Mask mask) {
  const std::vector<Operand> &operands = instruction.operands;
  size_t first = operands.at(0).kind == OperandKind::Predicate;
  Lanes value = registers.raw(operands.at(first + 1)), by = registers.raw(operands.at(first + 2)),
        bounds = registers.raw(operands.at(first + 3));
  Mask inRange = 0;
  Lanes result = eachLane([&](int lane) {
    // As PTX defines shfl: segments of lanes, and the last lane within one.
    int segment = static_cast<int>(bounds[lane] >> 8 & 31),
        clamp = static_cast<int>(bounds[lane] & 31);
    int last = (lane & segment) | (clamp & ~segment), begin = lane & segment;
    int offset = static_cast<int>(by[lane] & 31), source;
    bool valid;
    if (instruction.has(Modifier::UP)) {
      source = lane - offset;
      valid = source >= last;
    } else {
      source = instruction.has(Modifier::BFLY)   ? lane ^ offset
               : instruction.has(Modifier::DOWN) ? lane + offset
                                                 : begin | (offset & ~segment);
      valid = source <= last;
    }
    inRange |= static_cast<Mask>(valid) << lane;
    return value[valid ? source : lane];
  });
  registers.write(operands.at(first), result, mask);
  if (first)
    registers.writePredicate(operands[0], inRange, mask);
}

void polyattn::gpumodel::execute(const Instruction &instruction, Registers &registers, Mask mask,
                                 const Identity &identity, uint32_t clock) {
  if (instruction.uniform)
    mask = kAllLanes;
  const std::vector<Operand> &operands = instruction.operands;
  switch (instruction.operation) {
  case Operation::Move:
    registers.write(operands.at(0), registers.integer(operands.back()), mask);
    return;
  case Operation::ReadSpecial:
    registers.write(operands.at(0), specialRegisters(operands.at(1).name, identity, clock), mask);
    return;
  case Operation::ReadSpecialPair: {
    Lanes value = specialRegisters(operands.at(1).name, identity, clock);
    registers.write(operands[0], value, mask);
    if (!instruction.hasText("32"))
      registers.write(operands[0], Lanes{}, mask, 1);
    return;
  }
  case Operation::LoadConstant:
    loadConstant(instruction, registers, mask);
    return;
  case Operation::Vote:
    vote(instruction, registers, mask);
    return;
  case Operation::PredicateLogic3:
    predicateLogic(instruction, registers, mask);
    return;
  case Operation::PredicatesToRegister: {
    uint32_t kept = operands.back().immediate;
    registers.write(operands.at(0), eachLane([&](int lane) {
                      uint32_t bits = 0;
                      for (int k = 0; k < kTrue; ++k)
                        bits |= static_cast<uint32_t>(isSet(registers.predicateAt(k), lane)) << k;
                      return bits & kept;
                    }),
                    mask);
    return;
  }
  case Operation::RegisterToPredicates: {
    Lanes bits = registers.raw(operands.at(1));
    for (int k = 0; k < kTrue; ++k)
      if (operands.back().immediate >> k & 1)
        registers.writePredicateAt(k, lanesWhere([&](int lane) { return bits[lane] >> k & 1; }),
                                   mask);
    return;
  }
  default:
    break;
  }
  if (!executeInteger(instruction, registers, mask))
    executeFloat(instruction, registers, mask);
}
