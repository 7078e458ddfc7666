//===- Codegen.cpp - from the LLVM dialect to PTX -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "polyattn/Target/DefaultPipeline.h"
#include "polyattn/Target/EmitFile.h"
#include "polyattn/Target/NVPTX.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace polyattn;

/// Pointers to shared memory have 32 bits: with 64, big kernels spill. LLVM has an option for it,
/// but neither a field of TargetOptions nor an ABI's name leads there, and the option is read
/// while a TargetMachine is made. So it is set here, by name and once, without parsing a command
/// line, which is the program's. It concerns this target only, and everyone in this process gets
/// the same.
static void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    auto &options = llvm::cl::getRegisteredOptions();
    if (auto found = options.find("nvptx-short-ptr"); found != options.end())
      found->second->addOccurrence(/*pos=*/0, "nvptx-short-ptr", "true");
  });
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const GPUDescription &gpu) {
  initializeTarget();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return llvm::createStringError("this LLVM cannot generate code for target '" + gpu.name + "'");
  llvm::TargetOptions options;
  // The lowerings say what may be contracted or reassociated; nothing more is allowed.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, gpu.name, "+ptx" + std::to_string(gpu.ptxVersion), options, std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  constexpr unsigned shared = 3;
  if (!machine || machine->createDataLayout().getPointerSize(shared) != 4)
    return llvm::createStringError("this LLVM cannot generate code for target '" + gpu.name +
                                   "' with short pointers");
  return std::move(machine);
}

/// LLVM thinks that a product on tensor cores concerns its thread alone, and might move it under a
/// condition that only some threads meet.
static void markCollectives(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
          llvm::StringRef name = call->getCalledFunction()->getName();
          if (name.starts_with("llvm.nvvm.mma.") || name.starts_with("llvm.nvvm.ldmatrix."))
            call->setConvergent();
        }
}

llvm::Expected<GPUCode> polyattn::translateToLLVMIR(mlir::gpu::GPUModuleOp kernels,
                                                    llvm::LLVMContext &context,
                                                    const GPUDescription &gpu) {
  auto machine = createTargetMachine(gpu);
  if (!machine)
    return machine.takeError();
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerGPUDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
  kernels.getContext()->appendDialectRegistry(registry);
  auto module = mlir::translateModuleToLLVMIR(kernels, context, kernels.getName());
  if (!module)
    return llvm::createStringError("the LLVM dialect could not be translated to LLVM IR");
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  markCollectives(*module);
  return GPUCode{std::move(*machine), std::move(module)};
}

/// LLVM's -O3 without its vectorizers, as a thread has no vectors, and without unrolling: loops of
/// the warp dialect say how many of their iterations are computed at once, and kernels that LLVM
/// unrolls further spill hundreds of bytes.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.LoopInterleaving = false;
  tuning.LoopUnrolling = false;
  tuning.SLPVectorization = false;
  runDefaultPipeline(module, machine, llvm::OptimizationLevel::O3, tuning);
}

/// PTX says of every loop that it is as it should be: ptxas would unroll loops until no register is
/// left, and then spill.
static void keepLoops(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    llvm::DominatorTree dominators(function);
    llvm::LoopInfo loops(dominators);
    for (llvm::Loop *loop : loops.getLoopsInPreorder())
      loop->setLoopAlreadyUnrolled();
  }
}

/// A name of a function that only a linker could find.
static llvm::Error checkSelfContained(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      return llvm::createStringError("the kernels call '" + function.getName() +
                                     "', which no library on a GPU has");
  return llvm::Error::success();
}

/// Printing a name that PTX cannot write ends the process.
static llvm::Error checkNames(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    for (char c : function.isIntrinsic() ? llvm::StringRef() : function.getName())
      if (!llvm::isAlnum(c) && c != '_' && c != '$')
        return llvm::createStringError(
            "@" + function.getName() +
            ": expected a name of letters, digits, _ and $, as PTX has no "
            "others");
  return llvm::Error::success();
}

llvm::Expected<std::string> polyattn::generatePTX(GPUCode code) {
  if (llvm::Error error = checkNames(*code.module))
    return std::move(error);
  if (llvm::Error error = checkSelfContained(*code.module))
    return std::move(error);
  optimize(*code.module, *code.machine);
  keepLoops(*code.module);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  CodegenGate gate;
  if (llvm::Error error = emitFile(*code.module, *code.machine, stream,
                                   llvm::CodeGenFileType::AssemblyFile, "PTX", gate))
    return std::move(error);
  return text.str().str();
}
