//===- VectorProgram.cpp - feature ops as tiles ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorProgram.h"
#include "Dependencies.h"
#include "FeatureBlocks.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn;

static int64_t widthOf(Value vector) { return cast<FeatureType>(vector.getType()).getWidth(); }

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

Value WeightTiles::tensorOf(ReadOp read) {
  unsigned index = cast<BlockArgument>(read.getTensor()).getArgNumber();
  return kernel.getTensor(index);
}

bool WeightTiles::isPerHead(Value weight) {
  if (auto product = weight.getDefiningOp<WeightProductOp>())
    return isPerHead(product.getLhs()) || isPerHead(product.getRhs());
  auto read = weight.getDefiningOp<ReadOp>();
  int64_t rank = cast<MemRefType>(tensorOf(read).getType()).getRank();
  return rank > int64_t(cast<WeightType>(weight.getType()).getShape().size());
}

Value WeightTiles::get(TileBuilder &builder, Value weight, Value head) {
  // One tile serves both sides where the heads share the weight.
  std::pair<Value, Value> key(weight, isPerHead(weight) ? head : Value());
  if (Value tile = tiles.lookup(key))
    return tile;
  OpBuilder::InsertionGuard guard(builder);
  auto product = weight.getDefiningOp<WeightProductOp>();
  return tiles[key] = product ? multiply(builder, product, head)
                              : load(builder, weight.getDefiningOp<ReadOp>(), head);
}

Value WeightTiles::multiply(TileBuilder &builder, WeightProductOp product, Value head) {
  Value lhs = get(builder, product.getLhs(), head), rhs = get(builder, product.getRhs(), head);
  Operation *first = lhs.getDefiningOp(), *second = rhs.getDefiningOp();
  builder.setInsertionPointAfter(first->isBeforeInBlock(second) ? second : first);
  return builder.dot(lhs, rhs, Value(), /*lhsTransposed=*/false);
}

Value WeightTiles::load(TileBuilder &builder, ReadOp read, Value head) {
  // Before the loops of the program, where every use of this weight finds it.
  builder.setInsertionPointToStart(&kernel.getBody().front());
  ArrayRef<int64_t> shape = cast<WeightType>(read.getType()).getShape();
  Value tensor = tensorOf(read);
  int64_t rank = cast<MemRefType>(tensor.getType()).getRank();
  SmallVector<Value> indices(rank, builder.index(0));
  if (rank > int64_t(shape.size()))
    indices[0] = head;
  bool matrix = shape.size() == 2;
  return tile::LoadOp::create(builder, builder.tileType(shape[0], matrix ? shape[1] : 1), tensor,
                              indices, Value(), /*row_dim=*/matrix ? rank - 2 : rank - 1,
                              /*col_dim=*/matrix ? rank - 1 : -1, /*transposed=*/false);
}

Value VectorProgram::weight(Value value) { return weights.get(*b, value, head); }

Value VectorProgram::weightRows(Value value, Value first, int64_t count) {
  return b->slice(weight(value), first, count);
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Tables of positions have the rows of the whole sequence where calls begin anywhere in it, and
/// are not cut with a launch then.
Value VectorProgram::firstRow(bool isTable) {
  if (!isTable || !place.firstPosition)
    return place.position;
  Value first = arith::IndexCastOp::create(*b, b->getIndexType(), place.firstPosition);
  return b->addIndex(first, place.rowOfCall);
}

Value VectorProgram::load(ReadOp read, bool transposed) {
  Value tensor = weights.tensorOf(read);
  int64_t rank = cast<MemRefType>(tensor.getType()).getRank(), width = widthOf(read);
  Value zero = b->index(0);
  SmallVector<Value> indices;
  Value row = firstRow(/*isTable=*/rank == 3);
  if (rank == 4)
    indices = {batch, row, head, zero};
  else
    indices = {row, cast<MemRefType>(tensor.getType()).getDimSize(1) == 1 ? zero : head, zero};
  auto type = transposed ? b->tileType(width, columns) : b->tileType(columns, width);
  return tile::LoadOp::create(*b, type, tensor, indices, place.valid, /*row_dim=*/rank - 3,
                              /*col_dim=*/rank - 1, transposed);
}

//===----------------------------------------------------------------------===//
// Rows of vectors
//===----------------------------------------------------------------------===//

/// Ops whose row r needs row r of their operands only (or all of an operand of width 1).
static bool isElementwise(Operation *op) {
  return isa<HadamardOp, AddOp, ReluOp, EluPlusOneOp, ExpOp, TanhOp, SinOp, CosOp, AbsOp, SigmoidOp,
             SiluOp, SoftplusOp, GeluOp, PowOp, AddConstOp, ClampMinOp, AddVecOp, MulVecOp,
             DivVecOp, ScaleOp>(op);
}

bool VectorProgram::isNatural(Value vector) {
  return !walkDependencies(vector, [&](Value value) {
    if (!isa<FeatureType>(value.getType()) || widthOf(value) != widthOf(vector))
      return WalkResult::interrupt();
    Operation *op = value.getDefiningOp();
    if (isa<ReadOp>(op))
      return WalkResult::skip();
    return isElementwise(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
}

/// An operand that the rows of a blockable vector need as a whole.
static bool isNeededWhole(Value operand) {
  return isa<WeightType>(operand.getType()) || widthOf(operand) == 1;
}

bool VectorProgram::isBlockable(Value vector) {
  return !walkDependencies(vector, [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (isa<ProjectOp>(op) || (value != vector && isNeededWhole(value)))
      return WalkResult::skip();
    return isElementwise(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
}

Value VectorProgram::full(Value vector) {
  if (Value known = memo.lookup(vector))
    return known;
  Value result = compute(vector.getDefiningOp(), Value(), widthOf(vector));
  memo[vector] = result;
  return result;
}

void VectorProgram::prepare(Value vector) {
  if (!isBlockable(vector)) {
    full(vector);
    return;
  }
  walkDependencies(vector, [&](Value value) {
    if (isa<WeightType>(value.getType())) {
      weight(value);
      return WalkResult::skip();
    }
    if (value != vector && widthOf(value) == 1) {
      full(value);
      return WalkResult::skip();
    }
    auto project = value.getDefiningOp<ProjectOp>();
    if (!project)
      return WalkResult::advance();
    for (Value operand : project->getOperands())
      isa<WeightType>(operand.getType()) ? weight(operand) : full(operand);
    return WalkResult::skip();
  });
}

Value VectorProgram::rows(Value vector, Value first, int64_t count) {
  if (count == widthOf(vector))
    return full(vector);
  if (memo.lookup(vector) || !isBlockable(vector))
    return b->slice(full(vector), first, count);
  // What is computed here stands where it can be used again for these rows only.
  llvm::DenseMap<Value, Value> outer;
  std::swap(outer, blockRows);
  Value result = rowsOfBlockable(vector, first, count);
  std::swap(outer, blockRows);
  return result;
}

Value VectorProgram::rowsOfBlockable(Value vector, Value first, int64_t count) {
  if (memo.lookup(vector))
    return b->slice(full(vector), first, count);
  if (Value known = blockRows.lookup(vector))
    return known;
  Value result = compute(vector.getDefiningOp(), first, count);
  blockRows[vector] = result;
  return result;
}

/// Rows [first, first + count) of the op's result; all of them where `first` is null.
Value VectorProgram::compute(Operation *op, Value first, int64_t count) {
  if (isElementwise(op))
    return elementwise(op, first, count);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ReadOp read) { return load(read, /*transposed=*/true); })
      .Case([&](AttendOp attend) { return b->transpose(natural(attend.getOutput())); })
      .Case([&](ProjectOp op) { return project(op, first, count); })
      .Case([&](ConstantOp op) {
        return b->constant(op.getWidth(), columns, op.getValue().convertToDouble());
      })
      .Case([&](SelectOp op) { return select(op); })
      .Case([&](TriuOp op) {
        SmallVector<int32_t> table;
        SmallVector<double> factors;
        int64_t n = widthOf(op.getLhs());
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = i; j < n; ++j) {
            table.append({int32_t(i), int32_t(n + j)});
            factors.push_back(i != j && op.getWeights() == TriuWeights::Sqrt2 ? std::sqrt(2.0)
                                                                              : 1.0);
          }
        Value source = b->concat({full(op.getLhs()), full(op.getRhs())});
        auto type = RankedTensorType::get({int64_t(factors.size()), 2}, b->getI32Type());
        return tile::ExpandOp::create(*b, b->tileType(factors.size(), columns), source, b->index(0),
                                      DenseIntElementsAttr::get(type, ArrayRef(table)),
                                      b->getDenseF64ArrayAttr(factors))
            .getResult();
      })
      .Case([&](SquaredNormOp op) { return squaredNorm(full(op.getInput())); })
      .Case([&](MaxOp op) { return b->reduceRows(full(op.getInput()), tile::ReduceKind::Max); })
      .Case([&](LayerNormOp op) { return layerNorm(op); })
      .Case([&](L2NormOp op) {
        double eps = op.getEps().convertToDouble();
        Value x = full(op.getInput());
        auto [scale, squares] = scaledNorm(x);
        Value inverse = b->map({squares, scale}, [&](ElementBuilder &e, ValueRange in) {
          Value length = math::SqrtOp::create(e, in[0]), floor = e.mul(e.number(eps), in[1]);
          return e.div(e.number(1), e.select(e.less(length, floor), floor, length));
        });
        return b->map({x, scale, inverse}, [](ElementBuilder &e, ValueRange in) {
          return e.mul(e.mul(in[0], in[1]), in[2]);
        });
      })
      .Case([&](L2RescaleOp op) {
        Value x = full(op.getInput());
        auto [scale, squares] = scaledNorm(x);
        auto [targetScale, target] = scaledNorm(full(op.getReference()));
        // The direction first, which is at most 1: no product on the way is too large.
        Value inverse = b->map(squares, [](ElementBuilder &e, ValueRange in) -> Value {
          Value zero = e.number(0);
          Value isZero = arith::CmpFOp::create(e, arith::CmpFPredicate::OEQ, in[0], zero);
          return e.select(isZero, zero, e.div(e.number(1), math::SqrtOp::create(e, in[0])));
        });
        Value length = b->map({target, targetScale}, [](ElementBuilder &e, ValueRange in) {
          return e.div(math::SqrtOp::create(e, in[0]), in[1]);
        });
        return b->map({x, scale, inverse, length}, [](ElementBuilder &e, ValueRange in) {
          return e.mul(e.mul(e.mul(in[0], in[1]), in[2]), in[3]);
        });
      })
      .Case([&](SumNormOp op) {
        Value x = full(op.getInput());
        return b->map({x, b->reduceRows(x)}, [&](ElementBuilder &e, ValueRange in) {
          return e.div(in[0], e.add(in[1], e.number(op.getEps().convertToDouble())));
        });
      })
      .Case([&](SoftmaxOp op) { return softmax(op); })
      .Case([&](RopeOp op) { return rope(op); })
      .Default([&](Operation *op) { return expanded(op->getResult(0)); });
}

Value VectorProgram::squaredNorm(Value tile) {
  return b->reduceRows(
      b->map(tile, [](ElementBuilder &e, ValueRange in) { return e.mul(in[0], in[0]); }));
}

/// Powers of two that bring the largest element between 2^-60 and 2^50: nothing is rounded, and
/// what a smaller one's square loses below 2^-126 is nothing beside it. The sum of magnitudes says
/// as well as their maximum how large that is, and an addition is quicker; infinite it may be.
VectorProgram::ScaledNorm VectorProgram::scaledNorm(Value tile) {
  Value magnitudes = b->map(tile, [](ElementBuilder &e, ValueRange in) -> Value {
    return math::AbsFOp::create(e, in[0]);
  });
  Value scale = b->map(b->reduceRows(magnitudes), [](ElementBuilder &e, ValueRange in) {
    auto power = [&](int exponent) { return e.number(std::ldexp(1.0, exponent)); };
    Value small = e.select(e.less(in[0], power(-100)), power(120), power(75));
    Value scale = e.select(e.less(in[0], power(-50)), small, power(0));
    return e.select(e.less(power(50), in[0]), power(-90), scale);
  });
  return {scale, squaredNorm(b->mul(tile, scale))};
}

/// W^T X: the weight's columns are the result's rows.
Value VectorProgram::project(ProjectOp op, Value first, int64_t count) {
  Value w = weight(op.getWeight());
  if (first)
    w = b->sliceColumns(w, first, count);
  Value result = b->dot(w, full(op.getInput()), Value(), /*lhsTransposed=*/true);
  if (!op.getBias())
    return result;
  Value bias = weight(op.getBias());
  if (first)
    bias = b->slice(bias, first, count);
  return b->map({result, bias},
                [](ElementBuilder &e, ValueRange in) { return e.add(in[0], in[1]); });
}

/// x^y as C's pow has it: a negative base has a power where y is whole, 0^0 is 1.
static Value powElement(ElementBuilder &e, Value x, Value y) {
  return math::PowFOp::create(e, x, y);
}

static Value powElement(ElementBuilder &e, Value x, double exponent) {
  double whole = std::floor(exponent);
  if (exponent == whole && std::fabs(exponent) <= 64) {
    Value power = e.power(x, int64_t(std::fabs(exponent)));
    return exponent < 0 ? e.div(e.number(1), power) : power;
  }
  if (exponent == 0.5)
    return math::SqrtOp::create(e, x);
  return powElement(e, x, e.number(exponent));
}

static Value sigmoid(ElementBuilder &e, Value x) {
  Value exponential = math::ExpOp::create(e, e.sub(e.number(0), x));
  return e.div(e.number(1), e.add(e.number(1), exponential));
}

/// x erfc(-x / root 2) / 2, or x / (1 + e^-2u) for x (1 + tanh(u)) / 2: 1 + erf and 1 + tanh would
/// cancel to 0 where x is far below 0.
static Value gelu(ElementBuilder &e, Value x, GeluForm form) {
  if (form == GeluForm::Erf) {
    Value tail = math::ErfcOp::create(e, e.mul(x, e.number(-std::sqrt(0.5))));
    return e.mul(e.mul(e.number(0.5), x), tail);
  }
  double factor = -2 * std::sqrt(2 / M_PI);
  Value slope = e.add(e.number(factor), e.mul(e.number(factor * 0.044715), e.mul(x, x)));
  Value exponential = math::ExpOp::create(e, e.mul(x, slope));
  return e.div(x, e.add(e.number(1), exponential));
}

/// One element of an element-wise op. NaN goes through: comparisons choose the branch that keeps
/// it.
static Value element(ElementBuilder &e, Operation *op, ValueRange in) {
  Value x = in[0];
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](HadamardOp) {
        Value result = x;
        for (Value factor : in.drop_front())
          result = e.mul(result, factor);
        return result;
      })
      .Case([&](AddOp) {
        Value result = x;
        for (Value term : in.drop_front())
          result = e.add(result, term);
        return result;
      })
      .Case([&](ScaleOp op) { return e.mul(x, e.number(op.getFactor().convertToDouble())); })
      .Case([&](ReluOp) {
        Value zero = e.number(0);
        return e.select(e.less(x, zero), zero, x);
      })
      .Case([&](EluPlusOneOp) {
        // exp(min(x, 0)) + max(x, 0), a comparison less; NaN goes through the first.
        Value zero = e.number(0);
        Value positive = e.less(zero, x);
        Value exponential = math::ExpOp::create(e, e.select(positive, zero, x));
        return e.add(exponential, e.select(positive, x, zero));
      })
      .Case([&](ExpOp) { return math::ExpOp::create(e, x).getResult(); })
      .Case([&](TanhOp) { return math::TanhOp::create(e, x).getResult(); })
      .Case([&](SinOp) { return math::SinOp::create(e, x).getResult(); })
      .Case([&](CosOp) { return math::CosOp::create(e, x).getResult(); })
      .Case([&](AbsOp) { return math::AbsFOp::create(e, x).getResult(); })
      .Case([&](SigmoidOp) { return sigmoid(e, x); })
      .Case([&](SiluOp) { return e.mul(x, sigmoid(e, x)); })
      .Case([&](SoftplusOp) {
        Value zero = e.number(0);
        Value magnitude = math::AbsFOp::create(e, x);
        Value tail = math::ExpOp::create(e, e.sub(zero, magnitude));
        Value logarithm = math::Log1pOp::create(e, tail);
        return e.add(e.select(e.less(x, zero), zero, x), logarithm);
      })
      .Case([&](GeluOp op) { return gelu(e, x, op.getForm()); })
      .Case([&](PowOp op) {
        if (op.getExponent())
          return powElement(e, x, op.getExponent()->convertToDouble());
        return powElement(e, x, in[1]);
      })
      .Case([&](AddConstOp op) { return e.add(x, e.number(op.getValue().convertToDouble())); })
      .Case([&](ClampMinOp op) {
        Value floor = e.number(op.getValue().convertToDouble());
        return e.select(e.less(x, floor), floor, x);
      })
      .Case([&](AddVecOp) { return e.add(x, in[1]); })
      .Case([&](MulVecOp) { return e.mul(x, in[1]); })
      .Case([&](DivVecOp) { return e.div(x, in[1]); });
}

Value VectorProgram::elementwise(Operation *op, Value first, int64_t count) {
  SmallVector<Value> inputs;
  for (Value operand : op->getOperands()) {
    if (isa<WeightType>(operand.getType()))
      inputs.push_back(first ? weightRows(operand, first, count) : weight(operand));
    else
      inputs.push_back(first && widthOf(operand) != 1 ? rowsOfBlockable(operand, first, count)
                                                      : full(operand));
  }
  return b->map(inputs, [&](ElementBuilder &e, ValueRange in) { return element(e, op, in); });
}

Value VectorProgram::natural(Value vector) {
  if (Value known = naturals.lookup(vector))
    return known;
  Operation *op = vector.getDefiningOp();
  Value result;
  if (auto read = dyn_cast<ReadOp>(op)) {
    result = load(read, /*transposed=*/false);
  } else if (isNatural(vector)) {
    SmallVector<Value> inputs;
    for (Value operand : op->getOperands())
      inputs.push_back(natural(operand));
    result = b->map(inputs, [&](ElementBuilder &e, ValueRange in) { return element(e, op, in); });
  } else {
    return b->transpose(full(vector));
  }
  return naturals[vector] = result;
}

LhsTile VectorProgram::lhs(Value vector) {
  if (!memo.lookup(vector) && isNatural(vector))
    return {natural(vector), /*transposed=*/false};
  return {full(vector), /*transposed=*/true};
}

Value VectorProgram::layerNorm(LayerNormOp op) {
  Value x = full(op.getInput());
  double n = widthOf(op.getInput()), eps = op.getEps().convertToDouble();
  bool inside = op.getEpsPlace() == EpsPlace::Inside;
  Value mean = b->map(b->reduceRows(x), [&](ElementBuilder &e, ValueRange in) {
    return e.mul(in[0], e.number(1 / n));
  });
  Value centered =
      b->map({x, mean}, [](ElementBuilder &e, ValueRange in) { return e.sub(in[0], in[1]); });
  Value inverse = b->map(squaredNorm(centered), [&](ElementBuilder &e, ValueRange in) -> Value {
    Value variance = e.mul(in[0], e.number(1 / n));
    if (inside)
      variance = e.add(variance, e.number(eps));
    Value divisor = math::SqrtOp::create(e, variance);
    if (!inside)
      divisor = e.add(divisor, e.number(eps));
    return e.div(e.number(1), divisor);
  });
  SmallVector<Value> inputs = {centered, inverse};
  for (Value affine : op.getAffine())
    inputs.push_back(weight(affine));
  return b->map(inputs, [](ElementBuilder &e, ValueRange in) {
    Value y = e.mul(in[0], in[1]);
    if (in.size() > 2)
      y = e.mul(y, in[2]);
    return in.size() > 3 ? e.add(y, in[3]) : y;
  });
}

Value VectorProgram::softmax(SoftmaxOp op) {
  Value x = full(op.getInput());
  int64_t length = widthOf(op.getInput()) / op.getGroups();
  SmallVector<Value> groups;
  for (int64_t g = 0; g < int64_t(op.getGroups()); ++g) {
    Value group = b->slice(x, b->index(g * length), length);
    Value largest = b->reduceRows(group, tile::ReduceKind::Max);
    Value exponentials = b->map({group, largest}, [](ElementBuilder &e, ValueRange in) -> Value {
      return math::ExpOp::create(e, e.sub(in[0], in[1]));
    });
    groups.push_back(b->map({exponentials, b->reduceRows(exponentials)},
                            [](ElementBuilder &e, ValueRange in) { return e.div(in[0], in[1]); }));
  }
  return b->concat(groups);
}

Value VectorProgram::select(SelectOp op) {
  ArrayRef<int64_t> indices = op.getIndices();
  bool run = true;
  for (auto [i, index] : llvm::enumerate(indices))
    run &= index == indices[0] + int64_t(i);
  if (run)
    return rows(op.getInput(), b->index(indices[0]), indices.size());
  return tile::SelectRowsOp::create(*b, b->tileType(indices.size(), columns), full(op.getInput()),
                                    indices);
}

/// The angle is formed and reduced in f64: at position 10^6 an f32 product has no digit left of it.
Value VectorProgram::rope(RopeOp op) {
  Value x = full(op.getInput());
  int64_t dims = op.getDims(), half = dims / 2, width = widthOf(op.getInput());
  double scale = op.getScale().convertToDouble(), offset = op.getOffset().convertToDouble();
  auto positionType = tile::TileType::get(b->getContext(), 1, columns, b->getF64Type());
  Value positions = tile::PositionsOp::create(*b, positionType, place.rowOfCall);
  // Beside the rows, which are numbers of 32 bits on a GPU.
  Value start;
  if (place.firstPosition)
    start = arith::SIToFPOp::create(*b, b->getF64Type(), place.firstPosition);
  Value angle =
      b->map({weight(op.getFreqs()), positions}, [&](ElementBuilder &e, ValueRange in) -> Value {
        auto number = [&](double value) -> Value {
          return arith::ConstantOp::create(e, e.getF64FloatAttr(value));
        };
        Value frequency = arith::ExtFOp::create(e, e.getF64Type(), in[0]);
        Value position = start ? e.add(in[1], start) : in[1];
        Value turned = e.mul(e.mul(e.add(position, number(offset)), number(scale)), frequency);
        Value turns = math::RoundEvenOp::create(e, e.mul(turned, number(0.5 / M_PI)));
        Value reduced = e.sub(turned, e.mul(turns, number(2 * M_PI)));
        return arith::TruncFOp::create(e, e.getF32Type(), reduced);
      });
  Value cosine = b->map(angle, [](ElementBuilder &e, ValueRange in) -> Value {
    return math::CosOp::create(e, in[0]);
  });
  Value sine = b->map(angle, [](ElementBuilder &e, ValueRange in) -> Value {
    return math::SinOp::create(e, in[0]);
  });

  SmallVector<int64_t> first(half), second(half), weave(dims);
  bool readHalves = op.getLayout() == RopeLayout::Half;
  bool writePairs = op.getLayout() == RopeLayout::Interleaved;
  for (int64_t m = 0; m < half; ++m) {
    first[m] = readHalves ? m : 2 * m;
    second[m] = readHalves ? m + half : 2 * m + 1;
    weave[2 * m] = m;
    weave[2 * m + 1] = half + m;
  }
  auto pick = [&](ArrayRef<int64_t> order) -> Value {
    return tile::SelectRowsOp::create(*b, b->tileType(order.size(), columns), x, order);
  };
  Value left = pick(first), right = pick(second);
  Value newLeft = b->map({left, right, cosine, sine}, [](ElementBuilder &e, ValueRange in) {
    return e.sub(e.mul(in[0], in[2]), e.mul(in[1], in[3]));
  });
  Value newRight = b->map({left, right, cosine, sine}, [](ElementBuilder &e, ValueRange in) {
    return e.add(e.mul(in[0], in[3]), e.mul(in[1], in[2]));
  });
  SmallVector<Value> parts = {newLeft, newRight};
  if (writePairs)
    parts = {tile::SelectRowsOp::create(*b, b->tileType(dims, columns), b->concat(parts), weave)};
  if (width > dims)
    parts.push_back(b->slice(x, b->index(dims), width - dims));
  return b->concat(parts);
}

/// All features of a structured vector, for ops that need them as numbers.
Value VectorProgram::expanded(Value vector) {
  FeaturePlan plan = planFeatures(vector);
  std::vector<double> factors;
  for (const Monomial &monomial : plan.monomials)
    factors.push_back(monomial.weight);
  FeatureBlocks blocks(plan, std::move(factors));
  blocks.prepare(*b, *this);
  return blocks.block(*b, *this, b->index(0), widthOf(vector));
}
