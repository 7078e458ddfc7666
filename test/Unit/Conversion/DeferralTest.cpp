//===- DeferralTest.cpp - values that are computed where they are used ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/TileAnalysis/Deferral.h"
#include "dialects/Tile/Tile.h"
#include "lib/Conversion/TileToVector/Fusion.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// A kernel of 8 x 8 tiles over %x, with a state %s and what is stored to %o; `$T` is their type.
class Deferral : public ::testing::Test {
protected:
  Deferral() {
    context.loadDialect<tile::TileDialect, arith::ArithDialect, math::MathDialect,
                        memref::MemRefDialect, scf::SCFDialect>();
    context.allowUnregisteredDialects(); // attributes `test.NAME` mark ops
  }

  void parse(std::string body) {
    std::string text =
        "tile.kernel @k attributes {arg_names = [\"x\", \"o\"], num_inputs = 1} {\n"
        "^bb0(%x: memref<8x8xf32>, %o: memref<8x8xf32>):\n"
        "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
        "  %s = tile.buffer : !tile.buffer<8x8>\n"
        "  %a = tile.load %x[%c0, %c0] {row_dim = 0, col_dim = 1} : memref<8x8xf32> -> $T\n" +
        body + "}\n";
    for (size_t at = text.find("$T"); at != std::string::npos; at = text.find("$T"))
      text.replace(at, 2, "!tile.tile<8x8xf32>");
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
  }

  tile::KernelOp kernel() { return *module->getOps<tile::KernelOp>().begin(); }

  /// The result of the op that is marked with this attribute.
  Value marked(StringRef name) {
    Value found;
    module->walk([&](Operation *op) {
      if (op->hasAttr(("test." + name).str()))
        found = op->getResult(0);
    });
    EXPECT_TRUE(found) << name.str();
    return found;
  }

  static std::string map(StringRef result, StringRef input, StringRef name,
                         StringRef op = "arith.mulf %e, %e : f32") {
    return ("%" + result + " = tile.map %" + input + " {test." + name + "} : $T -> $T {\n" +
            "^bb0(%e: f32):\n  %element = " + op + "\n  tile.yield %element : f32\n}\n")
        .str();
  }
  static std::string store(StringRef value) {
    return ("tile.store %" + value +
            ", %o[%c0, %c0] {row_dim = 0, col_dim = 1} : $T, memref<8x8xf32>\n")
        .str();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

bool all(Value) { return true; }
bool none(Value) { return false; }
bool accept(OpOperand &) { return true; }

TEST_F(Deferral, ReadsBuffersThroughWhatIsPassedOn) {
  parse("%r = tile.read %s[%c0] {test.read} : !tile.buffer<8x8> -> $T\n" + map("m", "r", "first") +
        map("n", "m", "second") + map("p", "a", "other") + store("n") + store("p"));
  EXPECT_TRUE(readsBuffer(marked("read"), none));
  EXPECT_TRUE(readsBuffer(marked("second"), all));
  EXPECT_FALSE(readsBuffer(marked("second"), none));
  EXPECT_FALSE(readsBuffer(marked("other"), all));
  Value first = marked("first");
  EXPECT_FALSE(readsBuffer(marked("second"), [&](Value value) { return value != first; }));
}

// Each use of a value computes it again.
TEST_F(Deferral, CountsWhatIsEvaluated) {
  parse("%d = tile.dot %a, %a {test.dot} : $T, $T -> $T\n%t = tile.map %d, %d {test.twice} : $T, "
        "$T -> $T {\n"
        "^bb0(%u: f32, %v: f32):\n  %element = arith.addf %u, %v : f32\n  tile.yield %element : "
        "f32\n}\n" +
        store("t"));
  auto isDot = [](Operation *op) { return isa<tile::DotOp>(op); };
  EXPECT_EQ(countEvaluated(marked("dot"), none, isDot), 1);
  EXPECT_EQ(countEvaluated(marked("twice"), none, isDot), 0);
  EXPECT_EQ(countEvaluated(marked("twice"), all, isDot), 2);
}

TEST_F(Deferral, MovesToUsersInItsBlockThatAccept) {
  parse(map("m", "a", "near") + map("n", "a", "far") + store("m") +
        "scf.for %i = %c0 to %c1 step %c1 {\n" + store("n") + "}\n");
  EXPECT_TRUE(canMoveToUsers(marked("near"), none, accept));
  EXPECT_FALSE(canMoveToUsers(marked("near"), none, [](OpOperand &) { return false; }));
  EXPECT_FALSE(canMoveToUsers(marked("far"), none, accept));
}

// Computed later, the rows would be those of after the write; a write inside of a loop is one, too.
TEST_F(Deferral, StaysBeforeWritesToWhatItReads) {
  std::string read = "%r = tile.read %s[%c0] : !tile.buffer<8x8> -> $T\n" + map("m", "r", "value");
  std::string write = "tile.write %a, %s[%c0] : $T, !tile.buffer<8x8>\n";
  std::string loop = "scf.for %i = %c0 to %c1 step %c1 {\n" + write + "}\n";
  parse(read + store("m"));
  EXPECT_TRUE(canMoveToUsers(marked("value"), all, accept));
  // The verifier takes no use behind a write, but passes may ask while they move ops.
  for (const std::string &between : {write, loop}) {
    parse(read + store("m") + between);
    Operation *op = marked("value").getDefiningOp(), *user = *op->user_begin();
    user->moveAfter(user->getNextNode());
    EXPECT_FALSE(canMoveToUsers(marked("value"), all, accept));
    EXPECT_TRUE(canMoveToUsers(marked("value"), none, accept));
  }
}

// What is masked is computed inside of the mask; not so where the mask is only a view, because
// nothing looks above the diagonal.
TEST_F(Deferral, MasksThatAreViewsTakeNothingIn) {
  std::string scores = "%d = tile.dot %a, %a {test.scores} : $T, $T -> $T\n" +
                       map("f", "d", "of_scores") +
                       "%m = tile.causal_mask %f {test.mask} : $T -> $T\n";
  parse(scores + store("m"));
  tile_to_vector::Fusion stored(kernel());
  EXPECT_TRUE(stored.isDeferred(marked("scores")));
  EXPECT_TRUE(stored.isDeferred(marked("of_scores")));
  EXPECT_TRUE(stored.isDeferred(marked("mask")));
  EXPECT_FALSE(stored.isView(marked("mask")));

  parse(scores + "%y = tile.dot %m, %a {lower_lhs} : $T, $T -> $T\n" + store("y"));
  tile_to_vector::Fusion multiplied(kernel());
  EXPECT_TRUE(multiplied.isDeferred(marked("scores")));
  EXPECT_FALSE(multiplied.isDeferred(marked("of_scores")));
  EXPECT_FALSE(multiplied.isDeferred(marked("mask")));
  EXPECT_TRUE(multiplied.isView(marked("mask")));
  EXPECT_EQ(multiplied.viewed(marked("mask")), marked("of_scores"));
}

// A product inside of a function of its elements would wait for each of them.
TEST_F(Deferral, ExpensiveMapsTakeNoProductsIn) {
  std::string dot = "%d = tile.dot %a, %a {test.dot} : $T, $T -> $T\n";
  parse(dot + map("m", "d", "quick") + store("m"));
  EXPECT_TRUE(tile_to_vector::Fusion(kernel()).isDeferred(marked("dot")));
  parse(dot + map("m", "d", "slow", "math.exp %e : f32") + store("m"));
  tile_to_vector::Fusion fusion(kernel());
  EXPECT_FALSE(fusion.isDeferred(marked("dot")));
  EXPECT_TRUE(fusion.isDeferred(marked("slow")));
  // The same through what stands between.
  parse(dot + map("m", "d", "quick") + map("n", "m", "slow", "math.exp %e : f32") + store("n"));
  tile_to_vector::Fusion chain(kernel());
  EXPECT_TRUE(chain.isDeferred(marked("dot")));
  EXPECT_FALSE(chain.isDeferred(marked("quick")));
}

// There are 2^64 ways through a chain of residual steps to the mask at its end: each value is
// looked at once.
TEST_F(Deferral, ChainsOfResidualStepsToAMask) {
  std::string steps = map("x0", "a", "first");
  for (int i = 0; i < 64; ++i) {
    std::string input = "x" + std::to_string(i), next = std::to_string(i + 1);
    steps += map("f" + next, input, "step" + next) + "%x" + next + " = tile.map %" + input +
             ", %f" + next + " : $T, $T -> $T {\n^bb0(%u: f32, %v: f32):\n" +
             "  %element = arith.addf %u, %v : f32\n  tile.yield %element : f32\n}\n";
  }
  std::string mask =
      "%m = tile.causal_mask %x64 : $T -> $T\n%y = tile.dot %m, %a {lower_lhs} : $T, "
      "$T -> $T\n" +
      store("y");
  parse(steps + mask);
  tile_to_vector::Fusion masked(kernel());
  EXPECT_TRUE(masked.needsOnly(marked("first"), tile::Triangle::Lower));
  EXPECT_FALSE(masked.needsOnly(marked("first"), tile::Triangle::Upper));
  parse(steps + mask + store("x64"));
  EXPECT_FALSE(tile_to_vector::Fusion(kernel()).needsOnly(marked("first"), tile::Triangle::Lower));
}

} // namespace
