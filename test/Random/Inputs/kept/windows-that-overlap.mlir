// A race between writes of two windows of one buffer that overlap: threads were taken to have the same rows of both.
// case: B=1 T=3 Tk=3 H=1 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 tile=1 invalid=0 targets=emulator-sm_80,emulator-sm_90
tile.kernel @kernel programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["x", "y", "w", "o", "z0", "z1", "z2", "s0", "s1"], num_inputs = 3 : i64} {
^bb0(%x: memref<?x?x?x4xf32>, %y: memref<?x?x?x4xf32>, %w: memref<4x4xf32>, %o: memref<?x?x?x4xf32>, %z0: memref<?x?x16x4xf32>, %z1: memref<?x?x16x4xf32>, %z2: memref<?x?x4x4xf32>, %s0: memref<?x?x8x4xf32>, %s1: memref<?x?x4x4xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %heads = memref.dim %x, %c2 : memref<?x?x?x4xf32>
  %key_heads = memref.dim %y, %c2 : memref<?x?x?x4xf32>
  %group = arith.divui %heads, %key_heads : index
  %kv_head = arith.divui %head, %group : index
  %block = arith.constant 16 : index
  %length = memref.dim %x, %c1 : memref<?x?x?x4xf32>
  %t0 = tile.buffer : !tile.buffer<8x4>
  %t1 = tile.buffer : !tile.buffer<4x4>
  %t2 = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<4x4xf32> -> !tile.tile<4x4xf32>
  scf.for %t = %c0 to %length step %block {
    %left = arith.subi %length, %t : index
    %valid = arith.minsi %left, %block : index
    %t3 = tile.load %x[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x4xf32> -> !tile.tile<16x4xf32>
    %t4 = tile.load %y[%batch, %t, %kv_head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x4xf32> -> !tile.tile<16x4xf32>
    %i5 = arith.constant 0 : index
    tile.write %t2, %t0[%i5] : !tile.tile<4x4xf32>, !tile.buffer<8x4>
    %i6 = arith.constant 1 : index
    tile.write %t2, %t0[%i6] : !tile.tile<4x4xf32>, !tile.buffer<8x4>
    tile.store %t4, %o[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<16x4xf32>, memref<?x?x?x4xf32>
    tile.store %t4, %z0[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<16x4xf32>, memref<?x?x16x4xf32>
    tile.store %t3, %z1[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<16x4xf32>, memref<?x?x16x4xf32>
    tile.store %t2, %z2[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<4x4xf32>, memref<?x?x4x4xf32>
  }
  %e0 = tile.read %t0[%c0] : !tile.buffer<8x4> -> !tile.tile<8x4xf32>
  tile.store %e0, %s0[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<8x4xf32>, memref<?x?x8x4xf32>
  %e1 = tile.read %t1[%c0] : !tile.buffer<4x4> -> !tile.tile<4x4xf32>
  tile.store %e1, %s1[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<4x4xf32>, memref<?x?x4x4xf32>
}
