//===- Instruction.h - an instruction of a kernel's machine code-*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_INSTRUCTION_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_INSTRUCTION_H

#include <cstdint>
#include <string>
#include <vector>

namespace polyattn::gpumodel {

/// RZ and URZ read as zero, and PT and UPT as true.
constexpr int kZeroRegister = 255, kTrue = 7, kUniformTrue = 15;

enum class OperandKind : uint8_t {
  None,
  Register,
  Uniform,
  /// P0 to P6 are 0 to 6, and UP0 to UP6 are 8 to 14.
  Predicate,
  Immediate,
  Constant,
  Address,
  Label,
  Special,
  Barrier,
  Scoreboard
};

/// The part of a register that an operand reads, such as `.H1` or `.B3`.
enum class Part : uint8_t { Whole, Half0, Half1, Byte0, Byte1, Byte2, Byte3 };

struct Operand {
  OperandKind kind = OperandKind::None;
  Part part = Part::Whole;
  bool negative = false, inverted = false, absolute = false;
  /// `.64`: a pair of registers, as for addresses of global memory.
  bool wide = false, wideUniform = false;
  /// Registers of constants and addresses; -1 where there is none.
  int index = -1, uniformIndex = -1;
  /// Powers of two by which an address's register is scaled: `R2.X4`.
  int scale = 0;
  int bank = 0;
  uint32_t immediate = 0;
  int64_t offset = 0;
  /// The name of a label or of a special register.
  std::string name;
};

enum class Modifier : uint8_t {
  X,
  EX,
  U8,
  S8,
  U16,
  S16,
  U32,
  S32,
  U64,
  S64,
  HI,
  WIDE,
  R,
  W,
  SH,
  MOV,
  SX32,
  AND,
  OR,
  XOR,
  ALL,
  EQ,
  BFLY,
  UP,
  DOWN,
  IDX,
  RCP,
  RSQ,
  SQRT,
  EX2,
  LG2,
  SIN,
  COS,
  TANH,
  RP,
  TRUNC,
  TF32,
  BYPASS,
  STRONG,
  DIV,
  CONV,
  SYNC,
  Count
};

/// What an instruction does to registers, or how it acts on control and memory.
enum class Operation : uint8_t {
  Nothing,
  Move,
  Add3,
  MultiplyAdd,
  ShiftAdd,
  Logic3,
  PredicateLogic3,
  FunnelShift,
  Select,
  FloatSelect,
  Permute,
  Compare,
  Add,
  MinMax,
  AddMinMax,
  Absolute,
  SignExtend,
  BitMask,
  PopulationCount,
  FindLeadingOne,
  ReverseBits,
  ReadSpecial,
  ReadSpecialPair,
  LoadConstant,
  Vote,
  PredicatesToRegister,
  RegisterToPredicates,
  FloatAdd,
  FloatMultiply,
  FloatMultiplyAdd,
  FloatMinMax,
  FloatCompare,
  FloatFunction,
  FloatCheck,
  PackHalves,
  Halves,
  CompareHalves,
  IntegerToFloat,
  FloatToInteger,
  ConvertFloat,
  MatrixMultiply,
  Double,
  Shuffle,
  LoadShared,
  LoadMatrix,
  StoreShared,
  LoadGlobal,
  StoreGlobal,
  CopyGlobal,
  CommitCopies,
  AwaitCopies,
  LoadLocal,
  StoreLocal,
  LoadRemote,
  Fence,
  AwaitCTA,
  ArriveCluster,
  AwaitCluster,
  Branch,
  Exit,
  Call,
  Return,
  SetReconvergence,
  Reconverge,
  LeaveReconvergence
};

/// Execution pipes of a sub-core, each of which takes an instruction only so often.
enum class Pipe : uint8_t {
  None,
  ALU,
  FMA,
  HeavyFMA,
  Half,
  Functions,
  LoadStore,
  Tensor,
  Uniform,
  Branch,
  Double,
  Constant,
  Count
};

/// Where the latency comes from that a scoreboard waits for.
enum class Latency : uint8_t { Other, Functions, Double, Special, Constant };

/// ptxas's control word: how long the warp stalls, and which scoreboards it sets and waits for.
struct Control {
  static constexpr uint8_t kNone = 7;
  uint8_t stall = 0, writeScoreboard = kNone, readScoreboard = kNone, waitMask = 0;
};

struct Instruction {
  uint32_t address = 0;
  /// As the disassembler prints it, for messages and profiles.
  std::string text;
  std::string mnemonic;
  std::vector<std::string> modifiers;
  std::vector<Operand> operands;
  uint64_t modifierBits = 0;
  /// Predicate of the guard, -1 without one.
  int guard = -1;
  bool guardInverted = false;
  Control control;
  /// Of the encoding: packed halves have their immediate there.
  uint32_t upperWord = 0;

  Operation operation = Operation::Nothing;
  Pipe pipe = Pipe::None;
  Latency latency = Latency::Other;
  /// On the uniform datapath: one value for the whole warp.
  bool uniform = false;
  /// Of floats and integers: LT, EQ, ... as kComparisons of Opcodes.cpp numbers them.
  int comparison = 0;
  /// Bytes that a lane loads or stores.
  int bytes = 4;
  /// Costs nothing, as a what-if has it.
  bool isFree = false;
  /// Index of the instruction that a branch or call goes to, -1 where there is none.
  int target = -1;

  bool has(Modifier modifier) const { return modifierBits >> static_cast<int>(modifier) & 1; }
  bool hasText(const char *modifier) const;
};

/// Fills in what follows from the mnemonic and the modifiers; a Failure names what is unknown.
void classify(Instruction &instruction);

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_INSTRUCTION_H
