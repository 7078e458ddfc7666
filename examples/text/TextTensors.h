//===- TextTensors.h - attention inputs from the bytes of a text -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_EXAMPLES_TEXT_TEXTTENSORS_H
#define POLYATTN_EXAMPLES_TEXT_TEXTTENSORS_H

#include <cstdint>
#include <string>
#include <vector>

namespace polyattn::text {

/// Row-major values with their sizes.
struct Tensor {
  std::vector<int64_t> sizes;
  std::vector<float> data;
};

/// Normal values, the same on every machine for one seed, up to libm.
Tensor normalTensor(std::vector<int64_t> sizes, double deviation, uint64_t seed);

/// The first layer of a byte-level model whose weights are random: per byte a row of an
/// embedding table, plus sinusoidal positions, layer-normalized. [tokens, width]. A text that is
/// too short is read again from its beginning.
Tensor embedBytes(const std::string &text, int64_t tokens, int64_t width, uint64_t seed);

/// x W for a random W with variance 1 / width, split into heads: [1, tokens, heads, headWidth].
Tensor projectToHeads(const Tensor &x, int64_t heads, int64_t headWidth, uint64_t seed);

} // namespace polyattn::text

#endif // POLYATTN_EXAMPLES_TEXT_TEXTTENSORS_H
