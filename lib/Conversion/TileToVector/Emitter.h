//===- Emitter.h - arithmetic, loops and memory in vector code -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOVECTOR_EMITTER_H
#define POLYATTN_LIB_CONVERSION_TILETOVECTOR_EMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "polyattn/Target/MachineDescription.h"

namespace polyattn::tile_to_vector {

/// A 64-bit integer: a known constant plus a part known at run time, if any. Keeping the
/// two apart turns most address arithmetic into displacements.
struct Offset {
  mlir::Value dynamic;
  int64_t constant = 0;

  Offset(int64_t constant = 0) : constant(constant) {}
  Offset(mlir::Value dynamic, int64_t constant = 0) : dynamic(dynamic), constant(constant) {}
  bool isStatic() const { return !dynamic; }
};

using Vectors = llvm::SmallVector<mlir::Value>;

/// Builds vector code for one machine. Constants go to the start of the function, each once.
class Emitter : public mlir::ImplicitLocOpBuilder {
public:
  Emitter(mlir::Location loc, mlir::MLIRContext *context, const MachineDescription &machine)
      : ImplicitLocOpBuilder(loc, context), machine(machine) {}

  const MachineDescription &machine;
  int64_t width() const { return machine.vectorWidth; }
  int64_t padded(int64_t n) const { return (n + width() - 1) / width() * width(); }
  int64_t vectors(int64_t n) const { return (n + width() - 1) / width(); }

  /// Where constants go.
  void setEntry(mlir::Block *block) { entry = block; }
  mlir::VectorType vectorType(mlir::Type element, int64_t lanes = 0) {
    return mlir::VectorType::get({lanes ? lanes : width()}, element);
  }

  // Integers.
  mlir::Value constant(mlir::TypedAttr value);
  mlir::Value value(Offset offset);
  Offset toOffset(mlir::Value index);
  mlir::Value toIndex(Offset offset);
  Offset add(Offset a, Offset b);
  Offset sub(Offset a, Offset b);
  Offset mul(Offset a, int64_t factor);
  Offset mul(Offset a, Offset b);
  /// The quotient of a non-negative dividend.
  Offset div(Offset a, int64_t divisor);
  Offset min(Offset a, Offset b);
  Offset max(Offset a, Offset b);

  // Control flow. A loop of one trip known in advance is its body.
  using Body = llvm::function_ref<Vectors(Offset, mlir::ValueRange)>;
  Vectors loop(Offset from, Offset to, int64_t step, mlir::ValueRange init, Body body);
  void loop(Offset from, Offset to, int64_t step, llvm::function_ref<void(Offset)> body);
  void ifLess(Offset a, Offset b, llvm::function_ref<void()> body);

  // Memory. Offsets count elements. The dynamic part of an address goes through
  // llvm.launder.invariant.group: LLVM does not see how it was computed, so that loop strength
  // reduction and reassociation keep the addressing that the lowering chose.
  mlir::Value pointer(mlir::Value base, Offset offset, mlir::Type element);
  mlir::Value load(mlir::Type type, mlir::Value base, Offset offset);
  mlir::Value loadVector(mlir::Type element, mlir::Value base, Offset offset, int64_t lanes = 0);
  void store(mlir::Value value, mlir::Value base, Offset offset);
  /// Stores the first `lanes` lanes and touches nothing behind them.
  void storeLanes(mlir::Value vector, int64_t lanes, mlir::Value base, Offset offset);
  /// Brings a line to the second level of the caches: the first one is full of this block.
  void prefetch(mlir::Value pointer, bool written);

  // Vectors.
  mlir::Value splat(mlir::TypedAttr scalar, int64_t lanes = 0);
  mlir::Value zero(mlir::Type element);
  mlir::Value broadcast(mlir::Value scalar, int64_t lanes = 0);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  /// Sums of f32 plus the products of two pairs of bf16 each, which words of 32 bits hold.
  mlir::Value addPairProducts(mlir::Value a, mlir::Value b, mlir::Value sums);
  /// Two vectors of f32 as bf16: one after the other, or an element of each in turn, as words.
  mlir::Value packBF16(mlir::Value first, mlir::Value second, bool alternating);
  /// A vector of f32 as bf16, as words.
  mlir::Value packBF16(mlir::Value vector);
  mlir::Value shuffle(mlir::Value a, mlir::Value b, llvm::ArrayRef<int64_t> mask);
  /// Each `count` vectors, a power of two, as one; and back to vectors as wide as the registers.
  Vectors joined(const Vectors &vectors, int64_t count);
  Vectors split(const Vectors &vectors);
  /// 0, 1, 2, ... as i32.
  mlir::Value lanes();
  /// Lanes l with l < bound (a signed number).
  mlir::Value lanesBelow(Offset bound);
  mlir::Value select(mlir::Value mask, mlir::Value a, mlir::Value b);

  // Storage formats: 16-bit values are f32 in registers.
  mlir::Value fromStorage(mlir::Value value);
  mlir::Value toStorage(mlir::Value value, mlir::Type element);
  /// The type under which elements lie in memory for loads and stores (bf16 travels as i16).
  mlir::Type storageType(mlir::Type element);

private:
  /// What is computed in a block, by op, operands and type.
  using Expression = std::tuple<mlir::Block *, mlir::TypeID, mlir::Value, mlir::Value, mlir::Type>;
  /// What `build` gives for the operands of an `Op`, built once in a block, where code is only ever
  /// appended.
  template <typename Op>
  mlir::Value once(mlir::Value a, mlir::Value b, mlir::Type type,
                   llvm::function_ref<mlir::Value()> build) {
    Expression expression = {getInsertionBlock(), mlir::TypeID::get<Op>(), a, b, type};
    mlir::Value &known = expressions[expression];
    if (!known)
      known = build();
    return known;
  }
  template <typename Op> mlir::Value once(mlir::Value a, mlir::Value b) {
    return once<Op>(a, b, {}, [&]() -> mlir::Value { return Op::create(*this, a, b); });
  }

  mlir::Block *entry = nullptr;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  llvm::DenseMap<Expression, mlir::Value> expressions;
};

} // namespace polyattn::tile_to_vector

#endif // POLYATTN_LIB_CONVERSION_TILETOVECTOR_EMITTER_H
