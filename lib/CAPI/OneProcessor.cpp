//===- OneProcessor.cpp - code for the processor that the library runs on -===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C API compiles, loads and saves for processors of its own architecture only; the tools write
// code for others. Code generation registers all of LLVM's targets, and finds these functions where
// those of the other architecture would be, so that the linker leaves its archives out: a tenth of
// a wheel.
//
//===----------------------------------------------------------------------===//

extern "C" {
#ifdef __x86_64__
void LLVMInitializeAArch64TargetInfo() {}
void LLVMInitializeAArch64Target() {}
void LLVMInitializeAArch64TargetMC() {}
void LLVMInitializeAArch64AsmPrinter() {}
#elif defined(__aarch64__)
void LLVMInitializeX86TargetInfo() {}
void LLVMInitializeX86Target() {}
void LLVMInitializeX86TargetMC() {}
void LLVMInitializeX86AsmPrinter() {}
#endif
}
