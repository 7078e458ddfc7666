//===- Codegen.cpp - from the LLVM dialect to machine code ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "polyattn/Target/CPU.h"
#include "polyattn/Target/DefaultPipeline.h"
#include "polyattn/Target/EmitFile.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace polyattn;

/// LLVM was perhaps built without the target; then lookups fail with its own message.
static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
}

static llvm::CodeGenOptLevel codegenLevel(unsigned level) {
  switch (level) {
  case 0:
    return llvm::CodeGenOptLevel::None;
  case 1:
    return llvm::CodeGenOptLevel::Less;
  case 2:
    return llvm::CodeGenOptLevel::Default;
  default:
    return llvm::CodeGenOptLevel::Aggressive;
  }
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
polyattn::createTargetMachine(const MachineDescription &machine, const CodegenOptions &options) {
  initializeTargets();
  llvm::Triple triple(machine.triple);
  std::string problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return llvm::createStringError("this LLVM cannot generate code for target '" + machine.name +
                                   "' (" + machine.triple + ")");
  llvm::TargetOptions targetOptions;
  // The lowerings say what may be contracted or reassociated; nothing more is allowed.
  targetOptions.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  targetOptions.UseInitArray = true;
  std::unique_ptr<llvm::TargetMachine> result(target->createTargetMachine(
      triple, machine.cpu, machine.features, targetOptions, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, codegenLevel(options.optimizationLevel)));
  if (!result)
    return llvm::createStringError("this LLVM cannot generate code for target '" + machine.name +
                                   "'");
  return std::move(result);
}

llvm::Expected<std::unique_ptr<llvm::Module>>
polyattn::translateToLLVMIR(mlir::ModuleOp module, llvm::LLVMContext &context,
                            const llvm::TargetMachine &target) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  std::unique_ptr<llvm::Module> result = mlir::translateModuleToLLVMIR(module, context);
  if (!result)
    return llvm::createStringError("the LLVM dialect could not be translated to LLVM IR");
  result->setTargetTriple(target.getTargetTriple());
  result->setDataLayout(target.createDataLayout());
  for (llvm::Function &function : *result)
    if (!function.isDeclaration()) {
      function.addFnAttr(llvm::Attribute::NoUnwind);
      function.addFnAttr("target-cpu", target.getTargetCPU());
      function.addFnAttr("target-features", target.getTargetFeatureString());
      // Vectors as wide as the registers must not be split.
      function.addFnAttr("min-legal-vector-width", "512");
      function.addFnAttr("prefer-vector-width", "512");
    }
  return std::move(result);
}

std::string polyattn::kernelSymbol(llvm::StringRef name) { return ("polyattn_code_" + name).str(); }

void polyattn::useKernelSymbols(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setName(kernelSymbol(function.getName()));
}

namespace {
/// Leaves out passes that take a third of the time to generate code and gain nothing over what the
/// lowering chose. Loop strength reduction, before which loops are put in order for it, looks at
/// every way to write the addresses of a nest. Hoisting machine instructions before registers are
/// allocated makes the allocator split what then lives through a loop. The machine scheduler finds
/// the order of products that they are emitted in.
struct WithoutIdlePasses : CodegenGate {
  explicit WithoutIdlePasses(const llvm::Triple &triple) : isX86(triple.isX86()) {}
  bool shouldRunPass(llvm::StringRef name, llvm::StringRef unit) const override {
    if (!CodegenGate::shouldRunPass(name, unit))
      return false;
    if (name == "Loop Strength Reduction" || name == "Canonicalize Freeze Instructions in Loops")
      return false;
    // Measured on processors of x86-64, which order instructions themselves.
    return !isX86 || (name != "early-machinelicm" && name != "machine-scheduler");
  }

private:
  bool isX86;
};
} // namespace

/// No parser of assembly is linked, and LLVM ends the process where it would need one.
static llvm::Error checkNoAssembly(const llvm::Module &module) {
  bool hasAssembly = !module.getModuleInlineAsm().empty();
  for (const llvm::Function &function : module)
    for (const llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        hasAssembly |= call->isInlineAsm();
  if (hasAssembly)
    return llvm::createStringError("the module has assembly in it, which is not supported");
  return llvm::Error::success();
}

llvm::Expected<llvm::SmallVector<char, 0>> polyattn::generateCode(llvm::Module &module,
                                                                  llvm::TargetMachine &target,
                                                                  CodeFile file,
                                                                  const CodegenOptions &options) {
  if (llvm::Error error = checkNoAssembly(module))
    return std::move(error);
  if (options.frameBytes)
    for (llvm::Function &function : module)
      if (!function.isDeclaration())
        function.addFnAttr("warn-stack-size", std::to_string(options.frameBytes));
  if (options.optimizeIR)
    runDefaultPipeline(module, target, llvm::OptimizationLevel::O2);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::CodeGenFileType type = file == CodeFile::Assembly ? llvm::CodeGenFileType::AssemblyFile
                                                          : llvm::CodeGenFileType::ObjectFile;
  WithoutIdlePasses gate(target.getTargetTriple());
  if (llvm::Error error = emitFile(module, target, stream, type,
                                   "code for " + target.getTargetTriple().str(), gate))
    return std::move(error);
  return std::move(bytes);
}
