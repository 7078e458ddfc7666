//===- GPUPasses.td - passes from tile kernels to a GPU's code ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_GPU_PASSES
#define POLYATTN_GPU_PASSES

include "mlir/Pass/PassBase.td"

def TileToWarp : Pass<"tile-to-warp", "::mlir::ModuleOp"> {
  let summary = "tile kernels become kernels of a GPU, one CTA for each program";
  let description = [{
    Every `tile.kernel` becomes a kernel of the `gpu.module @kernels`, which is the program of one
    thread in the warp dialect:

    ```mlir
    gpu.func @name(...) kernel attributes {warp.num_warps = 4, warp.shared_bytes = ...}
    ```

    CTA p runs program p of the kernel's grid, the last axis of which is counted fastest. With
    clusters all CTAs of cluster p run it. Tiles are distributed over the threads of a CTA or live
    in shared memory. Tiles that do not fit in `shared-bytes` are in global memory. The pass tries a
    memory plan by lowering the kernel with it, so the final kernel is the last of a few. A CTA has
    four warps. It has eight if a loop carries more than the registers of four hold, or if its
    shared memory leaves a multiprocessor no room for another CTA. The kernels that are launched
    with it for each segment then have eight as well. Products must have a precision
    (`--tile-set-precision`).

    Numeric contract: reassociating, sums over threads; products round their operands as their
    precision says.
  }];
  let dependentDialects = ["::polyattn::warp::WarpDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::vector::VectorDialect"];
  let options = [
    Option<"warps", "warps", "int64_t", "0",
           "Warps of a CTA, a power of two up to 16; 0 for four, or eight where loops carry much or a CTA "
           "has a multiprocessor for itself">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "GPUDescription().sharedBytesPerBlock",
           "Shared memory that a CTA may use, in bytes">,
    Option<"pipelineCopies", "pipeline-copies", "bool", "true",
           "Copy the next block of positions while computing on this one, where shared memory has "
           "place for both">,
  ];
}

def UnrollLoops : Pass<"warp-unroll-loops", "::mlir::ModuleOp"> {
  let summary = "loops of GPU kernels say how far they are unrolled";
  let description = [{
    Iterations that are computed together have their loads in flight at once, in registers. Each
    loop with a constant number of iterations, loads and no barrier gets `warp.unroll = N`. N is at
    most 4, and as large as keeps the simultaneously live values within `registers` of a thread. A
    loop that only updates global memory gets none: its loads may not pass a store that may be to
    the same place. Each kernel gets `warp.registers`, the most values live at one time without any
    unrolling, in registers of 32 bits (`RegisterPressure`). `--warp-to-nvvm` unrolls; ptxas is told
    to unroll nothing.

    Numeric contract: exact.
  }];
  let dependentDialects = ["::polyattn::warp::WarpDialect"];
  let options = [
    Option<"registers", "registers", "int64_t", "GPUDescription::usableRegistersPerThread()",
           "Registers of a thread that its live values should stay below">,
  ];
}

def ConvertWarpToEmulator : Pass<"warp-to-emulator", "::mlir::ModuleOp"> {
  let summary = "kernels for a GPU become functions that the emulator runs";
  let description = [{
    Every kernel of every `gpu.module` becomes a function of the module in the LLVM dialect,

    ```mlir
    llvm.func @name(%parameters: !llvm.ptr) attributes {warp.sites = [loc("warp.barrier"("k.mlir":7:3))]}
    ```

    which is the program of one thread. `parameters` points to the kernel's parameters, 8 bytes
    each. An op of the warp dialect becomes a call of `polyattn_emu_` and its name
    (runtime/emulator/Calls.h). If the op can be reported, the first argument is its number in
    `warp.sites`.

    Numeric contract: exact. Products are summed in f32, one after another.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect"];
}

def ConvertWarpToNVVM : Pass<"warp-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "the program of a GPU's thread in the LLVM dialect";
  let description = [{
    Kernels become functions with `nvvm.kernel` and `nvvm.reqntid`. The ops of the warp dialect and
    everything between them become LLVM and NVVM ops. Shared memory is one external array in address
    space 3, whose size the kernel's caller sets (`warp.shared_bytes`). Attributes that describe the
    launch are gone after this pass. `warp.cluster` becomes `nvvm.cluster_dim`.

    Functions of the math dialect without an instruction must have been expanded
    (`--polyattn-expand-math`). Any that remain are an error, never a call of a library.
    `warp.warp_id` is read once, at the start, and broadcast in the warp. ptxas then knows that it
    is the same in all threads, and keeps values derived from it in uniform registers.

    Numeric contract: exact, except for `math.exp2` and `math.rsqrt`, which become the approximate
    instructions (relative error 2^-22, subnormal numbers are 0).
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
  let options = [
    Option<"sharedBytesPerSM", "shared-bytes-per-sm", "int64_t", "0",
           "Shared memory of a multiprocessor, if it is known: ptxas need not save registers for more "
           "CTAs than have place there (nvvm.minctasm)">,
    Option<"maxBlocksPerCluster", "max-blocks-per-cluster", "int64_t", "8",
           "CTAs that a cluster of this chip can have: 1 where it has no clusters">,
  ];
}

#endif // POLYATTN_GPU_PASSES
