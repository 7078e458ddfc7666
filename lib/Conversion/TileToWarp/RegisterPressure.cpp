//===- RegisterPressure.cpp - registers that a thread needs ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterPressure.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;

int64_t RegisterPressure::registersOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return (vector.getNumElements() * vector.getElementTypeBitWidth() + 31) / 32;
  // Predicates have registers of their own; pointers and indices are 64 bits.
  if (type.isInteger(1))
    return 0;
  return type.isIntOrFloat() ? (type.getIntOrFloatBitWidth() + 31) / 32 : 2;
}

/// What holds the bits of a value: its own, or null for none.
static Value registerOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->hasTrait<OpTrait::ConstantLike>())
      return {};
    auto sum = dyn_cast<arith::AddIOp>(op);
    if (!sum || !matchPattern(sum.getRhs(), m_Constant()))
      return value;
    value = sum.getLhs();
  }
  auto argument = cast<BlockArgument>(value);
  return isa<gpu::GPUFuncOp>(argument.getOwner()->getParentOp()) ? Value() : value;
}

/// Walks a kernel backwards, from its end to its beginning.
class RegisterPressure::Walk {
public:
  explicit Walk(RegisterPressure &pressure) : pressure(pressure) {}

  int64_t block(Block &block) {
    int64_t most = registers;
    for (Operation &op : llvm::reverse(block))
      most = std::max(most, visit(op));
    for (Value argument : block.getArguments())
      end(argument);
    return most;
  }

private:
  void begin(Value value) {
    Value own = registerOf(value);
    if (own && live.insert(own).second)
      registers += registersOf(own.getType());
  }
  void end(Value value) {
    if (live.erase(value))
      registers -= registersOf(value.getType());
  }
  /// A loop needs in each iteration what its iterations take from outside; its results, and what it
  /// begins with, are where the carried values are.
  int64_t inside(Operation &op) {
    bool isLoop = isa<scf::ForOp>(op);
    for (Value result : op.getResults())
      end(result);
    if (isLoop)
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (inner != &op && !op.isAncestor(operand.getParentBlock()->getParentOp()))
            begin(operand);
      });
    auto after = live;
    int64_t registersAfter = registers, most = registers;
    auto before = live;
    for (Region &region : op.getRegions())
      for (Block &block : region) {
        live = after;
        registers = registersAfter;
        if (isLoop)
          begin(block.getArgument(0)); // the next iteration's number comes from it
        most = std::max(most, Walk::block(block));
        before.insert(live.begin(), live.end());
      }
    live = std::move(before);
    registers = 0;
    for (Value value : live)
      registers += registersOf(value.getType());
    return pressure.mostWithin[&op] = most;
  }
  int64_t visit(Operation &op) {
    int64_t most = registers;
    if (op.getNumRegions())
      most = std::max(most, inside(op));
    for (Value result : op.getResults())
      if (registerOf(result) == result)
        end(result);
    for (Value operand : op.getOperands())
      begin(operand);
    return std::max(most, registers);
  }

  RegisterPressure &pressure;
  llvm::DenseSet<Value> live;
  int64_t registers = 0;
};

RegisterPressure::RegisterPressure(gpu::GPUFuncOp kernel) {
  mostInKernel = Walk(*this).block(kernel.getBody().front());
}
