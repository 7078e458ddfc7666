//===- PolyAttnToTile.cpp - attentions become block programs --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttendProgram.h"
#include "polyattn/Conversion/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_CONVERTPOLYATTNTOTILE
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

namespace {

MemRefType memrefOf(RankedTensorType tensor) {
  SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
  strides.back() = 1;
  auto layout = StridedLayoutAttr::get(tensor.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(tensor.getShape(), tensor.getElementType(), layout);
}

/// The first tensor [B, T, H, d] that a vector is read from.
Value sequenceTensor(Value vector) {
  if (auto read = vector.getDefiningOp<ReadOp>())
    return cast<RankedTensorType>(read.getTensor().getType()).getRank() == 4 ? read.getTensor()
                                                                              : Value();
  if (Operation *op = vector.getDefiningOp())
    for (Value operand : op->getOperands())
      if (Value tensor = sequenceTensor(operand))
        return tensor;
  return {};
}

bool dependsOnAttend(Value vector) {
  Operation *op = vector.getDefiningOp();
  return op && (isa<AttendOp>(op) || llvm::any_of(op->getOperands(), dependsOnAttend));
}

/// Lowers one attention.
class KernelBuilder {
public:
  explicit KernelBuilder(AttentionOp attention)
      : attention(attention), b(attention.getLoc(), attention) {}

  LogicalResult build();

private:
  LogicalResult check();
  void createKernel();
  void program(TileBuilder &builder, bool quadratic);
  void block(TileBuilder &builder, MutableArrayRef<AttendProgram> programs,
             const BlockPlace &place);
  void storeResult(TileBuilder &builder, VectorProgram &queries, Value vector, Value tensor,
                   Value column, const BlockPlace &place);
  Value resultTensor(unsigned i) { return kernel.getTensor(kernel.getNumInputs() + i); }

  AttentionOp attention;
  TileBuilder b;
  tile::KernelOp kernel;
  SmallVector<AttendOp> attends;
  SmallVector<Schedule> schedules;
  bool interleaved = false;
  int64_t run = 0; // the block of the local kernels, 0 without
  std::optional<WeightTiles> weights;
  std::optional<ProgramContext> context;
  llvm::DenseMap<Value, Value> outputs; // an attend's output tile in this block
};

/// What one block program can hold.
LogicalResult KernelBuilder::check() {
  llvm::append_range(attends, attention.getBody().front().getOps<AttendOp>());
  if (attends.empty())
    return attention.emitError("there is no `attend` in this attention");
  for (AttendOp attend : attends) {
    if (attend.getMask() != attends[0].getMask())
      return attend.emitError("attends of one attention must have the same mask");
    if (attend.getGrouping() != attends[0].getGrouping())
      return attend.emitError("attends of one attention must have the same grouping");
    for (Value operand : attend.getOperands())
      if (dependsOnAttend(operand))
        return attend.emitError("an attend of what another attend computes needs an entry of its "
                                "own: the first one's blocks are not all there yet");
    if (!sequenceTensor(attend.getQuery()))
      return attend.emitError("the query is read from no tensor [B, T, H, d]");
    if (!sequenceTensor(attend.getValue()) && !sequenceTensor(attend.getKey()))
      return attend.emitError("neither key nor value is read from a tensor [B, T, H, d]");
    Schedule &schedule = schedules.emplace_back(scheduleOf(attend));
    AttentionShape shape = AttentionShape::of(attend);
    if (schedule.form != ScheduleForm::Quadratic) {
      if (!shape.hasFeatures)
        return attend.emitError("the schedule asks for a state, but these scores have no features");
      if (shape.features > kMaxMonomials)
        return attend.emitError("a state of ")
               << shape.features << " features is too large to compute with, the limit is "
               << kMaxMonomials;
    }
    if (schedule.form == ScheduleForm::Quadratic && shape.localBlock &&
        shape.localBlock % std::min(schedule.block, shape.localBlock))
      return attend.emitError("without a state the local block must be a multiple of the "
                              "schedule's block, ")
             << schedule.block;
    if (shape.localBlock && run && shape.localBlock != run)
      return attend.emitError("local kernels of one attention must have the same block");
    run = shape.localBlock ? shape.localBlock : run;
    if (schedule.form != ScheduleForm::State && shape.needsState)
      return attend.emitError("the schedule has no state, but one is asked for");
  }
  return success();
}

void KernelBuilder::createKernel() {
  SmallVector<Attribute> names(attention.getArgNames().begin(), attention.getArgNames().end());
  llvm::append_range(names, attention.getResultNames());
  auto tensors = llvm::to_vector(attention.getBody().getArgumentTypes());
  int64_t inputs = tensors.size();
  for (auto type : attention.getResultTypes().getAsValueRange<TypeAttr>())
    tensors.push_back(type);
  kernel = tile::KernelOp::create(b, attention.getSymName(), b.getArrayAttr(names), inputs);
  Block *body = b.createBlock(&kernel.getBody());
  for (Type type : tensors)
    body->addArgument(memrefOf(cast<RankedTensorType>(type)), b.getLoc());
  for (int i = 0; i < 4; ++i)
    body->addArgument(b.getIndexType(), b.getLoc());
  b.setInsertionPointToEnd(body);

  auto tensorIndex = [](Value tensor) { return cast<BlockArgument>(tensor).getArgNumber(); };
  Value query = sequenceTensor(attends[0].getQuery());
  Value key = sequenceTensor(attends[0].getValue());
  if (!key)
    key = sequenceTensor(attends[0].getKey());
  kernel->setAttr("query_tensor", b.getI64IntegerAttr(tensorIndex(query)));
  kernel->setAttr("key_tensor", b.getI64IntegerAttr(tensorIndex(key)));
  interleaved = attends[0].getGrouping() == Grouping::Interleaved;
  kernel->setAttr("grouping", b.getStringAttr(interleaved ? "interleaved" : "block"));

  weights.emplace(kernel, attention);
  Value one = b.index(1);
  Value queries = memref::DimOp::create(b, kernel.getTensor(tensorIndex(query)), one);
  Value keys = memref::DimOp::create(b, kernel.getTensor(tensorIndex(key)), one);
  int64_t blockLength = INT64_MAX;
  for (const Schedule &schedule : schedules)
    blockLength = std::min(blockLength, schedule.block);
  context.emplace(ProgramContext{kernel, *weights, kernel.getBatch(), kernel.getHead(),
                                 kernel.getKvHead(), kernel.getGroup(), queries, keys,
                                 run ? std::min(blockLength, run) : blockLength, run,
                                 attends[0].getMask() == Mask::Causal});
}

/// Writes a result in natural orientation; a concatenation is written part by part.
void KernelBuilder::storeResult(TileBuilder &b, VectorProgram &queries, Value vector, Value tensor,
                                Value column, const BlockPlace &place) {
  if (auto concat = vector.getDefiningOp<ConcatOp>()) {
    int64_t offset = 0;
    for (Value part : concat.getInputs()) {
      storeResult(b, queries, part, tensor, b.addIndex(column, b.index(offset)), place);
      offset += cast<FeatureType>(part.getType()).getWidth();
    }
    return;
  }
  Value tile = outputs.lookup(vector);
  if (!tile)
    tile = queries.natural(vector);
  tile::StoreOp::create(b, tile, tensor,
                        ValueRange{context->batch, place.position, context->head, column},
                        place.valid, /*row_dim=*/1, /*col_dim=*/3);
}

void KernelBuilder::block(TileBuilder &b, MutableArrayRef<AttendProgram> programs,
                          const BlockPlace &place) {
  VectorProgram queries(b, *weights, context->batch, context->head, place.position, place.valid,
                        context->block);
  outputs.clear();
  for (auto [attend, program] : llvm::zip(attends, programs))
    outputs[attend.getOutput()] = program.block(b, queries, place);
  auto results = cast<ReturnOp>(attention.getBody().front().getTerminator()).getResults();
  for (auto [i, result] : llvm::enumerate(results)) {
    if (!isa<FeatureType>(result.getType()))
      continue;
    if (!outputs.count(result) && dependsOnAttend(result))
      for (auto [vector, tile] : outputs)
        queries.bind(vector, b.transpose(tile));
    storeResult(b, queries, result, resultTensor(i), b.index(0), place);
  }
}

/// The loops over blocks, in one of the two forms where there is a choice.
void KernelBuilder::program(TileBuilder &b, bool quadratic) {
  std::vector<AttendProgram> programs;
  for (auto [attend, schedule] : llvm::zip(attends, schedules)) {
    Schedule chosen = schedule;
    if (chosen.form == ScheduleForm::Both)
      chosen.form = quadratic ? ScheduleForm::Quadratic : ScheduleForm::State;
    programs.emplace_back(attend, chosen, *context);
  }
  for (AttendProgram &program : programs)
    program.begin(b);

  Value zero = b.index(0), step = b.index(context->block);
  auto blocks = [&](TileBuilder &b, Value from, Value to, auto body) {
    scf::ForOp::create(b, from, to, step, ValueRange(),
                       [&](OpBuilder &builder, Location loc, Value position, ValueRange) {
                         TileBuilder inside(loc, builder);
                         Value left = arith::SubIOp::create(inside, to, position);
                         Value valid = arith::MinSIOp::create(inside, left, step);
                         body(inside, BlockPlace{position, valid, from});
                         scf::YieldOp::create(builder, loc);
                       });
  };
  auto perBlock = [&](TileBuilder &b, const BlockPlace &place) { block(b, programs, place); };
  if (context->run <= context->block) {
    blocks(b, zero, context->queries, perBlock);
  } else {
    Value length = b.index(context->run);
    scf::ForOp::create(
        b, zero, context->queries, length, ValueRange(),
        [&](OpBuilder &builder, Location loc, Value start, ValueRange) {
          TileBuilder inside(loc, builder);
          Value end = arith::MinSIOp::create(inside, inside.addIndex(start, length),
                                             context->queries);
          blocks(inside, start, end, perBlock);
          blocks(inside, start, end, [&](TileBuilder &b, const BlockPlace &place) {
            for (AttendProgram &program : programs)
              if (program.updatesAfterRun())
                program.update(b, place);
          });
          scf::YieldOp::create(builder, loc);
        });
  }

  auto results = cast<ReturnOp>(attention.getBody().front().getTerminator()).getResults();
  for (auto [attend, program] : llvm::zip(attends, programs)) {
    SmallVector<Value> states;
    for (Value state : attend.getFinalStates())
      for (auto [i, result] : llvm::enumerate(results))
        if (result == state)
          states.push_back(resultTensor(i));
    program.finish(b, states, interleaved);
  }
}

LogicalResult KernelBuilder::build() {
  if (failed(check()))
    return failure();
  createKernel();
  int64_t below = 0;
  for (const Schedule &schedule : schedules)
    if (schedule.form == ScheduleForm::Both)
      below = below ? std::min(below, schedule.quadraticBelow) : schedule.quadraticBelow;
  if (!below) {
    program(b, /*quadratic=*/false);
  } else {
    Value isShort = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, context->keys,
                                          b.index(below));
    auto branch = [&](bool quadratic) {
      return [this, quadratic](OpBuilder &builder, Location loc) {
        TileBuilder inside(loc, builder);
        program(inside, quadratic);
        scf::YieldOp::create(builder, loc);
      };
    };
    scf::IfOp::create(b, isShort, branch(true), branch(false));
  }
  attention.erase();
  return success();
}

struct ConvertPolyAttnToTile
    : polyattn::impl::ConvertPolyAttnToTileBase<ConvertPolyAttnToTile> {
  void runOnOperation() override {
    for (AttentionOp attention :
         llvm::make_early_inc_range(getOperation().getOps<AttentionOp>())) {
      WalkResult applied = attention.walk([](ApplyOp apply) {
        apply.emitError("feature maps must be inlined first (--polyattn-inline-maps)");
        return WalkResult::interrupt();
      });
      if (applied.wasInterrupted() || failed(KernelBuilder(attention).build()))
        return signalPassFailure();
    }
    for (FeatureMapOp map : llvm::make_early_inc_range(getOperation().getOps<FeatureMapOp>()))
      map.erase();
  }
};

} // namespace
