// RUN: not polyattn-opt %s --tile-to-vector="vector-width=5" 2>&1 | FileCheck %s
// CHECK: vector-width must be a power of two from 4 to 64
module {}
