//===- ReadingSession.h - what texts in the short form are read with -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes that a caller binds, and how much the texts of one spec may expand to. Parsing has no other
// place for them: an op's parser reaches its context only, so that they are an interface of the
// context's dialect.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_READINGSESSION_H
#define POLYATTN_DIALECTS_SHORTFORM_READINGSESSION_H

#include "dialects/PolyAttn/ShortForm/NameObserver.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace polyattn {

/// Sizes of an entry in the short form, by their names, in place of what its text says.
struct SpecSizes {
  std::map<std::string, int64_t> values = {};
  /// The entry they are for; all entries that have them where empty.
  std::string entry = {};
};

/// Sizes from `d=64,m=1024`.
llvm::Expected<SpecSizes> parseSpecSizes(llvm::StringRef text);

/// A short text can stand for many ops, since maps are expanded where they are used. What is read
/// and expanded is counted for a whole spec.
struct ReadingLimits {
  /// Ops that are built.
  static constexpr int64_t kOperations = 30000;
  /// Parts of expressions that are read or evaluated.
  static constexpr int64_t kSteps = 1000000;
  /// Elements that selections list.
  static constexpr int64_t kIndices = int64_t(1) << 20;
  /// Expressions inside each other, those of the maps that they use included.
  static constexpr int kDepth = 200;
};

class ReadingSession : public mlir::DialectInterface::Base<ReadingSession> {
public:
  explicit ReadingSession(mlir::Dialect *dialect) : Base(dialect) {}

  /// The session of a dialect, made where there is none.
  static ReadingSession &of(mlir::Dialect &dialect);

  /// A spec begins and ends. Between both, all that its context reads belongs to it.
  void begin(SpecSizes sizes);
  void end() { isOpen = false; }
  bool hasBegun() const { return isOpen; }

  /// Tells an editor what the names of all texts mean that are read from here on; null: nobody.
  void setObserver(NameObserver *newObserver) { observer = newObserver; }
  NameObserver *getObserver() const { return observer; }

  /// What the caller binds a size of an entry to; none where the text's own number counts.
  std::optional<int64_t> bind(llvm::StringRef entry, llvm::StringRef size);

  /// Says which of the caller's sizes no entry has.
  mlir::LogicalResult checkSizes(llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

  /// Counts; false beyond the limit.
  bool addSteps(int64_t count) { return (steps += count) <= ReadingLimits::kSteps; }
  bool addOperations(int64_t count) { return (operations += count) <= ReadingLimits::kOperations; }
  bool addIndices(int64_t count) { return (indices += count) <= ReadingLimits::kIndices; }

private:
  bool isOpen = false;
  NameObserver *observer = nullptr;
  SpecSizes sizes;
  /// Names of sizes that entries have; only the caller's entry counts, where it is named.
  llvm::StringSet<> known;
  int64_t steps = 0, operations = 0, indices = 0;
};

} // namespace polyattn

#endif // POLYATTN_DIALECTS_SHORTFORM_READINGSESSION_H
