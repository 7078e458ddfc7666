//===- Fragments.cpp - collectives of a warp ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace polyattn;

/// The members of a struct of equal types.
static SmallVector<Value> unpack(OpBuilder &builder, Location location, Value packed, int count) {
  SmallVector<Value> values;
  for (int i = 0; i < count; ++i)
    values.push_back(LLVM::ExtractValueOp::create(builder, location, packed, i));
  return values;
}

namespace {

struct Ldmatrix : ConvertOpToLLVMPattern<warp::LdmatrixOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::LdmatrixOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location location = op.getLoc();
    int count = op.getNumResults();
    Type type = rewriter.getI32Type();
    if (count > 1)
      type = LLVM::LLVMStructType::getLiteral(op.getContext(), SmallVector<Type>(count, type));
    Value pointer = createSharedPointer(rewriter, location, adaptor.getAddress());
    Value loaded = NVVM::LdMatrixOp::create(
        rewriter, location, type, pointer, count,
        op.getTransposed() ? NVVM::MMALayout::col : NVVM::MMALayout::row,
        NVVM::LdStMatrixShapeAttr::get(op.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
    if (count == 1)
      rewriter.replaceOp(op, loaded);
    else
      rewriter.replaceOp(op, unpack(rewriter, location, loaded, count));
    return success();
  }
};

struct MmaSync : ConvertOpToLLVMPattern<warp::MmaSyncOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::MmaSyncOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location location = op.getLoc();
    SmallVector<Value> a = {adaptor.getA0(), adaptor.getA1(), adaptor.getA2(), adaptor.getA3()};
    SmallVector<Value> b = {adaptor.getB0(), adaptor.getB1()};
    Value c[] = {adaptor.getC0(), adaptor.getC1(), adaptor.getC2(), adaptor.getC3()};
    NVVM::MMATypes kind = NVVM::MMATypes::bf16;
    if (op.getKind() == warp::OperandKind::F16) {
      // The one kind that NVVM does not take as plain registers.
      kind = NVVM::MMATypes::f16;
      Type pair = VectorType::get(2, rewriter.getF16Type());
      for (SmallVector<Value> *operands : {&a, &b})
        for (Value &operand : *operands)
          operand = LLVM::BitcastOp::create(rewriter, location, pair, operand);
    } else if (op.getKind() == warp::OperandKind::TF32) {
      kind = NVVM::MMATypes::tf32;
    }
    Type result = LLVM::LLVMStructType::getLiteral(op.getContext(),
                                                   SmallVector<Type>(4, rewriter.getF32Type()));
    int64_t depth = op.getKind() == warp::OperandKind::TF32 ? 8 : 16;
    Value product = NVVM::MmaOp::create(
        rewriter, location, result, a, b, c, ArrayRef<int64_t>{16, 8, depth}, std::nullopt,
        std::nullopt, std::array<NVVM::MMATypes, 2>{kind, kind},
        std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
    rewriter.replaceOp(op, unpack(rewriter, location, product, 4));
    return success();
  }
};

struct Shuffle : ConvertOpToLLVMPattern<warp::ShuffleOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::ShuffleOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    // `limit` is the last lane that a number may come from; upwards, the first.
    NVVM::ShflKind kind = NVVM::ShflKind::bfly;
    int32_t limit = 31;
    if (op.getMode() == warp::ShuffleMode::Index) {
      kind = NVVM::ShflKind::idx;
    } else if (op.getMode() == warp::ShuffleMode::Up) {
      kind = NVVM::ShflKind::up;
      limit = 0;
    }
    auto number = [&](int32_t value) { return createI32(rewriter, op.getLoc(), value); };
    rewriter.replaceOpWithNewOp<NVVM::ShflOp>(op, op.getType(), number(kWholeWarp),
                                              adaptor.getValue(), adaptor.getLane(), number(limit),
                                              kind, UnitAttr());
    return success();
  }
};

struct Any : ConvertOpToLLVMPattern<warp::AnyOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::AnyOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::VoteSyncOp>(op, rewriter.getI1Type(),
                                                  createI32(rewriter, op.getLoc(), kWholeWarp),
                                                  adaptor.getCondition(), NVVM::VoteSyncKind::any);
    return success();
  }
};

struct Pack : ConvertOpToLLVMPattern<warp::PackOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::PackOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value pair =
        op.getKind() == warp::OperandKind::BF16
            ? convert<NVVM::ConvertF32x2ToBF16x2Op>(op, adaptor, rewriter.getBF16Type(), rewriter)
            : convert<NVVM::ConvertF32x2ToF16x2Op>(op, adaptor, rewriter.getF16Type(), rewriter);
    rewriter.replaceOpWithNewOp<LLVM::BitcastOp>(op, rewriter.getI32Type(), pair);
    return success();
  }

private:
  template <typename Op>
  static Value convert(warp::PackOp op, OpAdaptor adaptor, Type element, OpBuilder &builder) {
    return Op::create(builder, op.getLoc(), VectorType::get(2, element), adaptor.getHigh(),
                      adaptor.getLow(), /*random_bits=*/Value(), NVVM::FPRoundingMode::RN);
  }
};

/// LLVM writes fma with -0, which rounds alike, for the chips that have no other product.
struct MultiplyPairs : ConvertOpToLLVMPattern<warp::MultiplyPairsOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::MultiplyPairsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type pair = VectorType::get(2, rewriter.getBF16Type());
    auto pairOf = [&](Value word) {
      return LLVM::BitcastOp::create(rewriter, op.getLoc(), pair, word);
    };
    Value product = LLVM::FMulOp::create(rewriter, op.getLoc(), pairOf(adaptor.getLhs()),
                                         pairOf(adaptor.getRhs()));
    rewriter.replaceOpWithNewOp<LLVM::BitcastOp>(op, op.getType(), product);
    return success();
  }
};

struct RoundTf32 : ConvertOpToLLVMPattern<warp::RoundTf32Op> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::RoundTf32Op op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value rounded =
        NVVM::ConvertFloatToTF32Op::create(rewriter, op.getLoc(), rewriter.getI32Type(),
                                           adaptor.getValue(), NVVM::FPRoundingMode::RNA);
    rewriter.replaceOpWithNewOp<LLVM::BitcastOp>(op, op.getType(), rounded);
    return success();
  }
};

/// An assembly of nothing: what goes in comes out, and as it says to have effects it stays where it
/// is.
struct Opaque : ConvertOpToLLVMPattern<warp::OpaqueOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::OpaqueOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::InlineAsmOp>(
        op, op.getType(), adaptor.getValue(), /*asm_string=*/"",
        /*constraints=*/op.getType().isInteger(64) ? "=l,0" : "=r,0",
        /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
        LLVM::AsmDialectAttr(), ArrayAttr());
    return success();
  }
};

} // namespace

void polyattn::populateFragmentPatterns(LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<Ldmatrix, MmaSync, Shuffle, Any, Pack, MultiplyPairs, RoundTf32, Opaque>(converter);
}
