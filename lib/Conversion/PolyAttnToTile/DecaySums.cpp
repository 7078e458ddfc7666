//===- DecaySums.cpp - gradients of decays, summed up ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecaySums.h"
#include "BlockState.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;

/// The positions that a program takes at a time.
static constexpr int64_t kBlock = 64;
/// The logarithm below which a gate lets nothing of an f32 pass.
static constexpr double kNothingPasses = -104;

struct DecaySums::Gates {
  mutable tile::KernelOp kernel;     // its accessors are not const
  Value batch, sequence, head;       // index: of the products, of the states, of the decay
  Value positions;                   // index: their number
  std::function<Value(Value)> rowOf; // the row that has a position
};

//===----------------------------------------------------------------------===//
// What is summed up
//===----------------------------------------------------------------------===//

bool DecaySums::isOfHead() const {
  return cast<RankedTensorType>(op.getDecay().getType()).getRank() == 1;
}

ArrayAttr DecaySums::grid(Builder &b) const {
  if (!isOfHead())
    return saved.tensors.gridOf(b, {});
  Attribute heads = tile::ExtentAttr::dimensionOf(b.getContext(), saved.resultTensor, 0);
  return b.getArrayAttr(heads);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// <S, dS> over the initial states, [1 x 1]: what pairs with a key before all positions give.
Value DecaySums::ofStates(TileBuilder &b, const Gates &gates) const {
  Value sum = b.constant(1, 1, 0);
  for (auto [state, gradient] : llvm::zip(op.getStates(), op.getStateGradients())) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(gradient.getType()).getShape();
    int64_t features = shape[2], width = shape.size() > 3 ? shape[3] : 1;
    int64_t count = std::gcd(features, 16);
    SmallVector<Value> tensors;
    for (BlockArgument term : AddStatesOp::termsOf(state))
      tensors.push_back(saved.tensorOf(gates.kernel, term));
    StoredState x = StoredState::sumOf(tensors, /*normalizers=*/{}, {gates.sequence, gates.head},
                                       /*isTransposed=*/false);
    StoredState dx{saved.tensorOf(gates.kernel, gradient), Value(), {gates.sequence, gates.head}};
    sum = b.loop(b.index(0), b.index(features), b.index(count), sum,
                 [&](Value first, ValueRange in) -> TileBuilder::Values {
                   Value product = b.mul(x.loadRows(b, first, count, width),
                                         dx.loadRows(b, first, count, width));
                   return {b.add(in[0], b.reduceRows(b.reduceColumns(product)))};
                 })[0];
  }
  return sum;
}

/// k_t - q_t for a block of positions t, [1 x C], of all query heads that have the gate.
Value DecaySums::changes(TileBuilder &b, const Gates &gates, Value position, Value valid) const {
  Value row = gates.rowOf(position), zero = b.index(0), one = b.index(1), two = b.index(2);
  Value heads = memref::DimOp::create(b, saved.tensorOf(gates.kernel, op.getQueries()[0]), two);
  Value own = memref::DimOp::create(b, saved.resultOf(gates.kernel), isOfHead() ? zero : two);
  Value group = b.divIndex(heads, own);
  return b.loop(zero, group, one, b.constant(1, kBlock, 0),
                [&](Value i, ValueRange in) -> TileBuilder::Values {
                  Value head = saved.tensors.interleaved
                                   ? b.addIndex(b.mulIndex(i, own), gates.head)
                                   : b.addIndex(b.mulIndex(gates.head, group), i);
                  auto load = [&](Value products) -> Value {
                    return tile::LoadOp::create(b, b.tileType(1, kBlock),
                                                saved.tensorOf(gates.kernel, products),
                                                ValueRange{gates.batch, row, head}, valid,
                                                /*row_dim=*/-1, /*col_dim=*/1,
                                                /*transposed=*/false);
                  };
                  Value sum = in[0];
                  for (Value products : op.getKeys())
                    sum = b.add(sum, load(products));
                  for (Value products : op.getQueries())
                    sum = b.sub(sum, load(products));
                  return {sum};
                })[0];
}

/// Visits the gradients of a gate, position by position: that of the first one, then those of
/// blocks. `carried` is what one visit gives to the next; the last one's is returned.
Value DecaySums::run(TileBuilder &b, const Gates &gates, Value carried, Visit visit) const {
  Value one = b.index(1), passing = ofStates(b, gates);
  carried = visit(passing, b.index(0), b.minIndex(one, gates.positions), carried);
  auto block = [&](const BlockSpan &span, ValueRange in) -> TileBuilder::Values {
    auto sums = tile::CumulativeSumOp::create(b, b.tileType(1, kBlock), b.tileType(1, kBlock),
                                              changes(b, gates, span.position, span.valid));
    Value gradients =
        b.map({in[0], sums.getHigh(), sums.getLow()},
              [](ElementBuilder &e, ValueRange in) { return e.add(e.add(in[0], in[1]), in[2]); });
    Value next = b.addIndex(span.position, one);
    Value valid = b.minIndex(span.valid, b.subIndex(gates.positions, next));
    return {b.sliceColumns(gradients, b.index(kBlock - 1), 1),
            visit(gradients, next, valid, in[1])};
  };
  return Sweep{b.index(0), gates.positions, kBlock}.forBlocks(b, {passing, carried}, block)[1];
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void DecaySums::build(TileBuilder &b, StringRef entry) const {
  std::string name = kernelName(entry);
  isOfHead() ? buildOfHead(b, name) : buildOfPositions(b, name);
}

/// A program for each batch and gate head.
void DecaySums::buildOfPositions(TileBuilder &b, StringRef name) const {
  KernelFrame frame(b, name, saved.tensors, workspacesOf(b, saved.values));
  Gates gates{
      frame.kernel,           frame.sequence.batch,
      frame.sequence.number,  frame.heads.ofRows(),
      frame.sequence.queries, [&](Value position) { return frame.sequence.rowOf(b, position); }};
  auto store = [&](Value gradients, Value position, Value valid) {
    int64_t count = b.typeOf(gradients).getColumns();
    SmallVector<Value> at = {gates.batch, gates.rowOf(position), gates.head};
    Value gate =
        tile::LoadOp::create(b, b.tileType(1, count), saved.tensorOf(gates.kernel, op.getDecay()),
                             at, valid, /*row_dim=*/-1, /*col_dim=*/1,
                             /*transposed=*/false);
    // What rounding has left there would be all of it.
    Value moving = b.map({gate, gradients}, [](ElementBuilder &e, ValueRange in) {
      return e.select(e.less(in[0], e.constant(kNothingPasses)), e.constant(0), in[1]);
    });
    tile::StoreOp::create(b, b.transpose(moving), saved.resultOf(frame.kernel), at, valid,
                          /*row_dim=*/1,
                          /*col_dim=*/-1);
  };
  auto visit = [&](Value gradients, Value position, Value valid, Value none) {
    // Without positions there is no gate that a load could take.
    b.branch(b.compare(arith::CmpIPredicate::sgt, valid, b.index(0)),
             [&] { store(gradients, position, valid); });
    return none;
  };
  run(b, gates, b.constant(1, 1, 0), visit);
}

/// A program for each head: the sum over its positions in all batches, or packed sequences, in
/// order.
void DecaySums::buildOfHead(TileBuilder &b, StringRef name) const {
  tile::KernelOp kernel = saved.createKernel(b, name, grid(b));
  Value head = tile::ProgramIdOp::create(b, 0), zero = b.index(0), one = b.index(1);
  Value products = saved.tensorOf(kernel, op.getQueries()[0]);
  Value offsets = saved.tensors.offsets ? kernel.getTensor(*saved.tensors.offsets) : Value();
  Value batches = memref::DimOp::create(b, offsets ? offsets : products, zero);
  if (offsets) // where each begins, and the last one ends
    batches = b.subIndex(batches, one);
  Value positions = memref::DimOp::create(b, products, one);
  auto gatesOf = [&](Value number) -> Gates {
    if (!offsets)
      return {kernel, number, number, head, positions, [](Value position) { return position; }};
    SequenceRows rows = rowsOfSequence(b, offsets, number);
    return {kernel,     zero,
            number,     head,
            rows.count, [&b, rows](Value position) { return b.addIndex(rows.first, position); }};
  };
  auto add = [&](Value gradients, Value, Value valid, Value carried) {
    return b.add(carried, b.reduceColumns(gradients, valid));
  };
  Value sum = b.loop(zero, batches, one, b.constant(1, 1, 0),
                     [&](Value number, ValueRange in) -> TileBuilder::Values {
                       Value own = run(b, gatesOf(number), b.constant(1, 1, 0), add);
                       return {b.add(in[0], own)};
                     })[0];
  if (Value held = op.getPlus())
    sum = b.add(sum, tile::LoadOp::create(b, b.tileType(1, 1), saved.tensorOf(kernel, held), head,
                                          Value(), -1, -1, /*transposed=*/false));
  tile::StoreOp::create(b, sum, saved.resultOf(kernel), head, Value(), -1, -1);
}
