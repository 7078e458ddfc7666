//===- CPUPasses.td - passes from tile kernels to a processor's code ------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CPU_PASSES
#define POLYATTN_CPU_PASSES

include "mlir/Pass/PassBase.td"

def Prefetch : Pass<"tile-prefetch", "::mlir::ModuleOp"> {
  let summary = "nests of products fetch the rows of the next block";
  let description = [{
    A loop over blocks of positions loads and stores windows of tensors at its induction variable. A
    backward loop uses a difference of a number and the variable. The next iteration will load and
    store windows some rows further on or before. Each such load and store is assigned to one of the
    nests of loops that compute the block's products on a processor. These are the nests of the
    first loop over features in it, if there is one. The lowering reads the assignment and makes no
    choice of its own.

    ```mlir
    scf.for %i = %c0 to %n step %c64 {
      %a = tile.load %q[%b, %i, %h, %c0] {row_dim = 1, col_dim = 3} : ...
      %r = tile.dot %a, %s : ...
      tile.store %r, %o[%b, %i, %h, %c0] {row_dim = 1, col_dim = 3} : ...
    }
    ```

    becomes

    ```mlir
    scf.for %i = %c0 to %n step %c64 {
      %a = tile.load %q[%b, %i, %h, %c0] {row_dim = 1, col_dim = 3, tile.prefetched_by = #tile.nest<0>} : ...
      %r = tile.dot %a, %s {tile.nest = #tile.nest<0>} : ...
      tile.store %r, %o[%b, %i, %h, %c0] {row_dim = 1, col_dim = 3, tile.prefetched_by = #tile.nest<0>} : ...
    }
    ```

    Numeric contract: exact.
  }];
  let options = [
    Option<"fewestTerms", "fewest-terms", "int64_t", "32",
           "Terms that an element of a product sums at least, so that there is time to wait for memory">,
  ];
}

def ConvertTileToVector : Pass<"tile-to-vector", "::mlir::ModuleOp"> {
  let summary = "tile kernels become functions of vector code";
  let description = [{
    Every `tile.kernel` becomes a function

    ```mlir
    func.func @name(%tensors: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr)
      attributes {tile.scratch_bytes = 4096 : i64}
    ```

    that runs the programs [begin, end) (`createTileToVectorPass`). The options describe the
    machine. Nests fetch the windows that `--tile-prefetch` assigned to them. A micro-kernel for the
    precision, the operands and these instructions multiplies a product. If there is none, it is an
    error.

    Numeric contract: reassociating, the sums of products and reductions.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
  let options = [
    Option<"vectorWidth", "vector-width", "int64_t", "16",
           "f32 lanes of a vector register: 16 with AVX-512, 8 with AVX2, 4 anywhere">,
    Option<"registers", "registers", "int64_t", "32",
           "Number of vector registers: 32 with AVX-512, else 16">,
    Option<"l1Bytes", "l1-bytes", "int64_t", "32768",
           "The first level data cache of one core, in bytes">,
    Option<"instructions", "instructions", "std::string", "\"fma,round\"",
           "The available vector instructions, of fma, round, avx512, avx512bf16, amx and amxbf16; or none">,
  ];
}

def VectorToLLVM : Pass<"polyattn-vector-to-llvm", "::mlir::ModuleOp"> {
  let summary = "vector code in the LLVM dialect, in one conversion";
  let description = [{
    Converts the ops that `--tile-to-vector`, `--polyattn-expand-math` and
    `--polyattn-legalize-math` leave to LLVM's. They are of the dialects arith, cf, func, math, scf
    and vector. An op of another dialect is an error.

    Numeric contract: exact.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect",
                           "::polyattn::tile::TileDialect"];
}

#endif // POLYATTN_CPU_PASSES
