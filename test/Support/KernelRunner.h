//===- KernelRunner.h - compiles tile kernels and calls them ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_SUPPORT_KERNELRUNNER_H
#define POLYATTN_TEST_SUPPORT_KERNELRUNNER_H

#include "polyattn/Target/MachineDescription.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace polyattn::test {

/// A tensor whose last element is the last before a page that must not be touched. Rows are
/// further apart than they are long, and what lies between them is poisoned.
class TestTensor {
public:
  enum class Element { F32, F16, BF16 };
  explicit TestTensor(std::vector<int64_t> sizes, Element element = Element::F32,
                      int64_t rowPadding = 3);
  TestTensor(const TestTensor &) = delete;
  ~TestTensor();

  /// Random numbers in [-1, 1], rounded to the element type.
  TestTensor &fill(std::mt19937 &random);
  TestTensor &poison();
  double get(std::vector<int64_t> index) const;
  void set(std::vector<int64_t> index, double value);
  /// Whether the elements between rows are still poisoned.
  bool paddingIsIntact() const;
  int64_t size(int64_t dim) const { return sizes[dim]; }
  void *descriptor() { return words.data(); }

private:
  int64_t place(const std::vector<int64_t> &index) const;
  double read(int64_t place) const;
  void write(int64_t place, double value);

  std::vector<int64_t> sizes, strides;
  Element element;
  int64_t extent = 0, bytes = 0;
  char *mapping = nullptr, *data = nullptr;
  size_t mapped = 0;
  std::vector<int64_t> words;
};

/// A compiled kernel. Symbols outside the module are not resolved, so that a call of libm is
/// an error.
class Kernel {
public:
  Kernel(const std::string &text, const MachineDescription &machine);
  bool valid() const { return function != nullptr; }
  const std::string &error() const { return message; }
  int64_t scratchBytes() const { return scratch; }
  /// Runs the programs [begin, end) with poisoned scratch memory.
  void run(const std::vector<TestTensor *> &tensors, int64_t begin = 0, int64_t end = 1);

private:
  using Function = void (*)(void **, int64_t, int64_t, void *);
  std::unique_ptr<llvm::orc::LLJIT> jit;
  Function function = nullptr;
  int64_t scratch = 0;
  std::string message;
};

} // namespace polyattn::test

#endif // POLYATTN_TEST_SUPPORT_KERNELRUNNER_H
