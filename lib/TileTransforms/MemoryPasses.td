//===- MemoryPasses.td - passes on what tile kernels load and keep --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TILE_MEMORY_PASSES
#define POLYATTN_TILE_MEMORY_PASSES

include "mlir/Pass/PassBase.td"

def SinkLoads : Pass<"tile-sink-loads"> {
  let summary = "loads move into the branches that read them";
  let description = [{
    A load whose uses are all in branches of an `scf.if` beside it moves into each of these branches
    that uses it:

    ```mlir
    %w = tile.load %weights[%head, %c0, %c0] ...
    scf.if %isAlone {
      %y = tile.dot %w, %x ...
    } else {
      ... // reads y from a workspace
    }
    ```

    becomes

    ```mlir
    scf.if %isAlone {
      %w = tile.load %weights[%head, %c0, %c0] ...
      %y = tile.dot %w, %x ...
    } else {
      ...
    }
    ```

    The same applies inside the branch. Weights of heads are loaded where a program begins, so that
    its loops share them. A program that takes a branch without them need not wait for their memory.
    A load that is the same for all programs stays, as it is done once for all. A load that would
    move past a write to its tensor also stays.

    Numeric contract: exact.
  }];
}

def FuseLoops : Pass<"tile-fuse-loops"> {
  let summary = "loops over the same blocks of positions are one loop";
  let description = [{
    Two loops of one block become one if they have the same bounds and step, the second needs
    nothing of the first, and they compute an equal product or function:

    ```mlir
    %dq = scf.for %j = %c0 to %i step %c64 iter_args(%a = %zero) ... {
      %s = tile.dot %q, %k ...
    }
    scf.for %j = %c0 to %i step %c64 {
      %s = tile.dot %q, %k ...
      ... // adds to a buffer
    }
    ```

    After that `--cse` computes their products once. Several attends of a kernel that go over all
    pairs have such loops: gradients of keys and of values, of queries and of tables of distances.
    Ops between the loops that the second one needs move before the first. With `carried`, tiles that
    one loop carries have at most so many numbers: on GPUs these are registers.

    Numeric contract: exact.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
  let options = [
    Option<"carried", "carried", "int64_t", "0",
           "The most numbers in tiles that a fused loop carries; 0 for any">,
  ];
}

def NarrowLoads : Pass<"tile-narrow-loads"> {
  let summary = "programs load the parts of tiles that they read";
  let description = [{
    A load becomes one for each of its rows, or columns, if nothing but single ones are read of it:
    a vector is copied ahead where a tile of few rows is not.

    ```mlir
    %f = tile.load %factors[%b, %t, %h, %c0] {..., transposed} : memref<?x?x?x2xf32> -> <2x64xf32>
    %0 = tile.slice %f[%c1, %c0] : <2x64xf32> -> <1x64xf32>
    ```

    becomes

    ```mlir
    %0 = tile.load %factors[%b, %t, %h, %c1] {..., transposed} : memref<?x?x?x2xf32> -> <1x64xf32>
    ```

    In a cluster, a load of an input becomes a load of the program's share if all its slices are in
    that share of the rows or columns. The share begins at the rank times its size:

    ```mlir
    %first = arith.muli %rank, %c128
    %w = tile.load %theta[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<64x256xf32> -> <64x256xf32>
    scf.for %f = %c0 to %c128 step %c64 {
      %column = arith.addi %first, %f
      %p = tile.slice %w[%c0, %column] : <64x256xf32> -> <64x64xf32>
    ```

    becomes

    ```mlir
    %first = arith.muli %rank, %c128
    %w = tile.load %theta[%c0, %first] {row_dim = 0, col_dim = 1} : memref<64x256xf32> -> <64x128xf32>
    scf.for %f = %c0 to %c128 step %c64 {
      %p = tile.slice %w[%c0, %f] : <64x128xf32> -> <64x64xf32>
    ```

    Numeric contract: exact.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RepeatLoads : Pass<"tile-repeat-loads"> {
  let summary = "tiles that a loop does not use are loaded again after it";
  let description = [{
    A matrix of an input that is used before a loop and after it, but not in it, is loaded twice. So
    no memory holds it during the loop:

    ```mlir
    %s = tile.load %state[...] : ...
    %0 = tile.map %s ...
    scf.for ... { ... }
    scf.if %empty {
      tile.store %s, %final[...] : ...
    }
    ```

    has a second `tile.load %state[...]` before the `tile.store`.

    Numeric contract: exact.
  }];
}

def CarryStates : Pass<"tile-carry-states"> {
  let summary = "loops over positions carry the states that they update";
  let description = [{
    A loop over blocks of positions reads a state and adds to it in each iteration. If an iteration
    uses the whole state, the state becomes a tile that the loop carries, in the registers of
    accumulators:

    ```mlir
    %s = tile.buffer : <64x64>
    scf.for ... {
      %r = tile.read %s[%c0] : <64x64> -> <64x64xf32>
      ...
      tile.accumulate %k, %v, %s[%c0] : ...
    }
    ```

    becomes a loop with an `iter_args` of `!tile.tile<64x64xf32>`. Its products read a `tile.map` of
    the tile, rounded as their factors are, and `tile.dot ... acc` adds to it. If nothing but reads of
    the whole state comes after the loop, they are the tile that the loop gives. Otherwise the tile
    is written back.

    Numeric contract: exact.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
  let options = [
    Option<"elements", "elements", "int64_t", "16384",
           "The most numbers that a kernel's loops carry; by default 64 registers of each of "
           "256 threads">,
  ];
}

#endif // POLYATTN_TILE_MEMORY_PASSES
