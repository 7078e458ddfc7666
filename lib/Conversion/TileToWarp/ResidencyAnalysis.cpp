//===- ResidencyAnalysis.cpp - which values are kept, and in which memory -===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResidencyAnalysis.h"
#include "FeatureRuns.h"
#include "Layout.h"
#include "dialects/Tile/Inputs.h"
#include "lib/TileAnalysis/Deferral.h"
#include "polyattn/Target/GPUDescription.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

/// The padded size of a dimension, in memory and in the elements of threads.
static int64_t withPadding(int64_t size) { return size == 1 ? 1 : roundUp(size, 16); }

/// Views take no memory: an offset into another value, or another order of its elements.
static bool isView(Operation *op) {
  return isa_and_nonnull<SliceOp, TransposeOp, ReadOp, SelectRowsOp, ToeplitzOp>(op);
}
static bool isTrivial(Operation *op) {
  return isa_and_nonnull<ConstantOp, ConstantColumnOp, IotaOp>(op);
}

ResidencyAnalysis::ResidencyAnalysis(KernelOp kernel, int64_t warps, const MemoryPlan &plan)
    : warps(warps), plan(plan) {
  std::tie(kind, split) = operandsOf(kernel);
  rounds = split && llvm::none_of(kernel.getBody().getArgumentTypes(), [](Type type) {
             auto tensor = dyn_cast<MemRefType>(type);
             return tensor && isa<FloatType>(tensor.getElementType()) &&
                    tensor.getElementTypeBitWidth() < 32;
           });
  chooseDistantWeights(kernel);
  keepsRows = kernel
                  .walk([&](DotOp dot) {
                    return passesOnRows(dot) ? WalkResult::interrupt() : WalkResult::advance();
                  })
                  .wasInterrupted();
  // What is decided of a value depends on values before it.
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
        if (tileType(argument))
          residencies[argument] = decideCarried(loop, i);
    for (Value result : op->getResults())
      if (tileType(result))
        residencies[result] = decide(result);
  });
}

/// Whether a warp can have 16 rows of a value in registers.
bool ResidencyAnalysis::hasWholeRows(Value value) const {
  TileType type = tileType(value);
  return kind == warp::OperandKind::BF16 && type.getRows() == 16 * warps &&
         type.getColumns() % 16 == 0 &&
         WarpLayout::ofWholeRows(type.getColumns(), warps).registers() <=
             GPUDescription::maxAccumulatorsOfFactor;
}

/// Whether the left factor of a product may stay in the registers where its rows are computed.
static bool takesRows(DotOp dot) {
  return isMatrixProduct(dot) && !dot.getLhsTransposed() && dot.getLhsTriangle() == Triangle::None;
}

/// Whether that factor is another product, or computed from one element by element.
bool ResidencyAnalysis::passesOnRows(DotOp dot) const {
  if (!takesRows(dot) || !hasWholeRows(dot.getLhs()))
    return false;
  SmallVector<Value> values = {dot.getLhs()};
  llvm::DenseSet<Value> seen; // values are a graph, which may have exponentially many paths
  while (!values.empty()) {
    Value value = values.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (auto product = dyn_cast_if_present<DotOp>(op))
      return isMatrixProduct(product);
    if (isa_and_nonnull<MapOp, CausalMaskOp>(op))
      for (Value operand : op->getOperands())
        if (sameShape(operand, value))
          values.push_back(operand);
  }
  return false;
}

WarpLayout ResidencyAnalysis::layoutOf(int64_t rows, int64_t columns, int64_t lhsCount) const {
  return keepsRows && rows == 16 * warps ? WarpLayout::ofWholeRows(columns, warps)
                                         : WarpLayout::of(rows, columns, warps, lhsCount);
}

bool polyattn::tile_to_warp::isWeight(LoadOp load) {
  return isa<KernelOp>(load->getParentOp()) && !load.getValid() && isOnlyRead(load.getMemref());
}

/// Weights stay in memory as far as they fit, in program order.
void ResidencyAnalysis::chooseDistantWeights(KernelOp kernel) {
  int64_t weightBytes = plan.weightBytes;
  kernel.walk([&](LoadOp load) {
    if (!isWeight(load) || isVector(load.getResult()))
      return;
    TileType type = load.getResult().getType();
    TileMemory storage =
        TileMemory::of(type.getRows(), type.getColumns(), elementType(load.getResult()),
                       /*columnMajor=*/false);
    int64_t size = roundUp(storage.bytes, 128);
    if (size > weightBytes)
      uncachedWeights.insert(load);
    else
      weightBytes -= size;
  });
}

Residency ResidencyAnalysis::of(Value value) const {
  auto known = residencies.find(value);
  assert(known != residencies.end() &&
         "no tile of the kernel, or one behind what is being decided");
  return known->second;
}

Residency ResidencyAnalysis::decide(Value value) const {
  Operation *op = value.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return decideCarried(loop, cast<OpResult>(value).getResultNumber());
  if (isTrivial(op))
    return Residency::Deferred;
  if (auto slice = dyn_cast<SliceOp>(op);
      slice && (uncachedWeights.contains(slice.getSource().getDefiningOp()) || leavesSource(slice)))
    return Residency::Memory;
  if (auto read = dyn_cast<ReadOp>(op); read && needsStaging(read))
    return Residency::Memory;
  if (isView(op))
    return Residency::Deferred;
  if (auto load = dyn_cast<LoadOp>(op))
    return decideLoad(load);
  if (isDeferrable(value))
    return Residency::Deferred;
  if (staysInRegisters(value))
    return Residency::Registers;
  auto dot = dyn_cast<DotOp>(op);
  bool isProduct = (dot && isMatrixProduct(dot)) || (isa<ClusterSumOp>(op) && !isVector(value));
  return isProduct && fitsRegisters(value) ? Residency::Registers : Residency::Memory;
}

Residency ResidencyAnalysis::decideCarried(scf::ForOp loop, unsigned i) const {
  Value inside = loop.getRegionIterArg(i), after = loop.getResult(i);
  bool registers = !isVector(inside) && fitsRegisters(inside) && fitsRegisters(after);
  return registers ? Residency::Registers : Residency::Memory;
}

bool polyattn::tile_to_warp::isReadByMap(LoadOp load) {
  Value value = load.getResult();
  return isa<scf::ForOp>(load->getParentOp()) && !isVector(value) && value.hasOneUse() &&
         isa<MapOp>(*value.user_begin());
}

bool ResidencyAnalysis::keepsElementType(LoadOp load) const {
  return elementType(load.getResult()) ==
         cast<MemRefType>(load.getMemref().getType()).getElementType();
}

/// Whether the elements of a load are written before the last op that may load them where it
/// computes with them. Which values move to their users is not decided yet: those with one.
static bool isWrittenBeforeUse(LoadOp load) {
  Value memref = load.getMemref();
  if (isOnlyRead(memref))
    return false;
  Operation *last =
      polyattn::lastUse(load.getResult(), [](Value value) { return value.hasOneUse(); });
  for (Operation *op = load->getNextNode(); op != last; op = op->getNextNode()) {
    auto writes = [&](Operation *inner) {
      return WalkResult(failure(writtenTensor(inner) == memref));
    };
    if (op->walk(writes).wasInterrupted())
      return true;
  }
  return false;
}

Residency ResidencyAnalysis::decideLoad(LoadOp load) const {
  if (uncachedWeights.contains(load))
    return Residency::Deferred;
  Value value = load.getResult();
  if (!value.hasOneUse())
    return Residency::Memory;
  if (plan.earlyLoads.contains(load) ||
      (plan.copiesMappedLoads && isReadByMap(load) && keepsElementType(load)))
    return Residency::Memory;
  // A vector of each iteration takes little memory, and its copy is ahead.
  if (isVector(value) && isa<scf::ForOp>(load->getParentOp()) && keepsElementType(load) &&
      elementType(value).isF32())
    return Residency::Memory;
  OpOperand &use = *value.use_begin();
  bool near = use.getOwner()->getBlock() == load->getBlock();
  bool deferred = near && isa<MapOp, ReduceOp, StoreOp, WriteOp, scf::ForOp>(use.getOwner()) &&
                  accepts(use, value) && !isWrittenBeforeUse(load);
  return deferred ? Residency::Deferred : Residency::Memory;
}

/// Whether `user` can compute its operand at the elements that it needs.
bool ResidencyAnalysis::accepts(OpOperand &use, Value producer) const {
  Operation *user = use.getOwner();
  if (auto map = dyn_cast<MapOp>(user))
    return sameShape(producer, map.getResult());
  if (isa<CausalMaskOp, StoreOp, ConcatOp, ClusterSumOp, scf::ForOp, scf::YieldOp>(user))
    return true;
  if (isa<ReduceOp, CumulativeSumOp>(user))
    return !evaluatesOnWarpGrid(producer);
  if (isa<WriteOp>(user))
    return !readsBuffer(producer, [&](Value operand) { return isDeferred(operand); });
  if (auto dot = dyn_cast<DotOp>(user))
    return dot.getAcc() && use.getOperandNumber() == 2 &&
           (isMatrixProduct(dot) || !evaluatesOnWarpGrid(producer));
  return false;
}

/// Whether reading what a value is computed from takes half of what reading the value would, and
/// computing it little: then each user does that.
bool ResidencyAnalysis::isCheapAgain(Value value) const {
  auto map = value.getDefiningOp<MapOp>();
  if (!map || elementType(value) == BFloat16Type::get(value.getContext()))
    return false;
  auto isQuick = [](Operation &op) { return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op); };
  if (!llvm::all_of(map.getBody().front().without_terminator(), isQuick))
    return false;
  SmallVector<Value> matrices;
  llvm::copy_if(map.getInputs(), std::back_inserter(matrices),
                [](Value input) { return !isVector(input); });
  return matrices.size() == 1 && of(matrices[0]) == Residency::Memory &&
         elementType(matrices[0]) == BFloat16Type::get(value.getContext());
}

ColumnSum ColumnSum::of(ReduceOp reduce) {
  Value input = reduce.getInput();
  auto map = input.getDefiningOp<MapOp>();
  if (!map || !map->hasOneUse() || map->getBlock() != reduce->getBlock() ||
      map.getInputs().size() != 2 || !addsColumns(reduce))
    return {input, {}};
  Value matrix = map.getInputs()[0], weights = map.getInputs()[1];
  Block &body = map.getBody().front();
  auto product = dyn_cast<arith::MulFOp>(body.front());
  bool multiplies = product && body.getOperations().size() == 2 &&
                    product.getLhs() == body.getArgument(0) &&
                    product.getRhs() == body.getArgument(1);
  bool fits = sameShape(matrix, input) && !isVector(matrix) && tileType(weights).getRows() == 1;
  return multiplies && fits ? ColumnSum{matrix, weights} : ColumnSum{input, {}};
}

static bool isLeftFactor(OpOperand &use) {
  auto dot = dyn_cast<DotOp>(use.getOwner());
  auto update = dyn_cast<AccumulateOp>(use.getOwner());
  return use.getOperandNumber() == 0 &&
         ((dot && isMatrixProduct(dot)) || (update && isMatrixProduct(update)));
}

/// Whether the user of features forms them in registers, as a product or a sum does.
static bool formsFeatures(OpOperand &use) {
  Operation *user = use.getOwner();
  // Features times weights are summed up, and nothing else.
  if (auto map = dyn_cast<MapOp>(user); map && map->hasOneUse())
    if (auto reduce = dyn_cast<ReduceOp>(*map->user_begin()))
      return ColumnSum::of(reduce).matrix == use.get();
  if (auto reduce = dyn_cast<ReduceOp>(user))
    return addsColumns(reduce);
  auto dot = dyn_cast<DotOp>(user);
  if (dot && !isMatrixProduct(dot))
    return use.getOperandNumber() == 1 && isVector(dot.getLhs());
  return isLeftFactor(use);
}

bool ResidencyAnalysis::isFormedByProducts(MonomialsOp monomials) const {
  Value features = monomials.getResult();
  if (!roundsToBF16() || isVector(features) || of(monomials.getSource()) != Residency::Memory ||
      !FeatureRuns::of(monomials))
    return false;
  auto isNear = [&](OpOperand &use) { return use.getOwner()->getBlock() == monomials->getBlock(); };
  return llvm::all_of(features.getUses(), isNear) &&
         llvm::all_of(features.getUses(), formsFeatures) &&
         llvm::any_of(features.getUses(), isLeftFactor);
}

bool ResidencyAnalysis::isDeferrable(Value value) const {
  Operation *op = value.getDefiningOp();
  if (auto monomials = dyn_cast<MonomialsOp>(op); monomials && isFormedByProducts(monomials))
    return true;
  if (!isa<MapOp, CausalMaskOp, MonomialsOp, DotOp>(op) || value.use_empty())
    return false;
  if (!value.hasOneUse() && !isCheapAgain(value))
    return false;
  if (auto dot = dyn_cast<DotOp>(op); dot && !isMatrixProduct(dot))
    return false;
  return canMoveToUsers(
      value, [&](Value operand) { return isDeferred(operand); },
      [&](OpOperand &use) {
        // A loop keeps one copy of what it carries; products go there at once.
        bool carriesProduct = isa<scf::ForOp, scf::YieldOp>(use.getOwner()) && isa<DotOp>(op);
        return !carriesProduct && accepts(use, value);
      });
}

/// Whether an element-wise result is kept where the product lies that it is computed from.
bool ResidencyAnalysis::staysInRegisters(Value value) const {
  if (!keepsRows || !isa<MapOp, CausalMaskOp>(value.getDefiningOp()) || !hasWholeRows(value) ||
      !evaluatesOnWarpGrid(value) || !fitsRegisters(value))
    return false;
  int64_t own = WarpLayout::ofWholeRows(tileType(value).getColumns(), warps).registers();
  return numbersKeptAt(value.getDefiningOp()) + own <= GPUDescription::maxAccumulatorsPerThread;
}

/// The numbers of a thread that are in registers when `op` is computed, or wait there for what
/// comes after it.
int64_t ResidencyAnalysis::numbersKeptAt(Operation *op) const {
  auto isNeeded = [&](Operation *user) {
    Operation *own = op->getBlock()->findAncestorOpInBlock(*user);
    return !own || !own->isBeforeInBlock(op); // users elsewhere come in a later iteration, or after
  };
  int64_t numbers = 0;
  for (auto [value, residency] : residencies) {
    Operation *loop = value.getDefiningOp(); // around `op`: what it carries is counted
    if (residency != Residency::Registers || (loop && loop->isAncestor(op)) ||
        !value.getParentBlock()->findAncestorOpInBlock(*op) ||
        llvm::none_of(value.getUsers(), isNeeded))
      continue;
    TileType type = tileType(value);
    numbers += layoutOf(type.getRows(), type.getColumns()).registers();
  }
  return numbers;
}

// All users must compute on the same accumulators.
bool ResidencyAnalysis::fitsRegisters(Value value) const {
  TileType type = tileType(value);
  if (layoutOf(type.getRows(), type.getColumns()).registers() >
      GPUDescription::maxAccumulatorsOfValue)
    return false;
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto map = dyn_cast<MapOp>(user)) {
      // What is computed from registers goes there where they are read.
      return sameShape(value, map.getResult());
    }
    bool isWhole = keepsRows && hasWholeRows(value);
    if (auto reduce = dyn_cast<ReduceOp>(user))
      return isWhole && reduce.getAxis() == Axis::Columns;
    if (auto dot = dyn_cast<DotOp>(user); dot && use.getOperandNumber() == 0)
      return isWhole && takesRows(dot);
    if (auto dot = dyn_cast<DotOp>(user))
      return dot.getAcc() && use.getOperandNumber() == 2;
    return isa<CausalMaskOp, StoreOp, WriteOp, ClusterSumOp, scf::ForOp, scf::YieldOp>(user);
  });
}

/// Whether a value that is computed where it is used needs these elements.
bool ResidencyAnalysis::evaluatesOnWarpGrid(Value value) const {
  return computesFromRegisters(value) || countDotsInside(value) > 0;
}

bool ResidencyAnalysis::needsAccumulatorLayout(Value value) const {
  return readsRegisters(value) || countDots(value) > 0;
}

bool ResidencyAnalysis::readsRegisters(Value value) const {
  if (of(value) == Residency::Registers)
    return true;
  return of(value) == Residency::Deferred && computesFromRegisters(value);
}

bool ResidencyAnalysis::computesFromRegisters(Value value) const {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<MapOp, CausalMaskOp, DotOp>(op) &&
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return tileType(operand) && readsRegisters(operand); });
}

int64_t ResidencyAnalysis::countDots(Value value) const {
  return of(value) == Residency::Deferred ? countDotsInside(value) : 0;
}

int64_t ResidencyAnalysis::countDotsInside(Value value) const {
  auto isMatrixDot = [](Operation *op) {
    auto dot = dyn_cast<DotOp>(op);
    return dot && isMatrixProduct(dot);
  };
  // Views show what is in memory, or in the loop around.
  auto isPassedOn = [&](Value operand) {
    return isDeferred(operand) && !isView(operand.getDefiningOp());
  };
  return isView(value.getDefiningOp()) ? 0 : countEvaluated(value, isPassedOn, isMatrixDot);
}

bool ResidencyAnalysis::isOperand(Value value) const {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto dot = dyn_cast<DotOp>(user))
      return isMatrixProduct(dot) && use.getOperandNumber() < 2;
    if (auto accumulate = dyn_cast<AccumulateOp>(user))
      return isMatrixProduct(accumulate) && use.getOperandNumber() < 2;
    return (isView(user) || isa<MonomialsOp>(user)) && isOperand(user->getResult(0));
  });
}

/// A part of a state that products read, where shared memory has no copy of the whole: it is read
/// once, in order, and not by each warp as its fragments want it.
bool ResidencyAnalysis::needsStaging(ReadOp read) const {
  return roundsToBF16() && !isVector(read.getResult()) && isOperand(read.getResult()) &&
         !plan.bf16Copies.contains(read.getBuffer().getDefiningOp());
}

bool ResidencyAnalysis::leavesSource(SliceOp slice) const {
  TileType source = slice.getSource().getType(), window = slice.getResult().getType();
  auto leaves = [](Value start, int64_t size, int64_t whole) {
    int64_t multiple = knownDivisor(start), last = (whole - size) / multiple * multiple;
    if (auto constant = getConstantIntValue(start))
      last = *constant;
    return last + withPadding(size) > withPadding(whole);
  };
  return leaves(slice.getRow(), window.getRows(), source.getRows()) ||
         leaves(slice.getColumn(), window.getColumns(), source.getColumns());
}

/// Whether evaluating `value` reads what the loop carries in memory, other than the same elements
/// of `own`, which may be null.
bool ResidencyAnalysis::readsCarried(Value value, Block *loop, Value own) const {
  if (value.getParentBlock() == loop && isa<BlockArgument>(value))
    return of(value) == Residency::Memory && value != own;
  Operation *op = value.getDefiningOp();
  if (!op || !isDeferred(value))
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    if (!tileType(operand))
      return false;
    bool sameElements = isa<MapOp, CausalMaskOp>(op) && sameShape(operand, value);
    return readsCarried(operand, loop, sameElements ? own : Value());
  });
}

bool ResidencyAnalysis::replacesInPlace(OpOperand &yielded) const {
  Value value = yielded.get();
  auto loop = cast<scf::ForOp>(yielded.getOwner()->getParentOp());
  // Warps that have no accumulators read those of others.
  bool isMirrored = isDeferred(value) && evaluatesOnWarpGrid(value);
  Value own = isMirrored ? Value() : loop.getRegionIterArg(yielded.getOperandNumber());
  return !readsCarried(value, loop.getBody(), own);
}

bool ResidencyAnalysis::isReadByProducts(BufferOp buffer) const {
  return roundsToBF16() && buffer.getResult().getType().getColumns() > 1 &&
         llvm::any_of(buffer->getUsers(), [&](Operation *user) {
           return isa<ReadOp>(user) && isOperand(user->getResult(0));
         });
}

Type ResidencyAnalysis::elementType(Value value) const {
  Type f32 = Float32Type::get(value.getContext()), bf16 = BFloat16Type::get(value.getContext());
  if (kind != warp::OperandKind::BF16 || isVector(value))
    return f32;
  auto load = value.getDefiningOp<LoadOp>();
  bool exact = load && cast<MemRefType>(load.getMemref().getType()).getElementType().isBF16();
  return exact || (!split && isOperand(value)) ? bf16 : f32;
}

//===----------------------------------------------------------------------===//
// Lifetimes
//===----------------------------------------------------------------------===//

Operation *ResidencyAnalysis::lastUse(Value value) const {
  return polyattn::lastUse(value, [&](Value result) {
    return !isTrivial(result.getDefiningOp()) && of(result) == Residency::Deferred;
  });
}
