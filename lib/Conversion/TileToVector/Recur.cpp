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

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using namespace polyattn::tile;

namespace {

/// Some columns of the rows, as many vectors as registers hold with their sums.
class RowWalk {
public:
  /// The operands in memory; what is not there has none.
  struct Operands {
    TileMemory query;
    std::optional<TileMemory> key, value, acc;
    Value factor;        // f32
    bool before = false; // the sums are of the rows as they were
  };

  RowWalk(Emitter &e, const Operands &operands, const Tensor &tensor, Offset start,
          const TileMemory &result)
      : e(e), operands(operands), tensor(tensor), start(start), result(result),
        rowStride(tensor.strides[tensor.strides.size() - 2]) {}

  /// Rows [0, count) of `vectors` vectors of `lanes` from `column` on.
  void run(int64_t count, Offset column, int64_t vectors, int64_t lanes) const;

private:
  /// Sums of several rows at a time do not wait for each other.
  static constexpr int64_t kChains = 2;

  void step(Offset row, const Vectors &values, Value factor, Offset column, int64_t lanes,
            MutableArrayRef<Value> sums) const;
  Value element(const TileMemory &vector, Offset i, int64_t lanes) const {
    return e.broadcast(e.load(e.getF32Type(), vector.base, address(e, vector, 0, i)), lanes);
  }
  Vectors row(const TileMemory &vector, Offset column, int64_t vectors, int64_t lanes) const;

  Emitter &e;
  const Operands &operands;
  const Tensor &tensor;
  const Offset start;
  const TileMemory &result;
  const Offset rowStride;
};

} // namespace

Vectors RowWalk::row(const TileMemory &vector, Offset column, int64_t vectors,
                     int64_t lanes) const {
  Vectors values;
  for (int64_t v = 0; v < vectors; ++v)
    values.push_back(e.loadVector(e.getF32Type(), vector.base,
                                  address(e, vector, 0, e.add(column, v * lanes)), lanes));
  return values;
}

/// One row: what becomes of it, and what the query has of it.
void RowWalk::step(Offset row, const Vectors &values, Value factor, Offset column, int64_t lanes,
                   MutableArrayRef<Value> sums) const {
  Value memory =
      e.pointer(tensor.base, e.add(e.add(start, e.mul(row, rowStride)), column), tensor.element);
  Value query = element(operands.query, row, lanes);
  Value key = operands.key ? element(*operands.key, row, lanes) : Value();
  for (auto [v, sum] : llvm::enumerate(sums)) {
    Offset place = int64_t(v) * lanes;
    Value state = e.fromStorage(e.loadVector(tensor.element, memory, place, lanes));
    if (operands.before)
      sum = e.fma(query, state, sum);
    if (key) {
      if (factor)
        state = arith::MulFOp::create(e, state, factor);
      // What is summed up is what a later step will find.
      Value stored = e.toStorage(e.fma(key, values[v], state), tensor.element);
      e.store(stored, memory, place);
      state = e.fromStorage(stored);
    }
    if (!operands.before)
      sum = e.fma(query, state, sum);
  }
}

void RowWalk::run(int64_t count, Offset column, int64_t vectors, int64_t lanes) const {
  Vectors values;
  if (operands.value)
    values = row(*operands.value, column, vectors, lanes);
  Value factor = operands.factor ? e.broadcast(operands.factor, lanes) : Value();
  Value zero = e.splat(e.getF32FloatAttr(0), lanes);
  Vectors sums(kChains * vectors, zero);
  auto chain = [&](Vectors &all, int64_t i) {
    return MutableArrayRef(all).slice(i * vectors, vectors);
  };
  if (operands.acc)
    llvm::copy(row(*operands.acc, column, vectors, lanes), sums.begin());
  int64_t whole = count / kChains * kChains;
  sums = e.loop(0, whole, kChains, sums, [&](Offset first, ValueRange in) {
    Vectors out(in);
    for (int64_t i = 0; i < kChains; ++i)
      step(e.add(first, i), values, factor, column, lanes, chain(out, i));
    return out;
  });
  for (int64_t i = whole; i < count; ++i)
    step(i, values, factor, column, lanes, chain(sums, i - whole));
  for (int64_t v = 0; v < vectors; ++v) {
    Value sum = sums[v];
    for (int64_t i = 1; i < kChains; ++i)
      sum = arith::AddFOp::create(e, sum, sums[i * vectors + v]);
    e.store(sum, result.base, address(e, result, 0, e.add(column, v * lanes)));
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

  RowWalk::Operands operands{storageOf(recur.getQuery()), {}, {}, {}, {}, recur.getBefore()};
  if (recur.getKey()) {
    operands.key = storageOf(recur.getKey());
    operands.value = storageOf(recur.getValue());
  }
  if (recur.getFactor())
    operands.factor = loadElement(storageOf(recur.getFactor()), 0, 0);
  if (recur.getAcc())
    operands.acc = storageOf(recur.getAcc());
  TileMemory result = allocateFor(recur.getResult());
  RowWalk walk(e, operands, tensor, start, result);
  int64_t rows = recur.getQuery().getType().getColumns(), columns = result.columns;
  // Values and sums stay in registers, and a few are left for the row at hand.
  int64_t most = e.machine.vectorRegisters >= 32 ? 8 : 4;
  int64_t block = most * e.width(), whole = columns / block * block;
  e.loop(0, whole, block, [&](Offset column) { walk.run(rows, column, most, e.width()); });
  if (int64_t vectors = (columns - whole) / e.width()) {
    walk.run(rows, whole, vectors, e.width());
    whole += vectors * e.width();
  }
  // The tail in powers of two: nothing outside the rows is touched.
  for (int64_t lanes = e.width() / 2; lanes >= 1; lanes /= 2)
    if (columns - whole >= lanes) {
      walk.run(rows, whole, 1, lanes);
      whole += lanes;
    }
  return success();
}
