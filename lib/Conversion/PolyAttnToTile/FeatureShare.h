//===- FeatureShare.h - which features a program computes with --*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One program has all features of a head, or several programs have a share each: parts of a launch,
// whose sums a second kernel adds, or a cluster, whose programs run together and add what they have
// by themselves.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_FEATURESHARE_H
#define POLYATTN_CONVERSION_FEATURESHARE_H

#include "Accumulators.h"
#include "TileBuilder.h"

namespace polyattn {

/// The features of one state, and how many are formed at a time.
struct FeatureRange {
  int64_t features = 0, block = 0;

  int64_t blockSize() const { return std::min(block, features); }
  /// Features in whole blocks.
  int64_t whole() const { return features / blockSize() * blockSize(); }
};

class FeatureShare {
public:
  using Values = TileBuilder::Values;
  /// Computes with `count` features from `first` on.
  using Body = llvm::function_ref<Values(mlir::Value first, int64_t count, mlir::ValueRange in)>;

  virtual ~FeatureShare() = default;

  virtual bool isAll() const { return false; }
  /// How many rows of a state the program keeps.
  virtual int64_t rows(int64_t features) const { return features; }
  /// The row of the program's state that belongs to `feature`.
  virtual mlir::Value rowOf(TileBuilder &builder, mlir::Value feature, int64_t features) const {
    return feature;
  }
  /// Runs `body` over the program's features, block by block, with values that each one gets from
  /// the one before it. Gives the last ones.
  virtual Values forBlocks(TileBuilder &builder, const FeatureRange &range,
                           mlir::ValueRange carried, Body body) const = 0;
  /// Scores cannot be split over features. i1: whether this program computes the scores inside the
  /// block of `length` positions at `position` (round robin); null where it computes all.
  virtual mlir::Value computesScores(TileBuilder &builder, mlir::Value position,
                                     int64_t length) const {
    return {};
  }
  /// Runs `body`, which computes a block, for each of the program's parts in turn, whose sums are
  /// apart. What `prepare` emits serves all of them; it is not called where nothing comes in parts.
  virtual void forParts(TileBuilder &builder, TileBuilder::Branch prepare,
                        TileBuilder::Branch body) const {
    body();
  }
  /// index: the part at hand within `forParts`; null where nothing comes in parts.
  virtual mlir::Value part() const { return {}; }
  /// What becomes of a block's accumulators: `results` makes results of them once they are those of
  /// all features, `part` stores the program's own for another kernel.
  virtual void finishBlock(TileBuilder &builder, llvm::MutableArrayRef<Accumulators> accumulators,
                           TileBuilder::Branch results, TileBuilder::Branch part) const {
    results();
  }
  /// Emits `body` for one of the programs that would all do the same.
  virtual void inOneProgram(TileBuilder &builder, TileBuilder::Branch body) const { body(); }

  //===--- Calls that are several launches ----------------------------------===//
  /// Whether the state stays where it is from one launch to the next.
  virtual bool keepsState() const { return false; }
  /// The row of the call that a launch has as `row`.
  virtual mlir::Value rowOfCall(TileBuilder &builder, mlir::Value row) const { return row; }
  /// Whether this is the call's first launch; null where it is the only one.
  virtual mlir::Value isFirstLaunch(TileBuilder &builder) const { return {}; }
  /// Whether another launch of the call comes after this one; null where it is the only one.
  virtual mlir::Value goesOn(TileBuilder &builder) const { return {}; }
  /// Whether the program has the whole head and the whole call; null where that is known.
  virtual mlir::Value isAlone(TileBuilder &builder) const { return {}; }
};

/// The program computes with all features.
class AllFeatures final : public FeatureShare {
public:
  bool isAll() const override { return true; }
  Values forBlocks(TileBuilder &builder, const FeatureRange &range, mlir::ValueRange carried,
                   Body body) const override;
};

/// Split features: one partial sum for each split, whatever the number of programs, so that results
/// do not depend on threads. A long call is cut into several launches, between
/// which the state stays in its buffers.
class LaunchedParts final : public FeatureShare {
public:
  /// index: the program's first part and the one behind its last, the number of all parts, the
  /// call's row that the launch has as 0, and how many rows come after the launch's.
  LaunchedParts(mlir::Value first, mlir::Value behind, mlir::Value parts, mlir::Value base,
                mlir::Value left)
      : first(first), behind(behind), parts(parts), base(base), left(left), begin(first),
        end(behind) {}

  Values forBlocks(TileBuilder &builder, const FeatureRange &range, mlir::ValueRange carried,
                   Body body) const override;
  mlir::Value computesScores(TileBuilder &builder, mlir::Value position,
                             int64_t length) const override;
  void finishBlock(TileBuilder &builder, llvm::MutableArrayRef<Accumulators> accumulators,
                   TileBuilder::Branch results, TileBuilder::Branch part) const override;
  void forParts(TileBuilder &builder, TileBuilder::Branch prepare,
                TileBuilder::Branch body) const override;
  mlir::Value part() const override { return begin; }
  bool keepsState() const override { return true; }
  mlir::Value rowOfCall(TileBuilder &builder, mlir::Value row) const override;
  mlir::Value isFirstLaunch(TileBuilder &builder) const override;
  mlir::Value goesOn(TileBuilder &builder) const override;
  mlir::Value isAlone(TileBuilder &builder) const override;

  const mlir::Value first, behind, parts, base, left;

private:
  /// The parts whose features `forBlocks` runs over: all of the program's, or the one at hand.
  mutable mlir::Value begin, end;
};

/// Shares the features of a head among the programs of a cluster, as many whole blocks for each.
class ClusterShare final : public FeatureShare {
public:
  /// index: the program's number in the cluster.
  ClusterShare(mlir::Value rank, int64_t size) : rank(rank), size(size) {}

  int64_t rows(int64_t features) const override { return features / size; }
  mlir::Value rowOf(TileBuilder &builder, mlir::Value feature, int64_t features) const override;
  Values forBlocks(TileBuilder &builder, const FeatureRange &range, mlir::ValueRange carried,
                   Body body) const override;
  mlir::Value computesScores(TileBuilder &builder, mlir::Value position,
                             int64_t length) const override;
  void finishBlock(TileBuilder &builder, llvm::MutableArrayRef<Accumulators> accumulators,
                   TileBuilder::Branch results, TileBuilder::Branch part) const override;
  void inOneProgram(TileBuilder &builder, TileBuilder::Branch body) const override;

  const mlir::Value rank;
  const int64_t size;

private:
  mlir::Value begin(TileBuilder &builder, int64_t features) const;
};

/// All features or, where a condition does not hold, none: what the program would read is zero.
class FeaturesIf final : public FeatureShare {
public:
  explicit FeaturesIf(mlir::Value condition) : condition(condition) {}

  bool isAll() const override { return true; }
  Values forBlocks(TileBuilder &builder, const FeatureRange &range, mlir::ValueRange carried,
                   Body body) const override;

private:
  const mlir::Value condition; // i1
};

/// The program has one block of the features of one state, as other programs have the others.
class FeatureBlockShare final : public FeatureShare {
public:
  /// `first`, index: the first feature of the block, which has `size` of them.
  FeatureBlockShare(mlir::Value first, int64_t size) : first(first), size(size) {}

  int64_t rows(int64_t features) const override { return size; }
  mlir::Value rowOf(TileBuilder &builder, mlir::Value feature, int64_t features) const override;
  Values forBlocks(TileBuilder &builder, const FeatureRange &range, mlir::ValueRange carried,
                   Body body) const override;
  void inOneProgram(TileBuilder &builder, TileBuilder::Branch body) const override;

private:
  const mlir::Value first;
  const int64_t size;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_FEATURESHARE_H
