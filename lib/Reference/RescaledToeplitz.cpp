//===- RescaledToeplitz.cpp - products with Toeplitz matrices -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Reference/RescaledToeplitz.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <complex>

using namespace llvm;
using namespace polyattn;

using Complex = std::complex<double>;

namespace {

/// The discrete Fourier transform of a power of two of numbers (Cooley and Tukey 1965).
class FourierTransform {
public:
  explicit FourierTransform(size_t size) : roots(size) {
    for (size_t k = 0; k < size; ++k)
      roots[k] = std::polar(1.0, -2 * llvm::numbers::pi * double(k) / double(size));
  }

  size_t size() const { return roots.size(); }

  /// F x.
  std::vector<Complex> forward(const std::vector<Complex> &x) const {
    std::vector<Complex> result(size());
    transform(x.data(), 1, result);
    return result;
  }

  /// F^-1 x: the conjugate of F times the conjugate of x, over the size.
  std::vector<Complex> inverse(std::vector<Complex> x) const {
    for (Complex &number : x)
      number = std::conj(number);
    std::vector<Complex> result = forward(x);
    for (Complex &number : result)
      number = std::conj(number) / double(size());
    return result;
  }

private:
  /// Transforms `result.size()` numbers, which are `stride` apart: those at even places, those at
  /// odd places, and both results together.
  void transform(const Complex *x, size_t stride, MutableArrayRef<Complex> result) const {
    if (result.size() == 1) {
      result[0] = *x;
      return;
    }
    size_t half = result.size() / 2;
    transform(x, 2 * stride, result.take_front(half));
    transform(x + stride, 2 * stride, result.drop_front(half));
    for (size_t k = 0; k < half; ++k) {
      Complex even = result[k], odd = roots[k * stride] * result[half + k];
      result[k] = even + odd;
      result[half + k] = even - odd;
    }
  }

  std::vector<Complex> roots;
};

} // namespace

static Error checkSizes(const RescaledToeplitz &matrix) {
  size_t n = matrix.left.size();
  if (n == 0)
    return createStringError("left: expected at least one number");
  if (matrix.right.size() != n)
    return createStringError("right: expected " + Twine(n) + " numbers as left has, got " +
                             Twine(matrix.right.size()));
  if (matrix.table.size() != 2 * n - 1)
    return createStringError("table: expected " + Twine(2 * n - 1) + " numbers, got " +
                             Twine(matrix.table.size()));
  return Error::success();
}

static Error checkFinite(const char *name, ArrayRef<double> numbers) {
  if (!all_of(numbers, [](double x) { return std::isfinite(x); }))
    return createStringError(Twine(name) + ": expected finite numbers");
  return Error::success();
}

static Error check(const RescaledToeplitz &matrix, const Array &columns) {
  if (Error error = checkSizes(matrix))
    return error;
  int64_t n = matrix.size();
  if (columns.rank() != 2 || columns.shape[0] != n || columns.data.size() % n != 0 ||
      int64_t(columns.data.size() / n) != columns.shape[1])
    return createStringError("columns: expected the shape [" + Twine(n) + ", m]");
  if (Error error = checkFinite("left", matrix.left))
    return error;
  if (Error error = checkFinite("table", matrix.table))
    return error;
  if (Error error = checkFinite("right", matrix.right))
    return error;
  return checkFinite("columns", columns.data);
}

/// The first column of the circulant matrix whose corner is the Toeplitz one (Fact 3.5). The fact
/// has 2n numbers, one of them 0; more zeros there make their number a power of two.
static std::vector<Complex> circulantColumn(ArrayRef<double> table, int64_t n, size_t size) {
  std::vector<Complex> column(size);
  for (int64_t lag = 0; lag < n; ++lag)
    column[lag] = table[lag + n - 1];
  for (int64_t lag = 1; lag < n; ++lag)
    column[size - lag] = table[-lag + n - 1];
  return column;
}

Expected<Array> polyattn::multiply(const RescaledToeplitz &matrix, const Array &columns) {
  if (Error error = check(matrix, columns))
    return error;
  int64_t n = matrix.size(), m = columns.shape[1];
  size_t size = 1;
  while (size < size_t(2 * n - 1))
    size *= 2;
  FourierTransform fourier(size);
  std::vector<Complex> spectrum = fourier.forward(circulantColumn(matrix.table, n, size));
  Array result({n, m});
  for (int64_t e = 0; e < m; ++e) {
    std::vector<Complex> x(size);
    for (int64_t j = 0; j < n; ++j)
      x[j] = matrix.right[j] * columns.at({j, e});
    x = fourier.forward(x);
    for (auto [number, eigenvalue] : zip_equal(x, spectrum))
      number *= eigenvalue;
    x = fourier.inverse(std::move(x));
    for (int64_t i = 0; i < n; ++i)
      result.at({i, e}) = matrix.left[i] * x[i].real();
  }
  return result;
}

static std::vector<double> products(ArrayRef<double> a, ArrayRef<double> b) {
  std::vector<double> result(a);
  for (auto [x, y] : zip_equal(result, b))
    x *= y;
  return result;
}

Expected<RescaledToeplitz> polyattn::entrywiseProduct(const RescaledToeplitz &a,
                                                      const RescaledToeplitz &b) {
  if (Error error = checkSizes(a))
    return error;
  if (Error error = checkSizes(b))
    return error;
  if (a.size() != b.size())
    return createStringError("expected matrices of the same size, got " + Twine(a.size()) +
                             " and " + Twine(b.size()));
  return RescaledToeplitz{products(a.left, b.left), products(a.table, b.table),
                          products(a.right, b.right)};
}
