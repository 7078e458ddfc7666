//===- VectorEmission.h - vectors of feature ops as tiles -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One overload of `emit` per feature op whose rows cannot be computed alone, a file per family:
// the op's result, [width] x [columns] of a program that has the op's operands. Element-wise ops
// are in ElementEmission.h.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_VECTOREMISSION_H
#define POLYATTN_CONVERSION_VECTOREMISSION_H

#include "VectorProgram.h"

namespace polyattn {

// StructureEmission.cpp
mlir::Value emit(VectorProgram &program, ConstantOp op);
mlir::Value emit(VectorProgram &program, SelectOp op);
mlir::Value emit(VectorProgram &program, ScatterOp op);
mlir::Value emit(VectorProgram &program, TriuOp op);
mlir::Value emit(VectorProgram &program, TensorOp op);
mlir::Value emit(VectorProgram &program, PowerOp op);
mlir::Value emit(VectorProgram &program, ExpScoreOp op);
mlir::Value emit(VectorProgram &program, ConcatOp op);

// NormEmission.cpp
mlir::Value emit(VectorProgram &program, SquaredNormOp op);
mlir::Value emit(VectorProgram &program, MaxOp op);
mlir::Value emit(VectorProgram &program, SumOp op);
mlir::Value emit(VectorProgram &program, FirstMaxOp op);
mlir::Value emit(VectorProgram &program, LayerNormOp op);
mlir::Value emit(VectorProgram &program, L2NormOp op);
mlir::Value emit(VectorProgram &program, L2RescaleOp op);
mlir::Value emit(VectorProgram &program, SumNormOp op);
mlir::Value emit(VectorProgram &program, SoftmaxOp op);

// PositionEmission.cpp
mlir::Value emit(VectorProgram &program, RopeOp op);
mlir::Value emit(VectorProgram &program, RelativeOp op);
mlir::Value emit(VectorProgram &program, RelativeSlopeOp op);
mlir::Value emit(VectorProgram &program, ConvolveOp op);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_VECTOREMISSION_H
