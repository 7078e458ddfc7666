//===- FourierTest.cpp - transforms on a GPU ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedRun.h"
#include "test/Unit/Tile/FourierKernel.h"

using namespace mlir;
using namespace polyattn;

namespace {

class FourierOnGPU : public EmulatedRun {
protected:
  /// The kernel's tensors with these numbers. It reads no roots but its own.
  void setTensors(const std::vector<Array> &arrays, size_t roots) {
    tensors.clear();
    for (auto [i, array] : llvm::enumerate(arrays)) {
      tensors.push_back(std::make_unique<TestTensor<float>>(
          std::vector<int64_t>(array.shape.begin(), array.shape.end()), /*isResult=*/true,
          /*isUpdated=*/i != roots));
      llvm::copy(array.data, tensors.back()->data.begin());
    }
  }
  llvm::Expected<EmulatorReport> runKernel(const std::string &chip = "sm_80") {
    EmulatorOptions options;
    options.chip = chip;
    return run("kernel", {*tensors[0], *tensors[1], *tensors[2], *tensors[3]}, options);
  }

  std::vector<std::unique_ptr<TestTensor<float>>> tensors;
  std::mt19937 random{3};
};

// Rows for more or fewer butterflies than there are threads, on both sides of powers of four.
TEST_F(FourierOnGPU, IsInterpreted) {
  for (auto [width, mostRows] :
       {std::pair<int64_t, int64_t>{1, 64}, {3, 32}, {8, 2048}, {16, 64}, {20, 16}, {32, 8}})
    for (int64_t rows : {2, 4, 8, 16, 32, 64, 512, 2048}) {
      if (rows > mostRows || (rows > 64 && rows < mostRows))
        continue;
      SCOPED_TRACE(llvm::formatv("{0} rows of {1}", rows, width).str());
      text = FourierKernel::text(width);
      std::vector<Array> expected = FourierKernel::arguments(width, rows, random);
      setTensors(expected, FourierKernel::kRoots);
      FourierKernel::interpret(text, expected);
      lowerTiles(rows % 3 == 1 ? 4 : 8);
      auto report = runKernel(rows % 3 == 1 ? "sm_80" : "sm_90");
      ASSERT_TRUE(bool(report)) << toString(report.takeError());
      Array found = expected[0];
      llvm::copy(tensors[0]->data, found.data.begin());
      for (int64_t slot = 0; slot < FourierKernel::kSlots; ++slot)
        FourierKernel::expectSlot(found, expected[0], slot);
    }
}

// Levels read rows that other threads wrote in the level before, and the first one reads roots.
TEST_F(FourierOnGPU, LevelsEndAtBarriers) {
  for (std::string form : {"", "{half}", "{inverse}", "{half, inverse}"}) {
    std::string types = "memref<?x16xf32>, memref<?x2xf32>";
    text = "tile.kernel @kernel attributes {arg_names = [\"x\", \"r\"], num_inputs = 0} {\n"
           "^bb0(%x: memref<?x16xf32>, %r: memref<?x2xf32>):\n  %c0 = arith.constant 0 : index\n"
           "  %n = memref.dim %x, %c0 : memref<?x16xf32>\n"
           "  tile.fourier_roots %r rows %n : memref<?x2xf32>\n"
           "  tile.fourier %x[] rows %n roots %r " +
           form + " : " + types + "\n}\n";
    lowerTiles(4);
    std::string whole = text;
    // With an odd and an even number of bits: pairs of rows read no roots.
    auto runWithout = [&](size_t barrier) {
      text = whole;
      if (barrier != std::string::npos)
        text.erase(barrier, StringRef("warp.barrier").size());
      std::string problems;
      for (int64_t rows : {16, 32}) {
        TestTensor<float> x({rows, 16}, true, /*isUpdated=*/true), r({rows, 2}, true);
        problems += toString(run("kernel", {x, r}).takeError());
      }
      return problems;
    };
    EXPECT_EQ(runWithout(std::string::npos), "");
    int barriers = 0;
    for (size_t at = whole.find("warp.barrier"); at != std::string::npos;
         at = whole.find("warp.barrier", at + 1), ++barriers)
      EXPECT_NE(runWithout(at), "") << "nothing needs barrier " << barriers << form;
    EXPECT_GE(barriers, 2) << form;
  }
}

// What a kernel loads of a tensor that it transforms is what is there then, also where one op uses
// it behind the transform.
TEST_F(FourierOnGPU, LoadsComeInOrder) {
  text = FourierKernel::textOfLoads();
  std::vector<Array> expected = FourierKernel::argumentsOfLoads();
  setTensors(expected, /*roots=*/1);
  FourierKernel::interpret(text, expected);
  lowerTiles(4);
  auto report = run("kernel", {*tensors[0], *tensors[1], *tensors[2]});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  for (size_t i = 0; i < expected[2].data.size(); ++i)
    EXPECT_NEAR(tensors[2]->data[i], expected[2].data[i], 1e-3) << i;
}

} // namespace
