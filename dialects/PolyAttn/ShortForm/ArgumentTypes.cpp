//===- ArgumentTypes.cpp - types of arguments in the short form -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/ShortForm/ArgumentTypes.h"
#include "dialects/PolyAttn/Arguments.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::shortform;

static constexpr int64_t kAny = ShapedType::kDynamic;
static constexpr int64_t kTokens[] = {kAny, kAny, kAny}, kPositionsOfHeads[] = {kAny, kAny},
                         kOne[] = {kAny}, kPositions[] = {kAny, 1};

ArrayRef<ArgumentKind> shortform::allArgumentKinds() {
  using Elements = ArgumentKind::Elements;
  // More special shapes come first.
  static const ArgumentKind kKinds[] = {
      {"seq", kTokens, 1, 1},
      {"shared_seq", kTokens, 1, 1, Elements::Storage, "", /*sharedHeads=*/true},
      {"table", kPositions, 1, 1},
      {"head_table", kPositionsOfHeads, 1, 1},
      {"state", kPositionsOfHeads, 2, 2, Elements::F32},
      {"state_normalizer", kPositionsOfHeads, 1, 1, Elements::F32},
      {"decay", kTokens, 0, 1, Elements::F32},
      {"head_decay", kOne, 0, 0, Elements::F32},
      {"weight", {}, 1, 2},
      {"head_weight", kOne, 1, 2},
      {"first_position", kOne, 0, 0, Elements::Whole, "first_position"},
      {"slots", kOne, 0, 0, Elements::Whole, "slots"},
      {"lengths", kOne, 0, 0, Elements::Whole, "lengths"},
      {"packed", kOne, 0, 0, Elements::Whole, "packed"},
  };
  return kKinds;
}

const ArgumentKind *shortform::findArgumentKind(StringRef name) {
  for (const ArgumentKind &kind : allArgumentKinds())
    if (kind.name == name)
      return &kind;
  return nullptr;
}

/// Whether a tensor could have been said with this kind.
static bool fits(const ArgumentKind &kind, RankedTensorType type) {
  ArrayRef<int64_t> shape = type.getShape();
  Type element = type.getElementType();
  bool isStorage = element.isF32() || element.isBF16() || element.isF16();
  bool isRight = kind.elements == ArgumentKind::Elements::Storage ? isStorage
                 : kind.elements == ArgumentKind::Elements::F32
                     ? element.isF32()
                     : element.isInteger(64) || element.isInteger(32);
  if (!isRight || kind.sharedHeads != hasSharedHeads(type) || shape.size() < kind.lead.size() ||
      (type.getEncoding() && !kind.sharedHeads))
    return false;
  ArrayRef<int64_t> sizes = shape.drop_front(kind.lead.size());
  return shape.take_front(kind.lead.size()) == kind.lead && sizes.size() >= kind.leastSizes &&
         sizes.size() <= kind.mostSizes &&
         llvm::none_of(sizes, [](int64_t size) { return ShapedType::isDynamic(size); });
}

const ArgumentKind *shortform::kindOfArgument(AttentionOp op, BlockArgument argument) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  bool isState = AttentionOp::isDecayOrState(argument);
  for (const ArgumentKind &kind : allArgumentKinds()) {
    if (!type || !fits(kind, type))
      continue;
    if (!kind.clause.empty()) {
      auto named = op->getAttrOfType<IntegerAttr>(kind.clause);
      if (!named || named.getInt() != argument.getArgNumber())
        continue;
    }
    // [?, ?, d] is a table of positions or a normalizer of a state, [?, ?, ?, d] a sequence or a
    // decay of each feature.
    if ((kind.name == "head_table" || kind.name == "seq") && isState)
      continue;
    return &kind;
  }
  return nullptr;
}

const ArgumentKind *shortform::kindOfResult(Value value, RankedTensorType type) {
  if (isa<FeatureType>(value.getType()))
    return findArgumentKind(hasSharedHeads(type) ? "shared_seq" : "seq");
  for (StringRef name : {"state", "state_normalizer", "decay"})
    if (const ArgumentKind *kind = findArgumentKind(name); fits(*kind, type))
      return kind;
  return nullptr;
}

std::string shortform::spellType(const ArgumentKind &kind, RankedTensorType type) {
  std::string text = kind.name.str();
  llvm::raw_string_ostream stream(text);
  if (ArrayRef<int64_t> sizes = type.getShape().drop_front(kind.lead.size()); !sizes.empty()) {
    stream << '[';
    llvm::interleaveComma(sizes, stream);
    stream << ']';
  }
  Type element = type.getElementType();
  if (!element.isF32() && !element.isInteger(64))
    stream << ' ' << element;
  return text;
}
