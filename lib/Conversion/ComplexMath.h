//===- ComplexMath.h - complex numbers of transforms ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_COMPLEXMATH_H
#define POLYATTN_LIB_CONVERSION_COMPLEXMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <array>

namespace polyattn {

/// Real and imaginary parts: f32, or vectors of them.
struct Complex {
  mlir::Value re, im;
};

/// Emits the arithmetic of Fourier transforms, the same on all targets. Products are fused with the
/// sums they go to.
class ComplexMath {
public:
  using Value = mlir::Value;

  explicit ComplexMath(mlir::ImplicitLocOpBuilder &builder) : b(builder) {}

  // Real numbers.
  Value add(Value x, Value y) const { return mlir::arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) const { return mlir::arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) const { return mlir::arith::MulFOp::create(b, x, y); }
  Value negate(Value x) const { return mlir::arith::NegFOp::create(b, x); }
  /// x y + z.
  Value fma(Value x, Value y, Value z) const { return mlir::math::FmaOp::create(b, x, y, z); }
  /// x y - z.
  Value fms(Value x, Value y, Value z) const { return fma(x, y, negate(z)); }

  // Complex numbers.
  Complex add(Complex x, Complex y) const { return {add(x.re, y.re), add(x.im, y.im)}; }
  Complex sub(Complex x, Complex y) const { return {sub(x.re, y.re), sub(x.im, y.im)}; }
  Complex conjugate(Complex x) const { return {x.re, negate(x.im)}; }
  /// x times a real number.
  Complex scale(Complex x, Value factor) const { return {mul(x.re, factor), mul(x.im, factor)}; }
  /// x times a real number, + y.
  Complex scaleAndAdd(Complex x, Value factor, Complex y) const {
    return {fma(x.re, factor, y.re), fma(x.im, factor, y.im)};
  }
  /// x y, or x times the conjugate of y.
  Complex multiply(Complex x, Complex y, bool conjugate) const {
    Value im = mul(x.im, y.im), re = mul(x.re, y.im);
    if (conjugate)
      return {fma(x.re, y.re, im), fms(x.im, y.re, re)};
    return {fms(x.re, y.re, im), fma(x.im, y.re, re)};
  }
  /// -i x, or with `inverse` i x.
  Complex turn(Complex x, bool inverse) const {
    return inverse ? Complex{negate(x.im), x.re} : Complex{x.im, negate(x.re)};
  }
  /// x - i y, or with `inverse` x + i y.
  Complex addTurned(Complex x, Complex y, bool inverse) const {
    return inverse ? Complex{sub(x.re, y.im), add(x.im, y.re)}
                   : Complex{add(x.re, y.im), sub(x.im, y.re)};
  }

  /// Four rows of a block, a quarter of it apart, and the result in their places. `rotate`
  /// multiplies by root j of the block, or with `inverse` by its conjugate. With `isHalf` the last
  /// two rows are zero and not read, or with `inverse` not computed.
  std::array<Complex, 4> butterfly(std::array<Complex, 4> in, bool inverse, bool isHalf,
                                   llvm::function_ref<Complex(Complex, int j)> rotate) const {
    return inverse ? inverseButterfly(in, isHalf, rotate) : forwardButterfly(in, isHalf, rotate);
  }

  /// Multiplies spectra at a frequency and at the opposite one. They are those of x1 + i x2 and
  /// z1 + i z2, for real sequences; the result is 4 times that of x1 * z1 + i x2 * z2, where * is
  /// a convolution, or with `conjugate` a correlation.
  ///
  /// The sum of a number and the conjugate of the opposite one is twice the spectrum of x1, and
  /// their difference is 2 i times that of x2.
  std::array<Complex, 2> multiplyPair(std::array<Complex, 2> x, std::array<Complex, 2> z,
                                      bool conjugate) const {
    auto split = [&](std::array<Complex, 2> pair) {
      auto [own, other] = pair;
      return std::pair(Complex{add(own.re, other.re), sub(own.im, other.im)},
                       Complex{sub(own.re, other.re), add(own.im, other.im)});
    };
    auto [x1, x2] = split(x);
    auto [z1, z2] = split(z);
    Complex first = multiply(x1, z1, conjugate), second = multiply(x2, z2, conjugate);
    // The second product has the factor (2 i)^2 = -4, or with a conjugate 4.
    Complex own = addTurned(first, second, /*inverse=*/conjugate);
    Complex other = this->conjugate(addTurned(first, second, /*inverse=*/!conjugate));
    return {own, other};
  }

private:
  using Rotation = llvm::function_ref<Complex(Complex, int)>;

  std::array<Complex, 4> forwardButterfly(std::array<Complex, 4> in, bool isHalf,
                                          Rotation rotate) const {
    Complex sum = in[0], others = in[1], difference = in[0], turned = in[1];
    if (!isHalf) {
      sum = add(in[0], in[2]), others = add(in[1], in[3]);
      difference = sub(in[0], in[2]), turned = sub(in[1], in[3]);
    }
    return {add(sum, others), rotate(sub(sum, others), 2),
            rotate(addTurned(difference, turned, /*inverse=*/false), 1),
            rotate(addTurned(difference, turned, /*inverse=*/true), 3)};
  }
  std::array<Complex, 4> inverseButterfly(std::array<Complex, 4> in, bool isHalf,
                                          Rotation rotate) const {
    Complex second = rotate(in[1], 2), third = rotate(in[2], 1), fourth = rotate(in[3], 3);
    Complex sum = add(in[0], second), difference = sub(in[0], second);
    Complex others = add(third, fourth), turned = sub(third, fourth);
    std::array<Complex, 4> out = {add(sum, others),
                                  addTurned(difference, turned, /*inverse=*/true)};
    if (!isHalf) {
      out[2] = sub(sum, others);
      out[3] = addTurned(difference, turned, /*inverse=*/false);
    }
    return out;
  }

  mlir::ImplicitLocOpBuilder &b;
};

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_COMPLEXMATH_H
