//===- KeepOp.td - the rows of local blocks that calls keep ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_KEEP_OP
#define POLYATTN_KEEP_OP

include "dialects/PolyAttn/PolyAttnBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PolyAttn_KeepOp : PolyAttn_Op<"keep",
    [Pure, HasParent<"::polyattn::AttentionOp">, AllTypesMatch<["pool", "result"]>]> {
  let summary = "the rows of a tensor that later calls read";
  let description = [{
    A call may begin and end inside a local block. Its queries then see keys of earlier calls
    through local vectors. The state takes in the block once it is full. Until then pools keep the
    rows of the block. For a tensor [B, T, H, d] that keys or values are read from, the pool is
    [P, H, block, d]; for a decay [B, T, H] it is [P, H, block]. Row i of a sequence's slot holds
    position i of the block. The call reads the rows before `first_position`. The result is the pool
    after the call's rows are stored in it: of its last positions, as many as a block has, each at
    its place in its block. Other rows are not touched. Like states, pools hold f32, which has all
    that sequences hold.

    If attends have a `window`, or local vectors whose window slides, the pool is a ring of the last
    positions: position p is at row p mod R of a pool [P, H, R, d]. R is a multiple of 16, because
    positions are read in blocks of 16. The ring has room for what a query reads (`ringWindowOf`)
    and one block (`ringRows`).

    C1: the tensor and the pool are arguments of the attention, different ones.
    C2: the pool is f32 [P, H, block, d] for a tensor [B, T, H, d], with the tensor's heads, or
        [P, H, block] for a decay [B, T, H]. A ring is no pool for a decay, and its rows are a
        multiple of 16.
    C3: nothing else uses the pool, and only `return` uses the result.

    ```mlir
    polyattn.attention @local_decode(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x8xf32>,
        %state: tensor<?x?x10x8xf32>, %local_keys: tensor<?x?x16x4xf32>, %local_values: tensor<?x?x16x8xf32>,
        %slots: tensor<?xi32>, %first: tensor<?xi64>)
        -> (o: tensor<?x?x?x8xf32>, final: tensor<?x?x10x8xf32> in %state,
            final_local_keys: tensor<?x?x16x4xf32> in %local_keys,
            final_local_values: tensor<?x?x16x8xf32> in %local_values)
        first_position %first slots %slots {
      %a = read %q : tensor<?x?x?x4xf32> -> [4]
      %b = read %k : tensor<?x?x?x4xf32> -> [4]
      %c = read %v : tensor<?x?x?x8xf32> -> [8]
      %aa = power 2 %a {symmetric} : [4]
      %bb = power 2 %b {symmetric} : [4]
      %keys = keep %k in %local_keys : tensor<?x?x?x4xf32>, tensor<?x?x16x4xf32>
      %values = keep %v in %local_values : tensor<?x?x?x8xf32>, tensor<?x?x16x8xf32>
      %o:2 = attend query %aa key %bb value %c local %aa, %bb initial %state
          causal normalize <none> {final_state, block = 16}
        : sym 2 [4], sym 2 [4], [8], sym 2 [4], sym 2 [4], tensor<?x?x10x8xf32>
      return %o#0, %o#1, %keys, %values : [8], tensor<?x?x10x8xf32>, tensor<?x?x16x4xf32>, tensor<?x?x16x8xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$tensor, AnyRankedTensor:$pool);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$tensor `in` $pool attr-dict `:` type($tensor) `,` type($pool)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// So many rows of a ring are read at a time.
    static constexpr int64_t kRingBlock = 16;
    /// The rows of a ring for a window: from its first position on, whole blocks.
    static int64_t ringRows(int64_t window) {
      return (window + 2 * kRingBlock - 3) / kRingBlock * kRingBlock;
    }
    /// The positions that a ring has for a query of an attend, its own one included: the `window`.
    /// Where local vectors slide, it is one more, which the state has not taken in yet. None where
    /// the attend reads no ring.
    static std::optional<int64_t> ringWindowOf(AttendOp attend);
    /// Whether attends read a ring, so that the pool is one.
    bool isRing();
    /// How many rows there are: the positions of a local block, or of a ring.
    int64_t getRows() {
      return ::mlir::cast<::mlir::RankedTensorType>(getPool().getType()).getDimSize(2);
    }
    /// The rows that are kept of a tensor; null where none are.
    static KeepOp of(::mlir::Value tensor);
  }];
}

#endif // POLYATTN_KEEP_OP
