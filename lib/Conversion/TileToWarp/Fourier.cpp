//===- Fourier.cpp - transforms of the columns of tensors -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A CTA transforms its rows in global memory, level by level. Threads take butterflies in turns:
// neighbouring threads have neighbouring columns of the same rows. A level ends at a barrier. How
// many levels there are is known at run time, and is the same for all threads.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "dialects/Tile/Inputs.h"
#include "lib/Conversion/ComplexMath.h"
#include "lib/Conversion/FourierRoots.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

static constexpr int64_t kBytes = 4;

/// The rows of complex numbers of a tensor, from indices on. Bytes are i64.
struct tile_to_warp::RowBuffer {
  Value base, start, pitch;
  int64_t width;
  bool readOnly;

  Value place(Emitter &e, Value row, Value column) const {
    Value distance = arith::MulIOp::create(e, e.toI64(row), pitch);
    Value inRow = arith::MulIOp::create(e, e.toI64(column), e.i64(kBytes));
    return arith::AddIOp::create(e, arith::AddIOp::create(e, start, distance), inRow);
  }
  Complex load(Emitter &e, Value row, Value column) const {
    Value real = place(e, row, column);
    auto number = [&](Value offset) -> Value {
      return warp::LoadGlobalOp::create(e, e.getF32Type(), base, offset, readOnly);
    };
    return {number(real), number(arith::AddIOp::create(e, real, e.i64(width * kBytes)))};
  }
  void store(Emitter &e, Complex value, Value row, Value column) const {
    Value real = place(e, row, column);
    warp::StoreGlobalOp::create(e, value.re, base, real);
    warp::StoreGlobalOp::create(e, value.im, base,
                                arith::AddIOp::create(e, real, e.i64(width * kBytes)));
  }
};

namespace {

/// The arithmetic of one thread.
class ThreadMath : public ComplexMath {
public:
  explicit ThreadMath(Emitter &e) : ComplexMath(e), e(e) {}

  // i32.
  Value log(Value powerOfTwo) const {
    return LLVM::CountTrailingZerosOp::create(e, e.getI32Type(), powerOfTwo, false);
  }
  Value power(Value exponent) const { return arith::ShLIOp::create(e, e.i32(1), exponent); }
  Value minus(Value a, Value b) const { return e.createOrFold<arith::SubIOp>(a, b); }
  Value equal(Value a, Value b) const {
    return e.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, a, b);
  }
  void loop(Value begin, Value end, int64_t step, function_ref<void(Value)> body) const {
    auto loop = scf::ForOp::create(e, begin, end, e.i32(step));
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }
  void either(Value condition, function_ref<void()> body, function_ref<void()> otherwise) const {
    auto branch = scf::IfOp::create(e, condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(branch.thenBlock());
    body();
    e.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }

  Emitter &e;
};

/// The work of a thread in a transform.
class Transform {
public:
  Transform(Emitter &e, const RowBuffer &x, const RowBuffer &roots, Value rows, Value thread,
            int64_t threads, bool inverse, bool half)
      : math(e), e(e), x(x), roots(roots), rows(rows), log(math.log(rows)), thread(thread),
        threads(threads), inverse(inverse), half(half) {}
  void run();

private:
  void forItems(Value butterflies, function_ref<void(Value butterfly, Value column)> body);
  void level(Value exponent, bool isHalf);
  void pairs(bool isHalf);
  void barrier() { warp::BarrierOp::create(e); }
  Complex rotate(Complex a, Value firstRoot, int64_t j);

  ThreadMath math;
  Emitter &e;
  const RowBuffer &x, &roots;
  Value rows, log, thread;
  int64_t threads;
  bool inverse, half;
};

} // namespace

//===----------------------------------------------------------------------===//
// Transforms
//===----------------------------------------------------------------------===//

/// The butterflies of this thread, each for one column.
void Transform::forItems(Value butterflies,
                         function_ref<void(Value butterfly, Value column)> body) {
  math.loop(thread, e.multiply(butterflies, x.width), threads,
            [&](Value item) { body(e.divide(item, x.width), e.modulo(item, x.width)); });
}

void Transform::run() {
  Value odd = arith::AndIOp::create(e, log, e.i32(1)), one = e.i32(1);
  Value hasPairs = math.equal(odd, one);
  // Blocks of 4 rows and more, the largest ones first or last.
  if (!inverse) {
    auto levels = [&](int64_t begin) {
      math.loop(e.i32(begin), math.minus(log, one), 2, [&](Value i) {
        level(math.minus(log, i), /*isHalf=*/false);
        barrier();
      });
      e.when(hasPairs, [&] { pairs(/*isHalf=*/false); });
    };
    if (!half)
      return levels(0);
    math.either(
        math.equal(log, one), [&] { pairs(/*isHalf=*/true); },
        [&] {
          level(log, /*isHalf=*/true);
          barrier();
          levels(2);
        });
    return;
  }
  e.when(hasPairs, [&] {
    pairs(/*isHalf=*/false);
    barrier();
  });
  math.loop(e.add(odd, 2), half ? log : e.add(log, 1), 2, [&](Value exponent) {
    level(exponent, /*isHalf=*/false);
    barrier();
  });
  if (half)
    e.when(e.less(one, log), [&] { level(log, /*isHalf=*/true); });
}

/// a times root j of the ones from `firstRoot` on, or its conjugate.
Complex Transform::rotate(Complex a, Value firstRoot, int64_t j) {
  Complex root = roots.load(e, e.add(firstRoot, j - 1), e.i32(0));
  return math.multiply(a, root, /*conjugate=*/inverse);
}

/// The butterflies of blocks of 2^exponent rows: four rows, a quarter of a block apart. With
/// `isHalf` the last two are zero, or not needed.
void Transform::level(Value exponent, bool isHalf) {
  Value quarter = math.power(math.minus(exponent, e.i32(2)));
  Value mask = math.minus(quarter, e.i32(1));
  Value firstRoot = math.minus(rows, e.multiply(quarter, 4));
  forItems(arith::ShRUIOp::create(e, rows, e.i32(2)), [&](Value butterfly, Value column) {
    Value k = arith::AndIOp::create(e, butterfly, mask);
    Value root = e.add(firstRoot, e.multiply(k, 3));
    std::array<Value, 4> row;
    row[0] = e.add(e.multiply(math.minus(butterfly, k), 4), k);
    for (int i = 1; i < 4; ++i)
      row[i] = e.add(row[i - 1], quarter);
    std::array<Complex, 4> in;
    for (int i = 0; i < (isHalf && !inverse ? 2 : 4); ++i)
      in[i] = x.load(e, row[i], column);
    std::array<Complex, 4> out =
        math.butterfly(in, inverse, isHalf, [&](Complex a, int j) { return rotate(a, root, j); });
    for (int i = 0; i < (isHalf && inverse ? 2 : 4); ++i)
      x.store(e, out[i], row[i], column);
  });
}

/// Blocks of two rows. With `isHalf` there is one block, whose second row is zero.
void Transform::pairs(bool isHalf) {
  forItems(arith::ShRUIOp::create(e, rows, e.i32(1)), [&](Value pair, Value column) {
    Value first = e.multiply(pair, 2), second = e.add(first, 1);
    Complex a = x.load(e, first, column);
    if (isHalf)
      return x.store(e, a, second, column);
    Complex b = x.load(e, second, column);
    x.store(e, math.add(a, b), first, column);
    x.store(e, math.sub(a, b), second, column);
  });
}

//===----------------------------------------------------------------------===//
// Products of spectra
//===----------------------------------------------------------------------===//

/// The rows of pair t of a frequency and the opposite one. Rows 0 and 1 are their own partners, and
/// pairs 0 and rows / 2; others stand in the order of their first rows.
static std::pair<Value, Value> rowsOfPair(const ThreadMath &math, Value t, Value rows) {
  Emitter &e = math.e;
  Value zeros = LLVM::CountLeadingZerosOp::create(
      e, e.getI32Type(), arith::OrIOp::create(e, t, e.i32(1)).getResult(), false);
  Value top = math.power(math.minus(e.i32(31), zeros));
  Value first = e.add(t, top);
  Value second = math.minus(math.minus(e.multiply(top, 5), e.i32(1)), t);
  Value isFirst = math.equal(t, e.i32(0));
  Value isLast = math.equal(t, arith::ShRUIOp::create(e, rows, e.i32(1)));
  auto orAlone = [&](Value row) {
    return e.select(isFirst, e.i32(0), e.select(isLast, e.i32(1), row));
  };
  return {orAlone(first), orAlone(second)};
}

/// One column of the rows of a pair.
static void multiplyPair(const ThreadMath &math, const RowBuffer &x, const RowBuffer &z,
                         const RowBuffer &y, std::pair<Value, Value> rows, Value column,
                         Value factor, MultiplySpectraOp op) {
  Emitter &e = math.e;
  auto load = [&](const RowBuffer &buffer) {
    return std::array<Complex, 2>{buffer.load(e, rows.first, column),
                                  buffer.load(e, rows.second, column)};
  };
  auto [own, other] = math.multiplyPair(load(x), load(z), op.getConjugate());
  auto scaled = [&](Complex value, Value row) {
    return op.getAccumulate() ? math.scaleAndAdd(value, factor, y.load(e, row, column))
                              : math.scale(value, factor);
  };
  Complex first = scaled(own, rows.first), second = scaled(other, rows.second);
  y.store(e, first, rows.first, column);
  y.store(e, second, rows.second, column);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void KernelLowering::lowerPowerOfTwo(PowerOfTwoOp op) {
  Value number = arith::MaxSIOp::create(e, e.toI64(scalar(op.getNumber())), e.i64(2));
  Value below = arith::SubIOp::create(e, number, e.i64(1));
  Value zeros = LLVM::CountLeadingZerosOp::create(e, e.getI64Type(), below, false);
  Value power =
      arith::ShLIOp::create(e, e.i64(1), arith::SubIOp::create(e, e.i64(64), zeros).getResult());
  mapping.map(op.getResult(), arith::IndexCastOp::create(e, e.getIndexType(), power).getResult());
}

RowBuffer KernelLowering::rowsFrom(Value memref, ValueRange indices) {
  const Tensor &tensor = tensors[memref];
  Value pitch = arith::MulIOp::create(e, tensor.strides[tensor.strides.size() - 2], e.i64(kBytes));
  int64_t width = cast<MemRefType>(memref.getType()).getShape().back() / 2;
  return {tensor.base, tensorOffset(tensor, indices), pitch, width, isOnlyRead(memref)};
}

void KernelLowering::lowerFourierRoots(FourierRootsOp op) {
  beginPhase();
  recordTensor(op.getRoots(), /*isWrite=*/true);
  RowBuffer table = rowsFrom(op.getRoots(), {});
  ThreadMath math(e);
  Value rows = toI32(op.getRows()), log = math.log(rows);
  math.loop(e.i32(0), math.minus(log, e.i32(1)), 2, [&](Value i) {
    Value exponent = math.minus(log, i);
    Value quarter = math.power(math.minus(exponent, e.i32(2)));
    Value first = math.minus(rows, e.multiply(quarter, 4));
    math.loop(thread, e.multiply(quarter, 3), GPUDescription::warpSize * options.warps,
              [&](Value number) {
                auto [real, imaginary] = FourierRoots(e, e.getI32Type()).at(number, exponent);
                table.store(e, {real, imaginary}, e.add(first, number), e.i32(0));
              });
  });
}

void KernelLowering::lowerFourier(FourierOp op) {
  beginPhase();
  recordTensor(op.getRoots(), /*isWrite=*/false);
  recordTensor(op.getMemref(), /*isWrite=*/true);
  RowBuffer x = rowsFrom(op.getMemref(), op.getIndices()), roots = rowsFrom(op.getRoots(), {});
  Transform(e, x, roots, toI32(op.getRows()), thread, GPUDescription::warpSize * options.warps,
            op.getInverse(), op.getHalf())
      .run();
}

void KernelLowering::lowerMultiplySpectra(MultiplySpectraOp op) {
  beginPhase();
  recordTensor(op.getX(), /*isWrite=*/false);
  recordTensor(op.getZ(), /*isWrite=*/false);
  recordTensor(op.getY(), /*isWrite=*/true);
  RowBuffer x = rowsFrom(op.getX(), op.getXIndices()), z = rowsFrom(op.getZ(), op.getZIndices()),
            y = rowsFrom(op.getY(), op.getYIndices());
  ThreadMath math(e);
  Value rows = toI32(op.getRows());
  Value factor =
      arith::DivFOp::create(e, e.f32(0.25), arith::SIToFPOp::create(e, e.getF32Type(), rows));
  Value pairs = e.add(arith::ShRUIOp::create(e, rows, e.i32(1)), 1);
  math.loop(thread, e.multiply(pairs, y.width), GPUDescription::warpSize * options.warps,
            [&](Value item) {
              Value column = e.modulo(item, y.width);
              multiplyPair(math, x, z, y, rowsOfPair(math, e.divide(item, y.width), rows), column,
                           factor, op);
            });
}
