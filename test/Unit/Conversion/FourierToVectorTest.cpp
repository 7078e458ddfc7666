//===- FourierToVectorTest.cpp - compiled transforms ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Support/KernelRunner.h"
#include "test/Unit/Tile/FourierKernel.h"

using namespace polyattn;
using namespace polyattn::test;

namespace {

class FourierToVector : public ::testing::TestWithParam<int64_t> {
protected:
  MachineDescription machine{GetParam(), GetParam() == 16 ? 32 : 16, 32768,
                             GetParam() == 4 ? Instructions::None
                                             : Instructions::Fma | Instructions::Round};
};

/// Calls `body` with each index of an array.
template <typename Body> void forEachIndex(const Array &array, Body body) {
  std::vector<int64_t> index(array.shape.size());
  for (size_t i = 0; i < array.data.size(); ++i) {
    size_t rest = i;
    for (size_t d = index.size(); d-- > 0; rest /= array.shape[d])
      index[d] = rest % array.shape[d];
    body(i, index);
  }
}

/// Runs a kernel on copies of these tensors, which pages that must not be touched follow, and
/// returns the numbers of one of them.
Array runCompiled(Kernel &compiled, const std::vector<Array> &arrays, size_t result) {
  std::vector<std::unique_ptr<TestTensor>> tensors;
  std::vector<TestTensor *> arguments;
  for (const Array &array : arrays) {
    tensors.push_back(
        std::make_unique<TestTensor>(std::vector<int64_t>(array.shape.begin(), array.shape.end())));
    arguments.push_back(tensors.back().get());
    forEachIndex(array, [&](size_t i, const std::vector<int64_t> &index) {
      tensors.back()->set(index, array.data[i]);
    });
  }
  compiled.run(arguments);
  EXPECT_EQ(compiled.error(), "");
  for (TestTensor *tensor : arguments)
    EXPECT_TRUE(tensor->paddingIsIntact());
  Array found = arrays[result];
  forEachIndex(found, [&](size_t i, const std::vector<int64_t> &index) {
    found.data[i] = tensors[result]->get(index);
  });
  return found;
}

TEST_P(FourierToVector, IsInterpreted) {
  std::mt19937 random(1);
  for (int64_t width : {1, 3, 8, 16, 20, 32, 64}) {
    std::string text = FourierKernel::text(width);
    Kernel compiled(text, machine);
    ASSERT_TRUE(compiled.valid()) << compiled.error() << text;
    for (int64_t rows : {2, 4, 8, 16, 32, 64, 512, 2048}) {
      if (rows * width > 2048 * 20)
        continue;
      SCOPED_TRACE(llvm::formatv("{0} rows of {1}", rows, width).str());
      std::vector<Array> expected = FourierKernel::arguments(width, rows, random);
      Array found = runCompiled(compiled, expected, 0);
      FourierKernel::interpret(text, expected);
      for (int64_t slot = 0; slot < FourierKernel::kSlots; ++slot)
        FourierKernel::expectSlot(found, expected[0], slot);
    }
  }
}

// Nothing that a kernel loads of a tensor that it transforms is loaded at another time.
TEST_P(FourierToVector, LoadsComeInOrder) {
  std::string text = FourierKernel::textOfLoads();
  Kernel compiled(text, machine);
  ASSERT_TRUE(compiled.valid()) << compiled.error() << text;
  std::vector<Array> expected = FourierKernel::argumentsOfLoads();
  Array found = runCompiled(compiled, expected, 2);
  FourierKernel::interpret(text, expected);
  for (size_t i = 0; i < found.data.size(); ++i)
    EXPECT_NEAR(found.data[i], expected[2].data[i], 1e-3) << i;
}

// Each part of a root within a unit in the last place.
TEST_P(FourierToVector, RootsAreAccurate) {
  std::string roots = "memref<?x2xf32, strided<[?, 1], offset: ?>>";
  std::string text = "tile.kernel @kernel attributes {arg_names = [\"r\"], num_inputs = 0} {\n"
                     "^bb0(%r: " +
                     roots +
                     "):\n  %c0 = arith.constant 0 : index\n  %n = memref.dim %r, %c0 : " + roots +
                     "\n  tile.fourier_roots %r rows %n : " + roots + "\n}\n";
  Kernel compiled(text, machine);
  ASSERT_TRUE(compiled.valid()) << compiled.error() << text;
  for (int64_t rows : {int64_t(2), int64_t(4), int64_t(32), int64_t(64), int64_t(1) << 17}) {
    TestTensor table({rows, 2});
    compiled.run({&table});
    EXPECT_TRUE(table.paddingIsIntact());
    std::vector<Array> expected = {Array({rows, 2})};
    FourierKernel::interpret(text, expected);
    double worst = 0;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t part : {0, 1}) {
        double exact = expected[0].at({row, part});
        if (std::isnan(exact))
          continue;
        double ulp = exact == 0 ? 0 : std::ldexp(1.0, std::ilogb(exact) - 23);
        double unit = std::max(ulp, 1e-16);
        worst = std::max(worst, std::fabs(table.get({row, part}) - exact) / unit);
      }
    EXPECT_LE(worst, 1.0) << rows;
  }
}

TEST_P(FourierToVector, PowerOfTwo) {
  std::string type = "memref<?x1xf32, strided<[?, 1], offset: ?>>";
  std::string text = "tile.kernel @kernel attributes {arg_names = [\"x\"], num_inputs = 0} {\n"
                     "^bb0(%x: " +
                     type +
                     "):\n  %c0 = arith.constant 0 : index\n  %t = memref.dim %x, %c0 : " + type +
                     "\n  %n = tile.power_of_two %t : index\n" +
                     "  %y = tile.iota %n : !tile.tile<1x1xf32>\n  tile.store %y, %x[%c0, %c0] "
                     "{row_dim = 0, col_dim = 1} : !tile.tile<1x1xf32>, " +
                     type + "\n}\n";
  Kernel compiled(text, machine);
  ASSERT_TRUE(compiled.valid()) << compiled.error() << text;
  for (auto [number, power] : {std::pair<int64_t, int64_t>{1, 2},
                               {2, 2},
                               {3, 4},
                               {4, 4},
                               {5, 8},
                               {127, 128},
                               {128, 128},
                               {129, 256},
                               {4097, 8192}}) {
    TestTensor x({number, 1});
    compiled.run({&x});
    EXPECT_EQ(x.get({0, 0}), power) << number;
    std::vector<Array> interpreted = {Array({number, 1})};
    FourierKernel::interpret(text, interpreted);
    EXPECT_EQ(interpreted[0].data[0], power) << number;
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, FourierToVector, ::testing::Values(4, 8, 16));

} // namespace
