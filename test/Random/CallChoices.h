//===- CallChoices.h - how random specs are called --------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_RANDOM_CALLCHOICES_H
#define POLYATTN_TEST_RANDOM_CALLCHOICES_H

#include "Case.h"

namespace polyattn::random {

/// Chooses how many batches and positions there are, often around the `blocks` of a spec.
void chooseSizes(Choices &choices, llvm::ArrayRef<int64_t> blocks, Case &spec);
/// Makes a spec whose attends are causal one that is decoded, in some calls.
void chooseCalls(Choices &choices, llvm::ArrayRef<int64_t> blocks, Case &spec);
/// Makes it one whose gradients are computed, in all or in some of the arguments of these names.
void chooseGradients(Choices &choices, llvm::ArrayRef<std::string> arguments, Case &spec);

} // namespace polyattn::random

#endif // POLYATTN_TEST_RANDOM_CALLCHOICES_H
