//===- CAPITest.cpp - the C API's kernels on GPUs -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Reference/PlainSpec.h"
#include "../Reference/SpecLibrary.h"
#include "FakeDriver/FakeDriver.h"
#include "lib/CAPI/Kernel.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace polyattn;
using test::FakeDriver;

namespace {

class CAPIOnGPU : public testing::Test {
protected:
  CAPIOnGPU() {
    fake.reset();
    capi::driverLibrary = POLYATTN_FAKE_CUDA;
  }
  ~CAPIOnGPU() override {
    polyattn_kernel_destroy(kernel);
    capi::driverLibrary.clear();
    EXPECT_EQ(fake.retained + fake.modules + fake.events + int(fake.memory.size()), 0);
    fake.reset();
  }

  /// The message of a failure, empty where there is none.
  std::string compile(const char *entry, const char *target = "cuda",
                      const char *direction = nullptr, int packed = 0) {
    polyattn_kernel_destroy(kernel);
    polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
    options.entry = entry;
    options.target = target;
    options.direction = direction;
    options.packed = packed;
    options.dtype = "bf16";
    options.cache_directory = "";
    polyattn_error *error = nullptr;
    kernel = polyattn_compile_file(specPath("linear").c_str(), &options, &error);
    EXPECT_EQ(!kernel, error != nullptr);
    return take(error);
  }

  static std::string take(polyattn_error *error) {
    std::string message = polyattn_error_message(error);
    polyattn_error_destroy(error);
    return message;
  }

  /// Tensors of B = 1 and H = 2 at made-up addresses, a result that lives in an argument at
  /// that one's.
  void placeTensors(int64_t sequences = 1, int64_t positions = 70) {
    tensors.clear();
    for (size_t i = 0; i < polyattn_kernel_num_tensors(kernel); ++i) {
      polyattn_tensor_info info;
      ASSERT_EQ(polyattn_kernel_tensor(kernel, i, &info), 0);
      std::map<int64_t, int64_t> sizes = {{POLYATTN_SIZE_B, 1},
                                          {POLYATTN_SIZE_T, positions},
                                          {POLYATTN_SIZE_H, 2},
                                          {POLYATTN_SIZE_HKV, 2},
                                          {POLYATTN_SIZE_P, 4},
                                          {POLYATTN_SIZE_N, sequences},
                                          {POLYATTN_SIZE_N1, sequences + 1}};
      int64_t shape[POLYATTN_MAX_RANK];
      for (int d = 0; d < info.rank; ++d)
        shape[d] = info.sizes[d] < 0 ? sizes.at(info.sizes[d]) : info.sizes[d];
      uintptr_t address = (i + 1) << 28;
      if (int64_t place = polyattn_kernel_tensor_place(kernel, i); place >= 0)
        address = (place + 1) << 28;
      tensors.push_back(
          polyattn_dense(reinterpret_cast<void *>(address), info.dtype, info.rank, shape));
    }
  }

  std::string launch() {
    int64_t bytes = 0;
    polyattn_error *error = nullptr;
    if (polyattn_kernel_workspace(kernel, tensors.data(), tensors.size(), &bytes, &error) != 0)
      return take(error);
    EXPECT_GE(bytes, 0);
    polyattn_kernel_launch(kernel, tensors.data(), tensors.size(), workspace, bytes, stream,
                           &error);
    return take(error);
  }

  FakeDriver &fake = FakeDriver::get();
  polyattn_kernel *kernel = nullptr;
  std::vector<polyattn_tensor> tensors;
  void *workspace = reinterpret_cast<void *>(0x7000000000);
  void *stream = reinterpret_cast<void *>(0x1234560);
};

TEST_F(CAPIOnGPU, LaunchesOnTheCallersStream) {
  ASSERT_EQ(compile("linear"), "");
  EXPECT_EQ(polyattn_kernel_device(kernel), 0);
  placeTensors();
  fake.calls.clear();
  EXPECT_EQ(launch(), "");
  ASSERT_EQ(fake.launches.size(), 1u);
  EXPECT_EQ(fake.launches[0].stream, stream);
  EXPECT_EQ(fake.launches[0].grid[0], 2u);
  for (const polyattn_tensor &tensor : tensors)
    EXPECT_TRUE(llvm::is_contained(fake.launches[0].parameters, uint64_t(tensor.data)));
  EXPECT_TRUE(llvm::is_contained(fake.launches[0].parameters, uint64_t(workspace)));
  // Nothing is allocated, copied or waited for.
  for (const std::string &call : fake.calls)
    EXPECT_TRUE(llvm::is_contained(
        {"cuCtxGetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent", "cuLaunchKernel"}, call))
        << call;
}

TEST_F(CAPIOnGPU, KeepsTheContextOfAFramework) {
  fake.contexts = {test::frameworkContext()};
  ASSERT_EQ(compile("linear"), "");
  placeTensors();
  EXPECT_EQ(launch(), "");
  EXPECT_EQ(fake.contexts, std::vector<polyattn_cu_context>{test::frameworkContext()});
  EXPECT_EQ(fake.retained, 0);
}

TEST_F(CAPIOnGPU, HasEveryDirection) {
  for (const char *direction : {"training", "backward", "decode", "states"})
    for (int packed : {0, 1}) {
      ASSERT_EQ(compile("linear", "cuda", direction, packed), "") << direction;
      placeTensors(/*sequences=*/3);
      size_t before = fake.launches.size();
      EXPECT_EQ(launch(), "") << direction;
      EXPECT_GT(fake.launches.size(), before);
    }
}

TEST_F(CAPIOnGPU, TakesTheDeviceByItsNumber) {
  ASSERT_EQ(compile("linear", "cuda:1"), "");
  EXPECT_EQ(polyattn_kernel_device(kernel), 1);
  EXPECT_NE(compile("linear", "cuda:2"), "");
  for (const char *target : {"cuda:", "cuda:x", "cuda:-1", "cuda:1 "})
    EXPECT_EQ(compile("linear", target),
              std::string("target: expected cuda, or cuda: and a device's number, got '") + target +
                  "'");
  EXPECT_NE(compile("linear", "cudax").find("cudax"), std::string::npos);
}

TEST_F(CAPIOnGPU, ChecksLimitsBeforeALaunch) {
  const std::string spec = R"(
    polyattn.attention @a<d = 16, n = 40>(q, k, v: seq[d], b: head_weight[n]) {
      c = relative(b, beyond = error, log = true)
      return attend(tensor(c, elu_plus_one(q)), tensor(c, elu_plus_one(k)), v) causal normalize sum(1)
    })";
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  options.target = "cuda";
  options.cache_directory = "";
  polyattn_error *error = nullptr;
  kernel = polyattn_compile_text(spec.data(), spec.size(), "spec", &options, &error);
  ASSERT_TRUE(kernel) << take(error);
  EXPECT_EQ(polyattn_kernel_limit(kernel, POLYATTN_SIZE_T, nullptr), 40);
  placeTensors(1, 40);
  EXPECT_EQ(launch(), "");
  size_t before = fake.launches.size();
  EXPECT_GT(before, 0u);
  placeTensors(1, 41);
  EXPECT_EQ(launch(), "a: argument 'b': expected T <= 40 with shape [H, 40], got T = 41");
  EXPECT_EQ(fake.launches.size(), before);
}

TEST_F(CAPIOnGPU, RefusesCallsOfTheOtherKind) {
  ASSERT_EQ(compile("linear"), "");
  placeTensors();
  polyattn_error *error = nullptr;
  EXPECT_EQ(polyattn_kernel_run(kernel, tensors.data(), tensors.size(), 1, &error), 1);
  EXPECT_EQ(take(error), "linear: is on a GPU; call polyattn_kernel_launch");
  ASSERT_EQ(compile("linear", "native"), "");
  EXPECT_EQ(polyattn_kernel_device(kernel), -1);
  EXPECT_EQ(launch(), "linear: is not on a GPU; call polyattn_kernel_run");
}

TEST_F(CAPIOnGPU, NamesWhatDoesNotFit) {
  ASSERT_EQ(compile("linear"), "");
  placeTensors();
  tensors[2].dtype = POLYATTN_F32;
  EXPECT_EQ(launch(), "linear: argument 'v': expected element type bf16, got f32");
  // In segments, whose states need room.
  placeTensors(/*sequences=*/1, /*positions=*/5120);
  polyattn_error *error = nullptr;
  EXPECT_EQ(
      polyattn_kernel_launch(kernel, tensors.data(), tensors.size(), workspace, 0, stream, &error),
      1);
  EXPECT_NE(take(error).find("workspace"), std::string::npos);
  EXPECT_EQ(polyattn_kernel_launch(kernel, tensors.data(), 2, workspace, 1 << 20, stream, &error),
            1);
  EXPECT_NE(take(error), "");
  EXPECT_EQ(polyattn_kernel_launch(nullptr, tensors.data(), 4, workspace, 0, stream, nullptr), 1);
  EXPECT_EQ(polyattn_kernel_workspace(kernel, nullptr, 4, nullptr, nullptr), 1);
  EXPECT_EQ(polyattn_kernel_device(nullptr), -1);
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(CAPIOnGPU, SaysWhichFunctionOfTheDriverFailed) {
  ASSERT_EQ(compile("linear"), "");
  placeTensors();
  ASSERT_EQ(launch(), "");
  std::set<std::string> functions(fake.calls.begin(), fake.calls.end());
  for (const std::string &function : functions) {
    polyattn_kernel_destroy(std::exchange(kernel, nullptr));
    fake.reset();
    fake.failing = function;
    std::string message = compile("linear");
    if (kernel)
      message = launch();
    if (kernel && message.empty())
      EXPECT_TRUE(llvm::is_contained({"cuModuleUnload", "cuDevicePrimaryCtxRelease"}, function))
          << function;
    else
      EXPECT_NE(message.find("the fake driver was told to fail (999)"), std::string::npos)
          << function << message;
  }
}

TEST_F(CAPIOnGPU, ShowsItsCode) {
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  auto show = [&](const char *target, const char *level) {
    options.target = target;
    polyattn_error *error = nullptr;
    polyattn_string *text =
        level ? polyattn_ir(kPlainSpec, strlen(kPlainSpec), "a", level, &options, &error)
              : polyattn_explain(kPlainSpec, strlen(kPlainSpec), "a", &options, &error);
    std::string shown = text ? polyattn_string_data(text) : take(error);
    polyattn_string_destroy(text);
    return shown;
  };
  fake.major = 9;
  fake.sharedBytes = 227 * 1024;
  EXPECT_NE(show("cuda", "warp").find("warp.program_id"), std::string::npos);
  EXPECT_NE(show("cuda", "ptx").find(".target sm_90"), std::string::npos);
  EXPECT_NE(show("sm_80", "ptx").find(".target sm_80"), std::string::npos);
  EXPECT_NE(show("sm_80", "tile").find("tile.kernel @plain"), std::string::npos);
  EXPECT_NE(show("sm_80", nullptr).find("@plain"), std::string::npos);
  EXPECT_EQ(show("sm_80", "vector"),
            "level: expected one of spec, schedule, tile, warp, ptx, got 'vector'");
  EXPECT_EQ(show("sm_12", "ptx").find("unknown"), 0u);
  polyattn_error *error = nullptr;
  EXPECT_EQ(polyattn_save(kPlainSpec, strlen(kPlainSpec), "a", "/tmp", "x", &options, &error), 1);
  take(error);
  options.target = "sm_80";
  EXPECT_EQ(polyattn_save(kPlainSpec, strlen(kPlainSpec), "a", "/tmp", "x", &options, &error), 1);
  EXPECT_NE(take(error).find("a library has a processor's code"), std::string::npos);
  EXPECT_NE(compile("linear", "sm_90").find("runs on a GPU of this machine as target 'cuda'"),
            std::string::npos);
  ASSERT_EQ(compile("linear"), "");
  EXPECT_NE(std::string(polyattn_kernel_json(kernel)).find("\"target\":\"sm_90\""),
            std::string::npos);
}

TEST_F(CAPIOnGPU, NeedsADriver) {
  capi::driverLibrary = "/nowhere/libcuda.so.1";
  EXPECT_EQ(compile("linear").find("there is no usable CUDA driver: "), 0u);
}

} // namespace
