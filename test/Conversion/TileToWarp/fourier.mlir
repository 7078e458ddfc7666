// RUN: polyattn-opt %s --tile-to-warp --canonicalize --cse | FileCheck %s

#rows = strided<[?, 1], offset: ?>

// Threads take roots of each level, and meet before the first level of the transform. There is a
// barrier behind each level, and pairs come last.
// CHECK-LABEL: gpu.func @forward
// CHECK:      scf.for
// CHECK:        scf.for
// CHECK-COUNT-2: warp.store_global
// CHECK:      warp.barrier
// CHECK:      scf.for
// CHECK:        scf.for
// CHECK-COUNT-14: warp.load_global
// CHECK-COUNT-8: warp.store_global
// CHECK:        }
// CHECK-NEXT:   warp.barrier
// CHECK-NEXT: }
// CHECK:      scf.if
// CHECK-NOT:  warp.barrier
// CHECK:      gpu.return
tile.kernel @forward attributes {arg_names = ["x", "r"], num_inputs = 0} {
^bb0(%x: memref<?x40xf32, #rows>, %r: memref<?x2xf32, #rows>):
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x40xf32, #rows>
  tile.fourier_roots %r rows %n : memref<?x2xf32, #rows>
  tile.fourier %x[] rows %n roots %r : memref<?x40xf32, #rows>, memref<?x2xf32, #rows>
}

// Roots and factors that no program of the kernel writes are read as constants.
// CHECK-LABEL: gpu.func @constants
// CHECK: warp.load_global %{{[^ ]*}}[{{.*}}] {read_only}
tile.kernel @constants attributes {arg_names = ["r", "x"], num_inputs = 0} {
^bb0(%r: memref<?x2xf32, #rows>, %x: memref<?x40xf32, #rows>):
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x40xf32, #rows>
  tile.fourier %x[] rows %n roots %r {half} : memref<?x40xf32, #rows>, memref<?x2xf32, #rows>
}
