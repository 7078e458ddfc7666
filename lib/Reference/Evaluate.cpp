//===- Evaluate.cpp - the oracle ------------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Reference/Evaluate.h"
#include "Evaluator.h"
#include "Kept.h"
#include "Packed.h"
#include "dialects/PolyAttn/Kernels.h"
#include "dialects/PolyAttn/Sides.h"
#include "polyattn/Tasks/Cancelled.h"
#include "llvm/ADT/DenseSet.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

Evaluator::Evaluator(AttentionOp attention, ArrayRef<Array> arguments, const CallSizes &sizes,
                     Reading reading, const Selection &selection, const Rounding &rounding,
                     const Rounding &terms, int64_t rowsBefore)
    : tensors(attention, arguments, sizes.heads), vectors(tensors), sizes(sizes),
      sharedHeads(sizes.kvHeads), reading(reading), rounding(rounding), terms(terms),
      heads(selection.heads), rows(selection.rows) {
  tensors.rowsBefore = rowsBefore;
  if (sharesHeads(attention)) // Hkv is of sequences alone
    this->sizes.kvHeads = sizes.heads;
  if (heads.empty())
    for (int64_t b = 0; b < sizes.batch; ++b)
      for (int64_t h = 0; h < sizes.heads; ++h)
        heads.push_back({b, h});
  if (rows.empty() || reading == Reading::Recurrent) {
    rows.resize(sizes.queries);
    std::iota(rows.begin(), rows.end(), 0);
  }
}

FeatureValue<double> Evaluator::at(Value value, const Site &site) {
  auto read = [&](Value tensor, int64_t offset, int64_t count) {
    ArrayRef<double> numbers = ArrayRef(tensors[tensor].data).slice(offset, count);
    return std::vector<double>(numbers.begin(), numbers.end());
  };
  return rounded(vectors.evaluate<double>(value, site, read, rounding));
}

/// A running state sees the features themselves, each of which is rounded.
FeatureValue<double> Evaluator::rounded(FeatureValue<double> value) const {
  if (!rounding)
    return value;
  if (reading == Reading::Recurrent)
    value = FeatureValue<double>::vector(expand(value));
  for (double &x : value.numbers)
    x = rounding(x);
  for (FeatureValue<double> &part : value.parts)
    part = rounded(std::move(part));
  return value;
}

RankedTensorType Evaluator::resultType(size_t index) {
  Attribute type = AttentionOp(tensors.attention).getResultTypes()[index];
  return cast<RankedTensorType>(cast<TypeAttr>(type).getValue());
}

/// The selected sites of queries that count, or all those of keys; none once the work has been
/// cancelled.
void Evaluator::forSites(bool ofKeys, llvm::function_ref<void(const Site &)> visit) {
  if (!ofKeys) {
    for (auto [b, h] : heads)
      for (int64_t i : rows)
        if (i < tensors.length(b, sizes.queries) && !isCancelled())
          visit({b, i, h});
    return;
  }
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.kvHeads; ++h)
      for (int64_t j = 0; j < sizes.keys && !isCancelled(); ++j)
        visit({b, j, h});
}

/// Adds what an argument holds, if there is one.
void Evaluator::addRunningSum(Value argument, Array &sum) const {
  if (argument)
    for (auto [total, held] : llvm::zip_equal(sum.data, tensors[argument].data))
      total += held;
}

/// The sum over batch and positions of a head, and over heads where they share the weight.
Array Evaluator::weightGradient(WeightGradientOp op, RankedTensorType type) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  SmallVector<int64_t> resultShape(shape);
  bool perHead = type.getRank() > int64_t(shape.size());
  bool ofKeys = isOfKeys(op);
  if (perHead)
    resultShape.insert(resultShape.begin(), ofKeys ? sizes.kvHeads : sizes.heads);
  Array result(resultShape);
  auto addSite = [&](size_t term, const Site &site) {
    std::vector<double> x = {1.0}, dy = expand(at(op.getGradients()[term], site));
    if (!op.getInputs().empty())
      x = expand(at(op.getInputs()[term], site));
    size_t next = perHead ? result.offset({site.head}) : 0;
    for (double a : x)
      for (double b : dy)
        result.data[next++] += reference::rounded(a * b, terms);
  };
  for (size_t term = 0; term < op.getGradients().size(); ++term)
    forSites(isTermOfKeys(op, term), [&](const Site &site) { addSite(term, site); });
  addRunningSum(op.getPlus(), result);
  return result;
}

/// The heads that share a vector have a gradient each.
Array Evaluator::sumOfHeads(SumHeadsOp op) {
  bool ofKeys = isOfKeys(op.getVector());
  Array result(ArrayRef(
      {sizes.batch, ofKeys ? sizes.keys : sizes.queries, sharedHeads, op.getType().getWidth()}));
  forSites(ofKeys, [&](const Site &site) {
    int64_t head = site.head / (sizes.heads / sharedHeads);
    double *sum = result.data.data() + result.offset({site.batch, site.position, head});
    for (double x : expand(at(op.getVector(), site)))
      *sum++ += reference::rounded(x, terms);
  });
  return result;
}

/// By the definition: a running sum of what pairs give that a gate decays, for each query head.
Array Evaluator::decayGradient(DecayGradientOp op) {
  const Array &decay = tensors[op.getDecay()];
  Array result(decay.shape);
  bool isOfHead = decay.rank() == 1;
  auto gateOf = [&](int64_t b, int64_t t, int64_t head) -> double & {
    return isOfHead ? result.at({head}) : result.at({b, t, head});
  };
  for (auto [b, h] : heads) {
    int64_t gate = gateHeadOf(op, h);
    double passing = 0;
    // What a group of query heads has of one state stands in its gradient together.
    bool begins = op.getGateHeads() == GateHeads::Q || h == firstHeadOf(op, gate);
    for (auto [state, gradient] : llvm::zip(op.getStates(), op.getStateGradients())) {
      if (!begins)
        break;
      ArrayRef<int64_t> shape = cast<RankedTensorType>(gradient.getType()).getShape();
      int64_t size = ShapedType::getNumElements(shape.drop_front(2));
      ArrayRef<double> x = tensors[state].row({tensors.slot(b), gate}, size);
      ArrayRef<double> dx = tensors[gradient].row({tensors.slot(b), gate}, size);
      passing += reference::rounded(std::inner_product(x.begin(), x.end(), dx.begin(), 0.0), terms);
    }
    auto sumOf = [&, b = b, h = h](ValueRange products, int64_t t) {
      double sum = 0;
      for (Value product : products)
        sum += reference::rounded(tensors[product].at({b, t, h, 0}), terms);
      return sum;
    };
    for (int64_t t = 0; t < sizes.queries; ++t) {
      double gateNow = isOfHead ? decay.at({gate}) : decay.at({b, t, gate});
      if (gateNow != -INFINITY)
        gateOf(b, t, gate) += passing;
      passing =
          reference::rounded(passing + sumOf(op.getKeys(), t) - sumOf(op.getQueries(), t), terms);
    }
  }
  addRunningSum(op.getPlus(), result);
  return result;
}

void Evaluator::addTensors(ValueRange terms, Value sum) {
  Array total = tensors[terms.front()];
  for (Value term : terms.drop_front())
    for (auto [x, y] : llvm::zip_equal(total.data, tensors[term].data))
      x += y;
  tensors.computed[sum] = std::move(total);
}

FailureOr<std::vector<Array>> Evaluator::run() {
  Block &body = tensors.attention.getBody().front();
  for (Operation &op : body) {
    if (auto backward = dyn_cast<AttendBackwardOp>(op))
      attendBackward(backward);
    else if (auto sum = dyn_cast<AddStatesOp>(op))
      addTensors(sum.getStates(), sum.getResult());
    else if (auto gradients = dyn_cast<AddGradientsOp>(op))
      addTensors(gradients.getGradients(), gradients.getResult());
    else if (auto convolution = dyn_cast<ConvolveOp>(op))
      convolve(convolution);
    else if (auto forward = dyn_cast<AttendOp>(op); forward && failed(attend(forward)))
      return failure();
    else if (auto keep = dyn_cast<KeepOp>(op)) // of one batch (Kept.h)
      tensors.computed[keep.getResult()] =
          keepRows(keep, tensors, /*batch=*/0, tensors.length(0, sizes.keys));
  }
  std::vector<Array> results;
  for (Value value : cast<ReturnOp>(body.getTerminator()).getResults()) {
    if (auto gradient = value.getDefiningOp<WeightGradientOp>()) {
      results.push_back(weightGradient(gradient, resultType(results.size())));
      continue;
    }
    if (auto gradient = value.getDefiningOp<FilterGradientOp>()) {
      results.push_back(filterGradient(gradient, resultType(results.size())));
      continue;
    }
    if (auto gradient = value.getDefiningOp<DecayGradientOp>()) {
      results.push_back(decayGradient(gradient));
      continue;
    }
    auto feature = dyn_cast<FeatureType>(value.getType());
    if (!feature) {
      Array &result = results.emplace_back(tensors[value]);
      result.shape.resize(resultType(results.size() - 1).getRank()); // a last 1 may be left out
      continue;
    }
    if (auto sum = value.getDefiningOp<SumHeadsOp>()) {
      results.push_back(sumOfHeads(sum));
      continue;
    }
    bool ofKeys = isOfKeys(value);
    Array &output =
        results.emplace_back(ArrayRef({sizes.batch, ofKeys ? sizes.keys : sizes.queries,
                                       ofKeys ? sizes.kvHeads : sizes.heads, feature.getWidth()}));
    forSites(ofKeys, [&](const Site &site) {
      llvm::copy(expand(at(value, site)),
                 output.data.begin() + output.offset({site.batch, site.position, site.head}));
    });
  }
  return results;
}

bool polyattn::canSelect(AttentionOp attention) {
  if (hasKernels(attention))
    return canSelect(*withoutKernels(attention));
  // Gradients are sums over all rows and heads.
  for (Operation &op : attention.getBody().front())
    if (auto attend = dyn_cast<AttendOp>(op);
        (attend && (attend.getOfKeys() || attend.keepsStates() || attend.getProducts())) ||
        isa<AttendBackwardOp, WeightGradientOp, FilterGradientOp, SumHeadsOp>(op))
      return false;
  return llvm::all_of(attention.getBody().getOps<AttendOp>(), [](AttendOp attend) {
    // Whatever an attend's output leads to, it must not be another attend.
    SmallVector<Value> pending = {attend.getOutput()};
    llvm::DenseSet<Operation *> seen;
    while (!pending.empty())
      for (Operation *user : pending.pop_back_val().getUsers()) {
        if (isa<AttendOp>(user))
          return false;
        if (seen.insert(user).second)
          llvm::append_range(pending, user->getResults());
      }
    return true;
  });
}

/// Each batch alone, with the rows of its local block in front of its own.
static FailureOr<std::vector<Array>> evaluateKept(AttentionOp attention, const Signature &signature,
                                                  ArrayRef<Array> arguments, const CallSizes &sizes,
                                                  Reading reading, const Selection &selection,
                                                  const Rounding &rounding, const Rounding &terms) {
  std::vector<Array> results;
  results.reserve(signature.results.size());
  for (const TensorSignature &result : signature.results)
    results.push_back(result.argument ? arguments[*result.argument]
                                      : Array(ArrayRef<int64_t>(shapeOf(result, sizes))));
  for (int64_t b = 0; b < sizes.batch; ++b) {
    KeptCall call(attention, signature, arguments, sizes, b);
    if (!call.isSelected(selection)) {
      for (auto [i, tensor] : llvm::enumerate(signature.results))
        if (tensor.argument)
          call.fillRow(std::nan(""), results[i]);
      continue;
    }
    std::vector<Array> own = call.arguments();
    auto parts = Evaluator(attention, own, call.ownSizes(), reading, call.own(selection), rounding,
                           terms, call.rowsBefore())
                     .run();
    if (failed(parts))
      return failure();
    for (auto [i, tensor] : llvm::enumerate(signature.results))
      if (tensor.argument)
        call.storeRow((*parts)[i], results[i]);
      else
        call.store((*parts)[i], results[i]);
  }
  return results;
}

/// Sequences that are not packed.
static FailureOr<std::vector<Array>> evaluateCall(AttentionOp attention, ArrayRef<Array> arguments,
                                                  const CallSizes &sizes, Reading reading,
                                                  const Selection &selection,
                                                  const Rounding &rounding, const Rounding &terms) {
  if (keptRowsOf(attention).empty())
    return Evaluator(attention, arguments, sizes, reading, selection, rounding, terms).run();
  llvm::Expected<Signature> signature = signatureOf(attention);
  if (!signature)
    return attention.emitError(llvm::toString(signature.takeError()));
  return evaluateKept(attention, *signature, arguments, sizes, reading, selection, rounding, terms);
}

/// Each sequence alone. All rows of the selected heads are evaluated.
static FailureOr<std::vector<Array>>
evaluatePacked(AttentionOp attention, ArrayRef<Array> arguments, const CallSizes &sizes,
               Reading reading, ArrayRef<std::pair<int64_t, int64_t>> heads,
               const Rounding &rounding, const Rounding &terms) {
  llvm::Expected<Signature> signature = signatureOf(attention);
  if (!signature)
    return attention.emitError(llvm::toString(signature.takeError()));
  PackedCall call(sizes, arguments[*signature->offsets]);
  std::vector<Array> results, given(arguments.begin(), arguments.end());
  auto returned = cast<ReturnOp>(attention.getBody().front().getTerminator()).getResults();
  // What one sequence leaves in an argument for the next: a row of a pool, or a running sum.
  auto carriedIn = [&](size_t i) {
    Value sum = runningSumOf(returned[i]);
    return signature->slots ? attention.getArgumentOfResult(i)
                            : cast_if_present<BlockArgument>(sum);
  };
  for (auto [i, result] : llvm::enumerate(signature->results)) {
    BlockArgument carried = carriedIn(i);
    results.push_back(carried ? given[carried.getArgNumber()]
                              : Array(ArrayRef<int64_t>(shapeOf(result, sizes))));
  }
  for (int64_t n = 0; n < call.sequences(); ++n) {
    std::vector<Array> own = call.parts(signature->arguments, given, n);
    Selection selection;
    selection.heads.assign(heads.begin(), heads.end());
    auto parts = evaluateCall(attention, own, call.sizesOf(n), reading, selection, rounding, terms);
    if (failed(parts))
      return failure();
    for (auto [i, tensor] : llvm::enumerate(signature->results))
      if (BlockArgument carried = carriedIn(i))
        results[i] = given[carried.getArgNumber()] = (*parts)[i];
      else
        call.add(tensor, (*parts)[i], n, results[i]);
  }
  return results;
}

FailureOr<std::vector<Array>> polyattn::evaluate(AttentionOp attention, ArrayRef<Array> arguments,
                                                 const CallSizes &sizes, Reading reading,
                                                 const Selection &selection,
                                                 const Rounding &rounding, const Rounding &terms) {
  if (hasKernels(attention))
    return evaluate(*withoutKernels(attention), arguments, sizes, reading, selection, rounding,
                    terms);
  if (attention.getOffsetsArgument())
    return evaluatePacked(attention, arguments, sizes, reading, selection.heads, rounding, terms);
  return evaluateCall(attention, arguments, sizes, reading, selection, rounding, terms);
}
