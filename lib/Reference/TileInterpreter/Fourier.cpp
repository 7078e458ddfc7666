//===- Fourier.cpp - transforms of the columns of tensors -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <complex>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

using Complex = std::complex<double>;
using Sequence = std::vector<Complex>;

/// exp(-2 pi i turn).
static Complex rootOfUnity(double turn) { return std::polar(1.0, -2 * llvm::numbers::pi * turn); }

//===----------------------------------------------------------------------===//
// Transforms of a sequence
//===----------------------------------------------------------------------===//

/// X_f = sum over r of x_r exp(-2 pi i f r / n), by halves: the transforms of the elements with
/// even and with odd numbers.
static Sequence transform(const Sequence &x) {
  size_t n = x.size();
  if (n == 1)
    return x;
  Sequence even, odd, result(n);
  for (size_t r = 0; r < n; r += 2) {
    even.push_back(x[r]);
    odd.push_back(x[r + 1]);
  }
  even = transform(even);
  odd = transform(odd);
  for (size_t f = 0; f < n / 2; ++f) {
    Complex rotated = rootOfUnity(double(f) / double(n)) * odd[f];
    result[f] = even[f] + rotated;
    result[f + n / 2] = even[f] - rotated;
  }
  return result;
}

/// The inverse, not divided by n: conjugate sequences have conjugate transforms in reverse order.
static Sequence inverseTransform(Sequence spectrum) {
  for (Complex &x : spectrum)
    x = std::conj(x);
  Sequence result = transform(spectrum);
  for (Complex &x : result)
    x = std::conj(x);
  return result;
}

/// Element i goes to the place that has the bits of i in reverse order, and back.
static Sequence inReversedBits(const Sequence &sequence) {
  Sequence result(sequence.size());
  unsigned bits = llvm::Log2_64(sequence.size());
  for (uint64_t i = 0; i < sequence.size(); ++i)
    result[bits ? llvm::reverseBits(i) >> (64 - bits) : i] = sequence[i];
  return result;
}

//===----------------------------------------------------------------------===//
// Rows of tensors
//===----------------------------------------------------------------------===//

namespace {
/// The columns of complex numbers in the rows of a tensor.
struct Columns {
  Array *tensor;
  SmallVector<int64_t> start; // of the dimensions before the rows
  int64_t rows, width;

  double &number(int64_t row, int64_t column) const {
    SmallVector<int64_t> index = start;
    index.append({row, column});
    return tensor->at(index);
  }
  Sequence load(int64_t column) const {
    Sequence sequence;
    for (int64_t r = 0; r < rows; ++r)
      sequence.emplace_back(number(r, column), number(r, width + column));
    return sequence;
  }
  void store(Machine &machine, Type element, int64_t column, const Sequence &sequence) const {
    for (int64_t r = 0; r < rows; ++r) {
      number(r, column) = machine.rounded(element, sequence[r].real());
      number(r, width + column) = machine.rounded(element, sequence[r].imag());
    }
  }
};
} // namespace

static FailureOr<Columns> columnsOf(Machine &machine, Operation *op, Value memref,
                                    ValueRange indices, int64_t rows) {
  Columns columns{machine.tensor(memref), {}, rows, 0};
  if (!columns.tensor)
    return op->emitError("the interpreter knows the kernel's own tensors only");
  if (rows < 2 || !llvm::isPowerOf2_64(rows))
    return op->emitError("transforms are of a power of two of rows, from 2 on, not of ") << rows;
  ArrayRef<int64_t> shape = columns.tensor->shape;
  for (auto [d, index] : llvm::enumerate(indices)) {
    columns.start.push_back(machine.index(index));
    if (columns.start[d] < 0 || columns.start[d] >= shape[d])
      return op->emitError("index ") << columns.start[d] << " of dimension " << d
                                     << " is outside the tensor, whose size there is " << shape[d];
  }
  if (rows > shape[shape.size() - 2])
    return op->emitError("there are ") << shape[shape.size() - 2] << " rows, and not " << rows;
  columns.width = shape.back() / 2;
  return columns;
}

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

/// Calls `body` with each row of a table for transforms of so many rows, and the root in it.
static void forEachRoot(int64_t rows, llvm::function_ref<void(int64_t, Complex)> body) {
  for (int64_t m = rows; m >= 4; m /= 4)
    for (int64_t k = 0; k < m / 4; ++k)
      for (int64_t j = 1; j <= 3; ++j)
        body(rows - m + 3 * k + j - 1, rootOfUnity(double(j * k) / double(m)));
}

LogicalResult reference::run(Machine &machine, tile::FourierRootsOp op) {
  int64_t rows = machine.index(op.getRows());
  FailureOr<Columns> table = columnsOf(machine, op, op.getRoots(), {}, rows);
  if (failed(table))
    return failure();
  Type f32 = Float32Type::get(op.getContext());
  for (int64_t r = 0; r < rows; ++r)
    table->number(r, 0) = table->number(r, 1) = std::nan("");
  forEachRoot(rows, [&](int64_t row, Complex root) {
    table->number(row, 0) = machine.rounded(f32, root.real());
    table->number(row, 1) = machine.rounded(f32, root.imag());
  });
  return success();
}

/// The interpreter has roots of its own, but lowerings read these.
static LogicalResult checkRoots(Machine &machine, tile::FourierOp op, int64_t rows) {
  FailureOr<Columns> table = columnsOf(machine, op, op.getRoots(), {}, rows);
  if (failed(table))
    return failure();
  bool isRight = true;
  forEachRoot(rows, [&](int64_t row, Complex root) {
    Complex found(table->number(row, 0), table->number(row, 1));
    isRight &= std::abs(found - root) < 1e-6;
  });
  if (!isRight)
    return op.emitError("the table does not have the roots for ") << rows << " rows";
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult reference::run(Machine &machine, tile::PowerOfTwoOp op) {
  int64_t number = std::max<int64_t>(machine.index(op.getNumber()), 2);
  machine.bind(op.getResult(), int64_t(llvm::PowerOf2Ceil(number)));
  return success();
}

LogicalResult reference::run(Machine &machine, tile::FourierOp op) {
  int64_t rows = machine.index(op.getRows());
  FailureOr<Columns> x = columnsOf(machine, op, op.getMemref(), op.getIndices(), rows);
  if (failed(x) || failed(checkRoots(machine, op, rows)))
    return failure();
  for (int64_t c = 0; c < x->width; ++c) {
    Sequence sequence = x->load(c);
    auto upperHalf = [&] { return llvm::MutableArrayRef(sequence).drop_front(rows / 2); };
    if (op.getHalf() && !op.getInverse())
      llvm::fill(upperHalf(), 0.0);
    sequence = op.getInverse() ? inverseTransform(inReversedBits(sequence))
                               : inReversedBits(transform(sequence));
    if (op.getHalf() && op.getInverse())
      llvm::fill(upperHalf(), Complex(std::nan(""), std::nan("")));
    x->store(machine, Float32Type::get(op.getContext()), c, sequence);
  }
  return success();
}

/// The transforms of a and of b, of that of a + i b with real a and b.
static std::pair<Sequence, Sequence> splitSpectrum(const Sequence &both) {
  Sequence a, b;
  for (size_t f = 0, n = both.size(); f < n; ++f) {
    Complex mirrored = std::conj(both[(n - f) % n]);
    a.push_back((both[f] + mirrored) / 2.0);
    b.push_back((both[f] - mirrored) / Complex(0, 2));
  }
  return {a, b};
}

LogicalResult reference::run(Machine &machine, tile::MultiplySpectraOp op) {
  int64_t rows = machine.index(op.getRows());
  FailureOr<Columns> x = columnsOf(machine, op, op.getX(), op.getXIndices(), rows),
                     z = columnsOf(machine, op, op.getZ(), op.getZIndices(), rows),
                     y = columnsOf(machine, op, op.getY(), op.getYIndices(), rows);
  if (failed(x) || failed(z) || failed(y))
    return failure();
  for (int64_t c = 0; c < y->width; ++c) {
    auto [xa, xb] = splitSpectrum(inReversedBits(x->load(c)));
    auto [za, zb] = splitSpectrum(inReversedBits(z->load(c)));
    Sequence result(rows);
    for (int64_t f = 0; f < rows; ++f) {
      Complex a = op.getConjugate() ? std::conj(za[f]) : za[f];
      Complex b = op.getConjugate() ? std::conj(zb[f]) : zb[f];
      result[f] = (a * xa[f] + Complex(0, 1) * (b * xb[f])) / double(rows);
    }
    result = inReversedBits(result);
    if (op.getAccumulate())
      for (auto [sum, before] : llvm::zip(result, y->load(c)))
        sum += before;
    y->store(machine, Float32Type::get(op.getContext()), c, result);
  }
  return success();
}
