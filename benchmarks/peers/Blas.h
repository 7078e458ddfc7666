//===- Blas.h - the products that peers ask of OpenBLAS ---------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_BENCHMARKS_PEERS_BLAS_H
#define POLYATTN_BENCHMARKS_PEERS_BLAS_H

#include <cblas.h>
#include <cstdint>

namespace polyattn::bench {

enum class Operand { AsIs, Transposed };

/// c[m, n] (+)= op(a)[m, k] op(b)[k, n].
inline void blasProduct(Operand opA, Operand opB, int64_t m, int64_t n, int64_t k, const float *a,
                        int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc,
                        bool accumulate) {
  cblas_sgemm(CblasRowMajor, opA == Operand::AsIs ? CblasNoTrans : CblasTrans,
              opB == Operand::AsIs ? CblasNoTrans : CblasTrans, blasint(m), blasint(n), blasint(k),
              1, a, blasint(lda), b, blasint(ldb), accumulate ? 1 : 0, c, blasint(ldc));
}

/// c[m, n] (+)= a[m, k] b[k, n].
inline void blasProduct(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                        const float *b, int64_t ldb, float *c, int64_t ldc, bool accumulate) {
  blasProduct(Operand::AsIs, Operand::AsIs, m, n, k, a, lda, b, ldb, c, ldc, accumulate);
}

} // namespace polyattn::bench

#endif // POLYATTN_BENCHMARKS_PEERS_BLAS_H
