//===- Dot.cpp - products on the tensor cores -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "lib/TileAnalysis/ZeroPastEnd.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

KernelLowering::Product KernelLowering::productOf(Value lhs, Value rhs, Value bound,
                                                  bool lhsTransposed) {
  Product product;
  product.lhs = lhs;
  product.rhs = rhs;
  product.bound = toI32(bound);
  product.lhsTransposed = lhsTransposed;
  TileType type = tileType(lhs);
  product.terms = lhsTransposed ? type.getRows() : type.getColumns();
  // Tiles in memory have zeros in their padding; windows of them have the elements behind the
  // window.
  auto isPadded = [&](Value value) { return computed.contains(value); };
  if (product.terms % 16 && product.terms > 1 && !bound && !isPadded(lhs) && !isPadded(rhs))
    product.bound = e.i32(product.terms);
  product.lhsIsZeroPastBound =
      bound && isZeroPast(lhs, lhsTransposed ? Axis::Rows : Axis::Columns, bound);
  product.rhsIsZeroPastBound = bound && isZeroPast(rhs, Axis::Rows, bound);
  return product;
}

void KernelLowering::multiplyFragment(const Values &a, const Values &b,
                                      MutableArrayRef<Value> accumulators) {
  auto mma =
      warp::MmaSyncOp::create(e, e.getF32Type(), e.getF32Type(), e.getF32Type(), e.getF32Type(),
                              residency.operandKind(), a[0], a[1], a[2], a[3], b[0], b[1],
                              accumulators[0], accumulators[1], accumulators[2], accumulators[3]);
  llvm::copy(mma.getResults(), accumulators.begin());
}

SmallVector<Values> KernelLowering::multiply(ArrayRef<Product> products, const WarpTile &warpTile,
                                             ArrayRef<Values> initial, const RowSums *rowSums) {
  // Accumulators by fragment, as the instructions want them, not by row.
  int64_t columns = 2 * warpTile.columnTiles, perProduct = warpTile.registers();
  auto indexOf = [&](int64_t p, int64_t i, int64_t j, int64_t r) {
    return p * perProduct + (2 * i + r / 2) * columns + 2 * j + r % 2;
  };
  const Product &first = products.front();
  bool rounds = residency.roundsSums();
  int64_t step = residency.operandKind() == warp::OperandKind::TF32 ? 8 : 16;
  auto masked = [&](const Product &product, bool isLhs, Value term, Fragments fragments) {
    bool isZero = isLhs ? product.lhsIsZeroPastBound : product.rhsIsZeroPastBound;
    if (product.bound && !isZero)
      maskTerms(fragments, isLhs, term, product.bound);
    return fragments;
  };
  // Features as terms are formed run by run.
  SmallVector<std::optional<FeatureRuns>> runs;
  int64_t iteration = step;
  for (const Product &product : products) {
    bool hasRuns = product.lhsTransposed && product.lhsTriangle == Triangle::None;
    runs.push_back(hasRuns ? runsToForm(product.lhs) : std::nullopt);
    if (runs.back())
      iteration = std::max(iteration, runs.back()->features());
  }
  // Registers have no addresses: a loop over a factor's terms in registers is unrolled.
  bool isUnrolled = llvm::any_of(
      products, [&](const Product &product) { return registers.contains(product.lhs); });
  auto leftFragments = [&](int64_t p, Value term) {
    if (registers.contains(products[p].lhs))
      return fragmentsInRegisters(products[p].lhs, *getConstantIntValue(term));
    return loadFragments(products[p], /*isLhs=*/true, warpTile, term, 0, warpTile.rowTiles);
  };
  auto terms = [&](Value term, ArrayRef<Fragments> lhs, Values accumulators, RowTiles rows,
                   Value *badTerms) {
    // Two columns of fragments at a time: one ldmatrix brings both, and few registers wait.
    for (int64_t tile = 0; tile < warpTile.columnTiles; tile += 2) {
      int64_t count = std::min<int64_t>(2, warpTile.columnTiles - tile);
      Fragments rhs = masked(first, /*isLhs=*/false, term,
                             loadFragments(first, /*isLhs=*/false, warpTile, term, tile, count));
      if (badTerms)
        leaveBadTerms(rhs, *badTerms);
      auto multiplyAt = [&](int64_t p, int64_t i, int64_t j) {
        Values sums;
        for (int64_t r = 0; r < 4; ++r)
          sums.push_back(accumulators[indexOf(p, i, j, r)]);
        Values fragment = rounds ? Values(4, e.f32(0)) : sums;
        // Small parts first: what they add up to is not lost beside the large one.
        if (!lhs[p].low[i].empty())
          multiplyFragment(lhs[p].low[i], rhs.high[j - tile], fragment);
        if (!rhs.low[j - tile].empty())
          multiplyFragment(lhs[p].high[i], rhs.low[j - tile], fragment);
        multiplyFragment(lhs[p].high[i], rhs.high[j - tile], fragment);
        for (int64_t r = 0; r < 4; ++r)
          accumulators[indexOf(p, i, j, r)] =
              rounds ? arith::AddFOp::create(e, sums[r], fragment[r]).getResult() : fragment[r];
      };
      for (int64_t p = 0; p < int64_t(products.size()); ++p)
        for (int64_t i = rows.first; i < rows.end; ++i)
          for (int64_t j = tile; j < tile + count; ++j)
            multiplyAt(p, i, j);
    }
    if (!rowSums)
      return accumulators;
    Fragments vector;
    vector.high = {vectorFragment(rowSums->vector, term)};
    if (first.bound && rowSums->vector) // weights past it may be infinite
      maskTerms(vector, /*isLhs=*/false, term, first.bound);
    int64_t shares = warpTile.shares();
    for (int64_t i = 0; i < warpTile.rowTiles; i += shares)
      multiplyFragment(
          ownShare(lhs[0].high, i, warpTile), vector.high[0],
          MutableArrayRef<Value>(accumulators).slice(perProduct + 4 * (i / shares), 4));
    return accumulators;
  };
  auto termsOfIteration = [&](Value start, ValueRange carried) {
    SmallVector<std::optional<RunFactors>> factors(products.size());
    for (size_t p = 0; p < products.size(); ++p)
      if (runs[p])
        factors[p] = loadRunFactors(products[p], *runs[p], warpTile, start);
    Values accumulators(carried);
    for (int64_t offset = 0; offset < iteration; offset += step) {
      Value term = e.add(start, offset);
      SmallVector<Fragments> lhs;
      for (size_t p = 0; p < products.size(); ++p)
        lhs.push_back(masked(products[p], /*isLhs=*/true, term,
                             factors[p] ? formTerms(*factors[p], offset) : leftFragments(p, term)));
      accumulators = terms(term, lhs, std::move(accumulators), {0, warpTile.rowTiles}, nullptr);
    }
    return accumulators;
  };
  auto termsOfTriangle = [&](Value term, ValueRange carried, RowTiles rows, Value *badTerms) {
    SmallVector<Fragments> lhs;
    // Sums of rows are of all row tiles: in the others the left factor is zero.
    RowTiles loaded = rowSums ? RowTiles{0, warpTile.rowTiles} : rows;
    for (const Product &product : products) {
      Fragments &own =
          lhs.emplace_back(masked(product, /*isLhs=*/true, term,
                                  loadFragments(product, /*isLhs=*/true, warpTile, term,
                                                loaded.first, loaded.end - loaded.first)));
      for (auto *set : {&own.high, &own.low})
        set->insert(set->begin(), loaded.first, Values());
    }
    return terms(term, lhs, Values(carried), rows, badTerms);
  };
  Values accumulators;
  for (const Values &own : initial)
    llvm::append_range(accumulators, own);
  if (rowSums)
    accumulators.append(4 * (warpTile.rowTiles / warpTile.shares()), e.f32(0));
  int64_t end = roundUp(first.terms, 16);
  if (first.lhsTriangle != Triangle::None) {
    accumulators = multiplyTriangle(products, warpTile, accumulators, termsOfTriangle);
  } else if (end == iteration || isUnrolled) {
    for (int64_t start = 0; start < end; start += iteration)
      accumulators = termsOfIteration(e.i32(start), accumulators);
  } else {
    auto loop = scf::ForOp::create(e, e.i32(0), e.i32(end), e.i32(iteration), accumulators);
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(loop.getBody());
    // Hides the induction variable, or loop strength reduction gives each address a register of its
    // own.
    Value term = warp::OpaqueOp::create(e, loop.getInductionVar());
    scf::YieldOp::create(e, termsOfIteration(term, loop.getRegionIterArgs()));
    accumulators = Values(loop.getResults());
  }
  if (rowSums)
    writeRowSums(*rowSums, warpTile, ArrayRef<Value>(accumulators).drop_front(perProduct));
  SmallVector<Values> results;
  for (size_t p = 0; p < products.size(); ++p)
    results.emplace_back(ArrayRef<Value>(accumulators).slice(p * perProduct, perProduct));
  return results;
}

KernelLowering::Product KernelLowering::productOf(DotOp dot) {
  Product product = productOf(dot.getLhs(), dot.getRhs(), dot.getBound(), dot.getLhsTransposed());
  product.lhsTriangle = dot.getLhsTriangle();
  return product;
}

Values KernelLowering::initialAccumulators(DotOp dot, const ThreadElements &owned) {
  return dot.getAcc() ? evaluate(dot.getAcc(), owned) : Values(owned.size(), e.f32(0));
}

Values KernelLowering::evaluateDot(DotOp dot, const ThreadElements &owned) {
  auto known = multiplied.find(dot.getResult());
  if (known != multiplied.end()) {
    Values accumulators = known->second;
    multiplied.erase(known);
    return accumulators;
  }
  std::optional<RowSums> rowSums;
  if (residency.of(dot.getResult()) == Residency::Registers) {
    if (DotOp product = vectorProductToFuse(dot))
      rowSums = rowSumsOf(product);
    else if (ReduceOp reduce = columnSumToFuse(dot))
      rowSums = rowSumsOf(reduce);
  }
  return multiply(productOf(dot), *owned.warpTile, initialAccumulators(dot, owned),
                  rowSums ? &*rowSums : nullptr)
      .front();
}

/// The products that the evaluation of `value` computes with the value's own layout.
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

/// Groups the products that share a right factor, in groups of two or more.
static SmallVector<SmallVector<DotOp>> groupSiblings(ArrayRef<DotOp> dots) {
  auto areSiblings = [](DotOp a, DotOp b) {
    return a.getRhs() == b.getRhs() && a.getBound() == b.getBound() &&
           a.getLhsTransposed() == b.getLhsTransposed() && a.getLhsTriangle() == b.getLhsTriangle();
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

void KernelLowering::multiplySiblings(Value value, const ThreadElements &owned) {
  SmallVector<DotOp> dots;
  collectProducts(value, dots);
  for (auto &siblings : groupSiblings(dots)) {
    SmallVector<Product> products;
    SmallVector<Values> accumulators;
    for (DotOp dot : siblings) {
      products.push_back(productOf(dot));
      accumulators.push_back(initialAccumulators(dot, owned));
    }
    accumulators = multiply(products, *owned.warpTile, accumulators);
    for (auto [dot, own] : llvm::zip(siblings, accumulators))
      multiplied[dot.getResult()] = own;
  }
}

// S <- g S + phi_k V.
void KernelLowering::lowerAccumulate(AccumulateOp op, ReduceOp fused) {
  if (!isMatrixProduct(op))
    return lowerVectorAccumulate(op);
  TileMemory storage = storages[op.getBuffer()];
  int64_t rows = tileType(op.getLhs()).getRows(), columns = tileType(op.getRhs()).getColumns();
  Value row = toI32(op.getRow());
  Product product = productOf(op.getLhs(), op.getRhs(), op.getBound(), /*lhsTransposed=*/false);
  beginPhase();
  std::optional<RowSums> rowSums;
  if (fused)
    rowSums = rowSumsOf(fused);
  bool isWhole = rows == op.getBuffer().getType().getRows();
  int64_t limit = rows % 16 && !isWhole ? rows : 0;
  auto update = [&](ThreadElements owned) {
    owned.isMirrored = false; // these warps are not here
    // The rows behind the window belong to other warps, which may be writing them.
    Values accumulators = loadRows(storage, owned, row, limit);
    if (op.getFactor()) {
      Value factor = evaluateAt(op.getFactor(), {}, {});
      for (Value &sum : accumulators)
        sum = arith::MulFOp::create(e, sum, factor);
    }
    accumulators =
        multiply(product, *owned.warpTile, accumulators, rowSums ? &*rowSums : nullptr).front();
    storeBuffer(op.getBuffer(), owned, accumulators, row, rows % 16 ? rows : 0, Value());
  };
  ProductCount products;
  // What comes from global memory is awaited in registers.
  products.otherRegisters = storage.space == Space::Shared ? 0 : 16;
  // Warps without a part must not read another's while that is written.
  forAccumulators(rows, columns, products, /*whole=*/false,
                  [&](const ThreadElements &owned, Value condition) {
                    e.when(condition, [&] { update(owned); });
                  });
}
