//===- Passes.td - passes from one level to the next ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_PASSES
#define POLYATTN_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertPolyAttnToTile : Pass<"polyattn-to-tile", "::mlir::ModuleOp"> {
  let summary = "attentions become block programs";
  let description = [{
    Every `polyattn.attention`, its maps inlined, becomes a `tile.kernel` of the same name
    that computes one batch and query head: the block form of PolySketchFormer, section
    3.1, or the quadratic form, as the attention's schedule says. Attentions without a
    schedule get the one that `--polyattn-choose-schedule` would give them.

    Features live for one block of positions and one block of features only.
  }];
  let dependentDialects = ["::polyattn::tile::TileDialect"];
  let options = [
    Option<"cutHeads", "cut-heads", "bool", "true",
           "Let a launch cut the features of a head over several programs, where they can be">,
  ];
}

def ConvertWarpToEmulator : Pass<"warp-to-emulator", "::mlir::ModuleOp"> {
  let summary = "kernels for a GPU become functions that the emulator runs";
  let description = [{
    Every kernel of every `gpu.module` becomes a function of the module in the LLVM dialect,

    ```mlir
    llvm.func @name(%parameters: !llvm.ptr) attributes {polyattn.sites = [["warp.barrier", "k.mlir:7:3"]]}
    ```

    which is the program of one thread. `parameters` points to the kernel's parameters, 8 bytes each.
    An op of the warp dialect becomes a call of `polyattn_emu_` and its name (runtime/emulator/Calls.h),
    whose first argument is the op's number in `polyattn.sites`, if it can be reported.

    Numeric contract: exact. Products are summed in f32, one after another.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect"];
}

#endif // POLYATTN_CONVERSION_PASSES
