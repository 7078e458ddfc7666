//===- FeatureOps.cpp - result structures of the feature ops --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inference and verification are one: each op's numbered constraints (C1, C2, ...)
// are checked where its result type is inferred.
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/PolyAttn.h"

using namespace mlir;
using namespace polyattn;

using Loc = std::optional<Location>;
using Results = SmallVectorImpl<Type>;

static Structure structureOf(Value value) {
  return cast<FeatureType>(value.getType()).getStructure();
}
static int64_t widthOf(Value value) { return structureOf(value).width(); }

static LogicalResult infer(MLIRContext *context, Results &results, const Structure &structure) {
  results.push_back(FeatureType::get(context, structure));
  return success();
}
/// A plain vector, which unlike a product or a power exists in full.
static LogicalResult inferVector(MLIRContext *context, Loc loc, Results &results, int64_t width) {
  if (width > FeatureType::kMaxVector)
    return emitOptionalError(loc, "a vector of ", width,
                             " features is too wide to be formed; only the scores of tensor and "
                             "symmetric powers need no features");
  return infer(context, results, Structure::vector(width));
}

static LogicalResult checkFinite(Loc loc, StringRef constraint, StringRef name,
                                 const llvm::APFloat &number) {
  if (!number.isFinite())
    return emitOptionalError(loc, constraint, ": ", name, " must be finite");
  return success();
}

/// The weight is a vector as wide as the input.
static LogicalResult checkVectorWeight(Loc loc, StringRef constraint, Value weight, int64_t width) {
  ArrayRef<int64_t> shape = cast<WeightType>(weight.getType()).getShape();
  if (shape.size() != 1 || shape[0] != width)
    return emitOptionalError(loc, constraint, ": expected a weight vector of ", width,
                             " numbers, got ", weight.getType());
  return success();
}

//===----------------------------------------------------------------------===//
// Linear maps and products
//===----------------------------------------------------------------------===//

LogicalResult ProjectOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                          Results &results) {
  int64_t width = widthOf(op.getInput());
  ArrayRef<int64_t> shape = cast<WeightType>(op.getWeight().getType()).getShape();
  if (shape.size() != 2 || shape[0] != width)
    return emitOptionalError(loc, "C1: expected a weight matrix with ", width, " rows, got ",
                             op.getWeight().getType());
  if (op.getBias() && failed(checkVectorWeight(loc, "C2", op.getBias(), shape[1])))
    return failure();
  return inferVector(context, loc, results, shape[1]);
}

LogicalResult WeightProductOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                                Results &results) {
  ArrayRef<int64_t> lhs = cast<WeightType>(op.getLhs().getType()).getShape();
  ArrayRef<int64_t> rhs = cast<WeightType>(op.getRhs().getType()).getShape();
  for (Value weight : {op.getLhs(), op.getRhs()})
    if (cast<WeightType>(weight.getType()).getShape().size() != 2)
      return emitOptionalError(loc, "C1: expected a weight matrix, got ", weight.getType());
  if (lhs[1] != rhs[0])
    return emitOptionalError(loc, "C2: expected a weight matrix with ", lhs[1], " rows, got ",
                             op.getRhs().getType());
  results.push_back(WeightType::get(context, {lhs[0], rhs[1]}));
  return success();
}

/// Operands of one width, or of width 1, which is repeated.
static LogicalResult inferBroadcast(MLIRContext *context, Loc loc, ValueRange inputs,
                                    Results &results) {
  if (inputs.empty())
    return emitOptionalError(loc, "C1: expected at least one operand");
  int64_t width = 1;
  for (Value input : inputs)
    width = std::max(width, widthOf(input));
  for (Value input : inputs)
    if (widthOf(input) != width && widthOf(input) != 1)
      return emitOptionalError(loc, "C1: expected operands of one width, got ", widthOf(input),
                               " and ", width);
  return inferVector(context, loc, results, width);
}

LogicalResult HadamardOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                           Results &results) {
  return inferBroadcast(context, loc, op.getInputs(), results);
}

LogicalResult AddOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op, Results &results) {
  return inferBroadcast(context, loc, op.getInputs(), results);
}

static LogicalResult collectParts(Loc loc, ValueRange inputs, std::vector<Structure> &parts) {
  if (inputs.empty())
    return emitOptionalError(loc, "C1: expected at least one operand");
  size_t size = 0;
  for (Value input : inputs)
    size += cast<FeatureType>(input.getType()).getCode().size();
  if (size + 5 > FeatureType::kMaxCode)
    return emitOptionalError(loc, "C2: the result's structure has too many parts");
  for (Value input : inputs)
    parts.push_back(structureOf(input));
  return success();
}

LogicalResult TensorOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                         Results &results) {
  std::vector<Structure> parts;
  if (failed(collectParts(loc, op.getInputs(), parts)))
    return failure();
  return infer(context, results, parts.size() == 1 ? parts[0] : Structure::tensorProduct(parts));
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                         Results &results) {
  std::vector<Structure> parts;
  if (failed(collectParts(loc, op.getInputs(), parts)))
    return failure();
  return infer(context, results, parts.size() == 1 ? parts[0] : Structure::concat(parts));
}

LogicalResult PowerOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                        Results &results) {
  int64_t degree = op.getDegree();
  if (degree < 1 || degree > 64)
    return emitOptionalError(loc, "C1: expected a degree between 1 and 64, got ", degree);
  if (cast<FeatureType>(op.getInput().getType()).getCode().size() + 5 > FeatureType::kMaxCode)
    return emitOptionalError(loc, "C3: the result's structure has too many parts");
  Structure base = structureOf(op.getInput());
  if (op.getBlock()) {
    int64_t block = *op.getBlock();
    if (!op.getSymmetric())
      return emitOptionalError(loc, "C2: a block is given with `symmetric` only");
    if (block < 1 || base.width() % block != 0)
      return emitOptionalError(loc, "C2: the block ", block, " does not divide the width ",
                               base.width());
  }
  return infer(context, results,
               op.getSymmetric()
                   ? Structure::symmetricPower(base, degree, op.getBlock().value_or(1))
                   : Structure::tensorPower(base, degree));
}

LogicalResult TriuOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                       Results &results) {
  int64_t width = widthOf(op.getLhs());
  if (widthOf(op.getRhs()) != width)
    return emitOptionalError(loc, "C1: expected operands of one width, got ", width, " and ",
                             widthOf(op.getRhs()));
  return inferVector(context, loc, results, binomial(width + 1, 2));
}

LogicalResult ScaleOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                        Results &results) {
  if (failed(checkFinite(loc, "C1", "the factor", op.getFactor())))
    return failure();
  return infer(context, results, structureOf(op.getInput()));
}

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                           Results &results) {
  int64_t width = op.getWidth();
  if (width < 1)
    return emitOptionalError(loc, "C1: expected a positive width, got ", width);
  if (failed(checkFinite(loc, "C2", "the value", op.getValue())))
    return failure();
  return inferVector(context, loc, results, width);
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                         Results &results) {
  int64_t width = widthOf(op.getInput());
  if (op.getIndices().empty())
    return emitOptionalError(loc, "C1: expected at least one index");
  for (int64_t index : op.getIndices())
    if (index < 0 || index >= width)
      return emitOptionalError(loc, "C1: index ", index, " is outside a vector of ", width);
  return inferVector(context, loc, results, op.getIndices().size());
}

//===----------------------------------------------------------------------===//
// Element-wise functions
//===----------------------------------------------------------------------===//

#define POLYATTN_ELEMENTWISE(OP)                                                                   \
  LogicalResult OP::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,                    \
                                     Results &results) {                                           \
    return inferVector(context, loc, results, widthOf(op.getInput()));                             \
  }
POLYATTN_ELEMENTWISE(ReluOp)
POLYATTN_ELEMENTWISE(EluPlusOneOp)
POLYATTN_ELEMENTWISE(ExpOp)
POLYATTN_ELEMENTWISE(TanhOp)
POLYATTN_ELEMENTWISE(SinOp)
POLYATTN_ELEMENTWISE(CosOp)
POLYATTN_ELEMENTWISE(AbsOp)
POLYATTN_ELEMENTWISE(SigmoidOp)
POLYATTN_ELEMENTWISE(SiluOp)
POLYATTN_ELEMENTWISE(SoftplusOp)
POLYATTN_ELEMENTWISE(GeluOp)
#undef POLYATTN_ELEMENTWISE

LogicalResult AddConstOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                           Results &results) {
  if (failed(checkFinite(loc, "C1", "the value", op.getValue())))
    return failure();
  return inferVector(context, loc, results, widthOf(op.getInput()));
}

LogicalResult ClampMinOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                           Results &results) {
  if (failed(checkFinite(loc, "C1", "the value", op.getValue())))
    return failure();
  return inferVector(context, loc, results, widthOf(op.getInput()));
}

LogicalResult PowOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op, Results &results) {
  if (op.getExponent().has_value() == bool(op.getExponents()))
    return emitOptionalError(loc, "C1: expected either an `exponent` or an exponent operand");
  if (op.getExponent() && failed(checkFinite(loc, "C3", "the exponent", *op.getExponent())))
    return failure();
  int64_t width = widthOf(op.getInput());
  if (op.getExponents() && isa<FeatureType>(op.getExponents().getType())) {
    if (widthOf(op.getExponents()) != width)
      return emitOptionalError(loc, "C2: expected exponents as wide as the input, ", width,
                               ", got ", widthOf(op.getExponents()));
  } else if (op.getExponents() && failed(checkVectorWeight(loc, "C2", op.getExponents(), width))) {
    return failure();
  }
  return inferVector(context, loc, results, width);
}

#define POLYATTN_VECTOR_WEIGHT(OP)                                                                 \
  LogicalResult OP::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,                    \
                                     Results &results) {                                           \
    int64_t width = widthOf(op.getInput());                                                        \
    if (failed(checkVectorWeight(loc, "C1", op.getWeight(), width)))                               \
      return failure();                                                                            \
    return inferVector(context, loc, results, width);                                              \
  }
POLYATTN_VECTOR_WEIGHT(AddVecOp)
POLYATTN_VECTOR_WEIGHT(MulVecOp)
POLYATTN_VECTOR_WEIGHT(DivVecOp)
#undef POLYATTN_VECTOR_WEIGHT

//===----------------------------------------------------------------------===//
// Reductions and normalizations
//===----------------------------------------------------------------------===//

LogicalResult SquaredNormOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor,
                                              Results &results) {
  return inferVector(context, loc, results, 1);
}

LogicalResult MaxOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor, Results &results) {
  return inferVector(context, loc, results, 1);
}

static LogicalResult checkEps(Loc loc, StringRef constraint, const llvm::APFloat &eps) {
  if (eps.isNegative() || !eps.isFinite())
    return emitOptionalError(loc, constraint, ": eps must be finite and not negative");
  return success();
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                            Results &results) {
  int64_t width = widthOf(op.getInput());
  if (op.getAffine().size() > 2)
    return emitOptionalError(loc, "C1: expected at most a gamma and a beta");
  for (Value weight : op.getAffine())
    if (failed(checkVectorWeight(loc, "C1", weight, width)))
      return failure();
  if (failed(checkEps(loc, "C2", op.getEps())))
    return failure();
  return inferVector(context, loc, results, width);
}

LogicalResult L2NormOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                         Results &results) {
  if (failed(checkEps(loc, "C1", op.getEps())))
    return failure();
  return inferVector(context, loc, results, widthOf(op.getInput()));
}

LogicalResult L2RescaleOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                            Results &results) {
  return inferVector(context, loc, results, widthOf(op.getInput()));
}

LogicalResult SumNormOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                          Results &results) {
  if (failed(checkEps(loc, "C1", op.getEps())))
    return failure();
  return inferVector(context, loc, results, widthOf(op.getInput()));
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                          Results &results) {
  int64_t width = widthOf(op.getInput()), groups = op.getGroups();
  if (groups < 1 || width % groups != 0)
    return emitOptionalError(loc, "C1: ", groups, " groups do not divide the width ", width);
  return inferVector(context, loc, results, width);
}

LogicalResult RopeOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                       Results &results) {
  int64_t width = widthOf(op.getInput()), dims = op.getDims();
  if (dims < 2 || dims % 2 != 0 || dims > width)
    return emitOptionalError(loc, "C1: expected an even `dims` between 2 and ", width, ", got ",
                             dims);
  if (failed(checkVectorWeight(loc, "C2", op.getFreqs(), dims / 2)) ||
      failed(checkFinite(loc, "C3", "the offset", op.getOffset())) ||
      failed(checkFinite(loc, "C3", "the scale", op.getScale())))
    return failure();
  return inferVector(context, loc, results, width);
}
