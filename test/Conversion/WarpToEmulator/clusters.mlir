// RUN: polyattn-opt --warp-to-emulator --mlir-print-local-scope %s | FileCheck %s
// What the CTAs of a cluster do together.

// CHECK-LABEL: llvm.func @clusters(
// CHECK-SAME: loc("warp.cluster_barrier"("{{.*}}clusters.mlir":[[# @LINE + 12]]:5))
// CHECK-SAME: loc("warp.load_cluster"("{{.*}}clusters.mlir":[[# @LINE + 15]]:10))
gpu.module @kernels {
  gpu.func @clusters(%x: !llvm.ptr<1> {warp.pointer = 0 : i64}) kernel
      attributes {warp.threads = 32 : i64, warp.shared_bytes = 512 : i64, warp.workspace_bytes = 0 : i64,
                  warp.programs = [[0, 0]], warp.cluster = 2 : i64} {
    // CHECK: %[[SLOT:.*]] = llvm.alloca %{{.*}} x i32
    // CHECK: %[[T:.*]] = llvm.call @polyattn_emu_thread_id()
    %t = warp.thread_id
    // CHECK: %[[RANK:.*]] = llvm.call @polyattn_emu_cluster_rank() : () -> i32
    %rank = warp.cluster_rank
    // CHECK: llvm.call @polyattn_emu_cluster_barrier(%{{.*}}) : (i32) -> ()
    warp.cluster_barrier
    // CHECK: %[[SIXTEEN:.*]] = llvm.mlir.constant(16 : i32)
    // CHECK: llvm.call @polyattn_emu_load_cluster(%{{.*}}, %[[T]], %[[RANK]], %[[SIXTEEN]], %[[SLOT]])
    // CHECK: llvm.load %[[SLOT]] {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
    %v = warp.load_cluster %t, %rank : vector<4xf32>
    gpu.return
  }
}
