//===- RuntimeTest.cpp - the runtime against the fake driver --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver/FakeDriver.h"
#include "runtime/cuda/kernel.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <vector>

using polyattn::test::FakeDriver;

namespace {

const char kPTX[] = ".version 7.0\n.visible .entry kernel(\n.param .u64 a,\n.param .u64 b,\n"
                    ".param .u64 c,\n.param .u64 d,\n.param .u64 e\n)";
const polyattn_cuda_parameter kParameters[] = {{POLYATTN_CUDA_POINTER, 1, 0},
                                               {POLYATTN_CUDA_SIZE, 0, 1},
                                               {POLYATTN_CUDA_STRIDE, 0, 0},
                                               {POLYATTN_CUDA_WORKSPACE, 0, 0},
                                               {POLYATTN_CUDA_PROFILE, 0, 0}};
constexpr polyattn_rt_extent dim(int64_t tensor, int64_t dimension) {
  return {POLYATTN_RT_DIMENSION, tensor, dimension, 0, 1, 1};
}
constexpr polyattn_rt_extent segmentsPlus(int64_t plus) {
  return {POLYATTN_RT_SEGMENTS, 0, 0, plus, 1, 1};
}
const polyattn_rt_stage_rule kStage = {nullptr, POLYATTN_RT_STAGE, 256, 1, {dim(0, 0), dim(0, 1)},
                                       2,       nullptr,           0};
const polyattn_rt_plan kPlan = {nullptr, 0, &kStage, 1, nullptr, 0};
const polyattn_cuda_launch_rule kLaunch = {"kernel", 96, 100000, kParameters, 5};
const polyattn_cuda_entry_rule kRule = {"kernel", &kPlan, &kLaunch};

// An entry of two kernels with workspaces [S - 1, sizes of tensor 0] and [S - 1, 3].
const char kSegmentPTX[] =
    ".version 7.0\n.visible .entry sums(\n.param .u64 a,\n.param .u64 b,\n.param .u64 c\n)\n"
    ".visible .entry kernel(\n.param .u64 a,\n.param .u64 b,\n.param .u64 c,\n.param .u64 d\n)";
const polyattn_rt_workspace_rule kWorkspaces[] = {
    {POLYATTN_F32, POLYATTN_RT_FILL_NONE, 3, {segmentsPlus(-1), dim(0, 0), dim(0, 1)}},
    {POLYATTN_F32,
     POLYATTN_RT_FILL_NONE,
     2,
     {segmentsPlus(-1), {POLYATTN_RT_NUMBER, 0, 0, 3, 1, 1}}}};
const int64_t kAll[] = {0, 1};
const polyattn_rt_stage_rule kStages[] = {
    {nullptr, POLYATTN_RT_STAGE_SUMS_SEGMENTS, 4096, 1, {dim(0, 0), segmentsPlus(-1)}, 2, kAll, 2},
    {nullptr, POLYATTN_RT_STAGE, 256, 1, {dim(0, 0), segmentsPlus(0)}, 2, kAll, 2}};
const polyattn_rt_choice_rule kChoice = {POLYATTN_RT_SEGMENTS, dim(0, 1), 1, 1, 0, 40, 1, 0, 0};
const polyattn_rt_plan kSegmentPlan = {kWorkspaces, 2, kStages, 2, &kChoice, 1};
const polyattn_cuda_parameter kSumParameters[] = {
    {POLYATTN_CUDA_POINTER, 2, 0}, {POLYATTN_CUDA_POINTER, 3, 0}, {POLYATTN_CUDA_WORKSPACE, 0, 0}};
const polyattn_cuda_parameter kSegmentParameters[] = {{POLYATTN_CUDA_POINTER, 2, 0},
                                                      {POLYATTN_CUDA_SIZE, 2, 0},
                                                      {POLYATTN_CUDA_STRIDE, 2, 0},
                                                      {POLYATTN_CUDA_WORKSPACE, 0, 0}};
const polyattn_cuda_launch_rule kLaunches[] = {{"sums", 64, 2000, kSumParameters, 3},
                                               {"kernel", 96, 1000, kSegmentParameters, 4}};
const polyattn_cuda_entry_rule kSegmentRule = {"kernel", &kSegmentPlan, kLaunches};

std::vector<unsigned> toVector(const unsigned (&values)[3]) { return {values, values + 3}; }

class CUDARuntime : public testing::Test {
protected:
  CUDARuntime() { fake.reset(); }
  ~CUDARuntime() override {
    EXPECT_EQ(fake.retained, 0);
    EXPECT_EQ(fake.modules, 0);
    EXPECT_EQ(fake.events, 0);
    EXPECT_TRUE(fake.memory.empty());
    fake.reset();
  }

  /// All that a program does: 0, or 1 and `error`. What was acquired is given back.
  int runAll(int ordinal = -1) {
    polyattn_cuda_driver driver;
    if (polyattn_cuda_load_driver(POLYATTN_FAKE_CUDA, &driver, error, sizeof error) ||
        polyattn_cuda_open(&driver, ordinal, &device, error, sizeof error))
      return 1;
    int failed = runOnDevice();
    polyattn_cuda_close(&device);
    return failed;
  }

  int runOnDevice() {
    polyattn_cuda_kernel kernel;
    if (polyattn_cuda_load(&device, rule, ptx, &kernel, error, sizeof error))
      return 1;
    void *memory = nullptr;
    int failed = polyattn_cuda_allocate(&device, kWorkspaceBytes, &memory, error, sizeof error) ||
                 runOn(kernel, memory);
    if (memory)
      failed |=
          polyattn_cuda_free(&device, memory, failed ? nullptr : error, failed ? 0 : sizeof error);
    return polyattn_cuda_unload(&kernel, failed ? nullptr : error, failed ? 0 : sizeof error) ||
           failed;
  }

  int runOn(polyattn_cuda_kernel &kernel, void *memory) {
    char bytes[64] = {};
    if (polyattn_cuda_copy_in(&device, memory, bytes, sizeof bytes, error, sizeof error))
      return 1;
    struct Work {
      polyattn_cuda_kernel *kernel;
      CUDARuntime *test;
      void *memory;
    } work{&kernel, this, memory};
    auto launch = [](void *argument, char *error, size_t size) {
      auto *work = static_cast<Work *>(argument);
      return work->test->launch(*work->kernel, work->memory, kWorkspaceBytes, error, size);
    };
    return polyattn_cuda_time(&device, stream, launch, &work, &seconds, error, sizeof error) ||
           polyattn_cuda_copy_out(&device, bytes, memory, sizeof bytes, error, sizeof error);
  }

  int launch(const polyattn_cuda_kernel &kernel, void *workspace, int64_t bytes, char *error,
             size_t size) {
    size_t begin = fake.calls.size();
    lastWorkspace = reinterpret_cast<uint64_t>(workspace);
    int failed =
        polyattn_cuda_launch(&kernel, tensors, 2, segments, workspace, bytes, stream, error, size);
    launchCalls.assign(fake.calls.begin() + begin, fake.calls.end());
    return failed;
  }

  int failEveryCall(const std::string &name, const std::vector<polyattn_cu_context> &contexts);

  bool called(const std::string &name) const {
    return std::count(fake.calls.begin(), fake.calls.end(), name) > 0;
  }
  bool says(const std::string &text) const {
    return std::string(error).find(text) != std::string::npos;
  }

  void useSegments(int64_t count) {
    rule = &kSegmentRule;
    ptx = kSegmentPTX;
    segments = count;
  }

  static constexpr int64_t kWorkspaceBytes = 65536;
  FakeDriver &fake = FakeDriver::get();
  const polyattn_cuda_entry_rule *rule = &kRule;
  const char *ptx = kPTX;
  int64_t segments = 1;
  uint64_t lastWorkspace = 0;
  polyattn_cuda_device device = {};
  char data[16] = {}, error[512] = "";
  int64_t sizes[2] = {3, 5};
  polyattn_tensor first = polyattn_dense(nullptr, POLYATTN_F32, 2, sizes);
  polyattn_tensor second = polyattn_dense(data, POLYATTN_F32, 2, sizes);
  const polyattn_tensor *tensors[2] = {&first, &second};
  polyattn_cu_stream stream = reinterpret_cast<polyattn_cu_stream>(0x77);
  double seconds = 0;
  std::vector<std::string> launchCalls;
};

TEST_F(CUDARuntime, LaunchesOnTheStreamWithTheParametersOfTheRule) {
  ASSERT_EQ(runAll(), 0) << error;
  ASSERT_EQ(fake.launches.size(), 1u);
  const polyattn::test::FakeLaunch &launch = fake.launches.front();
  EXPECT_EQ(launch.function, "kernel");
  EXPECT_EQ(toVector(launch.grid), (std::vector<unsigned>{15, 1, 1}));
  EXPECT_EQ(toVector(launch.block), (std::vector<unsigned>{96, 1, 1}));
  EXPECT_EQ(launch.sharedBytes, 100000u);
  EXPECT_EQ(fake.dynamicSharedBytes, 100000);
  EXPECT_EQ(launch.stream, stream);
  ASSERT_EQ(launch.parameters.size(), 5u);
  EXPECT_EQ(launch.parameters[0], reinterpret_cast<uint64_t>(data));
  EXPECT_EQ(launch.parameters[1], 5u);
  EXPECT_EQ(launch.parameters[2], 5u);
  EXPECT_EQ(launch.parameters[4], 0u);
  EXPECT_DOUBLE_EQ(seconds, double(2.0f) * 1e-3);
}

TEST_F(CUDARuntime, NeitherAllocatesNorWaitsInALaunch) {
  ASSERT_EQ(runAll(), 0) << error;
  // Within the timer the device's context is current already.
  EXPECT_EQ(launchCalls, (std::vector<std::string>{"cuCtxGetCurrent", "cuLaunchKernel"}));
}

TEST_F(CUDARuntime, RetainsThePrimaryContextWhereThereIsNone) {
  ASSERT_EQ(runAll(), 0) << error;
  EXPECT_TRUE(called("cuDevicePrimaryCtxRetain"));
  EXPECT_TRUE(fake.contexts.empty());
  EXPECT_STREQ(device.properties.name, "Fake GPU");
  EXPECT_EQ(device.properties.major, 8);
  EXPECT_EQ(device.properties.shared_bytes, 163 * 1024);
}

TEST_F(CUDARuntime, UsesTheContextThatThereIs) {
  fake.contexts = {polyattn::test::frameworkContext()};
  ASSERT_EQ(runAll(), 0) << error;
  EXPECT_FALSE(called("cuDevicePrimaryCtxRetain"));
  EXPECT_FALSE(called("cuCtxPushCurrent"));
  // Another device is another context.
  ASSERT_EQ(runAll(1), 0) << error;
  EXPECT_TRUE(called("cuDevicePrimaryCtxRetain"));
  EXPECT_EQ(fake.contexts, std::vector<polyattn_cu_context>{polyattn::test::frameworkContext()});
}

/// Fails every call of a function in turn, and counts them.
int CUDARuntime::failEveryCall(const std::string &name,
                               const std::vector<polyattn_cu_context> &contexts) {
  for (int call = 0;; ++call) {
    fake.reset();
    fake.contexts = contexts;
    fake.failing = name;
    fake.failingCall = call;
    error[0] = 0;
    int failed = runAll();
    if (std::count(fake.calls.begin(), fake.calls.end(), name) <= call) {
      EXPECT_EQ(failed, 0) << name << error;
      return call;
    }
    EXPECT_EQ(failed, 1) << name << call;
    EXPECT_TRUE(says(name + ": the fake driver was told to fail (999)")) << error;
    EXPECT_EQ(fake.retained + fake.modules + fake.events + int(fake.memory.size()), 0)
        << name << call;
    EXPECT_EQ(fake.contexts, contexts) << name << call;
  }
}

TEST_F(CUDARuntime, SaysTheDriversWordsForEveryFailure) {
  useSegments(4); // two functions, two launches
#define POLYATTN_NAME(name, symbol, parameters) #symbol,
  for (std::string name : {POLYATTN_CU_FUNCTIONS(POLYATTN_NAME)}) {
    if (name.size() > 3 && name.substr(name.size() - 3) == "_v2")
      name.resize(name.size() - 3);
    // Nobody is there to hear that a context was not released; the words have none for themselves.
    if (name == "cuDevicePrimaryCtxRelease" || name == "cuGetErrorString")
      continue;
    int calls = failEveryCall(name, {});
    calls += failEveryCall(name, {polyattn::test::frameworkContext()});
    EXPECT_GT(calls, 0) << name;
  }
}

TEST_F(CUDARuntime, HasNumbersWhereTheDriverHasNoWords) {
  fake.failing = "cuGetErrorString";
  polyattn_cuda_driver driver;
  ASSERT_EQ(polyattn_cuda_load_driver(POLYATTN_FAKE_CUDA, &driver, error, sizeof error), 0);
  EXPECT_EQ(polyattn_cuda_check(&driver, "cuInit", 3, error, sizeof error), 1);
  EXPECT_STREQ(error, "cuInit: an error that the driver has no words for (3)");
}

TEST_F(CUDARuntime, ShowsTheAssemblersLog) {
  polyattn_cuda_driver driver;
  ASSERT_EQ(polyattn_cuda_load_driver(POLYATTN_FAKE_CUDA, &driver, error, sizeof error), 0);
  ASSERT_EQ(polyattn_cuda_open(&driver, -1, &device, error, sizeof error), 0);
  polyattn_cuda_kernel kernel;
  EXPECT_EQ(polyattn_cuda_load(&device, &kRule, "nonsense", &kernel, error, sizeof error), 1);
  EXPECT_STREQ(error, "cuModuleLoadDataEx: a PTX JIT compilation failed (218)\n"
                      "ptxas application ptx input, line 1; fatal");
  EXPECT_TRUE(fake.contexts.empty());
  polyattn_cuda_close(&device);
}

TEST_F(CUDARuntime, RefusesWhatTheDeviceOrTheCallerLacks) {
  fake.sharedBytes = 96 * 1024;
  EXPECT_EQ(runAll(), 1);
  EXPECT_TRUE(says("needs 100000 bytes of shared memory, and Fake GPU has 98304")) << error;
  fake.sharedBytes = 163 * 1024;
  first.sizes[0] = 1000;
  EXPECT_EQ(runAll(), 1);
  EXPECT_TRUE(says("expected a workspace of 1280000 bytes, aligned to 128, got 65536")) << error;
  first.sizes[0] = int64_t(1) << 40;
  EXPECT_EQ(runAll(), 1);
  EXPECT_TRUE(says("more programs than a grid has CTAs")) << error;
  first.rank = 1;
  first.sizes[0] = 3;
  EXPECT_EQ(runAll(), 1);
  EXPECT_TRUE(says("wants dimension 1 of tensor 0")) << error;
}

TEST_F(CUDARuntime, LaunchesNothingForAnEmptyTensor) {
  first.sizes[0] = 0;
  EXPECT_EQ(runAll(), 0) << error;
  EXPECT_TRUE(fake.launches.empty());
}

// As decoding has them for few tokens: what writes states back from a workspace comes last.
TEST_F(CUDARuntime, LaunchesStagesBeforeOneWithoutPrograms) {
  const polyattn_rt_stage_rule stages[] = {kStages[1], kStages[0]};
  const polyattn_rt_plan plan = {kWorkspaces, 2, stages, 2, &kChoice, 1};
  const polyattn_cuda_launch_rule launches[] = {kLaunches[1], kLaunches[0]};
  const polyattn_cuda_entry_rule own = {"kernel", &plan, launches};
  rule = &own;
  ptx = kSegmentPTX;
  ASSERT_EQ(runAll(), 0) << error;
  ASSERT_EQ(fake.launches.size(), 1u);
  EXPECT_EQ(fake.launches[0].function, "kernel");
  EXPECT_EQ(toVector(fake.launches[0].grid), (std::vector<unsigned>{3, 1, 1}));
}

TEST_F(CUDARuntime, NamesTheLibraryThatIsMissing) {
  polyattn_cuda_driver driver;
  EXPECT_EQ(polyattn_cuda_load_driver("/nowhere/libcuda.so.1", &driver, error, sizeof error), 1);
  EXPECT_TRUE(says("there is no usable CUDA driver: /nowhere/libcuda.so.1: ")) << error;
  EXPECT_EQ(polyattn_cuda_load_driver("libm.so.6", &driver, error, sizeof error), 1);
  EXPECT_TRUE(says("libm.so.6 has no cuGetErrorString")) << error;
}

TEST_F(CUDARuntime, CountsTheWorkspace) {
  int64_t bytes = 0;
  EXPECT_EQ(polyattn_cuda_workspace(&kRule, tensors, 2, 1, &bytes, error, sizeof error), 0);
  EXPECT_EQ(bytes, 15 * 256);
}

TEST_F(CUDARuntime, LaunchesTheSumsOfSegmentsFirst) {
  useSegments(4);
  ASSERT_EQ(runAll(), 0) << error;
  EXPECT_EQ(launchCalls,
            (std::vector<std::string>{"cuCtxGetCurrent", "cuLaunchKernel", "cuLaunchKernel"}));
  ASSERT_EQ(fake.launches.size(), 2u);
  const polyattn::test::FakeLaunch &sums = fake.launches[0], &kernel = fake.launches[1];
  EXPECT_EQ(sums.function, "sums");
  EXPECT_EQ(toVector(sums.grid), (std::vector<unsigned>{3 * 3, 1, 1}));
  EXPECT_EQ(toVector(sums.block), (std::vector<unsigned>{64, 1, 1}));
  EXPECT_EQ(kernel.function, "kernel");
  EXPECT_EQ(toVector(kernel.grid), (std::vector<unsigned>{3 * 4, 1, 1}));
  EXPECT_EQ(sums.stream, stream);
  EXPECT_EQ(kernel.stream, stream);
  // 3 x 3 x 5 numbers of 4 bytes are 180, the next multiple of 128 is 256; then 3 x 3 of them.
  EXPECT_EQ(sums.parameters,
            (std::vector<uint64_t>{lastWorkspace, lastWorkspace + 256, lastWorkspace + 384}));
  EXPECT_EQ(kernel.parameters, (std::vector<uint64_t>{lastWorkspace, 3, 15, lastWorkspace + 384}));
}

TEST_F(CUDARuntime, LaunchesOneKernelForOneSegment) {
  useSegments(1);
  ASSERT_EQ(runAll(), 0) << error;
  ASSERT_EQ(fake.launches.size(), 1u);
  EXPECT_EQ(fake.launches[0].function, "kernel");
  EXPECT_EQ(toVector(fake.launches[0].grid), (std::vector<unsigned>{3, 1, 1}));
  EXPECT_EQ(fake.launches[0].parameters[1], 0u); // segments before the last
}

TEST_F(CUDARuntime, CountsTheWorkspaceOfSegments) {
  auto bytesFor = [&](int64_t segments) {
    int64_t bytes = 0;
    EXPECT_EQ(
        polyattn_cuda_workspace(&kSegmentRule, tensors, 2, segments, &bytes, error, sizeof error),
        0)
        << error;
    return bytes;
  };
  EXPECT_EQ(bytesFor(1), 3 * 256);
  // The kernels use the same memory one after the other: the first has fewer and larger programs.
  EXPECT_EQ(bytesFor(4), 256 + 128 + 9 * 4096);
}

TEST_F(CUDARuntime, RefusesSegmentsThatCannotBe) {
  int64_t bytes;
  EXPECT_EQ(polyattn_cuda_workspace(&kRule, tensors, 2, 2, &bytes, error, sizeof error), 1);
  EXPECT_STREQ(error, "kernel: its positions cannot be cut into 2 segments");
  EXPECT_EQ(polyattn_cuda_workspace(&kSegmentRule, tensors, 2, 0, &bytes, error, sizeof error), 1);
  EXPECT_STREQ(error, "kernel: its positions cannot be cut into 0 segments");
  EXPECT_EQ(polyattn_cuda_workspace(&kSegmentRule, tensors, 2, int64_t(1) << 61, &bytes, error,
                                    sizeof error),
            1);
  EXPECT_STREQ(error, "kernel: the workspace exceeds 64 bits");
}

// Splits and chains are executed by processors only.
TEST_F(CUDARuntime, RefusesPlansThatAreNotForGPUs) {
  polyattn_rt_stage_rule stage = kStage;
  polyattn_rt_plan plan = kPlan;
  plan.stages = &stage;
  const polyattn_cuda_entry_rule entry = {"kernel", &plan, &kLaunch};
  rule = &entry;
  stage.kind = POLYATTN_RT_STAGE_CHAINED;
  EXPECT_EQ(runAll(), 1);
  EXPECT_STREQ(error, "kernel: the entry has stages or workspaces that are not for GPUs");
  stage.kind = POLYATTN_RT_STAGE;
  polyattn_rt_workspace_rule space = {POLYATTN_I32, POLYATTN_RT_FILL_ZERO, 1, {dim(0, 0)}};
  plan.workspaces = &space;
  plan.num_workspaces = 1;
  EXPECT_EQ(runAll(), 1);
  EXPECT_STREQ(error, "kernel: the entry has stages or workspaces that are not for GPUs");
  space.fill = POLYATTN_RT_FILL_NONE;
  EXPECT_EQ(runAll(), 0) << error;
}

TEST_F(CUDARuntime, TakesAsManyWorkspacesAsPlansMayHave) {
  const polyattn_rt_extent none = {POLYATTN_RT_NUMBER, 0, 0, /*plus=*/0, 1, 1};
  const polyattn_rt_workspace_rule space = {POLYATTN_I32, POLYATTN_RT_FILL_NONE, 1, {none}};
  std::vector<polyattn_rt_workspace_rule> spaces(POLYATTN_RT_MAX_WORKSPACES + 1, space);
  polyattn_rt_plan plan = kPlan;
  plan.workspaces = spaces.data();
  plan.num_workspaces = POLYATTN_RT_MAX_WORKSPACES;
  const polyattn_cuda_entry_rule entry = {"kernel", &plan, &kLaunch};
  rule = &entry;
  EXPECT_EQ(runAll(), 0) << error;
  ++plan.num_workspaces;
  EXPECT_EQ(runAll(), 1);
  EXPECT_STREQ(error,
               "kernel: the entry has 1 stages and 513 workspaces, and there can be 64 and 512");
}

} // namespace
