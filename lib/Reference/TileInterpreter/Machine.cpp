//===- Machine.cpp - one tile kernel, op by op ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

double reference::roundTo(Type type, double value, llvm::RoundingMode mode) {
  if (type.isF64())
    return value;
  if (type.isF32() && mode == llvm::RoundingMode::NearestTiesToEven)
    return static_cast<float>(value);
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(cast<FloatType>(type).getFloatSemantics(), mode, &losesInfo);
  return number.convertToDouble();
}

Array *Machine::tensor(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  bool isTensor = argument && argument.getOwner() == &kernel.getBody().front() &&
                  argument.getArgNumber() < tensors.size();
  return isTensor ? &tensors[argument.getArgNumber()] : nullptr;
}

LogicalResult Machine::bindTile(Value value, Tile tile) {
  auto type = cast<tile::TileType>(value.getType());
  assert(tile.numbers.rows == type.getRows() && tile.numbers.columns == type.getColumns());
  for (double &x : tile.numbers.numbers)
    x = rounded(type.getElementType(), x);
  // Buffers hold f32, and vectors are no operands of 16 bits.
  bool isMatrix = type.getRows() > 1 && type.getColumns() > 1;
  if (rounds() && isMatrix && !tile.source)
    if (std::optional<tile::Precision> precision = keptPrecision(value))
      for (double &x : tile.numbers.numbers)
        x = nearest(*precision, x);
  bind(value, std::make_shared<const Tile>(std::move(tile)));
  return success();
}

LogicalResult Machine::runProgram(ArrayRef<int64_t> program) {
  coordinates = program;
  return runBlock(kernel.getBody().front(), nullptr);
}

LogicalResult Machine::runBlock(Block &block, SmallVectorImpl<Content> *passedOn) {
  for (Operation &op : block) {
    for (Value operand : op.getOperands()) {
      if (!isa<tile::TileType>(operand.getType()))
        continue;
      if (!std::get<std::shared_ptr<const Tile>>(content(operand))->isFresh())
        return op.emitError(
            "uses a tile that was read from a buffer whose rows were written since");
    }
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      for (Value operand : op.getOperands())
        if (passedOn)
          passedOn->push_back(content(operand));
      return success();
    }
    if (failed(runOp(&op)))
      return failure();
  }
  return success();
}

LogicalResult Machine::runOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<tile::LoadOp, tile::StoreOp, tile::RecurOp, tile::BufferOp, tile::ReadOp, tile::WriteOp,
            tile::AccumulateOp, tile::ConstantOp, tile::ConstantColumnOp, tile::IotaOp, tile::DotOp,
            tile::MapOp, tile::CausalMaskOp, tile::ReduceOp, tile::CumulativeSumOp,
            tile::MonomialsOp, tile::ContractOp, tile::SliceOp, tile::ConcatOp, tile::SelectRowsOp,
            tile::TransposeOp, tile::PackOp, tile::ToeplitzOp, tile::DiagonalSumsOp, memref::DimOp,
            memref::LoadOp, scf::ForOp, scf::IfOp, tile::ProgramIdOp, tile::PowerOfTwoOp,
            tile::FourierRootsOp, tile::FourierOp, tile::MultiplySpectraOp>(
          [&](auto op) { return run(*this, op); })
      .Default(
          [&](Operation *op) { return runIndex(*this, op) ? success() : runScalar(*this, op); });
}
