//===- Emitter.h - arithmetic and memory access in emitted code -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_EMITTER_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_EMITTER_H

#include "dialects/Warp/Warp.h"
#include "lib/TileAnalysis/Divisibility.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace polyattn::tile_to_warp {

/// Arithmetic on i32 coordinates and f32 elements; constants are folded. A null i32 is zero.
class Emitter : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value i32(int64_t number) {
    return mlir::arith::ConstantOp::create(*this, getI32IntegerAttr(number));
  }
  mlir::Value i64(int64_t number) {
    return mlir::arith::ConstantOp::create(*this, getI64IntegerAttr(number));
  }
  mlir::Value f32(double number) {
    return mlir::arith::ConstantOp::create(*this, getF32FloatAttr(number));
  }
  mlir::Value index(int64_t number) { return mlir::arith::ConstantIndexOp::create(*this, number); }
  mlir::Value orZero(mlir::Value value) { return value ? value : i32(0); }

  mlir::Value add(mlir::Value a, mlir::Value b) {
    if (!a || !b)
      return a ? a : b;
    return createOrFold<mlir::arith::AddIOp>(a, b);
  }
  mlir::Value add(mlir::Value a, int64_t b) { return b ? add(orZero(a), i32(b)) : a; }
  mlir::Value multiply(mlir::Value a, int64_t b) {
    return !a || b == 1 ? a : createOrFold<mlir::arith::MulIOp>(a, i32(b));
  }
  mlir::Value divide(mlir::Value a, int64_t b) {
    return b == 1 ? a : createOrFold<mlir::arith::DivUIOp>(a, i32(b));
  }
  mlir::Value modulo(mlir::Value a, int64_t b) {
    return b == 1 ? i32(0) : createOrFold<mlir::arith::RemUIOp>(a, i32(b));
  }
  /// What is known to divide a coordinate: `warp.opaque` hides a number from later compilers only.
  static int64_t divisorOf(mlir::Value coordinate) {
    return knownDivisor(coordinate, [](mlir::Operation *op) {
      auto opaque = llvm::dyn_cast<warp::OpaqueOp>(op);
      return opaque ? opaque.getValue() : mlir::Value();
    });
  }
  mlir::Value less(mlir::Value a, mlir::Value b) {
    return createOrFold<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::slt, orZero(a), b);
  }
  mlir::Value less(mlir::Value a, int64_t b) { return less(a, i32(b)); }
  mlir::Value both(mlir::Value a, mlir::Value b) {
    return !a || !b ? (a ? a : b) : createOrFold<mlir::arith::AndIOp>(a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return createOrFold<mlir::arith::SelectOp>(condition, a, b);
  }
  mlir::Value toI64(mlir::Value value) {
    if (value.getType().isIndex())
      return createOrFold<mlir::arith::IndexCastOp>(getI64Type(), value);
    return value.getType().isInteger(64) ? value
                                         : createOrFold<mlir::arith::ExtSIOp>(getI64Type(), value);
  }
  /// An address as i64. It is never negative, so a constant that is added last is added after the
  /// extension, where it becomes the displacement of the memory instruction.
  mlir::Value toI64Address(mlir::Value value) {
    auto sum = value.getDefiningOp<mlir::arith::AddIOp>();
    std::optional<int64_t> offset =
        sum ? mlir::getConstantIntValue(sum.getRhs()) : std::optional<int64_t>();
    if (!offset)
      return toI64(value);
    return createOrFold<mlir::arith::AddIOp>(toI64(sum.getLhs()), i64(*offset));
  }
  mlir::Value toI32(mlir::Value value) {
    return value.getType().isIndex() ? createOrFold<mlir::arith::IndexCastOp>(getI32Type(), value)
                                     : value;
  }
  mlir::Value bits(mlir::Value value) {
    return createOrFold<mlir::arith::BitcastOp>(getI32Type(), value);
  }

  /// Constants that `warp.lookup` finds, i32 or f32.
  mlir::ElementsAttr table(llvm::ArrayRef<int32_t> numbers) {
    return mlir::DenseElementsAttr::get(
        mlir::RankedTensorType::get({int64_t(numbers.size())}, getI32Type()), numbers);
  }
  mlir::ElementsAttr table(llvm::ArrayRef<double> numbers) {
    llvm::SmallVector<float> rounded(numbers.begin(), numbers.end());
    return mlir::DenseElementsAttr::get(
        mlir::RankedTensorType::get({int64_t(numbers.size())}, getF32Type()),
        llvm::ArrayRef<float>(rounded));
  }

  /// f32 of the bits of bf16, which are its upper half.
  mlir::Value fromBF16(mlir::Value bits) {
    if (bits.getType().isInteger(16))
      bits = mlir::arith::ExtUIOp::create(*this, getI32Type(), bits);
    return toF32(mlir::arith::ShLIOp::create(*this, bits, i32(16)));
  }
  /// f32 of the upper of two bf16 in a word.
  mlir::Value fromUpperBF16(mlir::Value word) {
    return toF32(mlir::arith::AndIOp::create(*this, word, i32(int32_t(0xffff0000))));
  }
  /// Two f32, each as a sum of two bf16: the first ones in a word, and the second ones.
  std::pair<mlir::Value, mlir::Value> splitPair(mlir::Value low, mlir::Value high) {
    auto pack = [&](mlir::Value a, mlir::Value b) {
      return warp::PackOp::create(*this, warp::OperandKind::BF16, a, b).getResult();
    };
    mlir::Value rounded = pack(low, high);
    auto rest = [&](mlir::Value number, mlir::Value first) {
      return mlir::arith::SubFOp::create(*this, number, first).getResult();
    };
    return {rounded, pack(rest(low, fromBF16(rounded)), rest(high, fromUpperBF16(rounded)))};
  }
  mlir::Value toF32(mlir::Value bits) {
    return mlir::arith::BitcastOp::create(*this, getF32Type(), bits);
  }
  /// f32 of an element of memory: f32, f16 or the bits of bf16.
  mlir::Value widen(mlir::Value element) {
    if (element.getType().isInteger(16))
      return fromBF16(element);
    return element.getType().isF32()
               ? element
               : mlir::arith::ExtFOp::create(*this, getF32Type(), element).getResult();
  }
  /// The type of `run` elements that are loaded at once: bits of bf16, two in a word, f32 or f16.
  mlir::Type runType(mlir::Type element, int64_t run) {
    bool isBF16 = element.isBF16();
    mlir::Type word = !isBF16 ? element : run == 1 ? mlir::Type(getI16Type()) : getI32Type();
    int64_t words = isBF16 ? (run + 1) / 2 : run;
    return words == 1 ? word : mlir::VectorType::get(words, word);
  }
  /// The elements of such a value as f32, added to `elements`.
  void unpack(mlir::Value loaded, llvm::SmallVectorImpl<mlir::Value> &elements) {
    auto unpackWord = [&](mlir::Value word) {
      if (!word.getType().isInteger(32))
        return elements.push_back(widen(word));
      elements.push_back(fromBF16(word));
      elements.push_back(fromUpperBF16(word));
    };
    auto type = mlir::dyn_cast<mlir::VectorType>(loaded.getType());
    if (!type)
      return unpackWord(loaded);
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      unpackWord(mlir::vector::ExtractOp::create(*this, loaded, i));
  }
  /// f32 values, one or an even number, as they are stored at once: rounded, two of 16 bits in a
  /// word.
  mlir::Value pack(mlir::Type element, mlir::ValueRange values) {
    llvm::SmallVector<mlir::Value> words(values);
    if (!element.isF32()) {
      auto kind = element.isBF16() ? warp::OperandKind::BF16 : warp::OperandKind::F16;
      words.clear();
      for (size_t i = 0; i < values.size(); i += 2)
        words.push_back(warp::PackOp::create(*this, kind, values[i],
                                             values[std::min(i + 1, values.size() - 1)]));
      if (values.size() == 1)
        return mlir::arith::TruncIOp::create(*this, getI16Type(), words[0]);
    }
    if (words.size() == 1)
      return words[0];
    auto type = mlir::VectorType::get(int64_t(words.size()), words[0].getType());
    return mlir::vector::FromElementsOp::create(*this, type, words);
  }

  /// Runs `body` under a condition; always where it is null.
  void when(mlir::Value condition, llvm::function_ref<void()> body) {
    if (!condition)
      return body();
    auto branch = mlir::scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(branch.thenBlock());
    body();
  }
  /// What `body` computes under a condition, else `otherwise`.
  mlir::ValueRange when(mlir::Value condition, mlir::ValueRange otherwise,
                        llvm::function_ref<llvm::SmallVector<mlir::Value>()> body) {
    auto branch =
        mlir::scf::IfOp::create(*this, otherwise.getTypes(), condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(branch.thenBlock());
    mlir::scf::YieldOp::create(*this, body());
    setInsertionPointToStart(branch.elseBlock());
    mlir::scf::YieldOp::create(*this, otherwise);
    return branch.getResults();
  }
  /// for (i = 0; i < count; ++i) body(i), straight where there is one iteration only.
  void loop(int64_t count, llvm::function_ref<void(mlir::Value)> body) {
    if (count == 1)
      return body(i32(0));
    auto loop = mlir::scf::ForOp::create(*this, i32(0), i32(count), i32(1));
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }
};

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_EMITTER_H
