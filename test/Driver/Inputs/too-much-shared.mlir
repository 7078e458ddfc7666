gpu.module @kernels {
  gpu.func @f(%x: !llvm.ptr<1> {warp.pointer = 0 : i64}) kernel
      attributes {warp.threads = 32 : i64, warp.shared_bytes = 200000 : i64, warp.workspace_bytes = 0 : i64,
                  warp.programs = [[0, 0]]} {
    gpu.return
  }
}
