//===- SoftmaxAttention.h - causal softmax attention ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The yardstick of quadratic time in the plots of `make bench`: blocks of
// keys with a running maximum, as FlashAttention has it, so that no T x T matrix is formed.
// It is ours and decent, not a tuned library; comparisons say so.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_BENCHMARKS_SOFTMAX_SOFTMAXATTENTION_H
#define POLYATTN_BENCHMARKS_SOFTMAX_SOFTMAXATTENTION_H

#include <cstdint>

namespace polyattn::bench {

/// Queries, keys, values and results in [B, T, H, d], contiguous.
struct AttentionShape {
  int64_t batch, tokens, heads, width, valueWidth;
};

/// c[m, n] = a[m, k] b[k, n], added to c where `accumulate`; row strides lda, ldb, ldc.
using MatrixProduct = void (*)(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                               const float *b, int64_t ldb, float *c, int64_t ldc, bool accumulate);

/// A register-tiled product in plain C++, for programs that need no BLAS.
void plainProduct(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                  int64_t ldb, float *c, int64_t ldc, bool accumulate);

/// o_i = sum over j <= i of softmax_j(<q_i, k_j> / sqrt(width)) v_j.
void softmaxAttention(const AttentionShape &shape, const float *q, const float *k, const float *v,
                      float *o, MatrixProduct product = plainProduct);

} // namespace polyattn::bench

#endif // POLYATTN_BENCHMARKS_SOFTMAX_SOFTMAXATTENTION_H
