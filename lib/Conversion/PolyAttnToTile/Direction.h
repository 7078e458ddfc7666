//===- Direction.h - which way a program goes over positions ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_DIRECTION_H
#define POLYATTN_CONVERSION_DIRECTION_H

namespace polyattn {

/// Forwards what a block leaves behind reaches later positions, as keys reach later queries.
/// Backwards it reaches earlier ones, as what is known of queries reaches earlier keys.
enum class Direction { Forwards, Backwards };

} // namespace polyattn

#endif // POLYATTN_CONVERSION_DIRECTION_H
