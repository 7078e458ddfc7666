//===- EntryExtension.h - more arguments and results ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TRANSFORMS_ENTRYEXTENSION_H
#define POLYATTN_LIB_TRANSFORMS_ENTRYEXTENSION_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "llvm/ADT/StringSet.h"

namespace polyattn {

/// Adds arguments and results to an attention. Names that are taken get a number.
class EntryExtension {
public:
  explicit EntryExtension(AttentionOp op);

  mlir::BlockArgument addArgument(llvm::StringRef name, mlir::Type type);
  /// The name of an argument, be it new or not.
  llvm::StringRef nameOf(mlir::BlockArgument argument) const {
    return llvm::cast<mlir::StringAttr>(arguments[argument.getArgNumber()]).getValue();
  }
  /// Leaves the attention without results, and forgets their names.
  void clearResults();
  /// Makes a value a result, of the given type. Gives its number.
  size_t addResult(mlir::Value value, mlir::Type type, llvm::StringRef name);
  /// Makes a final state a result, where it is none, that lives in an argument, and has its type.
  /// So may other values that go on from what an argument holds.
  void place(mlir::Value state, mlir::BlockArgument argument, llvm::StringRef name);
  /// Writes what was added to the attention's attributes.
  void finish();

private:
  mlir::Block &body() { return op.getBody().front(); }
  mlir::StringAttr nameFor(llvm::StringRef wanted);

  AttentionOp op;
  llvm::SmallVector<mlir::Attribute> arguments, results, types;
  llvm::SmallVector<int64_t> places; // the arguments in which results live, or -1
  llvm::StringSet<> taken;
};

/// Leaves an attention the results for which `keep` holds of their values. None of them lives in an
/// argument.
void filterResults(AttentionOp op, llvm::function_ref<bool(mlir::Value)> keep);

/// [?, ?, sizes...] of f32.
mlir::RankedTensorType stateType(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> sizes);
/// The types of an attend's state and, with a denominator, of its normalizer.
llvm::SmallVector<mlir::Type> stateTypesOf(AttendOp attend);
/// An attend that gives its final state.
AttendOp withFinalState(AttendOp attend);
/// The first attend that begins with a state which one before it begins with, and the state's name.
/// Null where each has states of its own: two attends that begin with one end with two.
std::pair<AttendOp, mlir::Attribute> findSharedState(AttentionOp op,
                                                     llvm::ArrayRef<AttendOp> attends);
/// Gives an attend that has none an initial state, new arguments of the entry.
void addInitialState(AttendOp attend, EntryExtension &entry);

} // namespace polyattn

#endif // POLYATTN_LIB_TRANSFORMS_ENTRYEXTENSION_H
