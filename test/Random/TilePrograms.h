//===- TilePrograms.h - random tile kernels ---------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_RANDOM_TILEPROGRAMS_H
#define POLYATTN_TEST_RANDOM_TILEPROGRAMS_H

#include "Case.h"
#include "Choices.h"

namespace polyattn::random {

/// A random kernel of the tile dialect.
Case makeTileProgram(Choices &choices);

} // namespace polyattn::random

#endif // POLYATTN_TEST_RANDOM_TILEPROGRAMS_H
