//===- LaunchTest.cpp - launches of GPU kernels ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Target/Launch.h"
#include "dialects/Warp/Warp.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace polyattn;

namespace {
class LaunchTest : public ::testing::Test {
protected:
  llvm::Expected<LaunchDescription> describe(const std::string &arguments,
                                             const std::string &attributes) {
    context.loadDialect<warp::WarpDialect>();
    module =
        parseSourceString<ModuleOp>("gpu.module @m { gpu.func @f(" + arguments +
                                        ") kernel attributes {" + attributes + "} { gpu.return } }",
                                    &context);
    gpu::GPUFuncOp function;
    module->walk([&](gpu::GPUFuncOp op) { function = op; });
    return describeLaunch(function);
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  const std::string numbers =
      "warp.threads = 64 : i64, warp.shared_bytes = 512 : i64, warp.workspace_bytes = 24 : i64";
};

TEST_F(LaunchTest, BindsParametersInOrder) {
  auto launch = describe("%t: i64 {warp.size = [0, 1]}, %p: !llvm.ptr<1> {warp.pointer = 1 : i64}, "
                         "%s: i64 {warp.stride = [1, 0]}, %w: !llvm.ptr<1> {warp.workspace}, "
                         "%x: !llvm.ptr<1> {warp.profile}",
                         numbers + ", warp.programs = [[0, 0], [1, 1]]");
  ASSERT_TRUE(bool(launch)) << toString(launch.takeError());
  EXPECT_EQ(launch->function, "f");
  EXPECT_EQ(launch->threads, 64);
  EXPECT_EQ(launch->sharedBytes, 512);
  EXPECT_EQ(launch->workspaceBytes, 24);

  float data[2];
  int workspace;
  int64_t sizes[] = {3, 5}, otherSizes[] = {2, 7}, strides[] = {11, 1};
  LaunchTensor tensors[] = {{data, sizes, strides}, {data + 1, otherSizes, strides}};
  EXPECT_EQ(countPrograms(*launch, tensors), 3 * 7);
  auto address = [](void *pointer) { return reinterpret_cast<uint64_t>(pointer); };
  EXPECT_EQ(bindParameters(*launch, tensors, &workspace),
            (std::vector<uint64_t>{5, address(data + 1), 11, address(&workspace), 0}));
}

TEST_F(LaunchTest, NamesWhatIsMissing) {
  EXPECT_EQ(toString(describe("", numbers).takeError()), "kernel @f: no attribute warp.programs");
  EXPECT_EQ(toString(describe("%p: !llvm.ptr<1>", numbers + ", warp.programs = []").takeError()),
            "kernel @f: nothing says what parameter 0 is");
  EXPECT_EQ(toString(describe("", "warp.threads = 32 : i64").takeError()),
            "kernel @f: no attribute warp.shared_bytes");
  EXPECT_EQ(toString(describe("", numbers + ", warp.programs = [0]").takeError()),
            "kernel @f: warp.programs is not a list of [tensor, dimension]");
}
} // namespace
