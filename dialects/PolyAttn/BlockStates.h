//===- BlockStates.h - states after blocks, as rows of a tensor -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state S [D x dv] and its normalizer z [D] after each block of L positions lie in the rows of
// that block, in a tensor [B, T, Hs, W]: it has the sizes of any other tensor of rows, whatever L
// is. Row r of a block has
//
//   element  i D + f               S[f, i L + r]   for i < ceil(dv / L), and 0 where i L + r >= dv
//   element  ceil(dv / L) D + c    z[c L + r]      for c < ceil(D / L), and 0 where c L + r >= D
//
// so that what reads the state transposed, as gradients of queries do, reads rows of it. Nothing is
// left over where L divides dv and D.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_BLOCKSTATES_H
#define POLYATTN_DIALECTS_BLOCKSTATES_H

#include "llvm/Support/MathExtras.h"
#include <cstdint>

namespace polyattn {

struct BlockStates {
  /// The most positions that a block of a schedule has.
  static constexpr int64_t kMaxLength = 1024;

  int64_t features = 0, values = 0; // D, dv
  int64_t length = 0;               // L
  bool hasNormalizer = false;

  /// The pieces of at most L elements that a value has, and those of the normalizer.
  int64_t valuePieces() const { return llvm::divideCeil(values, length); }
  int64_t normalizerPieces() const {
    return hasNormalizer ? llvm::divideCeil(features, length) : 0;
  }
  /// W, the elements of a row.
  int64_t width() const { return valuePieces() * features + normalizerPieces(); }
  /// The first element of a piece in each row.
  int64_t valueColumn(int64_t piece) const { return piece * features; }
  int64_t normalizerColumn(int64_t piece) const { return valuePieces() * features + piece; }
  /// How many rows of a block a piece takes.
  int64_t valueRows(int64_t piece) const { return rowsOf(values, piece); }
  int64_t normalizerRows(int64_t piece) const { return rowsOf(features, piece); }

private:
  int64_t rowsOf(int64_t all, int64_t piece) const {
    int64_t rest = all - piece * length;
    return rest < length ? rest : length;
  }
};

} // namespace polyattn

#endif // POLYATTN_DIALECTS_BLOCKSTATES_H
