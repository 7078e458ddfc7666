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
    A kernel is a `gpu.func` in a `gpu.module`. Its body is the program of one thread: arith, math,
    scf, vector and the ops below. Each op lowers to PTX (`--warp-to-nvvm`) and to a call of the
    emulator (`--warp-to-emulator`). The emulator runs the same kernel on any machine and checks it.

    **Memory.** A byte offset (`i32`) addresses shared memory: the CTA's one allocation of dynamic
    shared memory. Global memory is addressed by `!llvm.ptr<1>` and a byte offset (`i64`). An access
    of n bytes is aligned to n bytes. It reads or writes a scalar of 2 or 4 bytes, or a vector of 4,
    8 or 16 bytes in all.

    **Order.** Threads see each other's writes to shared memory, and to global memory of the same
    CTA, after a `barrier`; threads of one warp also after a `sync`.

    **Clusters.** A kernel with the attribute `warp.cluster = N : i64`, where N is 2, 4 or 8, runs
    in clusters of N CTAs, which run at the same time. CTAs p N to p N + N - 1 of the grid are
    program p, and `cluster_rank` distinguishes them. `load_cluster` reads the shared memory of any
    of them. A CTA sees there the values written before a `cluster_barrier` that both have passed.
    One barrier must come before the first such read, or the other CTA may not have started. A CTA
    whose memory others read must not end: a `cluster_barrier` follows the last of these reads.
    Chips have clusters from sm_90 on.

    **Collectives.** All 32 threads of a warp execute `ldmatrix`, `mma_sync`, `shuffle` and `sync`
    together. All threads of the CTA execute `barrier`, and all threads of the cluster
    `cluster_barrier`.

    **Parameters of a kernel.** Attributes of the arguments say which value the caller must pass:

    | attribute | value |
    |---|---|
    | `warp.pointer = i` | the data of tensor i |
    | `warp.size = [i, d]` | the size of dimension d of tensor i, i64 |
    | `warp.stride = [i, d]` | its stride, i64, in elements |
    | `warp.workspace` | the workspace of this launch |
    | `warp.profile` | a pointer that is not used (Triton's launchers pass it and the workspace) |

    Attributes of the function describe the launch:

    | attribute | meaning |
    |---|---|
    | `warp.threads` | threads of a CTA |
    | `warp.shared_bytes` | dynamic shared memory of a CTA |
    | `warp.workspace_bytes` | workspace for each CTA |

    The grid is one-dimensional, with one CTA for each program, or N of them with
    `warp.cluster = N`. The module's `tile.entry` says how many there are: its stages name the
    kernels. A kernel that no stage names has `warp.programs = [[i, d], ...]`, sizes whose product
    is the number of programs.

    Two attributes are for people. `warp.memory = [#warp.resident<...>, ...]` says where states,
    their copies, weights, prefetched blocks and values carried by loops lie. `warp.registers` is an
    estimate of the registers of a thread that are in use at one time. The verifier refuses any
    other attribute of a kernel or its parameters that begins with `warp.`, and values other than
    the ones described here.

    **Loops.** A thread computes loops iteration by iteration, and no tool behind this dialect
    changes that. The exception is a loop with `warp.unroll = N`: N of its iterations are computed
    at once, with all their loads in flight. The number of iterations must be known, and a multiple
    of N.

    **Emulation.** A kernel's function for the emulator has
    `warp.sites = [loc("warp.barrier"("k.mlir":7:3)), ...]`. It has the name and the place of each
    op that may be reported, by the number of the op.
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

def Warp_OperandKind : Warp_Enum<"OperandKind", "the type of the factors of a product", [
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
  I32EnumAttrCase<"Staged", 3, "staged">,
  I32EnumAttrCase<"Workspace", 4, "workspace">, I32EnumAttrCase<"Tensor", 5, "tensor">]>;

def Warp_ResidentAttr : AttrDef<Warp_Dialect, "Resident"> {
  let mnemonic = "resident";
  let summary = "a tile that a kernel keeps, and where";
  let description = [{
    The memory is `registers`, `shared` memory or the `workspace`. A loop computes with one half of
    a `double_buffer` in shared memory while it fills the other half. In memory that is
    `staged` each iteration of a loop copies a weight anew. A tile in its `tensor` is not
    stored anywhere else: each use reads it from there.

    ```
    #warp.resident<"state" : vector<64x64xf32> in shared>
    ```
  }];
  let parameters = (ins StringRefParameter<"what it is, for people">:$what,
                        "::mlir::VectorType":$type, EnumParameter<Warp_MemoryKind>:$memory);
  let assemblyFormat = "`<` $what `:` $type `in` $memory `>`";
}

#endif // WARP_BASE
