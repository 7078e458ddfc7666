// Each CTA of a cluster writes 128 numbers, and reads those of the next one.
gpu.module @kernels {
  gpu.func @exchange(%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %o: !llvm.ptr<1> {warp.pointer = 1 : i64},
                     %workspace: !llvm.ptr<1> {warp.workspace}) kernel
      attributes {warp.threads = 32 : i64, warp.cluster = 4 : i64, warp.shared_bytes = 512 : i64,
                  warp.workspace_bytes = 24 : i64, warp.programs = [[0, 0]]} {
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %sixteen = arith.constant 16 : i32
    %line = arith.constant 512 : i32
    %four = arith.constant 4 : i32
    %thread = warp.thread_id
    %program = warp.program_id
    %rank = warp.cluster_rank
    %address = arith.muli %thread, %sixteen : i32
    %begin = arith.muli %program, %four : i32
    %row = arith.addi %begin, %rank : i32
    %start = arith.muli %row, %line : i32
    %own = arith.addi %start, %address : i32
    %place = arith.extui %own : i32 to i64
    %v = warp.load_global %x[%place] {read_only} : vector<4xf32>
    warp.store_shared %v, %address : vector<4xf32>
    warp.cluster_barrier
    %after = arith.addi %rank, %one : i32
    %next = arith.andi %after, %three : i32
    %w = warp.load_cluster %address, %next : vector<4xf32>
    %both = arith.addf %v, %w : vector<4xf32>
    warp.store_global %both, %o[%place] : vector<4xf32>
    %h = warp.load_cluster %address, %next : vector<8xbf16>
    warp.store_global %h, %o[%place] : vector<8xbf16>
    %i = warp.load_cluster %address, %next : i16
    warp.store_global %i, %o[%place] : i16
    warp.cluster_barrier
    gpu.return
  }
}
