//===- CopyKernel.h - a kernel by hand that obeys the ABI -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_UNIT_JIT_COPYKERNEL_H
#define POLYATTN_TEST_UNIT_JIT_COPYKERNEL_H

#include "mlir/Parser/Parser.h"
#include "polyattn/Compiler/Compile.h"
#include "polyattn/Pipelines/Registration.h"

namespace polyattn::test {

/// o = q for tensors [B, T, H, 4], each program instance using its scratch.
inline constexpr const char *kCopyModule = R"(
llvm.func @copy(%tensors: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr)
    attributes {tile.scratch_bytes = 64 : i64} {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c4 = llvm.mlir.constant(4 : i64) : i64
  %q_pointer = llvm.load %tensors : !llvm.ptr -> !llvm.ptr
  %o_slot = llvm.getelementptr %tensors[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %o_pointer = llvm.load %o_slot : !llvm.ptr -> !llvm.ptr
  %q = llvm.load %q_pointer
    : !llvm.ptr -> !llvm.struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>
  %o = llvm.load %o_pointer
    : !llvm.ptr -> !llvm.struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>
  %qd = llvm.extractvalue %q[1] : !llvm.struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>
  %od = llvm.extractvalue %o[1] : !llvm.struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>
  %T = llvm.extractvalue %q[3, 1] : !llvm.struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>
  %H = llvm.extractvalue %q[3, 2] : !llvm.struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>
  %qb = llvm.extractvalue %q[4, 0] : !llvm.struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>
  %qt = llvm.extractvalue %q[4, 1] : !llvm.struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>
  %qh = llvm.extractvalue %q[4, 2] : !llvm.struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>
  %ob = llvm.extractvalue %o[4, 0] : !llvm.struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>
  %ot = llvm.extractvalue %o[4, 1] : !llvm.struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>
  %oh = llvm.extractvalue %o[4, 2] : !llvm.struct<(ptr, ptr, i64, array<4 x i64>, array<4 x i64>)>
  llvm.br ^programs(%begin : i64)
^programs(%p: i64):
  %more = llvm.icmp "slt" %p, %end : i64
  llvm.cond_br %more, ^program, ^done
^program:
  %b = llvm.sdiv %p, %H : i64
  %h = llvm.srem %p, %H : i64
  %q0 = llvm.mul %b, %qb : i64
  %q1 = llvm.mul %h, %qh : i64
  %q_base = llvm.add %q0, %q1 : i64
  %o0 = llvm.mul %b, %ob : i64
  %o1 = llvm.mul %h, %oh : i64
  %o_base = llvm.add %o0, %o1 : i64
  llvm.br ^rows(%c0 : i64)
^rows(%t: i64):
  %in_rows = llvm.icmp "slt" %t, %T : i64
  llvm.cond_br %in_rows, ^row, ^next
^row:
  %qr = llvm.mul %t, %qt : i64
  %q_index = llvm.add %q_base, %qr : i64
  %or = llvm.mul %t, %ot : i64
  %o_index = llvm.add %o_base, %or : i64
  %from = llvm.getelementptr %qd[%q_index] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %to = llvm.getelementptr %od[%o_index] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %loaded = llvm.load %from {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
  llvm.store %loaded, %scratch {alignment = 64 : i64} : vector<4xf32>, !llvm.ptr
  %kept = llvm.load volatile %scratch {alignment = 64 : i64} : !llvm.ptr -> vector<4xf32>
  llvm.store %kept, %to {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr
  %t1 = llvm.add %t, %c1 : i64
  llvm.br ^rows(%t1 : i64)
^next:
  %p1 = llvm.add %p, %c1 : i64
  llvm.br ^programs(%p1 : i64)
^done:
  llvm.return
}
tile.entry @copy tensors 2 inputs 1 {
  tile.stage @copy programs [dim(0, 0), dim(0, 2)]
}
)";

inline KernelDescription copyDescription() {
  KernelDescription result;
  result.entry = "copy";
  result.tensors = {{"q", false, ElementType::F32, {kBatch, kPositions, kHeads, 4}},
                    {"o", true, ElementType::F32, {kBatch, kPositions, kHeads, 4}}};
  LaunchStage stage;
  stage.function = "copy";
  stage.programs = {LaunchExtent::dimensionOf(0, 0), LaunchExtent::dimensionOf(0, 2)};
  result.plan.stages = {stage};
  return result;
}

inline CompileOptions nativeOptions() {
  CompileOptions options;
  options.machine = llvm::cantFail(findMachine("native"));
  return options;
}

/// The kernel under a name of its own.
inline LoweredModule copyModule(llvm::StringRef name = "copy") {
  LoweredModule result;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  result.context = std::make_unique<mlir::MLIRContext>(registry);
  std::string text = kCopyModule, from = "@copy";
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += name.size())
    text.replace(at, from.size(), ("@" + name).str());
  result.module = mlir::parseSourceString<mlir::ModuleOp>(text, result.context.get());
  result.kernels = {copyDescription()};
  result.kernels.front().entry = name.str();
  return result;
}

} // namespace polyattn::test

#endif // POLYATTN_TEST_UNIT_JIT_COPYKERNEL_H
