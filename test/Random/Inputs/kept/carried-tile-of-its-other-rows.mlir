// Threads wrote the next value of a tile that a loop carries while others still read rows of the one before.
// case: B=1 T=3 Tk=3 H=1 Hkv=1 seed=0 inputs=normal padded=0 threads=1 segments=0 invariant=0 tile=1 invalid=0 targets=emulator-sm_80
tile.kernel @kernel programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["x", "y", "w", "o", "z0"], num_inputs = 3 : i64} {
^bb0(%x: memref<?x?x?x1xf32>, %y: memref<?x?x?x16xf32>, %w: memref<33x33xf32>, %o: memref<?x?x?x1xf32>, %z0: memref<?x?x16x4xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %block = arith.constant 4 : index
  %length = memref.dim %x, %c1 : memref<?x?x?x1xf32>
  scf.for %t = %c0 to %length step %block {
    %left = arith.subi %length, %t : index
    %valid = arith.minsi %left, %block : index
    %own = tile.load %x[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x1xf32> -> !tile.tile<4x1xf32>
    %start = tile.load %y[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x16xf32> -> !tile.tile<16x4xf32>
    %end = scf.for %n = %c0 to %c3 step %c1 iter_args(%carried = %start) -> (!tile.tile<16x4xf32>) {
      %next = tile.select_rows %carried {rows = array<i64: 3, 13, 5, 14, 12, 14, 15, 10, 10, 13, 0, 0, 0, 0, 0, 0>} : !tile.tile<16x4xf32> -> !tile.tile<16x4xf32>
      scf.yield %next : !tile.tile<16x4xf32>
    }
    tile.store %own, %o[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<4x1xf32>, memref<?x?x?x1xf32>
    tile.store %end, %z0[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<16x4xf32>, memref<?x?x16x4xf32>
  }
}
