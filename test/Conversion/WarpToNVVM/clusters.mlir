// RUN: polyattn-opt %s --warp-to-nvvm | FileCheck %s
// RUN: not polyattn-opt %s --warp-to-nvvm=max-blocks-per-cluster=1 2>&1 | FileCheck %s --check-prefix=NONE
// What the CTAs of a cluster do together.

// NONE: 'gpu.func' op wants clusters of 4 CTAs, and chips below sm_90 have none

gpu.module @kernels {
  // CHECK: llvm.func @clusters(%[[X:.*]]: !llvm.ptr<1>, %[[A:.*]]: i32) attributes {nvvm.cluster_dim = array<i32: 4, 1, 1>, nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>}
  gpu.func @clusters(%x: !llvm.ptr<1>, %address: i32) kernel
      attributes {warp.threads = 32 : i64, warp.cluster = 4 : i64} {
    %zero = arith.constant 0 : i64
    // CHECK: %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x range <i32, 0, 2147483647> : i32
    // CHECK: %[[BITS:.*]] = llvm.mlir.constant(2 : i32) : i32
    // CHECK: %[[P:.*]] = llvm.lshr %[[CTA]], %[[BITS]] : i32
    %p = warp.program_id
    // CHECK: llvm.store %[[P]]
    warp.store_global %p, %x[%zero] : i32
    // CHECK: %[[R:.*]] = nvvm.read.ptx.sreg.cluster.ctarank range <i32, 0, 4> : i32
    %r = warp.cluster_rank
    // CHECK: nvvm.cluster.arrive {aligned}
    // CHECK-NEXT: nvvm.cluster.wait {aligned}
    warp.cluster_barrier
    // CHECK: %[[OWN:.*]] = llvm.getelementptr %{{.*}}[%[[A]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    // CHECK: %[[OTHER:.*]] = nvvm.mapa %[[OWN]], %[[R]] : !llvm.ptr<3> -> !llvm.ptr<7>
    // CHECK: llvm.load %[[OTHER]] {alignment = 16 : i64} : !llvm.ptr<7> -> vector<8xbf16>
    %v = warp.load_cluster %address, %r : vector<8xbf16>
    // CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<7> -> f32
    %f = warp.load_cluster %address, %r : f32
    gpu.return
  }
}
