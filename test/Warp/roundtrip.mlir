// RUN: polyattn-opt %s | polyattn-opt | FileCheck %s
// RUN: polyattn-opt --mlir-print-op-generic %s | polyattn-opt | FileCheck %s
// Every op of the warp dialect and each of its forms.

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @ops
  gpu.func @ops(%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %rows: i64 {warp.size = [0, 1]},
                %workspace: !llvm.ptr<1> {warp.workspace}, %profile: !llvm.ptr<1> {warp.profile}) kernel
      attributes {warp.threads = 128 : i64, warp.shared_bytes = 4096 : i64, warp.workspace_bytes = 0 : i64,
                  warp.programs = [[0, 0], [0, 2]]} {
    // CHECK: %[[T:.*]] = warp.thread_id
    %thread = warp.thread_id
    // CHECK: warp.lane_id
    %lane = warp.lane_id
    // CHECK: warp.warp_id
    %warp = warp.warp_id
    // CHECK: warp.program_id
    %program = warp.program_id
    // CHECK: %[[O:.*]] = warp.opaque %[[T]] : i32
    %address = warp.opaque %thread : i32
    %offset = arith.extui %thread : i32 to i64
    %sixteen = arith.constant 16 : i32

    // CHECK: %[[F:.*]] = warp.load_global %{{.*}}[%{{.*}}] {read_only} : f32
    %f = warp.load_global %x[%offset] {read_only} : f32
    // CHECK: warp.load_global %{{.*}}[%{{.*}}] : vector<8xbf16>
    %v = warp.load_global %x[%offset] : vector<8xbf16>
    // CHECK: warp.store_global %{{.*}}, %{{.*}}[%{{.*}}] : f32
    warp.store_global %f, %x[%offset] : f32
    // CHECK: warp.store_shared %{{.*}}, %[[O]] : vector<8xbf16>
    warp.store_shared %v, %address : vector<8xbf16>
    // CHECK: warp.lookup %[[O]] in dense<[3, 1, 4]> : tensor<3xi32> -> i32
    %entry = warp.lookup %address in dense<[3, 1, 4]> : tensor<3xi32> -> i32
    // CHECK: warp.copy_async %{{.*}}[%{{.*}}], %[[O]] bytes %{{.*}}
    warp.copy_async %x[%offset], %address bytes %sixteen
    // CHECK: warp.commit_copies
    warp.commit_copies
    // CHECK: warp.wait_copies 1
    warp.wait_copies 1
    // CHECK: warp.barrier
    warp.barrier
    // CHECK: warp.sync
    warp.sync
    // CHECK: warp.load_shared %[[O]] : vector<2xf32>
    %s = warp.load_shared %address : vector<2xf32>

    // CHECK: %[[A:.*]]:4 = warp.ldmatrix %[[O]] : i32, i32, i32, i32
    %a:4 = warp.ldmatrix %address : i32, i32, i32, i32
    // CHECK: %[[B:.*]]:2 = warp.ldmatrix %[[O]] {transposed} : i32, i32
    %b:2 = warp.ldmatrix %address {transposed} : i32, i32
    // CHECK: warp.mma_sync <bf16>(%[[A]]#0, %[[A]]#1, %[[A]]#2, %[[A]]#3) (%[[B]]#0, %[[B]]#1) (%[[F]], %[[F]], %[[F]], %[[F]])
    %d:4 = warp.mma_sync <bf16> (%a#0, %a#1, %a#2, %a#3) (%b#0, %b#1) (%f, %f, %f, %f)
    // CHECK: warp.shuffle <xor> %{{.*}}, %[[O]] : f32
    %y = warp.shuffle <xor> %d#0, %address : f32
    %c0 = arith.constant 0 : i32
    %mine = arith.cmpi eq, %address, %c0 : i32
    // CHECK: warp.any %{{.*}}
    %some = warp.any %mine
    // CHECK: warp.pack <f16> %{{.*}}, %{{.*}}
    %r = warp.pack <f16> %y, %f
    // CHECK: warp.multiply_pairs %{{.*}}, %{{.*}} : i32
    %rr = warp.multiply_pairs %r, %r : i32
    // CHECK: warp.round_tf32 %{{.*}}
    %z = warp.round_tf32 %y
    gpu.return
  }

  // CHECK-LABEL: gpu.func @clusters
  // CHECK-SAME: warp.cluster = 4 : i64
  gpu.func @clusters(%address: i32) kernel attributes {warp.cluster = 4 : i64} {
    // CHECK: %[[RANK:.*]] = warp.cluster_rank
    %rank = warp.cluster_rank
    // CHECK: warp.cluster_barrier
    warp.cluster_barrier
    // CHECK: warp.load_cluster %{{.*}}, %[[RANK]] : vector<4xf32>
    %x = warp.load_cluster %address, %rank : vector<4xf32>
    // CHECK: warp.load_cluster %{{.*}}, %[[RANK]] : bf16
    %y = warp.load_cluster %address, %rank : bf16
    gpu.return
  }
}
