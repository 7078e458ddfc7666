// RUN: polyattn-opt %s --warp-to-nvvm | FileCheck %s
// Every op of the warp dialect in the LLVM dialect.

// CHECK-LABEL: gpu.module @kernels
gpu.module @kernels {
  // CHECK: llvm.mlir.global internal constant @table_0(dense<[3, 1, 4]> : tensor<3xi32>) {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<3 x i32>
  // CHECK: llvm.mlir.global external @dynamic_shared_memory() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>

  // What described the launch is gone.
  // CHECK: llvm.func @places(%{{.*}}: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 96, 1, 1>} {
  gpu.func @places(%x: !llvm.ptr<1> {warp.pointer = 0 : i64}) kernel
      attributes {warp.threads = 96 : i64, warp.shared_bytes = 4096 : i64} {
    %zero = arith.constant 0 : i64
    // The warp's number is read at the start, where all threads are, and nowhere else.
    // CHECK: %[[T0:.*]] = nvvm.read.ptx.sreg.tid.x range <i32, 0, 96> : i32
    // CHECK: %[[W:.*]] = llvm.lshr %[[T0]], %{{.*}} : i32
    // CHECK: %[[UNIFORM:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[W]], %{{.*}}, %{{.*}} : i32 -> i32
    // CHECK: %[[T:.*]] = nvvm.read.ptx.sreg.tid.x range <i32, 0, 96> : i32
    %t = warp.thread_id
    // CHECK: llvm.and %{{.*}}, %{{.*}} : i32
    %l = warp.lane_id
    // CHECK: %[[P:.*]] = nvvm.read.ptx.sreg.ctaid.x range <i32, 0, 2147483647> : i32
    %p = warp.program_id
    %first = arith.cmpi eq, %t, %p : i32
    // CHECK: llvm.cond_br
    scf.if %first {
      // CHECK-NOT: nvvm.shfl.sync
      // CHECK: llvm.store %[[UNIFORM]]
      %w = warp.warp_id
      warp.store_global %w, %x[%zero] : i32
      %w2 = warp.warp_id
      warp.store_global %w2, %x[%zero] : i32
    }
    // CHECK: nvvm.barrier0
    warp.barrier
    // CHECK: %[[ALL:.*]] = llvm.mlir.constant(-1 : i32) : i32
    // CHECK-NEXT: nvvm.bar.warp.sync %[[ALL]] : i32
    warp.sync
    // CHECK: llvm.return
    gpu.return
  }

  // CHECK-LABEL: llvm.func @memory(
  // CHECK-SAME: %[[X:.*]]: !llvm.ptr<1>, %[[O:.*]]: i64, %[[A:.*]]: i32)
  gpu.func @memory(%x: !llvm.ptr<1>, %offset: i64, %address: i32) kernel
      attributes {warp.threads = 32 : i64} {
    // CHECK: %[[G:.*]] = llvm.getelementptr %[[X]][%[[O]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    // CHECK: llvm.load %[[G]] invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %f = warp.load_global %x[%offset] {read_only} : f32
    // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
    %v = warp.load_global %x[%offset] : vector<8xbf16>
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
    warp.store_global %f, %x[%offset] : f32
    // CHECK: %[[BASE:.*]] = llvm.mlir.addressof @dynamic_shared_memory : !llvm.ptr<3>
    // CHECK: %[[S:.*]] = llvm.getelementptr %[[BASE]][%[[A]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    // CHECK: llvm.store %{{.*}}, %[[S]] {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<3>
    warp.store_shared %v, %address : vector<8xbf16>
    // CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
    %s = warp.load_shared %address : vector<2xf32>
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[A]] : !llvm.ptr<3>, !llvm.ptr<1>, i32
    warp.copy_async %x[%offset], %address bytes %address
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache = ca, %[[A]] : !llvm.ptr<3>, !llvm.ptr<1>, i32
    warp.copy_async %x[%offset], %address bytes %address element
    // CHECK: nvvm.cp.async.commit.group
    warp.commit_copies
    // CHECK: nvvm.cp.async.wait.group 2
    warp.wait_copies 2
    // CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @table_0 : !llvm.ptr<1>
    // CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[TABLE]][%[[A]]] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    // CHECK: llvm.load %[[PLACE]] invariant
    %e = warp.lookup %address in dense<[3, 1, 4]> : tensor<3xi32> -> i32
    %e2 = warp.lookup %e in dense<[3, 1, 4]> : tensor<3xi32> -> i32
    gpu.return
  }

  // CHECK-LABEL: llvm.func @fragments(
  // CHECK-SAME: %[[A:.*]]: i32, %[[F:.*]]: f32, %[[H:.*]]: f32)
  gpu.func @fragments(%address: i32, %f: f32, %h: f32) kernel attributes {warp.threads = 32 : i64} {
    // CHECK: %[[L:.*]] = nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32, {{.*}}} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    // CHECK: %[[A0:.*]] = llvm.extractvalue %[[L]][0]
    %a:4 = warp.ldmatrix %address : i32, i32, i32, i32
    // CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<col>, num = 2 : i32, {{.*}}} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
    %b:2 = warp.ldmatrix %address {transposed} : i32, i32
    // CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}num = 1 : i32, {{.*}}} : (!llvm.ptr<3>) -> i32
    %one = warp.ldmatrix %address : i32
    // CHECK: %[[D:.*]] = nvvm.mma.sync A[%[[A0]], %{{.*}}] B[%{{.*}}] C[%[[F]], %[[F]], %[[F]], %[[F]]] {{{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    // CHECK: llvm.extractvalue %[[D]][0]
    %d:4 = warp.mma_sync <bf16> (%a#0, %a#1, %a#2, %a#3) (%b#0, %b#1) (%f, %f, %f, %f)
    // CHECK: llvm.bitcast %[[A0]] : i32 to vector<2xf16>
    // CHECK: nvvm.mma.sync {{.*}} {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32)
    %e:4 = warp.mma_sync <f16> (%a#0, %a#1, %a#2, %a#3) (%b#0, %b#1) (%f, %f, %f, %f)
    // CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>, {{.*}}k = 8>} : (i32, i32, f32)
    %g:4 = warp.mma_sync <tf32> (%a#0, %a#1, %a#2, %a#3) (%b#0, %b#1) (%f, %f, %f, %f)
    // CHECK: %[[LIMIT:.*]] = llvm.mlir.constant(31 : i32) : i32
    // CHECK: nvvm.shfl.sync bfly %{{.*}}, %[[F]], %[[A]], %[[LIMIT]] : f32 -> f32
    %x = warp.shuffle <xor> %f, %address : f32
    // CHECK: nvvm.shfl.sync idx %{{.*}}, %[[A]], %[[A]], %{{.*}} : i32 -> i32
    %i = warp.shuffle <index> %address, %address : i32
    // CHECK: %[[FIRST:.*]] = llvm.mlir.constant(0 : i32) : i32
    // CHECK: nvvm.shfl.sync up %{{.*}}, %[[F]], %[[A]], %[[FIRST]] : f32 -> f32
    %u = warp.shuffle <up> %f, %address : f32
    %mine = arith.cmpi eq, %address, %i : i32
    // CHECK: nvvm.vote.sync any %{{.*}}, %{{.*}} -> i1
    %some = warp.any %mine
    // The first goes into the low half.
    // CHECK: %[[PAIR:.*]] = nvvm.convert.f32x2.to.bf16x2 %[[H]], %[[F]] {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xbf16>
    // CHECK: llvm.bitcast %[[PAIR]] : vector<2xbf16> to i32
    %r = warp.pack <bf16> %f, %h
    // CHECK: nvvm.convert.f32x2.to.f16x2 %[[H]], %[[F]]
    %q = warp.pack <f16> %f, %h
    // CHECK: %[[PRODUCT:.*]] = llvm.fmul %{{.*}}, %{{.*}} : vector<2xbf16>
    // CHECK: llvm.bitcast %[[PRODUCT]] : vector<2xbf16> to i32
    %s = warp.multiply_pairs %r, %q : i32
    // CHECK: nvvm.convert.float.to.tf32 %[[F]] {rnd = #nvvm.fp_rnd_mode<rna>}
    %z = warp.round_tf32 %f
    // CHECK: llvm.inline_asm has_side_effects "", "=r,0" %[[A]] : (i32) -> i32
    %o = warp.opaque %address : i32
    gpu.return
  }
}
