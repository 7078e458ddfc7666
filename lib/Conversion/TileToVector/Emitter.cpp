//===- Emitter.cpp - arithmetic, loops and memory in vector code -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value Emitter::constant(TypedAttr attribute) {
  Value &known = constants[attribute];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(entry);
  return known = arith::ConstantOp::create(*this, attribute);
}

Value Emitter::value(Offset offset) {
  if (!offset.dynamic)
    return constant(getI64IntegerAttr(offset.constant));
  if (!offset.constant)
    return offset.dynamic;
  return once<arith::AddIOp>(offset.dynamic, constant(getI64IntegerAttr(offset.constant)));
}

Offset Emitter::toOffset(Value index) {
  APInt known;
  if (matchPattern(index, m_ConstantInt(&known)))
    return known.getSExtValue();
  if (index.getType().isInteger(64))
    return index;
  return Offset(arith::IndexCastOp::create(*this, getI64Type(), index));
}

Value Emitter::toIndex(Offset offset) {
  if (!offset.dynamic)
    return constant(getIndexAttr(offset.constant));
  return arith::IndexCastOp::create(*this, getIndexType(), value(offset));
}

Offset Emitter::add(Offset a, Offset b) {
  int64_t sum = a.constant + b.constant;
  if (!a.dynamic || !b.dynamic)
    return Offset(a.dynamic ? a.dynamic : b.dynamic, sum);
  return Offset(once<arith::AddIOp>(a.dynamic, b.dynamic), sum);
}

Offset Emitter::sub(Offset a, Offset b) {
  if (!b.dynamic)
    return Offset(a.dynamic, a.constant - b.constant);
  Value left = a.dynamic ? a.dynamic : value(0);
  return Offset(once<arith::SubIOp>(left, b.dynamic), a.constant - b.constant);
}

Offset Emitter::mul(Offset a, int64_t factor) {
  if (!a.dynamic || factor == 1)
    return Offset(a.dynamic, a.constant * factor);
  if (factor == 0)
    return 0;
  return Offset(once<arith::MulIOp>(a.dynamic, value(factor)), a.constant * factor);
}

Offset Emitter::mul(Offset a, Offset b) {
  if (b.isStatic())
    return mul(a, b.constant);
  if (a.isStatic())
    return mul(b, a.constant);
  return Offset(once<arith::MulIOp>(value(a), value(b)));
}

Offset Emitter::div(Offset a, int64_t divisor) {
  if (!a.dynamic)
    return a.constant / divisor;
  return Offset(once<arith::DivUIOp>(value(a), value(divisor)));
}

Offset Emitter::min(Offset a, Offset b) {
  if (!a.dynamic && !b.dynamic)
    return std::min(a.constant, b.constant);
  return Offset(once<arith::MinSIOp>(value(a), value(b)));
}

Offset Emitter::max(Offset a, Offset b) {
  if (!a.dynamic && !b.dynamic)
    return std::max(a.constant, b.constant);
  return Offset(once<arith::MaxSIOp>(value(a), value(b)));
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

Vectors Emitter::loop(Offset from, Offset to, int64_t step, ValueRange init, Body body) {
  if (from.dynamic == to.dynamic) {
    if (to.constant <= from.constant)
      return Vectors(init);
    if (to.constant - from.constant <= step)
      return body(from, init);
  }
  auto op = scf::ForOp::create(*this, value(from), value(to), value(step), init);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  Vectors results = body(Offset(op.getInductionVar()), op.getRegionIterArgs());
  if (!init.empty()) // Without iteration arguments the builder has made the yield.
    scf::YieldOp::create(*this, results);
  return Vectors(op.getResults());
}

void Emitter::loop(Offset from, Offset to, int64_t step, function_ref<void(Offset)> body) {
  loop(from, to, step, ValueRange(), [&](Offset i, ValueRange) {
    body(i);
    return Vectors();
  });
}

void Emitter::ifLess(Offset a, Offset b, function_ref<void()> body) {
  if (a.dynamic == b.dynamic) {
    if (a.constant < b.constant)
      body();
    return;
  }
  Value less = arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, value(a), value(b));
  auto op = scf::IfOp::create(*this, less, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  body();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Emitter::pointer(Value base, Offset offset, Type element) {
  element = storageType(element);
  auto type = LLVM::LLVMPointerType::get(getContext());
  if (offset.dynamic)
    base = once<LLVM::GEPOp>(base, offset.dynamic, element, [&]() -> Value {
      Value address =
          LLVM::GEPOp::create(*this, type, element, base, ArrayRef<LLVM::GEPArg>{offset.dynamic});
      return LLVM::LaunderInvariantGroupOp::create(*this, address);
    });
  if (offset.constant)
    base = LLVM::GEPOp::create(*this, type, element, base,
                               ArrayRef<LLVM::GEPArg>{int32_t(offset.constant)});
  return base;
}

Value Emitter::load(Type type, Value base, Offset offset) {
  Type stored = storageType(type);
  unsigned bytes = std::max(1u, stored.getIntOrFloatBitWidth() / 8);
  return LLVM::LoadOp::create(*this, stored, pointer(base, offset, type), bytes);
}

Value Emitter::loadVector(Type element, Value base, Offset offset, int64_t lanes) {
  Type stored = storageType(element);
  return LLVM::LoadOp::create(*this, vectorType(stored, lanes), pointer(base, offset, element),
                              stored.getIntOrFloatBitWidth() / 8);
}

void Emitter::store(Value value, Value base, Offset offset) {
  Type element = getElementTypeOrSelf(value.getType());
  LLVM::StoreOp::create(*this, value, pointer(base, offset, element),
                        std::max(1u, element.getIntOrFloatBitWidth() / 8));
}

void Emitter::storeLanes(Value vector, int64_t lanes, Value base, Offset offset) {
  int64_t have = cast<VectorType>(vector.getType()).getDimSize(0);
  if (lanes >= have)
    return store(vector, base, offset);
  // Powers of two, largest first: a static tail needs no mask on any machine.
  for (int64_t done = 0; done < lanes;) {
    int64_t piece = have;
    while (piece > lanes - done)
      piece /= 2;
    SmallVector<int64_t> mask(piece);
    std::iota(mask.begin(), mask.end(), done);
    Value part = piece == 1 ? Value(vector::ExtractOp::create(*this, vector, done))
                            : shuffle(vector, vector, mask);
    store(part, base, add(offset, done));
    done += piece;
  }
}

void Emitter::prefetch(Value pointer, bool written) {
  LLVM::Prefetch::create(*this, pointer, /*rw=*/written, /*hint=*/2, /*cache=*/1);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value Emitter::splat(TypedAttr scalar, int64_t lanes) {
  return constant(DenseElementsAttr::get(vectorType(scalar.getType(), lanes), Attribute(scalar)));
}

Value Emitter::zero(Type element) { return splat(cast<TypedAttr>(getZeroAttr(element))); }

Value Emitter::broadcast(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(*this, vectorType(scalar.getType(), lanes), scalar);
}

Value Emitter::fma(Value a, Value b, Value c) { return vector::FMAOp::create(*this, a, b, c); }

static Value bitcast(Emitter &e, Value vector, Type element) {
  auto type = cast<VectorType>(vector.getType());
  int64_t bits = type.getDimSize(0) * type.getElementTypeBitWidth();
  Type other = e.vectorType(element, bits / element.getIntOrFloatBitWidth());
  return LLVM::BitcastOp::create(e, other, vector);
}

Value Emitter::addPairProducts(Value a, Value b, Value sums) {
  auto name = getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512");
  Value operands[] = {sums, bitcast(*this, a, getBF16Type()), bitcast(*this, b, getBF16Type())};
  return LLVM::CallIntrinsicOp::create(*this, sums.getType(), name, operands).getResult(0);
}

Value Emitter::packBF16(Value first, Value second, bool alternating) {
  auto name = getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512");
  int64_t lanes = width();
  // The intrinsic's last operand comes first.
  Value both = LLVM::CallIntrinsicOp::create(*this, vectorType(getBF16Type(), 2 * lanes), name,
                                             ValueRange{second, first})
                   .getResult(0);
  if (alternating) {
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < lanes; ++lane)
      order.append({lane, lane + lanes});
    both = shuffle(both, both, order);
  }
  return bitcast(*this, both, getI32Type());
}

Value Emitter::packBF16(Value vector) {
  auto name = getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16.512");
  Value packed =
      LLVM::CallIntrinsicOp::create(*this, vectorType(getBF16Type()), name, vector).getResult(0);
  return bitcast(*this, packed, getI32Type());
}

Value Emitter::shuffle(Value a, Value b, ArrayRef<int64_t> mask) {
  return vector::ShuffleOp::create(*this, a, b, mask);
}

Vectors Emitter::joined(const Vectors &vectors, int64_t count) {
  Vectors result = vectors;
  for (; count > 1; count /= 2) {
    Vectors pairs;
    for (size_t i = 0; i < result.size(); i += 2) {
      int64_t lanes = cast<VectorType>(result[i].getType()).getDimSize(0);
      pairs.push_back(shuffle(result[i], result[i + 1], llvm::to_vector(llvm::seq(2 * lanes))));
    }
    result = pairs;
  }
  return result;
}

Vectors Emitter::split(const Vectors &vectors) {
  Vectors result;
  for (Value vector : vectors) {
    int64_t lanes = cast<VectorType>(vector.getType()).getDimSize(0);
    if (lanes == width())
      result.push_back(vector);
    for (int64_t first = 0; lanes > width() && first < lanes; first += width())
      result.push_back(shuffle(vector, vector, llvm::to_vector(llvm::seq(first, first + width()))));
  }
  return result;
}

Value Emitter::lanes() {
  SmallVector<int32_t> numbers(width());
  std::iota(numbers.begin(), numbers.end(), 0);
  return constant(DenseElementsAttr::get(vectorType(getI32Type()), ArrayRef<int32_t>(numbers)));
}

Value Emitter::lanesBelow(Offset bound) {
  Value narrow = arith::TruncIOp::create(*this, getI32Type(), value(bound));
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, lanes(), broadcast(narrow));
}

Value Emitter::select(Value mask, Value a, Value b) {
  return arith::SelectOp::create(*this, mask, a, b);
}

//===----------------------------------------------------------------------===//
// Storage formats
//===----------------------------------------------------------------------===//

// Without native bf16 instructions LLVM turns bf16 conversions into library calls, so bf16
// travels as i16 and is converted by integer arithmetic.
Type Emitter::storageType(Type element) { return element.isBF16() ? getI16Type() : element; }

static Type withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

Value Emitter::fromStorage(Value loaded) {
  Type element = getElementTypeOrSelf(loaded.getType());
  Type f32 = withElement(loaded.getType(), getF32Type());
  if (element.isF16())
    return arith::ExtFOp::create(*this, f32, loaded);
  if (!element.isInteger(16))
    return loaded;
  Type i32 = withElement(loaded.getType(), getI32Type());
  Value wide = arith::ExtUIOp::create(*this, i32, loaded);
  auto shift = [&](int64_t n) -> Value {
    if (auto vector = dyn_cast<VectorType>(i32))
      return splat(getI32IntegerAttr(n), vector.getDimSize(0));
    return constant(getI32IntegerAttr(n));
  };
  return arith::BitcastOp::create(*this, f32, arith::ShLIOp::create(*this, wide, shift(16)));
}

Value Emitter::toStorage(Value computed, Type element) {
  Type have = getElementTypeOrSelf(computed.getType());
  if (have == element)
    return computed;
  if (!element.isBF16()) {
    Type target = withElement(computed.getType(), element);
    if (have.getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth())
      return arith::TruncFOp::create(*this, target, computed);
    return arith::ExtFOp::create(*this, target, computed);
  }
  if (have.isF64())
    computed =
        arith::TruncFOp::create(*this, withElement(computed.getType(), getF32Type()), computed);
  Type i32 = withElement(computed.getType(), getI32Type());
  auto number = [&](int64_t n) -> Value {
    if (auto vector = dyn_cast<VectorType>(i32))
      return splat(getI32IntegerAttr(n), vector.getDimSize(0));
    return constant(getI32IntegerAttr(n));
  };
  // Round to nearest, ties to even: add half a unit less one, plus the lowest kept bit. A NaN
  // keeps its upper bits and is made quiet, for the carry could turn it into an infinity.
  Value bits = arith::BitcastOp::create(*this, i32, computed);
  Value high = arith::ShRUIOp::create(*this, bits, number(16));
  Value odd = arith::AndIOp::create(*this, high, number(1));
  Value biased = arith::AddIOp::create(*this, bits, number(0x7fff));
  Value rounded =
      arith::ShRUIOp::create(*this, arith::AddIOp::create(*this, biased, odd), number(16));
  Value quiet = arith::OrIOp::create(*this, high, number(0x40));
  Value nan = arith::CmpFOp::create(*this, arith::CmpFPredicate::UNO, computed, computed);
  return arith::TruncIOp::create(*this, withElement(computed.getType(), getI16Type()),
                                 select(nan, quiet, rounded));
}
