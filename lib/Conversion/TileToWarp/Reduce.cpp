//===- Reduce.cpp - sums and maxima of vectors ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

static Value combine(Emitter &e, ReduceKind kind, Value a, Value b) {
  if (kind == ReduceKind::Add)
    return arith::AddFOp::create(e, a, b);
  return arith::MaximumFOp::create(e, a, b);
}

void KernelLowering::reduceEach(int64_t outputs, Value bound, ReduceKind kind,
                                function_ref<Value(Value, Value)> term,
                                function_ref<void(Value, Value)> write) {
  int64_t threads = 32 * options.warps, lanes = 32;
  while (lanes > 1 && lanes * outputs > threads)
    lanes /= 2;
  int64_t total = outputs * lanes;
  e.loop((total + threads - 1) / threads, [&](Value pass) {
    Value number = e.add(thread, e.multiply(pass, threads));
    // Threads without a sum take part in the last one, for all lanes must shuffle.
    Value own = total % threads ? e.createOrFold<arith::MinSIOp>(number, e.i32(total - 1)) : number;
    Value i = e.divide(own, lanes), part = e.modulo(number, lanes);
    double neutral = kind == ReduceKind::Add ? 0 : -std::numeric_limits<double>::infinity();
    auto loop = scf::ForOp::create(e, part, bound, e.i32(lanes), ValueRange{e.f32(neutral)});
    {
      OpBuilder::InsertionGuard guard(e);
      e.setInsertionPointToStart(loop.getBody());
      Value sum = combine(e, kind, loop.getRegionIterArg(0), term(i, loop.getInductionVar()));
      scf::YieldOp::create(e, sum);
    }
    Value sum = loop.getResult(0);
    for (int64_t distance = lanes / 2; distance; distance /= 2)
      sum =
          combine(e, kind, sum, warp::ShuffleOp::create(e, warp::ShuffleMode::Xor, sum, distance));
    Value writes = total % threads ? e.less(number, total) : Value();
    if (lanes > 1)
      writes = e.both(writes, e.less(part, 1));
    e.when(writes, [&] { write(i, sum); });
  });
}

void KernelLowering::reduceInto(Value vector, Value bound, ReduceKind kind,
                                function_ref<Value(Value, Value)> term,
                                function_ref<Value(Value, Value)> finish) {
  TileType type = tileType(vector);
  int64_t length = type.getRows() * type.getColumns();
  Storage storage = allocateFor(vector);
  int64_t outputs = storage.rows * storage.columns;
  auto inside = [&](Value i) {
    return outputs == length ? i : e.createOrFold<arith::MinSIOp>(i, e.i32(length - 1));
  };
  reduceEach(
      outputs, bound, kind, [&](Value i, Value k) { return term(inside(i), k); },
      [&](Value i, Value result) {
        result = finish(inside(i), result);
        if (outputs != length)
          result = e.select(e.less(i, length), result, e.f32(0));
        Grid grid;
        (storage.rows == 1 ? grid.columns : grid.rows).base = i;
        recordWrite(storage, grid);
        storeElements(storage, grid, result);
      });
  computed.insert(vector);
}

/// The bound where one is given, else the size, i32.
static Value boundOr(Emitter &e, Value bound, int64_t size) { return bound ? bound : e.i32(size); }

void KernelLowering::lowerReduce(ReduceOp reduce) {
  TileType type = reduce.getInput().getType();
  bool ofRows = reduce.getAxis() == tile::Axis::Rows;
  Value bound = reduce.getBound() ? e.toI32(scalar(reduce.getBound())) : Value();
  beginPhase();
  reduceInto(
      reduce.getResult(), boundOr(e, bound, ofRows ? type.getRows() : type.getColumns()),
      reduce.getKind(),
      [&](Value i, Value k) {
        Value row = ofRows ? k : i, column = ofRows ? i : k;
        Value value = evaluateAt(reduce.getInput(), row, column);
        if (!reduce.getLower())
          return value;
        double neutral =
            reduce.getKind() == ReduceKind::Add ? 0 : -std::numeric_limits<double>::infinity();
        return e.select(e.less(row, column), e.f32(neutral), value);
      },
      [](Value, Value result) { return result; });
}

void KernelLowering::lowerVectorProduct(DotOp dot) {
  bool transposed = dot.getLhsTransposed();
  TileType lhs = dot.getLhs().getType();
  bool isRow = dot.getResult().getType().getRows() == 1;
  Value bound = dot.getBound() ? e.toI32(scalar(dot.getBound())) : Value();
  beginPhase();
  reduceInto(
      dot.getResult(), boundOr(e, bound, transposed ? lhs.getRows() : lhs.getColumns()),
      ReduceKind::Add,
      [&](Value i, Value k) {
        Value row = isRow ? Value() : i, column = isRow ? i : Value();
        Value a = transposed ? evaluateAt(dot.getLhs(), k, row) : evaluateAt(dot.getLhs(), row, k);
        return arith::MulFOp::create(e, a, evaluateAt(dot.getRhs(), k, column)).getResult();
      },
      [&](Value i, Value sum) {
        if (!dot.getAcc())
          return sum;
        return arith::AddFOp::create(e, evaluateAt(dot.getAcc(), i, i), sum).getResult();
      });
}

void KernelLowering::lowerVectorAccumulate(AccumulateOp op) {
  Storage storage = storages[op.getBuffer()];
  Value bound = op.getBound() ? e.toI32(scalar(op.getBound())) : Value();
  Value row = e.toI32(scalar(op.getRow()));
  TileType lhs = op.getLhs().getType();
  beginPhase();
  reduceEach(
      lhs.getRows(), boundOr(e, bound, lhs.getColumns()), ReduceKind::Add,
      [&](Value i, Value k) {
        return arith::MulFOp::create(e, evaluateAt(op.getLhs(), i, k),
                                     evaluateAt(op.getRhs(), k, {}))
            .getResult();
      },
      [&](Value i, Value sum) {
        Grid grid;
        grid.rows.base = e.add(i, row);
        grid.name = llvm::formatv("sums {0}", lhs.getRows()).str();
        Value old = loadElements(storage, grid)[0];
        if (op.getFactor())
          old = arith::MulFOp::create(e, old, evaluateAt(op.getFactor(), {}, {}));
        recordWrite(storage, grid);
        storeElements(storage, grid, arith::AddFOp::create(e, old, sum).getResult());
      });
}

void KernelLowering::lowerCumulativeSum(CumulativeSumOp sum) {
  TileType type = sum.getResult().getType();
  beginPhase();
  reduceInto(
      sum.getResult(), e.i32(type.getColumns()), ReduceKind::Add,
      [&](Value i, Value k) {
        return e.select(e.less(i, k), e.f32(0), evaluateAt(sum.getInput(), {}, k));
      },
      [](Value, Value result) { return result; });
}
