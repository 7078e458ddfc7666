//===- ConvolutionKernels.cpp - tile kernels of a convolution -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvolutionKernels.h"
#include "ElementEmission.h"
#include "dialects/PolyAttn/Kernels.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace polyattn;
using tile::ExtentAttr;

/// The rows that programs copy at a time.
static constexpr int64_t kRows = 64;

ConvolutionKernels::ConvolutionKernels(const Lowering &lowering)
    : lowering(lowering), info(lowering.info), b(lowering.b),
      convolution(convolutionIn(info.kernel)),
      width(cast<FeatureType>(convolution->getOperand(0).getType()).getWidth()),
      channels(info.cut().getChannels()), columns(channels % 2 ? channels : channels / 2) {}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// A tile kernel that is being built, and what its programs know of a call.
class ConvolutionKernels::Program {
public:
  Program(const ConvolutionKernels &kernels, StringRef name, ArrayRef<HiddenArgument> workspaces,
          ArrayAttr axes);

  Value input(Value argument) const {
    return kernel.getTensor(cast<BlockArgument>(argument).getArgNumber());
  }
  Value result(unsigned number) const {
    return kernel.getTensor(kernels.info.tensors.inputs + number);
  }
  Value workspace(unsigned number) const {
    return kernel.getTensor(kernels.info.tensors.types.size() + number);
  }
  Value size(int64_t dimension) {
    return memref::DimOp::create(b, kernel.getTensor(kernels.info.tensors.queryTensor), dimension);
  }
  Value id(int64_t axis) { return tile::ProgramIdOp::create(b, b.getI64IntegerAttr(axis)); }

  /// Some rows of a tensor [..., positions, ...].
  struct Rows {
    Value tensor;
    SmallVector<Value> indices; // those of its first row and column
    int64_t rowDimension, columnDimension;

    SmallVector<Value> at(Value row) const {
      SmallVector<Value> all(indices);
      all[rowDimension] = row;
      return all;
    }
  };
  Rows sequence(Value tensor, Value batch, Value head, Value channel) {
    return {tensor, {batch, zero, head, channel}, /*rowDimension=*/1, /*columnDimension=*/3};
  }
  /// Numbers of lags, of a head or of all heads, of each channel or of all channels.
  Rows lags(Value tensor, bool perHead, Value head, bool shared, Value channel);
  Rows transform(Value tensor, ArrayRef<Value> leading) {
    SmallVector<Value> indices(leading);
    indices.append({zero, zero});
    int64_t rank = indices.size();
    return {tensor, indices, rank - 2, rank - 1};
  }

  /// Emits `body` for blocks of rows up to `end`, with the first row.
  void forRows(Value end, TileBuilder::LoopBody body) { b.loop(zero, end, b.index(kRows), body); }
  /// The same for blocks from `begin` on.
  void forRowsBehind(Value begin, Value end, TileBuilder::LoopBody body) {
    b.loop(begin, end, b.index(kRows), body);
  }
  /// How many rows of the block at `row`, which has one before `end`, are before it.
  Value countBefore(Value end, Value row) {
    return b.minIndex(b.subIndex(end, row), b.index(kRows));
  }
  /// A block of rows, those from `end` on as zeros. One column stands for all channels.
  Value load(const Rows &rows, Value row, Value end);
  /// Writes the rows of a block before `end`.
  void store(Value tile, const Rows &rows, Value row, Value end);
  /// A block of the channels in a transform, from row `first` + `row` on.
  Value loadFrom(const Rows &transform, Value first, Value row, Value end);

  /// Rows of vectors whose channels are computed each by itself: of sequences, of what kernels
  /// before this one have left, of what `known` has, and of element-wise ops of these.
  using Tiles = llvm::DenseMap<Value, Value>;
  struct Channels {
    Value batch, head, first; // the first channel
  };
  Value load(Value vector, const Channels &channels, Value row, Tiles &known);

  /// The transform of the rows before `end`, which `rows` gives in blocks.
  void transformRows(llvm::function_ref<Value(Value)> rows, Value end, const Rows &into,
                     Value roots);
  void fourier(const Rows &rows, Value roots, bool inverse, bool half) {
    tile::FourierOp::create(b, rows.tensor, ArrayRef(rows.indices).drop_back(2), n, roots, inverse,
                            half);
  }
  void clear(const Rows &transform);
  /// `into` <- the transform of a convolution, or of the correlation where `conjugate`.
  void multiply(const Rows &x, const Rows &z, const Rows &into, bool conjugate, bool accumulate) {
    auto leading = [](const Rows &rows) { return ArrayRef(rows.indices).drop_back(2); };
    tile::MultiplySpectraOp::create(b, x.tensor, leading(x), z.tensor, leading(z), into.tensor,
                                    leading(into), n, conjugate, accumulate);
  }

  Value zero, positions, half, n; // the rows of a transform, and half of them
  unsigned firstPassed = 0;       // the workspace of the first rows that pass between kernels

private:
  Value tensorOf(Value vector) const;

  const ConvolutionKernels &kernels;
  TileBuilder &b;
  mutable tile::KernelOp kernel; // its accessors are not const
};

ConvolutionKernels::Program::Program(const ConvolutionKernels &kernels, StringRef name,
                                     ArrayRef<HiddenArgument> workspaces, ArrayAttr axes)
    : kernels(kernels), b(kernels.b) {
  b.setInsertionPoint(kernels.info.attention);
  kernel = createKernel(b, name, kernels.info.tensors, workspaces, axes);
  zero = b.index(0);
  positions = size(1);
  n = tile::PowerOfTwoOp::create(b, b.mulIndex(positions, b.index(2)));
  half = b.divIndex(n, b.index(2));
}

ConvolutionKernels::Program::Rows ConvolutionKernels::Program::lags(Value tensor, bool perHead,
                                                                    Value head, bool shared,
                                                                    Value channel) {
  Rows rows{tensor, {}, perHead ? 1 : 0, shared ? -1 : perHead ? 2 : 1};
  if (perHead)
    rows.indices.push_back(head);
  rows.indices.push_back(zero);
  if (!shared)
    rows.indices.push_back(channel);
  return rows;
}

Value ConvolutionKernels::Program::load(const Rows &rows, Value row, Value end) {
  int64_t channels = rows.columnDimension < 0 ? 1 : kernels.channels;
  Value tile = tile::LoadOp::create(b, b.tileType(kRows, channels), rows.tensor, rows.at(row),
                                    countBefore(end, row), rows.rowDimension, rows.columnDimension,
                                    /*transposed=*/false);
  if (channels == kernels.channels)
    return tile;
  return b.add(b.constant(kRows, kernels.channels, 0), tile);
}

void ConvolutionKernels::Program::store(Value tile, const Rows &rows, Value row, Value end) {
  tile::StoreOp::create(b, tile, rows.tensor, rows.at(row), countBefore(end, row),
                        rows.rowDimension, rows.columnDimension);
}

Value ConvolutionKernels::Program::loadFrom(const Rows &transform, Value first, Value row,
                                            Value end) {
  return tile::LoadOp::create(b, b.tileType(kRows, kernels.channels), transform.tensor,
                              transform.at(b.addIndex(first, row)), countBefore(end, row),
                              transform.rowDimension, transform.columnDimension,
                              /*transposed=*/false);
}

Value ConvolutionKernels::Program::load(Value vector, const Channels &channels, Value row,
                                        Tiles &known) {
  if (Value tile = known.lookup(vector))
    return tile;
  Value tile;
  if (auto op = vector.getDefiningOp<ElementwiseOpInterface>()) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(load(operand, channels, row, known));
    tile =
        b.map(operands, [&](ElementBuilder &e, ValueRange in) { return emitElement(e, op, in); });
  } else {
    tile = load(sequence(tensorOf(vector), channels.batch, channels.head, channels.first), row,
                positions);
  }
  return known[vector] = tile;
}

Value ConvolutionKernels::Program::tensorOf(Value vector) const {
  for (auto [i, imported] : llvm::enumerate(kernels.info.imported))
    if (imported.result == vector)
      return workspace(firstPassed + kernels.info.exported.size() + i);
  return input(vector.getDefiningOp<ReadOp>().getTensor());
}

void ConvolutionKernels::Program::transformRows(function_ref<Value(Value)> rows, Value end,
                                                const Rows &into, Value roots) {
  auto put = [&](Value tile, Value row, Value before) {
    store(tile, into, row, before);
    if (kernels.columns < kernels.channels)
      return;
    Rows imaginary = into;
    imaginary.indices.back() = b.index(kernels.columns);
    store(b.constant(kRows, kernels.columns, 0), imaginary, row, before);
  };
  forRows(end, [&](Value row) { put(rows(row), row, end); });
  forRowsBehind(end, half,
                [&](Value row) { put(b.constant(kRows, kernels.channels, 0), row, half); });
  fourier(into, roots, /*inverse=*/false, /*half=*/true);
}

void ConvolutionKernels::Program::clear(const Rows &transform) {
  forRows(n,
          [&](Value row) { store(b.constant(kRows, 2 * kernels.columns, 0), transform, row, n); });
}

//===----------------------------------------------------------------------===//
// Workspaces
//===----------------------------------------------------------------------===//

HiddenArgument ConvolutionKernels::roots() const {
  return {"roots", RankedTensorType::get({ShapedType::kDynamic, 2}, b.getF32Type())};
}

HiddenArgument ConvolutionKernels::transforms(KernelOp of, StringRef suffix,
                                              int64_t leading) const {
  SmallVector<int64_t> shape(leading + 1, ShapedType::kDynamic);
  shape.push_back(2 * columns);
  size_t entry = info.attention.getSymName().size() + StringRef("__").size();
  return {(of.getKernelName().drop_front(entry) + suffix).str(),
          RankedTensorType::get(shape, b.getF32Type())};
}

SmallVector<HiddenArgument> ConvolutionKernels::withPassed(SmallVector<HiddenArgument> own) const {
  for (const auto &passed : {info.exported, info.imported})
    for (const StoredResult &rows : passed)
      own.push_back(rows.workspaceOfRows(b));
  return own;
}

SmallVector<HiddenArgument> ConvolutionKernels::tensorsOf(ConvolveOp op) const {
  return {roots(), transforms(ownerOfFilter(op), "_filter", 2),
          transforms(info.kernel, "_rows", 3)};
}

SmallVector<HiddenArgument> ConvolutionKernels::tensorsOf(FilterGradientOp op) const {
  return {roots(), transforms(info.kernel, "_inputs", 2), transforms(info.kernel, "_gradients", 2),
          transforms(info.kernel, "_sum", 2)};
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

ExtentAttr ConvolutionKernels::dimension(int64_t number, int64_t plus, int64_t times) const {
  return ExtentAttr::get(b.getContext(), tile::ExtentBase::Dimension, info.tensors.queryTensor,
                         number, plus, /*divisor=*/1, times);
}
ExtentAttr ConvolutionKernels::number(int64_t number) const {
  return ExtentAttr::number(b.getContext(), number);
}
ArrayAttr ConvolutionKernels::grid(ArrayRef<ExtentAttr> axes) const {
  return b.getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end()));
}

SmallVector<ExtentAttr> ConvolutionKernels::filterAxes(ConvolveOp op) const {
  return {number(width / channels), op.hasFilterPerHead() ? dimension(2) : number(1)};
}
SmallVector<ExtentAttr> ConvolutionKernels::rowAxes() const {
  return {number(width / channels), dimension(0), dimension(2)};
}
/// One program adds up what shares a filter.
SmallVector<ExtentAttr> ConvolutionKernels::gradientAxes(FilterGradientOp op) const {
  int64_t rank =
      cast<RankedTensorType>(info.tensors.types[info.tensors.inputs + info.outputs[0].number])
          .getRank();
  bool perHead = rank > int64_t(op.getType().getShape().size());
  return {number(op.getSharedChannels() ? 1 : width / channels),
          perHead ? dimension(2) : number(1)};
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The first kernel of the entry whose programs have the same filters, which transforms them for
/// all.
KernelOp ConvolutionKernels::ownerOfFilter(ConvolveOp op) const {
  for (auto kernel : info.attention.getBody().getOps<KernelOp>()) {
    auto other = dyn_cast_or_null<ConvolveOp>(convolutionIn(kernel));
    CutAttr cut = kernel.getCutAttr();
    if (other && other.getFilter() == op.getFilter() && other.getType() == op.getType() && cut &&
        cut.getChannels() == channels)
      return kernel;
  }
  return info.kernel;
}

/// The roots of unity are those of the call's length: all convolutions of an entry share them.
bool ConvolutionKernels::isFirst() const {
  for (auto kernel : info.attention.getBody().getOps<KernelOp>())
    if (convolutionIn(kernel))
      return kernel == info.kernel;
  return false;
}

void ConvolutionKernels::buildRoots() {
  Program program(*this, (info.attention.getSymName() + "__roots").str(), roots(), grid(number(1)));
  tile::FourierRootsOp::create(b, program.workspace(0), program.n);
}

void ConvolutionKernels::buildFilter(ConvolveOp op) {
  SmallVector<HiddenArgument> tensors = tensorsOf(op);
  Program program(*this, lowering.named("__filter"), ArrayRef(tensors).take_front(2),
                  grid(filterAxes(op)));
  Value block = program.id(0), head = program.id(1);
  Program::Rows filter =
      program.lags(program.input(op.getFilterArgument()), op.hasFilterPerHead(), head,
                   op.hasSharedChannels(), b.mulIndex(block, b.index(channels)));
  Value end = b.minIndex(program.positions, b.index(op.getLags()));
  program.transformRows([&](Value row) { return program.load(filter, row, end); }, end,
                        program.transform(program.workspace(1), {head, block}),
                        program.workspace(0));
}

void ConvolutionKernels::buildRows(ConvolveOp op) {
  Program program(*this, info.name(), withPassed(tensorsOf(op)), grid(rowAxes()));
  program.firstPassed = tensorsOf(op).size();
  Value roots = program.workspace(0), block = program.id(0), batch = program.id(1),
        head = program.id(2), channel = b.mulIndex(block, b.index(channels));
  SmallVector<std::pair<Value, Value>> results; // vectors, and the tensors that take their rows
  for (const Output &output : info.outputs)
    results.push_back({output.value, program.result(output.number)});
  for (auto [i, exported] : llvm::enumerate(info.exported))
    results.push_back({exported.value(), program.workspace(program.firstPassed + i)});
  Program::Channels own{batch, head, channel};
  auto inputs = [&](Value row) {
    Program::Tiles known;
    return program.load(op.getInput(), own, row, known);
  };
  Value headOfFilter = op.hasFilterPerHead() ? head : program.zero;
  Program::Rows filter = program.transform(program.workspace(1), {headOfFilter, block});
  Program::Rows rows = program.transform(program.workspace(2), {batch, head, block});
  program.transformRows(inputs, program.positions, rows, roots);
  program.multiply(rows, filter, rows, /*conjugate=*/op.getReversed(), /*accumulate=*/false);
  program.fourier(rows, roots, /*inverse=*/true, /*half=*/!op.getCircular());
  // What a circular convolution has behind its last row, or before its first one.
  Value wrapped = op.getReversed() ? b.subIndex(program.n, program.positions) : program.positions;
  program.forRows(program.positions, [&](Value row) {
    Value y = program.loadFrom(rows, program.zero, row, program.positions);
    if (op.getCircular())
      y = b.add(y, program.loadFrom(rows, wrapped, row, program.positions));
    Program::Tiles known = {{op.getResult(), y}};
    for (auto [vector, tensor] : results)
      program.store(program.load(vector, own, row, known),
                    program.sequence(tensor, batch, head, channel), row, program.positions);
  });
}

/// The sum over batches is one of transforms, so that there is one inverse.
void ConvolutionKernels::buildGradient(FilterGradientOp op) {
  SmallVector<ExtentAttr> axes = gradientAxes(op);
  Program program(*this, info.name(), withPassed(tensorsOf(op)), grid(axes));
  program.firstPassed = tensorsOf(op).size();
  Value roots = program.workspace(0), firstBlock = program.id(0), firstHead = program.id(1),
        one = b.index(1);
  SmallVector<Value> leading = {firstHead, firstBlock};
  Program::Rows inputs = program.transform(program.workspace(1), leading),
                gradients = program.transform(program.workspace(2), leading),
                sum = program.transform(program.workspace(3), leading);
  bool sharesHeads = axes[1].isNumber(), sharesChannels = op.getSharedChannels();
  Value head = firstHead, block = firstBlock;
  auto addBatch = [&](Value batch) {
    Program::Channels own{batch, head, b.mulIndex(block, b.index(channels))};
    auto transform = [&](Value vector, const Program::Rows &into) {
      auto rows = [&](Value row) {
        Program::Tiles known;
        return program.load(vector, own, row, known);
      };
      program.transformRows(rows, program.positions, into, roots);
    };
    for (auto [x, dy] : llvm::zip(op.getInputs(), op.getGradients())) {
      transform(x, inputs);
      transform(dy, gradients);
      // sum_j x_j dy_(n + j), or the other way round.
      program.multiply(op.getReversed() ? inputs : gradients, op.getReversed() ? gradients : inputs,
                       sum, /*conjugate=*/true,
                       /*accumulate=*/true);
    }
  };
  auto addBatches = [&] { b.loop(program.zero, program.size(0), one, addBatch); };
  auto addBlocks = [&] {
    if (!sharesChannels)
      return addBatches();
    b.loop(program.zero, b.index(width / channels), one, [&](Value each) {
      block = each;
      addBatches();
    });
  };
  program.clear(sum);
  if (sharesHeads)
    b.loop(program.zero, program.size(2), one, [&](Value each) {
      head = each;
      addBlocks();
    });
  else
    addBlocks();
  program.fourier(sum, roots, /*inverse=*/true, /*half=*/!op.getCircular());

  Value lags = b.index(op.getLags()), known = b.minIndex(lags, program.positions);
  Value wrapped = b.subIndex(program.n, program.positions);
  auto placed = [&](Value tensor) {
    return program.lags(tensor, !sharesHeads, firstHead, sharesChannels,
                        b.mulIndex(firstBlock, b.index(channels)));
  };
  auto put = [&](Value dh, Value row, Value before) {
    if (op.getPlus()) {
      Program::Rows plus = placed(program.input(op.getPlus()));
      dh = b.add(dh, tile::LoadOp::create(b, TileBuilder::typeOf(dh), plus.tensor, plus.at(row),
                                          program.countBefore(before, row), plus.rowDimension,
                                          plus.columnDimension, /*transposed=*/false));
    }
    for (const Output &output : info.outputs)
      program.store(dh, placed(program.result(output.number)), row, before);
  };
  program.forRows(known, [&](Value row) {
    Value dh = program.loadFrom(sum, program.zero, row, known);
    if (op.getCircular())
      dh = b.add(dh, program.loadFrom(sum, wrapped, row, known));
    put(sharesChannels ? b.reduceColumns(dh) : dh, row, known);
  });
  program.forRowsBehind(known, lags, [&](Value row) {
    put(b.constant(kRows, sharesChannels ? 1 : channels, 0), row, lags);
  });
}

void ConvolutionKernels::build() {
  if (isFirst())
    buildRoots();
  if (auto gradient = dyn_cast<FilterGradientOp>(convolution))
    return buildGradient(gradient);
  auto op = cast<ConvolveOp>(convolution);
  if (ownerOfFilter(op) == info.kernel)
    buildFilter(op);
  buildRows(op);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void ConvolutionKernels::writePassed(EntryBuilder &e) const {
  for (const StoredResult &exported : info.exported)
    e.workspace(exported.workspaceOfRows(b), {dimension(0), dimension(1), dimension(2)});
  for (const StoredResult &imported : info.imported)
    e.useAlso(imported.name);
}

void ConvolutionKernels::write(EntryBuilder &e) {
  EntryBuilder::Uses before = e.use({});
  if (isFirst()) {
    e.workspace(roots(), transformRows());
    e.stage(info.attention.getSymName() + "__roots", grid(number(1)), tile::StageRole::Filters);
  } else {
    e.useAlso(roots().name);
  }
  if (auto gradient = dyn_cast<FilterGradientOp>(convolution)) {
    SmallVector<ExtentAttr> axes = gradientAxes(gradient);
    SmallVector<HiddenArgument> tensors = tensorsOf(gradient);
    for (const HiddenArgument &tensor : ArrayRef(tensors).drop_front())
      e.workspace(tensor, {axes[1], axes[0], transformRows()}, tile::WorkspaceFill::Program);
    writePassed(e);
    e.stage(info.name(), grid(axes));
  } else {
    auto op = cast<ConvolveOp>(convolution);
    SmallVector<HiddenArgument> tensors = tensorsOf(op);
    SmallVector<ExtentAttr> axes = filterAxes(op);
    if (ownerOfFilter(op) == info.kernel) {
      e.workspace(tensors[1], {axes[1], axes[0], transformRows()});
      e.stage(lowering.named("__filter"), grid(axes), tile::StageRole::Filters);
    } else {
      e.useAlso(tensors[1].name);
    }
    e.workspace(tensors[2], {dimension(0), dimension(2), number(width / channels), transformRows()},
                tile::WorkspaceFill::Program);
    writePassed(e);
    e.stage(info.name(), grid(rowAxes()));
  }
  e.use(before);
}
