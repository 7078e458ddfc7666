//===- DropRows.cpp - entries without what nobody asks for ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Sides.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "polyattn/Transforms/Passes.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_DROPROWS
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

/// The same states without queries: any vector of the key's structure will do in their place. Where
/// a state belongs to the query's heads, and these may be others than the key's, it is the query
/// that says how many there are.
static void dropRows(AttendOp attend) {
  OpBuilder builder(attend);
  MLIRContext *context = attend.getContext();
  bool ofQueryHeads = (attend.getGateHeads() == GateHeads::Q) != attend.getOfKeys();
  bool keepsQuery = ofQueryHeads && attend.getGrouping();
  bool hasDenominator = attend.getNormalizer().hasDenominator();
  auto flag = [&](bool isSet) { return isSet ? UnitAttr::get(context) : UnitAttr(); };
  auto states = AttendOp::create(
      builder, attend.getLoc(), keepsQuery ? attend.getQuery() : attend.getKey(), attend.getKey(),
      attend.getValue(), /*local_query=*/Value(), /*local_key=*/Value(), attend.getDecay(),
      attend.getInitialState(), attend.getInitialNormalizer(), /*block_states=*/Value(),
      /*products=*/Value(), /*state=*/Value(), attend.getMaskAttr(),
      hasDenominator ? attend.getNormalizer() : NormalizerAttr::getNone(context),
      /*score_scale=*/FloatAttr(), attend.getDecayFactorsAttr(), attend.getGateHeadsAttr(),
      keepsQuery ? attend.getGroupingAttr() : GroupingAttr(), /*block=*/IntegerAttr(),
      /*signed_scores=*/flag(hasDenominator), flag(attend.getInitialTransposed()),
      /*final_state=*/UnitAttr::get(context), /*factors=*/UnitAttr(), /*schedule=*/ScheduleAttr(),
      /*of_keys=*/flag(keepsQuery && attend.getOfKeys()), /*state_every=*/IntegerAttr(),
      /*window=*/IntegerAttr(), /*sliding=*/UnitAttr(), attend.getPrecisionAttr());
  for (auto [from, to] : llvm::zip(attend.getFinalStates(), states.getFinalStates()))
    from.replaceAllUsesWith(to);
  attend.erase();
}

static void eraseUnusedOps(AttentionOp attention) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(attention.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Clauses name arguments by their numbers.
static void eraseUnusedArguments(AttentionOp attention) {
  Block &body = attention.getBody().front();
  SmallVector<std::optional<int64_t>> clauses = {attention.getFirstPosition(), attention.getSlots(),
                                                 attention.getLengths(), attention.getPacked()};
  SmallVector<Attribute> names;
  SmallVector<std::optional<int64_t>> moved(clauses.size());
  llvm::BitVector erased(body.getNumArguments());
  for (BlockArgument argument : body.getArguments()) {
    int64_t number = argument.getArgNumber();
    const auto *clause = llvm::find(clauses, std::optional(number));
    if (clause != clauses.end())
      moved[clause - clauses.begin()] = names.size();
    else if (argument.use_empty())
      erased.set(number);
    if (!erased.test(number))
      names.push_back(attention.getArgNames()[number]);
  }
  body.eraseArguments(erased);
  attention.setArgNamesAttr(ArrayAttr::get(attention.getContext(), names));
  attention.setFirstPosition(moved[0]);
  attention.setSlots(moved[1]);
  attention.setLengths(moved[2]);
  attention.setPacked(moved[3]);
}

/// Leaves what `saved` and `gradient_of` say of tensors that are still there.
static void forgetErased(AttentionOp attention) {
  auto names = attention.getArgNames(), results = attention.getResultNames();
  Builder builder(attention.getContext());
  if (std::optional<ArrayAttr> saved = attention.getSaved()) {
    SmallVector<Attribute> left;
    llvm::copy_if(*saved, std::back_inserter(left),
                  [&](Attribute name) { return llvm::is_contained(names, name); });
    attention.setSavedAttr(builder.getArrayAttr(left));
  }
  if (std::optional<DictionaryAttr> gradients = attention.getGradientOf()) {
    SmallVector<NamedAttribute> left;
    for (NamedAttribute gradient : *gradients)
      if (llvm::is_contained(names, Attribute(gradient.getName())) ||
          llvm::is_contained(results, Attribute(gradient.getName())))
        left.push_back(gradient);
    attention.setGradientOfAttr(builder.getDictionaryAttr(left));
  }
}

namespace {
struct DropRows : polyattn::impl::DropRowsBase<DropRows> {
  using DropRowsBase::DropRowsBase;

  void runOnOperation() override {
    for (auto attention : getOperation().getOps<AttentionOp>()) {
      eraseUnusedOps(attention);
      for (AttendOp attend : llvm::to_vector(attention.getBody().getOps<AttendOp>()))
        // A state that takes in whole local blocks alone needs to know these.
        if (givesStatesAlone(attend) && attention.getBody().getOps<KeepOp>().empty())
          dropRows(attend);
      eraseUnusedOps(attention);
      if (!attention.getResultIn()) {
        eraseUnusedArguments(attention);
        forgetErased(attention);
      }
    }
  }
};
} // namespace
