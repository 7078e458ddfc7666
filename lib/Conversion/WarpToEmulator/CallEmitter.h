//===- CallEmitter.h - warp ops as calls of the emulator --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_WARPTOEMULATOR_CALLEMITTER_H
#define POLYATTN_LIB_CONVERSION_WARPTOEMULATOR_CALLEMITTER_H

#include "dialects/Warp/Warp.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace polyattn {

/// Replaces the ops of the warp dialect in one function. What lies in memory, or does not fit into
/// a register of every machine, is passed through a slot on the thread's stack.
class CallEmitter {
public:
  CallEmitter(mlir::ModuleOp module, mlir::func::FuncOp function);

  /// Replaces every op; an op's number is its index in the list that `getSites` returns.
  void run();
  /// The ops that can be reported: locations with the name of the op.
  mlir::ArrayAttr getSites() { return builder.getArrayAttr(sites); }

private:
  void replace(mlir::Operation *op);
  void replaceOrder(mlir::Operation *op);
  void replaceMemory(mlir::Operation *op);
  mlir::Value lookup(warp::LookupOp op);
  void replaceNumber(mlir::Operation *op);
  void replace(warp::CopyAsyncOp op);
  void replace(warp::LdmatrixOp op);
  void replace(warp::MmaSyncOp op);
  void replace(warp::ShuffleOp op);
  void replace(warp::AnyOp op);

  /// Calls polyattn_emu_<name>; without a result type it returns nothing.
  mlir::Value call(llvm::StringRef name, mlir::ValueRange operands, mlir::Type result = {});
  mlir::Value site(mlir::Operation *op);
  mlir::Value constant(int64_t value);
  mlir::Value address(mlir::Value base, mlir::Value offset);
  /// The slot's element of number `index`, of 4 bytes.
  mlir::Value slotElement(int index);
  mlir::Value loadSlot(mlir::Type type, int index = 0);
  void storeSlot(mlir::Value value, int index = 0);

  mlir::ModuleOp module;
  mlir::func::FuncOp function;
  mlir::ImplicitLocOpBuilder builder;
  mlir::Type i32, i64, f32, pointer;
  mlir::Value slot;
  llvm::SmallVector<mlir::Attribute> sites;
};

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_WARPTOEMULATOR_CALLEMITTER_H
