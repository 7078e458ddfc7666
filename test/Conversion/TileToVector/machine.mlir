// RUN: not polyattn-opt %s --tile-to-vector="vector-width=5" 2>&1 | FileCheck %s
// CHECK: vector-width must be a power of two from 4 to 64
// RUN: not polyattn-opt %s --tile-to-vector="instructions=fma,sse9" 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: instructions are of fma, round, avx512, avx512bf16, amx, amxbf16, or none; got 'fma,sse9'
module {}
