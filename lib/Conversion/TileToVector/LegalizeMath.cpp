//===- LegalizeMath.cpp - instructions that a processor does not have -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/ExpandMath/Formula.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "polyattn/Conversion/Passes.h"
#include "polyattn/Target/CPU.h"

namespace polyattn {
#define GEN_PASS_DEF_LEGALIZEMATH
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

namespace {

/// A pattern for a machine.
template <typename Op> struct MachinePattern : OpRewritePattern<Op> {
  MachinePattern(MLIRContext *context, Instructions instructions)
      : OpRewritePattern<Op>(context), instructions(instructions) {}
  bool machineHas(Instructions instruction) const {
    return (instructions & instruction) == instruction;
  }

private:
  Instructions instructions;
};

/// A fused multiply-add where the machine has one, two operations where it would be a call. Where
/// one rounding matters the sum is made in f64 then, which holds the product of two f32.
struct FmaAsMultiplyAdd : MachinePattern<math::FmaOp> {
  using MachinePattern::MachinePattern;
  LogicalResult matchAndRewrite(math::FmaOp op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    bool mayRoundTwice = bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::contract);
    bool isFree = machineHas(Instructions::Fma);
    if (type && (mayRoundTwice || isFree || !type.getElementType().isF32())) {
      rewriter.replaceOpWithNewOp<vector::FMAOp>(op, op.getA(), op.getB(), op.getC());
      return success();
    }
    if (isFree || !getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "an instruction");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto multiplyAdd = [&](Value x, Value y, Value z) -> Value {
      return arith::AddFOp::create(b, arith::MulFOp::create(b, x, y), z);
    };
    if (mayRoundTwice) {
      rewriter.replaceOp(op, multiplyAdd(op.getA(), op.getB(), op.getC()));
      return success();
    }
    Type f64 = type ? Type(type.clone(b.getF64Type())) : Type(b.getF64Type());
    auto wide = [&](Value x) -> Value { return arith::ExtFOp::create(b, f64, x); };
    Value sum = multiplyAdd(wide(op.getA()), wide(op.getB()), wide(op.getC()));
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), sum);
    return success();
  }
};

/// Numbers from 2^23 on are whole, and so they and NaN stay as they are.
Value floorOf(Formula &f, Value x) {
  Value small = f.less(f.abs(x), f.constant(8388608));
  Value tame = f.select(small, x, f.constant(0));
  Value whole = f.toFloat(f.toInteger(tame));
  Value above = f.less(tame, whole);
  Value below = f.sub(whole, f.constant(1));
  return f.select(small, f.select(above, below, whole), x);
}

/// A floor where the machine has no instruction for it.
struct FloorAsArithmetic : MachinePattern<math::FloorOp> {
  using MachinePattern::MachinePattern;
  LogicalResult matchAndRewrite(math::FloorOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32() || machineHas(Instructions::Round))
      return rewriter.notifyMatchFailure(op, "not f32, or an instruction");
    Formula formula(op, rewriter, Exp2::Arithmetic);
    rewriter.replaceOp(op, floorOf(formula, op.getOperand()));
    return success();
  }
};

struct LegalizeMathPass : polyattn::impl::LegalizeMathBase<LegalizeMathPass> {
  using LegalizeMathBase::LegalizeMathBase;

  LogicalResult initialize(MLIRContext *context) final {
    llvm::Expected<Instructions> known = parseInstructions(instructions);
    if (!known)
      return emitError(UnknownLoc::get(context), llvm::toString(known.takeError()));
    has = *known;
    return success();
  }

  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    patterns.add<FloorAsArithmetic, FmaAsMultiplyAdd>(&getContext(), has);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }

private:
  Instructions has = Instructions::None;
};

} // namespace
