//===- VectorToLLVM.cpp - vector code to the LLVM dialect -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "polyattn/Conversion/TileToVector.h"

using namespace mlir;

namespace {

/// exp2(x) = exp(x ln 2), for which there is an approximation.
struct Exp2AsExp : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::Exp2Op op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    TypedAttr ln2 = rewriter.getFloatAttr(getElementTypeOrSelf(type), 0.69314718055994530942);
    if (auto vector = dyn_cast<VectorType>(type))
      ln2 = DenseElementsAttr::get(vector, Attribute(ln2));
    Value factor = arith::ConstantOp::create(rewriter, op.getLoc(), ln2);
    Value scaled = arith::MulFOp::create(rewriter, op.getLoc(), op.getOperand(), factor);
    rewriter.replaceOpWithNewOp<math::ExpOp>(op, scaled);
    return success();
  }
};

/// A fused multiply-add where the machine has one, two operations where it would be a call.
struct FmaAsMultiplyAdd : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FmaOp op, PatternRewriter &rewriter) const override {
    if (!isa<VectorType>(op.getType()))
      return rewriter.notifyMatchFailure(op, "not a vector");
    rewriter.replaceOpWithNewOp<vector::FMAOp>(op, op.getA(), op.getB(), op.getC());
    return success();
  }
};

/// Registers of four lanes may belong to a machine that has no instruction for floor. Numbers
/// from 2^23 on are whole, and so they and NaN stay as they are.
struct FloorOfFourLanes : OpRewritePattern<math::FloorOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FloorOp op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getNumElements() > 4 || !type.getElementType().isF32())
      return rewriter.notifyMatchFailure(op, "not a short vector of f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto number = [&](float x) -> Value {
      return arith::ConstantOp::create(b, DenseElementsAttr::get(type, x));
    };
    Value x = op.getOperand();
    Value magnitude = math::AbsFOp::create(b, x);
    Value small =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, magnitude, number(8388608.0f));
    Value tame = arith::SelectOp::create(b, small, x, number(0));
    Value cut = arith::FPToSIOp::create(b, type.clone(b.getI32Type()), tame);
    Value whole = arith::SIToFPOp::create(b, type, cut);
    Value above = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, whole, tame);
    Value below = arith::SubFOp::create(b, whole, number(1));
    Value floor = arith::SelectOp::create(b, above, below, whole);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, small, floor, x);
    return success();
  }
};

/// Functions become polynomials: what is left of the math dialect would become calls of libm,
/// one for each lane.
struct ApproximateMathPass : PassWrapper<ApproximateMathPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApproximateMathPass)
  StringRef getArgument() const final { return "polyattn-approximate-math"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect>();
  }
  bool hasFunctions() {
    return getOperation()
        .walk([](Operation *op) {
          bool function = isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
                          !isa<math::SqrtOp, math::AbsFOp>(op);
          bool rounds = isa<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op);
          return function || rounds ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }
  void runOnOperation() final {
    if (!hasFunctions())
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<Exp2AsExp, FloorOfFourLanes, FmaAsMultiplyAdd>(&getContext());
    // 1 / sqrt is exact and as fast as a vector; its expansion does not take vectors.
    auto wanted = [](StringRef name) {
      return name != math::Exp2Op::getOperationName() && name != math::RsqrtOp::getOperationName();
    };
    populateMathF32ExpansionPatterns(patterns, wanted);
    populateMathPolynomialApproximationPatterns(patterns, wanted);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    FrozenRewritePatternSet frozen(std::move(patterns));
    // What an expansion leaves may have one of its own.
    constexpr int deepest = 4;
    for (int i = 0; i < deepest && hasFunctions(); ++i)
      walkAndApplyPatterns(getOperation(), frozen);
  }
};

/// One conversion for every dialect that tile-to-vector uses.
struct VectorToLLVMPass : PassWrapper<VectorToLLVMPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VectorToLLVMPass)
  StringRef getArgument() const final { return "polyattn-vector-to-llvm"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<LLVM::LLVMDialect, cf::ControlFlowDialect>();
  }
  void runOnOperation() final {
    MLIRContext *context = &getContext();
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    LLVMTypeConverter converter(context);
    RewritePatternSet patterns(context);
    populateSCFToControlFlowConversionPatterns(patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void polyattn::buildVectorToLLVMPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(std::make_unique<ApproximateMathPass>());
  pm.addPass(std::make_unique<VectorToLLVMPass>());
}
