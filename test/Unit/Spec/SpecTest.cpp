//===- SpecTest.cpp - what a spec may be ----------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Reference/PlainSpec.h"
#include "lib/Spec/SpecText.h"
#include "polyattn/JIT/Compiler.h"
#include "polyattn/Spec/ParseSpec.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace polyattn;

static std::string tokensOf(llvm::StringRef text) {
  std::string result;
  forEachToken(text, [&](const TextToken &token) {
    result += (result.empty() ? "" : " ") + token.text.str();
    return true;
  });
  return result;
}

TEST(SpecText, IsReadWithoutCommentsAndBlanks) {
  EXPECT_EQ(tokensOf("%a = relu %x // [[[\n : [8]"), "%a = relu %x : [ 8 ]");
  EXPECT_EQ(tokensOf("(%a)->[8]"), "( %a ) -> [ 8 ]");
  EXPECT_EQ(tokensOf("\"[[ \\\" //\" : #a.b<c>"), "\"[[ \\\" //\" : #a.b < c >");
  EXPECT_EQ(tokensOf("%r#1, !t, @\"x\""), "%r #1 , !t , @ \"x\"");
  EXPECT_EQ(tokensOf("// only"), "");
  EXPECT_EQ(tokensOf("\"open\n["), "\"open\n [");
  EXPECT_EQ(tokensOf("\"\\"), "\"\\");
}

static std::string problemOf(llvm::StringRef text) {
  std::optional<TextProblem> problem = findTextProblem(text);
  return problem ? problem->message : "";
}

TEST(SpecText, MayBeNestedSoDeepOnly) {
  auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']') + std::string(100, '(') + "\n";
  };
  EXPECT_NE(problemOf(nested(1)), "");
  EXPECT_EQ(problemOf(std::string(64, '[') + std::string(64, ']') + std::string(64, '(')), "");
  EXPECT_NE(problemOf(std::string(65, '<')), "");
  // An arrow closes no `<`, and a bracket of one kind none of another.
  std::string arrows, brackets;
  for (int i = 0; i < 65; ++i) {
    arrows += "<->";
    brackets += "<)";
  }
  EXPECT_NE(problemOf(arrows), "");
  EXPECT_NE(problemOf(brackets), "");
  EXPECT_EQ(problemOf("\"" + std::string(100, '[') + "\" // " + std::string(100, '{')), "");
}

TEST(SpecText, NamesOfArgumentsAreFree) {
  EXPECT_EQ(problemOf("polyattn.attention @loc(%loc: t) -> (affine_map: t) { %affine_map = x }"),
            "");
  EXPECT_EQ(problemOf("{grouping = #polyattn.grouping<block>}"), "");
}

TEST(SpecText, KernelsAreFoundByTheirModule) {
  EXPECT_TRUE(holdsKernels("module {\n gpu.module @kernels {"));
  EXPECT_FALSE(holdsKernels("// gpu.module\n\"gpu.module\" @gpu.module"));
}

// The library's way to a kernel: an `llvm.func` beside the attention would be native code of this
// process.
TEST(Spec, NativeCodeBesideAnAttentionIsRefused) {
  JITOptions options;
  options.cacheDirectory = "";
  EXPECT_TRUE(bool(compileKernel(kPlainSpec, "spec", options)));
  auto refused =
      compileKernel(std::string(kPlainSpec) + "llvm.func @expf() { llvm.return }", "spec", options);
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(llvm::toString(refused.takeError()).substr(0, 12), "spec:11:1: e");
}
