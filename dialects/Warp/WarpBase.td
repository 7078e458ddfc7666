//===- WarpBase.td - the warp dialect -------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WARP_BASE
#define WARP_BASE

include "dialects/Attributes/KnownAttributes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Warp_Dialect : Dialect {
  let name = "warp";
  let cppNamespace = "::polyattn::warp";
  let summary = "Operations of an NVIDIA GPU, as one of its threads executes them.";
  let description = [{
    A kernel is a `gpu.func` in a `gpu.module`, and its body is the program of one thread: arith,
    math, scf, vector and the ops below. Each op lowers to PTX (`--warp-to-nvvm`) and to a call of
    the emulator (`--warp-to-emulator`), which runs the same kernel on any machine and checks it.

    **Memory.** Shared memory is addressed by byte offsets (`i32`) into the CTA's one allocation of
    dynamic shared memory, global memory by `!llvm.ptr<1>` and a byte offset (`i64`). An access
    of n bytes is aligned to n bytes; scalars of 2 or 4 bytes and vectors of 4, 8 or 16 bytes in
    all can be accessed.

    **Order.** Threads see each other's writes to shared memory, and to global memory of the same
    CTA, after a `barrier`; threads of one warp also after a `sync`.

    **Clusters.** A kernel with the attribute `warp.cluster = N : i64`, where N is 2, 4 or 8, runs in
    clusters of N CTAs, which run at the same time: CTAs p N to p N + N - 1 of the grid are
    program p, and `cluster_rank` tells them apart. `load_cluster` reads the shared memory of any of
    them. A CTA sees there what was written before a `cluster_barrier` that both have passed, and
    one must have been passed before the first such read, or the other CTA may not have begun. A CTA
    whose memory others read must not end: after the last of these reads there is a
    `cluster_barrier`, too. Chips have clusters from sm_90 on.

    **Collectives.** `ldmatrix`, `mma_sync`, `shuffle` and `sync` are executed by all 32 threads of a
    warp together, `barrier` by all threads of the CTA, `cluster_barrier` by all threads of the
    cluster.

    **Parameters of a kernel.** What the caller must pass is said by attributes of the arguments:
    `warp.pointer = i` is the data of tensor i, `warp.size = [i, d]` its size and `warp.stride = [i,
    d]` its stride of dimension d (i64, in elements), `warp.workspace` this launch's workspace,
    `warp.profile` a pointer that is not used (Triton's launchers pass both). The function's attributes:
    `warp.threads` threads of a CTA, `warp.shared_bytes` of dynamic shared memory,
    `warp.workspace_bytes` of workspace for each CTA. The grid is one-dimensional, one CTA (with
    `warp.cluster = N`, N of them) for each program. How many there are says the module's `tile.entry`,
    whose stages name the kernels; of a kernel that none of them names `warp.programs = [[i, d], ...]`
    does, sizes whose product is their number.
    `warp.memory = [#warp.resident<...>, ...]` is for people: where states, their copies, weights,
    blocks that are copied ahead and what loops carry lie. So is `warp.registers`, an estimate of
    the registers of a thread that are in use at one time. The verifier knows no other attributes of
    a kernel or its parameters that begin with `warp.`, and refuses values that are not as said here.

    **Loops.** A thread computes loops iteration by iteration, and no tool behind this dialect changes that,
    but for loops with `warp.unroll = N`: N of their iterations are computed at once, with all that
    these load on the way. The number of iterations must be known, and a multiple of N.

    **Emulation.** Of the function that a kernel becomes for the emulator, `warp.sites = [loc("warp.barrier"("k.mlir":7:3)), ...]` has the
    name and the place of each op that may be reported, by the op's number.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Refuses an op that the dialect does not have, with the nearest name that it has.
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef name) const override;
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect"];
}

class Warp_Enum<string name, string doc, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, doc, cases> {
  let cppNamespace = "::polyattn::warp";
  let genSpecializedAttr = 0;
}

def Warp_OperandKind : Warp_Enum<"OperandKind", "what the factors of a product are", [
  I32EnumAttrCase<"BF16", 0, "bf16">, I32EnumAttrCase<"F16", 1, "f16">,
  I32EnumAttrCase<"TF32", 2, "tf32">]>;
def Warp_OperandKindAttr : EnumAttr<Warp_Dialect, Warp_OperandKind, "operand_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Warp_ShuffleMode : Warp_Enum<"ShuffleMode", "which lane a value comes from", [
  I32EnumAttrCase<"Xor", 0, "xor">, I32EnumAttrCase<"Index", 1, "index">,
  I32EnumAttrCase<"Up", 2, "up">]>;
def Warp_ShuffleModeAttr : EnumAttr<Warp_Dialect, Warp_ShuffleMode, "shuffle_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

def Warp_MemoryKind : Warp_Enum<"MemoryKind", "where a kernel keeps a tile", [
  I32EnumAttrCase<"Registers", 0, "registers">, I32EnumAttrCase<"Shared", 1, "shared">,
  I32EnumAttrCase<"DoubleBuffer", 2, "double_buffer">,
  I32EnumAttrCase<"SharedByTurns", 3, "shared_by_turns">,
  I32EnumAttrCase<"Workspace", 4, "workspace">, I32EnumAttrCase<"Tensor", 5, "tensor">]>;

def Warp_ResidentAttr : AttrDef<Warp_Dialect, "Resident"> {
  let mnemonic = "resident";
  let summary = "a tile that a kernel keeps, and where";
  let description = [{
    The memory is `registers`, `shared` memory or the `workspace`. A loop computes with one half of a
    `double_buffer` in shared memory while it fills the other half. In memory that is
    `shared_by_turns` each iteration of a loop copies a weight anew. A tile in its `tensor` is kept
    nowhere: each use reads it from there.

    ```
    #warp.resident<"state" : vector<64x64xf32> in shared>
    ```
  }];
  let parameters = (ins StringRefParameter<"what it is, for people">:$what,
                        "::mlir::VectorType":$type, EnumParameter<Warp_MemoryKind>:$memory);
  let assemblyFormat = "`<` $what `:` $type `in` $memory `>`";
}

#endif // WARP_BASE
