//===- FormConvolutions.cpp - kernels of convolutions ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution needs all rows of its operand before it gives the first of its result, so kernels
// follow one another in stages. Stage n has what depends on chains of n convolutions: a kernel of
// rows, and then the kernels of convolutions and filters that take these rows. Rows pass between
// kernels through memory. What a row is computed from in its own position is computed again where
// it is needed.
//
// The programs of a convolution have some channels each. What is computed channel by channel, such
// as gates, they compute themselves: before the transform of their rows, and behind it.
//
//===----------------------------------------------------------------------===//

#include "FormConvolutions.h"
#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/Dependencies.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace polyattn;

bool polyattn::hasConvolutions(AttentionOp attention) {
  return llvm::any_of(attention.getBody().front(), llvm::IsaPred<ConvolveOp, FilterGradientOp>);
}

static LogicalResult checkBeside(AttentionOp attention) {
  for (Operation &op : attention.getBody().front())
    if (isa<AttendOp, AttendBackwardOp>(op))
      return op.emitOpError("stands beside a convolution, which needs an entry of its own");
  if (sharesHeads(attention))
    return attention.emitError("has convolutions beside sequences whose heads are shared, which is "
                               "not compiled: give each head a sequence of its own");
  if (attention.getOffsetsArgument() || attention.getLengths() || attention.hasStatesInPlace())
    return attention.emitOpError("has convolutions, which are not compiled for packed sequences, "
                                 "lengths of batches, or states that live in arguments");
  return success();
}

/// Whether a vector is computed channel by channel, from sequences and results of convolutions.
static bool isByChannel(Value vector) {
  Type type = vector.getType();
  return !walkDependencies(vector, [&](Value value) {
    if (value.getType() != type)
      return WalkResult::interrupt();
    Operation *op = value.getDefiningOp();
    if (auto read = dyn_cast<ReadOp>(op))
      return cast<RankedTensorType>(read.getTensor().getType()).getRank() == 4
                 ? WalkResult::skip()
                 : WalkResult::interrupt();
    if (isa<ConvolveOp>(op))
      return WalkResult::skip();
    return isa<ElementwiseOpInterface>(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
}

namespace {

class ConvolutionKernels {
public:
  explicit ConvolutionKernels(AttentionOp attention)
      : attention(attention), builder(attention),
        terminator(attention.getBody().front().getTerminator()) {}

  void form();

private:
  void findStages();
  void assignResults();
  void assignResult(Value result);
  void needVectors(ValueRange vectors);
  ConvolveOp lastConvolution(Value vector) const;
  void findReads();
  void read(ValueRange roots, ConvolveOp own = {});
  KernelOp createKernel(const Twine &suffix, ArrayRef<Type> types);
  void formRows(unsigned stage);
  void formFilter(FilterGradientOp op);
  void formConvolution(ConvolveOp op);
  void cloneNeeded(ValueRange roots, IRMapping &mapping);
  void replaceUses();

  /// What stands outside of kernels: arguments, and what depends on no convolution.
  bool isOutside(Value value) const { return stageOf.lookup(value) == 0; }

  struct Stage {
    llvm::SmallSetVector<Value, 8> rows; // that the kernel of rows yields
    SmallVector<WeightGradientOp> sums;  // and the gradients of weights
    SmallVector<FilterGradientOp> filters;
    SmallVector<ConvolveOp> convolutions;
  };

  AttentionOp attention;
  OpBuilder builder;
  Operation *terminator;
  llvm::DenseMap<Value, unsigned> stageOf; // how many convolutions, one after another, lead to it
  std::vector<Stage> stages;
  SmallVector<ConvolveOp> convolutions; // in the order of their kernels
  /// What kernels of convolutions yield: results of the entry, and rows that other kernels read.
  llvm::DenseMap<Operation *, llvm::SmallSetVector<Value, 4>> yielded;
  llvm::MapVector<Value, Value> results; // of kernels
  unsigned numFilters = 0;
};

} // namespace

void ConvolutionKernels::findStages() {
  unsigned last = 0;
  for (Operation &op : attention.getBody().front()) {
    unsigned stage = 0;
    for (Value operand : op.getOperands())
      stage = std::max(stage, stageOf.lookup(operand));
    stage += isa<ConvolveOp>(op);
    last = std::max(last, stage);
    for (Value result : op.getResults())
      stageOf[result] = stage;
  }
  stages.resize(last + 1);
  for (auto op : attention.getBody().getOps<ConvolveOp>())
    stages[stageOf.lookup(op.getInput())].convolutions.push_back(op);
  for (Stage &stage : stages)
    llvm::append_range(convolutions, stage.convolutions);
}

/// The rows of vectors that a kernel of a whole sequence takes and does not compute itself.
void ConvolutionKernels::needVectors(ValueRange vectors) {
  for (Value vector : vectors)
    if (!isByChannel(vector))
      stages[stageOf.lookup(vector)].rows.insert(vector);
}

/// The last of the convolutions whose results a vector is computed from; null where there is none.
ConvolveOp ConvolutionKernels::lastConvolution(Value vector) const {
  ConvolveOp last;
  walkDependencies(vector, [&](Value value) {
    auto op = value.getDefiningOp<ConvolveOp>();
    if (!op)
      return WalkResult::advance();
    if (!last || llvm::find(convolutions, op) > llvm::find(convolutions, last))
      last = op;
    return WalkResult::skip();
  });
  return last;
}

void ConvolutionKernels::assignResult(Value result) {
  Stage &stage = stages[stageOf.lookup(result)];
  Operation *op = result.getDefiningOp();
  if (auto gradient = dyn_cast<WeightGradientOp>(op)) {
    stage.sums.push_back(gradient);
  } else if (auto filter = dyn_cast<FilterGradientOp>(op)) {
    needVectors(filter.getInputs());
    needVectors(filter.getGradients());
    stage.filters.push_back(filter);
  } else if (!isOutside(result) && isByChannel(result)) {
    yielded[lastConvolution(result)].insert(result);
  } else {
    stage.rows.insert(result);
  }
}

void ConvolutionKernels::assignResults() {
  for (ConvolveOp convolution : convolutions)
    needVectors(convolution.getInput());
  llvm::DenseSet<Value> assigned; // equal results are one value
  for (Value result : terminator->getOperands())
    if (assigned.insert(result).second)
      assignResult(result);
}

/// Notes the convolutions, apart from a kernel's own, whose results the kernel reads.
void ConvolutionKernels::read(ValueRange roots, ConvolveOp own) {
  for (Value root : roots)
    walkDependencies(root, [&](Value value) {
      auto op = value.getDefiningOp<ConvolveOp>();
      if (op && op != own)
        yielded[op].insert(value);
      return op ? WalkResult::skip() : WalkResult::advance();
    });
}

void ConvolutionKernels::findReads() {
  for (Stage &stage : stages) {
    read(SmallVector<Value>(stage.rows.begin(), stage.rows.end()));
    for (WeightGradientOp sum : stage.sums)
      read(sum->getOperands());
    for (FilterGradientOp filter : stage.filters)
      read(filter->getOperands());
  }
  for (ConvolveOp op : llvm::reverse(convolutions)) {
    auto found = yielded.find(op);
    if (found == yielded.end())
      continue; // nobody takes its result
    SmallVector<Value> own(found->second.begin(), found->second.end());
    read(own, op);
    read(op.getInput());
  }
}

KernelOp ConvolutionKernels::createKernel(const Twine &suffix, ArrayRef<Type> types) {
  builder.setInsertionPoint(terminator);
  std::string name = (attention.getSymName() + "__" + suffix).str();
  auto kernel = KernelOp::create(builder, attention.getLoc(), types, name, CutAttr(), StepsAttr(),
                                 /*row_type=*/TypeAttr());
  builder.createBlock(&kernel.getBody());
  return kernel;
}

/// Clones what values depend on, up to the results of kernels before, to what stands outside, and
/// to what is there already.
void ConvolutionKernels::cloneNeeded(ValueRange roots, IRMapping &mapping) {
  llvm::DenseSet<Operation *> needed;
  for (Value root : roots)
    walkDependencies(root, [&](Value value) {
      if (isOutside(value) || mapping.contains(value))
        return WalkResult::skip();
      if (value.getDefiningOp<ConvolveOp>()) {
        mapping.map(value, results.lookup(value));
        return WalkResult::skip();
      }
      needed.insert(value.getDefiningOp());
      return WalkResult::advance();
    });
  for (Operation &op : attention.getBody().front())
    if (needed.contains(&op))
      builder.clone(op, mapping);
}

static SmallVector<Value> mapped(ValueRange values, const IRMapping &mapping) {
  return llvm::map_to_vector(values, [&](Value value) { return mapping.lookupOrDefault(value); });
}

void ConvolutionKernels::formRows(unsigned number) {
  Stage &stage = stages[number];
  if (stage.rows.empty() && stage.sums.empty())
    return;
  SmallVector<Value> rows(stage.rows.begin(), stage.rows.end());
  SmallVector<Type> types = llvm::to_vector(ValueRange(rows).getTypes());
  SmallVector<Value> roots = rows;
  for (WeightGradientOp sum : stage.sums) {
    types.push_back(sum.getType());
    llvm::append_range(roots, sum.getInputs());
    llvm::append_range(roots, sum.getGradients());
  }
  KernelOp kernel = createKernel("rows" + Twine(number), types);
  IRMapping mapping;
  cloneNeeded(roots, mapping);
  SmallVector<Value> values = mapped(rows, mapping);
  for (WeightGradientOp sum : stage.sums)
    values.push_back(
        WeightGradientOp::create(builder, sum.getLoc(), mapped(sum.getInputs(), mapping),
                                 mapped(sum.getGradients(), mapping), /*plus=*/Value()));
  KernelYieldOp::create(builder, attention.getLoc(), values);
  for (auto [row, result] : llvm::zip(rows, kernel.getResults()))
    results[row] = result;
  builder.setInsertionPoint(terminator);
  for (auto [sum, term] : llvm::zip(stage.sums, kernel.getResults().drop_front(rows.size())))
    results[sum.getResult()] =
        SumWeightsOp::create(builder, sum.getLoc(), ValueRange{term}, sum.getPlus());
}

/// The vectors that a kernel of a whole sequence takes: rows of a kernel before it, or what it
/// computes itself.
void ConvolutionKernels::formFilter(FilterGradientOp op) {
  KernelOp kernel = createKernel("filter" + Twine(numFilters++), op.getType());
  IRMapping mapping;
  for (Value vector : op->getOperands())
    if (Value row = results.lookup(vector))
      mapping.map(vector, row);
  for (Value vector : op->getOperands())
    cloneNeeded(vector, mapping);
  Operation *clone = builder.clone(*op, mapping);
  KernelYieldOp::create(builder, op->getLoc(), clone->getResults());
  results[op] = kernel.getResult(0);
}

void ConvolutionKernels::formConvolution(ConvolveOp op) {
  SmallVector<Value> values = yielded.lookup(op).takeVector();
  if (values.empty())
    return;
  auto number = llvm::find(convolutions, op) - convolutions.begin();
  KernelOp kernel =
      createKernel("convolution" + Twine(number), llvm::to_vector(ValueRange(values).getTypes()));
  IRMapping mapping;
  if (Value row = results.lookup(op.getInput()))
    mapping.map(op.getInput(), row);
  cloneNeeded(op.getInput(), mapping);
  builder.clone(*op, mapping);
  cloneNeeded(values, mapping);
  KernelYieldOp::create(builder, op.getLoc(), mapped(values, mapping));
  for (auto [value, result] : llvm::zip(values, kernel.getResults()))
    results[value] = result;
}

void ConvolutionKernels::replaceUses() {
  for (OpOperand &operand : terminator->getOpOperands())
    if (Value result = results.lookup(operand.get()))
      operand.set(result);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(attention.getBody().front()))) {
    bool isInKernels =
        llvm::any_of(op.getResults(), [&](Value value) { return !isOutside(value); });
    if (op.use_empty() && (isInKernels || isa<WeightGradientOp, FilterGradientOp>(op)))
      op.erase();
  }
}

void ConvolutionKernels::form() {
  findStages();
  assignResults();
  findReads();
  for (unsigned stage = 0; stage < stages.size(); ++stage) {
    formRows(stage);
    for (FilterGradientOp filter : stages[stage].filters)
      formFilter(filter);
    for (ConvolveOp convolution : stages[stage].convolutions)
      formConvolution(convolution);
  }
  replaceUses();
}

LogicalResult polyattn::formConvolutions(AttentionOp attention) {
  if (failed(checkBeside(attention)))
    return failure();
  ConvolutionKernels(attention).form();
  return success();
}
