//===- NumbersTest.cpp - what emulated kernels compute --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedRun.h"

using namespace polyattn;

namespace {

/// Small whole numbers: sums of their products are exact.
template <typename Element, typename Convert>
void fill(TestTensor<Element> &tensor, Convert convert) {
  std::mt19937 random(1);
  for (Element &element : tensor.data)
    element = convert(static_cast<float>(static_cast<int>(random() % 17) - 8));
}

float unit(float value) { return value; }

TEST_F(EmulatedRun, ProductOfBF16ThroughSharedMemory) {
  read("product");
  constexpr int kPrograms = 5, kRows = 32, kDepth = 32, kColumns = 16;
  TestTensor<uint16_t> a({kPrograms, kRows, kDepth}), b({kPrograms, kDepth, kColumns});
  TestTensor<float> c({kPrograms, kRows, kColumns}, /*isResult=*/true);
  fill(a, bf16);
  fill(b, bf16);
  auto report = run("product", {a, b, c});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  for (int p = 0; p < kPrograms; ++p)
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kColumns; ++j) {
        float sum = 0;
        for (int k = 0; k < kDepth; ++k)
          sum += ofBF16(a.data[(p * kRows + i) * kDepth + k]) *
                 ofBF16(b.data[(p * kDepth + k) * kColumns + j]);
        ASSERT_EQ(c.data[(p * kRows + i) * kColumns + j], sum) << p << " " << i << " " << j;
      }

  const emulator::Counters &counters = report->counters;
  EXPECT_EQ(report->programs, kPrograms);
  EXPECT_EQ(counters.mma[0], uint64_t(kPrograms * 2 * 2 * 2));
  EXPECT_EQ(counters.barriers, uint64_t(kPrograms));
  EXPECT_EQ(counters.globalBytesRead, uint64_t(kPrograms * (kRows + kColumns) * kDepth * 2));
  EXPECT_EQ(counters.globalSectorsRead, counters.globalBytesRead / 32);
  EXPECT_EQ(counters.globalBytesWritten, uint64_t(kPrograms * kRows * kColumns * 4));
  EXPECT_EQ(counters.globalSectorsWritten, counters.globalBytesWritten / 32);
  // Rows are 80 and 48 bytes apart: nothing conflicts. 16-byte copies, 8 lanes at a time; then 4
  // matrices of A and 2 of B for each product.
  EXPECT_EQ(counters.idealSharedWavefronts, uint64_t(kPrograms * (192 / 8 + 8 * 6)));
  // The mma of two warps are in two sub-cores.
  EXPECT_EQ(counters.tensorClocks, kPrograms * 4 * 8.0);
}

TEST_F(EmulatedRun, TensorCoresIgnoreTheLowBitsOfTF32) {
  read("tf32");
  TestTensor<float> a({16, 8}), b({8, 8}), c({16, 8}, /*isResult=*/true);
  TestTensor<float> truncate({0}), round({1});
  // 1 + 2^-10 survives; 2^-11 more is cut off, or rounds up.
  std::fill(a.data.begin(), a.data.end(), 1 + 0x1p-10f + 0x1p-11f);
  fill(b, unit);
  for (int i = 0; i < 128; ++i)
    a.data[i] *= static_cast<float>(1 << (i / 8 % 4));
  for (bool rounds : {false, true}) {
    auto report = run("tf32", {a, b, c, rounds ? round : truncate});
    ASSERT_TRUE(bool(report)) << toString(report.takeError());
    EXPECT_EQ(report->counters.mma[2], 1u);
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) {
        float sum = 0;
        for (int k = 0; k < 8; ++k)
          sum += (rounds ? 1 + 0x1p-9f : 1 + 0x1p-10f) * static_cast<float>(1 << (i % 4)) *
                 b.data[k * 8 + j];
        ASSERT_EQ(c.data[i * 8 + j], sum) << i << " " << j;
      }
  }
}

TEST_F(EmulatedRun, CopiesThroughTwoBuffers) {
  read("stream");
  constexpr int kTiles = 7;
  TestTensor<float> x({kTiles, 64}), y({64}, /*isResult=*/true);
  fill(x, unit);
  auto report = run("stream", {x, y});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  for (int i = 0; i < 64; ++i) {
    float sum = 0;
    for (int t = 0; t < kTiles; ++t)
      sum += x.data[t * 64 + (i + 1) % 64];
    EXPECT_EQ(y.data[i], sum) << i;
  }
  EXPECT_EQ(report->counters.barriers, 2u * kTiles);
}

TEST_F(EmulatedRun, ShufflesReduceAndScan) {
  read("reduce");
  TestTensor<float> x({2, 32}), y({2, 35}, /*isResult=*/true);
  fill(x, unit);
  auto report = run("reduce", {x, y});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  for (int w = 0; w < 2; ++w) {
    const float *in = &x.data[w * 32], *out = &y.data[w * 35];
    EXPECT_EQ(out[1], in[5]);
    float sum = 0;
    for (int i = 0; i < 32; ++i) {
      sum += in[i];
      EXPECT_EQ(out[2 + i], sum);
    }
    EXPECT_EQ(out[0], sum);
    uint32_t packed;
    memcpy(&packed, &out[34], 4);
    EXPECT_EQ(packed, bf16(std::exp2(in[0])) * 0x10001u);
  }
}

TEST_F(EmulatedRun, AnyLaneOfAWarpAnswersForAll) {
  // Of two warps, the second has a number that is not zero, in lane 5.
  define("%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %y: !llvm.ptr<1> {warp.pointer = 1 : i64}", R"(
    %zero = arith.constant 0 : i32
    %four = arith.constant 4 : i32
    %t = warp.thread_id
    %own = arith.muli %t, %four : i32
    %own64 = arith.extui %own : i32 to i64
    %v = warp.load_global %x[%own64] : i32
    %mine = arith.cmpi ne, %v, %zero : i32
    %some = warp.any %mine
    %result = arith.extui %some : i1 to i32
    warp.store_global %result, %y[%own64] : i32)",
         64, 0);
  TestTensor<int32_t> x({64}), y({64}, /*isResult=*/true);
  for (int i = 0; i < 64; ++i)
    x.data[i] = i == 37;
  auto report = run("kernel", {x, y});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(y.data[i], i / 32) << i;
}

TEST_F(EmulatedRun, LanesAskDifferentOnes) {
  // y[0] of lane l is the value of lane 7 l + 3, y[1] that of lane l xor l, y[2] that of lane l -
  // l.
  define("%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %y: !llvm.ptr<1> {warp.pointer = 1 : i64}", R"(
    %three = arith.constant 3 : i32
    %four = arith.constant 4 : i32
    %seven = arith.constant 7 : i32
    %t = warp.thread_id
    %own = arith.muli %t, %four : i32
    %own64 = arith.extui %own : i32 to i64
    %v = warp.load_global %x[%own64] : i32
    %seventh = arith.muli %t, %seven : i32
    %from = arith.addi %seventh, %three : i32
    %a = warp.shuffle <index> %v, %from : i32
    %b = warp.shuffle <xor> %v, %t : i32
    %c = warp.shuffle <up> %v, %t : i32
    %row = arith.constant 128 : i64
    %second = arith.addi %own64, %row : i64
    %third = arith.addi %second, %row : i64
    warp.store_global %a, %y[%own64] : i32
    warp.store_global %b, %y[%second] : i32
    warp.store_global %c, %y[%third] : i32)",
         32, 0);
  TestTensor<int32_t> x({32}), y({3, 32}, /*isResult=*/true);
  for (int i = 0; i < 32; ++i)
    x.data[i] = 100 + i;
  auto report = run("kernel", {x, y});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(y.data[i], 100 + (7 * i + 3) % 32);
    EXPECT_EQ(y.data[32 + i], 100);
    EXPECT_EQ(y.data[64 + i], 100);
  }
}

TEST_F(EmulatedRun, PairsAreMultipliedByHalves) {
  define("%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %y: !llvm.ptr<1> {warp.pointer = 1 : i64}", R"(
    %eight = arith.constant 8 : i32
    %four = arith.constant 4 : i32
    %t = warp.thread_id
    %in = arith.muli %t, %eight : i32
    %in64 = arith.extui %in : i32 to i64
    %v = warp.load_global %x[%in64] : vector<2xi32>
    %a = vector.extract %v[0] : i32 from vector<2xi32>
    %b = vector.extract %v[1] : i32 from vector<2xi32>
    %c = warp.multiply_pairs %a, %b : i32
    %own = arith.muli %t, %four : i32
    %own64 = arith.extui %own : i32 to i64
    warp.store_global %c, %y[%own64] : i32)",
         32, 0);
  TestTensor<uint16_t> x({32, 4}), y({32, 2}, /*isResult=*/true);
  std::vector<float> numbers;
  for (int i = 0; i < 128; ++i) {
    numbers.push_back(float(1 + i % 9) / 8 * (i % 5 ? 1 : -1));
    x.data[i] = bf16(numbers[i]);
  }
  auto report = run("kernel", {x, y});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  for (int i = 0; i < 64; ++i) {
    int first = i / 2 * 4 + i % 2;
    EXPECT_EQ(y.data[i], bf16(numbers[first] * numbers[first + 2])) << i;
  }
}

TEST_F(EmulatedRun, CopiesFillWithZeros) {
  // Lane l copies l % 17 bytes of its 16.
  define("%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %y: !llvm.ptr<1> {warp.pointer = 1 : i64}", R"(
    %sixteen = arith.constant 16 : i32
    %seventeen = arith.constant 17 : i32
    %t = warp.thread_id
    %bytes = arith.remui %t, %seventeen : i32
    %own = arith.muli %t, %sixteen : i32
    %own64 = arith.extui %own : i32 to i64
    warp.copy_async %x[%own64], %own bytes %bytes
    warp.commit_copies
    warp.wait_copies 0
    %v = warp.load_shared %own : vector<4xi32>
    warp.store_global %v, %y[%own64] : vector<4xi32>)",
         32, 512);
  TestTensor<uint8_t> x({512}), y({512}, /*isResult=*/true);
  for (int i = 0; i < 512; ++i)
    x.data[i] = static_cast<uint8_t>(1 + i % 100);
  auto report = run("kernel", {x, y});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  for (int i = 0; i < 512; ++i)
    EXPECT_EQ(y.data[i], i % 16 < i / 16 % 17 ? x.data[i] : 0) << i;
}

TEST_F(EmulatedRun, CopiesOfElements) {
  // Lane l copies 4 bytes to where those of lane 31 - l are, or zeros where l is odd.
  define("%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %y: !llvm.ptr<1> {warp.pointer = 1 : i64}", R"(
    %two = arith.constant 2 : i32
    %four = arith.constant 4 : i32
    %last = arith.constant 124 : i32
    %t = warp.thread_id
    %odd = arith.remui %t, %two : i32
    %half = arith.muli %odd, %four : i32
    %bytes = arith.subi %four, %half : i32
    %own = arith.muli %t, %four : i32
    %own64 = arith.extui %own : i32 to i64
    %place = arith.subi %last, %own : i32
    warp.copy_async %x[%own64], %place bytes %bytes element
    warp.commit_copies
    warp.wait_copies 0
    warp.barrier
    %v = warp.load_shared %own : i32
    warp.store_global %v, %y[%own64] : i32)",
         32, 128);
  TestTensor<int32_t> x({32}), y({32}, /*isResult=*/true);
  for (int i = 0; i < 32; ++i)
    x.data[i] = 100 + i;
  auto report = run("kernel", {x, y});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(y.data[i], i % 2 ? 100 + 31 - i : 0) << i;
}

TEST_F(EmulatedRun, LooksUpTables) {
  define("%y: !llvm.ptr<1> {warp.pointer = 0 : i64}", R"(
    %four = arith.constant 4 : i32
    %three = arith.constant 3 : i32
    %t = warp.thread_id
    %index = arith.remui %t, %three : i32
    %v = warp.lookup %index in dense<[3, 1, 4]> : tensor<3xi32> -> i32
    %own = arith.muli %t, %four : i32
    %own64 = arith.extui %own : i32 to i64
    warp.store_global %v, %y[%own64] : i32)",
         32, 0);
  TestTensor<int32_t> y({32}, /*isResult=*/true);
  auto report = run("kernel", {y});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(y.data[i], (std::array{3, 1, 4}[i % 3]));
}

TEST_F(EmulatedRun, SixteenBitNumbersAndFunctions) {
  define("%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %y: !llvm.ptr<1> {warp.pointer = 1 : i64}", R"(
    %eight = arith.constant 8 : i32
    %t = warp.thread_id
    %own = arith.muli %t, %eight : i32
    %own64 = arith.extui %own : i32 to i64
    %v = warp.load_global %x[%own64] : vector<4xbf16>
    %wide = arith.extf %v : vector<4xbf16> to vector<4xf32>
    %a = vector.extract %wide[0] : f32 from vector<4xf32>
    %b = vector.extract %wide[1] : f32 from vector<4xf32>
    %c = vector.extract %wide[2] : f32 from vector<4xf32>
    %d = vector.extract %wide[3] : f32 from vector<4xf32>
    %exp = math.exp %a : f32
    %sin = math.sin %b : f32
    %cos = math.cos %c : f32
    %erf = math.erf %d : f32
    %tanh = math.tanh %erf : f32
    %abs = math.absf %a : f32
    %log = math.log %abs : f32
    %r0 = arith.truncf %exp : f32 to f16
    %r1 = arith.truncf %sin : f32 to f16
    %h = arith.extf %r1 : f16 to f32
    %sum = arith.addf %h, %cos : f32
    %r2 = arith.truncf %sum : f32 to bf16
    %r3 = arith.truncf %tanh : f32 to bf16
    %logs = arith.truncf %log : f32 to bf16
    %halves = vector.from_elements %r0, %r1 : vector<2xf16>
    %rest = vector.from_elements %r2, %r3 : vector<2xbf16>
    %four = arith.constant 4 : i64
    %second = arith.addi %own64, %four : i64
    warp.store_global %halves, %y[%own64] : vector<2xf16>
    warp.store_global %rest, %y[%second] : vector<2xbf16>)",
         32, 0);
  TestTensor<uint16_t> x({32, 4}), y({32, 4}, /*isResult=*/true);
  fill(x, [](float value) { return bf16(value / 8); });
  auto report = run("kernel", {x, y});
  ASSERT_TRUE(bool(report)) << toString(report.takeError());
  auto f16 = [](float value) {
    llvm::APFloat number(value);
    bool loses;
    number.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &loses);
    uint16_t bits = static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
    number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
    return std::pair(bits, number.convertToFloat());
  };
  for (int t = 0; t < 32; ++t) {
    float in[4];
    for (int i = 0; i < 4; ++i)
      in[i] = ofBF16(x.data[4 * t + i]);
    auto [sineBits, sine] = f16(std::sin(in[1]));
    EXPECT_EQ(y.data[4 * t], f16(std::exp(in[0])).first);
    EXPECT_EQ(y.data[4 * t + 1], sineBits);
    EXPECT_EQ(y.data[4 * t + 2], bf16(sine + std::cos(in[2])));
    EXPECT_EQ(y.data[4 * t + 3], bf16(std::tanh(std::erf(in[3]))));
  }
}

} // namespace
