//===- PlainProduct.cpp - a matrix product without BLAS -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxAttention.h"
#include <algorithm>
#include <cstring>

using namespace polyattn::bench;

namespace {

typedef float Vector __attribute__((vector_size(64)));
constexpr int64_t kLanes = 16;

/// Rows x 32 sums in registers: enough independent multiply-adds to hide their latency.
template <int Rows>
void microKernel(int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb, float *c,
                 int64_t ldc, bool accumulate) {
  Vector sums[Rows][2];
  for (int i = 0; i < Rows; ++i)
    for (int n = 0; n < 2; ++n)
      if (accumulate)
        std::memcpy(&sums[i][n], c + i * ldc + n * kLanes, sizeof(Vector));
      else
        sums[i][n] = Vector{};
  for (int64_t p = 0; p < k; ++p) {
    Vector right[2];
    std::memcpy(right, b + p * ldb, sizeof(right));
    for (int i = 0; i < Rows; ++i)
      for (int n = 0; n < 2; ++n)
        sums[i][n] += a[i * lda + p] * right[n];
  }
  for (int i = 0; i < Rows; ++i)
    std::memcpy(c + i * ldc, sums[i], sizeof(sums[i]));
}

void edge(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
          float *c, int64_t ldc, bool accumulate) {
  for (int64_t i = 0; i < m; ++i) {
    if (!accumulate)
      std::fill_n(c + i * ldc, n, 0.0f);
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j)
        c[i * ldc + j] += a[i * lda + p] * b[p * ldb + j];
  }
}

} // namespace

void polyattn::bench::plainProduct(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                                   const float *b, int64_t ldb, float *c, int64_t ldc,
                                   bool accumulate) {
  constexpr int64_t kRows = 8, kColumns = 2 * kLanes;
  int64_t wholeRows = m / kRows * kRows, wholeColumns = n / kColumns * kColumns;
  for (int64_t j = 0; j < wholeColumns; j += kColumns)
    for (int64_t i = 0; i < wholeRows; i += kRows)
      microKernel<kRows>(k, a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, accumulate);
  edge(wholeRows, n - wholeColumns, k, a, lda, b + wholeColumns, ldb, c + wholeColumns, ldc,
       accumulate);
  edge(m - wholeRows, n, k, a + wholeRows * lda, lda, b, ldb, c + wholeRows * ldc, ldc, accumulate);
}
