// A product with one column of a wider tile, whose elements lie apart.
// case: B=1 T=3 Tk=3 H=1 Hkv=1 N=0 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 tile=1 invalid=0 targets=cpu
tile.kernel @kernel programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["x", "y", "w", "o", "z0", "z1", "z2"], num_inputs = 3 : i64} {
^bb0(%x: memref<?x?x?x4xf32>, %y: memref<?x?x?x4xf32>, %w: memref<4x4xf32>, %o: memref<?x?x?x1xf32>, %z0: memref<?x?x4x1xf32>, %z1: memref<?x?x5x1xf32>, %z2: memref<?x?x5x4xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %heads = memref.dim %x, %c2 : memref<?x?x?x4xf32>
  %key_heads = memref.dim %y, %c2 : memref<?x?x?x4xf32>
  %group = arith.divui %heads, %key_heads : index
  %kv_head = arith.divui %head, %group : index
  %block = arith.constant 5 : index
  %length = memref.dim %x, %c1 : memref<?x?x?x4xf32>
  %t0 = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<4x4xf32> -> !tile.tile<4x4xf32>
  scf.for %t = %c0 to %length step %block {
    %left = arith.subi %length, %t : index
    %valid = arith.minsi %left, %block : index
    %t1 = tile.load %x[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x4xf32> -> !tile.tile<4x5xf32>
    %t2 = tile.load %y[%batch, %t, %kv_head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x4xf32> -> !tile.tile<5x4xf32>
    %i3 = arith.constant 0 : index
    %i4 = arith.constant 0 : index
    %t5 = tile.slice %t2[%i3, %i4] : !tile.tile<5x4xf32> -> !tile.tile<5x1xf32>
    %t6 = tile.dot %t1, %t5 : !tile.tile<4x5xf32>, !tile.tile<5x1xf32> -> !tile.tile<4x1xf32>
    tile.store %t5, %o[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<5x1xf32>, memref<?x?x?x1xf32>
    tile.store %t6, %z0[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<4x1xf32>, memref<?x?x4x1xf32>
    tile.store %t5, %z1[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<5x1xf32>, memref<?x?x5x1xf32>
    tile.store %t2, %z2[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<5x4xf32>, memref<?x?x5x4xf32>
  }
}
