//===- EntryPoints.cpp - the C functions of a shared library --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryPoints.h"
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
    llvm::SmallVector<llvm::Constant *> tensors, stages, sums;
    for (const TensorDescription &tensor : kernel.tensors)
      tensors.push_back(
          anonymous({string(tensor.name), llvm::ConstantInt::get(i32, tensor.isResult),
                     llvm::ConstantInt::get(i32, static_cast<int32_t>(tensor.dtype)),
                     number(tensor.sizes.size()), numbers(tensor.sizes, POLYATTN_MAX_RANK, 0)}));
    for (const StageDescription &stage : kernel.stages)
      stages.push_back(anonymous({module.getFunction(stage.function),
                                  numbers(stage.programs, POLYATTN_RT_MAX_FACTORS, 1),
                                  number(stage.scratchBytes)}));
    const SegmentDescription &segments = kernel.segments;
    for (llvm::ArrayRef<int64_t> sizes : segments.sums)
      sums.push_back(anonymous(
          {number(sizes.size()), numbers(sizes, std::size(polyattn_rt_sum_shape().sizes), 0)}));
    return global(
        anonymous({string(kernel.entry), array(tensors), number(tensors.size()), array(stages),
                   number(stages.size()),
                   kernel.cpuLevel.empty() ? llvm::ConstantPointerNull::get(pointer)
                                           : string(kernel.cpuLevel),
                   numbers(kernel.fixedSizes, kernel.fixedSizes.size(), -1),
                   anonymous({number(kernel.split.maxParts), number(kernel.split.columns),
                              number(kernel.split.segment), number(kernel.split.from)}),
                   anonymous({array(sums), number(sums.size()), number(segments.block),
                              number(segments.unit), number(segments.from),
                              number(segments.sumsPercent), number(segments.pieces)})}));
  }

private:
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

void polyattn::addEntryPoints(llvm::Module &module, llvm::ArrayRef<KernelDescription> kernels) {
  llvm::LLVMContext &context = module.getContext();
  Tables tables(module);
  llvm::IRBuilder<> builder(context);
  llvm::Type *pointer = builder.getPtrTy(), *i32 = builder.getInt32Ty(),
             *i64 = builder.getInt64Ty();
  llvm::SmallVector<llvm::Constant *> kernelTables;
  for (const KernelDescription &kernel : kernels)
    kernelTables.push_back(tables.kernel(kernel));
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);

  llvm::FunctionCallee run = module.getOrInsertFunction(
      "polyattn_rt_run",
      llvm::FunctionType::get(i32, {pointer, pointer, i64, i32, pointer, i64}, false));
  llvm::cast<llvm::Function>(run.getCallee())->setVisibility(llvm::GlobalValue::HiddenVisibility);
  for (auto [kernel, table] : llvm::zip_equal(kernels, kernelTables)) {
    size_t count = kernel.tensors.size();
    llvm::SmallVector<llvm::Type *> parameters(count, pointer);
    parameters.append({i32, pointer, i64});
    auto *function = llvm::Function::Create(llvm::FunctionType::get(i32, parameters, false),
                                            llvm::GlobalValue::ExternalLinkage,
                                            "polyattn_" + kernel.entry, module);
    builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
    llvm::Type *pointers = llvm::ArrayType::get(pointer, count);
    llvm::Value *tensors = builder.CreateAlloca(pointers);
    for (size_t i = 0; i < count; ++i)
      builder.CreateStore(function->getArg(i),
                          builder.CreateConstInBoundsGEP2_64(pointers, tensors, 0, i));
    builder.CreateRet(
        builder.CreateCall(run, {table, tensors, builder.getInt64(count), function->getArg(count),
                                 function->getArg(count + 1), function->getArg(count + 2)}));
  }
}
