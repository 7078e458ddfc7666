// An entry launches kernels whatever their names, and names alone make no entry.
tile.entry @pair tensors 2 inputs 1 {
  tile.stage @sums role segment_sums programs [segments - 1]
  tile.stage @pair programs [segments]
  tile.choose segments of dim(0, 1) {block = 64, min_positions = 0, multiple = 64, prefix_cost_percent = 40, subsegments = 1}
}
gpu.module @kernels {
  gpu.func @pair(%x: !llvm.ptr<1> {warp.pointer = 0 : i64}) kernel
      attributes {warp.threads = 32 : i64, warp.shared_bytes = 0 : i64, warp.workspace_bytes = 0 : i64} {
    gpu.return
  }
  gpu.func @sums(%x: !llvm.ptr<1> {warp.pointer = 0 : i64}) kernel
      attributes {warp.threads = 32 : i64, warp.shared_bytes = 0 : i64, warp.workspace_bytes = 0 : i64} {
    gpu.return
  }
  gpu.func @pair__other(%x: !llvm.ptr<1> {warp.pointer = 0 : i64}) kernel
      attributes {warp.threads = 32 : i64, warp.shared_bytes = 0 : i64, warp.workspace_bytes = 0 : i64,
                  warp.programs = [[0, 0]]} {
    gpu.return
  }
}
