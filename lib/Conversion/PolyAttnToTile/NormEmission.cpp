//===- NormEmission.cpp - reductions and normalizations as tiles ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorEmission.h"

using namespace mlir;
using namespace polyattn;

static int64_t widthOf(Value vector) { return cast<FeatureType>(vector.getType()).getWidth(); }

static Value squaredNorm(TileBuilder &b, Value tile) {
  return b.reduceRows(
      b.map(tile, [](ElementBuilder &e, ValueRange in) { return e.mul(in[0], in[0]); }));
}

namespace {
/// A power of two, and the sum of the squares of the elements times that, which neither
/// overflows nor vanishes.
struct ScaledNorm {
  Value scale, squares; // [1 x C]
};
} // namespace

static Value magnitudesOf(TileBuilder &b, Value tile) {
  return b.map(tile, [](ElementBuilder &e, ValueRange in) -> Value {
    return math::AbsFOp::create(e, in[0]);
  });
}

/// From which sum of magnitudes on elements are scaled, and by what: up to the largest number, sums
/// of their squares stay within the range.
static constexpr double kLargeSum = 0x1p50, kScaleOfLarge = 0x1p-70;

/// Powers of two that bring the largest element between 2^-60 and 2^50: nothing is rounded, and
/// what a smaller one's square loses below 2^-126 is nothing beside it. The sum of magnitudes says
/// as well as their maximum how large that is, and an addition is quicker; infinite it may be.
static ScaledNorm scaledNorm(TileBuilder &b, Value tile) {
  Value scale = b.map(b.reduceRows(magnitudesOf(b, tile)), [](ElementBuilder &e, ValueRange in) {
    auto power = [&](int exponent) { return e.constant(std::ldexp(1.0, exponent)); };
    Value small = e.select(e.less(in[0], power(-100)), power(120), power(75));
    Value scale = e.select(e.less(in[0], power(-50)), small, power(0));
    return e.select(e.less(e.constant(kLargeSum), in[0]), e.constant(kScaleOfLarge), scale);
  });
  return {scale, squaredNorm(b, b.mul(tile, scale))};
}

Value polyattn::emit(VectorProgram &program, SquaredNormOp op) {
  return squaredNorm(program.builder(), program.full(op.getInput()));
}

/// Reduces the elements of each vector. Rows of attends, and of tensors that nothing else reads,
/// need not become columns.
static Value reduce(VectorProgram &program, Value vector, tile::ReduceKind kind) {
  TileBuilder &b = program.builder();
  bool isOfAttends = isa<KernelOp>(vector.getDefiningOp()->getParentOp());
  if (!program.hasRows(vector) || !(isOfAttends || vector.hasOneUse()))
    return b.reduceRows(program.full(vector), kind);
  return b.transpose(
      b.reduceColumns(program.rowMajor(vector), Value(), tile::Triangle::None, kind));
}

Value polyattn::emit(VectorProgram &program, MaxOp op) {
  return reduce(program, op.getInput(), tile::ReduceKind::Max);
}

Value polyattn::emit(VectorProgram &program, SumOp op) {
  return reduce(program, op.getInput(), tile::ReduceKind::Add);
}

/// Marks all that are as large, and keeps the marks with no other at or before them: marks are
/// counted up to each row by sums over 2, 4, 8, ... rows.
Value polyattn::emit(VectorProgram &program, FirstMaxOp op) {
  TileBuilder &b = program.builder();
  Value x = program.full(op.getInput());
  int64_t width = widthOf(op.getInput()), columns = program.getColumns();
  Value marks = b.map({x, b.reduceRows(x, tile::ReduceKind::Max)},
                      [](ElementBuilder &e, ValueRange in) -> Value {
                        return e.select(e.less(in[0], in[1]), e.constant(0), e.constant(1));
                      });
  Value counts = marks;
  for (int64_t distance = 1; distance < width; distance *= 2) {
    Value earlier =
        b.concat({b.constant(distance, columns, 0), b.slice(counts, b.index(0), width - distance)});
    counts = b.add(counts, earlier);
  }
  return b.map({marks, counts}, [](ElementBuilder &e, ValueRange in) {
    return e.select(e.less(e.constant(1.5), in[1]), e.constant(0), in[0]);
  });
}

Value polyattn::emit(VectorProgram &program, L2NormOp op) {
  TileBuilder &b = program.builder();
  double eps = op.getEps().convertToDouble();
  Value x = program.full(op.getInput());
  auto [scale, squares] = scaledNorm(b, x);
  Value inverse = b.map({squares, scale}, [&](ElementBuilder &e, ValueRange in) {
    Value length = math::SqrtOp::create(e, in[0]), floor = e.mul(e.constant(eps), in[1]);
    return e.div(e.constant(1), e.select(e.less(length, floor), floor, length));
  });
  return b.map({x, scale, inverse},
               [](ElementBuilder &e, ValueRange in) { return e.mul(e.mul(in[0], in[1]), in[2]); });
}

Value polyattn::emit(VectorProgram &program, L2RescaleOp op) {
  TileBuilder &b = program.builder();
  Value x = program.full(op.getInput());
  auto [scale, squares] = scaledNorm(b, x);
  auto [targetScale, target] = scaledNorm(b, program.full(op.getReference()));
  // The direction first, which is at most 1: no product on the way is too large.
  Value inverse = b.map(squares, [](ElementBuilder &e, ValueRange in) -> Value {
    Value zero = e.constant(0);
    Value isZero = arith::CmpFOp::create(e, arith::CmpFPredicate::OEQ, in[0], zero);
    return e.select(isZero, zero, e.div(e.constant(1), math::SqrtOp::create(e, in[0])));
  });
  // A vector without a direction is zero, whatever the length.
  Value length = b.map({target, targetScale, squares}, [](ElementBuilder &e, ValueRange in) {
    Value zero = e.constant(0), length = e.div(math::SqrtOp::create(e, in[0]), in[1]);
    Value isZero = arith::CmpFOp::create(e, arith::CmpFPredicate::OEQ, in[2], zero);
    return e.select(isZero, zero, length);
  });
  return b.map({x, scale, inverse, length}, [](ElementBuilder &e, ValueRange in) {
    return e.mul(e.mul(e.mul(in[0], in[1]), in[2]), in[3]);
  });
}

Value polyattn::emit(VectorProgram &program, SumNormOp op) {
  TileBuilder &b = program.builder();
  Value x = program.full(op.getInput());
  return b.map({x, b.reduceRows(x)}, [&](ElementBuilder &e, ValueRange in) {
    return e.div(in[0], e.add(in[1], e.constant(op.getEps().convertToDouble())));
  });
}

Value polyattn::emit(VectorProgram &program, LayerNormOp op) {
  TileBuilder &b = program.builder();
  Value x = program.full(op.getInput());
  double n = widthOf(op.getInput()), eps = op.getEps().convertToDouble();
  bool inside = op.getEpsPlace() == EpsPlace::Inside;
  // Squares of deviations must not leave the range. Neither must eps, which is scaled alike, so
  // that elements that are all equal have a deviation to be divided by.
  double scaledEps = eps * (inside ? kScaleOfLarge * kScaleOfLarge : kScaleOfLarge);
  if (eps > 0)
    scaledEps = std::max(scaledEps, 0x1p-120);
  Value magnitude = b.reduceRows(magnitudesOf(b, x));
  auto scaled = [&](double of, double ofLarge) {
    return b.map(magnitude, [&](ElementBuilder &e, ValueRange in) {
      return e.select(e.less(e.constant(kLargeSum), in[0]), e.constant(ofLarge), e.constant(of));
    });
  };
  x = b.mul(x, scaled(1, kScaleOfLarge));
  Value mean = b.map(b.reduceRows(x), [&](ElementBuilder &e, ValueRange in) {
    return e.mul(in[0], e.constant(1 / n));
  });
  Value centered = b.sub(x, mean);
  Value squares = squaredNorm(b, centered);
  auto divide = [&](ElementBuilder &e, ValueRange in) -> Value {
    Value variance = e.mul(in[0], e.constant(1 / n));
    if (inside)
      variance = e.add(variance, in[1]);
    Value divisor = math::SqrtOp::create(e, variance);
    if (!inside)
      divisor = e.add(divisor, in[1]);
    return e.div(e.constant(1), divisor);
  };
  Value inverse = b.map({squares, scaled(eps, scaledEps)}, divide);
  SmallVector<Value> inputs = {centered, inverse};
  for (Value affine : op.getAffine())
    inputs.push_back(program.weight(affine));
  return b.map(inputs, [](ElementBuilder &e, ValueRange in) {
    Value y = e.mul(in[0], in[1]);
    if (in.size() > 2)
      y = e.mul(y, in[2]);
    return in.size() > 3 ? e.add(y, in[3]) : y;
  });
}

Value polyattn::emit(VectorProgram &program, SoftmaxOp op) {
  TileBuilder &b = program.builder();
  Value x = program.full(op.getInput());
  int64_t length = widthOf(op.getInput()) / op.getGroups();
  SmallVector<Value> groups;
  for (int64_t g = 0; g < int64_t(op.getGroups()); ++g) {
    Value group = b.slice(x, b.index(g * length), length);
    Value largest = b.reduceRows(group, tile::ReduceKind::Max);
    Value exponentials = b.map({group, largest}, [](ElementBuilder &e, ValueRange in) -> Value {
      return math::ExpOp::create(e, e.sub(in[0], in[1]));
    });
    groups.push_back(b.map({exponentials, b.reduceRows(exponentials)},
                           [](ElementBuilder &e, ValueRange in) { return e.div(in[0], in[1]); }));
  }
  return b.concat(groups);
}
