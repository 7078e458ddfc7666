//===- KnownAttributes.td - ops that have the attributes they declare -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_KNOWN_ATTRIBUTES
#define POLYATTN_KNOWN_ATTRIBUTES

include "mlir/IR/OpBase.td"

def KnownAttributes : NativeOpTrait<"KnownAttributes"> { let cppNamespace = "::polyattn"; }

#endif // POLYATTN_KNOWN_ATTRIBUTES
