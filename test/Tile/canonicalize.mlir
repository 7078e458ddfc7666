// RUN: polyattn-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @whole_window(
// CHECK-SAME: %[[TILE:.*]]: !tile.tile<4x8xf32>)
func.func @whole_window(%tile: !tile.tile<4x8xf32>) -> (!tile.tile<4x8xf32>, !tile.tile<4x4xf32>) {
  %c0 = arith.constant 0 : index
  // CHECK-NEXT: %[[C0:.*]] = arith.constant 0
  // CHECK-NEXT: %[[PART:.*]] = tile.slice %[[TILE]][%[[C0]], %[[C0]]] : <4x8xf32> -> <4x4xf32>
  // CHECK-NEXT: return %[[TILE]], %[[PART]]
  %whole = tile.slice %tile[%c0, %c0] : !tile.tile<4x8xf32> -> !tile.tile<4x8xf32>
  %part = tile.slice %whole[%c0, %c0] : !tile.tile<4x8xf32> -> !tile.tile<4x4xf32>
  return %whole, %part : !tile.tile<4x8xf32>, !tile.tile<4x4xf32>
}
