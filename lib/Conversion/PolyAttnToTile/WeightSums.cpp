//===- WeightSums.cpp - gradients of weights, summed up -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WeightSums.h"
#include "dialects/PolyAttn/FeatureParts.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;

/// The shape of a sum: a matrix as it is kept, a vector as a column.
static std::pair<int64_t, int64_t> shapeOf(const WeightSum &sum) {
  ArrayRef<int64_t> shape = sum.gradient.getType().getShape();
  if (shape.size() == 1)
    return {shape[0], 1};
  return sum.transposed ? std::pair(shape[1], shape[0]) : std::pair(shape[0], shape[1]);
}

/// The shape of what all programs have that share the columns of the weight.
static std::pair<int64_t, int64_t> shapeOfAll(const WeightSum &sum, AttentionOp attention) {
  auto [rows, columns] = shapeOf(sum);
  (sum.transposed ? rows : columns) *= featurePartsOf(attention);
  return {rows, columns};
}

static bool isVector(WeightType weight) { return weight.getShape().size() == 1; }
static bool isVector(WeightGradientOp op) { return isVector(op.getType()); }

//===----------------------------------------------------------------------===//
// In a program
//===----------------------------------------------------------------------===//

/// The attend whose rows are scores by lag; null for other vectors.
static AttendOp attendByLag(Value gradient) {
  auto attend = gradient.getDefiningOp<AttendOp>();
  return attend && attend.getLagSlope() ? attend : AttendOp();
}

static LagRows rowsOfLags(AttendOp attend) {
  return LagRows::of(attend, attend.getLagSlope().getLags());
}

WeightSums::WeightSums(TileBuilder &b, ArrayRef<WeightSum> sums, unsigned first)
    : sums(sums), first(first) {
  for (const WeightSum &sum : sums) {
    auto [rows, columns] = shapeOf(sum);
    auto type = tile::BufferType::get(b.getContext(), rows, columns);
    buffers.push_back(tile::BufferOp::create(b, type, /*persistent=*/false));
    for (Value dy : WeightGradientOp(sum.gradient).getGradients())
      if (AttendOp attend = attendByLag(dy))
        lagSums[attend] = createLagSums(b, rowsOfLags(attend));
  }
}

void WeightSums::add(TileBuilder &b, VectorProgram &vectors, Value valid) const {
  Value zero = b.index(0);
  for (auto [sum, buffer] : llvm::zip(sums, buffers))
    for (auto [term, dy] : llvm::enumerate(sum.gradient.getGradients())) {
      WeightGradientOp op = sum.gradient;
      if (attendByLag(dy))
        continue; // pairs have added to it
      if (isVector(op)) {
        Value column = vectors.full(dy);
        Value old =
            tile::ReadOp::create(b, b.tileType(b.typeOf(column).getRows(), 1), buffer, zero);
        tile::WriteOp::create(b, b.add(old, b.reduceColumns(column, valid)), buffer, zero);
        continue;
      }
      Value x = op.getInputs()[term];
      Value lhs = vectors.full(sum.transposed ? dy : x);
      Value rhs = vectors.rowMajor(sum.transposed ? x : dy);
      b.accumulate(lhs, rhs, buffer, zero, valid, /*factor=*/Value());
    }
}

void WeightSums::store(TileBuilder &b, KernelFrame &frame) const {
  Value zero = b.index(0);
  for (auto [i, sum, buffer] : llvm::enumerate(sums, buffers)) {
    auto [rows, columns] = shapeOf(sum);
    // Where rows are of keys, those of several programs are of one head.
    SmallVector<Value> at = {frame.part, frame.heads.counted(), zero};
    if (!isVector(sum.gradient))
      at.push_back(zero);
    if (frame.clusterRank) // which has columns of its own
      at[sum.transposed ? 2 : 3] =
          b.mulIndex(frame.clusterRank, b.index(sum.transposed ? rows : columns));
    Value tile = tile::ReadOp::create(b, b.tileType(rows, columns), buffer, zero);
    for (Value dy : WeightGradientOp(sum.gradient).getGradients())
      if (AttendOp attend = attendByLag(dy))
        tile = b.add(tile, foldLagSums(b, frame.weights, frame.heads.counted(), lagSumsOf(attend),
                                       rowsOfLags(attend)));
    tile::StoreOp::create(b, tile, frame.workspace(first + i), at, Value(), /*row_dim=*/2,
                          /*col_dim=*/isVector(sum.gradient) ? -1 : 3);
  }
}

SmallVector<HiddenArgument> WeightSums::tensorsOf(TileBuilder &b, const KernelInfo &info,
                                                  Stage stage) {
  bool ofHeads = stage == Stage::Heads;
  size_t next = info.firstSum + (ofHeads ? 0 : info.countSums());
  SmallVector<HiddenArgument> tensors;
  auto add = [&](ArrayRef<WeightSum> sums) {
    for (const WeightSum &sum : sums) {
      auto [rows, columns] = shapeOfAll(sum, info.attention);
      SmallVector<int64_t> shape = {ShapedType::kDynamic, ShapedType::kDynamic, rows};
      if (!isVector(sum.gradient))
        shape.push_back(columns);
      tensors.push_back(
          {"weight_sums" + std::to_string(next++), RankedTensorType::get(shape, b.getF32Type())});
    }
  };
  add(info.sums);
  if (ofHeads && info.beside)
    add(info.beside->sums);
  return tensors;
}

int64_t WeightSums::bytesOf(ArrayRef<WeightSum> sums) {
  int64_t bytes = 0;
  for (const WeightSum &sum : sums)
    bytes += 4 * shapeOf(sum).first * shapeOf(sum).second;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Over programs
//===----------------------------------------------------------------------===//

int64_t WeightReduction::Gradient::rows() const { return op.getType().getShape()[0]; }

int64_t WeightReduction::Gradient::columns() const {
  if (isVector(op.getType()))
    return 1;
  return op.getType().getShape()[1] * featurePartsOf(op->getParentOfType<AttentionOp>());
}

/// A power of two that divides the rows, so that no strip has some that are not there. Wide rows
/// are few, so that more programs add them up.
int64_t WeightReduction::Gradient::strip() const {
  constexpr int64_t numbers = 4096, fewest = 4, most = 16;
  if (isVector(op.getType()))
    return std::gcd(rows(), int64_t(64));
  return std::gcd(
      rows(), int64_t(llvm::bit_floor(uint64_t(std::clamp(numbers / columns(), fewest, most)))));
}

/// The number of parts whose loads are issued together: a GPU then waits once for all of them.
/// Fewer where rows are wide, which take more memory.
static int64_t partsAtOnce(int64_t rows, int64_t columns) {
  constexpr int64_t most = 8, numbers = 8192;
  return std::clamp<int64_t>(numbers / (rows * columns), 1, most);
}

WeightReduction::WeightReduction(ArrayRef<KernelInfo> kernels) : tensors(kernels[0].tensors) {
  for (auto [i, value] : llvm::enumerate(returnedBy(kernels[0].attention)))
    if (auto op = value.getDefiningOp<SumWeightsOp>()) {
      auto type = cast<RankedTensorType>(tensors.types[tensors.inputs + i]);
      bool perHead = type.getRank() > int64_t(op.getType().getShape().size());
      gradients.push_back({op, unsigned(i), perHead, {}, {}});
    }
  unsigned workspace = 0;
  auto addKernel = [&](const KernelInfo &kernel) {
    for (const WeightSum &sum : kernel.sums) {
      for (Gradient &gradient : gradients)
        if (llvm::is_contained(gradient.op.getTerms(), sum.result)) {
          gradient.workspaces.push_back(workspace);
          gradient.transposed.push_back(sum.transposed);
        }
      ++workspace;
    }
  };
  for (const KernelInfo &kernel : kernels)
    for (Stage stage : kernel.stages()) {
      addKernel(kernel);
      if (stage == Stage::Heads && kernel.beside)
        addKernel(*kernel.beside);
    }
}

bool WeightReduction::headsMayDiffer() const {
  return !tensors.sameHeads &&
         llvm::count_if(gradients, [](const Gradient &gradient) { return gradient.perHead; }) > 1;
}

ArrayAttr WeightReduction::grid(Builder &b) const {
  int64_t strips = 1;
  std::optional<int64_t> perHead;
  for (const Gradient &gradient : gradients) {
    strips = std::max(strips, gradient.rows() / gradient.strip());
    if (gradient.perHead)
      perHead = tensors.inputs + gradient.result;
  }
  SmallVector<Attribute> axes = {tile::ExtentAttr::number(b.getContext(), strips)};
  if (headsMayDiffer()) // queries have the most
    axes.push_back(tile::ExtentAttr::dimensionOf(
        b.getContext(), tensors.rowsOfKeys ? tensors.keyHeads : tensors.queryHeads, 2));
  else if (perHead)
    axes.push_back(tile::ExtentAttr::dimensionOf(b.getContext(), *perHead, 0));
  return b.getArrayAttr(axes);
}

/// Adds what all programs have stored for a strip of one weight's rows, in this order: groups of
/// parts, heads, and the parts of a group.
void WeightReduction::reduce(TileBuilder &b, tile::KernelOp kernel, const Gradient &gradient,
                             Value strip, Value head) const {
  bool vector = isVector(gradient.op.getType());
  int64_t count = gradient.strip(), columns = gradient.columns();
  int64_t together = partsAtOnce(count, columns);
  Value zero = b.index(0), one = b.index(1), row = b.mulIndex(strip, b.index(count));
  // A part behind the last one is zeros.
  auto load = [&](Value tensor, Value part, Value parts, Value of, bool transposed) -> Value {
    Value valid;
    if (together > 1) {
      Value exists = b.compare(arith::CmpIPredicate::ult, part, parts);
      valid = b.select(exists, b.index(transposed ? columns : count), zero);
      part = b.select(exists, part, zero);
    }
    SmallVector<Value> at = {part, of, row};
    if (!vector)
      at = transposed ? SmallVector<Value>{part, of, zero, row}
                      : SmallVector<Value>{part, of, row, zero};
    return tile::LoadOp::create(b, b.tileType(count, columns), tensor, at, valid, /*row_dim=*/2,
                                /*col_dim=*/vector ? -1 : 3, transposed);
  };
  SmallVector<Value> sum = {b.constant(count, columns, 0)};
  for (auto [number, transposed] : llvm::zip(gradient.workspaces, gradient.transposed)) {
    Value tensor = kernel.getTensor(tensors.types.size() + number);
    Value parts = memref::DimOp::create(b, tensor, zero);
    sum = b.loop(zero, parts, b.index(together), sum,
                 [&, transposed = transposed](Value part, ValueRange in) {
                   auto add = [&](Value of, ValueRange in) {
                     SmallVector<Value> loaded;
                     for (int64_t i = 0; i < together; ++i)
                       loaded.push_back(
                           load(tensor, b.addIndex(part, b.index(i)), parts, of, transposed));
                     Value sum = in[0];
                     for (Value more : loaded)
                       sum = b.add(sum, more);
                     return TileBuilder::Values{sum};
                   };
                   if (gradient.perHead)
                     return add(head, in);
                   Value heads = memref::DimOp::create(b, tensor, one);
                   return b.loop(zero, heads, one, in, add);
                 });
  }
  SmallVector<Value> at;
  if (gradient.perHead)
    at.push_back(head);
  at.push_back(row);
  if (!vector)
    at.push_back(zero);
  int64_t rowDim = gradient.perHead, colDim = vector ? -1 : rowDim + 1;
  if (auto held = cast_if_present<BlockArgument>(gradient.op.getPlus()))
    sum[0] = b.add(sum[0], tile::LoadOp::create(b, b.tileType(count, columns),
                                                kernel.getTensor(held.getArgNumber()), at, Value(),
                                                rowDim, colDim, /*transposed=*/false));
  tile::StoreOp::create(b, sum[0], kernel.getTensor(tensors.inputs + gradient.result), at, Value(),
                        rowDim, colDim);
}

void WeightReduction::build(TileBuilder &b, StringRef name,
                            ArrayRef<HiddenArgument> workspaces) const {
  ArrayAttr axes = grid(b);
  tile::KernelOp kernel = createKernel(b, name, tensors, workspaces, axes);
  Value strip = tile::ProgramIdOp::create(b, 0), head;
  if (axes.size() > 1)
    head = tile::ProgramIdOp::create(b, 1);
  int64_t strips = cast<tile::ExtentAttr>(axes[0]).valueOf(0);
  for (const Gradient &gradient : gradients) {
    int64_t own = gradient.rows() / gradient.strip();
    Value isMine;
    auto require = [&](Value condition) {
      isMine = isMine ? arith::AndIOp::create(b, isMine, condition) : condition;
    };
    if (own < strips)
      require(b.compare(arith::CmpIPredicate::ult, strip, b.index(own)));
    if (head && !gradient.perHead)
      require(b.isEqual(head, b.index(0)));
    if (gradient.perHead && headsMayDiffer()) {
      Value result = kernel.getTensor(tensors.inputs + gradient.result);
      Value heads = memref::DimOp::create(b, result, b.index(0));
      require(b.compare(arith::CmpIPredicate::ult, head, heads));
    }
    auto body = [&] { reduce(b, kernel, gradient, strip, head); };
    isMine ? b.branch(isMine, body) : body();
  }
}
