//===- ExpandMathTest.cpp - the accuracy of expanded functions ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas run on this machine, with its library's exp2, which is exact where a GPU's has a
// relative error of up to 2^-22, and with our own, as processors have it. With a GPU's they must
// stay below 1e-6, so here below 7.5e-7.
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/Passes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "polyattn/Conversion/Passes.h"
#include "polyattn/Pipelines/Registration.h"
#include "runtime/generated_code.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace {

constexpr double kAllowed = 7.5e-7;
const float kInfinity = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

struct CompiledFunction {
  float (*address)(float, float);

  POLYATTN_CALLS_GENERATED_CODE
  float operator()(float x, float y) const { return address(x, y); }
};

/// Whether exp2 is an instruction.
class ExpandMathTest : public ::testing::TestWithParam<bool> {
protected:
  /// Results below this may be any of these numbers.
  static double least() { return std::ldexp(1, GetParam() ? -126 : -125); }

  /// `op` of its operands as a function in this process; the second operand may be unused.
  CompiledFunction compile(const std::string &op, int operands = 1) {
    std::string arguments = operands == 2 ? "%x, %y" : "%x";
    auto [name, flags] = llvm::StringRef(op).split(' ');
    std::string text = "func.func @f(%x: f32, %y: f32) -> f32 { %r = " + name.str() + " " +
                       arguments + " " + flags.str() + " : f32\n return %r : f32 }";
    DialectRegistry registry;
    polyattn::registerDialects(registry);
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    MLIRContext context(registry);
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    PassManager passes(&context);
    passes.addPass(polyattn::createExpandMath({/*hasExp2=*/GetParam()}));
    passes.addPass(createConvertMathToLLVMPass());
    passes.addPass(createArithToLLVMConversionPass());
    passes.addPass(createConvertFuncToLLVMPass());
    if (!module || failed(passes.run(*module)))
      llvm::report_fatal_error("the function was not lowered");
    auto owned = std::make_unique<llvm::LLVMContext>();
    std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(*module, *owned);
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    jit = cantFail(llvm::orc::LLJITBuilder().create());
    cantFail(jit->addIRModule({std::move(code), std::move(owned)}));
    return {cantFail(jit->lookup("f")).toPtr<float(float, float)>()};
  }

  /// The largest relative error over `count` points from `low` to `high`, evenly spaced.
  void check(const std::string &op, double (*exact)(double), double low, double high,
             double allowed = kAllowed, int count = 200000) {
    auto f = compile(op);
    double worst = 0, where = 0;
    for (int i = 0; i <= count; ++i) {
      float x = float(low + (high - low) * i / count);
      double expected = exact(x), got = f(x, 0);
      if (std::fabs(expected) < least()) {
        EXPECT_LE(std::fabs(got), least()) << op << " at " << x;
        continue;
      }
      double relative = std::fabs(got - expected) / std::fabs(expected);
      if (!(relative <= worst))
        worst = relative, where = x;
    }
    EXPECT_LT(worst, allowed) << op << " at " << where;
  }

  std::unique_ptr<llvm::orc::LLJIT> jit;
};

TEST_P(ExpandMathTest, Exponential) {
  check("math.exp", std::exp, -1, 1);
  check("math.exp", std::exp, -87, 88.7);
  check("math.exp fastmath<afn>", std::exp, -1, 1);
  auto f = compile("math.exp");
  EXPECT_EQ(f(-kInfinity, 0), 0);
  EXPECT_EQ(f(-1e30f, 0), 0);
  EXPECT_EQ(f(kInfinity, 0), kInfinity);
  EXPECT_EQ(f(89, 0), kInfinity);
  EXPECT_EQ(f(0, 0), 1);
  EXPECT_TRUE(std::isnan(f(kNaN, 0)));
}

TEST_P(ExpandMathTest, PowerOfTwo) {
  check("math.exp2", std::exp2, -1, 1);
  check("math.exp2", std::exp2, -126, 127.9);
  auto f = compile("math.exp2");
  EXPECT_EQ(f(-kInfinity, 0), 0);
  EXPECT_EQ(f(-1e30f, 0), 0);
  EXPECT_EQ(f(kInfinity, 0), kInfinity);
  EXPECT_EQ(f(129, 0), kInfinity);
  EXPECT_EQ(f(0, 0), 1);
  EXPECT_TRUE(std::isnan(f(kNaN, 0)));
}

TEST_P(ExpandMathTest, ExponentialMinusOne) {
  check("math.expm1", std::expm1, -20, 88);
  check("math.expm1", std::expm1, -1, 1);
  check("math.expm1", std::expm1, 1e-6, 1e-3);
  auto f = compile("math.expm1");
  EXPECT_EQ(f(-kInfinity, 0), -1);
  EXPECT_EQ(f(0, 0), 0);
  EXPECT_TRUE(std::isnan(f(kNaN, 0)));
}

TEST_P(ExpandMathTest, Logarithms) {
  for (auto [op, exact] : {std::pair{"math.log", +[](double x) { return std::log(x); }},
                           std::pair{"math.log2", +[](double x) { return std::log2(x); }}}) {
    check(op, exact, 1e-3, 4);
    check(op, exact, 0.99, 1.01);
    check(op, exact, 4, 1e30);
    check(op, exact, 1e-44, 1e-37); // with numbers below 2^-126
    auto f = compile(op);
    EXPECT_EQ(f(1, 0), 0);
    EXPECT_EQ(f(0, 0), -kInfinity);
    EXPECT_EQ(f(kInfinity, 0), kInfinity);
    EXPECT_TRUE(std::isnan(f(-1, 0)));
    EXPECT_TRUE(std::isnan(f(kNaN, 0)));
  }
}

TEST_P(ExpandMathTest, LogarithmOfOneMore) {
  check("math.log1p", std::log1p, -0.99, 10);
  check("math.log1p", std::log1p, -1e-3, 1e-3);
  check("math.log1p", std::log1p, 1e-9, 1e-7);
  check("math.log1p", std::log1p, 1e3, 1e38);
  auto f = compile("math.log1p");
  EXPECT_EQ(f(-1, 0), -kInfinity);
  EXPECT_EQ(f(kInfinity, 0), kInfinity);
  EXPECT_TRUE(std::isnan(f(-2, 0)));
  EXPECT_TRUE(std::isnan(f(kNaN, 0)));
}

TEST_P(ExpandMathTest, TangensHyperbolicusAndErrorFunction) {
  for (auto [op, exact] : {std::pair{"math.tanh", +[](double x) { return std::tanh(x); }},
                           std::pair{"math.erf", +[](double x) { return std::erf(x); }}}) {
    check(op, exact, -12, 12);
    check(op, exact, 0.5, 1.5);
    check(op, exact, 1e-7, 1e-4);
    auto f = compile(op);
    EXPECT_EQ(f(kInfinity, 0), 1);
    EXPECT_EQ(f(-kInfinity, 0), -1);
    EXPECT_EQ(f(-100, 0), -1);
    EXPECT_EQ(f(0, 0), 0);
    EXPECT_TRUE(std::isnan(f(kNaN, 0)));
  }
}

/// Relative to the result, also far out.
TEST_P(ExpandMathTest, ComplementaryErrorFunction) {
  auto erfc = [](double x) { return std::erfc(x); };
  check("math.erfc", erfc, -12, 12);
  check("math.erfc", erfc, -1, 1);
  check("math.erfc", erfc, 5, 9.2);
  check("math.erfc", erfc, -1e-4, 1e-4);
  auto f = compile("math.erfc");
  EXPECT_EQ(f(kInfinity, 0), 0);
  EXPECT_EQ(f(-kInfinity, 0), 2);
  EXPECT_EQ(f(1e30f, 0), 0);
  EXPECT_EQ(f(-1e30f, 0), 2);
  EXPECT_TRUE(std::isnan(f(kNaN, 0)));
}

/// Relative to the result, also next to its zeros.
TEST_P(ExpandMathTest, SineAndCosine) {
  for (auto [op, exact] : {std::pair{"math.sin", +[](double x) { return std::sin(x); }},
                           std::pair{"math.cos", +[](double x) { return std::cos(x); }}}) {
    check(op, exact, -10, 10);
    check(op, exact, 1e-6, 1e-3);
    check(op, exact, 9.9e5, 1e6, kAllowed, 1000000);
    check(op, exact, -1e6, 1e6, kAllowed, 1000000);
    check(op, exact, 1.4e6, 1.5e6);
    auto f = compile(op);
    double worst = 0;
    for (int quarters = 1; quarters < 600000; ++quarters) {
      float x = float(quarters * M_PI_2);
      double expected = exact(x);
      worst = std::max(worst, std::fabs(f(x, 0) - expected) / std::fabs(expected));
    }
    EXPECT_LT(worst, kAllowed) << op;
    EXPECT_LE(std::fabs(f(1e30f, 0)), 1);
    EXPECT_TRUE(std::isnan(f(kInfinity, 0)));
    EXPECT_TRUE(std::isnan(f(kNaN, 0)));
  }
}

TEST_P(ExpandMathTest, Powers) {
  auto f = compile("math.powf", 2);
  double worst = 0, atX = 0, atY = 0;
  for (int i = 0; i < 537; ++i)
    for (int j = 0; j < 217; ++j) {
      float x = 0.01f * std::pow(1.0173f, float(i)), y = -40 + 0.37f * float(j);
      double expected = std::pow(double(x), double(y));
      if (expected < least() || expected > 3.3e38)
        continue;
      double error = std::fabs(f(x, y) - expected) / expected;
      if (error > worst)
        worst = error, atX = x, atY = y;
    }
  EXPECT_LT(worst, kAllowed) << atX << " to the " << atY;
  for (auto [x, y] : std::initializer_list<std::pair<float, float>>{{-2, 3},
                                                                    {-2, 2},
                                                                    {0, 0},
                                                                    {0, 2},
                                                                    {0, -1},
                                                                    {-0.0f, -1},
                                                                    {-0.0f, 3},
                                                                    {1, kInfinity},
                                                                    {kNaN, 0},
                                                                    {1, kNaN},
                                                                    {kInfinity, 2},
                                                                    {kInfinity, -2},
                                                                    {-kInfinity, 3},
                                                                    {2, 1000},
                                                                    {2, -1000},
                                                                    {0.5f, kInfinity},
                                                                    {2, -kInfinity}}) {
    float expected = std::pow(x, y);
    EXPECT_EQ(f(x, y), expected) << x << " to the " << y;
    EXPECT_EQ(std::signbit(f(x, y)), std::signbit(expected)) << x << " to the " << y;
  }
  EXPECT_TRUE(std::isnan(f(-2, 0.5f)));
  EXPECT_TRUE(std::isnan(f(kNaN, 2)));
}

INSTANTIATE_TEST_SUITE_P(Exp2, ExpandMathTest, ::testing::Bool(), [](const auto &info) {
  return std::string(info.param ? "Instruction" : "Arithmetic");
});

} // namespace
