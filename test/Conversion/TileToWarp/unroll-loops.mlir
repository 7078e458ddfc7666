// RUN: polyattn-opt %s --warp-unroll-loops | FileCheck %s
// RUN: polyattn-opt %s --warp-unroll-loops=registers=12 | FileCheck %s --check-prefix=FEW
// RUN: polyattn-opt %s --warp-unroll-loops=registers=3 | FileCheck %s --check-prefix=NONE

// Each iteration has 4 numbers on the way, which wait in registers beside the pointers, the counter and
// what each iteration writes to.
gpu.module @kernels {
  // CHECK: gpu.func @copy{{.*}}warp.registers = 7 : i64
  gpu.func @copy(%from: !llvm.ptr<1>) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c6 = arith.constant 6 : i32
    %c7 = arith.constant 7 : i32
    %c8 = arith.constant 8 : i32
    %lane = warp.lane_id
    // CHECK: scf.for %{{.*}} to %c8_i32
    // CHECK: warp.unroll = 4 : i64
    // FEW: scf.for %{{.*}} to %c8_i32
    // FEW: warp.unroll = 2 : i64
    // NONE-NOT: warp.unroll
    scf.for %i = %c0 to %c8 step %c1 : i32 {
      %at = arith.muli %i, %lane : i32
      %wide = arith.extui %at : i32 to i64
      %x = warp.load_global %from[%wide] : vector<4xf32>
      warp.store_shared %x, %at : vector<4xf32>
    }
    // As many as divide the iterations: none of seven.
    // CHECK: scf.for %{{.*}} to %c6_i32
    // CHECK: warp.unroll = 3 : i64
    scf.for %i = %c0 to %c6 step %c1 : i32 {
      %x = warp.load_shared %i : f32
      warp.store_shared %x, %lane : f32
    }
    // CHECK: scf.for %{{.*}} to %c7_i32
    // CHECK-NOT: warp.unroll
    scf.for %i = %c0 to %c7 step %c1 : i32 {
      %x = warp.load_shared %i : f32
      warp.store_shared %x, %lane : f32
    }
    // The next iteration's load would not come before this one's store, which may be to the same place.
    scf.for %i = %c0 to %c8 step %c1 : i32 {
      %at = arith.muli %i, %lane : i32
      %wide = arith.extui %at : i32 to i64
      %x = warp.load_global %from[%wide] : f32
      %y = arith.addf %x, %x : f32
      warp.store_global %y, %from[%wide] : f32
    }
    // Iterations that wait for other threads come one after another.
    scf.for %i = %c0 to %c8 step %c1 : i32 {
      warp.barrier
      %x = warp.load_shared %i : f32
      warp.store_shared %x, %lane : f32
    }
    gpu.return
  }
}
