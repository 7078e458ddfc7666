//===- FormKernels.cpp - say which attends each kernel computes -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group of attends has one mask, and rows of one side. What depends on a group's attends alone is
// computed by its kernel. What depends on several groups is computed by the last of them, and the
// others pass it the plain vectors that it needs. A sum over heads has a kernel of its own, as
// programs of one head each compute what it adds up. On GPUs a sum over the elements of a row
// passes from kernel to kernel as well: where a program computes each block of rows, every one of
// them would load the vectors of all rows that it sees to sum them up once more. So do the vectors
// that keys are formed of, which such programs would compute again for each block.
//
//===----------------------------------------------------------------------===//

#include "FormConvolutions.h"
#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/Dependencies.h"
#include "dialects/PolyAttn/Kernels.h"
#include "dialects/PolyAttn/Leaves.h"
#include "mlir/IR/IRMapping.h"
#include "polyattn/Entry/Signature.h"
#include "polyattn/Schedule/Cost.h"
#include "polyattn/Schedule/KernelFacts.h"
#include "polyattn/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/bit.h"
#include <deque>

namespace polyattn {
#define GEN_PASS_DEF_FORMKERNELS
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

namespace {

/// The pairs of a weight's gradient that one group has the vectors of.
struct WeightTerms {
  WeightGradientOp gradient;
  SmallVector<size_t> terms;
};

/// The attends of one region of a kernel, and its results.
struct AttendGroup {
  AttendKind kind;
  SmallVector<AttendOp> attends; // none: it has rows that no attend reaches
  llvm::SmallSetVector<Value, 8> yielded;
  llvm::SmallSetVector<Value, 2> passedIn; // vectors of other groups
  bool passesRows = false, savesValues = false;
  TypeAttr rowType; // in which others read its vectors; null for f32
  SmallVector<WeightTerms> sums;
  AttendGroup *beside = nullptr;
  bool isBeside = false;

  /// Whether its rows have the positions and heads of queries. `sameHeads` is the entry's.
  bool hasRowsOfQueries(bool sameHeads) const {
    return !kind.ofKeys || (sameHeads && kind.mask != Mask::Full);
  }
  bool isNeeded() const { return !attends.empty() || !yielded.empty() || !sums.empty(); }
};

} // namespace

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {

/// Finds the groups of an attention, and the group that computes each result.
class KernelGrouping {
public:
  KernelGrouping(AttentionOp attention, bool passesRowSums, bool passesKeys)
      : attention(attention), passesRowSums(passesRowSums), passesKeys(passesKeys) {}

  LogicalResult run();
  std::deque<AttendGroup> &getGroups() { return groups; }
  /// Groups of vectors that keys are formed of, before all others: each of one tensor's rows.
  llvm::MapVector<Value, AttendGroup> &getKeyVectors() { return keyVectors; }
  /// Groups of one sum over heads each, after all others.
  std::deque<AttendGroup> &getHeadSums() { return headSums; }
  /// Whether an op moves into the kernels that use it: an attend, a state, or an op that depends on
  /// attends.
  bool isInKernels(Operation *op) const {
    return isa<AttendOp, StateUpdateInterface, SumHeadsOp>(op) || isStateView(op) ||
           llvm::any_of(op->getResults(), [&](Value result) { return groupsOf.lookup(result); });
  }
  /// The ops that a group's region has, in the order of the attention.
  SmallVector<Operation *> neededOps(const AttendGroup &group) const;

private:
  static bool isStateView(Operation *op) {
    return op->getNumResults() == 1 && isa<StateType>(op->getResult(0).getType());
  }
  LogicalResult findGroups();
  void findDependencies();
  AttendGroup &computing(ArrayRef<Value> vectors);
  void pass(Value vector, AttendGroup &from, AttendGroup &to);
  void addSums(WeightGradientOp gradient);
  void assignResults();
  llvm::DenseSet<Value> tensorsOf(const AttendGroup &group, Value without) const;
  void passRowSum(Value sum);
  void passRowSums(const Signature &signature);
  void passKey(Value vector, double times, TypeAttr rowType, AttendGroup &group);
  void passKeys();
  void saveForSums();
  void putBeside();

  mutable AttentionOp attention; // its accessors are not const
  bool passesRowSums, passesKeys;
  bool sameHeads = false;
  std::deque<AttendGroup> groups, headSums;
  llvm::MapVector<Value, AttendGroup> keyVectors;
  /// A bit for each group that has one of the attends next to a value.
  llvm::DenseMap<Value, uint32_t> groupsOf;
};

} // namespace

/// Whether an attend's rows are there in the blocks of one sweep.
static LogicalResult checkAttend(AttendOp attend) {
  for (Value operand : attend.getOperands())
    if (walkDependencies(operand, [](Value value) {
          return value.getDefiningOp<AttendOp>() ? WalkResult::interrupt() : WalkResult::advance();
        }))
      return attend.emitError("an attend of what another attend computes needs an entry of its "
                              "own: the first one's blocks are not all there yet");
  // They are two numbers of a row, stored as they come, and no vector of a block.
  Value factors = attend.getRowFactors();
  if (factors && !llvm::all_of(factors.getUsers(), llvm::IsaPred<ReturnOp>))
    return attend.emitError("tile kernels can only return a row's factors");
  return success();
}

LogicalResult KernelGrouping::findGroups() {
  for (Operation &op : attention.getBody().front()) {
    if (isa<AttendBackwardOp>(op))
      return op.emitError("gradients of this attend are not compiled yet");
    auto attend = dyn_cast<AttendOp>(op);
    if (!attend)
      continue;
    if (failed(checkAttend(attend)))
      return failure();
    AttendKind kind = AttendKind::of(attend);
    auto found = llvm::find_if(groups, [&](AttendGroup &group) { return group.kind == kind; });
    AttendGroup &group = found == groups.end() ? groups.emplace_back() : *found;
    group.kind = kind;
    group.attends.push_back(attend);
  }
  auto hasRows = [&](AttendGroup &group) { return group.hasRowsOfQueries(sameHeads); };
  if (llvm::none_of(groups, hasRows))
    groups.emplace_back();
  return success();
}

void KernelGrouping::findDependencies() {
  assert(groups.size() <= 32 && "a mask, a side and a source of states each");
  for (Operation &op : attention.getBody().front()) {
    uint32_t own = 0;
    if (auto attend = dyn_cast<AttendOp>(op)) {
      AttendKind kind = AttendKind::of(attend);
      for (auto [i, group] : llvm::enumerate(groups))
        if (!group.attends.empty() && group.kind == kind)
          own = 1u << i;
    } else {
      for (Value operand : op.getOperands())
        own |= groupsOf.lookup(operand);
    }
    for (Value result : op.getResults())
      groupsOf[result] = own;
  }
}

static bool isPlainVector(Value value) {
  auto type = dyn_cast<FeatureType>(value.getType());
  return type && type.getStructure().kind() == Structure::Kind::Vector;
}

/// The group whose kernel computes from all of `vectors`: the last one that has an attend which one
/// of them is computed from. Without such an attend the first group that has rows of queries.
AttendGroup &KernelGrouping::computing(ArrayRef<Value> vectors) {
  uint32_t all = 0;
  for (Value vector : vectors)
    all |= groupsOf.lookup(vector);
  if (!all)
    return *llvm::find_if(groups,
                          [&](AttendGroup &group) { return group.hasRowsOfQueries(sameHeads); });
  size_t last = llvm::Log2_32(all);
  for (Value root : vectors)
    walkDependencies(root, [&](Value value) {
      uint32_t own = groupsOf.lookup(value), others = own & ~(1u << last);
      if (!others)
        return WalkResult::skip();
      if (own != others || !llvm::has_single_bit(others) || !isPlainVector(value))
        return WalkResult::advance();
      pass(value, groups[llvm::Log2_32(others)], groups[last]);
      return WalkResult::skip();
    });
  return groups[last];
}

void KernelGrouping::pass(Value vector, AttendGroup &from, AttendGroup &to) {
  from.yielded.insert(vector);
  from.passesRows = true;
  to.passedIn.insert(vector);
}

/// Each pair is added where its vectors are.
void KernelGrouping::addSums(WeightGradientOp gradient) {
  for (size_t i = 0; i < gradient.getGradients().size(); ++i) {
    SmallVector<Value> vectors = {gradient.getGradients()[i]};
    if (!gradient.getInputs().empty())
      vectors.push_back(gradient.getInputs()[i]);
    AttendGroup &group = computing(vectors);
    if (group.sums.empty() || group.sums.back().gradient != gradient)
      group.sums.push_back({gradient, {}});
    group.sums.back().terms.push_back(i);
  }
}

void KernelGrouping::assignResults() {
  llvm::DenseSet<Operation *> summed; // equal gradients are one op, and several results
  for (Value result : attention.getBody().front().getTerminator()->getOperands()) {
    if (auto gradient = result.getDefiningOp<WeightGradientOp>()) {
      if (summed.insert(gradient).second)
        addSums(gradient);
    } else if (auto sum = result.getDefiningOp<SumHeadsOp>()) {
      if (!summed.insert(sum).second)
        continue;
      AttendGroup &group = headSums.emplace_back();
      pass(sum.getVector(), computing(sum.getVector()), group);
      group.yielded.insert(result);
    } else if (!isa_and_nonnull<DecayGradientOp, AddGradientsOp, KeepOp>(result.getDefiningOp())) {
      computing(result).yielded.insert(result);
    }
  }
}

/// Calls `visit` for all that a group computes by itself: outputs of attends, what it yields, and
/// the vectors of sums of weights.
static void forRoots(const AttendGroup &group, llvm::function_ref<void(Value)> visit) {
  for (AttendOp attend : group.attends)
    visit(attend.getOutput());
  for (Value value : group.yielded)
    visit(value);
  for (const WeightTerms &sum : group.sums)
    for (size_t term : sum.terms)
      for (ValueRange vectors : {ValueRange(WeightGradientOp(sum.gradient).getInputs()),
                                 ValueRange(WeightGradientOp(sum.gradient).getGradients())})
        if (!vectors.empty())
          visit(vectors[term]);
}

SmallVector<Operation *> KernelGrouping::neededOps(const AttendGroup &group) const {
  // What is computed from a vector of another group stands behind that group's kernel.
  llvm::DenseSet<Value> behind(group.passedIn.begin(), group.passedIn.end());
  for (Operation &op : attention.getBody().front())
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return behind.contains(operand); }))
      behind.insert_range(op.getResults());
  auto isInside = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && !group.passedIn.contains(value) && (isInKernels(op) || behind.contains(value));
  };
  llvm::DenseSet<Operation *> needed;
  forRoots(group, [&](Value root) {
    walkDependencies(root, [&](Value value) {
      if (!isInside(value))
        return WalkResult::skip();
      needed.insert(value.getDefiningOp());
      return WalkResult::advance();
    });
  });
  return llvm::to_vector(
      llvm::make_filter_range(llvm::make_pointer_range(attention.getBody().front()),
                              [&](Operation *op) { return needed.contains(op); }));
}

//===----------------------------------------------------------------------===//
// Sums of rows
//===----------------------------------------------------------------------===//

/// The tensors that a group reads for anything but `without`.
llvm::DenseSet<Value> KernelGrouping::tensorsOf(const AttendGroup &group, Value without) const {
  llvm::DenseSet<Value> tensors;
  forRoots(group, [&](Value root) {
    walkDependencies(root, [&](Value value) {
      if (value == without || group.passedIn.contains(value))
        return WalkResult::skip();
      if (isa<BlockArgument>(value))
        tensors.insert(value);
      return WalkResult::advance();
    });
  });
  return tensors;
}

/// Lets the first group that needs a sum pass it to others, which then do without a tensor.
void KernelGrouping::passRowSum(Value sum) {
  SmallVector<Value> tensors;
  walkDependencies(sum, [&](Value value) {
    if (isa<BlockArgument>(value))
      tensors.push_back(value);
    return WalkResult::advance();
  });
  AttendGroup *from = nullptr;
  for (AttendGroup &group : groups) {
    bool isNeeded = false;
    forRoots(group, [&](Value root) {
      isNeeded |= walkDependencies(root, [&](Value value) {
        return group.passedIn.contains(value) ? WalkResult::skip()
               : value == sum                 ? WalkResult::interrupt()
                                              : WalkResult::advance();
      });
    });
    if (!isNeeded)
      continue;
    if (!from) {
      if (!group.hasRowsOfQueries(sameHeads))
        return;
      from = &group;
      continue;
    }
    llvm::DenseSet<Value> others = tensorsOf(group, sum);
    if (llvm::any_of(tensors, [&](Value tensor) { return !others.contains(tensor); }))
      pass(sum, *from, group);
  }
}

/// Whether a vector is computed from rows of queries alone, each head's own.
static bool isOfQueries(Value vector, const Signature &signature) {
  return !walkDependencies(vector, [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return WalkResult::advance();
    const TensorSignature &tensor = signature.arguments[argument.getArgNumber()];
    bool isSequence = tensor.dims.size() == 4 && tensor.dims[0] == kBatch &&
                      tensor.dims[1] == kPositions && tensor.dims[2] == kHeads;
    return isSequence ? WalkResult::skip() : WalkResult::interrupt();
  });
}

void KernelGrouping::passRowSums(const Signature &signature) {
  // A group that passes rows cannot go beside another one (putBeside).
  if (llvm::any_of(groups, [](AttendGroup &group) { return group.kind.readsStates; }))
    return;
  for (auto sum : attention.getBody().front().getOps<SumOp>())
    if (!groupsOf.lookup(sum.getResult()) && isOfQueries(sum.getResult(), signature))
      passRowSum(sum.getResult());
}

//===----------------------------------------------------------------------===//
// Vectors of keys
//===----------------------------------------------------------------------===//

/// How often programs of the form `chunkwise` compute the vectors of a key: for the sums of each
/// block of features, and for the blocks of queries of its segment, half of them on average.
static double timesFormed(AttendOp attend, const Schedule &schedule, bool isLocal) {
  double blocks = std::ceil(double(attend.getKey().getType().getWidth()) / schedule.featureBlock);
  int64_t near = isLocal ? int64_t(*attend.getBlock()) : schedule.segment;
  double queries = attend.isOrdered() ? std::max(near / 2. / schedule.block, 1.) : 0;
  return (isLocal ? 0 : blocks) + queries;
}

/// The sequence whose positions and heads a vector has; null where it has those of several.
static Value sequenceOf(Value vector) {
  Value sequence;
  bool areSeveral = walkDependencies(vector, [&](Value value) {
    auto read = value.getDefiningOp<ReadOp>();
    if (!read || !isa<FeatureType>(read.getType()))
      return WalkResult::advance();
    bool isOther = cast<RankedTensorType>(read.getTensor().getType()).getRank() != 4 ||
                   hasSharedHeads(read.getTensor().getType()) ||
                   (sequence && sequence != read.getTensor());
    sequence = read.getTensor();
    return isOther ? WalkResult::interrupt() : WalkResult::skip();
  });
  return areSeveral ? Value() : sequence;
}

/// Lets a kernel before all others compute a vector, if that takes longer than to store and load
/// its rows as often as they are needed.
void KernelGrouping::passKey(Value vector, double times, TypeAttr rowType, AttendGroup &group) {
  // Multiply-adds in the time that a number of a row takes to be stored or loaded. It is twice what
  // the rates of an H200 say: less lets rows pass that modelled kernels compute faster themselves.
  constexpr double multiplyAddsOfNumber = 96;
  double width = cast<FeatureType>(vector.getType()).getWidth();
  double saved = (times - 1) * programMultiplyAdds(vector);
  double paid = (times + 1) * width * multiplyAddsOfNumber;
  if (vector.getDefiningOp<ReadOp>() || groupsOf.lookup(vector) || saved < paid)
    return;
  Value sequence = sequenceOf(vector);
  if (!sequence)
    return;
  // Each is a workspace, and a parameter of kernels that may have many already.
  constexpr size_t mostVectors = 8;
  AttendGroup &from = keyVectors[sequence];
  if (from.yielded.size() == mostVectors && !from.yielded.contains(vector))
    return;
  from.rowType = from.yielded.empty() || from.rowType == rowType ? rowType : TypeAttr();
  pass(vector, from, group);
}

void KernelGrouping::passKeys() {
  for (AttendGroup &group : groups)
    for (AttendOp attend : group.attends) {
      Schedule schedule = scheduleOf(attend);
      if (schedule.form != ScheduleForm::Chunkwise)
        continue;
      // Products read vectors as they read states. Gradients have other uses for them.
      bool isOfProducts = schedule.states && !attention.getGradientOf();
      TypeAttr rowType = isOfProducts ? TypeAttr::get(schedule.states) : TypeAttr();
      auto passAll = [&](Value key, bool isLocal) {
        // Features themselves are not written to memory.
        if (hasFeaturesOfLeaves(cast<FeatureType>(key.getType()).getStructure()))
          return;
        for (Value leaf : leavesOf(key))
          passKey(leaf, timesFormed(attend, schedule, isLocal), rowType, group);
      };
      passAll(attend.getKey(), /*isLocal=*/false);
      if (attend.getLocalKey() && !attend.getSliding())
        passAll(attend.getLocalKey(), /*isLocal=*/true);
    }
}

/// Kernels yield the row products and final states that gradients of decays and of shared states
/// read.
void KernelGrouping::saveForSums() {
  auto isSummed = [](Value value) {
    return value && llvm::any_of(value.getUsers(), llvm::IsaPred<DecayGradientOp, AddGradientsOp>);
  };
  for (AttendGroup &group : groups)
    for (AttendOp attend : group.attends) {
      SmallVector<Value> values = {attend.getRowProducts()};
      llvm::append_range(values, attend.getFinalStates());
      for (Value value : values)
        if (isSummed(value)) {
          group.yielded.insert(value);
          group.savesValues = true;
        }
    }
}

/// Puts attends that read states from a tensor beside others with the same blocks. Rows that pass
/// between groups, and values for sums, are those of kernels one after another; sums of weights are
/// there for a whole kernel or not at all.
void KernelGrouping::putBeside() {
  for (AttendGroup &group : groups) {
    bool canJoin = group.kind.readsStates && !group.kind.ofKeys && !group.passesRows &&
                   group.passedIn.empty() && !group.savesValues;
    if (!canJoin)
      continue;
    auto main = llvm::find_if(groups, [&](AttendGroup &other) {
      return other.kind.mask == Mask::Anticausal && !other.beside &&
             blockOf(other.attends) == blockOf(group.attends) &&
             other.sums.empty() == group.sums.empty();
    });
    if (main == groups.end())
      continue;
    main->beside = &group;
    group.isBeside = true;
  }
}

LogicalResult KernelGrouping::run() {
  llvm::Expected<Signature> signature = signatureOf(attention);
  if (!signature)
    return attention.emitError(llvm::toString(signature.takeError()));
  sameHeads = signature->sameHeads;
  if (failed(findGroups()))
    return failure();
  findDependencies();
  assignResults();
  if (passesRowSums)
    passRowSums(*signature);
  if (passesKeys)
    passKeys();
  saveForSums();
  putBeside();
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

/// Moves the ops of groups into kernels.
class KernelFormation {
public:
  KernelFormation(AttentionOp attention, KernelGrouping &grouping)
      : attention(attention), grouping(grouping), builder(attention),
        terminator(attention.getBody().front().getTerminator()) {}

  void run();

private:
  std::string nameOf(const AttendGroup &group);
  void form(AttendGroup &group, StringRef name);
  void fill(Region &region, AttendGroup &group);
  void replaceSums();
  void replaceUses();
  void eraseOriginals();

  AttentionOp attention;
  KernelGrouping &grouping;
  OpBuilder builder;
  Operation *terminator;
  llvm::DenseMap<Value, Value> results; // of kernels
  llvm::MapVector<Operation *, SmallVector<Value>>
      weightSums; // the terms of each, results of kernels
};

} // namespace

/// The entry's own name for the first kernel. Others have the kind of their attends behind it.
std::string KernelFormation::nameOf(const AttendGroup &group) {
  std::string entry = attention.getSymName().str();
  auto first =
      llvm::find_if(grouping.getGroups(), [](AttendGroup &other) { return !other.isBeside; });
  if (first->kind == group.kind)
    return entry;
  if (group.attends.empty())
    return entry + "__rows";
  StringRef side = group.kind.ofKeys ? "_of_keys" : group.kind.readsStates ? "_from_states" : "";
  return (entry + "__" + stringifyMask(group.kind.mask) + side).str();
}

void KernelFormation::fill(Region &region, AttendGroup &group) {
  IRMapping mapping;
  for (Value passed : group.passedIn)
    mapping.map(passed, results.lookup(passed));
  builder.createBlock(&region);
  for (Operation *op : grouping.neededOps(group))
    builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value value : group.yielded)
    yielded.push_back(mapping.lookupOrDefault(value));
  for (const WeightTerms &sum : group.sums) {
    WeightGradientOp gradient = sum.gradient;
    SmallVector<Value> inputs, gradients;
    for (size_t term : sum.terms) {
      if (!gradient.getInputs().empty())
        inputs.push_back(mapping.lookupOrDefault(gradient.getInputs()[term]));
      gradients.push_back(mapping.lookupOrDefault(gradient.getGradients()[term]));
    }
    yielded.push_back(WeightGradientOp::create(builder, gradient.getLoc(), inputs, gradients,
                                               /*plus=*/Value()));
  }
  KernelYieldOp::create(builder, attention.getLoc(), yielded);
}

void KernelFormation::form(AttendGroup &group, StringRef name) {
  SmallVector<AttendGroup *> parts = {&group};
  if (group.beside)
    parts.push_back(group.beside);
  SmallVector<Type> types;
  for (AttendGroup *part : parts) {
    for (Value value : part->yielded)
      types.push_back(value.getType());
    for (const WeightTerms &sum : part->sums)
      types.push_back(WeightGradientOp(sum.gradient).getType());
  }
  builder.setInsertionPoint(terminator);
  Location loc = group.attends.empty() ? attention.getLoc() : group.attends.front().getLoc();
  auto kernel = KernelOp::create(builder, loc, types, name, CutAttr(), StepsAttr(), group.rowType);
  for (auto [part, region] : llvm::zip(parts, kernel->getRegions()))
    fill(region, *part);
  size_t next = 0;
  for (AttendGroup *part : parts) {
    for (Value value : part->yielded)
      results[value] = kernel.getResult(next++);
    for (const WeightTerms &sum : part->sums)
      weightSums[sum.gradient].push_back(kernel.getResult(next++));
  }
}

/// A gradient of a weight is the sum of the terms of all kernels.
void KernelFormation::replaceSums() {
  builder.setInsertionPoint(terminator);
  for (auto &[op, terms] : weightSums) {
    auto gradient = cast<WeightGradientOp>(op);
    auto sum = SumWeightsOp::create(builder, op->getLoc(), terms, gradient.getPlus());
    gradient.replaceAllUsesWith(sum.getResult());
  }
}

/// Ops outside of kernels use the results of kernels, and stand after them.
void KernelFormation::replaceUses() {
  auto replaceIn = [&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (Value result = results.lookup(operand.get()))
        operand.set(result);
  };
  SmallVector<Operation *> sums;
  for (Operation &op : attention.getBody().front())
    if (isa<DecayGradientOp, AddGradientsOp>(op))
      sums.push_back(&op);
  for (Operation *sum : sums) {
    replaceIn(sum);
    sum->moveBefore(terminator);
  }
  replaceIn(terminator);
}

void KernelFormation::eraseOriginals() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(attention.getBody().front()))) {
    bool isSum = isa<DecayGradientOp, AddGradientsOp, SumWeightsOp, KernelOp, ReturnOp>(op);
    if (!isSum && op.use_empty() && (isa<WeightGradientOp>(op) || grouping.isInKernels(&op)))
      op.erase();
  }
}

void KernelFormation::run() {
  for (auto [i, group] : llvm::enumerate(llvm::make_second_range(grouping.getKeyVectors())))
    form(group, (attention.getSymName() + "__keys" + (i ? Twine(i + 1) : Twine())).str());
  for (AttendGroup &group : grouping.getGroups())
    if (group.isNeeded() && !group.isBeside)
      form(group, nameOf(group));
  for (auto [i, group] : llvm::enumerate(grouping.getHeadSums()))
    form(group, (attention.getSymName() + "__sum_heads" + (i ? Twine(i + 1) : Twine())).str());
  replaceSums();
  replaceUses();
  eraseOriginals();
}

namespace {
struct FormKernelsPass : polyattn::impl::FormKernelsBase<FormKernelsPass> {
  using FormKernelsBase::FormKernelsBase;

  void runOnOperation() override {
    for (AttentionOp attention : getOperation().getOps<AttentionOp>()) {
      if (hasKernels(attention))
        continue;
      WalkResult applied = attention.walk([](ApplyOp apply) {
        apply.emitError("feature maps must be inlined first (--polyattn-inline-maps)");
        return WalkResult::interrupt();
      });
      if (applied.wasInterrupted())
        return signalPassFailure();
      if (hasConvolutions(attention)) {
        if (failed(formConvolutions(attention)))
          return signalPassFailure();
        continue;
      }
      KernelGrouping grouping(attention, passRowSums, passKeys);
      if (failed(grouping.run()))
        return signalPassFailure();
      KernelFormation(attention, grouping).run();
    }
  }
};
} // namespace
