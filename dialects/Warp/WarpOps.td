//===- WarpOps.td - the ops of a GPU's thread -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WARP_OPS
#define WARP_OPS

include "dialects/Warp/WarpBase.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Warp_Op<string mnemonic, list<Trait> traits = []>
    : Op<Warp_Dialect, mnemonic, !listconcat([KnownAttributes], traits)>;

def Warp_GlobalPointer : LLVM_PointerInAddressSpace<1>;

def Warp_Access : AnyTypeOf<[
    F32, F16, BF16, I32, I16, VectorOfLengthAndType<[2, 4], [F32, I32]>,
    VectorOfLengthAndType<[2, 4, 8], [F16, BF16]>],
    "f32, f16, bf16, i32 or i16, or a vector of 4, 8 or 16 bytes of f32, i32, f16 or bf16">;

//===----------------------------------------------------------------------===//
// Ids of threads and programs
//===----------------------------------------------------------------------===//

def Warp_ThreadIdOp : Warp_Op<"thread_id", [Pure]> {
  let summary = "this thread's number in its CTA";
  let description = "Example: `%t = warp.thread_id`";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Warp_LaneIdOp : Warp_Op<"lane_id", [Pure]> {
  let summary = "this thread's number in its warp, 0 to 31";
  let description = "Example: `%l = warp.lane_id`";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Warp_WarpIdOp : Warp_Op<"warp_id", [Pure]> {
  let summary = "the number of this thread's warp in the CTA";
  let description = "The same in all threads of a warp. Example: `%w = warp.warp_id`";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Warp_ProgramIdOp : Warp_Op<"program_id", [Pure]> {
  let summary = "the number of this CTA in the grid";
  let description = [{
    In a kernel with clusters it is the number of this CTA's cluster, the same in all of its CTAs:
    the number of the CTA divided by `warp.cluster`.

    Example: `%p = warp.program_id`
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Warp_ClusterRankOp : Warp_Op<"cluster_rank", [Pure]> {
  let summary = "the number of this CTA in its cluster, 0 to `warp.cluster` - 1";
  let description = "The function has `warp.cluster`. Example: `%r = warp.cluster_rank`";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

def Warp_BarrierOp : Warp_Op<"barrier"> {
  let summary = "all threads of the CTA meet";
  let description = [{
    After it, all threads see the values that any of them wrote to shared or global memory before.
    Example: `warp.barrier`
  }];
  let assemblyFormat = "attr-dict";
}

def Warp_SyncOp : Warp_Op<"sync"> {
  let summary = "all threads of the warp meet";
  let description = "As `barrier`, for the 32 threads of one warp. Example: `warp.sync`";
  let assemblyFormat = "attr-dict";
}

def Warp_ClusterBarrierOp : Warp_Op<"cluster_barrier"> {
  let summary = "all threads of all CTAs of the cluster meet";
  let description = [{
    After it, all threads see the values that any of them wrote to shared memory before. Threads of
    one CTA also see each other's writes to global memory, as after a `barrier`. The function has
    `warp.cluster`.

    Example: `warp.cluster_barrier`
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Warp_LoadSharedOp : Warp_Op<"load_shared"> {
  let summary = "reads shared memory";
  let description = "Example: `%x = warp.load_shared %address : vector<4xf32>`";
  let arguments = (ins I32:$address);
  let results = (outs Warp_Access:$result);
  let assemblyFormat = "$address attr-dict `:` type($result)";
}

def Warp_LoadClusterOp : Warp_Op<"load_cluster"> {
  let summary = "reads the shared memory of a CTA of the cluster";
  let description = [{
    Like `load_shared`, from the CTA whose `cluster_rank` is `rank`, which may be this CTA. The
    function has `warp.cluster`.

    Example: `%x = warp.load_cluster %address, %rank : vector<4xf32>`
  }];
  let arguments = (ins I32:$address, I32:$rank);
  let results = (outs Warp_Access:$result);
  let assemblyFormat = "$address `,` $rank attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Warp_StoreSharedOp : Warp_Op<"store_shared"> {
  let summary = "writes shared memory";
  let description = "Example: `warp.store_shared %x, %address : f32`";
  let arguments = (ins Warp_Access:$value, I32:$address);
  let assemblyFormat = "$value `,` $address attr-dict `:` type($value)";
}

def Warp_LoadGlobalOp : Warp_Op<"load_global"> {
  let summary = "reads global memory";
  let description = [{
    With `read_only` nothing writes there while the kernel runs.

    Example: `%x = warp.load_global %pointer[%offset] {read_only} : f32`
  }];
  let arguments = (ins Warp_GlobalPointer:$base, I64:$offset, UnitAttr:$read_only);
  let results = (outs Warp_Access:$result);
  let assemblyFormat = "$base `[` $offset `]` attr-dict `:` type($result)";
}

def Warp_StoreGlobalOp : Warp_Op<"store_global"> {
  let summary = "writes global memory";
  let description = "Example: `warp.store_global %x, %pointer[%offset] : f32`";
  let arguments = (ins Warp_Access:$value, Warp_GlobalPointer:$base, I64:$offset);
  let assemblyFormat = "$value `,` $base `[` $offset `]` attr-dict `:` type($value)";
}

def Warp_LookupOp : Warp_Op<"lookup", [Pure]> {
  let summary = "an element of a constant table";
  let description = [{
    The index is within the table.

    Example: `%x = warp.lookup %i in dense<[3, 1, 4]> : tensor<3xi32> -> i32`
  }];
  let arguments = (ins I32:$index, ElementsAttr:$table);
  let results = (outs AnyTypeOf<[F32, I32]>:$result);
  let assemblyFormat = "$index `in` $table attr-dict `->` type($result)";
  let hasVerifier = 1;
}

def Warp_CopyAsyncOp : Warp_Op<"copy_async"> {
  let summary = "16 or 4 bytes on their way from global to shared memory (cp.async)";
  let description = [{
    Copies 16 bytes, or 4 with `element`. The first `bytes` of them come from global memory, the
    rest are zero; with 0 nothing is read. Both addresses are aligned to as many bytes. The copy
    belongs to this thread's open group. It is done when this thread has waited for that group
    (`wait_copies`). Other threads see it after a barrier that follows.

    Example: `warp.copy_async %pointer[%offset], %address bytes %n`
  }];
  let arguments = (ins Warp_GlobalPointer:$base, I64:$offset, I32:$address, I32:$bytes,
                       UnitAttr:$element);
  let assemblyFormat = "$base `[` $offset `]` `,` $address `bytes` $bytes (`element` $element^)? attr-dict";
  let extraClassDeclaration = [{
    /// The bytes that are copied or zero.
    int64_t getSize() { return getElement() ? 4 : 16; }
  }];
}

def Warp_CommitCopiesOp : Warp_Op<"commit_copies"> {
  let summary = "closes this thread's open group of copies";
  let description = "Example: `warp.commit_copies`";
  let assemblyFormat = "attr-dict";
}

def Warp_WaitCopiesOp : Warp_Op<"wait_copies"> {
  let summary = "waits until at most `pending` of this thread's latest groups are not done";
  let description = "Example: `warp.wait_copies 1`";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "$pending attr-dict";
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

def Warp_LdmatrixOp : Warp_Op<"ldmatrix"> {
  let summary = "one, two or four 8x8 matrices of 16-bit elements from shared memory";
  let description = [{
    Lanes 8 m to 8 m + 7 give the addresses of the eight 16-byte rows of matrix m. Of each matrix,
    lane l receives the elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4, or of column l / 4 with
    `transposed`. (PTX ISA, ldmatrix)

    Example: `%a:4 = warp.ldmatrix %address {transposed} : i32, i32, i32, i32`
  }];
  let arguments = (ins I32:$address, UnitAttr:$transposed);
  let results = (outs Variadic<I32>:$matrices);
  let assemblyFormat = "$address attr-dict `:` type($matrices)";
  let hasVerifier = 1;
}

def Warp_MmaSyncOp : Warp_Op<"mma_sync", [Pure]> {
  let summary = "D = A B + C on the tensor cores, 16 x 8 in a warp";
  let description = [{
    With bf16 and f16, A is 16 x 16 and B 16 x 8, two elements to a register (mma.m16n8k16). With
    tf32, A is 16 x 8 and B 8 x 8 (mma.m16n8k8), f32 whose low 13 bits are ignored. C and D are f32.
    Lane l, with g = l / 4 and q = l % 4, holds
    - C, D: (g, 2q), (g, 2q + 1), (g + 8, 2q), (g + 8, 2q + 1);
    - A, 16 bits: (g, 2q..), (g + 8, 2q..), (g, 2q + 8..), (g + 8, 2q + 8..), two columns each;
    - B, 16 bits: (2q.., g), (2q + 8.., g), two rows each;
    - A, tf32: (g, q), (g + 8, q), (g, q + 4), (g + 8, q + 4); B: (q, g), (q + 4, g).

    ```mlir
    %d:4 = warp.mma_sync <bf16> (%a0, %a1, %a2, %a3) (%b0, %b1) (%c0, %c1, %c2, %c3)
    ```
  }];
  let arguments = (ins Warp_OperandKindAttr:$kind, I32:$a0, I32:$a1, I32:$a2, I32:$a3, I32:$b0,
                       I32:$b1, F32:$c0, F32:$c1, F32:$c2, F32:$c3);
  let results = (outs F32:$d0, F32:$d1, F32:$d2, F32:$d3);
  let assemblyFormat = [{
    $kind `(` $a0 `,` $a1 `,` $a2 `,` $a3 `)` `(` $b0 `,` $b1 `)` `(` $c0 `,` $c1 `,` $c2 `,` $c3 `)` attr-dict
  }];
}

def Warp_ShuffleOp : Warp_Op<"shuffle", [AllTypesMatch<["value", "result"]>]> {
  let summary = "the value of another lane";
  let description = [{
    With `xor` it is the value of lane (own xor `lane`), with `index` of lane `lane`. With `up` it
    is the value of lane (own - `lane`), or the own value if there is none. Each lane has a `lane`
    of its own, of which the lowest five bits count.

    Example: `%y = warp.shuffle <xor> %x, %c16 : f32`
  }];
  let arguments = (ins Warp_ShuffleModeAttr:$mode, AnyTypeOf<[F32, I32]>:$value, I32:$lane);
  let results = (outs AnyTypeOf<[F32, I32]>:$result);
  let assemblyFormat = "$mode $value `,` $lane attr-dict `:` type($value)";
}

def Warp_AnyOp : Warp_Op<"any", [SameOperandsAndResultType]> {
  let summary = "whether a condition holds in any lane of the warp (vote.any)";
  let description = "The same in all lanes. Example: `%some = warp.any %mine`";
  let arguments = (ins I1:$condition);
  let results = (outs I1:$result);
  let assemblyFormat = "$condition attr-dict";
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

def Warp_PackOp : Warp_Op<"pack", [Pure]> {
  let summary = "two f32, rounded to 16 bits each (nearest even), in one register";
  let description = [{
    The first is in the low half. `tf32` cannot be packed.

    Example: `%r = warp.pack <bf16> %low, %high`
  }];
  let arguments = (ins Warp_OperandKindAttr:$kind, F32:$low, F32:$high);
  let results = (outs I32:$result);
  let assemblyFormat = "$kind $low `,` $high attr-dict";
  let hasVerifier = 1;
}

def Warp_MultiplyPairsOp : Warp_Op<"multiply_pairs", [Pure, SameOperandsAndResultType]> {
  let summary = "the products of two pairs of bf16, rounded to nearest even";
  let description = [{
    Low half by low half, high half by high half. Subnormal products are kept.

    Example: `%r = warp.multiply_pairs %a, %b : i32`
  }];
  let arguments = (ins I32:$lhs, I32:$rhs);
  let results = (outs I32:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
}

def Warp_RoundTf32Op : Warp_Op<"round_tf32", [Pure]> {
  let summary = "rounds to the 10 bits of mantissa of tf32 (nearest, ties away from zero)";
  let description = "Example: `%y = warp.round_tf32 %x`";
  let arguments = (ins F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$value attr-dict";
}

def Warp_OpaqueOp : Warp_Op<"opaque", [SameOperandsAndResultType]> {
  let summary = "the same value, opaque to the compiler";
  let description = [{
    Values computed from the result stay here. Otherwise loop invariant code motion would keep
    address arithmetic alive across phases, which costs registers.

    Example: `%t2 = warp.opaque %t : i32`
  }];
  let arguments = (ins AnyTypeOf<[I32, I64]>:$value);
  let results = (outs AnyTypeOf<[I32, I64]>:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // WARP_OPS
