//===- KernelRunner.cpp - compiles tile kernels and calls them --*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "polyattn/Conversion/Passes.h"
#include "polyattn/Conversion/TileToVector.h"
#include "polyattn/Pipelines/Registration.h"
#include "polyattn/Target/CPU.h"
#include "runtime/generated_code.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <sys/mman.h>

using namespace polyattn::test;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static int64_t bytesOf(TestTensor::Element element) {
  return element == TestTensor::Element::F32 ? 4 : 2;
}

TestTensor::TestTensor(std::vector<int64_t> sizes, Element element, int64_t rowPadding)
    : sizes(sizes), strides(sizes.size()), element(element) {
  int64_t stride = 1;
  for (int64_t d = int64_t(sizes.size()) - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= sizes[d];
    if (d == int64_t(sizes.size()) - 1)
      stride += rowPadding;
  }
  extent = 1;
  for (size_t d = 0; d < sizes.size(); ++d)
    extent = sizes[d] ? extent + (sizes[d] - 1) * strides[d] : 0;
  bytes = std::max<int64_t>(extent, 0) * bytesOf(element);
  size_t page = 4096, used = (bytes + page - 1) / page * page;
  mapped = used + page;
  mapping = static_cast<char *>(
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(mapping + used, page, PROT_NONE);
  data = mapping + used - bytes;
  words = {reinterpret_cast<int64_t>(data), reinterpret_cast<int64_t>(data), 0};
  words.insert(words.end(), sizes.begin(), sizes.end());
  words.insert(words.end(), strides.begin(), strides.end());
  poison();
}

TestTensor::~TestTensor() { munmap(mapping, mapped); }

static const llvm::fltSemantics &semantics(TestTensor::Element element) {
  switch (element) {
  case TestTensor::Element::F16:
    return llvm::APFloat::IEEEhalf();
  case TestTensor::Element::BF16:
    return llvm::APFloat::BFloat();
  default:
    return llvm::APFloat::IEEEsingle();
  }
}

double TestTensor::read(int64_t place) const {
  uint32_t bits = 0;
  std::memcpy(&bits, data + place * bytesOf(element), bytesOf(element));
  return llvm::APFloat(semantics(element), llvm::APInt(bytesOf(element) * 8, bits))
      .convertToDouble();
}

void TestTensor::write(int64_t place, double value) {
  llvm::APFloat number(value);
  bool lossy;
  number.convert(semantics(element), llvm::APFloat::rmNearestTiesToEven, &lossy);
  uint32_t bits = uint32_t(number.bitcastToAPInt().getZExtValue());
  std::memcpy(data + place * bytesOf(element), &bits, bytesOf(element));
}

int64_t TestTensor::place(const std::vector<int64_t> &index) const {
  int64_t result = 0;
  for (size_t d = 0; d < index.size(); ++d)
    result += index[d] * strides[d];
  return result;
}

double TestTensor::get(std::vector<int64_t> index) const { return read(place(index)); }
void TestTensor::set(std::vector<int64_t> index, double value) { write(place(index), value); }

TestTensor &TestTensor::poison() {
  for (int64_t i = 0; i < extent; ++i)
    write(i, std::numeric_limits<double>::quiet_NaN());
  return *this;
}

TestTensor &TestTensor::fill(std::mt19937 &random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  int64_t row = sizes.back();
  int64_t step = sizes.size() > 1 ? strides[sizes.size() - 2] : row;
  for (int64_t i = 0; i < extent; ++i)
    if (step == 0 || i % step < row)
      write(i, uniform(random));
  return *this;
}

bool TestTensor::paddingIsIntact() const {
  int64_t row = sizes.back();
  int64_t step = sizes.size() > 1 ? strides[sizes.size() - 2] : row;
  for (int64_t i = 0; i < extent; ++i)
    if (step && i % step >= row && !std::isnan(read(i)))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Kernel::Kernel(const std::string &text, const polyattn::MachineDescription &machine) {
  static bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    message += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return;
  mlir::PassManager passes(&context);
  passes.addPass(createPrefetch());
  passes.addPass(createTileToVectorPass(machine));
  if (mlir::failed(passes.run(*module)))
    return;
  std::string name;
  module->walk([&](mlir::func::FuncOp function) {
    // Kernels have scratch memory, the functions they call do not.
    auto bytes = function->getAttrOfType<mlir::IntegerAttr>(polyattn::tile::kScratchBytesAttrName);
    if (!bytes)
      return;
    name = function.getSymName().str();
    scratch = bytes.getInt();
  });
  mlir::PassManager lowering(&context);
  buildVectorToLLVMPipeline(lowering, polyattn::toText(machine.instructions));
  if (mlir::failed(lowering.run(*module)))
    return;
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  auto llvmModule = mlir::translateModuleToLLVMIR(*module, *llvmContext);
  if (!llvmModule)
    return;
  auto built = llvm::orc::LLJITBuilder()
                   .setLinkProcessSymbolsByDefault(false)
                   .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                   .create();
  if (!built) {
    message += llvm::toString(built.takeError());
    return;
  }
  jit = std::move(*built);
  if (auto error = jit->addIRModule(
          llvm::orc::ThreadSafeModule(std::move(llvmModule), std::move(llvmContext)))) {
    message += llvm::toString(std::move(error));
    return;
  }
  auto symbol = jit->lookup(name);
  if (!symbol) {
    message += llvm::toString(symbol.takeError());
    return;
  }
  function = symbol->toPtr<Function>();
}

POLYATTN_CALLS_GENERATED_CODE
void Kernel::run(const std::vector<TestTensor *> &tensors, int64_t begin, int64_t end) {
  std::vector<void *> pointers;
  pointers.reserve(tensors.size());
  for (TestTensor *tensor : tensors)
    pointers.push_back(tensor->descriptor());
  int64_t size = (scratch + 63) / 64 * 64;
  auto *memory = static_cast<float *>(std::aligned_alloc(64, size + 64));
  std::fill(memory, memory + (size + 64) / 4, std::numeric_limits<float>::quiet_NaN());
  float *behind = memory + size / 4;
  for (int i = 0; i < 16; ++i)
    behind[i] = 7;
  function(pointers.data(), begin, end, memory);
  for (int i = 0; i < 16; ++i)
    if (behind[i] != 7)
      message += "wrote behind the scratch memory\n";
  std::free(memory);
}
