//===- Peak.h - multiply-adds per second of this machine --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_BENCHMARKS_PEERS_PEAK_H
#define POLYATTN_BENCHMARKS_PEERS_PEAK_H

namespace polyattn::bench {

/// f32 operations per second of independent multiply-adds in registers on one thread, for
/// about so long. Built for the machine at hand, so with its widest vectors.
double measurePeak(double seconds);

} // namespace polyattn::bench

#endif // POLYATTN_BENCHMARKS_PEERS_PEAK_H
