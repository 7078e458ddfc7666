//===- Passes.td - passes from polyattn to polyattn -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TRANSFORMS_PASSES
#define POLYATTN_TRANSFORMS_PASSES

include "lib/Transforms/FeaturePasses.td"
include "lib/Transforms/EntryPasses.td"
include "lib/Transforms/GradientPasses.td"
include "lib/Transforms/SchedulePasses.td"
include "lib/Transforms/StatePasses.td"
include "lib/Transforms/KernelPasses.td"

#endif // POLYATTN_TRANSFORMS_PASSES
