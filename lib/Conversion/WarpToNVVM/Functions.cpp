//===- Functions.cpp - functions that a GPU has instructions for ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// A function of f32 as an instruction, element by element.
template <typename Op> struct Approximate : ConvertOpToLLVMPattern<Op> {
  Approximate(const LLVMTypeConverter &converter, StringRef intrinsic)
      // Before the general pattern, which knows exp2 as a call.
      : ConvertOpToLLVMPattern<Op>(converter, /*benefit=*/2), intrinsic(intrinsic) {}

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!vector) {
      rewriter.replaceOp(op, call(op, adaptor.getOperand(), rewriter));
      return success();
    }
    if (vector.getRank() != 1)
      return rewriter.notifyMatchFailure(op, "not of rank 1");
    Value result = LLVM::PoisonOp::create(rewriter, op.getLoc(), vector);
    for (int64_t i = 0; i < vector.getNumElements(); ++i) {
      Value place = createI32(rewriter, op.getLoc(), i);
      Value element =
          LLVM::ExtractElementOp::create(rewriter, op.getLoc(), adaptor.getOperand(), place);
      result = LLVM::InsertElementOp::create(rewriter, op.getLoc(), result,
                                             call(op, element, rewriter), place);
    }
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  Value call(Op op, Value x, OpBuilder &builder) const {
    return LLVM::CallIntrinsicOp::create(builder, op.getLoc(), builder.getF32Type(),
                                         builder.getStringAttr(intrinsic), x)
        .getResult(0);
  }
  std::string intrinsic;
};

} // namespace

bool polyattn::hasInstruction(Operation *op) {
  Type type = getElementTypeOrSelf(op->getResult(0).getType());
  if (isa<math::Exp2Op, math::RsqrtOp>(op))
    return type.isF32();
  if (isa<math::AbsFOp, math::FmaOp>(op))
    return true;
  return isa<math::CeilOp, math::CopySignOp, math::FloorOp, math::RoundEvenOp, math::SqrtOp,
             math::TruncOp>(op) &&
         (type.isF32() || type.isF64());
}

void polyattn::populateFunctionPatterns(LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<Approximate<math::Exp2Op>>(converter, "llvm.nvvm.ex2.approx.ftz.f32");
  patterns.add<Approximate<math::RsqrtOp>>(converter, "llvm.nvvm.rsqrt.approx.ftz.f");
  populateMathToLLVMConversionPatterns(converter, patterns);
}
