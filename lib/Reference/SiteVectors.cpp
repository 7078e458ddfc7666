//===- SiteVectors.cpp - the vectors of one token and head ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SiteVectors.h"
#include "Tape.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

namespace {

/// One evaluation: what ops of a body, and of the maps that it applies, see of one site.
template <typename Number> class SiteEvaluation {
public:
  SiteEvaluation(const CallTensors &tensors, const Site &site, Reader<Number> read,
                 const Rounding &rounding)
      : tensors(tensors), site(site), read(read) {
    body.position = tensors.firstPosition(site.batch) + site.position;
    body.rounding = rounding;
  }

  void evaluateOp(Operation *op) {
    for (Value operand : op->getOperands())
      bindOutput(operand);
    if (auto read = dyn_cast<ReadOp>(op))
      bindTensor(read.getTensor(), read.getResult(), body);
    else if (auto apply = dyn_cast<ApplyOp>(op))
      body.features[apply.getResult()] = applyMap(apply);
    else
      evaluateFeatureOp(op, body);
  }

  /// A vector of an attend's output is read as one of an argument is.
  void bindOutput(Value value) {
    if (isa<FeatureType>(value.getType()) && tensors.computed.count(value))
      bindTensor(value, value, body);
  }

  FeatureValue<Number> take(Value value) { return std::move(body.features[value]); }

private:
  /// Binds the vector of this site, or the weight of its head.
  void bindTensor(Value tensor, Value result, Environment<Number> &environment) {
    const Array &array = tensors[tensor];
    if (auto feature = dyn_cast<FeatureType>(result.getType())) {
      SmallVector<int64_t> index;
      if (array.rank() == 4)
        index = {site.batch, site.position, tensors.headIn(tensor, site.head)};
      else
        index = {body.position, array.shape[1] == 1 ? 0 : site.head};
      environment.features[result] =
          FeatureValue<Number>::vector(read(tensor, array.offset(index), feature.getWidth()));
      return;
    }
    ArrayRef<int64_t> shape = cast<WeightType>(result.getType()).getShape();
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    bool perHead = array.rank() > int64_t(shape.size());
    environment.weights[result].numbers = read(tensor, perHead ? site.head * count : 0, count);
  }

  FeatureValue<Number> applyMap(ApplyOp apply) {
    auto map = SymbolTable::lookupNearestSymbolFrom<FeatureMapOp>(apply, apply.getMapAttr());
    Environment<Number> inner;
    inner.position = body.position;
    inner.rounding = body.rounding;
    for (auto [input, parameter] : llvm::zip(apply.getInputs(), map.getBody().getArguments())) {
      if (isa<RankedTensorType>(input.getType()))
        bindTensor(input, parameter, inner);
      else if (isa<FeatureType>(input.getType()))
        inner.features[parameter] = body.features[input];
      else
        inner.weights[parameter] = body.weights[input];
    }
    for (Operation &op : map.getBody().front().without_terminator())
      evaluateFeatureOp(&op, inner);
    return inner.features[map.getFeatures()];
  }

  const CallTensors &tensors;
  const Site &site;
  Reader<Number> read;
  Environment<Number> body;
};

} // namespace

/// The ops of the body that a value needs, in order.
ArrayRef<Operation *> SiteVectors::sliceOf(Value value) {
  auto [it, inserted] = slices.try_emplace(value);
  if (!inserted)
    return it->second;
  SmallVector<Operation *> ops;
  llvm::DenseSet<Value> needed = {value};
  Operation *last = value.getDefiningOp();
  for (Operation *op = last; op; op = op->getPrevNode()) {
    if (isa<AttendOp, AttendBackwardOp, ConvolveOp>(op) ||
        llvm::none_of(op->getResults(), [&](Value result) { return needed.contains(result); }))
      continue;
    needed.insert(op->operand_begin(), op->operand_end());
    ops.push_back(op);
  }
  std::reverse(ops.begin(), ops.end());
  return slices[value] = std::move(ops);
}

template <typename Number>
FeatureValue<Number> SiteVectors::evaluate(Value value, const Site &site, Reader<Number> read,
                                           const Rounding &rounding) {
  SiteEvaluation<Number> evaluation(tensors, site, read, rounding);
  evaluation.bindOutput(value);
  for (Operation *op : sliceOf(value))
    evaluation.evaluateOp(op);
  return evaluation.take(value);
}

template FeatureValue<double> SiteVectors::evaluate(Value, const Site &, Reader<double>,
                                                    const Rounding &);
template FeatureValue<Variable> SiteVectors::evaluate(Value, const Site &, Reader<Variable>,
                                                      const Rounding &);
