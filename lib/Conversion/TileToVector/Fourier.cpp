//===- Fourier.cpp - transforms of the columns of tensors -*- C++ -*-------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Columns are lanes, so that a butterfly has no shuffles. A transform takes a block of m rows to
// four blocks of m / 4, each a transform of its own, until a block fits the registers. Blocks are
// walked depth first: all that is done in a block comes before the next block of its size, so that
// blocks which fit a cache are read into it once. An inverse transform goes the other way.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "Pieces.h"
#include "lib/Conversion/ComplexMath.h"
#include "lib/Conversion/FourierRoots.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using namespace polyattn::tile;

/// Whole vectors of a row for which there is straight code.
static constexpr int64_t kMostVectors = 4;

namespace {

/// The rows of complex numbers of a tensor, from indices on.
struct RowBuffer {
  Value base;
  Offset pitch; // in numbers, from one row to the next
  int64_t width;
};

/// One row of such a buffer.
struct Row {
  Value base;
  int64_t width;
};

class Transform {
public:
  Transform(Emitter &e, const RowBuffer &x, const Tensor &roots, Offset rows, bool inverse,
            bool half)
      : e(e), math(e), x(x), roots(roots), rows(rows), inverse(inverse), half(half) {}
  void run();

private:
  using Body = function_ref<void(Offset column, int64_t lanes)>;
  void forColumns(Body body);
  Row rowAt(Offset number) {
    return {e.pointer(x.base, e.mul(number, x.pitch), e.getF32Type()), x.width};
  }
  Complex load(const Row &row, Offset column, int64_t lanes) {
    return {e.loadVector(e.getF32Type(), row.base, column, lanes),
            e.loadVector(e.getF32Type(), row.base, e.add(column, row.width), lanes)};
  }
  void store(Complex value, const Row &row, Offset column) {
    e.store(value.re, row.base, column);
    e.store(value.im, row.base, e.add(column, row.width));
  }
  Offset shiftLeft(int64_t number, Offset count) {
    return Offset(arith::ShLIOp::create(e, e.value(number), e.value(count)).getResult());
  }

  void clearUpperHalf();
  Offset deepestLevel(Offset row, Offset first);
  void level(Offset row, Offset exponent, bool isHalf);
  void leaf(Offset row, int64_t size);
  void leaf2(MutableArrayRef<Complex> in);
  void leaf4(MutableArrayRef<Complex> in);
  void leaf8(MutableArrayRef<Complex> in);
  Complex rotateEighth(Complex a, int64_t eighths);

  Emitter &e;
  ComplexMath math;
  RowBuffer x;
  const Tensor &roots;
  Offset rows, log, leafLog;
  bool inverse, half;
};

} // namespace

//===----------------------------------------------------------------------===//
// Transforms
//===----------------------------------------------------------------------===//

void Transform::forColumns(Body body) {
  int64_t whole = x.width / e.width() * e.width();
  if (whole > kMostVectors * e.width())
    e.loop(0, whole, e.width(), [&](Offset column) { body(column, e.width()); });
  else
    whole = 0;
  for (const Piece &piece : piecesOf(x.width - whole, e.width()))
    body(whole + piece.column, piece.lanes);
}

/// Levels of blocks of 2^exponent rows begin with the first one; this is the exponent of the
/// largest block that begins at a row, or with `inverse` ends there.
Offset Transform::deepestLevel(Offset row, Offset first) {
  Value limited = arith::OrIOp::create(e, e.value(row), e.value(shiftLeft(1, first)));
  Value zeros = LLVM::CountTrailingZerosOp::create(e, e.getI64Type(), limited, false);
  Value odd = arith::AndIOp::create(e, arith::XOrIOp::create(e, zeros, e.value(log)).getResult(),
                                    e.value(1));
  return Offset(arith::SubIOp::create(e, zeros, odd).getResult());
}

void Transform::run() {
  log = Offset(LLVM::CountTrailingZerosOp::create(e, e.getI64Type(), e.value(rows), false));
  // Blocks have an even or odd exponent; the last ones have 4 rows or 8, and 2 are a block too.
  Value odd = arith::AndIOp::create(e, e.value(log), e.value(1));
  leafLog = e.min(log, e.add(Offset(odd), 2));
  Offset first = log;
  Offset size = shiftLeft(1, leafLog);
  if (half) {
    first = e.max(e.sub(log, 2), 0);
    if (!inverse) {
      Value isLeaf =
          arith::CmpIOp::create(e, arith::CmpIPredicate::eq, e.value(log), e.value(leafLog));
      auto branch = scf::IfOp::create(e, isLeaf, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(e);
      e.setInsertionPointToStart(branch.thenBlock());
      clearUpperHalf();
      e.setInsertionPointToStart(branch.elseBlock());
      level(0, log, /*isHalf=*/true);
    }
  }
  auto blocks = scf::ForOp::create(e, e.value(0), e.value(rows), e.value(size));
  {
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(blocks.getBody());
    Offset row(blocks.getInductionVar());
    auto leaves = [&] {
      for (int64_t exponent : {1, 2, 3}) {
        Value is =
            arith::CmpIOp::create(e, arith::CmpIPredicate::eq, e.value(leafLog), e.value(exponent));
        auto branch = scf::IfOp::create(e, is, /*withElseRegion=*/false);
        OpBuilder::InsertionGuard inside(e);
        e.setInsertionPointToStart(branch.thenBlock());
        leaf(row, int64_t(1) << exponent);
      }
    };
    Offset edge = inverse ? e.add(row, size) : row;
    if (inverse)
      leaves();
    Offset deepest = deepestLevel(edge, first);
    e.loop(0, e.sub(deepest, leafLog), 2, [&](Offset i) {
      Offset exponent = inverse ? e.add(e.add(leafLog, 2), i) : e.sub(deepest, i);
      level(inverse ? e.sub(edge, shiftLeft(1, exponent)) : row, exponent, /*isHalf=*/false);
    });
    if (!inverse)
      leaves();
  }
  if (half && inverse)
    e.ifLess(leafLog, log, [&] { level(0, log, /*isHalf=*/true); });
}

/// The few rows of a transform without levels.
void Transform::clearUpperHalf() {
  e.loop(e.div(rows, 2), rows, 1, [&](Offset number) {
    Row row = rowAt(number);
    forColumns([&](Offset column, int64_t lanes) {
      Value zero = e.splat(e.getF32FloatAttr(0), lanes);
      store({zero, zero}, row, column);
    });
  });
}

/// All butterflies of the block of 2^exponent rows from `row` on.
void Transform::level(Offset row, Offset exponent, bool isHalf) {
  Offset quarter = shiftLeft(1, e.sub(exponent, 2));
  Offset step = e.mul(quarter, x.pitch);
  std::array<Value, 4> quarters;
  quarters[0] = rowAt(row).base;
  for (int i = 1; i < 4; ++i)
    quarters[i] = e.pointer(quarters[i - 1], step, e.getF32Type());
  // The roots of larger blocks come first.
  Offset rootPitch = roots.strides[0];
  Offset firstRoot = e.mul(e.sub(rows, e.mul(quarter, 4)), rootPitch);
  Value table = e.pointer(roots.base, firstRoot, e.getF32Type());
  e.loop(0, quarter, 1, [&](Offset k) {
    Offset place = e.mul(k, x.pitch), rootPlace = e.mul(e.mul(k, 3), rootPitch);
    std::array<Row, 4> block;
    for (int i = 0; i < 4; ++i)
      block[i] = {e.pointer(quarters[i], place, e.getF32Type()), x.width};
    Value own = e.pointer(table, rootPlace, e.getF32Type());
    std::array<Complex, 4> root;
    for (int j = 1; j < 4; ++j) {
      Value pair = e.pointer(own, e.mul(rootPitch, j - 1), e.getF32Type());
      root[j] = {e.load(e.getF32Type(), pair, 0), e.load(e.getF32Type(), pair, 1)};
    }
    forColumns([&](Offset column, int64_t lanes) {
      std::array<Complex, 4> in;
      for (int i = 0; i < (isHalf && !inverse ? 2 : 4); ++i)
        in[i] = load(block[i], column, lanes);
      std::array<Complex, 4> out = math.butterfly(in, inverse, isHalf, [&](Complex a, int j) {
        Complex w = {e.broadcast(root[j].re, lanes), e.broadcast(root[j].im, lanes)};
        return math.multiply(a, w, /*conjugate=*/inverse);
      });
      for (int i = 0; i < (isHalf && inverse ? 2 : 4); ++i)
        store(out[i], block[i], column);
    });
  });
}

//===----------------------------------------------------------------------===//
// Blocks in registers
//===----------------------------------------------------------------------===//

void Transform::leaf(Offset first, int64_t size) {
  SmallVector<Row> block;
  for (int64_t i = 0; i < size; ++i)
    block.push_back(rowAt(e.add(first, i)));
  forColumns([&](Offset column, int64_t lanes) {
    SmallVector<Complex> values;
    for (const Row &row : block)
      values.push_back(load(row, column, lanes));
    size == 2 ? leaf2(values) : size == 4 ? leaf4(values) : leaf8(values);
    for (auto [row, value] : llvm::zip(block, values))
      store(value, row, column);
  });
}

void Transform::leaf2(MutableArrayRef<Complex> in) {
  Complex sum = math.add(in[0], in[1]);
  in[1] = math.sub(in[0], in[1]);
  in[0] = sum;
}

void Transform::leaf4(MutableArrayRef<Complex> in) {
  llvm::copy(math.butterfly({in[0], in[1], in[2], in[3]}, inverse, /*isHalf=*/false,
                            [](Complex a, int) { return a; }),
             in.begin());
}

/// a times exp(-2 pi i eighths / 8), or its conjugate.
Complex Transform::rotateEighth(Complex a, int64_t eighths) {
  if (eighths == 0)
    return a;
  if (eighths == 2)
    return math.turn(a, inverse);
  int64_t lanes = cast<VectorType>(a.re.getType()).getDimSize(0);
  Value factor = e.splat(e.getF32FloatAttr(float(std::sqrt(0.5))), lanes);
  Value sum = math.mul(math.add(a.re, a.im), factor);
  Value difference = math.mul(math.sub(a.im, a.re), factor);
  if (!inverse)
    return eighths == 1 ? Complex{sum, difference} : Complex{difference, math.negate(sum)};
  return eighths == 1 ? Complex{math.negate(difference), sum}
                      : Complex{math.negate(sum), math.negate(difference)};
}

void Transform::leaf8(MutableArrayRef<Complex> in) {
  auto fours = [&] {
    for (int64_t k : {0, 1}) {
      std::array<Complex, 4> out =
          math.butterfly({in[k], in[k + 2], in[k + 4], in[k + 6]}, inverse, /*isHalf=*/false,
                         [&](Complex a, int j) { return rotateEighth(a, j * k); });
      for (int i = 0; i < 4; ++i)
        in[2 * i + k] = out[i];
    }
  };
  if (!inverse)
    fours();
  for (int64_t i = 0; i < 8; i += 2)
    leaf2(in.slice(i, 2));
  if (inverse)
    fours();
}

//===----------------------------------------------------------------------===//
// Products of spectra
//===----------------------------------------------------------------------===//

namespace {

class SpectrumProduct {
public:
  SpectrumProduct(Emitter &e, const RowBuffer &x, const RowBuffer &z, const RowBuffer &y,
                  Offset rows, bool conjugate, bool accumulate)
      : e(e), math(e), x(x), z(z), y(y), rows(rows), conjugate(conjugate), accumulate(accumulate) {}
  void run();

private:
  void pair(Offset first, Offset second, Value factor);
  Complex load(const RowBuffer &buffer, Value row, const Piece &piece) {
    return {e.loadVector(e.getF32Type(), row, piece.column, piece.lanes),
            e.loadVector(e.getF32Type(), row, piece.column + buffer.width, piece.lanes)};
  }

  Emitter &e;
  ComplexMath math;
  const RowBuffer &x, &z, &y;
  Offset rows;
  bool conjugate, accumulate;
};

} // namespace

void SpectrumProduct::run() {
  Value number = arith::SIToFPOp::create(e, e.getF32Type(), e.value(rows));
  // What makes halves of sums and of differences of both factors, and 1 / rows.
  Value factor = arith::DivFOp::create(e, e.constant(e.getF32FloatAttr(0.25)), number);
  e.loop(0, 2, 1, [&](Offset row) { pair(row, row, factor); });
  Value log = LLVM::CountTrailingZerosOp::create(e, e.getI64Type(), e.value(rows), false);
  e.loop(1, Offset(log), 1, [&](Offset exponent) {
    Offset size(arith::ShLIOp::create(e, e.value(1), e.value(exponent)).getResult());
    Offset last = e.sub(e.mul(size, 2), 1);
    e.loop(0, e.div(size, 2), 1, [&](Offset i) { pair(e.add(size, i), e.sub(last, i), factor); });
  });
}

/// The rows of a frequency and of the opposite one.
void SpectrumProduct::pair(Offset first, Offset second, Value factor) {
  auto rowsOf = [&](const RowBuffer &buffer) {
    auto at = [&](Offset row) {
      return e.pointer(buffer.base, e.mul(row, buffer.pitch), e.getF32Type());
    };
    return std::pair(at(first), at(second));
  };
  auto [x1, x2] = rowsOf(x);
  auto [z1, z2] = rowsOf(z);
  auto [y1, y2] = rowsOf(y);
  for (const Piece &piece : piecesOf(y.width, e.width())) {
    auto [own, other] = math.multiplyPair({load(x, x1, piece), load(x, x2, piece)},
                                          {load(z, z1, piece), load(z, z2, piece)}, conjugate);
    Value factors = e.broadcast(factor, piece.lanes);
    auto scaled = [&](Complex value, Value row) {
      return accumulate ? math.scaleAndAdd(value, factors, load(y, row, piece))
                        : math.scale(value, factors);
    };
    auto store = [&](Complex result, Value row) {
      e.store(result.re, row, piece.column);
      e.store(result.im, row, piece.column + y.width);
    };
    Complex first = scaled(own, y1), second = scaled(other, y2);
    store(first, y1);
    store(second, y2);
  }
}

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

/// Roots `number` and following ones of a level, as many as there are lanes, into rows of a table.
static void storeRoots(Emitter &e, Offset number, int64_t lanes, Value exponent, Value level,
                       Offset pitch) {
  SmallVector<int32_t> each = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
  VectorType integers = e.vectorType(e.getI32Type(), lanes);
  Value first = arith::TruncIOp::create(e, e.getI32Type(), e.value(number));
  Value numbers =
      arith::AddIOp::create(e, e.broadcast(first, lanes),
                            e.constant(DenseElementsAttr::get(integers, ArrayRef<int32_t>(each))));
  auto [real, imaginary] = FourierRoots(e, integers).at(numbers, exponent);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value row = e.pointer(level, e.mul(e.add(number, lane), pitch), e.getF32Type());
    e.store(e.shuffle(real, imaginary, {lane, lanes + lane}), row, 0);
  }
}

LogicalResult KernelLowering::lowerFourierRoots(FourierRootsOp op) {
  auto table = tensors.find(op.getRoots());
  if (table == tensors.end())
    return op.emitError("expected one of the kernel's tensors");
  Offset rows = scalar(op.getRows()), pitch = table->second.strides[0];
  Value log = LLVM::CountTrailingZerosOp::create(e, e.getI64Type(), e.value(rows), false);
  e.loop(0, e.sub(Offset(log), 1), 2, [&](Offset i) {
    Offset exponent = e.sub(Offset(log), i);
    Offset quarter(arith::ShLIOp::create(e, e.value(1), e.value(e.sub(exponent, 2))).getResult());
    Offset first = e.sub(rows, e.mul(quarter, 4)), count = e.mul(quarter, 3);
    Value level = e.pointer(table->second.base, e.mul(first, pitch), e.getF32Type());
    Value narrow = arith::TruncIOp::create(e, e.getI32Type(), e.value(exponent));
    Offset whole = e.mul(e.div(count, e.width()), e.width());
    e.loop(0, whole, e.width(),
           [&](Offset number) { storeRoots(e, number, e.width(), narrow, level, pitch); });
    e.loop(whole, count, 1, [&](Offset number) { storeRoots(e, number, 1, narrow, level, pitch); });
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// The rows of a tensor from indices before them on; failure where it is none of the kernel's.
static FailureOr<RowBuffer> rowBuffer(Emitter &e, const llvm::DenseMap<Value, Tensor> &tensors,
                                      Value memref, ArrayRef<Offset> indices) {
  auto found = tensors.find(memref);
  if (found == tensors.end())
    return failure();
  const Tensor &tensor = found->second;
  Offset start = 0;
  for (auto [index, stride] : llvm::zip(indices, tensor.strides))
    start = e.add(start, e.mul(index, stride));
  int64_t width = cast<MemRefType>(memref.getType()).getShape().back() / 2;
  return RowBuffer{e.pointer(tensor.base, start, e.getF32Type()),
                   tensor.strides[tensor.strides.size() - 2], width};
}

void KernelLowering::lowerPowerOfTwo(PowerOfTwoOp op) {
  Offset below = e.sub(e.max(scalar(op.getNumber()), 2), 1);
  Value zeros = LLVM::CountLeadingZerosOp::create(e, e.getI64Type(), e.value(below), false);
  Value power = arith::ShLIOp::create(e, e.value(1), e.value(e.sub(64, Offset(zeros)))).getResult();
  mapping.map(op.getResult(), e.toIndex(Offset(power)));
}

LogicalResult KernelLowering::lowerFourier(FourierOp op) {
  auto roots = tensors.find(op.getRoots());
  FailureOr<RowBuffer> x = rowBuffer(e, tensors, op.getMemref(), scalars(op.getIndices()));
  if (roots == tensors.end() || failed(x))
    return op.emitError("expected tensors of the kernel");
  Transform(e, *x, roots->second, scalar(op.getRows()), op.getInverse(), op.getHalf()).run();
  return success();
}

LogicalResult KernelLowering::lowerMultiplySpectra(MultiplySpectraOp op) {
  FailureOr<RowBuffer> x = rowBuffer(e, tensors, op.getX(), scalars(op.getXIndices())),
                       z = rowBuffer(e, tensors, op.getZ(), scalars(op.getZIndices())),
                       y = rowBuffer(e, tensors, op.getY(), scalars(op.getYIndices()));
  if (failed(x) || failed(z) || failed(y))
    return op.emitError("expected tensors of the kernel");
  SpectrumProduct(e, *x, *z, *y, scalar(op.getRows()), op.getConjugate(), op.getAccumulate()).run();
  return success();
}
