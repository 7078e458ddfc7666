//===- EmulatedKernel.cpp - GPU kernels on the host -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Emulator/EmulatedKernel.h"
#include "Messages.h"
#include "dialects/Warp/Warp.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "polyattn/Conversion/Passes.h"
#include "polyattn/JIT/LinkedObject.h"
#include "polyattn/Launch/LaunchCall.h"
#include "polyattn/Target/CPU.h"
#include "polyattn/TileTransforms/Passes.h"
#include "runtime/emulator/Calls.h"
#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/Fiber.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/AlignOf.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

using namespace mlir;
using namespace polyattn;
using llvm::Expected;

char EmulatorError::ID;

struct EmulatedKernel::Code {
  LaunchDescription launch;
  std::vector<EmulatedSite> sites;
  std::unique_ptr<LinkedObject> object;
  emulator::Kernel function = nullptr;
  llvm::DenseSet<int64_t> written; // numbers of tensors
};

EmulatedKernel::EmulatedKernel(std::unique_ptr<Code> code) : code(std::move(code)) {}
EmulatedKernel::~EmulatedKernel() = default;

const LaunchDescription &EmulatedKernel::getLaunch() const { return code->launch; }

bool EmulatedKernel::writes(size_t tensor) const { return code->written.contains(tensor); }

static llvm::DenseSet<int64_t> writtenTensors(gpu::GPUFuncOp kernel) {
  llvm::DenseSet<int64_t> written;
  kernel.walk([&](warp::StoreGlobalOp store) {
    auto pointer = dyn_cast<BlockArgument>(store.getBase());
    if (pointer && pointer.getOwner()->isEntryBlock())
      if (auto tensor =
              kernel.getArgAttrOfType<IntegerAttr>(pointer.getArgNumber(), warp::kPointerAttrName))
        written.insert(tensor.getInt());
  });
  return written;
}

void EmulatorError::log(llvm::raw_ostream &stream) const {
  llvm::interleave(
      problems, stream, [&](const EmulatorProblem &problem) { stream << problem.message; }, "\n");
}

static gpu::GPUFuncOp findKernel(ModuleOp module, StringRef name) {
  for (auto kernels : module.getOps<gpu::GPUModuleOp>())
    if (auto kernel = kernels.lookupSymbol<gpu::GPUFuncOp>(name))
      return kernel;
  return {};
}

/// Machine code of a module in the LLVM dialect. As fast to compile as can be: the time of a run
/// goes to the emulator, and that of most to the compiler. Without optimizations each value has a
/// place in the frame.
static Expected<std::unique_ptr<llvm::MemoryBuffer>> generateObject(ModuleOp module) {
  auto machine = findMachine("native");
  if (!machine)
    return machine.takeError();
  CodegenOptions options;
  options.optimizationLevel = 0;
  // The other half is for the emulator's own functions.
  options.frameBytes = emulator::Fiber::kStackBytes / 2;
  auto target = createTargetMachine(*machine, options);
  if (!target)
    return target.takeError();
  llvm::LLVMContext context;
  auto translated = translateToLLVMIR(module, context, **target);
  if (!translated)
    return translated.takeError();
  useKernelSymbols(**translated);
  auto bytes = generateCode(**translated, **target, CodeFile::Object, options);
  if (!bytes)
    return bytes.takeError();
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(*bytes),
                                                         /*RequiresNullTerminator=*/false);
}

/// "k.mlir:7:3".
static std::string placeOf(FileLineColLoc line) {
  return (line.getFilename().getValue() + ":" + Twine(line.getLine()) + ":" +
          Twine(line.getColumn()))
      .str();
}

static std::vector<EmulatedSite> readSites(LLVM::LLVMFuncOp function) {
  std::vector<EmulatedSite> sites;
  for (auto site : function->getAttrOfType<ArrayAttr>(warp::kSitesAttrName).getAsRange<NameLoc>()) {
    auto line = dyn_cast<FileLineColLoc>(site.getChildLoc());
    sites.push_back({site.getName().str(), line ? placeOf(line) : "unknown"});
  }
  return sites;
}

Expected<std::unique_ptr<EmulatedKernel>> EmulatedKernel::compile(ModuleOp module, StringRef name) {
  gpu::GPUFuncOp kernel = findKernel(module, name);
  if (!kernel)
    return llvm::createStringError("no kernel @" + name);
  Expected<LaunchDescription> launch = describeLaunch(kernel);
  if (!launch)
    return launch.takeError();

  OwningOpRef<ModuleOp> lowered = module.clone();
  lowered->walk([&](gpu::GPUFuncOp other) {
    if (other.getName() != name)
      other.erase();
  });
  PassManager passes(module.getContext());
  passes.addPass(createDropEntries());
  passes.addPass(createConvertWarpToEmulator());
  if (failed(passes.run(*lowered)))
    return llvm::createStringError("kernel @" + name + ": the emulator cannot run it");
  auto code = std::make_unique<Code>();
  code->launch = std::move(*launch);
  code->written = writtenTensors(kernel);
  code->sites = readSites(lowered->lookupSymbol<LLVM::LLVMFuncOp>(name));
  auto object = generateObject(*lowered);
  if (!object)
    return object.takeError();
  auto linked = LinkedObject::link(std::move(*object), emulator::getCalls());
  if (!linked)
    return linked.takeError();
  code->object = std::move(*linked);
  auto address = code->object->lookup(kernelSymbol(name));
  if (!address)
    return address.takeError();
  code->function = reinterpret_cast<emulator::Kernel>(*address);
  return std::unique_ptr<EmulatedKernel>(new EmulatedKernel(std::move(code)));
}

/// The memory of a tensor that has elements.
static emulator::MemoryRange rangeOf(const EmulatedTensor &tensor) {
  emulator::MemoryRange range;
  range.role = tensor.isUpdated  ? emulator::MemoryRange::Update
               : tensor.isResult ? emulator::MemoryRange::Output
                                 : emulator::MemoryRange::Input;
  range.address = reinterpret_cast<uint64_t>(tensor.view.data);
  range.elementBytes = tensor.elementBytes;
  for (auto [size, stride] : llvm::zip_equal(tensor.view.sizes, tensor.view.strides))
    range.dimensions.push_back(
        {static_cast<uint64_t>(size), static_cast<uint64_t>(stride * tensor.elementBytes)});
  return range;
}

static uint64_t bytesOf(const emulator::MemoryRange &range) {
  uint64_t bytes = range.elementBytes;
  for (auto &dimension : range.dimensions)
    bytes += (dimension.size - 1) * dimension.strideBytes;
  return bytes;
}

namespace {
/// Poisoned memory for all CTAs, aligned as a device's is.
class Workspace {
public:
  explicit Workspace(int64_t bytes)
      : bytes(bytes), storage(bytes + kAlignment, std::byte(0xff)),
        first(reinterpret_cast<void *>(
            llvm::alignTo(reinterpret_cast<uint64_t>(storage.data()), kAlignment))) {}
  void *get() const { return first; }
  emulator::MemoryRange range() const {
    emulator::MemoryRange range;
    range.role = emulator::MemoryRange::Workspace;
    range.address = reinterpret_cast<uint64_t>(first);
    range.dimensions.push_back({static_cast<uint64_t>(bytes), 1});
    return range;
  }

private:
  static constexpr uint64_t kAlignment = 256;
  int64_t bytes;
  std::vector<std::byte> storage;
  void *first;
};
} // namespace

static Expected<emulator::Chip> findChip(StringRef name) {
  std::string known;
  for (const emulator::Chip *chip = emulator::getChips(); chip->name; ++chip) {
    if (name == chip->name)
      return *chip;
    known += (known.empty() ? "" : ", ") + std::string(chip->name);
  }
  return llvm::createStringError("unknown chip '" + name + "', expected one of " + known);
}

std::vector<LaunchTensor> polyattn::viewsOf(llvm::ArrayRef<EmulatedTensor> tensors) {
  std::vector<LaunchTensor> views;
  for (const EmulatedTensor &tensor : tensors)
    views.push_back(tensor.view);
  return views;
}

static Expected<int64_t> countPrograms(const LaunchDescription &launch,
                                       llvm::ArrayRef<LaunchTensor> tensors,
                                       const EmulatorOptions &options) {
  if (options.programs)
    return *options.programs;
  if (!launch.programs)
    return llvm::createStringError("kernel @" + launch.function +
                                   ": nothing says how many programs there are");
  LaunchPlan plan;
  plan.stages.emplace_back().programs = *launch.programs;
  return LaunchCall(plan, shapesOf(tensors)).countPrograms(0);
}

Expected<EmulatorReport> EmulatedKernel::run(llvm::ArrayRef<EmulatedTensor> tensors,
                                             const EmulatorOptions &options) const {
  auto chip = findChip(options.chip);
  if (!chip)
    return chip.takeError();
  std::vector<LaunchTensor> views = viewsOf(tensors);

  emulator::Launch launch;
  launch.kernel = code->function;
  auto programs = countPrograms(code->launch, views, options);
  if (!programs)
    return programs.takeError();
  launch.programs = *programs;
  launch.cluster = static_cast<int>(code->launch.cluster);
  int64_t workspaceBytes = launch.programs * launch.cluster * code->launch.workspaceBytes;
  Workspace workspace(workspaceBytes);
  launch.parameters = bindParameters(code->launch, views, workspace.get());
  launch.threads = static_cast<int>(code->launch.threads);
  launch.sharedBytes = static_cast<uint32_t>(code->launch.sharedBytes);
  launch.chip = *chip;
  launch.hostThreads = options.threads;
  launch.accessLimit = options.accessLimit;
  launch.keepGoing = options.keepGoing;
  std::vector<NamedRange> names;
  auto addRange = [&](const Twine &name, const emulator::MemoryRange &range) {
    launch.memory.push_back(range);
    names.push_back({name.str(), range.address, ::bytesOf(range)});
  };
  for (auto [i, tensor] : llvm::enumerate(tensors))
    if (!llvm::is_contained(tensor.view.sizes, 0))
      addRange("tensor " + Twine(i), rangeOf(tensor));
  if (workspaceBytes > 0)
    addRange("the workspace", workspace.range());

  emulator::Outcome outcome = emulator::run(launch);
  if (outcome.findings.empty())
    return EmulatorReport{launch.programs, code->launch.cluster, launch.chip,
                          std::move(outcome.counters), code->sites};
  std::vector<EmulatorProblem> problems;
  problems.reserve(outcome.findings.size());
  for (const emulator::Finding &finding : outcome.findings)
    problems.push_back({finding, describeFinding(finding, code->sites, names)});
  return llvm::make_error<EmulatorError>(std::move(problems));
}
