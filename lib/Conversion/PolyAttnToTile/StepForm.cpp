//===- StepForm.cpp - calls of one token ----------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of positions has one row when a sequence is continued by one token, so that all that a
// block gains is lost. In this form a kernel before, `@name__vectors`, computes the features of
// many batches at a time, whose rows are then batches: weights that these share are read once for
// all of them. The main kernel goes through each state once, where it lives: S <- g S + k v^T and o
// += q^T S. One program does so for all query heads that share the state.
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
  return llvm::all_of(set.attends, [&](AttendOp attend) {
    return attend.getMask() == Mask::Causal && !attend.getLocalQuery() && attend.getFinalState() &&
           llvm::all_of(attend.getFinalStates(), isPlaced) &&
           planFeatures(attend.getKey()).isDirect() &&
           llvm::all_of(ArrayRef<Value>{attend.getQuery(), attend.getKey(), attend.getValue()},
                        knowsNoPosition);
  });
}

/// For each attend the fields of StepVectors, in their order.
SmallVector<HiddenArgument> KernelBuilder::stepTensors() {
  SmallVector<HiddenArgument> tensors;
  if (!hasStep)
    return tensors;
  for (auto [i, attend] : llvm::enumerate(set.attends)) {
    std::string number = set.attends.size() > 1 ? std::to_string(i) : "";
    auto add = [&](StringRef name, int64_t width) {
      constexpr int64_t any = ShapedType::kDynamic;
      tensors.push_back(
          {(name + number).str(), RankedTensorType::get({any, any, width}, b.getF32Type())});
    };
    int64_t features = cast<FeatureType>(attend.getKey().getType()).getWidth();
    add("step_queries", features);
    add("step_keys", features);
    add("step_values", cast<FeatureType>(attend.getValue().getType()).getWidth());
  }
  return tensors;
}

KernelPrograms KernelBuilder::vectorPrograms() {
  return {/*perHead=*/{}, /*keyHeads=*/false, /*inParts=*/false, kBatches};
}

void KernelBuilder::buildStepOr(TileBuilder::Branch otherwise) {
  Value isStep = b.compare(arith::CmpIPredicate::sle, frame->queries, b.index(1));
  ProgramContext step = context();
  step.block = 1;
  b.branch(isStep, [&] { KernelProgram(set, ScheduleForm::State, step).buildStep(b); }, otherwise);
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
           [&] { KernelProgram(set, ScheduleForm::State, batches).buildStepVectors(b, kBatches); });
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

void KernelProgram::buildStepVectors(TileBuilder &b, int64_t batches) {
  KernelFrame &frame = context.frame;
  Value all = memref::DimOp::create(b, stepVectors(0).query, b.index(0));
  Value zero = b.index(0), valid = b.minIndex(b.subIndex(all, frame.batch), b.index(batches));
  BlockRows rows{zero, zero, Value(), valid};
  rows.ofBatches = true;
  VectorProgram queries = frame.queryVectors(b, rows, batches);
  for (auto [i, program] : llvm::enumerate(programs))
    program.storeQueries(b, stepVectors(i), queries);
  b.branch(b.isEqual(frame.head, frame.firstHeadOfGroup(b)), [&] {
    VectorProgram keys = frame.keyVectors(b, rows, batches);
    for (auto [i, program] : llvm::enumerate(programs))
      program.storeKeys(b, stepVectors(i), keys);
  });
}

/// The states and the results of one token, for all query heads that share them.
void KernelProgram::stepToken(TileBuilder &b) {
  KernelFrame &frame = context.frame;
  Value zero = b.index(0), one = b.index(1);
  BlockSpan span{zero, one, zero, one, /*isOnly=*/true};
  auto store = [&](ArrayRef<Accumulators> accumulators) {
    VectorProgram queries = context.queryVectors(b, span);
    storeResults(b, accumulators, queries, span);
  };
  SmallVector<Accumulators> first;
  for (auto [i, program] : llvm::enumerate(programs))
    first.push_back(program.step(b, stepVectors(i), placeOf(set.attends[i])));
  store(first);
  if (set.tensors.sameHeads || set.hasStatePerQuery())
    return;
  Value head = frame.head;
  b.loop(one, frame.headsOfGroup(b), one, [&](Value number) {
    frame.head = frame.sharingHead(b, number);
    SmallVector<Accumulators> others;
    for (auto [i, program] : llvm::enumerate(programs))
      others.push_back(program.readStep(b, stepVectors(i), placeOf(set.attends[i])));
    store(others);
  });
  frame.head = head;
}

void KernelProgram::buildStep(TileBuilder &b) {
  const KernelFrame &frame = context.frame;
  auto update = [&] {
    b.branch(
        b.isEqual(frame.queries, b.index(1)), [&] { stepToken(b); },
        [&] {
          if (!frame.isContinued)
            return;
          // A new sequence without a token: what its slot holds is another's.
          b.branch(arith::XOrIOp::create(b, frame.hasState(b), frame.isContinued), [&] {
            for (auto [attend, program] : llvm::zip(set.attends, programs))
              program.clear(b, placeOf(attend));
          });
        });
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

/// A feature column of this batch.
static Value loadColumn(TileBuilder &b, Value tensor, ValueRange at, int64_t count) {
  return tile::LoadOp::create(b, b.tileType(count, 1), tensor, at, Value(), /*row_dim=*/2,
                              /*col_dim=*/-1, /*transposed=*/false);
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

/// sums += q^T S, and q^T z.
void AttendProgram::addStep(TileBuilder &b, Value query, Value rows, Value normalizer,
                            TileBuilder::Values &sums) const {
  sums[0] = b.dot(query, rows, sums[0], /*lhsTransposed=*/true);
  if (normalizer)
    sums[1] = b.add(sums[1], b.reduceRows(b.mul(query, normalizer)));
}

static Accumulators accumulatorsOf(ArrayRef<Value> sums) {
  return {sums[0], sums.size() > 1 ? sums[1] : Value(), Value()};
}

/// S <- g S + k v^T where it lives, or k v^T where it begins.
void AttendProgram::updateStep(TileBuilder &b, const StepVectors &vectors, const FinalState &place,
                               bool isContinued) {
  const KernelFrame &frame = context.frame;
  StoredState given = initialState(), stored = stateAt(place);
  Value factor = isContinued ? stepDecay(b) : Value();
  Value values = tile::LoadOp::create(b, b.tileType(1, valueWidth), vectors.value,
                                      ValueRange{frame.batch, frame.kvHead, b.index(0)}, Value(),
                                      /*row_dim=*/-1, /*col_dim=*/2, /*transposed=*/false);
  state.forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
    Value keys = loadColumn(b, vectors.key, {frame.batch, frame.kvHead, first}, count);
    SmallVector<Value> inputs = {keys, values};
    if (isContinued)
      inputs.push_back(given.loadRows(b, first, count, valueWidth));
    if (factor)
      inputs.push_back(factor);
    auto add = [&](ElementBuilder &e, Value product, ValueRange rest) {
      if (rest.empty())
        return product;
      return e.add(rest.size() > 1 ? e.mul(rest[0], rest[1]) : rest[0], product);
    };
    Value rows = b.map(inputs, [&](ElementBuilder &e, ValueRange in) {
      return add(e, e.mul(in[0], in[1]), in.drop_front(2));
    });
    stored.storeRows(b, rows, first);
    if (!place.normalizer)
      return TileBuilder::Values();
    SmallVector<Value> columns = {keys};
    if (isContinued)
      columns.push_back(given.loadNormalizer(b, first, count));
    if (factor)
      columns.push_back(factor);
    Value normalizer = b.map(
        columns, [&](ElementBuilder &e, ValueRange in) { return add(e, in[0], in.drop_front(1)); });
    stored.storeNormalizer(b, normalizer, first);
    return TileBuilder::Values();
  });
}

Accumulators AttendProgram::readStep(TileBuilder &b, const StepVectors &vectors,
                                     const FinalState &place) {
  const KernelFrame &frame = context.frame;
  StoredState stored = stateAt(place);
  SmallVector<Value> zeros = {b.constant(1, valueWidth, 0)};
  if (place.normalizer)
    zeros.push_back(b.constant(1, 1, 0));
  return accumulatorsOf(
      state.forFeatureBlocks(b, zeros, [&](Value first, int64_t count, ValueRange in) {
        TileBuilder::Values sums(in);
        Value query = loadColumn(b, vectors.query, {frame.batch, frame.head, first}, count);
        Value normalizer;
        if (place.normalizer)
          normalizer = stored.loadNormalizer(b, first, count);
        addStep(b, query, stored.loadRows(b, first, count, valueWidth), normalizer, sums);
        return sums;
      }));
}

Accumulators AttendProgram::step(TileBuilder &b, const StepVectors &vectors,
                                 const FinalState &place) {
  auto update = [&](bool isContinued) { updateStep(b, vectors, place, isContinued); };
  if (Value isContinued = context.frame.isContinued)
    b.branch(isContinued, [&] { update(true); }, [&] { update(false); });
  else
    update(true);
  return readStep(b, vectors, place);
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
