//===- StepForm.cpp - calls of one token ----------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of positions has one row when a sequence is continued by one token, so that all that a
// block gains is lost. In this form a kernel of its own, `@name__step`, goes through each state
// once, where it lives: S <- g S + k v^T and o += q^T S. One program does so for all query heads
// that share the state. Where features are products with weights, a kernel before,
// `@name__vectors`, computes those of many batches at a time, whose rows are then batches: weights
// are read once for all of them. The features of few batches are computed by the step, with the
// same bits: a sum has its terms in the same order, and a vector has other rows or other features
// of one row in its lanes.
//
//===----------------------------------------------------------------------===//

#include "Dependencies.h"
#include "FeaturePlan.h"
#include "KernelBuilder.h"
#include "KernelProgram.h"

using namespace mlir;
using namespace polyattn;

/// Batches of a program of the vectors' kernel: a vector of the widest processors.
static constexpr int64_t kBatches = 16;
/// The fewest for which that is less work than the features of each batch alone.
static constexpr int64_t kFewestBatches = 12;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether a vector is the same program at every position, over what is read there.
static bool knowsNoPosition(Value vector) {
  return !walkDependencies(vector, [](Value value) {
    if (value.getDefiningOp<RopeOp>())
      return WalkResult::interrupt();
    auto read = value.getDefiningOp<ReadOp>();
    if (!read)
      return WalkResult::advance();
    bool isTable = isa<FeatureType>(read.getType()) &&
                   cast<RankedTensorType>(read.getTensor().getType()).getRank() == 3;
    return isTable ? WalkResult::interrupt() : WalkResult::skip();
  });
}

/// A token's own pair goes through the state here, as all pairs do. The score of a power would lose
/// the digits that its features cancel, so that only plain vectors, whose score is this sum, have
/// the form.
bool KernelBuilder::canStep() {
  // Packed sequences have no rows that lie at one place of every batch.
  if (set.tensors.offsets || set.tensors.rowsOfKeys)
    return false;
  auto isPlaced = [&](Value state) {
    for (auto [i, value] : llvm::enumerate(set.returned()))
      if (value == state && attention.getArgumentOfResult(i))
        return true;
    return false;
  };
  auto hasRows = [](Value state) { // of elements that lie together
    return cast<RankedTensorType>(state.getType()).getRank() == 4;
  };
  return llvm::all_of(set.attends, [&](AttendOp attend) {
    return attend.getMask() == Mask::Causal && !attend.getLocalQuery() && attend.getFinalState() &&
           hasRows(attend.getFinalStates().front()) &&
           llvm::all_of(attend.getFinalStates(), isPlaced) &&
           planFeatures(attend.getKey()).isDirect() &&
           llvm::all_of(ArrayRef<Value>{attend.getQuery(), attend.getKey(), attend.getValue()},
                        knowsNoPosition);
  });
}

/// Whether what batches have of the weights is worth a kernel in which they share these.
static bool readsWeights(const AttendSet &set) {
  auto reads = [](Value vector) {
    return walkDependencies(vector, [](Value value) {
      bool isMatrix = value.getDefiningOp<ReadOp>() && isa<WeightType>(value.getType());
      return isMatrix ? WalkResult::interrupt() : WalkResult::advance();
    });
  };
  return llvm::any_of(set.attends, [&](AttendOp attend) {
    return llvm::any_of(ArrayRef<Value>{attend.getQuery(), attend.getKey(), attend.getValue()},
                        reads);
  });
}

/// For each attend the fields of StepVectors, in their order.
SmallVector<KernelBuilder::StepTensor> KernelBuilder::stepTensors() {
  SmallVector<StepTensor> tensors;
  if (!hasStep || !readsWeights(set))
    return tensors;
  for (auto [i, attend] : llvm::enumerate(set.attends)) {
    std::string number = set.attends.size() > 1 ? std::to_string(i) : "";
    auto add = [&](StringRef name, int64_t width, bool ofQueries) {
      constexpr int64_t any = ShapedType::kDynamic;
      auto type = RankedTensorType::get({any, any, width}, b.getF32Type());
      tensors.push_back({{(name + number).str(), type}, ofQueries});
    };
    int64_t features = cast<FeatureType>(attend.getKey().getType()).getWidth();
    add("step_queries", features, /*ofQueries=*/true);
    add("step_keys", features, /*ofQueries=*/false);
    add("step_values", cast<FeatureType>(attend.getValue().getType()).getWidth(),
        /*ofQueries=*/false);
  }
  return tensors;
}

KernelPrograms KernelBuilder::vectorPrograms() {
  return {/*perHead=*/{}, /*keyHeads=*/false, /*inParts=*/false, kBatches, kFewestBatches};
}

void KernelBuilder::buildUnlessStep(TileBuilder::Branch blocks) {
  b.branch(b.compare(arith::CmpIPredicate::sgt, frame->queries, b.index(1)), blocks);
}

void KernelBuilder::buildStepKernels() {
  beginKernel(name + "__step", placedTensors(), set.programs());
  ProgramContext step = context();
  step.block = 1;
  b.branch(b.compare(arith::CmpIPredicate::sle, frame->queries, b.index(1)),
           [&] { KernelProgram(set, ScheduleForm::State, step).buildStep(b); });
  if (!stepTensors().empty())
    buildVectorsKernel();
}

/// Runs for calls that may have batches of one token.
void KernelBuilder::buildVectorsKernel() {
  beginKernel(name + "__vectors", placedTensors(), vectorPrograms());
  Value tensor = frame->kernel.getTensor(set.tensors.queryTensor);
  Value positions = memref::DimOp::create(b, tensor, b.index(1));
  auto predicate = set.tensors.lengths ? arith::CmpIPredicate::sge : arith::CmpIPredicate::eq;
  ProgramContext batches = context();
  batches.block = kBatches;
  b.branch(b.compare(predicate, positions, b.index(1)),
           [&] { KernelProgram(set, ScheduleForm::State, batches).buildStepVectors(b); });
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

StepVectors KernelProgram::stepVectors(unsigned attend) const {
  unsigned next = 0;
  auto attention = cast<AttentionOp>(AttendOp(set.attends[0])->getParentOp());
  for (size_t i = 0; i < set.returned().size(); ++i)
    next += bool(attention.getArgumentOfResult(i));
  next += 3 * attend;
  const KernelFrame &frame = context.frame;
  return {frame.workspace(next), frame.workspace(next + 1), frame.workspace(next + 2)};
}

/// The results that are an attend's final state and its normalizer.
FinalState KernelProgram::placeOf(AttendOp attend) const {
  FinalState place;
  for (auto [i, result] : llvm::enumerate(set.returned()))
    if (result.getDefiningOp() == attend && result != attend.getOutput())
      (result == attend.getFinalStates().front() ? place.rows : place.normalizer) =
          context.frame.result(i);
  return place;
}

/// The batches from `first` on that a program of the vectors' kernel would have.
Value KernelProgram::batchesFrom(TileBuilder &b, Value first) const {
  Value all = memref::DimOp::create(b, stepVectors(0).query, b.index(0));
  return b.minIndex(b.subIndex(all, first), b.index(kBatches));
}

void KernelProgram::buildStepVectors(TileBuilder &b) {
  KernelFrame &frame = context.frame;
  Value zero = b.index(0), valid = batchesFrom(b, frame.batch);
  BlockRows rows{zero, zero, Value(), valid};
  rows.ofBatches = true;
  VectorProgram queries = frame.queryVectors(b, rows, kBatches);
  for (auto [i, program] : llvm::enumerate(programs))
    program.storeQueries(b, stepVectors(i), queries);
  b.branch(b.isEqual(frame.head, frame.firstHeadOfGroup(b)), [&] {
    VectorProgram keys = frame.keyVectors(b, rows, kBatches);
    for (auto [i, program] : llvm::enumerate(programs))
      program.storeKeys(b, stepVectors(i), keys);
  });
}

/// The states and the results of one token, for all query heads that share them.
void KernelProgram::stepToken(TileBuilder &b, StepFeatures features) {
  KernelFrame &frame = context.frame;
  SmallVector<StepVectors> rows(programs.size());
  BlockRows only = context.rows(b, b.index(0), b.index(1));
  VectorProgram keys = frame.keyVectors(b, only, 1);
  for (auto [i, program] : llvm::enumerate(programs))
    features == StepFeatures::Loaded ? program.loadKeys(b, rows[i], stepVectors(i))
                                     : program.computeKeys(b, rows[i], keys);
  stepHead(b, rows, features);
  if (set.tensors.sameHeads || set.hasStatePerQuery())
    return;
  Value head = frame.head;
  b.loop(b.index(1), frame.headsOfGroup(b), b.index(1), [&](Value number) {
    frame.head = frame.sharingHead(b, number);
    SmallVector<StepVectors> others(programs.size());
    stepHead(b, others, features);
  });
  frame.head = head;
}

/// The results of the query head at hand, which updates states where `rows` have keys.
void KernelProgram::stepHead(TileBuilder &b, MutableArrayRef<StepVectors> rows,
                             StepFeatures features) {
  Value zero = b.index(0), one = b.index(1);
  BlockSpan span{zero, one, zero, one, /*isOnly=*/true};
  VectorProgram queries = context.queryVectors(b, span);
  SmallVector<Accumulators> sums;
  for (auto [i, program] : llvm::enumerate(programs)) {
    features == StepFeatures::Loaded ? program.loadQueries(b, rows[i], stepVectors(i))
                                     : program.computeQueries(b, rows[i], queries);
    sums.push_back(program.step(b, rows[i], placeOf(set.attends[i])));
  }
  storeResults(b, sums, queries, span);
}

void KernelProgram::buildStep(TileBuilder &b) {
  const KernelFrame &frame = context.frame;
  auto compute = [&] { stepToken(b, StepFeatures::Computed); };
  auto stepOnly = [&] {
    if (!readsWeights(set))
      return compute();
    Value place = arith::RemUIOp::create(b, frame.batch, b.index(kBatches));
    Value batches = batchesFrom(b, b.subIndex(frame.batch, place));
    Value areShared = b.compare(arith::CmpIPredicate::sge, batches, b.index(kFewestBatches));
    b.branch(areShared, [&] { stepToken(b, StepFeatures::Loaded); }, compute);
  };
  auto update = [&] {
    // A new sequence's slot holds what is another's: zeros let nothing of it through.
    if (frame.isContinued)
      b.branch(arith::XOrIOp::create(b, frame.hasState(b), frame.isContinued), [&] {
        for (auto [attend, program] : llvm::zip(set.attends, programs))
          program.clear(b, placeOf(attend));
      });
    b.branch(b.isEqual(frame.queries, b.index(1)), stepOnly);
  };
  if (set.hasStatePerQuery())
    update();
  else
    b.branch(b.isEqual(frame.head, frame.firstHeadOfGroup(b)), update);
  storeZeros(b);
}

//===----------------------------------------------------------------------===//
// One attend
//===----------------------------------------------------------------------===//

void AttendProgram::storeFeatures(TileBuilder &b, const FeaturePlan &plan,
                                  const std::vector<double> &weights, Value tensor, Value head,
                                  VectorProgram &program) {
  FeatureBlocks blocks(plan, weights);
  blocks.prepare(b, program);
  state.forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
    Value features = b.transpose(blocks.block(b, program, first, count));
    tile::StoreOp::create(b, features, tensor, ValueRange{context.frame.batch, head, first},
                          program.getRows().valid, /*row_dim=*/0, /*col_dim=*/2);
    return TileBuilder::Values();
  });
}

void AttendProgram::storeQueries(TileBuilder &b, const StepVectors &vectors,
                                 VectorProgram &program) {
  storeFeatures(b, queryPlan, queryWeights, vectors.query, context.frame.head, program);
}

void AttendProgram::storeKeys(TileBuilder &b, const StepVectors &vectors, VectorProgram &program) {
  const KernelFrame &frame = context.frame;
  storeFeatures(b, keyPlan, keyWeights, vectors.key, frame.kvHead, program);
  tile::StoreOp::create(b, program.rowMajor(op.getValue()), vectors.value,
                        ValueRange{frame.batch, frame.kvHead, b.index(0)}, program.getRows().valid,
                        /*row_dim=*/0, /*col_dim=*/2);
}

StoredState AttendProgram::stateAt(const FinalState &place) const {
  return {place.rows, place.normalizer, {context.frame.stateRow(), stateHead()}};
}

/// The last dimension of a tensor, whose other indices are `at`.
static Value loadRow(TileBuilder &b, Value tensor, ArrayRef<Value> at, int64_t width) {
  SmallVector<Value> indices(at);
  indices.push_back(b.index(0));
  return tile::LoadOp::create(b, b.tileType(1, width), tensor, indices, Value(), /*row_dim=*/-1,
                              /*col_dim=*/at.size(), /*transposed=*/false);
}

/// g, [1 x 1]; null without a decay.
Value AttendProgram::stepDecay(TileBuilder &b) const {
  if (!op.hasDecay())
    return {};
  if (std::optional<ArrayRef<double>> factors = op.getDecayFactors())
    return b.slice(b.column(std::vector<double>(factors->begin(), factors->end())), stateHead(), 1);
  Value tensor = context.frame.input(op.getDecay());
  SmallVector<Value> at = {stateHead()};
  if (cast<MemRefType>(tensor.getType()).getRank() != 1)
    at = {context.frame.batch, b.index(0), stateHead()};
  return expOf(b, tile::LoadOp::create(b, b.tileType(1, 1), tensor, at, Value(), -1, -1,
                                       /*transposed=*/false));
}

/// z <- g z + k where it lives; gives the new z, [1 x D].
Value AttendProgram::stepNormalizer(TileBuilder &b, Value keys, Value factor,
                                    const StoredState &stored) const {
  SmallVector<Value> inputs = {loadRow(b, stored.normalizer, stored.at, features()), keys};
  if (factor)
    inputs.push_back(factor);
  Value normalizer = b.map(inputs, [&](ElementBuilder &e, ValueRange in) {
    return e.add(in.size() > 2 ? e.mul(in[0], in[2]) : in[0], in[1]);
  });
  SmallVector<Value> at(ArrayRef<Value>(stored.at));
  at.push_back(b.index(0));
  tile::StoreOp::create(b, normalizer, stored.normalizer, at, Value(), /*row_dim=*/-1,
                        /*col_dim=*/stored.at.size());
  return normalizer;
}

/// All features as a row, [1 x D].
Value AttendProgram::featureRow(TileBuilder &b, const FeaturePlan &plan,
                                const std::vector<double> &weights, VectorProgram &program) const {
  FeatureBlocks blocks(plan, weights);
  blocks.prepare(b, program);
  return b.transpose(blocks.block(b, program, b.index(0), features()));
}

void AttendProgram::computeQueries(TileBuilder &b, StepVectors &rows,
                                   VectorProgram &program) const {
  rows.query = featureRow(b, queryPlan, queryWeights, program);
}

void AttendProgram::computeKeys(TileBuilder &b, StepVectors &rows, VectorProgram &program) const {
  rows.key = featureRow(b, keyPlan, keyWeights, program);
  AttendOp attend = op;
  rows.value = program.rowMajor(attend.getValue());
}

void AttendProgram::loadQueries(TileBuilder &b, StepVectors &rows,
                                const StepVectors &stored) const {
  rows.query = loadRow(b, stored.query, {context.frame.batch, context.frame.head}, features());
}

void AttendProgram::loadKeys(TileBuilder &b, StepVectors &rows, const StepVectors &stored) const {
  const KernelFrame &frame = context.frame;
  rows.key = loadRow(b, stored.key, {frame.batch, frame.kvHead}, features());
  rows.value = loadRow(b, stored.value, {frame.batch, frame.kvHead}, valueWidth);
}

Accumulators AttendProgram::step(TileBuilder &b, const StepVectors &rows,
                                 const FinalState &place) const {
  StoredState stored = stateAt(place);
  Value factor = rows.key ? stepDecay(b) : Value();
  Accumulators sums;
  if (place.normalizer) {
    Value normalizer = rows.key ? stepNormalizer(b, rows.key, factor, stored)
                                : loadRow(b, stored.normalizer, stored.at, features());
    sums.denominator = b.reduceColumns(b.mul(rows.query, normalizer));
  }
  SmallVector<Value> at(ArrayRef<Value>(stored.at));
  at.append(2, b.index(0));
  sums.numerator = tile::RecurOp::create(b, b.tileType(1, valueWidth), rows.query, rows.key,
                                         rows.value, stored.rows, at, factor, /*acc=*/Value());
  return sums;
}

void AttendProgram::clear(TileBuilder &b, const FinalState &place) {
  StoredState stored = stateAt(place);
  state.forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
    stored.storeRows(b, b.constant(count, valueWidth, 0), first);
    if (place.normalizer)
      stored.storeNormalizer(b, b.constant(count, 1, 0), first);
    return TileBuilder::Values();
  });
}
