//===- AnnotatePrefetch.cpp - which nests fetch rows of tensors -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A head's rows lie far apart in tensors [B, T, H, width]: no hardware sees what comes next, and
// a load that waits for memory leaves the multipliers idle. So the products of one block fetch
// the rows of the next block, and those of its result. Here it is decided which nest fetches what;
// the lowering of the nest (Prefetch.cpp) fetches a line with each iteration of its loops.
//
//===----------------------------------------------------------------------===//

#include "Fusion.h"
#include "lib/TileAnalysis/LoopSteps.h"
#include "lib/TileAnalysis/TileValues.h"
#include "mlir/IR/Matchers.h"
#include "polyattn/Conversion/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace polyattn {
#define GEN_PASS_DEF_PREFETCH
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;
using polyattn::tile_to_vector::Fusion;
using polyattn::tile_to_vector::isColumnVector;

//===----------------------------------------------------------------------===//
// What to fetch
//===----------------------------------------------------------------------===//

/// Whether the rows of the load or store move by the loop's step, up or down, so that those of the
/// next iteration lie beside them, and where it starts is known at the start of the body.
template <typename Access> static bool goesWith(scf::ForOp loop, Access access) {
  int64_t dim = access.getRowDim(), last = int64_t(access.getIndices().size()) - 1;
  if (dim < 0 || dim == last || stepPerIteration(access.getIndices()[dim], loop) == 0)
    return false;
  return llvm::all_of(llvm::enumerate(access.getIndices()), [&](auto numbered) {
    auto [number, index] = numbered;
    Operation *op = index.getDefiningOp();
    return int64_t(number) == dim || !op || !loop->isProperAncestor(op) ||
           matchPattern(index, m_Constant());
  });
}

static SmallVector<Operation *> findAccesses(scf::ForOp loop) {
  SmallVector<Operation *> accesses;
  if (!loop.getConstantStep())
    return accesses;
  // Where a branch decides what is stored, the first is the common one.
  SmallVector<StoreOp> stores(loop.getOps<StoreOp>());
  for (scf::IfOp branch : loop.getOps<scf::IfOp>())
    llvm::append_range(stores, branch.thenBlock()->getOps<StoreOp>());
  for (StoreOp store : stores)
    if (goesWith(loop, store))
      accesses.push_back(store);
  for (LoadOp load : loop.getOps<LoadOp>())
    if (goesWith(loop, load))
      accesses.push_back(load);
  return accesses;
}

//===----------------------------------------------------------------------===//
// Who fetches it
//===----------------------------------------------------------------------===//

namespace {
/// The nests of a block in which lines of the next `rows` rows can be fetched.
class Nests {
public:
  Nests(const Fusion &fusion, int64_t rows, int64_t fewestTerms)
      : fusion(fusion), rows(rows), fewestTerms(fewestTerms) {}

  /// Whether a loop's own block has a product whose nest can.
  bool hasTall(scf::ForOp loop) const {
    return llvm::any_of(loop.getOps<DotOp>(), [&](DotOp dot) { return isTall(dot); });
  }
  /// The ops whose nests can, in the order in which they are lowered.
  SmallVector<Operation *> find(Block &block) const {
    SmallVector<Operation *> nests;
    for (Operation &op : block)
      op.walk<WalkOrder::PreOrder>([&](Operation *inner) { addNestsOf(inner, block, nests); });
    return nests;
  }

private:
  /// Whether the nest of this product has a register tile for each few rows of a block, or of a
  /// state whose columns these are, and all of them take equally long, long enough to wait for
  /// memory meanwhile.
  bool isTall(DotOp dot) const {
    TileType type = dot.getResult().getType();
    int64_t positions = dot.getLhs().getDefiningOp<ReadOp>() ? type.getColumns() : type.getRows();
    return dot.getTriangle() == Triangle::None && dot.getLhsTriangle() == Triangle::None &&
           dot.getRhs().getType().getRows() >= fewestTerms && positions == rows &&
           type.getColumns() > 1;
  }
  /// Whether a nest over all elements computes `root`, with such a product in it.
  bool isTallNest(Value root) const {
    TileType type = tileType(root);
    bool square = type.getRows() == type.getColumns() && type.getRows() > 1;
    if (isColumnVector(type) || (square && fusion.triangleOf(root) != Triangle::None))
      return false;
    return llvm::any_of(fusion.productsOf(root), [&](DotOp dot) { return isTall(dot); });
  }
  /// Values are computed where they stand, or those that are deferred by the op that takes them and
  /// computes no tile of the same elements itself.
  void addNestsOf(Operation *op, Block &block, SmallVectorImpl<Operation *> &nests) const {
    if (auto update = dyn_cast<AccumulateOp>(op)) {
      if (op->getBlock() == &block && update.getRhs().getType().getColumns() > 1)
        nests.push_back(op);
      return;
    }
    bool isElementwise = isa<DotOp, MapOp, CausalMaskOp>(op);
    SmallVector<Value> roots;
    if (!isElementwise)
      llvm::copy_if(op->getOperands(), std::back_inserter(roots),
                    [&](Value operand) { return tileType(operand) && fusion.isDeferred(operand); });
    else if (Value result = op->getResult(0); !result.use_empty() && !fusion.isDeferred(result))
      if (!fusion.isView(result))
        roots.push_back(result);
    for (Value root : roots)
      if (Operation *nest = root.getDefiningOp(); nest->getBlock() == &block && isTallNest(root))
        nests.push_back(nest);
  }

  const Fusion &fusion;
  int64_t rows, fewestTerms;
};

struct PrefetchPass : polyattn::impl::PrefetchBase<PrefetchPass> {
  using PrefetchBase::PrefetchBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      Fusion fusion(kernel);
      kernel.walk([&](scf::ForOp loop) { annotate(loop, fusion); });
    }
  }

private:
  void annotate(scf::ForOp loop, const Fusion &fusion) {
    SmallVector<Operation *> accesses = findAccesses(loop);
    if (accesses.empty())
      return;
    Nests finder(fusion, loop.getConstantStep()->getSExtValue(), fewestTerms);
    Block *block = loop.getBody();
    int64_t iterations = 1;
    // A loop in it, over features, computes longest: its iterations share the rows.
    for (auto inner : loop.getOps<scf::ForOp>()) {
      if (!finder.hasTall(inner) || !inner.getOps<LoadOp>().empty() || !inner.getConstantStep() ||
          !findAccesses(inner).empty())
        continue;
      block = inner.getBody();
      int64_t step = inner.getConstantStep()->getSExtValue();
      for (ReadOp read : inner.getOps<ReadOp>())
        iterations = std::max(iterations, read.getBuffer().getType().getRows() / step);
      break;
    }
    deal(accesses, finder.find(*block), iterations);
  }

  /// The nests take about as many windows each.
  void deal(ArrayRef<Operation *> accesses, ArrayRef<Operation *> nests, int64_t iterations) {
    for (auto [number, nest] : llvm::enumerate(nests)) {
      size_t count = llvm::divideCeil(accesses.size(), nests.size() - number);
      if (count == 0)
        return;
      auto attribute = NestAttr::get(&getContext(), number, iterations);
      nest->setAttr(kNestAttrName, attribute);
      for (Operation *access : accesses.take_front(count))
        access->setAttr(kPrefetchedByAttrName, attribute);
      accesses = accesses.drop_front(count);
    }
  }
};
} // namespace
