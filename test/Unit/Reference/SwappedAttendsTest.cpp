//===- SwappedAttendsTest.cpp - gradients are attends with swapped roles --===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the oracle's gradients say of a causal attend, two anticausal attends and a causal one give
// by their definition: so the decay of an anticausal pair, the state that it begins with and the
// one that it leaves are those of gradients.
//
//===----------------------------------------------------------------------===//

#include "GradientChecks.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace polyattn;

namespace {

constexpr const char *kSpecs = R"mlir(
  polyattn.attention @forward(
      %q: tensor<?x?x?x3xf32>, %k: tensor<?x?x?x3xf32>, %v: tensor<?x?x?x2xf32>,
      %g: tensor<?x?x?xf32>, %s: tensor<?x?x3x2xf32>)
      -> (o: tensor<?x?x?x2xf32>, final: tensor<?x?x3x2xf32>) {
    %a = read %q : tensor<?x?x?x3xf32> -> [3]
    %b = read %k : tensor<?x?x?x3xf32> -> [3]
    %c = read %v : tensor<?x?x?x2xf32> -> [2]
    %o:2 = attend query %a key %b value %c decay %g initial %s causal normalize <none>
        {final_state, score_scale = 0.7, grouping = #polyattn.grouping<block>}
      : [3], [3], [2], tensor<?x?x?xf32>, tensor<?x?x3x2xf32>
    return %o#0, %o#1 : [2], tensor<?x?x3x2xf32>
  }
  polyattn.attention @of_q(
      %d_o: tensor<?x?x?x2xf32>, %v: tensor<?x?x?x2xf32>, %k: tensor<?x?x?x3xf32>,
      %g: tensor<?x?x?xf32>, %s: tensor<?x?x2x3xf32>) -> (d_q: tensor<?x?x?x3xf32>) {
    %a = read %d_o : tensor<?x?x?x2xf32> -> [2]
    %b = read %v : tensor<?x?x?x2xf32> -> [2]
    %c = read %k : tensor<?x?x?x3xf32> -> [3]
    %o = attend query %a key %b value %c decay %g initial %s causal normalize <none>
        {score_scale = 0.7, grouping = #polyattn.grouping<block>}
      : [2], [2], [3], tensor<?x?x?xf32>, tensor<?x?x2x3xf32>
    return %o : [3]
  }
  polyattn.attention @of_v(
      %k: tensor<?x?x?x3xf32>, %q: tensor<?x?x?x3xf32>, %d_o: tensor<?x?x?x2xf32>,
      %g: tensor<?x?x?xf32>, %d_final: tensor<?x?x3x2xf32>)
      -> (d_v: tensor<?x?x?x2xf32>, d_s: tensor<?x?x3x2xf32>) {
    %a = read %k : tensor<?x?x?x3xf32> -> [3]
    %scaled = read %q : tensor<?x?x?x3xf32> -> [3]
    %b = scale %scaled {factor = 0.7} : [3]
    %c = read %d_o : tensor<?x?x?x2xf32> -> [2]
    %o:2 = attend query %a key %b value %c decay %g initial %d_final anticausal normalize <none>
        {final_state, grouping = #polyattn.grouping<block>}
      : [3], [3], [2], tensor<?x?x?xf32>, tensor<?x?x3x2xf32>
    return %o#0, %o#1 : [2], tensor<?x?x3x2xf32>
  }
  polyattn.attention @of_k(
      %v: tensor<?x?x?x2xf32>, %d_o: tensor<?x?x?x2xf32>, %q: tensor<?x?x?x3xf32>,
      %g: tensor<?x?x?xf32>, %d_final: tensor<?x?x2x3xf32>) -> (d_k: tensor<?x?x?x3xf32>) {
    %a = read %v : tensor<?x?x?x2xf32> -> [2]
    %b = read %d_o : tensor<?x?x?x2xf32> -> [2]
    %scaled = read %q : tensor<?x?x?x3xf32> -> [3]
    %c = scale %scaled {factor = 0.7} : [3]
    %o = attend query %a key %b value %c decay %g initial %d_final anticausal normalize <none>
        {grouping = #polyattn.grouping<block>}
      : [2], [2], [3], tensor<?x?x?xf32>, tensor<?x?x2x3xf32>
    return %o : [3]
  })mlir";

/// The last two dimensions of a state, swapped.
Array swapped(const Array &state) {
  int64_t rows = state.shape[2], columns = state.shape[3];
  Array result({state.shape[0], state.shape[1], columns, rows});
  for (size_t i = 0; i < state.data.size(); ++i) {
    int64_t row = int64_t(i) / columns % rows, column = int64_t(i) % columns;
    result.data[int64_t(i) / (rows * columns) * rows * columns + column * rows + row] =
        state.data[i];
  }
  return result;
}

void expectEqual(const Array &got, const Array &expected, const std::string &what) {
  ASSERT_EQ(got.shape, expected.shape) << what;
  for (size_t i = 0; i < got.data.size(); ++i)
    EXPECT_NEAR(got.data[i], expected.data[i], 1e-12) << what << ", element " << i;
}

TEST(SwappedAttends, GiveTheGradientsOfAnAttend) {
  MLIRContext context;
  context.loadDialect<PolyAttnDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kSpecs, &context);
  ASSERT_TRUE(module);
  auto attention = [&](StringRef name) { return module->lookupSymbol<AttentionOp>(name); };
  for (int64_t positions : {0, 1, 9})
    for (Reading reading : {Reading::Scores, Reading::Recurrent}) {
      CallSizes sizes{2, positions, positions, 2, 2};
      GradientCall call(attention("forward"), sizes);
      auto evaluated = [&](StringRef name, std::vector<Array> arguments) {
        auto results = evaluate(attention(name), arguments, sizes, reading);
        EXPECT_TRUE(succeeded(results));
        return *results;
      };
      NamedArrays expected = call.gradients();
      const Array &q = call.argument("q"), &k = call.argument("k"), &v = call.argument("v"),
                  &g = call.argument("g"), &dO = call.ofResults["o"],
                  &dFinal = call.ofResults["final"];
      // The state has no score_scale: that of the forward attend is its readers'.
      std::vector<Array> ofQ = evaluated("of_q", {dO, v, k, g, swapped(call.argument("s"))});
      expectEqual(ofQ[0], expected["q"], "d_q");
      std::vector<Array> ofV = evaluated("of_v", {k, q, dO, g, dFinal});
      expectEqual(ofV[0], expected["v"], "d_v");
      expectEqual(ofV[1], expected["s"], "d_s");
      expectEqual(evaluated("of_k", {v, dO, q, g, swapped(dFinal)})[0], expected["k"], "d_k");
    }
}

} // namespace
