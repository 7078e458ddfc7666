//===- AttendProgram.cpp - one attention inside a block program -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttendProgram.h"

using namespace mlir;
using namespace polyattn;

AttendProgram::AttendProgram(AttendOp op, const Schedule &schedule, ProgramContext &context)
    : op(op), schedule(schedule), context(context) {
  valueWidth = cast<FeatureType>(op.getValue().getType()).getWidth();
  if (!usesState())
    return;
  queryPlan = planFeatures(op.getQuery());
  keyPlan = planFeatures(op.getKey());
  features = keyPlan.monomials.size();
  // One side carries the weights of both: the stored features are bare products and the
  // state is divided by their weights where it is given and multiplied where it is asked for.
  bool movable = llvm::all_of(keyPlan.monomials,
                              [](const Monomial &monomial) { return monomial.weight != 0; });
  for (auto [q, k] : llvm::zip(queryPlan.monomials, keyPlan.monomials)) {
    queryWeights.push_back(op.scoreScale() * q.weight * (movable ? k.weight : 1));
    (movable ? storedWeights : keyWeights).push_back(k.weight);
  }
}

Value AttendProgram::gateHead() const {
  return op.getGateHeads() == GateHeads::Q ? context.head : context.kvHead;
}

Value AttendProgram::stateHead() const { return gateHead(); }

VectorProgram AttendProgram::keyProgram(TileBuilder &b, Value position, Value valid) {
  return VectorProgram(b, context.weights, context.batch, context.kvHead,
                       context.rows(b, position, valid), context.block);
}

//===----------------------------------------------------------------------===//
// Decay
//===----------------------------------------------------------------------===//

/// Of the positions of a block, `valid` of which are there.
BlockDecay AttendProgram::decay(TileBuilder &b, Value position, Value valid) {
  if (!op.hasDecay() || !causal())
    return BlockDecay();
  int64_t columns = context.block;
  auto equal = [&](Value gate) { return BlockDecay::ofEqualGates(b, gate, columns, valid); };
  if (std::optional<ArrayRef<double>> factors = op.getDecayFactors()) {
    SmallVector<double> logarithms;
    for (double factor : *factors)
      logarithms.push_back(std::log(factor));
    return equal(b.slice(b.column(logarithms), gateHead(), 1));
  }
  Value tensor = context.kernel.getTensor(cast<BlockArgument>(op.getDecay()).getArgNumber());
  int64_t rank = cast<MemRefType>(tensor.getType()).getRank();
  if (rank == 1)
    return equal(tile::LoadOp::create(b, b.tileType(1, 1), tensor, gateHead(), Value(), -1, -1,
                                      /*transposed=*/false));
  return BlockDecay::ofGates(
      b, tile::LoadOp::create(b, b.tileType(1, columns), tensor,
                              ValueRange{context.batch, position, gateHead()}, valid,
                              /*row_dim=*/-1, /*col_dim=*/1, /*transposed=*/false));
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

int64_t AttendProgram::maxSplits() const {
  if (!usesState() || !causal())
    return 1;
  return (features + schedule.featureBlock - 1) / schedule.featureBlock;
}

Value AttendProgram::shareBegin(TileBuilder &b) {
  return arith::MulIOp::create(b, context.split->split, b.index(share()));
}

/// The programs of a cluster have the rows of their own features, one after another.
Value AttendProgram::rowOf(TileBuilder &b, Value feature) {
  if (context.cluster == 1)
    return feature;
  return b.createOrFold<arith::SubIOp>(feature, shareBegin(b));
}

/// Runs `body` over this program's features: a loop over whole blocks, then what is left.
void AttendProgram::forFeatureBlocks(
    TileBuilder &b, ValueRange carried,
    function_ref<SmallVector<Value>(TileBuilder &, Value, int64_t, ValueRange)> body,
    SmallVectorImpl<Value> &results) {
  int64_t size = std::min(schedule.featureBlock, features), whole = features / size * size;
  results.assign(carried.begin(), carried.end());
  auto loop = [&](Value from, Value to, int64_t count, decltype(body) body) {
    auto op =
        scf::ForOp::create(b, from, to, b.index(count), results,
                           [&](OpBuilder &builder, Location loc, Value first, ValueRange in) {
                             TileBuilder inside(loc, builder);
                             scf::YieldOp::create(builder, loc, body(inside, first, count, in));
                           });
    results.assign(op.getResults().begin(), op.getResults().end());
  };
  if (context.cluster > 1) {
    // Equal parts of whole blocks.
    Value begin = shareBegin(b);
    auto inShare = [&](TileBuilder &b, Value first, int64_t count, ValueRange in) {
      return body(b, b.addIndex(begin, first), count, in);
    };
    if (share() > size)
      loop(b.index(0), b.index(share()), size, inShare);
    else
      results = body(b, begin, size, results);
    return;
  }
  if (context.split) {
    // Part s of n takes the blocks from s N / n to (s + 1) N / n; the last one what is left.
    Value split = context.split->split, splits = context.split->splits;
    Value blocks = b.index(whole / size);
    auto bound = [&](Value part) -> Value {
      Value before = arith::DivUIOp::create(b, arith::MulIOp::create(b, part, blocks), splits);
      return arith::MulIOp::create(b, before, b.index(size));
    };
    Value next = b.addIndex(split, b.index(1));
    loop(bound(split), bound(next), size, body);
    if (whole < features) {
      Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, splits);
      Value end = arith::SelectOp::create(b, isLast, b.index(features), b.index(whole));
      loop(b.index(whole), end, features - whole, body);
    }
    return;
  }
  if (whole > size)
    loop(b.index(0), b.index(whole), size, body);
  else
    results = body(b, b.index(0), size, results);
  if (whole < features)
    results = body(b, b.index(whole), features - whole, results);
}

/// S <- g S + phi_k V and z likewise, for some of the features.
void AttendProgram::updateRows(TileBuilder &b, Value rows, Value values, Value first, Value valid,
                               const BlockDecay &decay) {
  Value factor;
  if (decay) {
    factor = expOf(b, decay.total(b));
    values = b.mul(values, expOf(b, decay.afterColumn(b)));
    if (normalizer)
      decayedSums(b, rows, expOf(b, decay.afterRow(b)), factor, first, valid);
  } else if (normalizer) {
    decayedSums(b, rows, Value(), Value(), first, valid);
  }
  tile::AccumulateOp::create(b, rows, values, state, rowOf(b, first), valid, factor,
                             tile::PrecisionAttr());
}

/// Whether keys have come into the state that this block reads; null where that is not asked.
Value AttendProgram::isStateFilled(TileBuilder &b, const BlockPlace &place) const {
  if (!context.skipsIdleState || !causal() || op.getInitialState())
    return {};
  Value position = updatesAfterRun() ? place.start : place.position;
  return arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, context.rowOfCall(b, position),
                               b.index(0));
}

Value AttendProgram::isStateReadAfter(TileBuilder &b, Value end) const {
  if (!context.skipsIdleState || !causal() || op.getFinalState())
    return {};
  Value last = context.segment ? context.segment->end : context.queries;
  Value isRead = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, end, last);
  if (!context.hasCalls())
    return isRead;
  Value several =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, context.split->splits, b.index(1));
  return arith::OrIOp::create(b, isRead, several);
}

/// z <- g z + sum of the block's features, each times its weight.
void AttendProgram::decayedSums(TileBuilder &b, Value rows, Value weights, Value factor,
                                Value first, Value valid) {
  int64_t count = b.typeOf(rows).getRows();
  first = rowOf(b, first);
  Value old = tile::ReadOp::create(b, b.tileType(count, 1), normalizer, first);
  if (factor)
    old = b.mul(old, factor);
  Value sums = b.reduceColumns(weights ? b.mul(rows, weights) : rows, valid);
  tile::WriteOp::create(b, b.add(old, sums), normalizer, first);
}

void AttendProgram::makeBuffers(TileBuilder &b) {
  bool persistent = context.hasCalls();
  auto make = [&](int64_t columns) -> Value {
    auto type = tile::BufferType::get(b.getContext(), share(), columns);
    return tile::BufferOp::create(b, type, persistent);
  };
  state = make(valueWidth);
  if (normalized())
    normalizer = make(1);
}

void AttendProgram::begin(TileBuilder &b) {
  if (!usesState())
    return;
  makeBuffers(b);
  auto fillIf = [&](arith::CmpIPredicate predicate, Value number) {
    Value condition = arith::CmpIOp::create(b, predicate, number, b.index(0));
    scf::IfOp::create(b, condition, [&](OpBuilder &builder, Location loc) {
      TileBuilder inside(loc, builder);
      fillState(inside);
      scf::YieldOp::create(builder, loc);
    });
  };
  if (context.hasCalls())
    fillIf(arith::CmpIPredicate::eq, context.split->base);
  else if (op.getInitialState())
    fillState(b);
  else if (context.segment)
    fillIf(arith::CmpIPredicate::ne, context.segment->segment);
  if (causal())
    return;
  // Every query sees every key: the whole state first.
  Value step = b.index(context.block);
  scf::ForOp::create(b, b.index(0), context.keys, step, ValueRange(),
                     [&](OpBuilder &builder, Location loc, Value position, ValueRange) {
                       TileBuilder inside(loc, builder);
                       Value left = arith::SubIOp::create(inside, context.keys, position);
                       Value valid = arith::MinSIOp::create(inside, left, step);
                       update(inside, {position, valid, position});
                       scf::YieldOp::create(builder, loc);
                     });
}

/// Rows of the initial state and normalizer as the caller has them.
Value AttendProgram::givenState(TileBuilder &b, Value first, int64_t count) {
  Value tensor = context.kernel.getTensor(cast<BlockArgument>(op.getInitialState()).getArgNumber());
  return tile::LoadOp::create(b, b.tileType(count, valueWidth), tensor,
                              ValueRange{context.batch, stateHead(), first, b.index(0)}, Value(), 2,
                              3, false);
}
Value AttendProgram::givenNormalizer(TileBuilder &b, Value first, int64_t count) {
  Value argument = op.getInitialNormalizer();
  Value tensor = context.kernel.getTensor(cast<BlockArgument>(argument).getArgNumber());
  return tile::LoadOp::create(b, b.tileType(count, 1), tensor,
                              ValueRange{context.batch, stateHead(), first}, Value(), 2, -1, false);
}

/// The initial state, or zeros, and the segments before this program's.
void AttendProgram::fillState(TileBuilder &b) {
  std::vector<double> inverse;
  for (double weight : storedWeights)
    inverse.push_back(1 / weight);
  SmallVector<Value> none;
  forFeatureBlocks(
      b, {},
      [&](TileBuilder &b, Value first, int64_t count, ValueRange) {
        auto unweighted = [&](Value tile) {
          return inverse.empty() ? tile : b.mul(tile, b.slice(b.column(inverse), first, count));
        };
        Value rows = b.constant(count, valueWidth, 0), column = b.constant(count, 1, 0);
        if (op.getInitialState())
          rows = unweighted(givenState(b, first, count));
        Value row = rowOf(b, first);
        if (!context.segment)
          tile::WriteOp::create(b, rows, state, row);
        if (op.getInitialNormalizer())
          column = unweighted(givenNormalizer(b, first, count));
        if (context.segment) {
          addSegmentsBefore(b, first, rows, column);
          tile::WriteOp::create(b, rows, state, row);
        }
        if (normalizer)
          tile::WriteOp::create(b, column, normalizer, row);
        return SmallVector<Value>();
      },
      none);
}

Value AttendProgram::update(TileBuilder &b, const BlockPlace &place) {
  VectorProgram keys = keyProgram(b, place.position, place.valid);
  Value values = keys.natural(op.getValue());
  BlockDecay blockDecay = decay(b, place.position, place.valid);
  FeatureBlocks blocks(keyPlan, keyWeights);
  blocks.prepare(b, keys);
  SmallVector<Value> none;
  forFeatureBlocks(
      b, {},
      [&](TileBuilder &b, Value first, int64_t count, ValueRange) {
        keys.setBuilder(b);
        updateRows(b, blocks.block(b, keys, first, count), values, first, place.valid, blockDecay);
        return SmallVector<Value>();
      },
      none);
  return blockDecay ? blockDecay.total(b) : Value();
}

void AttendProgram::finish(TileBuilder &b, const FinalTensors &tensors, bool interleaved) {
  if (tensors.states.empty() && tensors.normalizers.empty())
    return;
  auto store = [&](TileBuilder &b, bool given) {
    SmallVector<Value> none;
    forFeatureBlocks(
        b, {},
        [&](TileBuilder &b, Value first, int64_t count, ValueRange) {
          auto weighted = [&](Value tile) {
            return storedWeights.empty()
                       ? tile
                       : b.mul(tile, b.slice(b.column(storedWeights), first, count));
          };
          auto rowsOf = [&](Value buffer, int64_t columns) {
            auto type = b.tileType(count, columns);
            return weighted(tile::ReadOp::create(b, type, buffer, rowOf(b, first)));
          };
          for (Value tensor : tensors.states)
            tile::StoreOp::create(
                b, given ? givenState(b, first, count) : rowsOf(state, valueWidth), tensor,
                ValueRange{context.batch, stateHead(), first, b.index(0)}, Value(), 2, 3);
          for (Value tensor : tensors.normalizers)
            tile::StoreOp::create(
                b, given ? givenNormalizer(b, first, count) : rowsOf(normalizer, 1), tensor,
                ValueRange{context.batch, stateHead(), first}, Value(), 2, -1);
          return SmallVector<Value>();
        },
        none);
  };
  auto storeAll = [&](TileBuilder &b) {
    if (!op.getInitialState() || storedWeights.empty())
      return store(b, /*given=*/false);
    // Divided by the weights and multiplied again a state would not be what it was.
    Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, context.keys, b.index(0));
    auto branch = [&](bool given) {
      return [&, given](OpBuilder &builder, Location loc) {
        TileBuilder inside(loc, builder);
        store(inside, given);
        scf::YieldOp::create(builder, loc);
      };
    };
    scf::IfOp::create(b, isEmpty, branch(true), branch(false));
  };
  if (op.getGateHeads() == GateHeads::Q)
    return storeAll(b);
  // Query heads of one group hold the same state: the first of them writes it.
  Value firstOfGroup = context.kvHead;
  if (!interleaved)
    firstOfGroup = arith::MulIOp::create(b, context.kvHead, context.group);
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, context.head, firstOfGroup);
  scf::IfOp::create(b, isFirst, [&](OpBuilder &builder, Location loc) {
    TileBuilder inside(loc, builder);
    storeAll(inside);
    scf::YieldOp::create(builder, loc);
  });
}
