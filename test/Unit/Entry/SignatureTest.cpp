//===- SignatureTest.cpp - signatures and the binding of sizes ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Entry/Signature.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace polyattn;

namespace {

using Shapes = std::vector<SmallVector<int64_t, 4>>;

class SignatureTest : public testing::Test {
protected:
  SignatureTest() { context.loadDialect<PolyAttnDialect>(); }

  Signature parse(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    auto signature = signatureOf(*module->getOps<AttentionOp>().begin());
    EXPECT_TRUE(bool(signature));
    return *signature;
  }
  /// An attention over q, k, v of width 4 with more arguments, read as `phi` of its vector.
  Signature attention(const std::string &more, const std::string &map, const std::string &apply,
                      const std::string &attend, const std::string &types = "",
                      const std::string &element = "f32") {
    std::string tensor = "tensor<?x?x?x4x" + element + ">";
    return parse("polyattn.feature_map @phi(%x: [4]" + map + "}\npolyattn.attention @a(%q: " +
                 tensor + ", %k: " + tensor + ", %v: " + tensor + more + ") -> (o: " + tensor +
                 ") {\n%a = apply @phi(%q" + apply + "\n%b = apply @phi(%k" + apply +
                 "\n%c = read %v : " + tensor + " -> [4]\n%o = attend query %a key %b value %c " +
                 attend + " : [4], [4], [4]" + types + "\nreturn %o : [4]\n}\n");
  }
  Signature plain(const std::string &attend) {
    return attention("", ") { yield %x : [4] ", ") : tensor<?x?x?x4xf32> -> [4]", attend);
  }
  static std::string dims(const Signature &signature, StringRef name) {
    return signature.findArgument(name)->formatDims();
  }
  static std::string bindError(const Signature &signature, const Shapes &shapes) {
    CallSizes sizes;
    return llvm::toString(bindShapes(signature, shapes, sizes));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr const char *kGrouped = " {grouping = #polyattn.grouping<block>}";

TEST_F(SignatureTest, WithoutGroupingHeadsAreAsMany) {
  for (std::string mask : {"causal", "full"}) {
    Signature signature = plain(mask + " normalize <none>");
    EXPECT_EQ(signature.findArgument("k")->dims[2], kHeads);
    EXPECT_EQ(signature.findArgument("v")->dims[2], kHeads);
    EXPECT_NE(bindError(signature, {{1, 3, 4, 4}, {1, 3, 2, 4}, {1, 3, 2, 4}})
                  .find("with H = 4 (from argument 'q'), got [1, 3, 2, 4]"),
              std::string::npos);
  }
}

TEST_F(SignatureTest, DecayFactorsAreSizes) {
  Signature signature = plain("causal normalize <none> {decay_factors = array<f64: 0.5, 0.9>}");
  std::string json = llvm::formatv("{0}", llvm::json::Value(toJson(signature)));
  EXPECT_NE(json.find(R"("dims":["B","T",2,4])"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("shape":[null,null,2,4])"), std::string::npos) << json;
  EXPECT_EQ(json.find("Hkv"), std::string::npos) << json;
}

TEST_F(SignatureTest, CausalMaskTiesPositionsNotHeads) {
  Signature signature = plain(std::string("causal normalize <none>") + kGrouped);
  EXPECT_EQ(dims(signature, "q"), "[B, T, H, 4]");
  EXPECT_EQ(dims(signature, "k"), "[B, T, Hkv, 4]");
  EXPECT_EQ(dims(signature, "v"), "[B, T, Hkv, 4]");
  EXPECT_EQ(signature.results[0].formatDims(), "[B, T, H, 4]");
  EXPECT_EQ(signature.findArgument("k")->role, Role::Key);
  EXPECT_EQ(signature.findArgument("v")->role, Role::Value);
}

TEST_F(SignatureTest, FullMaskLeavesKeysTheirOwnLength) {
  Signature signature = plain(std::string("full normalize <none>") + kGrouped);
  EXPECT_EQ(dims(signature, "k"), "[B, Tk, Hkv, 4]");
  CallSizes sizes;
  ASSERT_FALSE(
      bool(bindShapes(signature, Shapes{{2, 3, 4, 4}, {2, 7, 2, 4}, {2, 7, 2, 4}}, sizes)));
  EXPECT_EQ(sizes.batch, 2);
  EXPECT_EQ(sizes.queries, 3);
  EXPECT_EQ(sizes.keys, 7);
  EXPECT_EQ(sizes.heads, 4);
  EXPECT_EQ(sizes.kvHeads, 2);
}

TEST_F(SignatureTest, WeightPerHeadOnBothSidesTiesHeads) {
  std::string types = ") : tensor<?x?x?x4xf32>, tensor<?x4x4xf32> -> [4]";
  Signature signature = attention(", %w: tensor<?x4x4xf32>",
                                  ", %m: 4x4) {\n%y = project %x, %m : [4], 4x4\nyield %y : [4]\n",
                                  ", %w" + types, "full normalize <none>");
  EXPECT_EQ(dims(signature, "w"), "[H, 4, 4]");
  EXPECT_EQ(dims(signature, "k"), "[B, Tk, H, 4]");
  EXPECT_EQ(signature.findArgument("w")->role, Role::Weight);
  EXPECT_NE(bindError(signature, {{1, 3, 4, 4}, {1, 3, 2, 4}, {1, 3, 2, 4}, {4, 4, 4}})
                .find("argument 'k': expected [B, Tk, H, 4] with H = 4 (from argument 'q')"),
            std::string::npos);
}

TEST_F(SignatureTest, SharedWeightTiesNothing) {
  Signature signature =
      attention(", %g: tensor<4xf32>", ", %m: 4) {\n%y = mul_vec %x, %m : [4], 4\nyield %y : [4]\n",
                ", %g) : tensor<?x?x?x4xf32>, tensor<4xf32> -> [4]",
                std::string("causal normalize <none>") + kGrouped);
  EXPECT_EQ(dims(signature, "k"), "[B, T, Hkv, 4]");
  EXPECT_EQ(signature.findArgument("g")->role, Role::Gain);
}

TEST_F(SignatureTest, DecayAndStates) {
  std::string identity = ") { yield %x : [4] ", apply = ") : tensor<?x?x?x4xf32> -> [4]";
  std::string more = ", %g: tensor<?x?x?xf32>, %s: tensor<?x?x4x4xf32>";
  std::string types = ", tensor<?x?x?xf32>, tensor<?x?x4x4xf32>";
  std::string attend = "decay %g initial %s causal normalize <none>";
  Signature signature = attention(more, identity, apply, attend + kGrouped, types);
  EXPECT_EQ(dims(signature, "g"), "[B, T, Hkv]");
  EXPECT_EQ(dims(signature, "s"), "[B, Hkv, 4, 4]");
  EXPECT_EQ(signature.findArgument("g")->role, Role::Decay);
  EXPECT_EQ(signature.findArgument("s")->role, Role::State);
  signature = attention(
      more, identity, apply,
      attend + " {gate_heads = #polyattn.gate_heads<q>, grouping = #polyattn.grouping<block>}",
      types);
  EXPECT_EQ(dims(signature, "g"), "[B, T, H]");
  EXPECT_EQ(dims(signature, "s"), "[B, H, 4, 4]");
}

TEST_F(SignatureTest, DecayFactorsFixHeads) {
  Signature signature = plain("causal normalize <none> {decay_factors = array<f64: 0.5, 0.9>, "
                              "grouping = #polyattn.grouping<block>}");
  EXPECT_EQ(bindError(signature, {{1, 3, 4, 4}, {1, 3, 2, 4}, {1, 3, 2, 4}}), "");
  EXPECT_NE(bindError(signature, {{1, 3, 4, 4}, {1, 3, 4, 4}, {1, 3, 4, 4}})
                .find("with Hkv = 2 (from the spec's decay factors), got [1, 3, 4, 4]"),
            std::string::npos);
}

TEST_F(SignatureTest, ErrorsNameArgumentExpectedAndGot) {
  Signature signature = plain(std::string("causal normalize <none>") + kGrouped);
  EXPECT_EQ(bindError(signature, {{1, 3, 4, 5}, {1, 3, 4, 4}, {1, 3, 4, 4}}),
            "argument 'q': expected [B, T, H, 4], got [1, 3, 4, 5]");
  EXPECT_EQ(bindError(signature, {{3, 4, 4}, {1, 3, 4, 4}, {1, 3, 4, 4}}),
            "argument 'q': expected [B, T, H, 4], got [3, 4, 4]");
  EXPECT_EQ(bindError(signature, {{1, 3, 4, 4}, {1, 5, 4, 4}, {1, 5, 4, 4}}),
            "argument 'k': expected [B, T, Hkv, 4] with T = 3 (from argument 'q'), got "
            "[1, 5, 4, 4]");
  EXPECT_EQ(bindError(signature, {{1, 3, 3, 4}, {1, 3, 2, 4}, {1, 3, 2, 4}}),
            "expected H to be a multiple of Hkv, got H = 3 (from argument 'q') and Hkv = 2 (from "
            "argument 'k')");
  EXPECT_EQ(bindError(signature, {{1, 3, 0, 4}, {1, 3, 0, 4}, {1, 3, 0, 4}}),
            "argument 'q': expected H >= 1, got 0");
  EXPECT_EQ(bindError(signature, {{1, 3, 1, 4}}), "entry 'a': expected 3 arguments, got 1");
  EXPECT_EQ(bindError(signature, {{1, 0, 1, 4}, {1, 0, 1, 4}, {1, 0, 1, 4}}), "");
}

TEST_F(SignatureTest, Facts) {
  std::string text = R"(
    polyattn.feature_map @phi(%x: [4]) {
      %y = power 2 %x {symmetric} : [4]
      yield %y : sym 2 [4]
    }
    polyattn.attention @a(%q: tensor<?x?x?x4xbf16>, %k: tensor<?x?x?x4xbf16>,
                          %v: tensor<?x?x?x3xbf16>) -> (o: tensor<?x?x?x3xbf16>) {
      %a = apply @phi(%q) : tensor<?x?x?x4xbf16> -> sym 2 [4]
      %b = apply @phi(%k) : tensor<?x?x?x4xbf16> -> sym 2 [4]
      %c = read %v : tensor<?x?x?x3xbf16> -> [3]
      %o = attend query %a key %b value %c causal normalize <bias, bias = 1.0>
        : sym 2 [4], sym 2 [4], [3]
      return %o : [3]
    })";
  Signature signature = parse(text);
  EXPECT_EQ(signature.facts.featureDim, 10);
  EXPECT_EQ(signature.facts.degree, 2);
  EXPECT_EQ(signature.facts.scoreForm, "sym 2 [4]");
  EXPECT_EQ(signature.facts.stateBytes, 4 * (10 * 3 + 10));
  EXPECT_EQ(signature.arguments[0].type, ElementType::BF16);
  llvm::json::Object json = toJson(signature);
  EXPECT_EQ(json.getInteger("feature_dim"), 10);
  EXPECT_EQ(json.getArray("arguments")->size(), 3u);
}

TEST_F(SignatureTest, FirstPositionFreesTheLengthOfTables) {
  Signature signature = parse(R"(
    polyattn.attention @a(%q: tensor<?x?x?x4xf32>, %p: tensor<?x1x4xf32>, %first: tensor<?xi64>)
        -> (o: tensor<?x?x?x4xf32>) first_position %first {
      %x = read %q : tensor<?x?x?x4xf32> -> [4]
      %r = read %p : tensor<?x1x4xf32> -> [4]
      %a = add %x, %r : [4], [4]
      %o = attend query %a key %a value %x local %a, %a causal normalize <none> {block = 48}
        : [4], [4], [4], [4], [4]
      return %o : [4]
    })");
  EXPECT_EQ(dims(signature, "p"), "[L, 1, 4]");
  EXPECT_EQ(dims(signature, "first"), "[B]");
  EXPECT_EQ(signature.findArgument("first")->type, ElementType::I64);
  EXPECT_EQ(signature.firstPosition, 2u);
  EXPECT_EQ(signature.positionUnit, 48);
  CallSizes sizes;
  EXPECT_EQ(llvm::toString(bindShapes(signature, {{2, 7, 3, 4}, {100, 1, 4}, {2}}, sizes)), "");
  EXPECT_EQ(sizes.rows, 100);
  EXPECT_EQ(bindError(signature, {{2, 7, 3, 4}, {100, 1, 4}, {3}}),
            "argument 'first': expected [B] with B = 2 (from argument 'q'), got [3]");
}

/// Numbers of a call in memory.
static HostTensor wholeNumbers(std::vector<int64_t> numbers) {
  HostTensor tensor = llvm::cantFail(allocateTensor(ElementType::I64, {int64_t(numbers.size())}));
  tensor.forEach([&](int64_t i, void *address) {
    storeElement(ElementType::I64, address, double(numbers[i]));
  });
  return tensor;
}

TEST_F(SignatureTest, TablesThatCoverCallsLimitPositions) {
  Signature signature = parse(R"(
    polyattn.attention @a(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %t: tensor<?x15xf32>,
                          %u: tensor<9xf32>, %z: tensor<3xf32>) -> (o: tensor<?x?x?x4xf32>) {
      %x = read %q : tensor<?x?x?x4xf32> -> [4]
      %y = read %k : tensor<?x?x?x4xf32> -> [4]
      %c = read %t : tensor<?x15xf32> -> 15
      %d = read %u : tensor<9xf32> -> 9
      %e = read %z : tensor<3xf32> -> 3
      %r = relative %c {beyond = error, two_sided} : 15
      %s = relative %d {beyond = error} : 9
      %w = relative %e {beyond = zero} : 3
      %a = tensor %r, %s, %w, %x : [1], [1], [1], [4]
      %b = tensor %r, %s, %w, %y : [1], [1], [1], [4]
      %o = attend query %a key %b value %y full normalize <none>
        {grouping = #polyattn.grouping<block>}
        : [1] x [1] x [1] x [4], [1] x [1] x [1] x [4], [4]
      return %o : [4]
    })");
  for (SizeName name : {kPositions, kKeyPositions}) {
    ASSERT_TRUE(signature.limitOf(name));
    EXPECT_EQ(signature.limitOf(name)->most, 8);
    EXPECT_EQ(signature.limitOf(name)->argument, 2u);
  }
  EXPECT_FALSE(signature.limitOf(kBatch));
  CallSizes sizes;
  EXPECT_EQ(
      llvm::toString(bindShapes(signature, {{1, 8, 2, 4}, {1, 7, 2, 4}, {2, 15}, {9}, {3}}, sizes)),
      "");
  EXPECT_EQ(bindError(signature, {{1, 9, 2, 4}, {1, 7, 2, 4}, {2, 15}, {9}, {3}}),
            "argument 't': expected T <= 8 with shape [H, 15], got T = 9");
  EXPECT_EQ(bindError(signature, {{1, 2, 2, 4}, {1, 9, 2, 4}, {2, 15}, {9}, {3}}),
            "argument 't': expected Tk <= 8 with shape [H, 15], got Tk = 9");
  EXPECT_EQ(llvm::cantFail(backwardSignature(signature, {})).limitOf(kPositions)->most, 8);
}

TEST_F(SignatureTest, PackedSequencesHaveALimitEach) {
  Signature signature = parse(R"(
    polyattn.attention @a(%q: tensor<?x?x?x4xf32>, %t: tensor<8xf32>, %at: tensor<?xi64>)
        -> (o: tensor<?x?x?x4xf32>) packed %at {
      %x = read %q : tensor<?x?x?x4xf32> -> [4]
      %c = read %t : tensor<8xf32> -> 8
      %r = relative %c {beyond = error} : 8
      %o = attend query %r key %r value %x causal normalize <none> : [1], [1], [4]
      return %o : [4]
    })");
  CallSizes sizes;
  EXPECT_EQ(llvm::toString(bindShapes(signature, {{1, 20, 2, 4}, {8}, {4}}, sizes)), "");
  auto check = [&](std::vector<int64_t> offsets) {
    HostTensor numbers = wholeNumbers(std::move(offsets));
    return llvm::toString(
        checkNumbers(signature, sizes, [&](unsigned i) { return i == 2 ? &numbers : nullptr; }));
  };
  EXPECT_EQ(check({0, 8, 12, 20}), "");
  EXPECT_EQ(check({0, 8, 11, 20}),
            "argument 't': expected T <= 8 with shape [8], got T = 9 in sequence 2");
}

// As passes leave them that drop an attend which is not returned.
TEST_F(SignatureTest, UnusedDecaysAndStatesAreKnownByTheirShapes) {
  Signature signature = parse(R"(
    polyattn.attention @a(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %g: tensor<?x?x?xf32>,
                          %h: tensor<?xf32>, %s: tensor<?x?x4x4xf32>) -> (o: tensor<?x?x?x4xf32>) {
      %x = read %q : tensor<?x?x?x4xf32> -> [4]
      %y = read %k : tensor<?x?x?x4xf32> -> [4]
      %o = attend query %x key %y value %y full normalize <none>
        {grouping = #polyattn.grouping<block>} : [4], [4], [4]
      return %o : [4]
    })");
  EXPECT_EQ(dims(signature, "g"), "[B, Tk, Hkv]");
  EXPECT_EQ(dims(signature, "h"), "[Hkv]");
  EXPECT_EQ(dims(signature, "s"), "[B, Hkv, 4, 4]");
  EXPECT_EQ(signature.findArgument("g")->role, Role::Decay);
  EXPECT_EQ(signature.findArgument("h")->role, Role::Decay);
  EXPECT_EQ(signature.findArgument("s")->role, Role::State);
}

TEST_F(SignatureTest, GradientsAreNamedAfterWhatTheyAreTakenIn) {
  Signature forward = attention(", %w: tensor<?x4x4xf32>",
                                ", %w: 4x4) { %y = project %x, %w : [4], 4x4 yield %y : [4] ",
                                ", %w) : tensor<?x?x?x4xbf16>, tensor<?x4x4xf32> -> [4]",
                                "causal normalize <none>", "", "bf16");
  Signature backward = llvm::cantFail(backwardSignature(forward, {}));
  EXPECT_EQ(backward.name, "a__backward");
  ASSERT_EQ(backward.arguments.size(), forward.arguments.size() + 1);
  const TensorSignature &ofResult = backward.arguments.back();
  EXPECT_EQ(ofResult.name, "d_o");
  EXPECT_EQ(ofResult.gradientOf, "o");
  EXPECT_EQ(ofResult.role, Role::Gradient);
  EXPECT_EQ(ofResult.formatDims(), "[B, T, H, 4]");
  std::vector<std::string> names;
  for (const TensorSignature &result : backward.results)
    names.push_back(result.name);
  EXPECT_EQ(names, (std::vector<std::string>{"d_q", "d_k", "d_v", "d_w"}));
  EXPECT_EQ(backward.findResult("d_k")->type, ElementType::BF16);
  EXPECT_EQ(backward.findResult("d_w")->type, ElementType::F32);
  EXPECT_EQ(backward.findResult("d_w")->formatDims(), "[H, 4, 4]");
  EXPECT_EQ(llvm::cantFail(backwardSignature(forward, {{"w", "q"}})).results[0].name, "d_w");
}

TEST_F(SignatureTest, GradientsOfWeightsLiveInTheirRunningSums) {
  Signature forward = attention(", %w: tensor<?x4x4xbf16>",
                                ", %w: 4x4) { %y = project %x, %w : [4], 4x4 yield %y : [4] ",
                                ", %w) : tensor<?x?x?x4xbf16>, tensor<?x4x4xbf16> -> [4]",
                                "causal normalize <none>", "", "bf16");
  Signature backward =
      llvm::cantFail(backwardSignature(forward, {{"w", "q"}, /*accumulate=*/true}));
  const TensorSignature &sum = backward.arguments.back();
  EXPECT_EQ(sum.name, "sum_d_w");
  EXPECT_EQ(sum.role, Role::Gradient);
  EXPECT_EQ(sum.gradientOf, "w");
  EXPECT_EQ(sum.type, ElementType::F32);
  EXPECT_EQ(sum.formatDims(), "[H, 4, 4]");
  EXPECT_EQ(backward.findResult("d_w")->argument, backward.arguments.size() - 1);
  EXPECT_FALSE(backward.findResult("d_q")->argument);
}

} // namespace
