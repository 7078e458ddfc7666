// RUN: polyattn-opt --warp-to-emulator --split-input-file --verify-diagnostics %s
// What the emulator cannot run.

gpu.module @kernels {
  // expected-error@+1 {{expected a kernel}}
  gpu.func @helper() {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{expected parameters of 8 bytes, got 'i32'}}
  gpu.func @narrow(%x: i32) kernel {
    gpu.return
  }
}

// -----

llvm.func @name()
gpu.module @kernels {
  // expected-error@+1 {{its module has this name already}}
  gpu.func @name() kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{expected only kernels in a gpu.module}}
  llvm.func @other()
}
