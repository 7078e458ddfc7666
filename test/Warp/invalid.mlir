// RUN: polyattn-opt %s -split-input-file -verify-diagnostics

gpu.module @kernels {
  gpu.func @f(%address: i32) kernel {
    // expected-error @+1 {{expected 1, 2 or 4 matrices, got 3}}
    %a:3 = warp.ldmatrix %address : i32, i32, i32
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f(%x: f32) kernel {
    // expected-error @+1 {{tf32 has 32 bits}}
    %a = warp.pack <tf32> %x, %x
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f(%x: f64, %lane: i32) kernel {
    // expected-error @+1 {{operand #0 must be 32-bit float or 32-bit signless integer}}
    %a = warp.shuffle <xor> %x, %lane : f64
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f(%p: !llvm.ptr, %offset: i64) kernel {
    // expected-error @+1 {{operand #0 must be LLVM pointer in address space 1}}
    %a = "warp.load_global"(%p, %offset) : (!llvm.ptr, i64) -> f32
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f(%i: i32) kernel {
    // expected-error @+1 {{expected a vector of 'f32', got 'tensor<3xi32>'}}
    %a = warp.lookup %i in dense<[3, 1, 4]> : tensor<3xi32> -> f32
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f(%address: i32) kernel {
    // expected-error @+1 {{expected to be in a kernel with 'warp.cluster'}}
    %r = warp.cluster_rank
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f(%address: i32) kernel {
    // expected-error @+1 {{expected to be in a kernel with 'warp.cluster'}}
    warp.cluster_barrier
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f(%address: i32) kernel {
    // expected-error @+1 {{expected to be in a kernel with 'warp.cluster'}}
    %x = warp.load_cluster %address, %address : f32
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.cluster' of 2, 4 or 8 : i64, got 3 : i64}}
  gpu.func @f() kernel attributes {warp.cluster = 3 : i64} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.cluster' of 2, 4 or 8 : i64, got 1 : i64}}
  gpu.func @f() kernel attributes {warp.cluster = 1 : i64} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.cluster' of 2, 4 or 8 : i64, got 16 : i64}}
  gpu.func @f() kernel attributes {warp.cluster = 16 : i64} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.cluster' of 2, 4 or 8 : i64, got 2 : i32}}
  gpu.func @f() kernel attributes {warp.cluster = 2 : i32} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.cluster' of 2, 4 or 8 : i64, got "2"}}
  gpu.func @f() kernel attributes {warp.cluster = "2"} {
    gpu.return
  }
}

// -----

// expected-error @+1 {{has 'warp.cluster', which is for kernels}}
gpu.module @kernels attributes {warp.cluster = 2 : i64} {
}

// -----

gpu.module @kernels {
  gpu.func @f(%x: f32) kernel {
    // expected-error @+1 {{'warp.pack' op has no attribute 'round'}}
    %a = warp.pack <bf16> %x, %x {round = "up"}
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{has 'warp.unroll', which is for loops}}
  gpu.func @f() kernel attributes {warp.unroll = 2 : i64} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f(%zero: i32, %one: i32) kernel {
    // expected-error @+1 {{expected 'warp.unroll' of 2 to 64 : i64, got 1 : i64}}
    scf.for %i = %zero to %one step %one : i32 {
    } {warp.unroll = 1 : i64}
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @f(%iterations: i32) kernel {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // expected-error @+1 {{has 'warp.unroll' of 2, and its iterations are not known to be a multiple of it}}
    scf.for %i = %zero to %iterations step %one : i32 {
    } {warp.unroll = 2 : i64}
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{a kernel has no attribute 'warp.shared_byte'; did you mean 'warp.shared_bytes'?}}
  gpu.func @f() kernel attributes {warp.shared_byte = 2 : i64} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.threads' to be a multiple of 32 up to 1024 : i64, got 48 : i64}}
  gpu.func @f() kernel attributes {warp.threads = 48 : i64} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.threads' to be a multiple of 32 up to 1024 : i64, got 32 : i32}}
  gpu.func @f() kernel attributes {warp.threads = 32 : i32} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.shared_bytes' of 0 to 2^31 - 1 : i64, got 2147483648 : i64}}
  gpu.func @f() kernel attributes {warp.shared_bytes = 2147483648 : i64} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.workspace_bytes' of at least 0 : i64, got -1 : i64}}
  gpu.func @f() kernel attributes {warp.workspace_bytes = -1 : i64} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.registers' of 0 to 2^31 - 1 : i64, got "many"}}
  gpu.func @f() kernel attributes {warp.registers = "many"} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.programs' to be at most 6 sizes, a number or [tensor, dimension] each, got ["x"]}}
  gpu.func @f() kernel attributes {warp.programs = ["x"]} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.programs' to be at most 6 sizes, a number or [tensor, dimension] each, got 3 : i64}}
  gpu.func @f() kernel attributes {warp.programs = 3 : i64} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.programs' to be at most 6 sizes, a number or [tensor, dimension] each, got [1, 1, 1, 1, 1, 1, 1]}}
  gpu.func @f() kernel attributes {warp.programs = [1, 1, 1, 1, 1, 1, 1]} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.memory' to be a list of #warp.resident, got ["state", vector<16x16xf32>, "shared"]}}
  gpu.func @f() kernel attributes {warp.memory = ["state", vector<16x16xf32>, "shared"]} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{has 'warp.threads', which is for kernels}}
  func.func private @f() attributes {warp.threads = 32 : i64}
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{a parameter has no attribute 'warp.pointers'; did you mean 'warp.pointer'?}}
  gpu.func @f(%p: !llvm.ptr<1> {warp.pointers = 0 : i64}) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.size' to be [tensor, dimension], got [0, 1, 2]}}
  gpu.func @f(%s: i64 {warp.size = [0, 1, 2]}) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected 'warp.workspace' without a value, got 3 : i64}}
  gpu.func @f(%p: !llvm.ptr<1> {warp.workspace = 3 : i64}) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected the parameter with 'warp.pointer' to be of type !llvm.ptr<1>, got '!llvm.ptr'}}
  gpu.func @f(%p: !llvm.ptr {warp.pointer = 0 : i64}) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected the parameter with 'warp.stride' to be of type i64, got 'i32'}}
  gpu.func @f(%s: i32 {warp.stride = [0, 1]}) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{has 'warp.sites', which is for functions}}
  warp.barrier {warp.sites = []}
}

// -----

// expected-error @+1 {{expected 'warp.sites' to be a list of named locations, got [7]}}
func.func private @f() attributes {warp.sites = [7]}
