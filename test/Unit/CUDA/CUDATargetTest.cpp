//===- CUDATargetTest.cpp - from a spec to numbers, but for the silicon ---===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fake driver's launches run the same kernel in the emulator, on the memory and with the
// parameters that the launch was given.
//
//===----------------------------------------------------------------------===//

#include "../Reference/SpecLibrary.h"
#include "FakeDriver/FakeDriver.h"
#include "mlir/Parser/Parser.h"
#include "polyattn/CUDA/GPUKernel.h"
#include "polyattn/Compiler/CompileGPU.h"
#include "polyattn/Driver/Target.h"
#include "polyattn/Emulator/EmulatedKernel.h"
#include "polyattn/Launch/LaunchCall.h"
#include "polyattn/Pipelines/Registration.h"
#include "polyattn/Target/NVPTX.h"
#include "llvm/Support/MemoryBuffer.h"
#include <deque>
#include <map>
#include <random>

using namespace polyattn;
using test::FakeDriver;
using test::FakeLaunch;

namespace {

constexpr llvm::StringLiteral kStoredInBF16 = R"(
polyattn.attention @linear_bf16(q, k, v: seq[64] bf16) {
  return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
}
)";

class CUDATarget : public testing::Test {
protected:
  CUDATarget() {
    fake.reset();
    mlir::DialectRegistry dialects;
    registerDialects(dialects);
    context.appendDialectRegistry(dialects);
    registerReferenceTargets(targets);
    registerCUDATarget(targets, POLYATTN_FAKE_CUDA);
    text = llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(specPath("linear"))))
               ->getBuffer()
               .str();
    text += kStoredInBF16;
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }
  ~CUDATarget() override {
    EXPECT_EQ(fake.retained + fake.modules + fake.events + int(fake.memory.size()), 0);
    fake.reset();
  }

  void choose(llvm::StringRef name) {
    entry = name.str();
    attention = module->lookupSymbol<AttentionOp>(name);
    ASSERT_TRUE(attention);
    Signature signature = llvm::cantFail(signatureOf(attention));
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    auto allocate = [&](const TensorSignature &tensor, std::vector<HostTensor> &list) {
      list.push_back(
          llvm::cantFail(allocateTensor(tensor.type, shapeOf(tensor, sizes), Layout::Padded)));
    };
    for (const TensorSignature &tensor : signature.arguments) {
      allocate(tensor, arguments);
      HostTensor &argument = arguments.back();
      argument.forEach([&](int64_t, void *at) { storeElement(argument.type, at, normal(random)); });
    }
    for (const TensorSignature &tensor : signature.results) {
      allocate(tensor, results);
      allocate(tensor, expected);
    }
  }

  std::unique_ptr<Executable> compile(llvm::StringRef target) {
    auto executable =
        llvm::cantFail(targets.create(target))->compile({attention, text, "linear.mlir", ""});
    if (executable)
      return std::move(*executable);
    ADD_FAILURE() << llvm::toString(executable.takeError());
    return nullptr;
  }

  /// Compiles the kernels of the test for the emulator.
  void emulateLaunches(const GPUDescription &gpu) {
    lowered.emplace(llvm::cantFail(parseForGPU(text, "linear.mlir", {entry})));
    llvm::cantFail(lowerForGPU(*lowered, gpu, GPUPipelinePhase::Warp));
    auto add = [&](const std::string &name) {
      emulated[name] = llvm::cantFail(EmulatedKernel::compile(*lowered->module, name));
    };
    plan = llvm::cantFail(planForGPU(*lowered->module, entry));
    for (const LaunchStage &stage : plan.stages)
      add(stage.function);
    fake.onLaunch = [this](const FakeLaunch &launch) { emulate(launch); };
  }

  /// The caller's tensors and the workspaces, which the first kernel fills, without addresses; and
  /// the number of the stage's programs.
  std::pair<std::vector<EmulatedTensor>, int64_t> tensorsOf(const std::string &function) {
    std::vector<EmulatedTensor> tensors;
    std::vector<LaunchTensor> views;
    for (const std::vector<HostTensor> *list : {&arguments, &results})
      for (const HostTensor &tensor : *list) {
        tensors.push_back(
            {{nullptr, tensor.sizes, tensor.strides}, bytesOf(tensor.type), list == &results});
        views.push_back(tensors.back().view);
      }
    LaunchCall call(plan, shapesOf(views));
    call.setSegments(segments);
    size_t number = plan.findStage(function) - plan.stages.data();
    for (int64_t workspace : plan.stages[number].workspaces) {
      const auto &sizes = hiddenSizes.emplace_back(call.shapeOf(workspace));
      auto &strides = hiddenSizes.emplace_back(sizes.size());
      int64_t count = 1;
      for (size_t i = sizes.size(); i-- > 0; count *= sizes[i] ? sizes[i] : 1)
        strides[i] = count;
      tensors.push_back({{nullptr, sizes, strides}, 4, number + 1 < plan.stages.size()});
    }
    return {tensors, call.countPrograms(number)};
  }

  void emulate(const FakeLaunch &launch) {
    ASSERT_TRUE(emulated.count(launch.function)) << launch.function;
    const EmulatedKernel &kernel = *emulated[launch.function];
    const LaunchDescription &description = kernel.getLaunch();
    EXPECT_EQ(launch.block[0], description.threads);
    EXPECT_EQ(launch.sharedBytes, description.sharedBytes);
    auto [tensors, programs] = tensorsOf(launch.function);
    void *workspace = nullptr;
    ASSERT_EQ(launch.parameters.size(), description.parameters.size());
    for (auto [parameter, value] : llvm::zip(description.parameters, launch.parameters)) {
      if (parameter.kind == LaunchParameter::Pointer)
        tensors[parameter.tensor].view.data = reinterpret_cast<void *>(value);
      if (parameter.kind == LaunchParameter::Workspace)
        workspace = reinterpret_cast<void *>(value);
    }
    std::vector<LaunchTensor> views;
    for (const EmulatedTensor &tensor : tensors)
      views.push_back(tensor.view);
    EXPECT_EQ(launch.grid[0], programs * description.cluster);
    // The compiler's binding of parameters and the runtime's are one.
    EXPECT_EQ(launch.parameters, bindParameters(description, views, workspace));
    EmulatorOptions options;
    options.programs = programs;
    auto report = kernel.run(tensors, options);
    EXPECT_TRUE(bool(report)) << llvm::toString(report.takeError());
  }

  double relativeError() const {
    double difference = 0, norm = 0;
    for (auto [result, reference] : llvm::zip(results, expected)) {
      std::vector<double> values;
      reference.forEach([&, &tensor = reference](int64_t, void *at) {
        values.push_back(loadElement(tensor.type, at));
      });
      result.forEach([&, &tensor = result](int64_t i, void *at) {
        double x = loadElement(tensor.type, at);
        difference += (x - values[i]) * (x - values[i]);
        norm += values[i] * values[i];
      });
    }
    return std::sqrt(difference / norm);
  }

  FakeDriver &fake = FakeDriver::get();
  mlir::MLIRContext context;
  TargetRegistry targets;
  std::string text, entry;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  AttentionOp attention;
  CallSizes sizes{/*batch=*/1, /*queries=*/70, /*keys=*/70, /*heads=*/2, /*kvHeads=*/2};
  std::vector<HostTensor> arguments, results, expected;
  std::optional<LoweredModule> lowered;
  std::map<std::string, std::unique_ptr<EmulatedKernel>> emulated;
  LaunchPlan plan;
  int64_t segments = 1;
  std::deque<std::vector<int64_t>> hiddenSizes;
};

TEST_F(CUDATarget, ComputesTheOraclesNumbers) {
  choose("linear_bf16");
  emulateLaunches(llvm::cantFail(findGPU("sm_80")));
  std::unique_ptr<Executable> gpu = compile("cuda"), oracle = compile("reference");
  ASSERT_TRUE(gpu && oracle);
  for (int i = 0; i < 2; ++i) {
    results.front().poison();
    llvm::cantFail(gpu->run({arguments, results, sizes, 1}));
  }
  llvm::cantFail(oracle->run({arguments, expected, sizes, 1}));
  EXPECT_EQ(fake.launches.size(), 2u);
  EXPECT_LT(relativeError(), 2e-2);
  EXPECT_TRUE(results.front().paddingIsPoison());
}

TEST_F(CUDATarget, ComputesTheOraclesNumbersInSegments) {
  segments = 3;
  sizes.queries = sizes.keys = 200;
  sizes.kvHeads = 1;
  choose("linear_states");
  emulateLaunches(llvm::cantFail(findGPU("sm_80")));
  std::unique_ptr<Executable> gpu = compile("cuda"), oracle = compile("reference");
  ASSERT_TRUE(gpu && oracle);
  llvm::cantFail(gpu->run({arguments, results, sizes, 1, segments}));
  llvm::cantFail(oracle->run({arguments, expected, sizes, 1}));
  ASSERT_EQ(fake.launches.size(), 2u);
  EXPECT_EQ(fake.launches[0].function, "linear_states__prefix");
  // Two segments have one after them, and two subsegments each.
  EXPECT_EQ(fake.launches[0].grid[0], 2u * 2);
  EXPECT_EQ(fake.launches[1].function, "linear_states");
  EXPECT_EQ(fake.launches[1].grid[0], 3u * 2);
  EXPECT_LT(relativeError(), 1e-4);
  for (const HostTensor &result : results)
    EXPECT_TRUE(result.paddingIsPoison());
}

TEST_F(CUDATarget, CutsLongSequencesOfFewHeads) {
  // 108 multiprocessors, two heads: as many segments as have eight blocks.
  sizes.queries = sizes.keys = 64 * 8 * 10;
  choose("linear_bf16");
  std::unique_ptr<Executable> gpu = compile("cuda");
  ASSERT_TRUE(gpu);
  llvm::cantFail(gpu->run({arguments, results, sizes, 1}));
  ASSERT_EQ(fake.launches.size(), 2u);
  EXPECT_EQ(fake.launches[0].grid[0], 2u * 2 * 9);
  EXPECT_EQ(fake.launches[1].grid[0], 2u * 10);
  // What a call asks for is what it gets.
  llvm::cantFail(gpu->run({arguments, results, sizes, 1, /*segments=*/1}));
  ASSERT_EQ(fake.launches.size(), 3u);
  EXPECT_EQ(fake.launches[2].grid[0], 2u);
}

TEST_F(CUDATarget, CutsFurtherWhereMultiprocessorsRunSeveral) {
  sizes.queries = sizes.keys = 64 * 8 * 10;
  sizes.heads = sizes.kvHeads = 64;
  choose("linear_bf16");
  fake.residentCTAs = 3;
  std::unique_ptr<Executable> gpu = compile("cuda");
  ASSERT_TRUE(gpu);
  llvm::cantFail(gpu->run({arguments, results, sizes, 1}));
  ASSERT_EQ(fake.launches.size(), 2u);
  EXPECT_EQ(fake.launches[1].grid[0], 5u * 64); // of 3 x 108
}

TEST_F(CUDATarget, RefusesSegmentsWithoutAState) {
  choose("linear_full");
  std::unique_ptr<Executable> gpu = compile("cuda");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(llvm::toString(gpu->run({arguments, results, sizes, 1, /*segments=*/2})),
            "linear_full: its positions cannot be cut into 2 segments");
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(CUDATarget, TimesLaunchesWithoutCopies) {
  choose("linear_bf16");
  std::unique_ptr<Executable> gpu = compile("cuda");
  ASSERT_TRUE(gpu);
  Call call{arguments, results, sizes, 1};
  llvm::cantFail(gpu->run(call));
  fake.calls.clear();
  EXPECT_DOUBLE_EQ(llvm::cantFail(gpu->time(call, 4)), double(2.0f) * 1e-3 / 4);
  EXPECT_EQ(llvm::count(fake.calls, "cuLaunchKernel"), 4);
  for (const char *name : {"cuMemAlloc", "cuMemcpyHtoD", "cuMemcpyDtoH"})
    EXPECT_EQ(llvm::count(fake.calls, name), 0) << name;
  std::optional<DataSheet> sheet = gpu->getDataSheet();
  ASSERT_TRUE(sheet);
  EXPECT_EQ(sheet->device, "Fake GPU");
  EXPECT_EQ(sheet->chip, "sm_80");
  EXPECT_EQ(sheet->flopsPerSecond, 312e12);
}

TEST_F(CUDATarget, SaysWhichLaunchFailed) {
  choose("linear_bf16");
  std::unique_ptr<Executable> gpu = compile("cuda");
  ASSERT_TRUE(gpu);
  fake.failing = "cuLaunchKernel";
  Call call{arguments, results, sizes, 1};
  EXPECT_EQ(llvm::toString(gpu->run(call)),
            "cuLaunchKernel: the fake driver was told to fail (999)");
  fake.failingCall = llvm::count(fake.calls, "cuLaunchKernel");
  EXPECT_EQ(llvm::toString(gpu->time(call, 1).takeError()),
            "cuLaunchKernel: the fake driver was told to fail (999)");
}

TEST_F(CUDATarget, ChecksTheTensorsOfALaunch) {
  auto device = llvm::cantFail(CUDADevice::open(-1, POLYATTN_FAKE_CUDA));
  auto kernel = llvm::cantFail(GPUKernel::compile(text, "linear.mlir", {"linear_bf16"}, device));
  int64_t dense[] = {1, 70, 2, 64};
  std::vector<polyattn_tensor> tensors;
  for (uintptr_t address : {0x100000, 0x200000, 0x300000, 0x400000})
    tensors.push_back(polyattn_dense(reinterpret_cast<void *>(address), POLYATTN_BF16, 4, dense));
  EXPECT_EQ(llvm::cantFail(kernel->workspaceBytes(tensors)),
            2 * kernel->getRule().plan->stages[1].scratch_bytes);
  tensors[2].dtype = POLYATTN_F32;
  EXPECT_EQ(llvm::toString(kernel->launch(tensors, nullptr, 0, nullptr)),
            "linear_bf16: argument 'v': expected element type bf16, got f32");
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(CUDATarget, TakesTheChipOfTheDevice) {
  fake.major = 9;
  fake.sharedBytes = 227 * 1024;
  auto name = [&] {
    return llvm::cantFail(CUDADevice::open(-1, POLYATTN_FAKE_CUDA))->getDescription().name;
  };
  EXPECT_EQ(name(), "sm_90");
  fake.major = 8;
  fake.minor = 7;
  EXPECT_EQ(name(), "sm_86");
  fake.major = 12;
  fake.minor = 0;
  fake.sharedBytes = 99 * 1024;
  EXPECT_EQ(name(), "sm_100");
  EXPECT_EQ(llvm::cantFail(CUDADevice::open(-1, POLYATTN_FAKE_CUDA))
                ->getDescription()
                .sharedBytesPerBlock,
            99 * 1024);
  fake.major = 7;
  auto old = CUDADevice::open(-1, POLYATTN_FAKE_CUDA);
  EXPECT_EQ(llvm::toString(old.takeError()),
            "Fake GPU: compute capability 7.0, expected at least that of sm_80");
}

TEST_F(CUDATarget, NeedsADriver) {
  auto device = CUDADevice::open(-1, "/nowhere/libcuda.so.1");
  ASSERT_FALSE(bool(device));
  EXPECT_TRUE(llvm::StringRef(llvm::toString(device.takeError()))
                  .starts_with("there is no usable CUDA driver: "));
}

} // namespace
