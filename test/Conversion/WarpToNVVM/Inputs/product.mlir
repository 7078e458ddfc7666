// o = exp(x x^T) for tiles x of 64 x 32 bf16, with all that a kernel has: copies in two stages,
// fragments from swizzled shared memory, products, functions.

gpu.module @kernels {
  gpu.func @product(%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %o: !llvm.ptr<1> {warp.pointer = 1 : i64},
                    %tiles: i64 {warp.size = [0, 1]}, %workspace: !llvm.ptr<1> {warp.workspace},
                    %profile: !llvm.ptr<1> {warp.profile}) kernel
      attributes {warp.threads = 128 : i64, warp.shared_bytes = 8192 : i64, warp.workspace_bytes = 0 : i64,
                  warp.programs = [[0, 0]]} {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %tileBytes = arith.constant 4096 : i64
    %outBytes = arith.constant 16384 : i64
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %c4 = arith.constant 4 : i32
    %c7 = arith.constant 7 : i32
    %c8 = arith.constant 8 : i32
    %c15 = arith.constant 15 : i32
    %c16 = arith.constant 16 : i32
    %c64 = arith.constant 64 : i32
    %c256 = arith.constant 256 : i32
    %c2048 = arith.constant 2048 : i32
    %c4096 = arith.constant 4096 : i32

    %thread = warp.thread_id
    %lane = warp.lane_id
    %warp = warp.warp_id
    %program = warp.program_id
    %program64 = arith.extui %program : i32 to i64
    %perProgram = arith.muli %tiles, %tileBytes : i64
    %start = arith.muli %program64, %perProgram : i64
    %perProgramOut = arith.muli %tiles, %outBytes : i64
    %startOut = arith.muli %program64, %perProgramOut : i64

    // Thread t copies 16 bytes to rows t / 4 and t / 4 + 32; chunks of a row are permuted by its number.
    %row = arith.shrui %thread, %c2 : i32
    %chunk = arith.andi %thread, %c3 : i32
    %turn0 = arith.shrui %row, %c1 : i32
    %turn = arith.andi %turn0, %c3 : i32
    %swizzled = arith.xori %chunk, %turn : i32
    %rowBytes = arith.muli %row, %c64 : i32
    %chunkBytes = arith.muli %swizzled, %c16 : i32
    %to = arith.addi %rowBytes, %chunkBytes : i32
    %fromBytes = arith.muli %thread, %c16 : i32
    %from = arith.extui %fromBytes : i32 to i64

    // Rows of fragments: A of this warp's 16 rows, B of all 64.
    %row16 = arith.andi %lane, %c15 : i32
    %half = arith.shrui %lane, %c4 : i32
    %warpRow = arith.muli %warp, %c16 : i32

    scf.for %tile = %c0 to %tiles step %one : i64 {
      %tile32 = arith.trunci %tile : i64 to i32
      %odd = arith.andi %tile32, %c1 : i32
      %stage = arith.muli %odd, %c4096 : i32
      %tileStart = arith.muli %tile, %tileBytes : i64
      %at = arith.addi %start, %tileStart : i64
      %g0 = arith.addi %at, %from : i64
      %c2048l = arith.constant 2048 : i64
      %g1 = arith.addi %g0, %c2048l : i64
      %s0 = arith.addi %stage, %to : i32
      %s1 = arith.addi %s0, %c2048 : i32
      warp.copy_async %x[%g0], %s0 bytes %c16
      warp.copy_async %x[%g1], %s1 bytes %c16
      warp.commit_copies
      warp.wait_copies 0
      warp.barrier

      %lane2 = warp.opaque %lane : i32
      %g = arith.shrui %lane2, %c2 : i32
      %q = arith.andi %lane2, %c3 : i32
      %aRow = arith.addi %warpRow, %row16 : i32
      %aTurn0 = arith.shrui %aRow, %c1 : i32
      %aTurn = arith.andi %aTurn0, %c3 : i32
      %aBase0 = arith.muli %aRow, %c64 : i32
      %aBase = arith.addi %stage, %aBase0 : i32
      %aChunk0 = arith.xori %half, %aTurn : i32
      %aBytes0 = arith.muli %aChunk0, %c16 : i32
      %aAt0 = arith.addi %aBase, %aBytes0 : i32
      %a0:4 = warp.ldmatrix %aAt0 : i32, i32, i32, i32
      %halfPlus2 = arith.addi %half, %c2 : i32
      %aChunk1 = arith.xori %halfPlus2, %aTurn : i32
      %aBytes1 = arith.muli %aChunk1, %c16 : i32
      %aAt1 = arith.addi %aBase, %aBytes1 : i32
      %a1:4 = warp.ldmatrix %aAt1 : i32, i32, i32, i32

      %tileOut = arith.muli %tile, %outBytes : i64
      %out = arith.addi %startOut, %tileOut : i64
      %outRow0 = arith.addi %warpRow, %g : i32
      %outRow = arith.muli %outRow0, %c256 : i32
      %c0i = arith.constant 0 : i32
      scf.for %n = %c0i to %c64 step %c8 : i32 {
        %lane8 = arith.andi %lane2, %c7 : i32
        %bRow = arith.addi %n, %lane8 : i32
        %bTurn0 = arith.shrui %bRow, %c1 : i32
        %bTurn = arith.andi %bTurn0, %c3 : i32
        %bChunk0 = arith.shrui %lane2, %c3 : i32
        %bChunk = arith.xori %bChunk0, %bTurn : i32
        %bBase = arith.muli %bRow, %c64 : i32
        %bBytes = arith.muli %bChunk, %c16 : i32
        %bPart = arith.addi %bBase, %bBytes : i32
        %bAt = arith.addi %stage, %bPart : i32
        %b:4 = warp.ldmatrix %bAt : i32, i32, i32, i32
        %p:4 = warp.mma_sync <bf16> (%a0#0, %a0#1, %a0#2, %a0#3) (%b#0, %b#1) (%zero, %zero, %zero, %zero)
        %d:4 = warp.mma_sync <bf16> (%a1#0, %a1#1, %a1#2, %a1#3) (%b#2, %b#3) (%p#0, %p#1, %p#2, %p#3)
        %e0 = math.exp %d#0 : f32
        %e1 = math.exp %d#1 : f32
        %e2 = math.tanh %d#2 : f32
        %e3 = math.tanh %d#3 : f32
        %v0 = vector.from_elements %e0, %e1 : vector<2xf32>
        %v1 = vector.from_elements %e2, %e3 : vector<2xf32>
        %q2 = arith.muli %q, %c2 : i32
        %column = arith.addi %n, %q2 : i32
        %columnBytes = arith.muli %column, %c4 : i32
        %place = arith.addi %outRow, %columnBytes : i32
        %place64 = arith.extui %place : i32 to i64
        %o0 = arith.addi %out, %place64 : i64
        %o1 = arith.addi %o0, %c2048l : i64
        warp.store_global %v0, %o[%o0] : vector<2xf32>
        warp.store_global %v1, %o[%o1] : vector<2xf32>
      }
      warp.barrier
    }
    gpu.return
  }
}
