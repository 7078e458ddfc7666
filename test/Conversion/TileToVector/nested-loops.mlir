// Loops that exchange their values, and a branch within, become branches: no loop is left to a conversion.
//
// RUN: not polyattn-opt %s --split-input-file --polyattn-vector-to-llvm-pipeline 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

// CHECK-LABEL: llvm.func @exchange(
// CHECK-SAME:    %[[A:[^:]+]]: f32, %[[B:[^:]+]]: f32,
func.func @exchange(%a: f32, %b: f32, %n: i64) -> (f32, f32) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  // CHECK:       llvm.br ^[[OUTER:bb[0-9]+]](%{{.*}}, %[[A]], %[[B]] : i64, f32, f32)
  // CHECK:     ^[[OUTER]](%{{.*}}: i64, %[[X:.*]]: f32, %[[Y:.*]]: f32):
  // CHECK:       llvm.cond_br
  // CHECK:       llvm.br ^[[INNER:bb[0-9]+]](%{{.*}}, %[[Y]], %[[X]] : i64, f32, f32)
  // CHECK:     ^[[INNER]](%{{.*}}: i64, %[[U:.*]]: f32, %[[V:.*]]: f32):
  // CHECK:       llvm.cond_br
  // CHECK:       %[[SUM:.*]] = llvm.fadd %[[U]], %[[V]]
  // CHECK:       llvm.br ^[[INNER]](%{{.*}}, %{{.*}}, %[[U]] : i64, f32, f32)
  // CHECK:       llvm.br ^[[OUTER]](%{{.*}}, %[[V]], %[[U]] : i64, f32, f32)
  // CHECK:       llvm.return
  %r:2 = scf.for %i = %zero to %n step %one iter_args(%x = %a, %y = %b) -> (f32, f32) : i64 {
    %s:2 = scf.for %j = %zero to %n step %one iter_args(%u = %y, %v = %x) -> (f32, f32) : i64 {
      %isFirst = arith.cmpi eq, %j, %zero : i64
      %sum = arith.addf %u, %v : f32
      %next = scf.if %isFirst -> f32 {
        scf.yield %sum : f32
      } else {
        scf.yield %v : f32
      }
      scf.yield %next, %u : f32, f32
    }
    scf.yield %s#1, %s#0 : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}

// -----

func.func @other() {
  // ERROR: nested-loops.mlir:[[#@LINE + 1]]:{{.*}}: error: failed to legalize operation 'gpu.barrier'
  gpu.barrier
  return
}
