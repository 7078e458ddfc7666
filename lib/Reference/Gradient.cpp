//===- Gradient.cpp - gradients of the oracle -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Reference/Gradient.h"
#include "Convolve.h"
#include "HeadGradient.h"
#include "Packed.h"
#include "Tape.h"
#include "dialects/PolyAttn/Kernels.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

namespace {

/// Runs an attention and goes back through it: results, attends last to first, vectors of each.
class GradientEvaluator {
public:
  GradientEvaluator(AttentionOp attention, ArrayRef<Array> arguments, const CallSizes &sizes,
                    const GradientRounding &rounding)
      : attention(attention), sizes(sizes), rounding(rounding),
        forward(attention, arguments, sizes, Reading::Scores, {}, this->rounding.vectors,
                this->rounding.sums),
        tape(rounding.sums) {}

  /// `ofResults` has an array for each result, an empty one where it is zero; the gradients are
  /// those of the arguments in `wrt`.
  FailureOr<std::vector<Array>> run(ArrayRef<Array> ofResults, ArrayRef<BlockArgument> wrt);

private:
  void throughResult(Value value, const Array &slopes);
  void throughAttend(AttendOp op);
  void throughConvolution(ConvolveOp op);
  void throughHead(AttendOp op, int64_t batch, int64_t head);
  RowSlopes throughNormalizer(AttendOp op, int64_t batch, const Row &row, ArrayRef<double> output);
  void throughVector(Value value, const Site &site, const VectorSlopes &slopes);
  State finalSlopes(AttendOp op, int64_t batch, int64_t stateHead) const;
  void addInitialSlopes(AttendOp op, int64_t batch, int64_t stateHead, const State &slopes);
  void addGateSlopes(AttendOp op, int64_t batch, int64_t head, ArrayRef<double> slopes);

  AttentionOp attention;
  CallSizes sizes;
  const GradientRounding rounding;
  Evaluator forward;
  Tape tape;
  /// Gradients of arguments that are asked for, and of the results of attends.
  llvm::DenseMap<Value, Array> gradients;
};

FailureOr<std::vector<Array>> GradientEvaluator::run(ArrayRef<Array> ofResults,
                                                     ArrayRef<BlockArgument> wrt) {
  if (failed(forward.run()))
    return failure();
  for (BlockArgument argument : wrt)
    gradients[argument] = Array(forward.getTensors()[argument].shape);
  for (const auto &[value, array] : forward.getTensors().computed)
    gradients[value] = Array(array.shape);

  Block &body = attention.getBody().front();
  for (auto [value, slopes] : llvm::zip(body.getTerminator()->getOperands(), ofResults))
    if (!slopes.data.empty())
      throughResult(value, slopes);
  for (Operation &op : llvm::reverse(body))
    if (auto attend = dyn_cast<AttendOp>(op))
      throughAttend(attend);
    else if (auto convolution = dyn_cast<ConvolveOp>(op))
      throughConvolution(convolution);

  std::vector<Array> results;
  for (BlockArgument argument : wrt)
    results.push_back(gradients[argument]);
  return results;
}

/// A state is what an attend gives; a vector is computed of each site.
void GradientEvaluator::throughResult(Value value, const Array &slopes) {
  if (!isa<FeatureType>(value.getType())) {
    for (auto [sum, slope] : llvm::zip(gradients[value].data, slopes.data))
      sum += slope;
    return;
  }
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t i = 0; i < sizes.queries; ++i)
      for (int64_t h = 0; h < sizes.heads; ++h) {
        ArrayRef<double> row = slopes.row({b, i, h}, slopes.shape.back());
        throughVector(value, {b, i, h}, {{}, {row.begin(), row.end()}});
      }
}

/// Gives the numbers of a vector with structure their slopes.
void seedNumbers(Tape &tape, const FeatureValue<Variable> &value,
                 const FeatureValue<double> &slopes) {
  for (auto [number, slope] : llvm::zip(value.numbers, slopes.numbers))
    tape.seed(number, slope);
  for (auto [part, partSlopes] : llvm::zip(value.parts, slopes.parts))
    seedNumbers(tape, part, partSlopes);
}

/// Evaluates the vector's program on the tape and goes back to all that it has read of the site. So
/// what several sites read, a weight or a key of several heads, adds up.
void GradientEvaluator::throughVector(Value value, const Site &site, const VectorSlopes &slopes) {
  struct Read {
    Value tensor;
    int64_t offset;
    std::vector<Variable> variables;
  };
  std::vector<Read> reads;
  auto read = [&](Value tensor, int64_t offset, int64_t count) {
    ArrayRef<double> numbers = ArrayRef(forward.getTensors()[tensor].data).slice(offset, count);
    std::vector<Variable> variables(numbers.begin(), numbers.end());
    if (!gradients.count(tensor))
      return variables; // constants
    for (Variable &variable : variables)
      variable = tape.variable(variable.value);
    reads.push_back({tensor, offset, variables});
    return variables;
  };
  tape.clear();
  auto vector = forward.getVectors().evaluate<Variable>(value, site, read);
  seedNumbers(tape, vector, slopes.numbers);
  if (!slopes.features.empty())
    for (auto [feature, slope] : llvm::zip(expand(vector), slopes.features))
      tape.seed(feature, slope);
  tape.sweep();
  for (const Read &read : reads)
    for (auto [i, variable] : llvm::enumerate(read.variables))
      gradients[read.tensor].data[read.offset + int64_t(i)] += tape.slopeOf(variable);
}

void GradientEvaluator::throughAttend(AttendOp op) {
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.heads; ++h)
      throughHead(op, b, h);
}

/// Each term h(lag) x_j of a row hands on the row's slope to both factors.
void GradientEvaluator::throughConvolution(ConvolveOp op) {
  int64_t width = op.getType().getWidth(), columns = op.hasSharedChannels() ? 1 : width;
  LagOfPair lagOf(op.getReversed(), op.getCircular(), op.getLags(), sizes.queries);
  const Array &filter = forward.getTensors()[op.getFilterArgument()];
  auto ofFilter = gradients.find(op.getFilterArgument());
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.heads; ++h) {
      std::vector<std::vector<double>> x = forward.vectorsOf(op.getInput(), b, h);
      int64_t first = op.hasFilterPerHead() ? h * op.getLags() * columns : 0;
      for (int64_t j = 0; j < int64_t(x.size()); ++j) {
        std::vector<double> slopes(width, 0.0);
        for (int64_t i = 0; i < sizes.queries; ++i) {
          std::optional<int64_t> lag = lagOf(i, j);
          if (!lag)
            continue;
          ArrayRef<double> dy = gradients[op.getResult()].row({b, i, h}, width);
          for (int64_t e = 0; e < width; ++e) {
            int64_t number = first + *lag * columns + (columns == 1 ? 0 : e);
            slopes[e] += dy[e] * filter.data[number];
            if (ofFilter != gradients.end())
              ofFilter->second.data[number] += dy[e] * x[j][e];
          }
        }
        throughVector(op.getInput(), {b, j, h}, {{}, slopes});
      }
    }
}

void GradientEvaluator::throughHead(AttendOp op, int64_t batch, int64_t head) {
  int64_t kvHead = forward.kvHeadOf(op, head), stateHead = forward.gateHeadOf(op, head);
  HeadVectors vectors = forward.gather(op, batch, head);
  State initial;
  if (op.getInitialState())
    initial = forward.initialState(op, batch, stateHead);
  HeadGradient gradient(op, vectors, op.getInitialState() ? &initial : nullptr, rounding.sums);

  int64_t valueWidth = cast<FeatureType>(op.getValue().getType()).getWidth();
  for (int64_t i = 0; i < sizes.queries; ++i) {
    Row row = forward.scoreRow(op, vectors, op.getInitialState() ? &initial : nullptr, i);
    ArrayRef<double> output = gradients[op.getOutput()].row({batch, i, head}, valueWidth);
    gradient.throughRow(i, throughNormalizer(op, batch, row, output));
    throughVector(op.getQuery(), {batch, i, head}, gradient.query[i]);
    if (op.getLocalQuery())
      throughVector(op.getLocalQuery(), {batch, i, head}, gradient.localQuery[i]);
    gradient.query[i].features = {};
  }

  // Heads that share a state have it from the first of them.
  bool isFirst = llvm::none_of(llvm::seq<int64_t>(0, head), [&](int64_t other) {
    return forward.gateHeadOf(op, other) == stateHead;
  });
  bool givesState = op.getFinalState() && isFirst;
  State state;
  if (givesState) {
    state = finalSlopes(op, batch, stateHead);
    gradient.throughInitialPart(state);
  }
  bool anticausal = op.getMask() == Mask::Anticausal;
  for (int64_t n = 0; n < sizes.keys; ++n) {
    int64_t j = anticausal ? sizes.keys - 1 - n : n;
    if (givesState)
      gradient.throughKeyPart(j, state);
    throughVector(op.getKey(), {batch, j, kvHead}, gradient.key[j]);
    throughVector(op.getValue(), {batch, j, kvHead}, {{}, gradient.value[j]});
    if (op.getLocalKey())
      throughVector(op.getLocalKey(), {batch, j, kvHead}, gradient.localKey[j]);
    gradient.key[j].features = {};
  }
  addGateSlopes(op, batch, head, gradient.gates);
  if (op.getInitialState())
    addInitialSlopes(op, batch, stateHead, gradient.initialState);
}

/// o = factor N, where the factor comes from the denominator Z.
RowSlopes GradientEvaluator::throughNormalizer(AttendOp op, int64_t batch, const Row &row,
                                               ArrayRef<double> output) {
  tape.clear();
  Variable sum = tape.variable(row.denominator);
  Variable factor = normalizingFactor<Variable>(op.getNormalizer(), sum, row.largest,
                                                forward.keysBefore(op, batch) + row.count);
  RowSlopes slopes;
  for (auto [n, slope] : llvm::zip(row.numerator, output)) {
    slopes.numerator.push_back(slope * factor.value);
    tape.seed(factor, slope * n);
  }
  tape.sweep();
  slopes.denominator = tape.slopeOf(sum);
  slopes.largest = row.largest;
  return slopes;
}

State GradientEvaluator::finalSlopes(AttendOp op, int64_t batch, int64_t stateHead) const {
  int64_t width = cast<FeatureType>(op.getKey().getType()).getWidth();
  int64_t valueWidth = cast<FeatureType>(op.getValue().getType()).getWidth();
  State state = State::zero(width, valueWidth);
  auto of = [&](unsigned i) -> const Array & {
    return gradients.find(op.getFinalStates()[i])->second;
  };
  for (int64_t f = 0; f < width; ++f) {
    ArrayRef<double> row = of(0).row({batch, stateHead, f}, valueWidth);
    state.sums[f].assign(row.begin(), row.end());
    if (op.getFinalStates().size() > 1)
      state.normalizer[f] = of(1).at({batch, stateHead, f});
  }
  return state;
}

void GradientEvaluator::addInitialSlopes(AttendOp op, int64_t batch, int64_t stateHead,
                                         const State &slopes) {
  for (auto [f, row] : llvm::enumerate(slopes.sums)) {
    if (auto it = gradients.find(op.getInitialState()); it != gradients.end())
      for (auto [v, slope] : llvm::enumerate(row))
        it->second.at({batch, stateHead, int64_t(f), int64_t(v)}) += slope;
    if (auto it = gradients.find(op.getInitialNormalizer()); it != gradients.end())
      it->second.at({batch, stateHead, int64_t(f)}) += slopes.normalizer[f];
  }
}

void GradientEvaluator::addGateSlopes(AttendOp op, int64_t batch, int64_t head,
                                      ArrayRef<double> slopes) {
  auto it = gradients.find(op.getDecay());
  if (it == gradients.end())
    return;
  int64_t gate = forward.gateHeadOf(op, head);
  for (auto [i, slope] : llvm::enumerate(slopes))
    (it->second.rank() == 1 ? it->second.at({gate}) : it->second.at({batch, int64_t(i), gate})) +=
        slope;
}

LogicalResult checkDifferentiable(AttentionOp attention) {
  for (Operation &op : attention.getBody().front()) {
    if (op.hasTrait<OnlyInGradients>())
      return op.emitError("gives gradients, and no second ones");
    auto attend = dyn_cast<AttendOp>(op);
    if (attend && attend.getStateEvery())
      return op.emitError("gives or takes states after blocks, and no gradient is taken in them");
    if (attend && attend.getFactors())
      return op.emitError("gives `factors` for gradients, and none is taken in them");
    if (attend && attend.getNormalizer().needsRowMax())
      return op.emitError("a normalizer with `eps_mode = row_max` has no gradient: the row's "
                          "largest score is not differentiated");
    if (attend && attend.hasDecayOfFeatures())
      return op.emitError("a decay of each feature has no gradient yet");
    if (attend && attend.getOfKeys())
      return op.emitError(
          "an attend of keys has no gradient: it is what gradients are made of, and "
          "there are no second derivatives");
  }
  return success();
}

auto namesOf(ArrayAttr names) { return names.getAsValueRange<StringAttr>(); }

/// The argument of that name, if a gradient can be asked of it.
FailureOr<BlockArgument> findArgument(AttentionOp attention, StringRef name) {
  for (auto [argument, other] :
       llvm::zip(attention.getBody().getArguments(), namesOf(attention.getArgNames()))) {
    if (other != name)
      continue;
    if (cast<RankedTensorType>(argument.getType()).getElementType().isInteger())
      return attention.emitError("argument '") << name
                                               << "' holds whole numbers, which have no "
                                                  "gradient";
    return argument;
  }
  return attention.emitError("has no argument '") << name << "' to take a gradient of";
}

} // namespace

/// The gradients in the arguments `wrt`; of packed sequences each sequence's alone.
static FailureOr<std::vector<Array>> gradientsOf(AttentionOp attention, ArrayRef<Array> arguments,
                                                 const CallSizes &sizes, ArrayRef<Array> ofResults,
                                                 ArrayRef<BlockArgument> wrt,
                                                 const GradientRounding &rounding) {
  if (!attention.getOffsetsArgument())
    return GradientEvaluator(attention, arguments, sizes, rounding).run(ofResults, wrt);
  llvm::Expected<Signature> signature = signatureOf(attention);
  if (!signature)
    return attention.emitError(llvm::toString(signature.takeError()));
  PackedCall call(sizes, arguments[*signature->offsets]);
  std::vector<Array> gradients;
  for (BlockArgument argument : wrt)
    gradients.emplace_back(arguments[argument.getArgNumber()].shape);
  for (int64_t n = 0; n < call.sequences(); ++n) {
    std::vector<Array> own = call.parts(signature->arguments, arguments, n), slopes;
    for (auto [tensor, slope] : llvm::zip_equal(signature->results, ofResults))
      slopes.push_back(slope.data.empty() ? Array() : call.part(tensor, slope, n));
    auto parts = GradientEvaluator(attention, own, call.sizesOf(n), rounding).run(slopes, wrt);
    if (failed(parts))
      return failure();
    for (auto [argument, part, gradient] : llvm::zip_equal(wrt, *parts, gradients))
      call.add(signature->arguments[argument.getArgNumber()], part, n, gradient);
  }
  return gradients;
}

FailureOr<NamedArrays> polyattn::evaluateGradients(AttentionOp attention, ArrayRef<Array> arguments,
                                                   const CallSizes &sizes,
                                                   const NamedArrays &ofResults,
                                                   ArrayRef<std::string> wrt,
                                                   const GradientRounding &rounding) {
  if (hasKernels(attention))
    return evaluateGradients(*withoutKernels(attention), arguments, sizes, ofResults, wrt,
                             rounding);
  if (failed(checkDifferentiable(attention)))
    return failure();
  SmallVector<BlockArgument> asked;
  for (const std::string &name : wrt) {
    auto argument = findArgument(attention, name);
    if (failed(argument))
      return failure();
    asked.push_back(*argument);
  }
  std::vector<Array> slopes;
  for (StringRef name : namesOf(attention.getResultNames())) {
    auto given = ofResults.find(name.str());
    slopes.push_back(given == ofResults.end() ? Array() : given->second);
  }
  auto gradients = gradientsOf(attention, arguments, sizes, slopes, asked, rounding);
  if (failed(gradients))
    return failure();
  NamedArrays named;
  for (auto [name, gradient] : llvm::zip(wrt, *gradients))
    named[name] = std::move(gradient);
  return named;
}

FailureOr<Difference> polyattn::evaluateDifference(AttentionOp attention, ArrayRef<Array> arguments,
                                                   const CallSizes &sizes,
                                                   const NamedArrays &ofResults,
                                                   const NamedArrays &direction, double step) {
  // f'(0) = (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h, up to a term in h^4; number by number, so
  // that what does not move adds nothing.
  constexpr std::pair<double, double> kPoints[] = {{1, 8}, {-1, -8}, {2, -1}, {-2, 1}};
  std::vector<Array> differences, results;
  for (auto [multiple, weight] : kPoints) {
    std::vector<Array> moved(arguments.begin(), arguments.end());
    for (auto [array, name] : llvm::zip(moved, namesOf(attention.getArgNames())))
      if (auto it = direction.find(name.str()); it != direction.end())
        for (auto [x, d] : llvm::zip(array.data, it->second.data))
          x += multiple * step * d;
    auto evaluated = evaluate(attention, moved, sizes, Reading::Scores);
    if (failed(evaluated))
      return failure();
    results = std::move(*evaluated);
    differences.resize(results.size());
    for (auto [difference, result] : llvm::zip(differences, results)) {
      difference.data.resize(result.data.size());
      for (auto [sum, x] : llvm::zip(difference.data, result.data))
        sum += weight * x;
    }
  }
  Difference total;
  double squares = 0;
  for (auto [difference, result, name] :
       llvm::zip(differences, results, namesOf(attention.getResultNames()))) {
    auto it = ofResults.find(name.str());
    if (it == ofResults.end())
      continue;
    for (auto [sum, x, slope] : llvm::zip(difference.data, result.data, it->second.data)) {
      total.value += slope * sum / (12 * step);
      squares += slope * x * slope * x;
    }
  }
  total.rounding = std::numeric_limits<double>::epsilon() * std::sqrt(squares) / step;
  return total;
}
