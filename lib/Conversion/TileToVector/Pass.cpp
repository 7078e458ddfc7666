//===- Pass.cpp - --tile-to-vector -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "polyattn/Conversion/TileToVector.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;

namespace {
struct TileToVectorPass : PassWrapper<TileToVectorPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TileToVectorPass)

  TileToVectorPass() = default;
  TileToVectorPass(const MachineDescription &machine) {
    vectorWidth = machine.vectorWidth;
    registers = machine.vectorRegisters;
    l1Bytes = machine.l1Bytes;
  }
  TileToVectorPass(const TileToVectorPass &other) : PassWrapper(other) {
    vectorWidth = other.vectorWidth;
    registers = other.registers;
    l1Bytes = other.l1Bytes;
  }

  StringRef getArgument() const final { return "tile-to-vector"; }
  StringRef getDescription() const final {
    return "Turn block programs into functions of vector code";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }

  void runOnOperation() final {
    if (vectorWidth < 4 || vectorWidth > 64 || !llvm::isPowerOf2_64(vectorWidth) || registers < 8) {
      getOperation().emitError("vector-width must be a power of two from 4 to 64, and registers "
                               "at least 8; got ")
          << int64_t(vectorWidth) << " and " << int64_t(registers);
      return signalPassFailure();
    }
    MachineDescription machine;
    machine.vectorWidth = vectorWidth;
    machine.vectorRegisters = registers;
    machine.l1Bytes = l1Bytes;
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
      if (failed(KernelLowering(kernel, machine).run(getOperation())))
        return signalPassFailure();
      kernel.erase();
    }
  }

  Option<int64_t> vectorWidth{*this, "vector-width",
                              llvm::cl::desc("f32 lanes of a vector register: 16 with AVX-512, 8 "
                                             "with AVX2, 4 anywhere"),
                              llvm::cl::init(16)};
  Option<int64_t> registers{*this, "registers",
                            llvm::cl::desc("number of vector registers: 32 with AVX-512, else 16"),
                            llvm::cl::init(32)};
  Option<int64_t> l1Bytes{*this, "l1-bytes",
                          llvm::cl::desc("The first level data cache of one core, in bytes"),
                          llvm::cl::init(32768)};
};
} // namespace

std::unique_ptr<Pass> polyattn::createTileToVectorPass(const MachineDescription &machine) {
  return std::make_unique<TileToVectorPass>(machine);
}

void polyattn::registerTileToVectorPasses() {
  PassRegistration<TileToVectorPass>();
  PassPipelineRegistration<>("polyattn-vector-to-llvm-pipeline",
                             "From the output of tile-to-vector to the LLVM dialect",
                             buildVectorToLLVMPipeline);
}
