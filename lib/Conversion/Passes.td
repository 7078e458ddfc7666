//===- Passes.td - passes from one level to the next ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_PASSES
#define POLYATTN_CONVERSION_PASSES

include "lib/Conversion/TilePasses.td"
include "lib/Conversion/CPUPasses.td"
include "lib/Conversion/GPUPasses.td"
include "lib/Conversion/MathPasses.td"

#endif // POLYATTN_CONVERSION_PASSES
