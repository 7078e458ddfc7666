//===- UnrollLoops.cpp - how many iterations of a loop are computed at once ===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Iterations that are computed together have their loads on the way at once, in registers. ptxas
// unrolls loops up to the last register of a thread, and then spills a few; so each loop says how
// far it is unrolled, by what its iterations need, and PTX says that nothing else is.
//
//===----------------------------------------------------------------------===//

#include "RegisterPressure.h"
#include "dialects/Warp/Warp.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/Conversion/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_UNROLLLOOPS
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;

/// The most iterations at once: so many loads hide the latency of shared memory, and of global
/// memory in part.
static constexpr int64_t kMostIterations = 4;

/// Whether a product begins a sum, which then waits in registers of its own.
static bool beginsSum(Operation &op) {
  auto product = dyn_cast<warp::MmaSyncOp>(op);
  return product && matchPattern(product->getOperands().back(), m_AnyZeroFloat());
}

/// Registers that an iteration fills without waiting for the one before: by loads and by sums that
/// it begins. None for an iteration that waits for other threads or has a loop in it.
static std::optional<int64_t> loadedRegisters(Block &iteration) {
  int64_t registers = 0;
  for (Operation &op : iteration) {
    if (isa<scf::ForOp, warp::BarrierOp, warp::ClusterBarrierOp>(op))
      return std::nullopt;
    if (isa<warp::LoadSharedOp, warp::LoadGlobalOp, warp::LoadClusterOp, warp::LdmatrixOp,
            warp::LookupOp>(op) ||
        beginsSum(op))
      for (Type type : op.getResultTypes())
        registers += RegisterPressure::registersOf(type);
    // One branch is taken.
    int64_t most = 0;
    for (Region &region : op.getRegions())
      for (Block &block : region) {
        std::optional<int64_t> inBranch = loadedRegisters(block);
        if (!inBranch)
          return std::nullopt;
        most = std::max(most, *inBranch);
      }
    registers += most;
  }
  return registers;
}

/// Whether all that an iteration does is to update global memory: no load passes a store that may
/// be to the same place, so that the next iteration's loads are on their way no earlier.
static bool updatesMemory(scf::ForOp loop) {
  bool loads = false, stores = false, multiplies = false;
  loop.walk([&](Operation *op) {
    auto load = dyn_cast<warp::LoadGlobalOp>(op);
    loads |= load && !load.getReadOnly();
    stores |= isa<warp::StoreGlobalOp>(op);
    multiplies |= isa<warp::MmaSyncOp>(op);
  });
  return loads && stores && !multiplies;
}

static int64_t iterationsAtOnce(scf::ForOp loop, const RegisterPressure &pressure,
                                int64_t registers) {
  std::optional<int64_t> loaded = loadedRegisters(*loop.getBody());
  std::optional<APInt> iterations = loop.getStaticTripCount();
  if (!loaded || !iterations || updatesMemory(loop))
    return 1;
  for (int64_t count = kMostIterations; count > 1; --count)
    if (iterations->getZExtValue() % count == 0 &&
        pressure.within(loop) + (count - 1) * *loaded <= registers)
      return count;
  return 1;
}

namespace {
struct UnrollLoopsPass : polyattn::impl::UnrollLoopsBase<UnrollLoopsPass> {
  using UnrollLoopsBase::UnrollLoopsBase;

  void runOnOperation() final {
    getOperation().walk([&](gpu::GPUFuncOp kernel) {
      RegisterPressure pressure(kernel);
      Builder builder(kernel.getContext());
      kernel->setAttr(warp::kRegistersAttrName, builder.getI64IntegerAttr(pressure.most()));
      kernel.walk([&](scf::ForOp loop) {
        if (int64_t count = iterationsAtOnce(loop, pressure, registers); count > 1)
          loop->setAttr(warp::kUnrollAttrName, builder.getI64IntegerAttr(count));
      });
    });
  }
};
} // namespace
