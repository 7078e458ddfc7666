//===- Dot.cpp - products on the tensor cores -----------------------------===//
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

KernelLowering::Product KernelLowering::productOf(Value lhs, Value rhs, Value bound,
                                                  bool lhsTransposed) {
  Product product;
  product.lhs = lhs;
  product.rhs = rhs;
  product.bound = bound;
  product.lhsTransposed = lhsTransposed;
  TileType type = tileType(lhs);
  product.terms = lhsTransposed ? type.getRows() : type.getColumns();
  // Kept tiles have zeros in their padding; windows of them have what comes next.
  auto isPadded = [&](Value value) { return computed.contains(value); };
  if (product.terms % 16 && product.terms > 1 && !bound && !isPadded(lhs) && !isPadded(rhs))
    product.bound = e.i32(product.terms);
  // Rows past the end of a tensor read as zero.
  auto load = rhs.getDefiningOp<LoadOp>();
  product.rhsIsZeroPastBound = bound && load && load.getValid() && !load.getTransposed() &&
                               int64_t(load.getRowDim()) != -1 && number(load.getValid()) == bound;
  return product;
}

void KernelLowering::multiplyPiece(const Values &a, const Values &b, MutableArrayRef<Value> sums) {
  auto mma = warp::MmaSyncOp::create(e, e.getF32Type(), e.getF32Type(), e.getF32Type(),
                                     e.getF32Type(), placement.operandKind(), a[0], a[1], a[2],
                                     a[3], b[0], b[1], sums[0], sums[1], sums[2], sums[3]);
  llvm::copy(mma.getResults(), sums.begin());
}

SmallVector<Values> KernelLowering::multiply(ArrayRef<Product> products, const WarpTile &warpTile,
                                             ArrayRef<Values> accumulators,
                                             const RowSums *rowSums) {
  // Accumulators by piece, as the instructions want them, not by row.
  int64_t columns = 2 * warpTile.columnTiles, perProduct = warpTile.registers();
  auto indexOf = [&](int64_t p, int64_t i, int64_t j, int64_t r) {
    return p * perProduct + (2 * i + r / 2) * columns + 2 * j + r % 2;
  };
  const Product &first = products.front();
  int64_t step = placement.operandKind() == warp::OperandKind::TF32 ? 8 : 16;
  auto masked = [&](const Product &product, bool isLhs, Value term, Fragments fragments) {
    if (product.bound && (isLhs || !product.rhsIsZeroPastBound))
      maskTerms(fragments, isLhs, term, product.bound);
    return fragments;
  };
  // Features as terms are formed run by run.
  SmallVector<std::optional<FeatureRuns>> runs;
  int64_t iteration = step;
  for (const Product &product : products) {
    runs.push_back(product.lhsTransposed && !product.lhsIsLower ? runsToForm(product.lhs)
                                                                : std::nullopt);
    if (runs.back())
      iteration = std::max(iteration, runs.back()->features());
  }
  auto leftFragments = [&](int64_t p, Value term) {
    return loadFragments(products[p], /*isLhs=*/true, warpTile, term, 0, warpTile.rowTiles);
  };
  auto terms = [&](Value term, ArrayRef<Fragments> lhs, Values sums, int64_t firstRows,
                   Value *badTerms) {
    // Two columns of pieces at a time: one ldmatrix brings both, and few registers wait.
    for (int64_t tile = 0; tile < warpTile.columnTiles; tile += 2) {
      int64_t count = std::min<int64_t>(2, warpTile.columnTiles - tile);
      Fragments rhs = masked(first, /*isLhs=*/false, term,
                             loadFragments(first, /*isLhs=*/false, warpTile, term, tile, count));
      if (badTerms)
        leaveBadTerms(rhs, *badTerms);
      auto multiplyAt = [&](int64_t p, int64_t i, int64_t j) {
        Values piece;
        for (int64_t r = 0; r < 4; ++r)
          piece.push_back(sums[indexOf(p, i, j, r)]);
        // Small parts first: what they add up to is not lost beside the large one.
        if (placement.splitsOperands()) {
          multiplyPiece(lhs[p].low[i], rhs.high[j - tile], piece);
          multiplyPiece(lhs[p].high[i], rhs.low[j - tile], piece);
        }
        multiplyPiece(lhs[p].high[i], rhs.high[j - tile], piece);
        for (int64_t r = 0; r < 4; ++r)
          sums[indexOf(p, i, j, r)] = piece[r];
      };
      for (int64_t p = 0; p < int64_t(products.size()); ++p)
        for (int64_t i = firstRows; i < warpTile.rowTiles; ++i)
          for (int64_t j = tile; j < tile + count; ++j)
            multiplyAt(p, i, j);
    }
    if (!rowSums)
      return sums;
    Values vector = vectorFragment(rowSums->vector, term);
    int64_t shares = warpTile.shares();
    for (int64_t i = 0; i < warpTile.rowTiles; i += shares)
      multiplyPiece(ownShare(lhs[0].high, i, warpTile), vector,
                    MutableArrayRef<Value>(sums).slice(perProduct + 4 * (i / shares), 4));
    return sums;
  };
  auto termsOfIteration = [&](Value start, ValueRange carried) {
    SmallVector<std::optional<RunFactors>> factors(products.size());
    for (size_t p = 0; p < products.size(); ++p)
      if (runs[p])
        factors[p] = loadRunFactors(products[p], *runs[p], warpTile, start);
    Values sums(carried);
    for (int64_t offset = 0; offset < iteration; offset += step) {
      Value term = e.add(start, offset);
      SmallVector<Fragments> lhs;
      for (size_t p = 0; p < products.size(); ++p)
        lhs.push_back(masked(products[p], /*isLhs=*/true, term,
                             factors[p] ? formTerms(*factors[p], offset) : leftFragments(p, term)));
      sums = terms(term, lhs, std::move(sums), 0, nullptr);
    }
    return sums;
  };
  auto termsOfTriangle = [&](Value term, ValueRange carried, int64_t firstRows, Value *badTerms) {
    SmallVector<Fragments> lhs;
    int64_t from = rowSums ? 0 : firstRows; // above are zeros
    for (const Product &product : products) {
      Fragments &own = lhs.emplace_back(masked(
          product, /*isLhs=*/true, term,
          loadFragments(product, /*isLhs=*/true, warpTile, term, from, warpTile.rowTiles - from)));
      for (auto *set : {&own.high, &own.low})
        set->insert(set->begin(), from, Values());
    }
    return terms(term, lhs, Values(carried), firstRows, badTerms);
  };
  Values sums;
  for (const Values &own : accumulators)
    llvm::append_range(sums, own);
  if (rowSums)
    sums.append(4 * (warpTile.rowTiles / warpTile.shares()), e.f32(0));
  int64_t end = roundUp(first.terms, 16);
  if (first.lhsIsLower) {
    sums = multiplyTriangle(products, warpTile, sums, termsOfTriangle);
  } else if (end == iteration) {
    sums = termsOfIteration(e.i32(0), sums);
  } else {
    auto loop = scf::ForOp::create(e, e.i32(0), e.i32(end), e.i32(iteration), sums);
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(loop.getBody());
    // Else loop strength reduction gives each of the addresses a register of its own.
    Value term = warp::OpaqueOp::create(e, loop.getInductionVar());
    scf::YieldOp::create(e, termsOfIteration(term, loop.getRegionIterArgs()));
    sums = Values(loop.getResults());
  }
  if (rowSums)
    writeRowSums(*rowSums, warpTile, ArrayRef<Value>(sums).drop_front(perProduct));
  SmallVector<Values> results;
  for (size_t p = 0; p < products.size(); ++p)
    results.emplace_back(ArrayRef<Value>(sums).slice(p * perProduct, perProduct));
  return results;
}

KernelLowering::Product KernelLowering::productOf(DotOp dot) {
  Value bound = number(dot.getBound());
  Product product = productOf(dot.getLhs(), dot.getRhs(), bound, dot.getLhsTransposed());
  product.lhsIsLower = dot.getLowerLhs();
  return product;
}

Values KernelLowering::initialSums(DotOp dot, const Grid &grid) {
  return dot.getAcc() ? evaluate(dot.getAcc(), grid) : Values(grid.size(), e.f32(0));
}

Values KernelLowering::evaluateDot(DotOp dot, const Grid &grid) {
  auto known = multiplied.find(dot.getResult());
  if (known != multiplied.end()) {
    Values sums = known->second;
    multiplied.erase(known);
    return sums;
  }
  std::optional<RowSums> rowSums;
  if (placement.of(dot.getResult()) == Place::Registers) {
    if (DotOp product = vectorProductBeside(dot))
      rowSums = rowSumsOf(product);
    else if (ReduceOp reduce = columnSumBeside(dot))
      rowSums = rowSumsOf(reduce);
  }
  return multiply(productOf(dot), *grid.warpTile, initialSums(dot, grid),
                  rowSums ? &*rowSums : nullptr)
      .front();
}

/// The products that the evaluation of `value` computes on its own grid.
void KernelLowering::collectProducts(Value value, SmallVectorImpl<DotOp> &products) {
  if (computed.contains(value) || multiplied.contains(value))
    return;
  Operation *op = value.getDefiningOp();
  if (auto dot = dyn_cast_if_present<DotOp>(op); dot && isMatrixProduct(dot))
    products.push_back(dot);
  if (isa_and_nonnull<MapOp, CausalMaskOp>(op))
    for (Value operand : op->getOperands())
      if (sameShape(operand, value))
        collectProducts(operand, products);
}

/// Those of one right factor together, in groups of two or more.
static SmallVector<SmallVector<DotOp>> groupSiblings(ArrayRef<DotOp> dots) {
  auto areSiblings = [](DotOp a, DotOp b) {
    return a.getRhs() == b.getRhs() && a.getBound() == b.getBound() &&
           a.getLhsTransposed() == b.getLhsTransposed() && a.getLowerLhs() == b.getLowerLhs();
  };
  SmallVector<SmallVector<DotOp>> groups;
  for (DotOp dot : dots) {
    auto *own = llvm::find_if(groups, [&](auto &group) { return areSiblings(group[0], dot); });
    if (own == groups.end())
      groups.push_back({dot});
    else
      own->push_back(dot);
  }
  llvm::erase_if(groups, [](auto &group) { return group.size() < 2; });
  return groups;
}

int64_t KernelLowering::countSiblings(Value value) {
  SmallVector<DotOp> dots;
  collectProducts(value, dots);
  size_t most = 1;
  for (auto &group : groupSiblings(dots))
    most = std::max(most, group.size());
  return most;
}

void KernelLowering::multiplySiblings(Value value, const Grid &grid) {
  SmallVector<DotOp> dots;
  collectProducts(value, dots);
  for (auto &siblings : groupSiblings(dots)) {
    SmallVector<Product> products;
    SmallVector<Values> sums;
    for (DotOp dot : siblings) {
      products.push_back(productOf(dot));
      sums.push_back(initialSums(dot, grid));
    }
    sums = multiply(products, *grid.warpTile, sums);
    for (auto [dot, own] : llvm::zip(siblings, sums))
      multiplied[dot.getResult()] = own;
  }
}

// S <- g S + phi_k V.
void KernelLowering::lowerAccumulate(AccumulateOp op, ReduceOp beside) {
  if (!isMatrixProduct(op))
    return lowerVectorAccumulate(op);
  Storage storage = storages[op.getBuffer()];
  int64_t rows = tileType(op.getLhs()).getRows(), columns = tileType(op.getRhs()).getColumns();
  Value row = number(op.getRow());
  Value bound = number(op.getBound());
  Product product = productOf(op.getLhs(), op.getRhs(), bound, /*lhsTransposed=*/false);
  beginPhase();
  std::optional<RowSums> rowSums;
  if (beside)
    rowSums = rowSumsOf(beside);
  bool isWhole = rows == op.getBuffer().getType().getRows();
  int64_t limit = rows % 16 && !isWhole ? rows : 0;
  auto update = [&](Grid grid) {
    grid.isMirrored = false; // these warps are not here
    // Behind the window are rows of others, who may be at work on them.
    Values sums = loadRows(storage, grid, row, limit);
    if (op.getFactor()) {
      Value factor = evaluateAt(op.getFactor(), {}, {});
      for (Value &sum : sums)
        sum = arith::MulFOp::create(e, sum, factor);
    }
    sums = multiply(product, *grid.warpTile, sums, rowSums ? &*rowSums : nullptr).front();
    storeBuffer(op.getBuffer(), grid, sums, row, rows % 16 ? rows : 0, Value());
  };
  ProductCount products;
  // What comes from global memory is awaited in registers.
  products.otherRegisters = storage.space == Space::Shared ? 0 : 16;
  // Warps without a part must not read another's while that is written.
  forAccumulators(rows, columns, products, /*whole=*/false, [&](const Grid &grid, Value condition) {
    e.when(condition, [&] { update(grid); });
  });
}
