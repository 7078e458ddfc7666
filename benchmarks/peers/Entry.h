//===- Entry.h - the measured attentions, as their peers see them -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_BENCHMARKS_PEERS_ENTRY_H
#define POLYATTN_BENCHMARKS_PEERS_ENTRY_H

#include <cstdint>
#include <string>
#include <vector>

namespace polyattn::bench {

enum class System { Llops, Sketch, Power, Based, Linear, Softmax };
enum class Normalizer { None, SumPlusEps, OnePlusSum };

/// An entry of specs/bench.mlir.
struct Entry {
  std::string name;
  System system;
  /// d, dv, and D with powers stored symmetrically.
  int64_t width, valueWidth, features;
  /// The width of the vectors that scores are computed from.
  int64_t leafWidth;
  Normalizer normalizer = Normalizer::None;
  double eps = 0;
  /// Positions that see each other through the exact kernel; 0 where there is none.
  int64_t localBlock = 0;
};

/// The entry of that name, null where there is none.
const Entry *findEntry(const std::string &name);
/// All names, for a message.
std::string entryNames();

struct Sizes {
  int64_t batch = 1, tokens = 16384, heads = 4;
};

/// What one call reads and writes. q, k [B, T, H, d], v, o [B, T, H, dv].
struct Tensors {
  std::vector<float> q, k, v, o;
  /// In the order of the spec's arguments, row-major [d, m].
  std::vector<std::vector<float>> weights;
};

/// Seeded normal numbers; weights with variance 1 / rows.
Tensors makeTensors(const Entry &entry, const Sizes &sizes);

/// The operations that the algorithm needs: the lower triangle of diagonal blocks of 64
/// positions (or of the local block), each feature once, no padding. A multiply-add is two.
double countFlops(const Entry &entry, const Sizes &sizes);

/// The attention by direct loops in f64: sum over j <= i of kappa(q_i, k_j) v_j.
std::vector<double> directAttention(const Entry &entry, const Sizes &sizes, const Tensors &tensors);

} // namespace polyattn::bench

#endif // POLYATTN_BENCHMARKS_PEERS_ENTRY_H
