//===- CPU.h - machine code for processors ----------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TARGET_CPU_H
#define POLYATTN_TARGET_CPU_H

#include "mlir/IR/BuiltinOps.h"
#include "polyattn/Target/MachineDescription.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>
#include <optional>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace polyattn {

/// A machine that `findMachine` knows, and which processors that is.
struct MachineName {
  llvm::StringRef name, description;
};
llvm::SmallVector<MachineName> namedMachines();

/// The machine of a name, one of `namedMachines`; "native" is "cpu", with everything it has. Any
/// other name is an error that lists them.
llvm::Expected<MachineDescription> findMachine(llvm::StringRef name);

/// The instructions that come with features, as LLVM names them: "fma,+avx512f,-avx2". Features
/// that bring none that a lowering asks for are passed over.
Instructions instructionsOf(llvm::StringRef features);
/// A set of instructions as text, "fma,round" or "none", and back; an unknown name is an error that
/// lists those known.
std::string toText(Instructions instructions);
llvm::Expected<Instructions> parseInstructions(llvm::StringRef text);

/// Whether code for `machine` can run in this process.
bool isHostArchitecture(const MachineDescription &machine);

/// Code generation alone, as the lowerings emit flat vector code already; `optimizeIR` runs
/// LLVM's -O2 pipeline first, at several times the compile time.
struct CodegenOptions {
  unsigned optimizationLevel = 2; // 0 to 3, of the code generator
  bool optimizeIR = false;
  unsigned frameBytes = 0; // of a function, more is an error; 0 is no limit
};

/// A code generator for `machine`: position-independent code, small code model.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const MachineDescription &machine, const CodegenOptions &options = {});

/// A module of the LLVM dialect as LLVM IR, with the target's triple and data layout.
llvm::Expected<std::unique_ptr<llvm::Module>> translateToLLVMIR(mlir::ModuleOp module,
                                                                llvm::LLVMContext &context,
                                                                const llvm::TargetMachine &target);

/// What the code generator writes.
enum class CodeFile { Assembly, Object };

/// Machine code of a module; the module is consumed.
llvm::Expected<llvm::SmallVector<char, 0>> generateCode(llvm::Module &module,
                                                        llvm::TargetMachine &target, CodeFile file,
                                                        const CodegenOptions &options = {});

/// The symbol of a kernel in code that only we link: its own name might be that of a function which
/// code generation calls, or which the program has already.
std::string kernelSymbol(llvm::StringRef name);

/// Gives the functions that a module defines these symbols.
void useKernelSymbols(llvm::Module &module);

} // namespace polyattn

#endif // POLYATTN_TARGET_CPU_H
