//===- Opcodes.cpp - the instructions that the model knows ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "Instruction.h"
#include <algorithm>
#include <unordered_map>

using namespace polyattn::gpumodel;

static constexpr const char *kModifiers[] = {
    "X",    "EX", "U8",    "S8",   "U16",    "S16",    "U32",  "S32",  "U64", "S64", "HI",
    "WIDE", "R",  "W",     "SH",   "MOV",    "SX32",   "AND",  "OR",   "XOR", "ALL", "EQ",
    "BFLY", "UP", "DOWN",  "IDX",  "RCP",    "RSQ",    "SQRT", "EX2",  "LG2", "SIN", "COS",
    "TANH", "RP", "TRUNC", "TF32", "BYPASS", "STRONG", "DIV",  "CONV", "SYNC"};
static_assert(std::size(kModifiers) == static_cast<size_t>(Modifier::Count));

/// In the order of their encoding; the second half is true for NaN.
static constexpr const char *kComparisons[] = {"F",   "LT",  "EQ",  "LE",  "GT",  "NE",
                                               "GE",  "NUM", "NAN", "LTU", "EQU", "LEU",
                                               "GTU", "NEU", "GEU", "T"};

namespace {
struct Opcode {
  Operation operation;
  Pipe pipe;
  Latency latency = Latency::Other;
};
} // namespace

/// Integer instructions that also exist on the uniform datapath, there with a U before the name.
static const std::unordered_map<std::string, Opcode> kIntegers = {
    {"MOV", {Operation::Move, Pipe::ALU}},
    {"IADD3", {Operation::Add3, Pipe::ALU}},
    {"IMAD", {Operation::MultiplyAdd, Pipe::FMA}},
    {"LEA", {Operation::ShiftAdd, Pipe::ALU}},
    {"LOP3", {Operation::Logic3, Pipe::ALU}},
    {"PLOP3", {Operation::PredicateLogic3, Pipe::ALU}},
    {"SHF", {Operation::FunnelShift, Pipe::ALU}},
    {"SEL", {Operation::Select, Pipe::ALU}},
    {"PRMT", {Operation::Permute, Pipe::ALU}},
    {"ISETP", {Operation::Compare, Pipe::ALU}},
    {"SGXT", {Operation::SignExtend, Pipe::ALU}},
    {"BMSK", {Operation::BitMask, Pipe::ALU}},
    {"IABS", {Operation::Absolute, Pipe::ALU}},
    {"POPC", {Operation::PopulationCount, Pipe::Functions, Latency::Functions}},
    {"FLO", {Operation::FindLeadingOne, Pipe::Functions, Latency::Functions}},
    {"BREV", {Operation::ReverseBits, Pipe::Functions, Latency::Functions}},
};

static const std::unordered_map<std::string, Opcode> kOpcodes = {
    {"VIADD", {Operation::Add, Pipe::ALU}},
    {"VIMNMX", {Operation::MinMax, Pipe::ALU}},
    {"IMNMX", {Operation::MinMax, Pipe::ALU}},
    {"VIADDMNMX", {Operation::AddMinMax, Pipe::ALU}},
    {"R2UR", {Operation::Move, Pipe::ALU, Latency::Special}},
    {"S2R", {Operation::ReadSpecial, Pipe::None, Latency::Special}},
    {"S2UR", {Operation::ReadSpecial, Pipe::None, Latency::Special}},
    {"CS2R", {Operation::ReadSpecialPair, Pipe::ALU}},
    {"LDC", {Operation::LoadConstant, Pipe::Constant, Latency::Constant}},
    {"ULDC", {Operation::LoadConstant, Pipe::Uniform}},
    {"VOTE", {Operation::Vote, Pipe::ALU}},
    {"VOTEU", {Operation::Vote, Pipe::ALU}},
    {"P2R", {Operation::PredicatesToRegister, Pipe::ALU}},
    {"R2P", {Operation::RegisterToPredicates, Pipe::ALU}},
    {"FADD", {Operation::FloatAdd, Pipe::FMA}},
    {"FMUL", {Operation::FloatMultiply, Pipe::FMA}},
    {"FFMA", {Operation::FloatMultiplyAdd, Pipe::FMA}},
    {"FMNMX", {Operation::FloatMinMax, Pipe::ALU}},
    {"FSETP", {Operation::FloatCompare, Pipe::ALU}},
    {"FSEL", {Operation::FloatSelect, Pipe::ALU}},
    {"FCHK", {Operation::FloatCheck, Pipe::Functions, Latency::Functions}},
    {"MUFU", {Operation::FloatFunction, Pipe::Functions, Latency::Functions}},
    {"F2FP", {Operation::PackHalves, Pipe::ALU}},
    {"HFMA2", {Operation::Halves, Pipe::Half}},
    {"HMUL2", {Operation::Halves, Pipe::Half}},
    {"HADD2", {Operation::Halves, Pipe::Half}},
    {"HMNMX2", {Operation::Halves, Pipe::Half}},
    {"HSETP2", {Operation::CompareHalves, Pipe::ALU}},
    {"I2F", {Operation::IntegerToFloat, Pipe::Functions, Latency::Functions}},
    {"I2FP", {Operation::IntegerToFloat, Pipe::ALU}},
    {"F2I", {Operation::FloatToInteger, Pipe::Functions, Latency::Functions}},
    {"F2F", {Operation::ConvertFloat, Pipe::Functions, Latency::Functions}},
    {"FRND", {Operation::ConvertFloat, Pipe::Functions, Latency::Functions}},
    {"DADD", {Operation::Double, Pipe::Double, Latency::Double}},
    {"DMUL", {Operation::Double, Pipe::Double, Latency::Double}},
    {"DFMA", {Operation::Double, Pipe::Double, Latency::Double}},
    {"DSETP", {Operation::Double, Pipe::Double, Latency::Double}},
    {"HMMA", {Operation::MatrixMultiply, Pipe::Tensor}},
    {"SHFL", {Operation::Shuffle, Pipe::LoadStore}},
    {"LDS", {Operation::LoadShared, Pipe::LoadStore}},
    {"LDSM", {Operation::LoadMatrix, Pipe::LoadStore}},
    {"STS", {Operation::StoreShared, Pipe::LoadStore}},
    {"LDG", {Operation::LoadGlobal, Pipe::LoadStore}},
    {"STG", {Operation::StoreGlobal, Pipe::LoadStore}},
    {"LDGSTS", {Operation::CopyGlobal, Pipe::LoadStore}},
    {"LDGDEPBAR", {Operation::CommitCopies, Pipe::LoadStore}},
    {"DEPBAR", {Operation::AwaitCopies, Pipe::Branch}},
    {"LDL", {Operation::LoadLocal, Pipe::LoadStore}},
    {"STL", {Operation::StoreLocal, Pipe::LoadStore}},
    {"LD", {Operation::LoadRemote, Pipe::LoadStore}},
    {"MEMBAR", {Operation::Fence, Pipe::LoadStore}},
    {"BAR", {Operation::AwaitCTA, Pipe::Branch}},
    {"UCGABAR_ARV", {Operation::ArriveCluster, Pipe::Branch}},
    {"UCGABAR_WAIT", {Operation::AwaitCluster, Pipe::Branch}},
    {"BRA", {Operation::Branch, Pipe::Branch}},
    {"EXIT", {Operation::Exit, Pipe::Branch}},
    {"CALL", {Operation::Call, Pipe::Branch}},
    {"RET", {Operation::Return, Pipe::Branch}},
    {"BSSY", {Operation::SetReconvergence, Pipe::Branch}},
    {"BSYNC", {Operation::Reconverge, Pipe::Branch}},
    {"BREAK", {Operation::LeaveReconvergence, Pipe::Branch}},
    // Caches are not written back, and lanes of a warp run together: nothing is left to do.
    {"NOP", {Operation::Nothing, Pipe::None}},
    {"CCTL", {Operation::Nothing, Pipe::None}},
    {"ERRBAR", {Operation::Nothing, Pipe::None}},
    {"CGAERRBAR", {Operation::Nothing, Pipe::None}},
    {"WARPSYNC", {Operation::Nothing, Pipe::None}},
    {"YIELD", {Operation::Nothing, Pipe::None}},
};

bool Instruction::hasText(const char *modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

static int bytesOf(const Instruction &instruction) {
  if (instruction.operation == Operation::LoadMatrix)
    return instruction.hasText("4") ? 16 : instruction.hasText("2") ? 8 : 4;
  if (instruction.hasText("128"))
    return 16;
  if (instruction.hasText("64"))
    return 8;
  if (instruction.has(Modifier::U16) || instruction.has(Modifier::S16))
    return 2;
  return instruction.has(Modifier::U8) || instruction.has(Modifier::S8) ? 1 : 4;
}

/// Forms of a known instruction that the model would take for others.
static void refuse(const Instruction &instruction) {
  auto fail = [&](const std::string &why) {
    throw Failure("instruction " + instruction.text + ": " + why);
  };
  if (instruction.operation == Operation::AwaitCTA &&
      (!instruction.has(Modifier::SYNC) || instruction.operands.size() != 1 ||
       instruction.operands[0].immediate != 0))
    fail("only barriers of all warps of a CTA, BAR.SYNC 0x0, are modelled");
  if (instruction.operation == Operation::MatrixMultiply && !instruction.hasText("16816") &&
      !instruction.hasText("1688"))
    fail("only products of 16x8x16 and 16x8x8 are modelled");
}

void polyattn::gpumodel::classify(Instruction &instruction) {
  for (const std::string &modifier : instruction.modifiers)
    for (size_t k = 0; k < std::size(kModifiers); ++k)
      if (modifier == kModifiers[k])
        instruction.modifierBits |= uint64_t(1) << k;
  const std::string &name = instruction.mnemonic;
  auto found = kOpcodes.find(name);
  Opcode opcode{};
  if (found != kOpcodes.end()) {
    opcode = found->second;
    instruction.uniform = name == "ULDC";
  } else if (found = kIntegers.find(name); found != kIntegers.end()) {
    opcode = found->second;
  } else if (name[0] == 'U' && (found = kIntegers.find(name.substr(1))) != kIntegers.end()) {
    opcode = found->second;
    opcode.pipe = Pipe::Uniform;
    instruction.uniform = true;
  } else {
    throw Failure("unknown instruction: " + instruction.text);
  }
  instruction.operation = opcode.operation;
  instruction.pipe = opcode.pipe;
  instruction.latency = opcode.latency;
  if (opcode.pipe == Pipe::FMA &&
      (instruction.has(Modifier::WIDE) || instruction.has(Modifier::HI)))
    instruction.pipe = Pipe::HeavyFMA;
  instruction.bytes = bytesOf(instruction);
  for (const std::string &modifier : instruction.modifiers) {
    const auto *comparison = std::find(std::begin(kComparisons), std::end(kComparisons), modifier);
    if (comparison == std::end(kComparisons))
      continue;
    instruction.comparison = static_cast<int>(comparison - std::begin(kComparisons));
    break;
  }
  refuse(instruction);
}
