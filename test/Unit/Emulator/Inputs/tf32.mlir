// C = A B, 16 x 8 times 8 x 8, tf32, one warp; A and B are rounded where %round is not zero.
gpu.module @kernels {
  gpu.func @tf32(%a: !llvm.ptr<1> {warp.pointer = 0 : i64}, %b: !llvm.ptr<1> {warp.pointer = 1 : i64},
                 %c: !llvm.ptr<1> {warp.pointer = 2 : i64}, %round: i64 {warp.size = [3, 0]}) kernel
      attributes {warp.threads = 32 : i64, warp.shared_bytes = 1024 : i64, warp.workspace_bytes = 0 : i64,
                  warp.programs = []} {
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %c16 = arith.constant 16 : i32
    %c32 = arith.constant 32 : i32
    %c128 = arith.constant 128 : i32
    %c256 = arith.constant 256 : i32
    %zero = arith.constant 0.0 : f32
    %lane = warp.lane_id
    %g = arith.divui %lane, %c4 : i32
    %q = arith.remui %lane, %c4 : i32
    // A goes through shared memory: a row in each of two pieces of 16 bytes.
    %piece = arith.muli %lane, %c16 : i32
    %piece64 = arith.extui %piece : i32 to i64
    %x = warp.load_global %a[%piece64] {read_only} : vector<4xf32>
    warp.store_shared %x, %piece : vector<4xf32>
    warp.sync
    // (g, q), (g + 8, q), (g, q + 4), (g + 8, q + 4)
    %row = arith.muli %g, %c32 : i32
    %column = arith.muli %q, %c4 : i32
    %at0 = arith.addi %row, %column : i32
    %at1 = arith.addi %at0, %c256 : i32
    %at2 = arith.addi %at0, %c16 : i32
    %at3 = arith.addi %at1, %c16 : i32
    %a0 = warp.load_shared %at0 : f32
    %a1 = warp.load_shared %at1 : f32
    %a2 = warp.load_shared %at2 : f32
    %a3 = warp.load_shared %at3 : f32
    // (q, g), (q + 4, g)
    %b_row = arith.muli %q, %c32 : i32
    %b_column = arith.muli %g, %c4 : i32
    %b_at = arith.addi %b_row, %b_column : i32
    %b_at1 = arith.addi %b_at, %c128 : i32
    %o0 = arith.extui %b_at : i32 to i64
    %o1 = arith.extui %b_at1 : i32 to i64
    %b0 = warp.load_global %b[%o0] : f32
    %b1 = warp.load_global %b[%o1] : f32
    %none = arith.constant 0 : i64
    %rounds = arith.cmpi ne, %round, %none : i64
    %r:6 = scf.if %rounds -> (f32, f32, f32, f32, f32, f32) {
      %r0 = warp.round_tf32 %a0
      %r1 = warp.round_tf32 %a1
      %r2 = warp.round_tf32 %a2
      %r3 = warp.round_tf32 %a3
      %r4 = warp.round_tf32 %b0
      %r5 = warp.round_tf32 %b1
      scf.yield %r0, %r1, %r2, %r3, %r4, %r5 : f32, f32, f32, f32, f32, f32
    } else {
      scf.yield %a0, %a1, %a2, %a3, %b0, %b1 : f32, f32, f32, f32, f32, f32
    }
    %i0 = arith.bitcast %r#0 : f32 to i32
    %i1 = arith.bitcast %r#1 : f32 to i32
    %i2 = arith.bitcast %r#2 : f32 to i32
    %i3 = arith.bitcast %r#3 : f32 to i32
    %i4 = arith.bitcast %r#4 : f32 to i32
    %i5 = arith.bitcast %r#5 : f32 to i32
    %d:4 = warp.mma_sync <tf32> (%i0, %i1, %i2, %i3) (%i4, %i5) (%zero, %zero, %zero, %zero)
    %two_q = arith.muli %q, %c8 : i32
    %out = arith.addi %row, %two_q : i32
    %out8 = arith.addi %out, %c256 : i32
    %out_64 = arith.extui %out : i32 to i64
    %out8_64 = arith.extui %out8 : i32 to i64
    %v0 = vector.from_elements %d#0, %d#1 : vector<2xf32>
    %v1 = vector.from_elements %d#2, %d#3 : vector<2xf32>
    warp.store_global %v0, %c[%out_64] : vector<2xf32>
    warp.store_global %v1, %c[%out8_64] : vector<2xf32>
    gpu.return
  }
}
