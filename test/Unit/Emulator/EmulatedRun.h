//===- EmulatedRun.h - kernels of the tests under the emulator --*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_UNIT_EMULATOR_EMULATEDRUN_H
#define POLYATTN_TEST_UNIT_EMULATOR_EMULATEDRUN_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "polyattn/Conversion/Passes.h"
#include "polyattn/Emulator/EmulatedKernel.h"
#include "polyattn/Pipelines/Registration.h"
#include "polyattn/TileTransforms/Passes.h"
#include "gtest/gtest.h"
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

namespace polyattn {

/// A tensor, contiguous unless strides are given, that begins where a device's would.
template <typename Element> struct TestTensor {
  explicit TestTensor(std::vector<int64_t> shape, bool isResult = false, bool isUpdated = false)
      : sizes(std::move(shape)), strides(sizes.size()), isResult(isResult), isUpdated(isUpdated) {
    int64_t count = 1;
    for (size_t i = sizes.size(); i-- > 0; count *= sizes[i])
      strides[i] = count;
    storage.resize(count * sizeof(Element) + kAlignment);
    auto first = llvm::alignTo(reinterpret_cast<uintptr_t>(storage.data()), kAlignment);
    data = llvm::MutableArrayRef(reinterpret_cast<Element *>(first), count);
  }
  operator EmulatedTensor() {
    return {{data.data(), sizes, strides}, sizeof(Element), isResult, isUpdated};
  }

  static constexpr uint64_t kAlignment = 256;
  std::vector<int64_t> sizes, strides;
  bool isResult, isUpdated;
  std::vector<char> storage;
  llvm::MutableArrayRef<Element> data;
};

inline uint16_t bf16(float value) {
  llvm::APFloat number(value);
  bool loses;
  number.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
}

inline float ofBF16(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

class EmulatedRun : public ::testing::Test {
protected:
  EmulatedRun() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
  }

  /// A kernel of Inputs/.
  void read(const std::string &name) {
    std::ifstream file(POLYATTN_TEST_DIR "/Unit/Emulator/Inputs/" + name + ".mlir");
    std::stringstream stream;
    stream << file.rdbuf();
    text = stream.str();
    ASSERT_FALSE(text.empty());
  }

  /// A kernel of one function @kernel.
  void define(const std::string &arguments, const std::string &body, int threads, int sharedBytes,
              const std::string &programs = "[]", int workspaceBytes = 0, int cluster = 1) {
    std::stringstream stream;
    stream << "gpu.module @kernels {\ngpu.func @kernel(" << arguments
           << ") kernel attributes {warp.threads = " << threads
           << " : i64, warp.shared_bytes = " << sharedBytes
           << " : i64, warp.workspace_bytes = " << workspaceBytes << " : i64, "
           << (cluster > 1 ? "warp.cluster = " + std::to_string(cluster) + " : i64, " : "")
           << "warp.programs = " << programs << "} {\n"
           << body << "\ngpu.return\n}\n}\n";
    text = stream.str();
  }

  /// Turns a kernel of tiles into one of threads.
  void lowerTiles(int warps) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "kernel.mlir");
    ASSERT_TRUE(module) << text;
    mlir::PassManager passes(&context);
    TileToWarpOptions options;
    options.warps = warps;
    SetPrecisionOptions precision;
    precision.tensorCores = true;
    passes.addPass(createSetPrecision(precision));
    passes.addPass(createTileToWarp(options));
    ASSERT_TRUE(succeeded(passes.run(*module)));
    text.clear();
    llvm::raw_string_ostream stream(text);
    module->print(stream);
  }

  /// Seeds a bug.
  void replace(const std::string &what, const std::string &by) {
    size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    text.replace(at, what.size(), by);
  }

  /// Where the (first) line with this text is.
  int lineOf(const std::string &what) const {
    size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return 1 + static_cast<int>(std::count(text.begin(), text.begin() + at, '\n'));
  }

  llvm::Expected<EmulatorReport> run(const std::string &name,
                                     llvm::ArrayRef<EmulatedTensor> tensors,
                                     const EmulatorOptions &options = {}) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "kernel.mlir");
    if (!module)
      return llvm::createStringError("the kernel cannot be parsed");
    auto kernel = EmulatedKernel::compile(*module, name);
    if (!kernel)
      return kernel.takeError();
    return (*kernel)->run(tensors, options);
  }

  /// The run must find this problem in the line with this text.
  void expectProblem(llvm::Expected<EmulatorReport> report, emulator::Problem problem,
                     const std::string &line, const std::string &message = "") {
    ASSERT_FALSE(bool(report)) << "nothing was found";
    std::string place = "kernel.mlir:" + std::to_string(lineOf(line)) + ":";
    std::string found;
    bool seen = false;
    llvm::handleAllErrors(
        report.takeError(),
        [&](const EmulatorError &error) {
          for (const EmulatorProblem &each : error.getProblems()) {
            found += each.message + "\n";
            seen |= each.finding.problem == problem &&
                    llvm::StringRef(each.message).contains(message) &&
                    llvm::StringRef(each.message).starts_with(place);
          }
        },
        [&](const llvm::ErrorInfoBase &error) { found = error.message(); });
    EXPECT_TRUE(seen) << "expected at " << place << " " << message << "\n" << found;
  }

  mlir::MLIRContext context;
  std::string text;
};

} // namespace polyattn

#endif // POLYATTN_TEST_UNIT_EMULATOR_EMULATEDRUN_H
