//===- SiteVectors.h - the vectors of one token and head --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_SITEVECTORS_H
#define POLYATTN_LIB_REFERENCE_SITEVECTORS_H

#include "FeatureProgram.h"
#include "dialects/PolyAttn/Arguments.h"

namespace polyattn::reference {

/// One batch, position and head (of queries or of keys, whichever reads it).
struct Site {
  int64_t batch, position, head;
};

/// The tensors of one call.
struct CallTensors {
  AttentionOp attention;
  llvm::ArrayRef<Array> arguments;
  llvm::DenseMap<mlir::Value, Array> computed; // results of attends and convolutions
  int64_t rowsBefore = 0; // of the calls before, in front of this one's own (Kept.h)
  int64_t heads;          // of queries

  CallTensors(AttentionOp attention, llvm::ArrayRef<Array> arguments, int64_t heads)
      : attention(attention), arguments(arguments), heads(heads) {}

  /// An argument of the attention, or what an attend has given.
  const Array &operator[](mlir::Value value) const {
    if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value))
      return arguments[argument.getArgNumber()];
    return computed.find(value)->second;
  }
  /// The head of a sequence that one of the attention's heads reads. Such heads share it where the
  /// sequence has fewer (`shared_heads`).
  int64_t headIn(mlir::Value sequence, int64_t head) const {
    if (!hasSharedHeads(sequence.getType()))
      return head;
    return head / (heads / (*this)[sequence].shape[2]);
  }
  /// Where the call's row 0 is in its sequence.
  int64_t firstPosition(int64_t batch) const {
    mlir::BlockArgument first = AttentionOp(attention).getFirstPositionArgument();
    return first ? int64_t((*this)[first].at({batch})) : 0;
  }
  /// The row of a batch in tensors of states; below 0 where it has none.
  int64_t slot(int64_t batch) const {
    mlir::BlockArgument slots = AttentionOp(attention).getSlotsArgument();
    return slots ? int64_t((*this)[slots].at({batch})) : batch;
  }
  /// Whether a batch begins with what its slot holds, and not with zeros.
  bool isContinued(int64_t batch) const {
    AttentionOp op = attention;
    bool isNew = op.getSlotsArgument() && op.getFirstPositionArgument() &&
                 firstPosition(batch) + rowsBefore == 0;
    return slot(batch) >= 0 && !isNew;
  }
  /// How many of a batch's `positions` count.
  int64_t length(int64_t batch, int64_t positions) const {
    if (slot(batch) < 0)
      return 0;
    mlir::BlockArgument lengths = AttentionOp(attention).getLengthsArgument();
    return lengths ? int64_t((*this)[lengths].at({batch})) : positions;
  }
};

/// Gives `count` numbers of a tensor from `offset` on, as numbers or as variables of a tape.
template <typename Number>
using Reader =
    llvm::function_ref<std::vector<Number>(mlir::Value tensor, int64_t offset, int64_t count)>;

/// Evaluates vectors of the attention's body, site by site: a vector is a program of feature ops
/// over what is read of this site, be it from an argument or from an attend's output.
class SiteVectors {
public:
  explicit SiteVectors(const CallTensors &tensors) : tensors(tensors) {}

  template <typename Number>
  FeatureValue<Number> evaluate(mlir::Value value, const Site &site, Reader<Number> read,
                                const Rounding &rounding = {});

private:
  llvm::ArrayRef<mlir::Operation *> sliceOf(mlir::Value value);

  const CallTensors &tensors;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *>> slices;
};

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_SITEVECTORS_H
