// C[p] = A[p] B[p] for each program p: 32 x 32 times 32 x 16, bf16, two warps of 16 rows each.
gpu.module @kernels {
  gpu.func @product(%a: !llvm.ptr<1> {warp.pointer = 0 : i64}, %a_stride: i64 {warp.stride = [0, 0]},
                    %b: !llvm.ptr<1> {warp.pointer = 1 : i64}, %b_stride: i64 {warp.stride = [1, 0]},
                    %c: !llvm.ptr<1> {warp.pointer = 2 : i64}, %c_stride: i64 {warp.stride = [2, 0]}) kernel
      attributes {warp.threads = 64 : i64, warp.shared_bytes = 4096 : i64, warp.workspace_bytes = 0 : i64,
                  warp.programs = [[0, 0]]} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %c15 = arith.constant 15 : i32
    %c16 = arith.constant 16 : i32
    %c32 = arith.constant 32 : i32
    %c48 = arith.constant 48 : i32
    %c64 = arith.constant 64 : i32
    %c80 = arith.constant 80 : i32
    %c2560 = arith.constant 2560 : i32
    %two = arith.constant 2 : i64
    %four = arith.constant 4 : i64
    %zero = arith.constant 0.0 : f32
    %thread = warp.thread_id
    %lane = warp.lane_id
    %warp = warp.warp_id
    %program = warp.program_id
    %p = arith.extui %program : i32 to i64

    // A: rows of 64 bytes, 80 apart in shared memory; 4 pieces of 16 bytes a row.
    %a_elements = arith.muli %p, %a_stride : i64
    %a_begin = arith.muli %a_elements, %two : i64
    scf.for %i = %c0 to %c2 step %c1 : i32 {
      %skip = arith.muli %i, %c64 : i32
      %piece = arith.addi %thread, %skip : i32
      %row = arith.divui %piece, %c4 : i32
      %column = arith.remui %piece, %c4 : i32
      %column_bytes = arith.muli %column, %c16 : i32
      %row_source = arith.muli %row, %c64 : i32
      %source = arith.addi %row_source, %column_bytes : i32
      %source64 = arith.extui %source : i32 to i64
      %offset = arith.addi %source64, %a_begin : i64
      %row_address = arith.muli %row, %c80 : i32
      %address = arith.addi %row_address, %column_bytes : i32
      warp.copy_async %a[%offset], %address bytes %c16
    }
    // B: rows of 32 bytes, 48 apart; 2 pieces a row.
    %b_elements = arith.muli %p, %b_stride : i64
    %b_begin = arith.muli %b_elements, %two : i64
    %b_row = arith.divui %thread, %c2 : i32
    %b_column = arith.remui %thread, %c2 : i32
    %b_column_bytes = arith.muli %b_column, %c16 : i32
    %b_row_source = arith.muli %b_row, %c32 : i32
    %b_source = arith.addi %b_row_source, %b_column_bytes : i32
    %b_source64 = arith.extui %b_source : i32 to i64
    %b_offset = arith.addi %b_source64, %b_begin : i64
    %b_row_address = arith.muli %b_row, %c48 : i32
    %b_in = arith.addi %b_row_address, %b_column_bytes : i32
    %b_address = arith.addi %b_in, %c2560 : i32
    warp.copy_async %b[%b_offset], %b_address bytes %c16
    warp.commit_copies
    warp.wait_copies 0 // the wait
    warp.barrier // the barrier

    // Lane l gives row l % 16 and, of A, half l / 16.
    %m = arith.andi %lane, %c15 : i32
    %half = arith.divui %lane, %c16 : i32
    %half_bytes = arith.muli %half, %c16 : i32
    %warp_row = arith.muli %warp, %c16 : i32
    %a_row = arith.addi %warp_row, %m : i32
    %a_row_address = arith.muli %a_row, %c80 : i32
    %a_lane = arith.addi %a_row_address, %half_bytes : i32
    %b_lane_in = arith.muli %m, %c48 : i32
    %b_lane = arith.addi %b_lane_in, %c2560 : i32
    %g = arith.divui %lane, %c4 : i32
    %q = arith.remui %lane, %c4 : i32
    %c_elements = arith.muli %p, %c_stride : i64
    %c_begin = arith.muli %c_elements, %four : i64
    scf.for %n = %c0 to %c2 step %c1 : i32 {
      %n_bytes = arith.muli %n, %c16 : i32
      %d:4 = scf.for %k = %c0 to %c2 step %c1 iter_args(%s0 = %zero, %s1 = %zero, %s2 = %zero, %s3 = %zero)
          -> (f32, f32, f32, f32) : i32 {
        %k_a = arith.muli %k, %c32 : i32
        %a_address = arith.addi %a_lane, %k_a : i32
        %fa:4 = warp.ldmatrix %a_address : i32, i32, i32, i32 // of A
        %k_row = arith.muli %k, %c16 : i32
        %k_b = arith.muli %k_row, %c48 : i32
        %b_k = arith.addi %b_lane, %k_b : i32
        %b_kn = arith.addi %b_k, %n_bytes : i32
        %fb:2 = warp.ldmatrix %b_kn {transposed} : i32, i32 // of B
        %r:4 = warp.mma_sync <bf16> (%fa#0, %fa#1, %fa#2, %fa#3) (%fb#0, %fb#1) (%s0, %s1, %s2, %s3)
        scf.yield %r#0, %r#1, %r#2, %r#3 : f32, f32, f32, f32
      }
      %out_row = arith.addi %warp_row, %g : i32
      %out_row_bytes = arith.muli %out_row, %c64 : i32
      %n_out = arith.muli %n, %c32 : i32
      %q_bytes = arith.muli %q, %c8 : i32
      %out0 = arith.addi %out_row_bytes, %n_out : i32
      %out1 = arith.addi %out0, %q_bytes : i32
      %out64 = arith.extui %out1 : i32 to i64
      %upper = arith.addi %out64, %c_begin : i64
      %eight_rows = arith.constant 512 : i64
      %lower = arith.addi %upper, %eight_rows : i64
      %v0 = vector.from_elements %d#0, %d#1 : vector<2xf32>
      %v1 = vector.from_elements %d#2, %d#3 : vector<2xf32>
      warp.store_global %v0, %c[%upper] : vector<2xf32> // upper rows
      warp.store_global %v1, %c[%lower] : vector<2xf32> // lower rows
    }
    gpu.return
  }
}
