// Each warp w: y[w, 0] = sum of its 32 values, y[w, 1] = the value of lane 5, y[w, 2..33] = the inclusive sums,
// y[w, 34] = pack and exp2 of the first.
gpu.module @kernels {
  gpu.func @reduce(%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %y: !llvm.ptr<1> {warp.pointer = 1 : i64}) kernel
      attributes {warp.threads = 64 : i64, warp.shared_bytes = 0 : i64, warp.workspace_bytes = 0 : i64,
                  warp.programs = []} {
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c140 = arith.constant 140 : i32
    %lane1 = arith.constant 1 : i32
    %lane2 = arith.constant 2 : i32
    %lane4 = arith.constant 4 : i32
    %lane5 = arith.constant 5 : i32
    %lane8 = arith.constant 8 : i32
    %lane16 = arith.constant 16 : i32
    %thread = warp.thread_id
    %lane = warp.lane_id
    %warp = warp.warp_id
    %in = arith.muli %thread, %c4 : i32
    %in64 = arith.extui %in : i32 to i64
    %v = warp.load_global %x[%in64] : f32
    %x16 = warp.shuffle <xor> %v, %lane16 : f32
    %s16 = arith.addf %v, %x16 : f32
    %x8 = warp.shuffle <xor> %s16, %lane8 : f32
    %s8 = arith.addf %s16, %x8 : f32
    %x4 = warp.shuffle <xor> %s8, %lane4 : f32
    %s4 = arith.addf %s8, %x4 : f32
    %x2 = warp.shuffle <xor> %s4, %lane2 : f32
    %s2 = arith.addf %s4, %x2 : f32
    %x1 = warp.shuffle <xor> %s2, %lane1 : f32
    %s1 = arith.addf %s2, %x1 : f32
    %five = warp.shuffle <index> %v, %lane5 : f32
    %zero = arith.constant 0.0 : f32
    %scan = scf.for %i = %c0 to %c4 step %c4 iter_args(%s = %v) -> f32 : i32 {
      %u1 = warp.shuffle <up> %s, %lane1 : f32
      %d1 = arith.constant 1 : i32
      %h1 = arith.cmpi uge, %lane, %d1 : i32
      %a1 = arith.select %h1, %u1, %zero : f32
      %t1 = arith.addf %s, %a1 : f32
      %u2 = warp.shuffle <up> %t1, %lane2 : f32
      %d2 = arith.constant 2 : i32
      %h2 = arith.cmpi uge, %lane, %d2 : i32
      %a2 = arith.select %h2, %u2, %zero : f32
      %t2 = arith.addf %t1, %a2 : f32
      %u4 = warp.shuffle <up> %t2, %lane4 : f32
      %h4 = arith.cmpi uge, %lane, %c4 : i32
      %a4 = arith.select %h4, %u4, %zero : f32
      %t4 = arith.addf %t2, %a4 : f32
      %u8 = warp.shuffle <up> %t4, %lane8 : f32
      %d8 = arith.constant 8 : i32
      %h8 = arith.cmpi uge, %lane, %d8 : i32
      %a8 = arith.select %h8, %u8, %zero : f32
      %t8 = arith.addf %t4, %a8 : f32
      %u16 = warp.shuffle <up> %t8, %lane16 : f32
      %d16 = arith.constant 16 : i32
      %h16 = arith.cmpi uge, %lane, %d16 : i32
      %a16 = arith.select %h16, %u16, %zero : f32
      %t16 = arith.addf %t8, %a16 : f32
      scf.yield %t16 : f32
    }
    %row = arith.muli %warp, %c140 : i32
    %row64 = arith.extui %row : i32 to i64
    %first = arith.cmpi eq, %lane, %c0 : i32
    scf.if %first {
      warp.store_global %s1, %y[%row64] : f32
      %four = arith.constant 4 : i64
      %second = arith.addi %row64, %four : i64
      warp.store_global %five, %y[%second] : f32
      %last = arith.constant 136 : i64
      %third = arith.addi %row64, %last : i64
      %exp = math.exp2 %v : f32
      %packed = warp.pack <bf16> %exp, %exp
      warp.store_global %packed, %y[%third] : i32
    }
    %eight = arith.constant 8 : i64
    %lane_bytes = arith.muli %lane, %c4 : i32
    %lane64 = arith.extui %lane_bytes : i32 to i64
    %scans = arith.addi %row64, %eight : i64
    %scan_at = arith.addi %scans, %lane64 : i64
    warp.store_global %scan, %y[%scan_at] : f32
    gpu.return
  }
}
