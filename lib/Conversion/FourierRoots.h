//===- FourierRoots.h - the roots of unity of transforms --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_FOURIERROOTS_H
#define POLYATTN_LIB_CONVERSION_FOURIERROOTS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace polyattn {

/// Computes roots of a table of `tile.fourier_roots` from their numbers: one i32, or a vector of
/// them.
class FourierRoots {
public:
  using Value = mlir::Value;

  FourierRoots(mlir::ImplicitLocOpBuilder &builder, mlir::Type numbers)
      : b(builder), integers(numbers), floats(like(numbers, builder.getF32Type())) {}

  /// Root `number` of those for m = 2^exponent rows, which is 3 k + j - 1: its real and imaginary
  /// parts. The exponent is an i32.
  ///
  /// The angle j k / m is a number of quarters of a circle and a rest of at most an eighth. Both
  /// are exact.
  std::pair<Value, Value> at(Value number, Value exponent) {
    using namespace mlir::arith;
    Value one = scalar(1);
    Value quarter = splat(make<ShLIOp>(one, make<SubIOp>(exponent, scalar(2))));
    Value exponentOfHalf = splat(make<SubIOp>(exponent, one));
    // 1 / m, which is an exponent of f32 alone.
    Value bits = make<ShLIOp>(make<SubIOp>(scalar(127), exponent), scalar(23));
    Value unit = splat(BitcastOp::create(b, b.getF32Type(), bits));

    Value k = make<DivUIOp>(number, integer(3));
    Value j = make<SubIOp>(make<AddIOp>(number, integer(1)), make<MulIOp>(k, integer(3)));
    Value product = make<MulIOp>(j, k);
    Value twice = make<AddIOp>(product, product);
    Value quarters = make<ShRUIOp>(make<AddIOp>(twice, quarter), exponentOfHalf);
    Value rest = make<SubIOp>(product, make<MulIOp>(quarters, quarter));
    Value turn = make<MulFOp>(SIToFPOp::create(b, floats, rest), unit);
    Value square = make<MulFOp>(turn, turn), sine = sineOf(turn, square), cosine = cosineOf(square);

    // cos and -sin of the whole angle.
    Value odd =
        CmpIOp::create(b, CmpIPredicate::ne, make<AndIOp>(quarters, integer(1)), integer(0));
    Value real = make<SelectOp>(odd, sine, cosine), imaginary = make<SelectOp>(odd, cosine, sine);
    return {negatedInHalf(real, make<AddIOp>(quarters, integer(1))),
            negatedInHalf(imaginary, make<AddIOp>(quarters, integer(2)))};
  }

private:
  template <typename Op, typename... Operands> Value make(Value x, Operands... rest) {
    return Op::create(b, x, rest...).getResult();
  }
  static mlir::Type like(mlir::Type type, mlir::Type element) {
    auto vector = llvm::dyn_cast<mlir::VectorType>(type);
    return vector ? mlir::Type(vector.clone(element)) : element;
  }
  Value constant(mlir::Type type, mlir::TypedAttr value) {
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      value = mlir::DenseElementsAttr::get(vector, mlir::Attribute(value));
    return mlir::arith::ConstantOp::create(b, value);
  }
  Value scalar(int32_t value) { return constant(b.getI32Type(), b.getI32IntegerAttr(value)); }
  Value integer(int32_t value) { return constant(integers, b.getI32IntegerAttr(value)); }
  Value number(double value) { return constant(floats, b.getF32FloatAttr(float(value))); }
  Value splat(Value scalar) {
    mlir::Type type = like(integers, scalar.getType());
    return type == scalar.getType()
               ? scalar
               : mlir::vector::BroadcastOp::create(b, type, scalar).getResult();
  }
  /// x y + z with one rounding.
  Value fma(Value x, Value y, Value z) { return make<mlir::math::FmaOp>(x, y, z); }

  /// Sine of 2 pi t for |t| <= 1/8. The terms of its series up to t^9 leave an error below 3e-9,
  /// and 2 pi is the sum of two f32.
  Value sineOf(Value t, Value square) {
    Value sum = number(42.05869394489765);
    for (double coefficient : {-76.70585975306136, 81.60524927607504, -41.341702240399755})
      sum = fma(sum, square, number(coefficient));
    Value rest = make<mlir::arith::MulFOp>(t, fma(sum, square, number(kRestOfTwoPi)));
    return fma(t, number(kTwoPi), rest);
  }
  /// The terms up to t^10 leave an error below 2e-10.
  Value cosineOf(Value square) {
    Value sum = number(-26.42625678337438);
    for (double coefficient :
         {60.24464137187666, -85.45681720669373, 64.93939402266829, -19.739208802178716, 1.0})
      sum = fma(sum, square, number(coefficient));
    return sum;
  }
  /// x, with the other sign where bit 1 of an integer is set: in one half of a circle.
  Value negatedInHalf(Value x, Value quarters) {
    using namespace mlir::arith;
    Value sign = make<ShLIOp>(make<AndIOp>(quarters, integer(2)), integer(30));
    Value bits = make<XOrIOp>(BitcastOp::create(b, integers, x), sign);
    return BitcastOp::create(b, floats, bits);
  }

  static constexpr double kTwoPi = 6.2831854820251465, kRestOfTwoPi = -1.7484556000744883e-07;

  mlir::ImplicitLocOpBuilder &b;
  mlir::Type integers, floats;
};

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_FOURIERROOTS_H
