//===- AccessesTest.cpp - seeded bugs of addresses ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedRun.h"

using namespace polyattn;
using emulator::Problem;

namespace {

class AccessesTest : public EmulatedRun {
protected:
  /// One warp that executes `body`; %t is the thread, %x an input and %y a result, 4 x 8 f32 each.
  llvm::Expected<EmulatorReport> runBody(const std::string &body, int sharedBytes = 256) {
    define("%x: !llvm.ptr<1> {warp.pointer = 0 : i64}, %y: !llvm.ptr<1> {warp.pointer = 1 : i64}, "
           "%w: !llvm.ptr<1> {warp.workspace}",
           "%t = warp.thread_id\n%four = arith.constant 4 : i32\n"
           "%own = arith.muli %t, %four : i32\n%own64 = arith.extui %own : i32 to i64\n" +
               body,
           32, sharedBytes, "[]", 128);
    TestTensor<float> x({4, 8}), y({4, 8}, /*isResult=*/true);
    x.strides = xStrides;
    return run("kernel", {x, y});
  }
  std::vector<int64_t> xStrides = {8, 1};
};

TEST_F(AccessesTest, OutOfBoundsOfSharedMemory) {
  expectProblem(runBody("warp.store_shared %t, %own : i32 // here", 100), Problem::OutOfBounds,
                "// here", "thread 25 of program 0, byte 100 of shared memory");
  expectProblem(runBody(R"(%before = arith.constant -4 : i32
    %v = warp.load_shared %before : f32 // here)"),
                Problem::OutOfBounds, "// here", "byte -4");
}

TEST_F(AccessesTest, ShiftedAddressOfAMatrix) {
  read("product");
  replace("warp.shared_bytes = 4096", "warp.shared_bytes = 3000");
  TestTensor<uint16_t> a({1, 32, 32}), b({1, 32, 16});
  TestTensor<float> c({1, 32, 16}, /*isResult=*/true);
  expectProblem(run("product", {a, b, c}), Problem::OutOfBounds, "%b_address bytes");
  expectProblem(run("product", {a, b, c}), Problem::OutOfBounds, "// of B");
}

TEST_F(AccessesTest, Misaligned) {
  expectProblem(runBody(R"(%v = arith.constant dense<0.0> : vector<2xf32>
    warp.store_shared %v, %own : vector<2xf32> // here)"),
                Problem::Misaligned, "// here", "thread 1 of");
  expectProblem(runBody("%v = warp.load_global %x[%own64] : vector<4xf32> // here"),
                Problem::Misaligned, "// here", "byte 4 of tensor 0");
  expectProblem(runBody(R"(%c16 = arith.constant 16 : i32
    warp.copy_async %x[%own64], %own bytes %c16 // here)"),
                Problem::Misaligned, "// here");
  expectProblem(runBody("%m = warp.ldmatrix %own : i32 // here"), Problem::Misaligned, "// here");
}

TEST_F(AccessesTest, ReadsNothingHasWritten) {
  expectProblem(runBody("%v = warp.load_shared %own : f32 // here"), Problem::Uninitialised,
                "// here", "thread 0");
  expectProblem(runBody("%v = warp.load_global %w[%own64] : f32 // here"), Problem::Uninitialised,
                "// here", "byte 0 of the workspace");
  expectProblem(runBody("%v = warp.load_global %y[%own64] : f32 // here"), Problem::Uninitialised,
                "// here", "tensor 1");
}

TEST_F(AccessesTest, OutOfBoundsOfATensor) {
  expectProblem(runBody(R"(%more = arith.constant 8 : i64
    %at = arith.addi %own64, %more : i64
    %v = warp.load_global %x[%at] : f32 // here)"),
                Problem::OutOfBounds, "// here", "byte 128 of tensor 0, which has 128");
}

TEST_F(AccessesTest, BetweenTheRowsOfATensor) {
  xStrides = {6, 1};
  auto overlapping = runBody("%v = warp.load_global %x[%own64] : f32 // here");
  expectProblem(std::move(overlapping), Problem::OutOfBounds, "// here", "byte 104 of tensor 0");
  read("tf32");
  TestTensor<float> a({16, 8}), b({8, 8}), c({16, 8}, true), d({1}), wide({16, 12});
  wide.sizes = {16, 8};
  auto report = run("tf32", {wide, b, c, d});
  expectProblem(std::move(report), Problem::OutOfBounds, "warp.load_global %a",
                "byte 32 of tensor 0");
}

TEST_F(AccessesTest, TooManyBytesOfACopy) {
  expectProblem(runBody(R"(%c17 = arith.constant 17 : i32
    %zero = arith.constant 0 : i64
    %place = arith.muli %own, %four : i32
    warp.copy_async %x[%zero], %place bytes %c17 // here)",
                        512),
                Problem::OutOfBounds, "// here");
}

TEST_F(AccessesTest, CopiesOfElementsAreAligned) {
  auto copies = [&](llvm::StringRef shift) {
    return runBody("%c4 = arith.constant 4 : i32\n%shift = arith.constant " + shift.str() +
                   R"( : i64
    %at = arith.subi %own64, %own64 : i64
    %from = arith.addi %at, %shift : i64
    warp.copy_async %x[%from], %own bytes %c4 element // here
    warp.commit_copies
    warp.wait_copies 0
    %v = warp.load_shared %own : f32
    warp.store_global %v, %y[%own64] : f32)");
  };
  auto report = copies("4");
  EXPECT_TRUE(bool(report)) << toString(report.takeError());
  expectProblem(copies("2"), Problem::Misaligned, "// here");
  expectProblem(copies("128"), Problem::OutOfBounds, "// here");
}

TEST_F(AccessesTest, CopyOfNothingReadsNothing) {
  auto report = runBody(R"(%none = arith.constant 0 : i32
    %far = arith.constant 65536 : i64
    %place = arith.muli %own, %four : i32
    warp.copy_async %x[%far], %place bytes %none
    warp.commit_copies
    warp.wait_copies 0
    %v = warp.load_shared %place : f32
    warp.store_global %v, %y[%own64] : f32)",
                        512);
  EXPECT_TRUE(bool(report)) << toString(report.takeError());
}

TEST_F(AccessesTest, BeyondATable) {
  expectProblem(runBody("%v = warp.lookup %t in dense<[3, 1, 4]> : tensor<3xi32> -> i32 // here"),
                Problem::BeyondTable, "// here", "thread 3 of program 0, index 3");
}

TEST_F(AccessesTest, WriteToAnInput) {
  expectProblem(runBody("warp.store_global %t, %x[%own64] : i32 // here"), Problem::WriteToInput,
                "// here", "byte 0 of tensor 0");
}

TEST_F(AccessesTest, ReadOnlyLoadOfWhatWasWritten) {
  expectProblem(runBody(R"(warp.store_global %t, %y[%own64] : i32
    %v = warp.load_global %y[%own64] {read_only} : f32 // here)"),
                Problem::ReadOnlyOfWritten, "// here");
}

// A result that lives in an argument has numbers, as long as no other program writes there.
TEST_F(AccessesTest, ReadsWhatIsUpdated) {
  for (const char *store : {"", "warp.store_global %p, %y[%place] : i32"}) {
    define("%y: !llvm.ptr<1> {warp.pointer = 0 : i64}", R"(%p = warp.program_id
    %t = warp.thread_id
    %c4 = arith.constant 4 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0 : i64
    %own = arith.muli %p, %c4 : i32
    %place = arith.extui %own : i32 to i64
    %first = arith.cmpi eq, %t, %c1 : i32
    scf.if %first {
      )" + std::string(store) + R"(
      %v = warp.load_global %y[%zero] : f32 // here
    })",
           32, 0, "[2]");
    TestTensor<float> y({2}, true, /*isUpdated=*/true);
    EmulatorOptions inOrder;
    inOrder.threads = 1;
    auto report = run("kernel", {y}, inOrder);
    if (*store)
      expectProblem(std::move(report), Problem::Uninitialised, "// here", "program 1");
    else
      EXPECT_TRUE(bool(report)) << toString(report.takeError());
  }
}

// Two programs, both of which read what they have not written.
TEST_F(AccessesTest, KeepsGoingWhereAsked) {
  for (bool keepGoing : {false, true}) {
    define("%y: !llvm.ptr<1> {warp.pointer = 0 : i64}", R"(%p = warp.program_id
    %c64 = arith.constant 64 : i32
    %begin = arith.muli %p, %c64 : i32
    %t = warp.thread_id
    %c2 = arith.constant 2 : i32
    %next = arith.muli %t, %c2 : i32
    %own = arith.addi %begin, %next : i32
    %one = arith.constant 1 : i16
    %none = warp.load_shared %next : i16
    %place = arith.extsi %own : i32 to i64
    warp.store_global %one, %y[%place] : i16)",
           32, 64, "[[0, 0]]");
    TestTensor<uint16_t> y({2, 32}, /*isResult=*/true);
    EmulatorOptions options;
    options.threads = 1;
    options.keepGoing = keepGoing;
    expectProblem(run("kernel", {y}, options), Problem::Uninitialised, "%none");
    EXPECT_EQ(y.data[0], 1);
    EXPECT_EQ(y.data[32], keepGoing ? 1 : 0);
  }
}

} // namespace
