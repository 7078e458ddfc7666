// Two tiles that a loop carries change places, in memory and in registers: one became the other before that was read.
// case: B=1 T=16 Tk=16 H=1 Hkv=1 seed=3 inputs=normal padded=0 threads=1 segments=0 invariant=0 tile=1 invalid=0 targets=x86-64-v3,emulator-sm_80,emulator-sm_90
tile.kernel @kernel programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["x", "y", "w", "o", "z0", "z1", "z2"], num_inputs = 3 : i64} {
^bb0(%x: memref<?x?x?x16xf32>, %y: memref<?x?x?x16xf32>, %w: memref<16x16xf32>, %o: memref<?x?x?x16xf32>, %z0: memref<?x?x16x16xf32>, %z1: memref<?x?x16x16xf32>, %z2: memref<?x?x16x16xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %block = arith.constant 16 : index
  %length = memref.dim %x, %c1 : memref<?x?x?x16xf32>
  scf.for %t = %c0 to %length step %block {
    %left = arith.subi %length, %t : index
    %valid = arith.minsi %left, %block : index
    %a = tile.load %x[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x16xf32> -> !tile.tile<16x16xf32>
    %b = tile.load %y[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x16xf32> -> !tile.tile<16x16xf32>
    %u:2 = scf.for %n = %c0 to %c3 step %c1 iter_args(%p = %a, %q = %b) -> (!tile.tile<16x16xf32>, !tile.tile<16x16xf32>) {
      scf.yield %q, %p : !tile.tile<16x16xf32>, !tile.tile<16x16xf32>
    }
    %both = tile.dot %u#0, %u#1 : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32>
    %s:2 = scf.for %n = %c0 to %c3 step %c1 iter_args(%p = %a, %q = %b) -> (!tile.tile<16x16xf32>, !tile.tile<16x16xf32>) {
      %sum = tile.map %p, %q : !tile.tile<16x16xf32>, !tile.tile<16x16xf32> -> !tile.tile<16x16xf32> {
      ^bb0(%i: f32, %j: f32):
        %k = arith.addf %i, %j : f32
        tile.yield %k : f32
      }
      scf.yield %sum, %p : !tile.tile<16x16xf32>, !tile.tile<16x16xf32>
    }
    tile.store %both, %o[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x?x16xf32>
    tile.store %u#0, %z0[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x16x16xf32>
    tile.store %s#0, %z1[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x16x16xf32>
    tile.store %s#1, %z2[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<16x16xf32>, memref<?x?x16x16xf32>
  }
}
