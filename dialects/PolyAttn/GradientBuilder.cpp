//===- GradientBuilder.cpp - gradients as programs of feature ops ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/GradientBuilder.h"
#include "dialects/PolyAttn/FeatureOpRules.h"
#include "dialects/PolyAttn/Sides.h"

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

void GradientBuilder::addTo(Value vector, Value gradient) {
  if (!gradient || !wants(vector))
    return;
  int64_t width = widthOf(vector), given = widthOf(gradient);
  if (width == 1 && given > 1)
    gradient = sum(gradient);
  else if (given == 1 && width > 1)
    gradient = repeat(gradient, width);
  terms[vector].push_back(gradient);
}

void GradientBuilder::addToMatrix(Value weight, Value x, Value dy) {
  if (!wants(weight))
    return;
  // W1 W2 is computed from weights once, its gradient per position: x W1 and W2 dy exist there.
  if (auto product = weight.getDefiningOp<WeightProductOp>()) {
    if (wants(product.getLhs()))
      addToMatrix(product.getLhs(), x,
                  create<ProjectOp>(dy, product.getRhs(), /*bias=*/Value(), /*transposed=*/true));
    if (wants(product.getRhs()))
      addToMatrix(product.getRhs(), create<ProjectOp>(x, product.getLhs(), /*bias=*/Value()), dy);
    return;
  }
  weightTerms[weight].push_back({x, dy});
}

void GradientBuilder::addToWeight(Value weight, Value dy) {
  if (wants(weight))
    weightTerms[weight].push_back({Value(), dy});
}

void GradientBuilder::addToFilter(ConvolveOp op, Value dy) {
  Value filter = op.getFilter();
  if (!wants(filter))
    return;
  FilterTerms &terms = filterTerms.try_emplace(filter, FilterTerms{op, {}}).first->second;
  if (op.getCircular() == terms.first.getCircular() &&
      op.getReversed() == terms.first.getReversed() &&
      op.getType().getWidth() == terms.first.getType().getWidth())
    terms.pairs.push_back({op.getInput(), dy});
  else
    refuseFilter(op);
}

Value GradientBuilder::refuseFilter(ConvolveOp op) {
  return refuse(op, "has no gradient for its filter, which is a weight of another kind as well: "
                    "give each op a weight of its own and add their gradients");
}

Value GradientBuilder::refuse(Operation *op, const Twine &why) {
  op->emitOpError(why);
  refused = true;
  return {};
}

Value GradientBuilder::gradientOf(Value vector) {
  auto it = terms.find(vector);
  if (it == terms.end())
    return {};
  // Added up once: whoever asks again gets the same value.
  if (it->second.size() > 1)
    it->second = {add(it->second)};
  return it->second.front();
}

Value GradientBuilder::weightGradientOf(Value weight) {
  SmallVector<Value> inputs, gradients;
  if (auto it = filterTerms.find(weight); it != filterTerms.end()) {
    FilterTerms &filter = it->second;
    if (weightTerms.contains(weight))
      return refuseFilter(filter.first);
    for (const WeightTerm &term : filter.pairs) {
      inputs.push_back(term.x);
      gradients.push_back(term.dy);
    }
    return create<FilterGradientOp>(inputs, gradients, /*plus=*/Value(), filter.first.getLags(),
                                    filter.first.getReversed(), filter.first.getCircular(),
                                    filter.first.hasSharedChannels());
  }
  auto it = weightTerms.find(weight);
  if (it == weightTerms.end())
    return {};
  for (const WeightTerm &term : it->second) {
    if (term.x)
      inputs.push_back(term.x);
    gradients.push_back(term.dy);
  }
  return create<WeightGradientOp>(inputs, gradients, /*plus=*/Value());
}

void GradientBuilder::visit(Operation *op) {
  if (llvm::none_of(op->getOperands(), [&](Value operand) { return wants(operand); }))
    return;
  setLocation(op->getLoc());
  auto rule = cast<DifferentiableOpInterface>(op);
  Value result = op->getResult(0);
  if (hasPositions(result)) {
    if (Value dy = gradientOf(result))
      rule.buildGradient(*this, dy);
    return;
  }
  SmallVector<Value> ofQueries, ofKeys;
  for (Value term : terms.lookup(result))
    (isOfKeys(term) ? ofKeys : ofQueries).push_back(term);
  for (ArrayRef<Value> side : {ArrayRef(ofQueries), ArrayRef(ofKeys)})
    if (!side.empty())
      rule.buildGradient(*this, side.size() == 1 ? side.front() : add(side));
}

bool GradientBuilder::hasPositions(Value vector) {
  // A program may be too deep for recursion.
  SmallVector<Value> pending = {vector};
  while (!pending.empty()) {
    Value value = pending.back();
    Operation *op = value.getDefiningOp();
    auto read = dyn_cast_or_null<ReadOp>(op);
    if (!op || read) {
      positions[value] = !read || isa<FeatureType>(read.getType());
      pending.pop_back();
      continue;
    }
    size_t before = pending.size();
    llvm::copy_if(op->getOperands(), std::back_inserter(pending),
                  [&](Value operand) { return !positions.contains(operand); });
    if (pending.size() > before)
      continue;
    positions[value] =
        llvm::any_of(op->getOperands(), [&](Value operand) { return positions.lookup(operand); });
    pending.pop_back();
  }
  return positions.lookup(vector);
}

//===----------------------------------------------------------------------===//
// Words for rules
//===----------------------------------------------------------------------===//

Value GradientBuilder::mul(ValueRange factors) { return create<HadamardOp>(factors); }
Value GradientBuilder::add(ValueRange terms) { return create<AddOp>(terms); }
Value GradientBuilder::scale(Value a, double factor) {
  return factor == 1 ? a : create<ScaleOp>(a, APFloat(factor)).getResult();
}
Value GradientBuilder::addConst(Value a, double value) {
  return create<AddConstOp>(a, APFloat(value));
}
Value GradientBuilder::power(Value a, double exponent) {
  return create<PowOp>(a, /*exponents=*/Value(), builder.getF64FloatAttr(exponent));
}
Value GradientBuilder::sum(Value a) {
  return widthOf(a) == 1 && structureOf(a).kind() == Structure::Kind::Vector
             ? a
             : create<SumOp>(a).getResult();
}
Value GradientBuilder::select(Value a, ArrayRef<int64_t> indices) {
  return create<SelectOp>(a, indices);
}
Value GradientBuilder::slice(Value a, int64_t first, int64_t count) {
  return select(a, llvm::to_vector(llvm::seq(first, first + count)));
}
Value GradientBuilder::scatter(Value a, ArrayRef<int64_t> indices, int64_t width) {
  return create<ScatterOp>(a, indices, width);
}

Value GradientBuilder::numbers(ArrayRef<double> values) {
  SmallVector<double> different;
  SmallVector<int64_t> indices;
  for (double value : values) {
    auto it = llvm::find(different, value);
    indices.push_back(it - different.begin());
    if (it == different.end())
      different.push_back(value);
  }
  SmallVector<Value> constants;
  for (double value : different)
    constants.push_back(create<ConstantOp>(APFloat(value), /*width=*/1));
  return select(create<ConcatOp>(constants), indices);
}

Value GradientBuilder::repeat(Value a, int64_t count) {
  return select(a, SmallVector<int64_t>(count, 0));
}

Value GradientBuilder::vectorOf(Value weight) {
  int64_t width = cast<WeightType>(weight.getType()).getShape()[0];
  return create<AddVecOp>(create<ConstantOp>(APFloat(0.0), width), weight);
}
