// RUN: polyattn-opt --warp-to-emulator --mlir-print-local-scope %s | FileCheck %s
// RUN: polyattn-opt --warp-to-emulator %s | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=IR
// Every op becomes a call, and what can be reported knows its line.

// CHECK-NOT: gpu.module
// CHECK-LABEL: llvm.func @ops(%arg0: !llvm.ptr) attributes {warp.sites =
// CHECK-SAME: loc("warp.load_global"("{{.*}}calls.mlir":[[# @LINE + 31]]:10))
// CHECK-SAME: loc("warp.shuffle"(
// IR-LABEL: define void @ops(ptr %0)
gpu.module @kernels {
  gpu.func @ops(%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %rows: i64 {warp.size = [0, 1]}) kernel
      attributes {warp.threads = 128 : i64, warp.shared_bytes = 4096 : i64, warp.workspace_bytes = 0 : i64,
                  warp.programs = [[0, 0]]} {
    // The parameters, and a slot for what lies in memory.
    // CHECK: %[[SLOT:.*]] = llvm.alloca %{{.*}} x i32 {alignment = 16 : i64}
    // CHECK: %[[P0:.*]] = llvm.getelementptr %arg0[0]
    // CHECK: %[[X:.*]] = llvm.load %[[P0]] : !llvm.ptr -> !llvm.ptr<1>
    // CHECK: %[[P1:.*]] = llvm.getelementptr %arg0[1]
    // CHECK: %[[ROWS:.*]] = llvm.load %[[P1]] : !llvm.ptr -> i64
    // CHECK: %[[T:.*]] = llvm.call @polyattn_emu_thread_id() : () -> i32
    %thread = warp.thread_id
    // CHECK: llvm.call @polyattn_emu_lane_id()
    %lane = warp.lane_id
    // CHECK: llvm.call @polyattn_emu_warp_id()
    %warp = warp.warp_id
    // CHECK: llvm.call @polyattn_emu_program_id()
    %program = warp.program_id
    // CHECK-NOT: opaque
    %address = warp.opaque %thread : i32
    %sixteen = arith.constant 16 : i32

    // CHECK: %[[BASE:.*]] = llvm.ptrtoint %[[X]]
    // CHECK: %[[AT:.*]] = llvm.add %[[BASE]], %[[ROWS]] : i64
    // CHECK: %[[FOUR:.*]] = llvm.mlir.constant(4 : i32)
    // CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
    // CHECK: llvm.call @polyattn_emu_load_global(%{{.*}}, %[[AT]], %[[FOUR]], %[[ONE]], %[[SLOT]])
    // CHECK: %[[F:.*]] = llvm.load %[[SLOT]] {alignment = 4 : i64} : !llvm.ptr -> f32
    %f = warp.load_global %x[%rows] {read_only} : f32
    // CHECK: llvm.store %[[F]], %[[SLOT]]
    // CHECK: llvm.call @polyattn_emu_store_global
    warp.store_global %f, %x[%rows] : f32
    // CHECK: llvm.call @polyattn_emu_load_global
    // CHECK: llvm.load %[[SLOT]] {alignment = 4 : i64} : !llvm.ptr -> vector<8xbf16>
    %v = warp.load_global %x[%rows] : vector<8xbf16>
    // CHECK: %[[SIXTEEN:.*]] = llvm.mlir.constant(16 : i32)
    // CHECK: llvm.call @polyattn_emu_store_shared(%{{.*}}, %[[T]], %{{.*}}, %[[SLOT]])
    warp.store_shared %v, %address : vector<8xbf16>
    // CHECK: llvm.call @polyattn_emu_load_shared
    %s = warp.load_shared %address : vector<2xf32>
    // CHECK: %[[SIZE:.*]] = llvm.mlir.constant(16 : i32) : i32
    // CHECK: llvm.call @polyattn_emu_copy_async({{.*}}, %[[SIZE]]) : (i32, i64, i32, i32, i32) -> ()
    warp.copy_async %x[%rows], %address bytes %sixteen
    // CHECK: %[[ELEMENT:.*]] = llvm.mlir.constant(4 : i32) : i32
    // CHECK: llvm.call @polyattn_emu_copy_async({{.*}}, %[[ELEMENT]]) : (i32, i64, i32, i32, i32) -> ()
    warp.copy_async %x[%rows], %address bytes %sixteen element
    // CHECK: llvm.call @polyattn_emu_commit_copies()
    warp.commit_copies
    // CHECK: %[[PENDING:.*]] = llvm.mlir.constant(1 : i32)
    // CHECK: llvm.call @polyattn_emu_wait_copies(%[[PENDING]])
    warp.wait_copies 1
    // CHECK: llvm.call @polyattn_emu_barrier
    warp.barrier
    // CHECK: llvm.call @polyattn_emu_sync
    warp.sync

    // CHECK: llvm.call @polyattn_emu_ldmatrix
    // CHECK-COUNT-4: llvm.load {{.*}} -> i32
    %a:4 = warp.ldmatrix %address : i32, i32, i32, i32
    // CHECK: llvm.call @polyattn_emu_ldmatrix
    // CHECK-COUNT-2: llvm.load {{.*}} -> i32
    %b:2 = warp.ldmatrix %address {transposed} : i32, i32
    // CHECK-COUNT-10: llvm.store
    // CHECK: llvm.call @polyattn_emu_mma_sync
    // CHECK-COUNT-4: llvm.load {{.*}} -> f32
    %d:4 = warp.mma_sync <bf16> (%a#0, %a#1, %a#2, %a#3) (%b#0, %b#1) (%f, %f, %f, %f)
    // CHECK: llvm.bitcast {{.*}} : f32 to i32
    // CHECK: llvm.call @polyattn_emu_shuffle
    // CHECK: llvm.bitcast {{.*}} : i32 to f32
    %y = warp.shuffle <xor> %d#0, %address : f32
    %mine = arith.cmpi eq, %address, %address : i32
    // CHECK: llvm.zext {{.*}} : i1 to i32
    // CHECK: llvm.call @polyattn_emu_any
    // CHECK: llvm.trunc {{.*}} : i32 to i1
    %some = warp.any %mine
    // CHECK: llvm.call @polyattn_emu_pack
    %r = warp.pack <f16> %y, %f
    // CHECK: llvm.call @polyattn_emu_round_tf32
    %z = warp.round_tf32 %y

    // CHECK: %[[INDEX:.*]] = llvm.call @polyattn_emu_check_index(%{{.*}}, %[[T]], %{{.*}})
    // CHECK: llvm.mlir.addressof @polyattn_table_0
    // CHECK: llvm.getelementptr %{{.*}}[%[[INDEX]]]
    %look = warp.lookup %address in dense<[3, 1, 4]> : tensor<3xi32> -> i32

    // The rest as for every processor.
    // CHECK: llvm.intr.exp2
    // CHECK: llvm.intr.tanh
    // CHECK: llvm.call @erff
    %e0 = math.exp2 %z : f32
    %e1 = math.tanh %e0 : f32
    %e2 = math.erf %e1 : f32
    // CHECK: llvm.call @polyattn_emu_store_global
    warp.store_global %e2, %x[%rows] : f32
    // CHECK: llvm.return
    gpu.return
  }
}
