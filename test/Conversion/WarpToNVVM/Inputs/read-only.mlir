gpu.module @kernels {
  gpu.func @copy(%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %o: !llvm.ptr<1> {warp.pointer = 1 : i64}) kernel
      attributes {warp.threads = 32 : i64, warp.shared_bytes = 0 : i64, warp.workspace_bytes = 0 : i64,
                  warp.programs = [[0, 0]]} {
    %sixteen = arith.constant 16 : i32
    %thread = warp.thread_id
    %bytes = arith.muli %thread, %sixteen : i32
    %place = arith.extui %bytes : i32 to i64
    %v = warp.load_global %x[%place] {read_only} : vector<8xbf16>
    warp.store_global %v, %o[%place] : vector<8xbf16>
    gpu.return
  }
}
