// A slice of a tile read shared memory that nobody had written.
// case: B=1 T=3 Tk=3 H=1 Hkv=1 seed=0 inputs=normal padded=0 threads=1 segments=0 tile=1 invalid=0 targets=x86-64-v3,emulator-sm_80,emulator-sm_90
tile.kernel @kernel programs [dim(0, 0), dim(0, 2)] attributes {arg_names = ["x", "y", "w", "o", "z0", "z1", "z2"], num_inputs = 3 : i64} {
^bb0(%x: memref<?x?x?x2xf32>, %y: memref<?x?x?x8xf32>, %w: memref<33x2xf32>, %o: memref<?x?x?x2xf32>, %z0: memref<?x?x4x2xf32>, %z1: memref<?x?x2x4xf32>, %z2: memref<?x?x1x2xf32>):
  %batch = tile.program_id 0 : index
  %head = tile.program_id 1 : index
  %c2 = arith.constant 2 : index
  %heads = memref.dim %x, %c2 : memref<?x?x?x2xf32>
  %key_heads = memref.dim %y, %c2 : memref<?x?x?x8xf32>
  %group = arith.divui %heads, %key_heads : index
  %kv_head = arith.divui %head, %group : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %block = arith.constant 4 : index
  %length = memref.dim %x, %c1 : memref<?x?x?x2xf32>
  %t0 = tile.load %w[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<33x2xf32> -> !tile.tile<33x2xf32>
  scf.for %t = %c0 to %length step %block {
    %left = arith.subi %length, %t : index
    %valid = arith.minsi %left, %block : index
    %t1 = tile.load %x[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : memref<?x?x?x2xf32> -> !tile.tile<4x2xf32>
    %t2 = tile.load %y[%batch, %t, %kv_head, %c0] valid %valid {row_dim = 1, col_dim = 3, transposed} : memref<?x?x?x8xf32> -> !tile.tile<8x4xf32>
    %t3 = tile.dot %t2, %t1 bound %valid : !tile.tile<8x4xf32>, !tile.tile<4x2xf32> -> !tile.tile<8x2xf32>
    %t4 = tile.dot %t3, %t2 {lhs_transposed} : !tile.tile<8x2xf32>, !tile.tile<8x4xf32> -> !tile.tile<2x4xf32>
    %i5 = arith.constant 0 : index
    %t6 = scf.for %n = %c0 to %i5 step %c1 iter_args(%t7 = %t1) -> (!tile.tile<4x2xf32>) {
      %t8 = tile.transpose %t1 : !tile.tile<4x2xf32> -> !tile.tile<2x4xf32>
      %t9 = tile.map %t8, %t8 : !tile.tile<2x4xf32>, !tile.tile<2x4xf32> -> !tile.tile<2x4xf32> {
      ^bb0(%u: f32, %v: f32):
        %r = arith.subf %u, %v : f32
        tile.yield %r : f32
      }
      scf.yield %t1 : !tile.tile<4x2xf32>
    }
    %i10 = arith.constant 1 : index
    %i11 = arith.constant 0 : index
    %t12 = tile.slice %t6[%i10, %i11] : !tile.tile<4x2xf32> -> !tile.tile<2x2xf32>
    %t13 = tile.reduce <add> <rows> %t6 : !tile.tile<4x2xf32> -> !tile.tile<1x2xf32>
    %i14 = arith.constant 0 : index
    %t15 = scf.for %n = %c0 to %i14 step %c1 iter_args(%t16 = %t4) -> (!tile.tile<2x4xf32>) {
      %t17 = tile.concat %t16, %t16 : !tile.tile<2x4xf32>, !tile.tile<2x4xf32> -> !tile.tile<4x4xf32>
      %t18 = tile.map %t12, %t12 : !tile.tile<2x2xf32>, !tile.tile<2x2xf32> -> !tile.tile<2x2xf32> {
      ^bb0(%u: f32, %v: f32):
        %r = arith.maximumf %u, %v : f32
        %s = math.tanh %r : f32
        %m = math.absf %s : f32
        tile.yield %m : f32
      }
      %t19 = tile.map %t18, %t18 : !tile.tile<2x2xf32>, !tile.tile<2x2xf32> -> !tile.tile<2x2xf32> {
      ^bb0(%u: f32, %v: f32):
        %r = arith.subf %u, %v : f32
        %s = math.tanh %r : f32
        %m = math.exp %s : f32
        tile.yield %m : f32
      }
      scf.yield %t4 : !tile.tile<2x4xf32>
    }
    %t20 = tile.dot %t6, %t12 : !tile.tile<4x2xf32>, !tile.tile<2x2xf32> -> !tile.tile<4x2xf32>
    tile.store %t20, %o[%batch, %t, %head, %c0] valid %valid {row_dim = 1, col_dim = 3} : !tile.tile<4x2xf32>, memref<?x?x?x2xf32>
    tile.store %t20, %z0[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<4x2xf32>, memref<?x?x4x2xf32>
    tile.store %t15, %z1[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<2x4xf32>, memref<?x?x2x4xf32>
    tile.store %t13, %z2[%batch, %head, %c0, %c0] {row_dim = 2, col_dim = 3} : !tile.tile<1x2xf32>, memref<?x?x1x2xf32>
  }
}
