/*===- reference.h - what the examples compare with -------------*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* specs/linear.mlir by its definition, in double precision: phi(x) = elu(x) + 1,
 * o_i = sum over j <= i of <phi(q_i), phi(k_j)> v_j, over the sum of the same scores. */
#ifndef POLYATTN_EXAMPLES_REFERENCE_H
#define POLYATTN_EXAMPLES_REFERENCE_H

#include <math.h>
#include <stdint.h>

enum { BATCH = 2, POSITIONS = 150, HEADS = 3, WIDTH = 64 };
#define ELEMENTS (BATCH * POSITIONS * HEADS * WIDTH)

static const int64_t example_sizes[4] = {BATCH, POSITIONS, HEADS, WIDTH};

static inline int64_t example_index(int b, int t, int h, int c) {
  return (((int64_t)b * POSITIONS + t) * HEADS + h) * WIDTH + c;
}

/* Numbers between -1 and 1 that look random. */
static inline void example_fill(float *data, uint32_t seed) {
  for (int64_t i = 0; i < ELEMENTS; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
  }
}

static inline double example_feature(double x) { return x > 0 ? x + 1 : exp(x); }

/* The relative error of `o`, |o - reference| / |reference|. */
static inline double example_error(const float *q, const float *k, const float *v, const float *o) {
  double difference = 0, norm = 0;
  for (int b = 0; b < BATCH; ++b)
    for (int h = 0; h < HEADS; ++h)
      for (int i = 0; i < POSITIONS; ++i) {
        double numerator[WIDTH] = {0}, denominator = 1e-6;
        for (int j = 0; j <= i; ++j) {
          double score = 0;
          for (int c = 0; c < WIDTH; ++c)
            score += example_feature(q[example_index(b, i, h, c)]) *
                     example_feature(k[example_index(b, j, h, c)]);
          denominator += score;
          for (int c = 0; c < WIDTH; ++c)
            numerator[c] += score * v[example_index(b, j, h, c)];
        }
        for (int c = 0; c < WIDTH; ++c) {
          double wanted = numerator[c] / denominator;
          double error = o[example_index(b, i, h, c)] - wanted;
          difference += error * error;
          norm += wanted * wanted;
        }
      }
  return sqrt(difference / norm);
}

#endif /* POLYATTN_EXAMPLES_REFERENCE_H */
