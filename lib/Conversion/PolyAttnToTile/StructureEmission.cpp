//===- StructureEmission.cpp - products and parts of vectors as tiles -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeatureBlocks.h"
#include "VectorEmission.h"

using namespace mlir;
using namespace polyattn;

static int64_t widthOf(Value vector) { return cast<FeatureType>(vector.getType()).getWidth(); }

Value polyattn::emit(VectorProgram &program, ConstantOp op) {
  return program.builder().constant(op.getWidth(), program.getColumns(),
                                    op.getValue().convertToDouble());
}

Value polyattn::emit(VectorProgram &program, SelectOp op) {
  TileBuilder &b = program.builder();
  ArrayRef<int64_t> indices = op.getIndices();
  bool run = true;
  for (auto [i, index] : llvm::enumerate(indices))
    run &= index == indices[0] + int64_t(i);
  if (run)
    return program.rows(op.getInput(), b.index(indices[0]), indices.size());
  Value input = program.full(op.getInput());
  return tile::SelectRowsOp::create(b, b.tileType(indices.size(), program.getColumns()), input,
                                    indices);
}

/// Each row of the result is a row of the operand or zero; what has several is a sum of such.
Value polyattn::emit(VectorProgram &program, ScatterOp op) {
  TileBuilder &b = program.builder();
  int64_t width = op.getWidth(), columns = program.getColumns();
  int64_t zero = widthOf(op.getInput()); // the row after the operand's
  SmallVector<SmallVector<int64_t>> rounds;
  SmallVector<size_t> given(width, 0);
  for (auto [row, index] : llvm::enumerate(op.getIndices())) {
    size_t round = given[index]++;
    if (round == rounds.size())
      rounds.emplace_back(width, zero);
    rounds[round][index] = row;
  }
  Value rows = b.concat({program.full(op.getInput()), b.constant(1, columns, 0)}), sum;
  for (ArrayRef<int64_t> round : rounds) {
    Value part = tile::SelectRowsOp::create(b, b.tileType(width, columns), rows, round);
    sum = sum ? b.add(sum, part) : part;
  }
  return sum;
}

Value polyattn::emit(VectorProgram &program, TriuOp op) {
  TileBuilder &b = program.builder();
  SmallVector<int32_t> table;
  SmallVector<double> factors;
  int64_t n = widthOf(op.getLhs());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i; j < n; ++j) {
      table.append({int32_t(i), int32_t(n + j)});
      factors.push_back(i != j && op.getWeights() == TriuWeights::Sqrt2 ? std::sqrt(2.0) : 1.0);
    }
  Value lhs = program.full(op.getLhs()), rhs = program.full(op.getRhs());
  Value source = b.concat({lhs, rhs});
  auto type = RankedTensorType::get({int64_t(factors.size()), 2}, b.getI32Type());
  return b.monomials(source, b.index(0), factors.size(),
                     DenseIntElementsAttr::get(type, ArrayRef(table)), factors);
}

/// All features of a structured vector, for ops that need their values.
static Value expanded(VectorProgram &program, Value vector) {
  FeaturePlan plan = planFeatures(vector);
  std::vector<double> factors;
  factors.reserve(plan.monomials.size());
  for (const Monomial &monomial : plan.monomials)
    factors.push_back(monomial.weight);
  TileBuilder &b = program.builder();
  FeatureBlocks blocks(plan, std::move(factors));
  blocks.prepare(b, program);
  return blocks.block(b, program, b.index(0), widthOf(vector));
}

Value polyattn::emit(VectorProgram &program, TensorOp op) { return expanded(program, op); }
Value polyattn::emit(VectorProgram &program, PowerOp op) { return expanded(program, op); }
Value polyattn::emit(VectorProgram &, ExpScoreOp) {
  llvm_unreachable("the exponential of a score has no vector (attend, C14)");
}
Value polyattn::emit(VectorProgram &program, ConcatOp op) { return expanded(program, op); }
