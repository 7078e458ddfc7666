// y[i] = sum over t of x[t, (i + 1) % 64]: tiles of 64 f32 through two buffers, the next one being
// copied while one is read. x has %tiles rows.
gpu.module @kernels {
  gpu.func @stream(%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %tiles64: i64 {warp.size = [0, 0]},
                   %y: !llvm.ptr<1> {warp.pointer = 1 : i64}) kernel
      attributes {warp.threads = 64 : i64, warp.shared_bytes = 512 : i64, warp.workspace_bytes = 0 : i64,
                  warp.programs = []} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %c16 = arith.constant 16 : i32
    %c63 = arith.constant 63 : i32
    %c256 = arith.constant 256 : i32
    %zero = arith.constant 0.0 : f32
    %thread = warp.thread_id
    %tiles = arith.trunci %tiles64 : i64 to i32
    %copies = arith.cmpi ult, %thread, %c16 : i32
    %own = arith.muli %thread, %c16 : i32
    %own64 = arith.extui %own : i32 to i64
    scf.if %copies {
      warp.copy_async %x[%own64], %own bytes %c16
    }
    warp.commit_copies
    %neighbour = arith.addi %thread, %c1 : i32
    %wrapped = arith.andi %neighbour, %c63 : i32
    %read = arith.muli %wrapped, %c4 : i32
    %sum = scf.for %t = %c0 to %tiles step %c1 iter_args(%s = %zero) -> f32 : i32 {
      %next = arith.addi %t, %c1 : i32
      %next_parity = arith.andi %next, %c1 : i32 // the other buffer
      %next_buffer = arith.muli %next_parity, %c256 : i32
      %address = arith.addi %next_buffer, %own : i32
      %next_row = arith.muli %next, %c256 : i32
      %source = arith.addi %next_row, %own : i32
      %source64 = arith.extui %source : i32 to i64
      %more = arith.cmpi ult, %next, %tiles : i32
      %bytes = arith.select %more, %c16, %c0 : i32
      scf.if %copies {
        warp.copy_async %x[%source64], %address bytes %bytes // the next tile
      }
      warp.commit_copies
      warp.wait_copies 1 // all but the next
      warp.barrier // before reading
      %parity = arith.andi %t, %c1 : i32
      %buffer = arith.muli %parity, %c256 : i32
      %place = arith.addi %buffer, %read : i32
      %value = warp.load_shared %place : f32 // of this tile
      warp.barrier // after reading
      %added = arith.addf %s, %value : f32
      scf.yield %added : f32
    }
    warp.wait_copies 0 // what lies behind the last tile
    %out = arith.muli %thread, %c4 : i32
    %out64 = arith.extui %out : i32 to i64
    warp.store_global %sum, %y[%out64] : f32
    gpu.return
  }
}
