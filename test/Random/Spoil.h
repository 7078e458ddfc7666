//===- Spoil.h - specs that must be refused ---------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_RANDOM_SPOIL_H
#define POLYATTN_TEST_RANDOM_SPOIL_H

#include "Choices.h"
#include <string>

namespace polyattn::random {

/// The spec with one mistake in it.
std::string spoil(Choices &choices, const std::string &text);

} // namespace polyattn::random

#endif // POLYATTN_TEST_RANDOM_SPOIL_H
