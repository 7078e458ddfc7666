//===- ShareFeatures.cpp - programs that share features of gradients ------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Dependencies.h"
#include "dialects/PolyAttn/FeatureParts.h"
#include "polyattn/Schedule/Invariant.h"
#include "polyattn/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace polyattn {
#define GEN_PASS_DEF_SHAREFEATURES
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

namespace {
/// What a program has of a value where programs share features.
enum class Share {
  Whole,   // all of it, as every program does
  Columns, // features of its own
  Term     // a term of a sum over the programs
};

/// The values of an entry, of which each program has a share.
class SharedEntry {
public:
  explicit SharedEntry(AttentionOp attention) : attention(attention) {}

  /// Finds the shares of all values where weights with this many columns are shared. False where
  /// some value would be no share of any kind.
  bool find(int64_t columns);
  /// Gives values that are shared the types of one of `parts` programs.
  void narrow(int64_t parts);

private:
  std::optional<Share> shareOf(Operation &op) const;
  std::optional<Share> ofAttend(AttendOp attend) const;
  bool canReturn(Value value) const;
  Share of(Value value) const { return shares.lookup(value); }

  AttentionOp attention;
  int64_t features = 0;
  llvm::MapVector<Value, Share> shares;
};
} // namespace

static bool isMatrix(Type type) {
  auto weight = dyn_cast<WeightType>(type);
  return weight && weight.getShape().size() == 2;
}

/// An attend that is linear in its scores and in its values, with nothing beside them.
static bool isPlain(AttendOp attend) {
  return attend.getMask() != Mask::Full && !attend.getLocalQuery() && !attend.hasDecay() &&
         !attend.getWindow() && attend.getOthers().empty() && !attend.getGivenState().state &&
         !attend.getStateEvery() && !attend.getProducts() && !attend.getLagSlope() &&
         attend.getNormalizer() == NormalizerAttr::getNone(attend.getContext());
}

std::optional<Share> SharedEntry::ofAttend(AttendOp attend) const {
  Share query = of(attend.getQuery()), key = of(attend.getKey()), value = of(attend.getValue());
  if (query == Share::Whole && key == Share::Whole && value == Share::Whole)
    return Share::Whole;
  if (!isPlain(attend))
    return std::nullopt;
  if (query == Share::Whole && key == Share::Whole && value == Share::Columns)
    return Share::Columns;
  // Each program has the scores of its features.
  if (query == Share::Columns && key == Share::Columns && value == Share::Whole)
    return Share::Term;
  return std::nullopt;
}

/// What a program has of an op's results; nothing where it would be no share.
std::optional<Share> SharedEntry::shareOf(Operation &op) const {
  auto all = [&](Share share) {
    return llvm::all_of(op.getOperands(), [&](Value operand) { return of(operand) == share; });
  };
  if (auto read = dyn_cast<ReadOp>(op)) {
    bool isShared =
        isMatrix(read.getType()) && cast<WeightType>(read.getType()).getShape()[1] == features;
    return isShared ? Share::Columns : Share::Whole;
  }
  if (auto attend = dyn_cast<AttendOp>(op))
    return ofAttend(attend);
  if (all(Share::Whole))
    return Share::Whole;
  if (auto project = dyn_cast<ProjectOp>(op)) {
    if (project.getBias())
      return std::nullopt;
    Share vector = of(project.getInput());
    if (of(project.getWeight()) == Share::Whole) // which is linear
      return vector == Share::Term ? std::optional(vector) : std::nullopt;
    Share needed = project.getTransposed() ? Share::Columns : Share::Whole;
    if (vector != needed)
      return std::nullopt;
    return project.getTransposed() ? Share::Term : Share::Columns;
  }
  if (auto gradient = dyn_cast<WeightGradientOp>(op)) {
    bool hasColumns = llvm::all_of(gradient.getGradients(),
                                   [&](Value vector) { return of(vector) == Share::Columns; }) &&
                      llvm::all_of(gradient.getInputs(),
                                   [&](Value vector) { return of(vector) == Share::Whole; });
    return hasColumns && isMatrix(gradient.getType()) ? std::optional(Share::Columns)
                                                      : std::nullopt;
  }
  if (isa<HadamardOp>(op) && all(Share::Columns))
    return Share::Columns;
  if (isa<ScaleOp, AddOp>(op)) {
    Share first = of(op.getOperand(0));
    return all(first) ? std::optional(first) : std::nullopt;
  }
  return std::nullopt;
}

/// Rows are sums over the programs, and need the attends of one kernel. Each program has its
/// columns of a weight's gradient.
bool SharedEntry::canReturn(Value value) const {
  if (isa<WeightType>(value.getType()))
    return of(value) == Share::Columns;
  if (!isa<FeatureType>(value.getType()) || of(value) != Share::Term)
    return false;
  std::optional<Mask> mask;
  return !walkDependencies(value, [&](Value from) {
    auto attend = from.getDefiningOp<AttendOp>();
    if (!attend)
      return WalkResult::advance();
    bool isOther = mask && *mask != attend.getMask();
    mask = attend.getMask();
    return isOther ? WalkResult::interrupt() : WalkResult::skip();
  });
}

bool SharedEntry::find(int64_t columns) {
  features = columns;
  for (Operation &op : attention.getBody().front().without_terminator()) {
    std::optional<Share> share = shareOf(op);
    if (!share)
      return false;
    for (Value result : op.getResults())
      shares[result] = *share;
  }
  return llvm::all_of(attention.getBody().front().getTerminator()->getOperands(),
                      [&](Value value) { return canReturn(value); });
}

void SharedEntry::narrow(int64_t parts) {
  for (auto [value, share] : shares) {
    if (share != Share::Columns)
      continue;
    if (auto weight = dyn_cast<WeightType>(value.getType()))
      value.setType(partOfColumns(weight, parts));
    else
      value.setType(FeatureType::vector(attention.getContext(), features / parts));
  }
  attention->setAttr(kFeaturePartsAttrName,
                     Builder(attention.getContext()).getI64IntegerAttr(parts));
}

namespace {
struct ShareFeaturesPass : polyattn::impl::ShareFeaturesBase<ShareFeaturesPass> {
  using ShareFeaturesBase::ShareFeaturesBase;

  void runOnOperation() override {
    if (isInvariant(getOperation()))
      return;
    for (AttentionOp attention : getOperation().getOps<AttentionOp>())
      share(attention);
  }

private:
  /// The weights' gradients of an entry: their numbers, and their most columns.
  static std::pair<int64_t, int64_t> sizeOfSums(AttentionOp attention) {
    int64_t numbers = 0, columns = 0;
    for (auto gradient : attention.getBody().getOps<WeightGradientOp>()) {
      numbers += ShapedType::getNumElements(gradient.getType().getShape());
      if (isMatrix(gradient.getType()))
        columns = std::max(columns, gradient.getType().getShape()[1]);
    }
    return {numbers, columns};
  }

  void share(AttentionOp attention) {
    // A program needs whole fragments of features.
    constexpr int64_t fewest = 64;
    auto [numbers, columns] = sizeOfSums(attention);
    int64_t parts = 1;
    while (parts < mostParts && numbers * int64_t(sizeof(float)) > bytes * parts &&
           columns % (2 * parts * fewest) == 0)
      parts *= 2;
    if (parts == 1 || attention.getLengths() || attention.hasStatesInPlace())
      return;
    SharedEntry entry(attention);
    if (entry.find(columns))
      entry.narrow(parts);
  }
};
} // namespace
