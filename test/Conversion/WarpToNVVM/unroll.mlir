// Loops are unrolled as far as they say, and no tool unrolls them further.
// RUN: polyattn-opt %s --warp-to-nvvm | FileCheck %s
// RUN: polyattn-compile %s --target sm_80 --emit ptx -o - | FileCheck %s --check-prefix=PTX

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @sum
  // PTX-LABEL: .entry sum
  gpu.func @sum(%to: !llvm.ptr<1> {warp.pointer = 0 : i64}, %size: i64 {warp.size = [0, 0]},
                %stride: i64 {warp.stride = [0, 0]}, %w: !llvm.ptr<1> {warp.workspace},
                %u: !llvm.ptr<1> {warp.profile}) kernel
      attributes {warp.threads = 32 : i64, warp.shared_bytes = 4096 : i64,
                  warp.workspace_bytes = 0 : i64, warp.programs = [[0, 0]]} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant 0 : i64
    %start = arith.constant 0.0 : f32
    %iterations = arith.trunci %size : i64 to i32
    // What is opaque of an iteration's number is so once.
    // CHECK: llvm.inline_asm
    // CHECK-COUNT-4: llvm.load
    // CHECK-NOT: llvm.load
    // CHECK: llvm.br
    // PTX: .pragma "nounroll";
    // PTX-COUNT-4: ld.shared
    // PTX-NOT: ld.shared
    // PTX: bra
    %all = scf.for %i = %c0 to %c64 step %c1 iter_args(%sum = %start) -> (f32) : i32 {
      %iteration = warp.opaque %i : i32
      %row = arith.muli %iteration, %c64 : i32
      %x = warp.load_shared %row : f32
      %next = arith.addf %sum, %x : f32
      scf.yield %next : f32
    } {warp.unroll = 4 : i64}
    // CHECK: llvm.load
    // CHECK: llvm.br
    // PTX: .pragma "nounroll";
    // PTX: ld.shared
    // PTX-NOT: ld.shared
    // PTX: st.global
    %rest = scf.for %i = %c0 to %iterations step %c1 iter_args(%sum = %all) -> (f32) : i32 {
      %x = warp.load_shared %i : f32
      %next = arith.addf %sum, %x : f32
      scf.yield %next : f32
    }
    warp.store_global %rest, %to[%zero] : f32
    gpu.return
  }
}
// CHECK-NOT: warp.unroll
