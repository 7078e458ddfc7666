//===- KnownAttributes.h - ops with declared attributes only ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR keeps an attribute that an op does not declare, and nobody reads it: a misspelt option of an
// op would mean nothing. Our ops have the attributes that they declare, and beside them those whose
// name begins with another dialect, which passes attach (`tile.scratch_bytes` of a function).
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_KNOWNATTRIBUTES_H
#define POLYATTN_DIALECTS_KNOWNATTRIBUTES_H

#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/OpDefinition.h"

namespace polyattn {

/// The one of `names` that a misspelt `name` was most likely meant to be; empty where none is near.
llvm::StringRef nearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> names);

/// Refuses attributes that ops of this name do not have; the error begins as `emitError` does.
mlir::LogicalResult checkAttributeNames(mlir::OperationName op,
                                        llvm::ArrayRef<mlir::NamedAttribute> attributes,
                                        llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// What a dialect has besides: names of attributes that passes attach to its ops, and that its
/// `verifyOperationAttribute` looks at.
class AnnotationNames : public mlir::DialectInterface::Base<AnnotationNames> {
public:
  explicit AnnotationNames(mlir::Dialect *dialect) : Base(dialect) {}
  virtual llvm::ArrayRef<llvm::StringLiteral> getNames() const = 0;
};

/// The trait of ops whose attributes are all known.
template <typename ConcreteOp>
class KnownAttributes : public mlir::OpTrait::TraitBase<ConcreteOp, KnownAttributes> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return checkAttributeNames(op->getName(), llvm::to_vector(op->getDiscardableAttrs()),
                               [op] { return op->emitOpError(); });
  }
};

} // namespace polyattn

#endif // POLYATTN_DIALECTS_KNOWNATTRIBUTES_H
