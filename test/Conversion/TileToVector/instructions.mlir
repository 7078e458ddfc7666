// Names of instructions that are none, of both passes that ask.
// RUN: not polyattn-opt %s --pass-pipeline='builtin.module(func.func(polyattn-legalize-math{instructions=fma,rounds}))' 2>&1 | FileCheck %s
// RUN: not polyattn-opt %s --tile-to-vector="instructions=fma,rounds" 2>&1 | FileCheck %s
// RUN: not polyattn-opt %s --polyattn-vector-to-llvm-pipeline="instructions=fma,rounds" 2>&1 | FileCheck %s
// RUN: polyattn-opt %s --pass-pipeline='builtin.module(func.func(polyattn-legalize-math{instructions=none}))' | FileCheck %s --check-prefix=NONE
// RUN: polyattn-opt %s --pass-pipeline='builtin.module(func.func(polyattn-legalize-math))' | FileCheck %s --check-prefix=DEFAULT

// CHECK: error: instructions are of fma, round, avx512, avx512bf16, amx, amxbf16, or none; got 'fma,rounds'
// NONE-NOT: math.floor
// DEFAULT: math.floor
func.func @floor(%x: f32) -> f32 {
  %y = math.floor %x : f32
  return %y : f32
}
