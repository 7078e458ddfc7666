// RUN: polyattn-opt %s --warp-to-nvvm=shared-bytes-per-sm=233472 -split-input-file -verify-diagnostics | FileCheck %s
// Functions that are instructions, and errors.

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @instructions
  gpu.func @instructions(%x: f32, %v: vector<2xf32>, %d: f64, %n: i32) kernel
      attributes {warp.threads = 32 : i64} {
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%{{.*}}) : (f32) -> f32
    %a = math.exp2 %x : f32
    // CHECK: llvm.extractelement %{{.*}} : vector<2xf32>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"(%{{.*}}) : (f32) -> f32
    // CHECK: llvm.insertelement
    // CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"
    %b = math.rsqrt %v : vector<2xf32>
    // CHECK: llvm.intr.sqrt
    %c = math.sqrt %x : f32
    // CHECK: llvm.intr.roundeven(%{{.*}}) : (f64) -> f64
    %e = math.roundeven %d : f64
    // CHECK: llvm.intr.fma
    %f = math.fma %x, %x, %x : f32
    // CHECK: llvm.fdiv %{{.*}} : f32
    %g = arith.divf %x, %f : f32
    %limit = arith.index_cast %n : i32 to index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: llvm.br
    // CHECK: llvm.cond_br
    %sum = scf.for %i = %c0 to %limit step %c1 iter_args(%s = %g) -> f32 {
      %next = arith.addf %s, %x : f32
      scf.yield %next : f32
    }
    gpu.return
  }
}

// -----

// One CTA of 200000 bytes has a multiprocessor for itself. Of 40000 bytes there are five, but their
// threads may have all registers that a thread can have: two CTAs are asked for.

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @few
  // CHECK-SAME: nvvm.minctasm = 1 : i32
  gpu.func @few() kernel attributes {warp.threads = 128 : i64, warp.shared_bytes = 200000 : i64} {
    gpu.return
  }
  // CHECK-LABEL: llvm.func @many
  // CHECK-SAME: nvvm.minctasm = 2 : i32
  gpu.func @many() kernel attributes {warp.threads = 128 : i64, warp.shared_bytes = 40000 : i64} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f(%x: f32) kernel attributes {warp.threads = 32 : i64} {
    // expected-error @+1 {{has no instruction on a GPU, and was not expanded}}
    %a = math.sin %x : f32
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.threads'}}
  gpu.func @f(%x: f32) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected a kernel without results}}
  gpu.func @f(%x: f32) {
    gpu.return
  }
}
