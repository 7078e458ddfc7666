//===- ChunkedAttention.h - linear-time attention on OpenBLAS ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_BENCHMARKS_PEERS_CHUNKEDATTENTION_H
#define POLYATTN_BENCHMARKS_PEERS_CHUNKEDATTENTION_H

#include "Entry.h"

namespace polyattn::bench {

/// Numbers that change nothing but the speed.
struct Blocking {
  /// Positions whose features are materialized at once.
  int64_t chunk = 64;
  /// Rows of one product of scores: smaller ones skip more of the upper triangle.
  int64_t tile = 64;
};

/// o of `tensors`, causal, block by block: products by OpenBLAS, the rest in plain loops.
void chunkedAttention(const Entry &entry, const Sizes &sizes, Tensors &tensors,
                      const Blocking &blocking);

} // namespace polyattn::bench

#endif // POLYATTN_BENCHMARKS_PEERS_CHUNKEDATTENTION_H
