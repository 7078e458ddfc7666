//===- PolyAttnDialect.cpp - registration and attributes ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Attributes/KnownAttributes.h"
#include "dialects/Attributes/UnknownOps.h"
#include "dialects/PolyAttn/FeatureOpRules.h"
#include "dialects/PolyAttn/FeatureParts.h"
#include "dialects/PolyAttn/GradientBuilder.h"
#include "dialects/PolyAttn/PolyAttn.h"
#include "dialects/PolyAttn/TypeSyntax.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;

#include "dialects/PolyAttn/PolyAttnDialect.cpp.inc"
#include "dialects/PolyAttn/PolyAttnEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/PolyAttn/PolyAttnTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/PolyAttn/PolyAttnAttrs.cpp.inc"

#include "dialects/PolyAttn/FeatureOpInterface.cpp.inc"
#include "dialects/PolyAttn/StateUpdateInterface.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/PolyAttn/PolyAttnOps.cpp.inc"

namespace {
/// Attributes of the dialect that no op declares.
struct Annotations : polyattn::AnnotationNames {
  using AnnotationNames::AnnotationNames;
  ArrayRef<StringLiteral> getNames() const override {
    static constexpr StringLiteral names[] = {kFeaturePartsAttrName};
    return names;
  }
};
} // namespace

LogicalResult PolyAttnDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kFeaturePartsAttrName) {
    auto parts = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!isa<AttentionOp>(op) || !parts || parts.getInt() < 1)
      return op->emitOpError("expected '")
             << kFeaturePartsAttrName << "' on an attention, with a number of 1 or more";
    return success();
  }
  if (attribute.getName() != kInvariantAttrName)
    return op->emitOpError("has '")
           << attribute.getName().getValue() << "', which is no attribute of this dialect";
  if (!isa<ModuleOp>(op))
    return op->emitOpError("has '") << kInvariantAttrName << "', which is for modules";
  if (!isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError("expected '")
           << kInvariantAttrName << "' without a value, got " << attribute.getValue();
  return success();
}

std::optional<Dialect::ParseOpHook> PolyAttnDialect::getParseOperationHook(StringRef name) const {
  std::optional<ParseOpHook> registered = Dialect::getParseOperationHook(name);
  return registered ? registered : ParseOpHook(refuseUnknownOp);
}

void PolyAttnDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/PolyAttn/PolyAttnTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/PolyAttn/PolyAttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/PolyAttn/PolyAttnOps.cpp.inc"
      >();
  addInterfaces<Annotations>();
}

//===----------------------------------------------------------------------===//
// ScheduleAttr
//===----------------------------------------------------------------------===//

/// What belongs to the form `chunkwise` is there with it, and not with others.
static LogicalResult verifySegments(function_ref<InFlightDiagnostic()> emitError, ScheduleForm form,
                                    int64_t block, DenseI64ArrayAttr shortBlocks, bool contracted,
                                    int64_t segment, FloatType states) {
  constexpr int64_t longest = ScheduleAttr::kLongestSegment;
  if (form != ScheduleForm::Chunkwise) {
    if (segment || states)
      return emitError() << "`segment` and `states` belong to the form `chunkwise`";
    return success();
  }
  if (segment < 1 || segment > longest || segment % block)
    return emitError() << "a segment has 1 to " << longest << " positions, a multiple of a block's "
                       << block << ", not " << segment;
  if (states && !states.isF32() && !states.isBF16() && !states.isF16())
    return emitError() << "states are stored as f32, bf16 or f16, not as " << states;
  if (contracted || shortBlocks)
    return emitError() << "the form `chunkwise` has no contracted states and no short blocks";
  return success();
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, ScheduleForm form,
                                   ScheduleDiagonal diagonal, int64_t block, int64_t featureBlock,
                                   int64_t quadraticBelow, DenseI64ArrayAttr shortBlocks,
                                   bool contracted, int64_t segment, FloatType states) {
  constexpr int64_t longest = 1024;
  if (block < 1 || block > longest)
    return emitError() << "a block has 1 to 1024 positions, not " << block;
  if (featureBlock < 1)
    return emitError() << "a feature block has at least one feature, not " << featureBlock;
  if (quadraticBelow < 0)
    return emitError() << "quadratic_below is 0 or more, not " << quadraticBelow;
  if (quadraticBelow > 0 && form != ScheduleForm::Both && form != ScheduleForm::Chunkwise)
    return emitError() << "quadratic_below belongs to the forms `both` and `chunkwise`";
  if (contracted && (form == ScheduleForm::Quadratic || diagonal == ScheduleDiagonal::Features))
    return emitError() << "a contracted state is one whose blocks have their pairs by scores";
  if (failed(verifySegments(emitError, form, block, shortBlocks, contracted, segment, states)))
    return failure();
  if (!shortBlocks)
    return success();
  if (shortBlocks.size() > kMaxShortBlocks)
    return emitError() << "there are at most " << kMaxShortBlocks << " short blocks, not "
                       << shortBlocks.size();
  int64_t shorter = 0;
  for (int64_t length : shortBlocks.asArrayRef()) {
    if (length < 1 || length > longest)
      return emitError() << "a short block has 1 to 1024 positions, not " << length;
    if (length <= shorter)
      return emitError() << "short_blocks ascend, but " << length << " comes after " << shorter;
    shorter = length;
  }
  return success();
}
