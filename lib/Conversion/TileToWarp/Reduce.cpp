//===- Reduce.cpp - sums and maxima of vectors ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "ThreadElements.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

/// Terms that a lane evaluates at once: 16 bytes of bf16.
static constexpr int64_t kMostTerms = 8;

static Value combine(Emitter &e, ReduceKind kind, Value a, Value b) {
  if (kind == ReduceKind::Add)
    return arith::AddFOp::create(e, a, b);
  return arith::MaximumFOp::create(e, a, b);
}

static double neutralOf(ReduceKind kind) {
  return kind == ReduceKind::Add ? 0 : -std::numeric_limits<double>::infinity();
}

//===----------------------------------------------------------------------===//
// By lanes
//===----------------------------------------------------------------------===//

// Where terms lie together the lanes of an output are neighbours, and each reads a run of terms;
// else neighbours have neighbouring outputs.
void KernelLowering::reduceEach(const Reduction &reduction, WriteSum write) {
  if (reduceByProducts(reduction, write))
    return;
  int64_t outputs = reduction.outputs, lanes = GPUDescription::warpSize,
          threads = lanes * options.warps;
  while (lanes > 1 && lanes * outputs > threads)
    lanes /= 2;
  int64_t run = 1;
  while (reduction.alongLines && run < kMostTerms && 2 * run * lanes <= reduction.length)
    run *= 2;
  auto layout =
      ThreadLayout::laneSums(options.warps, outputs, lanes, /*neighbours=*/reduction.alongLines);
  int64_t total = outputs * lanes, perWarp = GPUDescription::warpSize / lanes;
  Value end = reduction.bound ? reduction.bound : e.i32(reduction.length);
  bool ragged = run > 1 && (reduction.bound || reduction.length % (run * lanes));
  Value neutral = e.f32(neutralOf(reduction.kind));
  e.loop((total + threads - 1) / threads, [&](Value pass) {
    Value number = e.add(thread, e.multiply(pass, threads));
    auto [i, part] = laneSumOf(e, layout, number, lane);
    // Threads without an output take part in the last one, for all lanes must shuffle.
    bool spare = total % threads;
    Value own = spare ? e.createOrFold<arith::MinSIOp>(i, e.i32(outputs - 1)) : i;
    auto loop =
        scf::ForOp::create(e, e.multiply(part, run), end, e.i32(run * lanes), ValueRange{neutral});
    {
      OpBuilder::InsertionGuard guard(e);
      e.setInsertionPointToStart(loop.getBody());
      Coordinates k = consecutive(loop.getInductionVar(), run);
      Value sum = loop.getRegionIterArg(0);
      for (auto [offset, term] : llvm::enumerate(reduction.terms(own, k))) {
        if (ragged && offset)
          term = e.select(e.less(e.add(k.base, offset), end), term, neutral);
        sum = combine(e, reduction.kind, sum, term);
      }
      scf::YieldOp::create(e, sum);
    }
    Value sum = loop.getResult(0);
    int64_t nearest = reduction.alongLines ? 1 : perWarp;
    for (int64_t distance = lanes / 2 * nearest; distance >= nearest; distance /= 2)
      sum = combine(e, reduction.kind, sum,
                    warp::ShuffleOp::create(e, warp::ShuffleMode::Xor, sum, e.i32(distance)));
    Value writes = spare ? e.less(i, outputs) : Value();
    if (lanes > 1)
      writes = e.both(writes, e.less(part, 1));
    e.when(writes, [&, i = i] { write(i, sum, layout); });
  });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

bool KernelLowering::liesByRows(Value matrix) {
  if (computed.contains(matrix))
    return !storages[matrix].columnMajor;
  if (auto transpose = matrix.getDefiningOp<TransposeOp>())
    return !liesByRows(transpose.getSource());
  Operation *op = matrix.getDefiningOp();
  if (isa_and_nonnull<SliceOp, MapOp, SelectRowsOp>(op))
    for (Value operand : op->getOperands())
      if (tileType(operand) && !isVector(operand))
        return liesByRows(operand);
  return true;
}

void KernelLowering::reduceInto(Value vector, Reduction reduction,
                                function_ref<Value(Value, Value)> finish) {
  TileType type = tileType(vector);
  int64_t length = type.getRows() * type.getColumns();
  TileMemory storage = allocateFor(vector);
  int64_t outputs = storage.rows * storage.columns;
  auto inside = [&](Value i) {
    return outputs == length ? i : e.createOrFold<arith::MinSIOp>(i, e.i32(length - 1));
  };
  reduction.outputs = outputs;
  auto terms = reduction.terms;
  reduction.terms = [&](Value i, const Coordinates &k) { return terms(inside(i), k); };
  reduceEach(reduction, [&](Value i, Value result, const ThreadLayout &) {
    result = finish(inside(i), result);
    if (outputs != length)
      result = e.select(e.less(i, length), result, e.f32(0));
    ThreadElements owned;
    (storage.rows == 1 ? owned.columns : owned.rows).base = i;
    recordWrite(storage, owned);
    storeElements(storage, owned, result);
  });
  computed.insert(vector);
}

/// Reduces the rows of a matrix in accumulators: four neighbouring lanes have a row.
void KernelLowering::reduceRegisters(ReduceOp reduce) {
  Value input = reduce.getInput(), neutral = e.f32(neutralOf(reduce.getKind()));
  TileType type = tileType(input);
  Triangle triangle = reduce.getTriangle();
  Value bound = toI32(reduce.getBound());
  beginPhase();
  ThreadElements owned = accumulatorElements(type.getRows(), type.getColumns());
  const Values &values = registers[input];
  RowSums result = rowSumsInto(reduce.getResult(), /*vector=*/Value(), /*initial=*/Value());
  Values sums;
  for (int64_t r = 0; r < owned.rows.size(); ++r) {
    Value row = e.add(owned.rows.base, owned.rows.offsets[r]), sum = neutral;
    for (int64_t c = 0; c < owned.columns.size(); ++c) {
      Value column = e.add(owned.columns.base, owned.columns.offsets[c]);
      Value term = values[r * owned.columns.size() + c];
      if (triangle != Triangle::None)
        term = outside(triangle, row, column, neutral, term);
      if (bound)
        term = e.select(e.less(column, bound), term, neutral);
      sum = combine(e, reduce.getKind(), sum, term);
    }
    for (int64_t distance : {1, 2})
      sum = combine(e, reduce.getKind(), sum,
                    warp::ShuffleOp::create(e, warp::ShuffleMode::Xor, sum, e.i32(distance)));
    sums.push_back(sum);
  }
  e.when(e.less(e.modulo(lane, 4), 1), [&] {
    for (auto [offset, sum] : llvm::zip_equal(owned.rows.offsets, sums))
      result.write(e.add(owned.rows.base, offset), sum);
  });
}

void KernelLowering::lowerReduce(ReduceOp reduce) {
  if (registers.contains(reduce.getInput()))
    return reduceRegisters(reduce);
  if (AccumulateOp update = updateToFuse(reduce)) {
    lowerAccumulate(update, reduce);
    emittedEarly.insert(update);
    return;
  }
  Value input = reduce.getInput();
  // Elements in registers cannot be read in another layout: then the product is there by itself.
  if (auto [matrix, weights] = ColumnSum::of(reduce); weights && !registers.contains(matrix)) {
    beginPhase();
    return reduceInto(
        reduce.getResult(),
        productReduction(matrix, /*transposed=*/false, weights, toI32(reduce.getBound())),
        [](Value, Value result) { return result; });
  }
  TileType type = tileType(input);
  bool ofRows = reduce.getAxis() == tile::Axis::Rows;
  // Outside of the triangle of a masked tile there are zeros, which change no sum.
  auto mask = input.getDefiningOp<CausalMaskOp>();
  Triangle triangle = reduce.getTriangle();
  if (mask && mask.getTriangle() == triangle && reduce.getKind() == ReduceKind::Add)
    triangle = Triangle::None;
  bool isWhole = triangle == Triangle::None;
  beginPhase();
  Reduction reduction;
  reduction.length = ofRows ? type.getRows() : type.getColumns();
  reduction.bound = toI32(reduce.getBound());
  reduction.kind = reduce.getKind();
  reduction.alongLines = isVector(input) || liesByRows(input) != ofRows;
  reduction.terms = [&](Value i, const Coordinates &k) {
    ThreadElements owned;
    owned.rows = ofRows ? k : consecutive(i, 1);
    owned.columns = ofRows ? consecutive(i, 1) : k;
    if (type.getRows() == 1)
      owned.rows = Coordinates();
    if (type.getColumns() == 1)
      owned.columns = Coordinates();
    Values values = evaluate(input, owned);
    if (isWhole)
      return values;
    for (auto [offset, value] : llvm::enumerate(values)) {
      Value at = e.add(k.base, offset), row = ofRows ? at : i, column = ofRows ? i : at;
      value = outside(triangle, row, column, e.f32(neutralOf(reduce.getKind())), value);
    }
    return values;
  };
  if (isWhole && !isVector(input)) {
    reduction.matrix = input;
    reduction.transposed = ofRows;
  }
  reduceInto(reduce.getResult(), reduction, [](Value, Value result) { return result; });
}

KernelLowering::Reduction KernelLowering::productReduction(Value matrix, bool transposed,
                                                           Value vector, Value bound) {
  TileType type = tileType(matrix), vectorType = tileType(vector);
  Reduction reduction;
  reduction.outputs = transposed ? type.getColumns() : type.getRows();
  reduction.length = transposed ? type.getRows() : type.getColumns();
  reduction.bound = bound;
  reduction.alongLines = isVector(matrix) || liesByRows(matrix) != transposed;
  reduction.terms = [=](Value i, const Coordinates &k) {
    ThreadElements owned, vectorOwned;
    (transposed ? owned.columns : owned.rows) = consecutive(i, 1);
    (transposed ? owned.rows : owned.columns) = k;
    (vectorType.getRows() == 1 ? vectorOwned.columns : vectorOwned.rows) = k;
    if (type.getRows() == 1)
      owned.rows = Coordinates();
    if (type.getColumns() == 1)
      owned.columns = Coordinates();
    Values products = evaluate(matrix, owned), factors = evaluate(vector, vectorOwned);
    products.resize(k.size(), products[0]);
    factors.resize(k.size(), factors[0]);
    for (auto [product, factor] : llvm::zip(products, factors))
      product = arith::MulFOp::create(e, product, factor);
    return products;
  };
  reduction.matrix = isVector(matrix) ? Value() : matrix;
  reduction.transposed = transposed;
  reduction.vector = vector;
  return reduction;
}

// One of the factors is a vector, or both are: [1 x K] [K x N], [M x K] [K x 1].
void KernelLowering::lowerVectorProduct(DotOp dot) {
  bool isRow = dot.getResult().getType().getRows() == 1;
  Value bound = toI32(dot.getBound());
  beginPhase();
  Reduction reduction =
      isRow ? productReduction(dot.getRhs(), /*transposed=*/true, dot.getLhs(), bound)
            : productReduction(dot.getLhs(), dot.getLhsTransposed(), dot.getRhs(), bound);
  if (dot.multipliesIn() == Precision::F32) // not on tensor cores
    reduction.matrix = Value();
  if (Triangle triangle = dot.getLhsTriangle(); triangle != Triangle::None) {
    // Tensor cores would add what is outside of it: zero times NaN is NaN.
    reduction.matrix = Value();
    reduction.terms = [this, isRow, triangle, all = reduction.terms](Value i,
                                                                     const Coordinates &k) {
      Values terms = all(i, k);
      Value row = isRow ? e.i32(0) : i; // a row's sums are its columns
      for (auto [offset, term] : llvm::zip(k.offsets, terms))
        term = outside(triangle, row, e.orZero(e.add(k.base, offset)), e.f32(0), term);
      return terms;
    };
  }
  reduceInto(dot.getResult(), reduction, [&](Value i, Value sum) {
    if (!dot.getAcc())
      return sum;
    return arith::AddFOp::create(e, evaluateAt(dot.getAcc(), i, i), sum).getResult();
  });
}

void KernelLowering::lowerVectorAccumulate(AccumulateOp op) {
  TileMemory storage = storages[op.getBuffer()];
  Value row = toI32(op.getRow());
  beginPhase();
  Reduction reduction =
      productReduction(op.getLhs(), /*transposed=*/false, op.getRhs(), toI32(op.getBound()));
  if (op.multipliesIn() == Precision::F32) // not on tensor cores
    reduction.matrix = Value();
  reduceEach(reduction, [&](Value i, Value sum, const ThreadLayout &layout) {
    ThreadElements owned;
    owned.rows.base = i;
    owned.layout = layout;
    owned = shifted(owned, row, {});
    Value old = loadElements(storage, owned)[0];
    if (op.getFactor())
      old = arith::MulFOp::create(e, old, evaluateAt(op.getFactor(), {}, {}));
    recordWrite(storage, owned);
    storeElements(storage, owned, arith::AddFOp::create(e, old, sum).getResult());
  });
}

/// The terms of a diagonal are its entries row by row, zero where it has none in a row.
void KernelLowering::lowerDiagonalSums(DiagonalSumsOp sums) {
  TileType type = sums.getSource().getType();
  bool ascends = sums.getTransposed();
  beginPhase();
  Reduction reduction;
  reduction.length = type.getRows();
  reduction.alongLines = false;
  reduction.terms = [&](Value diagonal, const Coordinates &rows) {
    Values terms;
    for (int64_t offset : rows.offsets) {
      Value row = e.orZero(e.add(rows.base, offset)), distance = e.add(diagonal, -sums.getOrigin());
      Value column = ascends ? e.createOrFold<arith::AddIOp>(row, distance)
                             : e.createOrFold<arith::SubIOp>(row, distance);
      Value last = e.i32(type.getColumns() - 1);
      Value inside = e.createOrFold<arith::MinSIOp>(column, last);
      inside = e.createOrFold<arith::MaxSIOp>(inside, e.i32(0));
      Value term = evaluateAt(sums.getSource(), row, inside);
      Value exists = e.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, column, inside);
      terms.push_back(e.select(exists, term, e.f32(0)));
    }
    return terms;
  };
  reduceInto(sums.getResult(), reduction, [](Value, Value result) { return result; });
}
