//===- PositionEmission.cpp - vectors that know their position ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorEmission.h"
#include <tuple>

using namespace mlir;
using namespace polyattn;

static int64_t widthOf(Value vector) { return cast<FeatureType>(vector.getType()).getWidth(); }

/// The angle is formed and reduced in f64: at position 10^6 an f32 product has no digit left of it.
Value polyattn::emit(VectorProgram &program, RopeOp op) {
  TileBuilder &b = program.builder();
  const BlockRows &rowRange = program.getRows();
  Value x = program.full(op.getInput());
  int64_t dims = op.getDims(), half = dims / 2, width = widthOf(op.getInput());
  double scale = op.getScale().convertToDouble(), offset = op.getOffset().convertToDouble();
  auto positionType = tile::TileType::get(b.getContext(), 1, program.getColumns(), b.getF64Type());
  Value positions = tile::IotaOp::create(b, positionType, rowRange.rowOfCall);
  // Beside the rows, which are numbers of 32 bits on a GPU.
  Value start;
  if (rowRange.firstPosition)
    start = arith::SIToFPOp::create(b, b.getF64Type(), rowRange.firstPosition);
  Value angle = b.map(
      {program.weight(op.getFreqs()), positions}, [&](ElementBuilder &e, ValueRange in) -> Value {
        auto number = [&](double value) -> Value {
          return arith::ConstantOp::create(e, e.getF64FloatAttr(value));
        };
        Value frequency = arith::ExtFOp::create(e, e.getF64Type(), in[0]);
        Value position = start ? e.add(in[1], start) : in[1];
        Value turned = e.mul(e.mul(e.add(position, number(offset)), number(scale)), frequency);
        Value turns = math::RoundEvenOp::create(e, e.mul(turned, number(0.5 / M_PI)));
        Value reduced = e.sub(turned, e.mul(turns, number(2 * M_PI)));
        return arith::TruncFOp::create(e, e.getF32Type(), reduced);
      });
  Value cosine = b.map(angle, [](ElementBuilder &e, ValueRange in) -> Value {
    return math::CosOp::create(e, in[0]);
  });
  bool inverse = op.getInverse();
  Value sine = b.map(angle, [&](ElementBuilder &e, ValueRange in) -> Value {
    Value sine = math::SinOp::create(e, in[0]);
    return inverse ? e.sub(e.constant(0), sine) : sine;
  });

  SmallVector<int64_t> first(half), second(half), weave(dims);
  bool readHalves = op.getLayout() == RopeLayout::Half;
  bool writePairs = op.getLayout() == RopeLayout::Interleaved;
  if (inverse) // from where the layout writes to where it reads
    std::tie(readHalves, writePairs) = std::pair(!writePairs, !readHalves);
  for (int64_t m = 0; m < half; ++m) {
    first[m] = readHalves ? m : 2 * m;
    second[m] = readHalves ? m + half : 2 * m + 1;
    weave[2 * m] = m;
    weave[2 * m + 1] = half + m;
  }
  auto pick = [&](ArrayRef<int64_t> order) -> Value {
    return tile::SelectRowsOp::create(b, b.tileType(order.size(), program.getColumns()), x, order);
  };
  Value left = pick(first), right = pick(second);
  Value newLeft = b.map({left, right, cosine, sine}, [](ElementBuilder &e, ValueRange in) {
    return e.sub(e.mul(in[0], in[2]), e.mul(in[1], in[3]));
  });
  Value newRight = b.map({left, right, cosine, sine}, [](ElementBuilder &e, ValueRange in) {
    return e.add(e.mul(in[0], in[3]), e.mul(in[1], in[2]));
  });
  SmallVector<Value> parts = {newLeft, newRight};
  if (writePairs)
    parts = {tile::SelectRowsOp::create(b, b.tileType(dims, program.getColumns()), b.concat(parts),
                                        weave)};
  if (width > dims)
    parts.push_back(b.slice(x, b.index(dims), width - dims));
  return b.concat(parts);
}

Value polyattn::emit(VectorProgram &, RelativeOp) {
  llvm_unreachable("a score by distance has no vector (attend, C14)");
}

Value polyattn::emit(VectorProgram &, ConvolveOp) {
  llvm_unreachable("a convolution has a kernel of its own (kernel, C5)");
}

Value polyattn::emit(VectorProgram &, RelativeSlopeOp) {
  llvm_unreachable("a slope by distance has no vector (relative_slope, C2)");
}
