// RUN: polyattn-opt %s --polyattn-expand-math | FileCheck %s
// RUN: polyattn-opt %s --polyattn-expand-math=has-exp2=false | FileCheck %s --check-prefix=ARITHMETIC
// What is left are instructions of a GPU; test/Unit/Conversion/ExpandMathTest.cpp has the numbers.

// CHECK-NOT: math.{{exp |expm1|log|pow|sin|cos|tanh|erf}}.*f32

// No power of 2 is left for a machine that has no instruction for it, and exp has a formula of its own.
// ARITHMETIC-NOT: math.{{exp|log|pow|sin|cos|tanh|erf}}{{.*}} f32
// ARITHMETIC-LABEL: func.func @exp
// ARITHMETIC-COUNT-9: math.fma {{.*}} fastmath<contract>
// ARITHMETIC: arith.shli
// ARITHMETIC-LABEL: func.func @rough_exp
// ARITHMETIC-COUNT-9: math.fma {{.*}} fastmath<contract>
// ARITHMETIC-LABEL: func.func @vector
// ARITHMETIC-LABEL: func.func @double
// ARITHMETIC: math.exp {{.*}} : f64

// CHECK-LABEL: func.func @exp
func.func @exp(%x: f32) -> f32 {
  // CHECK: arith.maximumf
  // CHECK: arith.minimumf
  // CHECK: math.fma
  // CHECK: math.exp2 %{{.*}} : f32
  %0 = math.exp %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @rough_exp
func.func @rough_exp(%x: f32) -> f32 {
  // CHECK: %[[FACTOR:.*]] = arith.constant 1.44269502 : f32
  // CHECK-NEXT: %[[P:.*]] = arith.mulf %{{.*}}, %[[FACTOR]] : f32
  // CHECK-NEXT: %[[R:.*]] = math.exp2 %[[P]] : f32
  // CHECK-NEXT: return %[[R]]
  %0 = math.exp %x fastmath<afn> : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @vector
func.func @vector(%x: vector<4xf32>, %y: vector<4xf32>) -> vector<4xf32> {
  // CHECK: arith.bitcast %{{.*}} : vector<4xf32> to vector<4xi32>
  // CHECK: arith.divf {{.*}} fastmath<afn> : vector<4xf32>
  %0 = math.sin %x : vector<4xf32>
  %1 = math.cos %0 : vector<4xf32>
  %2 = math.tanh %1 : vector<4xf32>
  %3 = math.erf %2 : vector<4xf32>
  %c = math.erfc %3 : vector<4xf32>
  %4 = math.log %c : vector<4xf32>
  %5 = math.log2 %4 : vector<4xf32>
  %6 = math.log1p %5 : vector<4xf32>
  %7 = math.expm1 %6 : vector<4xf32>
  %8 = math.powf %7, %y : vector<4xf32>
  return %8 : vector<4xf32>
}

// CHECK-LABEL: func.func @division
func.func @division(%x: i32, %y: i32) -> i32 {
  // CHECK-NOT: arith.ceildivsi
  %0 = arith.ceildivsi %x, %y : i32
  return %0 : i32
}

// Other types stay.
// CHECK-LABEL: func.func @double
func.func @double(%x: f64) -> f64 {
  // CHECK: math.exp %{{.*}} : f64
  %0 = math.exp %x : f64
  return %0 : f64
}
