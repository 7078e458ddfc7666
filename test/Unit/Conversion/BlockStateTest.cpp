//===- BlockStateTest.cpp - states of sweeps in both directions -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are built with the same parts as those of attentions, from a frame, a sweep and a state,
// and run in the tile interpreter. What they compute is compared with sums over single positions.
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/PolyAttnToTile/BlockState.h"
#include "lib/Conversion/PolyAttnToTile/KernelFrame.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "polyattn/Reference/EvaluateTile.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace polyattn;

namespace {

constexpr int64_t B = 2, H = 2, D = 6, dv = 3, C = 8;
constexpr FeatureRange kFeatures{D, /*block=*/4}; // a block and a remainder

Array randomArray(ArrayRef<int64_t> shape, unsigned seed, double low = -1, double high = 1) {
  Array array(shape);
  std::mt19937 random(seed);
  for (double &x : array.data)
    x = std::uniform_real_distribution<double>(low, high)(random);
  return array;
}

Array poisoned(ArrayRef<int64_t> shape) {
  Array array(shape);
  llvm::fill(array.data, std::nan(""));
  return array;
}

/// One kernel over tensors [B, T, H, d] and others.
class KernelTest : public ::testing::TestWithParam<Direction> {
protected:
  KernelTest() : module(ModuleOp::create(UnknownLoc::get(&context))) {}

  static MLIRContext &load(MLIRContext &context) {
    context.loadDialect<tile::TileDialect, arith::ArithDialect, math::MathDialect,
                        memref::MemRefDialect, scf::SCFDialect>();
    return context;
  }

  bool isForwards() const { return GetParam() == Direction::Forwards; }

  /// A kernel whose programs go by the tensor `sequence`.
  void build(ArrayRef<StringRef> names, int64_t inputs, ArrayRef<Array> arrays,
             function_ref<void(TileBuilder &, KernelFrame &)> body, int64_t sequence = 0) {
    TileBuilder b(module->getLoc(), &load(context));
    b.setInsertionPointToEnd(module->getBody());
    KernelTensors tensors;
    for (auto [name, array] : llvm::zip(names, arrays)) {
      tensors.names.push_back(b.getStringAttr(name));
      SmallVector<int64_t> anySize(array.rank(), ShapedType::kDynamic);
      tensors.types.push_back(RankedTensorType::get(anySize, b.getF32Type()));
    }
    tensors.inputs = inputs;
    tensors.sameHeads = true;
    tensors.goBy(sequence);
    KernelFrame frame(b, "kernel", tensors);
    body(b, frame);
    ASSERT_TRUE(succeeded(verify(*module)));
  }

  void run(MutableArrayRef<Array> arrays) {
    auto kernel = *module->getOps<tile::KernelOp>().begin();
    ASSERT_TRUE(succeeded(evaluateTile(kernel, arrays)));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// Rows of a tensor [B, T, H, d].
Value loadRows(TileBuilder &b, const KernelFrame &frame, unsigned tensor, const BlockSpan &span,
               int64_t width, bool transposed) {
  auto type = transposed ? b.tileType(width, C) : b.tileType(C, width);
  return tile::LoadOp::create(
      b, type, frame.kernel.getTensor(tensor),
      ValueRange{frame.sequence.batch, span.position, frame.heads.ofRows(), b.index(0)}, span.valid,
      /*row_dim=*/1, /*col_dim=*/3, transposed);
}

BlockDecay loadDecay(TileBuilder &b, const KernelFrame &frame, unsigned tensor,
                     const BlockSpan &span) {
  return BlockDecay::ofGates(
      b, tile::LoadOp::create(b, b.tileType(1, C), frame.kernel.getTensor(tensor),
                              ValueRange{frame.sequence.batch, span.position, frame.heads.ofRows()},
                              span.valid,
                              /*row_dim=*/-1, /*col_dim=*/1, /*transposed=*/false));
}

BlockState makeState(Direction direction, std::vector<double> weights = {}) {
  return BlockState({kFeatures, dv, /*hasNormalizer=*/true, std::move(weights), direction},
                    std::make_shared<AllFeatures>());
}

void updateState(TileBuilder &b, BlockState &state, Value features, Value others,
                 const BlockSpan &span, const BlockDecay &decay) {
  state.forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
    state.update(b, b.slice(features, first, count), others, /*weights=*/Value(), first, span.valid,
                 decay);
    return TileBuilder::Values();
  });
}

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

class SweepTest : public KernelTest {};

/// Each block stores how many were there before it, its length and where its run begins.
TEST_P(SweepTest, VisitsEachBlockOnce) {
  constexpr int64_t T = 37, blocks = 5;
  for (int64_t run : {int64_t(0), 2 * C}) {
    module = ModuleOp::create(UnknownLoc::get(&context));
    std::vector<Array> arrays = {Array({1, T, 1, 1}), poisoned({blocks, 3})};
    auto perBlock = [&](TileBuilder &b, KernelFrame &frame, Value count, const BlockSpan &span) {
      Value old = tile::ReadOp::create(b, b.tileType(1, 1), count, b.index(0));
      Value block = b.divIndex(span.position, b.index(C));
      Value length = tile::IotaOp::create(b, b.tileType(1, 1), span.valid);
      Value start = tile::IotaOp::create(b, b.tileType(1, 1), span.start);
      for (auto [i, value] : llvm::enumerate(SmallVector<Value>{old, length, start}))
        tile::StoreOp::create(b, value, frame.result(0), ValueRange{block, b.index(i)}, Value(), -1,
                              -1);
      tile::WriteOp::create(b, b.add(old, b.constant(1, 1, 1)), count, b.index(0));
    };
    build({"x", "o"}, 1, arrays, [&](TileBuilder &b, KernelFrame &frame) {
      Value count =
          tile::BufferOp::create(b, tile::BufferType::get(&context, 1, 1), /*persistent=*/false);
      Sweep sweep{b.index(0), frame.sequence.queries, C, GetParam()};
      auto body = [&](const BlockSpan &span) { perBlock(b, frame, count, span); };
      if (run)
        sweep.forRuns(b, run, [&](const Sweep &part) { part.forBlocks(b, body); });
      else
        sweep.forBlocks(b, body);
    });
    this->run(arrays);
    for (int64_t block = 0; block < blocks; ++block) {
      EXPECT_EQ(arrays[1].at({block, 0}), isForwards() ? block : blocks - 1 - block);
      EXPECT_EQ(arrays[1].at({block, 1}), std::min(C, T - block * C));
      EXPECT_EQ(arrays[1].at({block, 2}), run ? block * C / run * run : 0);
    }
  }
}

TEST_P(SweepTest, OfNoPositionsHasNoBlock) {
  std::vector<Array> arrays = {Array({1, 0, 1, 1}), Array({1, 1})};
  arrays[1].data = {7};
  build({"x", "o"}, 1, arrays, [&](TileBuilder &b, KernelFrame &frame) {
    Sweep sweep{b.index(0), frame.sequence.queries, C, GetParam()};
    sweep.forBlocks(b, [&](const BlockSpan &) {
      tile::StoreOp::create(b, b.constant(1, 1, 0), frame.result(0),
                            ValueRange{b.index(0), b.index(0)}, Value(), -1, -1);
    });
  });
  run(arrays);
  EXPECT_EQ(arrays[1].data[0], 7);
}

//===----------------------------------------------------------------------===//
// Sums of a prefix and of a suffix
//===----------------------------------------------------------------------===//

class BlockStateTest : public KernelTest {};

/// exp of the gates of the positions [from, to).
double decayOver(const Array &gates, int64_t batch, int64_t head, int64_t from, int64_t to) {
  double sum = 0;
  for (int64_t t = from; t < to; ++t)
    sum += gates.at({batch, t, head});
  return std::exp(sum);
}

TEST_P(BlockStateTest, HoldsTheSumsOfItsSideWithTheirDecay) {
  constexpr int64_t T = 37, blocks = 5;
  std::vector<Array> arrays = {randomArray({B, T, H, D}, 1), randomArray({B, T, H, dv}, 2),
                               randomArray({B, T, H}, 3, -0.5, 0.05),
                               poisoned({blocks, B, H, D, dv}), poisoned({blocks, B, H, D})};
  build({"features", "others", "gates", "states", "normalizers"}, 3, arrays,
        [&](TileBuilder &b, KernelFrame &frame) {
          BlockState state = makeState(GetParam());
          state.makeBuffers(b);
          Sweep sweep{b.index(0), frame.sequence.queries, C, GetParam()};
          sweep.forBlocks(b, [&](const BlockSpan &span) {
            Value features = loadRows(b, frame, 0, span, D, /*transposed=*/true);
            Value others = loadRows(b, frame, 1, span, dv, /*transposed=*/false);
            updateState(b, state, features, others, span, loadDecay(b, frame, 2, span));
            Value block = b.divIndex(span.position, b.index(C));
            state.storeSegmentState(b, {frame.result(0),
                                        frame.result(1),
                                        {block, frame.sequence.batch, frame.heads.ofRows()}});
          });
        });
  run(arrays);

  for (int64_t block = 0; block < blocks; ++block) {
    // Forwards a state has what is before its end, backwards what is after its beginning.
    int64_t begin = block * C, end = std::min(begin + C, T);
    for (int64_t batch = 0; batch < B; ++batch)
      for (int64_t head = 0; head < H; ++head)
        for (int64_t f = 0; f < D; ++f) {
          std::vector<double> sums(dv + 1, 0);
          for (int64_t j = isForwards() ? 0 : begin; j < (isForwards() ? end : T); ++j) {
            double decay = isForwards() ? decayOver(arrays[2], batch, head, j + 1, end)
                                        : decayOver(arrays[2], batch, head, begin, j + 1);
            double feature = decay * arrays[0].at({batch, j, head, f});
            for (int64_t v = 0; v < dv; ++v)
              sums[v] += feature * arrays[1].at({batch, j, head, v});
            sums[dv] += feature;
          }
          for (int64_t v = 0; v < dv; ++v)
            EXPECT_NEAR(arrays[3].at({block, batch, head, f, v}), sums[v], 1e-12);
          EXPECT_NEAR(arrays[4].at({block, batch, head, f}), sums[dv], 1e-12);
        }
  }
}

/// o_i = sum of decay(i, j) <q_i, k_j> v_j over the keys of the blocks that the sweep has behind
/// it.
TEST_P(BlockStateTest, IsReadWithTheDecayOfTheReader) {
  constexpr int64_t T = 29;
  std::vector<Array> arrays = {randomArray({B, T, H, D}, 4), randomArray({B, T, H, D}, 5),
                               randomArray({B, T, H, dv}, 6), randomArray({B, T, H}, 7, -0.5, 0.05),
                               poisoned({B, T, H, dv})};
  build({"q", "k", "v", "gates", "o"}, 4, arrays, [&](TileBuilder &b, KernelFrame &frame) {
    BlockState state = makeState(GetParam());
    state.makeBuffers(b);
    Sweep sweep{b.index(0), frame.sequence.queries, C, GetParam()};
    sweep.forBlocks(b, [&](const BlockSpan &span) {
      Value queries = loadRows(b, frame, 0, span, D, /*transposed=*/true);
      BlockDecay decay = loadDecay(b, frame, 3, span);
      auto sums = state.forFeatureBlocks(
          b, b.constant(C, dv, 0), [&](Value first, int64_t count, ValueRange in) {
            Value rows = state.readRows(b, state.rowOf(b, first), count);
            Value product = b.dot(b.slice(queries, first, count), rows, in[0],
                                  /*lhsTransposed=*/true);
            return TileBuilder::Values{product};
          });
      Value output = b.mul(sums[0], expOf(b, decayOfReaders(b, decay, GetParam())));
      tile::StoreOp::create(
          b, output, frame.result(0),
          ValueRange{frame.sequence.batch, span.position, frame.heads.ofRows(), b.index(0)},
          span.valid, /*row_dim=*/1, /*col_dim=*/3);
      updateState(b, state, loadRows(b, frame, 1, span, D, /*transposed=*/true),
                  loadRows(b, frame, 2, span, dv, /*transposed=*/false), span, decay);
    });
  });
  run(arrays);

  for (int64_t batch = 0; batch < B; ++batch)
    for (int64_t head = 0; head < H; ++head)
      for (int64_t i = 0; i < T; ++i) {
        std::vector<double> sums(dv, 0);
        int64_t begin = i / C * C, from = isForwards() ? 0 : begin + C;
        for (int64_t j = from; j < (isForwards() ? begin : T); ++j) {
          double score = 0;
          for (int64_t f = 0; f < D; ++f)
            score += arrays[0].at({batch, i, head, f}) * arrays[1].at({batch, j, head, f});
          // The pair of a query and a key has the gates after the earlier one of them.
          score *= decayOver(arrays[3], batch, head, std::min(i, j) + 1, std::max(i, j) + 1);
          for (int64_t v = 0; v < dv; ++v)
            sums[v] += score * arrays[2].at({batch, j, head, v});
        }
        for (int64_t v = 0; v < dv; ++v)
          EXPECT_NEAR(arrays[4].at({batch, i, head, v}), sums[v], 1e-12);
      }
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// A state that is filled from one in a tensor, whose features have weights, and the sums of
/// segments, without them.
TEST_P(BlockStateTest, IsFilledWithTheSegmentsBehindIt) {
  constexpr int64_t segments = 3;
  std::vector<double> weights = {1, 2, 0.5, 3, 1.5, 0.25};
  for (int64_t count = 0; count <= segments; ++count) {
    module = ModuleOp::create(UnknownLoc::get(&context));
    std::vector<Array> arrays = {randomArray({B, H, D, dv}, 8),
                                 randomArray({B, H, D}, 9),
                                 randomArray({segments, B, H, D, dv}, 10),
                                 randomArray({segments, B, H, D}, 11),
                                 randomArray({segments, B, H}, 12),
                                 Array({B, 1, H, 1}),
                                 poisoned({B, H, D, dv}),
                                 poisoned({B, H, D})};
    build(
        {"s", "z", "sums", "z_sums", "decays", "x", "o", "o_z"}, 6, arrays,
        [&](TileBuilder &b, KernelFrame &frame) {
          auto tensor = [&](unsigned i) { return frame.kernel.getTensor(i); };
          BlockState state = makeState(GetParam(), weights);
          state.makeBuffers(b);
          StoredState given{tensor(0), tensor(1), {frame.sequence.batch, frame.heads.ofRows()}};
          SegmentStates sums{tensor(2), tensor(3), tensor(4), frame.sequence.batch,
                             frame.heads.ofRows()};
          SegmentsBehind behind{sums, b.index(count)};
          state.fill(b, &given, &behind);
          state.store(
              b, {frame.result(0), frame.result(1), {frame.sequence.batch, frame.heads.ofRows()}});
        },
        /*sequence=*/5);
    run(arrays);

    auto gathered = [&](double state, double weight, int64_t batch, int64_t head, auto sumOf) {
      state /= weight;
      for (int64_t i = 0; i < count; ++i) {
        int64_t segment = isForwards() ? i : segments - 1 - i;
        state = std::exp(arrays[4].at({segment, batch, head})) * state + sumOf(segment);
      }
      return state * weight;
    };
    for (int64_t batch = 0; batch < B; ++batch)
      for (int64_t head = 0; head < H; ++head)
        for (int64_t f = 0; f < D; ++f) {
          for (int64_t v = 0; v < dv; ++v)
            EXPECT_NEAR(arrays[6].at({batch, head, f, v}),
                        gathered(arrays[0].at({batch, head, f, v}), weights[f], batch, head,
                                 [&](int64_t s) { return arrays[2].at({s, batch, head, f, v}); }),
                        1e-12);
          EXPECT_NEAR(arrays[7].at({batch, head, f}),
                      gathered(arrays[1].at({batch, head, f}), weights[f], batch, head,
                               [&](int64_t s) { return arrays[3].at({s, batch, head, f}); }),
                      1e-12);
        }
  }
}

std::string nameOf(const ::testing::TestParamInfo<Direction> &info) {
  return info.param == Direction::Forwards ? "Forwards" : "Backwards";
}

const auto kDirections = ::testing::Values(Direction::Forwards, Direction::Backwards);
INSTANTIATE_TEST_SUITE_P(Both, SweepTest, kDirections, nameOf);
INSTANTIATE_TEST_SUITE_P(Both, BlockStateTest, kDirections, nameOf);

} // namespace
