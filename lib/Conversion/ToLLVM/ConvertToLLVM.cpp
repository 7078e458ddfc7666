//===- ConvertToLLVM.cpp - the last conversion of a module ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvertToLLVM.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Rewrite/PatternApplicator.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

/// Loops and branches of scf become those of cf, the inner ones first. What no pattern takes stays.
static void lowerControlFlow(Operation *root) {
  RewritePatternSet patterns(root->getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  FrozenRewritePatternSet frozen(std::move(patterns));
  PatternApplicator applicator(frozen);
  applicator.applyDefaultCostModel();
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    // Terminators go with their loops.
    if (isa<scf::SCFDialect>(op->getDialect()) && !op->hasTrait<OpTrait::IsTerminator>())
      ops.push_back(op);
  });
  PatternRewriter rewriter(root->getContext());
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    (void)applicator.matchAndRewrite(op, rewriter);
  }
}

LogicalResult polyattn::convertToLLVM(Operation *root, const ConversionTarget &target,
                                      const LLVMTypeConverter &converter,
                                      RewritePatternSet patterns) {
  lowerControlFlow(root);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  // Each op has one pattern that takes it, so none has to be kept until another has failed, which
  // takes half of the time. With loops this would not do: their values are replaced twice.
  ConversionConfig config;
  config.allowPatternRollback = false;
  return applyFullConversion(root, target, std::move(patterns), config);
}
