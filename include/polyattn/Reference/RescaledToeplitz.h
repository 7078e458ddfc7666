//===- RescaledToeplitz.h - products with Toeplitz matrices -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Section 3 of "Fast RoPE Attention" (Alman and Song 2025) in f64: Toeplitz matrices between two
// diagonal ones, their entry-wise products, and their products with vectors by Fourier transforms.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_REFERENCE_RESCALEDTOEPLITZ_H
#define POLYATTN_REFERENCE_RESCALEDTOEPLITZ_H

#include "polyattn/Reference/Array.h"
#include "llvm/Support/Error.h"

namespace polyattn {

/// Definition 3.7: the n x n matrix diag(left) Toep(table) diag(right). Its entry (i, j) is
/// left[i] table[i - j + n - 1] right[j].
struct RescaledToeplitz {
  /// n numbers, n >= 1.
  std::vector<double> left;
  /// 2n - 1 numbers for the lags from -(n - 1) to n - 1 (Definition 3.4).
  std::vector<double> table;
  /// n numbers.
  std::vector<double> right;

  int64_t size() const { return left.size(); }
};

/// Fact 3.8: the matrix times each column of `columns`, [n, m], in O(m n log n) operations. The
/// Toeplitz matrix is a corner of a circulant one (Fact 3.5), which Fourier transforms diagonalize
/// (Fact 3.3). Fails where the sizes do not fit each other or a number is not finite.
llvm::Expected<Array> multiply(const RescaledToeplitz &matrix, const Array &columns);

/// Lemma 3.9: the entry-wise product, which is a rescaled Toeplitz matrix again. With `multiply`
/// this is Lemma 3.10. The lemma counts a transform for each factor; one is enough, as the factors
/// are multiplied before it. Fails where the sizes do not fit each other.
llvm::Expected<RescaledToeplitz> entrywiseProduct(const RescaledToeplitz &a,
                                                  const RescaledToeplitz &b);

} // namespace polyattn

#endif // POLYATTN_REFERENCE_RESCALEDTOEPLITZ_H
