//===- Recur.cpp - one step of a recurrence, where its state lies -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state is as much memory as a step has to move, so that each element is loaded once and stored
// once: what the query has of a row is summed up while the row is in registers.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "Pieces.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using namespace polyattn::tile;

/// The vectors of a row for which there is code; longer rows are walked in parts.
static constexpr int64_t kMostPieces = 64;

namespace {

/// Columns of the rows, row by row. Memory is read in one run where these are all columns: with
/// rows in two parts a state of 256 columns that lies in memory took twice as long.
class RowWalk {
public:
  /// The operands in memory; what is not there has none.
  struct Operands {
    TileMemory query;
    std::optional<TileMemory> key, value, acc;
    Value factor;                      // f32, of all rows
    std::optional<TileMemory> factors; // or one of each row
    bool before = false;               // the sums are of the rows as they were
  };

  RowWalk(Emitter &e, const Operands &operands, const Tensor &tensor, Offset start,
          const TileMemory &result, ArrayRef<Piece> pieces)
      : e(e), operands(operands), tensor(tensor), start(start), result(result), pieces(pieces),
        isWide(int64_t(pieces.size()) > e.machine.vectorRegisters / 4),
        inRegisters(std::min<int64_t>(pieces.size(), e.machine.vectorRegisters / 2)),
        rowStride(tensor.strides[tensor.strides.size() - 2]) {}

  /// Rows [0, count), whose columns begin with `column`.
  void run(int64_t count, Offset column) const;

private:
  void step(Offset row, const Vectors &values, Offset column, MutableArrayRef<Value> sums) const;
  Value update(Value state, Value factor, Value key, Value value, int64_t lanes) const;
  Value element(const TileMemory &vector, Offset i) const {
    return e.load(e.getF32Type(), vector.base, address(e, vector, 0, i));
  }
  Value load(const TileMemory &vector, Offset column, const Piece &piece) const {
    return e.loadVector(e.getF32Type(), vector.base,
                        address(e, vector, 0, e.add(column, piece.column)), piece.lanes);
  }
  void store(Value sum, Offset column, const Piece &piece) const {
    e.store(sum, result.base, address(e, result, 0, e.add(column, piece.column)));
  }
  /// With what a sum begins.
  Value first(Offset column, const Piece &piece) const {
    return operands.acc ? load(*operands.acc, column, piece)
                        : e.splat(e.getF32FloatAttr(0), piece.lanes);
  }

  Emitter &e;
  const Operands &operands;
  const Tensor &tensor;
  const Offset start;
  const TileMemory &result;
  ArrayRef<Piece> pieces;
  /// Sums alone take so many registers that values are loaded again for each row. Otherwise these
  /// stay, and rows take turns with two sums of each piece, which do not wait for each other.
  const bool isWide;
  /// The pieces whose sums stay in registers; those of the others are in the result.
  const int64_t inRegisters;
  const Offset rowStride;
};

} // namespace

/// g S + k v^T, as the tensor has it then: what is summed up is what a later step will find.
Value RowWalk::update(Value state, Value factor, Value key, Value value, int64_t lanes) const {
  if (factor)
    state = arith::MulFOp::create(e, state, e.broadcast(factor, lanes));
  return e.toStorage(e.fma(e.broadcast(key, lanes), value, state), tensor.element);
}

/// One row: what becomes of it, and what the query has of it.
void RowWalk::step(Offset row, const Vectors &values, Offset column,
                   MutableArrayRef<Value> sums) const {
  Value memory =
      e.pointer(tensor.base, e.add(e.add(start, e.mul(row, rowStride)), column), tensor.element);
  Value query = element(operands.query, row);
  Value key = operands.key ? element(*operands.key, row) : Value();
  Value factor = operands.factors ? element(*operands.factors, row) : operands.factor;
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    bool isKept = int64_t(i) < inRegisters;
    Value sum = isKept ? sums[i] : load(result, column, piece);
    Value queries = e.broadcast(query, piece.lanes);
    Value state = e.fromStorage(e.loadVector(tensor.element, memory, piece.column, piece.lanes));
    if (operands.before)
      sum = e.fma(queries, state, sum);
    if (key) {
      Value value = isWide ? load(*operands.value, column, piece) : values[i];
      Value stored = update(state, factor, key, value, piece.lanes);
      e.store(stored, memory, piece.column);
      state = e.fromStorage(stored);
    }
    if (!operands.before)
      sum = e.fma(queries, state, sum);
    if (isKept)
      sums[i] = sum;
    else
      store(sum, column, piece);
  }
}

void RowWalk::run(int64_t count, Offset column) const {
  const int64_t chains = isWide ? 1 : 2;
  Vectors values, sums;
  if (operands.value && !isWide)
    for (const Piece &piece : pieces)
      values.push_back(load(*operands.value, column, piece));
  for (int64_t i = 0; i < chains; ++i)
    for (const Piece &piece : pieces.take_front(inRegisters))
      sums.push_back(i == 0 ? first(column, piece) : e.splat(e.getF32FloatAttr(0), piece.lanes));
  for (const Piece &piece : pieces.drop_front(inRegisters))
    store(first(column, piece), column, piece);
  auto chain = [&](Vectors &all, int64_t i) {
    return MutableArrayRef(all).slice(i * inRegisters, inRegisters);
  };
  int64_t whole = count / chains * chains;
  sums = e.loop(0, whole, chains, sums, [&](Offset row, ValueRange in) {
    Vectors out(in);
    for (int64_t i = 0; i < chains; ++i)
      step(e.add(row, i), values, column, chain(out, i));
    return out;
  });
  for (int64_t i = whole; i < count; ++i)
    step(i, values, column, chain(sums, i - whole));
  for (auto [p, piece] : llvm::enumerate(pieces.take_front(inRegisters))) {
    Value sum = sums[p];
    for (int64_t i = 1; i < chains; ++i)
      sum = arith::AddFOp::create(e, sum, sums[i * inRegisters + p]);
    store(sum, column, piece);
  }
}

LogicalResult KernelLowering::lowerRecur(RecurOp recur) {
  auto found = tensors.find(recur.getMemref());
  if (found == tensors.end())
    return recur.emitError("expected one of the kernel's tensors");
  const Tensor &tensor = found->second;
  if (!isa<FloatType>(tensor.element) || tensor.element.isF64())
    return recur.emitError("expected a tensor of f32, f16 or bf16");
  Offset start = 0;
  for (auto [index, stride] : llvm::zip(recur.getIndices(), tensor.strides))
    start = e.add(start, e.mul(scalar(index), stride));

  RowWalk::Operands operands{storageOf(recur.getQuery()), {}, {}, {}, {}, {}, recur.getBefore()};
  if (recur.getKey()) {
    operands.key = storageOf(recur.getKey());
    operands.value = storageOf(recur.getValue());
  }
  if (recur.getFactor() && recur.getFactor().getType().getColumns() > 1)
    operands.factors = storageOf(recur.getFactor());
  else if (recur.getFactor())
    operands.factor = loadElement(storageOf(recur.getFactor()), 0, 0);
  if (recur.getAcc())
    operands.acc = storageOf(recur.getAcc());
  TileMemory result = allocateFor(recur.getResult());
  int64_t rows = recur.getQuery().getType().getColumns(), columns = result.columns;
  auto walk = [&](int64_t from, int64_t to, int64_t length) {
    SmallVector<Piece> pieces = piecesOf(length, e.width());
    RowWalk walk(e, operands, tensor, start, result, pieces);
    e.loop(from, to, length, [&](Offset column) { walk.run(rows, column); });
  };
  int64_t block = kMostPieces * e.width(), whole = columns / block * block;
  if (whole)
    walk(0, whole, block);
  if (whole < columns)
    walk(whole, columns, columns - whole);
  return success();
}
