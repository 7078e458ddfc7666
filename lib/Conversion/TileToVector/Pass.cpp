//===- Pass.cpp - --tile-to-vector -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "polyattn/Conversion/Passes.h"
#include "polyattn/Conversion/TileToVector.h"
#include "polyattn/Target/CPU.h"

namespace polyattn {
#define GEN_PASS_DEF_CONVERTTILETOVECTOR
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;

namespace {
struct TileToVectorPass : polyattn::impl::ConvertTileToVectorBase<TileToVectorPass> {
  using ConvertTileToVectorBase::ConvertTileToVectorBase;

  /// The machine of the options, or an error.
  FailureOr<MachineDescription> describe() {
    if (vectorWidth < 4 || vectorWidth > 64 || !llvm::isPowerOf2_64(vectorWidth) || registers < 8)
      return getOperation().emitError("vector-width must be a power of two from 4 to 64, and "
                                      "registers at least 8; got ")
             << int64_t(vectorWidth) << " and " << int64_t(registers);
    llvm::Expected<Instructions> known = parseInstructions(instructions);
    if (!known)
      return getOperation().emitError(llvm::toString(known.takeError()));
    return MachineDescription(vectorWidth, registers, l1Bytes, *known);
  }

  void runOnOperation() final {
    FailureOr<MachineDescription> machine = describe();
    if (failed(machine))
      return signalPassFailure();
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
      if (failed(KernelLowering(kernel, *machine).run(getOperation())))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace

std::unique_ptr<Pass> polyattn::createTileToVectorPass(const MachineDescription &machine) {
  ConvertTileToVectorOptions options;
  options.vectorWidth = machine.vectorWidth;
  options.registers = machine.vectorRegisters;
  options.l1Bytes = machine.l1Bytes;
  options.instructions = toText(machine.instructions);
  return createConvertTileToVector(options);
}

namespace {
struct VectorToLLVMOptions : PassPipelineOptions<VectorToLLVMOptions> {
  Option<std::string> instructions{
      *this, "instructions",
      llvm::cl::desc("What instructions of vectors there are, as for --tile-to-vector"),
      llvm::cl::init("fma,round")};
};
} // namespace

void polyattn::registerTileToVectorPasses() {
  PassPipelineRegistration<VectorToLLVMOptions>(
      "polyattn-vector-to-llvm-pipeline", "From the output of tile-to-vector to the LLVM dialect",
      [](OpPassManager &passes, const VectorToLLVMOptions &options) {
        buildVectorToLLVMPipeline(passes, options.instructions);
      });
}
