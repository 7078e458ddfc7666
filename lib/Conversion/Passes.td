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
  let summary = "attentions become tile kernels";
  let description = [{
    Every `polyattn.attention`, its maps inlined, becomes a `tile.kernel` of the same name
    whose programs compute one batch and query head each: the block form of PolySketchFormer, section
    3.1, or the quadratic form, as the attention's schedule says. Attentions without a
    schedule get the one that `--polyattn-choose-schedule` would give them.

    Features live for one block of positions and one block of features only.

    With `cut-positions` a launch may cut the positions of a causal attention that has a state into
    S segments. A second kernel `NAME__prefix` (programs: S - 1, B, heads of the state) stores what
    the keys of each segment but the last add to the state, from zero, and the segment's decay; the
    kernel NAME (programs: S, B, H) begins with the segments before its own. With S = 1 the first
    kernel has no programs.
    With `subsegments = N` the first kernel stores the states of N subsegments of each segment, (S - 1) N in all.
    Numeric contract: reassociating, the sums over positions.

    A `tile.entry` says how the kernels of each attention are launched.

    In a module with the attribute `polyattn.invariant` no launch cuts anything: a head is computed by
    one program in one order.

    With `skip-idle-state` the bounds of products with the state are 0 terms in the first block, where
    the state is zero, and those of its update in the last block, where nobody asks for it. Numeric
    contract: exact.

    With `cluster-size = N` the features of a head may be shared by up to N programs that run as a
    cluster, where its state and weights are more than one of them keeps: `tile.cluster_sum` adds
    their shares of O and Z, and the first stores the results. Numeric contract: reassociating, the
    sums over features.
  }];
  let dependentDialects = ["::polyattn::tile::TileDialect"];
  let options = [
    Option<"cutHeads", "cut-heads", "bool", "true",
           "Let a launch cut the features of a head over several programs, where they can be">,
    Option<"cutPositions", "cut-positions", "bool", "false",
           "Let a launch cut the positions of a head over several programs, where they can be and "
           "its features are not cut">,
    Option<"subsegments", "subsegments", "int64_t", "1",
           "Programs per segment of the prefix stage where positions are cut: of two segments only "
           "one has a prefix, and with two subsegments as many programs compute it as compute the results">,
    Option<"clusterSize", "cluster-size", "int64_t", "1",
           "The most programs that may share a head's features as a cluster, a power of two">,
    Option<"steps", "steps", "bool", "false",
           "Calls of one token update states that live in arguments where they are">,
    Option<"skipIdleState", "skip-idle-state", "bool", "false",
           "Products with a state into which no key has come, and updates of a state that nobody will "
           "read, sum no terms">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "GPUDescription().sharedBytesPerBlock",
           "What each of them may keep of states and weights and compute with, in bytes">,
  ];
}

def SetPrecision : Pass<"tile-set-precision", "::mlir::ModuleOp"> {
  let summary = "products say in what a target multiplies their operands";
  let description = [{
    Every `tile.dot` and `tile.accumulate` that has no precision gets the one in which a target
    multiplies it. Lowerings read it there and choose none themselves.

    ```mlir
    %p = tile.dot %q, %k : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    ```

    with `tensor-cores`, in a kernel whose sequences are bf16, becomes

    ```mlir
    %p = tile.dot %q, %k precision <bf16> : !tile.tile<64x64xf32>, !tile.tile<64x64xf32> -> !tile.tile<64x64xf32>
    ```

    Processors multiply in the type of the sums, f32 or f64. Tensor cores multiply matrices in the
    type of the kernel's sequences, its inputs [B, T, H, d]: bf16 in `bf16`, f16 in `tf32`, which has
    its mantissa and a range that is large enough for features, f32 in `split_tf32`, which keeps the
    precision of f32. Products of a matrix and a vector are not for tensor cores, or take a second column
    there: they are `split_bf16` beside `bf16` and else `f32`.

    A product that says `f32`, as those of an attend from whose results gradients take small differences, is
    `split_tf32` on tensor cores, and so are all products of matrices of its kernel.

    Numeric contract: precision-reducing, to what the storage of the sequences has.
  }];
  let options = [
    Option<"tensorCores", "tensor-cores", "bool", "false", "Multiply on a GPU's tensor cores">,
  ];
}

def ReuseWindows : Pass<"tile-reuse-windows"> {
  let summary = "loops read windows of what their kernel computes whole";
  let description = [{
    A loop over blocks of features that computes rows of a product, or an element-wise function of such
    rows, reads them from the tile of all rows where the kernel computes that too, before the loop or
    behind it:

    ```mlir
    scf.for %f = %c0 to %c256 step %c64 {
      %w = tile.slice %theta[%c0, %f] : <128x256xf32> -> <128x64xf32>
      %p = tile.dot %w, %x {lhs_transposed} : <128x64xf32>, <128x32xf32> -> <64x32xf32>
      ...
    }
    %whole = tile.dot %theta, %x {lhs_transposed} : <128x256xf32>, <128x32xf32> -> <256x32xf32>
    ```

    becomes

    ```mlir
    %whole = tile.dot %theta, %x {lhs_transposed} : <128x256xf32>, <128x32xf32> -> <256x32xf32>
    scf.for %f = %c0 to %c256 step %c64 {
      %p = tile.slice %whole[%f, %c0] : <256x32xf32> -> <64x32xf32>
      ...
    }
    ```

    Gradients need the features of a block several times, and the projections that they are made of.
    Where memory is dearer than products, as on GPUs, this is no gain. What is behind the loop under a
    condition is then computed without it.

    Numeric contract: exact.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ShareStates : Pass<"tile-share-states"> {
  let summary = "states that gather the same are one buffer";
  let description = [{
    Two buffers of one shape that start with zeros and of which each update of one is an update of the
    other, and the loops over blocks of features around these:

    ```mlir
    scf.for %f = %c0 to %c256 step %c64 {
      %r = tile.read %s[%f] : <256x64> -> <64x64xf32>
      ...
      tile.accumulate %phi, %x, %s[%f] : <64x32xf32>, <32x64xf32>, <256x64>
    }
    scf.for %f = %c0 to %c256 step %c64 {
      %r = tile.read %t[%f] : <256x64> -> <64x64xf32>
      ...
      tile.accumulate %phi, %x, %t[%f] : <64x32xf32>, <32x64xf32>, <256x64>
    }
    ```

    become one loop, which reads one buffer twice and updates it once. Gradients of keys and of
    values read one state so; what their loops compute of the same features `--cse` finds then.

    Numeric contract: exact.
  }];
}

def FoldFeatures : Pass<"tile-fold-features"> {
  let summary = "features of degree one are the rows that they are made of";
  let description = [{
    Features that are the rows of their source, in order, are that; where rows that are one of its parts, or constants,
    have a weight, that part is scaled:

    ```mlir
    %x = tile.concat %v, %one : <64x32xf32>, <1x32xf32> -> <65x32xf32>
    %phi = tile.monomials %x[%c0] {table = dense<[[0], [1], ..., [64]]>, weights = array<f64: 1.0, ..., -1.0>} : <65x32xf32> -> <65x32xf32>
    ```

    becomes

    ```mlir
    %minus = tile.constant -1.0 : <1x32xf32>
    %phi = tile.concat %v, %minus : <64x32xf32>, <1x32xf32> -> <65x32xf32>
    ```

    The gradients of a denominator's attend have such features. Tensor cores form features as they load them, from tables.

    Numeric contract: exact.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FoldTransposes : Pass<"tile-fold-transposes"> {
  let summary = "element-wise functions and sums read rows of tensors, and turn them once";
  let description = [{
    A transpose of what element-wise functions compute from transposes, tensors and constants:

    ```mlir
    %t = tile.transpose %o : <32x64xf32> -> <64x32xf32>
    %x = tile.load %q[...] {transposed} : ... -> <64x32xf32>
    %y = tile.map %t, %x ... -> <64x32xf32>
    %z = tile.transpose %y : <64x32xf32> -> <32x64xf32>
    ```

    becomes

    ```mlir
    %x = tile.load %q[...] : ... -> <32x64xf32>
    %z = tile.map %o, %x ... -> <32x64xf32>
    ```

    where nothing else uses the functions' values, or where they are cheap and the tensors are read both ways
    anyhow. A row that all rows of the functions share becomes a column.

    A sum over the rows of columns that nothing else reads of a tensor,

    ```mlir
    %x = tile.load %y[...] {transposed} : ... -> <64x32xf32>
    %s = tile.reduce <add> <rows> %x : <64x32xf32> -> <1x32xf32>
    ```

    with element-wise functions between them, becomes one over the columns of rows, and a function that is not cheap of both
    rows and columns of a tensor is computed of the first ones and turned.

    Numeric contract: reassociating, the sums.
  }];
}

def Prefetch : Pass<"tile-prefetch", "::mlir::ModuleOp"> {
  let summary = "nests of products fetch the rows of the next block";
  let description = [{
    What a loop over blocks of positions loads and stores at its induction variable, or at a difference of
    something and that where it goes backwards, it will load and store some rows further or before in its next iteration. Each such load and store is dealt to one of the nests of
    loops that compute the block's products on a processor, those of the first loop over features in it where there is
    one. The lowering reads that and decides nothing.

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
      attributes {polyattn.instructions = "fma,round", polyattn.scratch_bytes = 4096 : i64}
    ```

    that runs the programs [begin, end) (`createTileToVectorPass`). The options describe the machine, and
    `polyattn.instructions` passes on what it has (`--polyattn-legalize-math` asks). Nests fetch what `--tile-prefetch` dealt to them. A product is multiplied by
    the micro-kernel that its precision, its operands and these instructions ask for; where there is
    none it is an error.

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
           "What instructions of vectors there are, of fma, round, avx512, avx512bf16, amx and amxbf16; or none">,
  ];
}

def DropEntries : Pass<"tile-drop-entries", "::mlir::ModuleOp"> {
  let summary = "a module of functions alone, without how they are launched";
  let description = [{
    Removes every `tile.entry`. LLVM's own tools translate the LLVM dialect and know no other:

    ```
    polyattn-opt SPEC --polyattn-cpu-pipeline --tile-drop-entries | mlir-translate --mlir-to-llvmir
    ```

    Numeric contract: exact; functions stay as they are.
  }];
  let dependentDialects = ["::polyattn::tile::TileDialect"];
}

def LegalizeMath : Pass<"polyattn-legalize-math", "::mlir::func::FuncOp"> {
  let summary = "what a processor has no instruction for becomes several";
  let description = [{
    Of the math dialect `--polyattn-expand-math` leaves square roots, absolute values, signs, floors and fused
    multiply-adds. The last two are not instructions of every processor, and would be calls of libm,
    one for each lane. `polyattn.instructions` of the function says what there is to use
    (`--tile-to-vector`).

    Numeric contract: exact; a fused multiply-add with `contract` may round twice.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def VectorToLLVM : Pass<"polyattn-vector-to-llvm", "::mlir::ModuleOp"> {
  let summary = "vector code in the LLVM dialect, in one conversion";
  let description = [{
    What `--tile-to-vector`, `--polyattn-expand-math` and `--polyattn-legalize-math` leave, of the dialects arith, cf, func,
    math, scf and vector, becomes LLVM's. An op of another dialect is an error.

    Numeric contract: exact.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect",
                           "::polyattn::tile::TileDialect"];
}

def RepeatLoads : Pass<"tile-repeat-loads"> {
  let summary = "tiles that loops do not use are loaded again behind them";
  let description = [{
    A matrix of an input that is used before a loop and behind it, but not in it, is loaded twice,
    so that no memory holds it meanwhile:

    ```mlir
    %s = tile.load %state[...] : ...
    %0 = tile.map %s ...
    scf.for ... { ... }
    scf.if %empty {
      tile.store %s, %final[...] : ...
    }
    ```

    has a second `tile.load %state[...]` before the `tile.store`.

    Numeric contract: exact.
  }];
}

def CarryStates : Pass<"tile-carry-states"> {
  let summary = "loops over positions carry the states that they update";
  let description = [{
    A loop over blocks of positions reads a state and adds to it in each iteration. Where an
    iteration does that with the whole of it, the state becomes a tile that the loop carries, in
    the registers of accumulators:

    ```mlir
    %s = tile.buffer : <64x64>
    scf.for ... {
      %r = tile.read %s[%c0] : <64x64> -> <64x64xf32>
      ...
      tile.accumulate %k, %v, %s[%c0] : ...
    }
    ```

    becomes a loop with an `iter_args` of `!tile.tile<64x64xf32>`, whose products read a `tile.map` of
    it, rounded as their factors are, and to which `tile.dot ... acc` adds. What is read after the
    loop is written back.

    Numeric contract: exact.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
  let options = [
    Option<"elements", "elements", "int64_t", "GPUDescription::carriedNumbersPerThread * 256",
           "The most numbers that a kernel's loops carry so; by default 64 registers of each of "
           "256 threads">,
  ];
}

def TileToWarp : Pass<"tile-to-warp", "::mlir::ModuleOp"> {
  let summary = "tile kernels become kernels of a GPU, one CTA for each program";
  let description = [{
    Every `tile.kernel` becomes a kernel of the `gpu.module @kernels`, which is the program of one thread in
    the warp dialect:

    ```mlir
    gpu.func @name(...) kernel attributes {warp.num_warps = 4, warp.shared_bytes = ...}
    ```

    CTA p runs program p of the kernel's grid, the last axis of which is counted fastest; with clusters
    each of the CTAs of cluster p does.
    Tiles are distributed over the threads of a CTA or live in shared memory; what does not fit in
    `shared-bytes` stands in global memory. A plan of memory is tried by lowering the kernel, so the
    kernel that is kept is the last of a few. Products must say their precision (`--tile-set-precision`).

    Numeric contract: reassociating, sums over threads; products round their operands as their
    precision says.
  }];
  let dependentDialects = ["::polyattn::warp::WarpDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::vector::VectorDialect"];
  let options = [
    Option<"warps", "warps", "int64_t", "0",
           "Warps of a CTA, a power of two up to 16; 0 for four, or eight where loops carry much">,
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
    Iterations that are computed together have their loads on the way at once, in registers. Each loop with a
    constant number of iterations, loads and no barrier gets `warp.unroll = N`: up to 4 of its
    iterations, as many as leave the values that live at one time within `registers` of a thread.
    Each kernel gets `warp.registers`, the most that live at one time without any unrolling, in
    registers of 32 bits (`RegisterPressure`). `--warp-to-nvvm` unrolls; ptxas is told to unroll nothing.

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

def ExpandMath : Pass<"polyattn-expand-math"> {
  let summary = "functions become arithmetic";
  let description = [{
    exp, expm1, log, log2, log1p, powf, tanh, erf, erfc, sin and cos of f32, single or in vectors, become
    multiply-adds, `math.absf`, `math.copysign`, `math.floor`, an `afn` division and `math.exp2`, which is
    expanded too where a machine has no instruction for it, as processors. What is left of the math
    dialect would be calls of libm, one for each lane. sin and cos reduce arguments up to 1.5e6
    without loss.

    Numeric contract: relative error below 1e-6 where exp2 has one below 3e-7; infinities and NaN
    as C's functions have them. Results below 2^-126 may be 0, below 2^-125 where exp2 is expanded, and
    zeros may lose their sign.
    `math.exp` with `afn` becomes one exp2 of a product where that is an instruction; its relative
    error grows with the argument to 1e-5.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [
    Option<"hasExp2", "has-exp2", "bool", "true", "The machine has an instruction for exp2">,
  ];
}

def ConvertWarpToNVVM : Pass<"warp-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "the program of a GPU's thread in the LLVM dialect";
  let description = [{
    Kernels become functions with `nvvm.kernel` and `nvvm.reqntid`, the ops of the warp dialect and
    everything between them LLVM and NVVM ops. Shared memory is one external array in address
    space 3, to which the kernel's caller gives its size (`warp.shared_bytes`); attributes that
    describe the launch are gone after this. `warp.cluster` becomes `nvvm.cluster_dim`.

    Functions of the math dialect that have no instruction must have been expanded
    (`--polyattn-expand-math`); what is left of them is an error, never a call of a library.
    `warp.warp_id` is read once, at the start, and broadcast in the warp: ptxas then knows that it
    is the same in all threads, and keeps what follows from it in uniform registers.

    Numeric contract: exact, but for `math.exp2` and `math.rsqrt`, which become the approximate
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

#endif // POLYATTN_CONVERSION_PASSES
