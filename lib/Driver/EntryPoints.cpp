//===- EntryPoints.cpp - the C functions of a shared library --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryPoints.h"
#include "polyattn/Compiler/Version.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

using namespace polyattn;

namespace {
/// Writes the runtime's structs (runtime/runtime.h) as constants.
class Tables {
public:
  explicit Tables(llvm::Module &module)
      : module(module), context(module.getContext()),
        pointer(llvm::PointerType::getUnqual(context)), i32(llvm::Type::getInt32Ty(context)),
        i64(llvm::Type::getInt64Ty(context)) {}

  llvm::Constant *kernel(const KernelDescription &kernel) {
    llvm::SmallVector<llvm::Constant *> tensors;
    for (const TensorDescription &tensor : kernel.tensors)
      tensors.push_back(anonymous(
          {string(tensor.name), llvm::ConstantInt::get(i32, tensor.isResult),
           llvm::ConstantInt::get(i32, dtypeOf(tensor.dtype)), number(tensor.sizes.size()),
           numbers(tensor.sizes, POLYATTN_MAX_RANK, 0), number(tensor.argument.value_or(-1) + 1)}));
    return global(
        anonymous({string(kernel.entry), array(tensors), number(tensors.size()), plan(kernel.plan),
                   string(kernel.target), numbers(kernel.fixedSizes, kernel.fixedSizes.size(), -1),
                   llvm::ConstantDataArray::get(
                       context, llvm::ArrayRef<uint64_t>(cpuFeatureBits(kernel.cpuFeatures).bits)),
                   anonymous({number(kernel.firstPosition ? kernel.firstPosition->tensor : 0),
                              number(kernel.firstPosition ? kernel.firstPosition->unit : 0)}),
                   number(kernel.slots.value_or(-1) + 1), number(kernel.lengths.value_or(-1) + 1),
                   number(kernel.offsets.value_or(-1) + 1), limits(kernel)}));
  }

private:
  llvm::Constant *limits(const KernelDescription &kernel) {
    llvm::SmallVector<int64_t> all;
    for (const polyattn_rt_limit_rule &limit : limitRules(kernel))
      all.append({limit.most, limit.tensor});
    return numbers(all, all.size(), 0);
  }
  // The tables of the runtime's form, whose fields are numbers but for the pointers.
  llvm::Constant *plan(const LaunchPlan &plan) {
    RuntimePlan runtime(plan);
    const polyattn_rt_plan &tables = runtime.get();
    llvm::SmallVector<llvm::Constant *> workspaces, stages, choices;
    for (const auto &workspace : llvm::ArrayRef(tables.workspaces, tables.num_workspaces))
      workspaces.push_back(words(workspace));
    for (const auto &choice : llvm::ArrayRef(tables.choices, tables.num_choices))
      choices.push_back(words(choice));
    for (const auto &[stage, from] :
         llvm::zip_equal(llvm::ArrayRef(tables.stages, tables.num_stages), plan.stages))
      stages.push_back(anonymous(
          {module.getFunction(from.function), number(stage.kind), number(stage.scratch_bytes),
           number(stage.cluster), words(stage.programs), number(stage.num_programs),
           from.workspaces.empty() ? llvm::ConstantPointerNull::get(pointer)
                                   : global(numbers(from.workspaces, from.workspaces.size(), 0)),
           number(stage.num_workspaces)}));
    return anonymous({array(workspaces), number(workspaces.size()), array(stages),
                      number(stages.size()), array(choices), number(choices.size())});
  }
  /// A struct of int64 as an array of them.
  template <typename Struct> llvm::Constant *words(const Struct &value) {
    constexpr size_t kBytes = sizeof(Struct), kWordBytes = sizeof(int64_t);
    static_assert(kBytes % kWordBytes == 0);
    llvm::SmallVector<int64_t> all(kBytes / kWordBytes);
    memcpy(all.data(), &value, kBytes);
    return numbers(all, all.size(), 0);
  }
  llvm::Constant *number(int64_t value) { return llvm::ConstantInt::getSigned(i64, value); }
  llvm::Constant *anonymous(llvm::ArrayRef<llvm::Constant *> fields) {
    return llvm::ConstantStruct::getAnon(fields);
  }
  llvm::Constant *numbers(llvm::ArrayRef<int64_t> values, size_t count, int64_t padding) {
    llvm::SmallVector<uint64_t> all(values.begin(), values.end());
    all.resize(count, padding);
    return llvm::ConstantDataArray::get(context, all);
  }
  llvm::Constant *string(llvm::StringRef text) {
    return global(llvm::ConstantDataArray::getString(context, text));
  }
  llvm::Constant *array(llvm::ArrayRef<llvm::Constant *> elements) {
    if (elements.empty())
      return llvm::ConstantPointerNull::get(pointer);
    return global(llvm::ConstantArray::get(
        llvm::ArrayType::get(elements.front()->getType(), elements.size()), elements));
  }
  llvm::Constant *global(llvm::Constant *value) {
    return new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                    llvm::GlobalValue::PrivateLinkage, value);
  }

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::PointerType *pointer;
  llvm::Type *i32, *i64;
};
} // namespace

/// A function of the runtime, which is linked into the same library.
static llvm::FunctionCallee runtimeFunction(llvm::Module &module, llvm::StringRef name,
                                            llvm::Type *result,
                                            llvm::ArrayRef<llvm::Type *> parameters) {
  llvm::FunctionCallee callee =
      module.getOrInsertFunction(name, llvm::FunctionType::get(result, parameters, false));
  llvm::cast<llvm::Function>(callee.getCallee())
      ->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return callee;
}

static llvm::Function *beginFunction(llvm::IRBuilder<> &builder, llvm::Module &module,
                                     llvm::StringRef name, llvm::Type *result,
                                     llvm::ArrayRef<llvm::Type *> parameters) {
  auto *function = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                          llvm::GlobalValue::ExternalLinkage, name, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
  return function;
}

/// A C function of one kernel: its tensors, `how` to run (threads or options), and where the error
/// goes, handed to `run` with the kernel's table.
static void addEntryPoint(llvm::IRBuilder<> &builder, llvm::Module &module, llvm::StringRef name,
                          llvm::Constant *table, size_t numTensors, llvm::Type *how,
                          llvm::FunctionCallee run) {
  llvm::Type *pointer = builder.getPtrTy();
  llvm::SmallVector<llvm::Type *> parameters(numTensors, pointer);
  parameters.append({how, pointer, builder.getInt64Ty()});
  llvm::Function *function = beginFunction(builder, module, name, builder.getInt32Ty(), parameters);
  llvm::Type *pointers = llvm::ArrayType::get(pointer, numTensors);
  llvm::Value *tensors = builder.CreateAlloca(pointers);
  for (size_t i = 0; i < numTensors; ++i)
    builder.CreateStore(function->getArg(i),
                        builder.CreateConstInBoundsGEP2_64(pointers, tensors, 0, i));
  builder.CreateRet(builder.CreateCall(
      run, {table, tensors, builder.getInt64(numTensors), function->getArg(numTensors),
            function->getArg(numTensors + 1), function->getArg(numTensors + 2)}));
}

/// The functions of the whole library.
static void addLibraryFunctions(llvm::IRBuilder<> &builder, llvm::Module &module,
                                llvm::StringRef stem) {
  llvm::Type *pointer = builder.getPtrTy(), *none = builder.getVoidTy();
  llvm::FunctionCallee set =
      runtimeFunction(module, "polyattn_rt_set_parallel_for", none, {pointer, pointer});
  llvm::Function *setter =
      beginFunction(builder, module, setterName(stem), none, {pointer, pointer});
  builder.CreateCall(set, {setter->getArg(0), setter->getArg(1)});
  builder.CreateRetVoid();
  beginFunction(builder, module, versionName(stem), pointer, {});
  builder.CreateRet(builder.CreateGlobalString(version() + ", interface " +
                                               std::to_string(POLYATTN_ABI_VERSION)));
}

void polyattn::addEntryPoints(llvm::Module &module, llvm::StringRef stem,
                              llvm::ArrayRef<KernelDescription> kernels) {
  Tables tables(module);
  llvm::IRBuilder<> builder(module.getContext());
  llvm::Type *pointer = builder.getPtrTy(), *i32 = builder.getInt32Ty(),
             *i64 = builder.getInt64Ty();
  llvm::SmallVector<llvm::Constant *> kernelTables;
  for (const KernelDescription &kernel : kernels)
    kernelTables.push_back(tables.kernel(kernel));
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);

  llvm::FunctionCallee run =
      runtimeFunction(module, "polyattn_rt_run", i32, {pointer, pointer, i64, i32, pointer, i64});
  llvm::FunctionCallee runWith = runtimeFunction(module, "polyattn_rt_run_with", i32,
                                                 {pointer, pointer, i64, pointer, pointer, i64});
  for (auto [kernel, table] : llvm::zip_equal(kernels, kernelTables)) {
    size_t count = kernel.tensors.size();
    addEntryPoint(builder, module, functionName(kernel), table, count, i32, run);
    addEntryPoint(builder, module, optionsFunctionName(kernel), table, count, pointer, runWith);
  }
  addLibraryFunctions(builder, module, stem);
}
