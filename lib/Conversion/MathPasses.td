//===- MathPasses.td - passes that leave what machines have of mathematical functions ===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_MATH_PASSES
#define POLYATTN_MATH_PASSES

include "mlir/Pass/PassBase.td"

def ExpandMath : Pass<"polyattn-expand-math"> {
  let summary = "functions become arithmetic";
  let description = [{
    exp, expm1, log, log2, log1p, powf, tanh, erf, erfc, sin and cos of f32, single or in vectors,
    become arithmetic. It consists of multiply-adds, `math.absf`, `math.copysign`, `math.floor`, an
    `afn` division and `math.exp2`. `math.exp2` is expanded as well if a machine has no instruction
    for it, as processors. Other functions of the math dialect would be calls of libm, one for each
    lane. sin and cos reduce arguments up to 1.5e6 without loss.

    Numeric contract: relative error below 1e-6 where exp2 has one below 3e-7; infinities and NaN as
    C's functions have them. Results below 2^-126 may be 0, below 2^-125 where exp2 is expanded, and
    zeros may lose their sign. `math.exp` with `afn` becomes one exp2 of a product where that is an
    instruction; its relative error grows with the argument to 1e-5.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [
    Option<"hasExp2", "has-exp2", "bool", "true", "The machine has an instruction for exp2">,
  ];
}

def LegalizeMath : Pass<"polyattn-legalize-math", "::mlir::func::FuncOp"> {
  let summary = "ops without an instruction of the processor become several";
  let description = [{
    `--polyattn-expand-math` leaves square roots, absolute values, signs, floors and fused
    multiply-adds of the math dialect. Not every processor has instructions for the last two. They
    would be calls of libm, one for each lane.

    Numeric contract: exact; a fused multiply-add with `contract` may round twice.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
  let options = [
    Option<"instructions", "instructions", "std::string", "\"fma,round\"",
           "The available vector instructions, as for --tile-to-vector">,
  ];
}

#endif // POLYATTN_MATH_PASSES
