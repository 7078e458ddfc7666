//===- HostileInputTest.cpp - no input ends the calling process -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's fatal errors, its diagnostics without a handler and signals would end this process, and
// with it the program that a compiler is a part of. Everything bad that a caller can hand over runs
// here, one after the other, and must come back as an error or as a kernel.
//
//===----------------------------------------------------------------------===//

#include "../JIT/CopyKernel.h"
#include "polyattn-c/polyattn.h"
#include "polyattn/Compiler/CompileGPU.h"
#include "polyattn/JIT/Compiler.h"
#include "polyattn/Target/NVPTX.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace polyattn;

namespace {
class HostileInput : public testing::Test {
protected:
  void SetUp() override {
    llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
      fprintf(stderr, "a library call would have ended the process: %s\n", reason);
      _exit(1);
    });
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("polyattn-hostile", folder));
    auto file = llvm::MemoryBuffer::getFile(POLYATTN_SPECS "/linear.mlir");
    ASSERT_TRUE(bool(file));
    spec = (*file)->getBuffer().str();
  }
  void TearDown() override {
    llvm::remove_fatal_error_handler();
    (void)llvm::sys::fs::remove_directories(folder);
  }

  /// What a compilation says, "" where there is a kernel.
  std::string compile(llvm::StringRef text, llvm::StringRef entry = "linear") {
    JITOptions options;
    options.entry = entry.str();
    options.cacheDirectory = (folder + "/cache").str();
    auto kernel = compileKernel(text, "spec.mlir", options);
    return kernel ? "" : llvm::toString(kernel.takeError());
  }
  std::string compileFile(llvm::StringRef path) {
    JITOptions options;
    options.cacheDirectory = "";
    auto kernel = compileKernelFromFile(path, options);
    return kernel ? "" : llvm::toString(kernel.takeError());
  }
  std::string compileForGPU(llvm::StringRef text, llvm::StringRef entry) {
    auto gpu = llvm::cantFail(findGPU("sm_90"));
    auto module = parseForGPU(text, "spec.mlir", {entry.str()});
    if (!module)
      return llvm::toString(module.takeError());
    if (llvm::Error error = lowerForGPU(*module, gpu, GPUPipelinePhase::Warp))
      return llvm::toString(std::move(error));
    auto ptx = emitKernelPTX(*module, "", gpu);
    return ptx ? "" : llvm::toString(ptx.takeError());
  }
  /// The spec with another name of its entry, as MLIR writes strange ones.
  std::string renamed(llvm::StringRef quoted) {
    std::string text = spec;
    size_t at = text.find("@linear<");
    return text.replace(at, strlen("@linear"), "@" + quoted.str());
  }

  llvm::SmallString<128> folder;
  std::string spec;
};
} // namespace

TEST_F(HostileInput, FilesThatAreNoSpecs) {
  EXPECT_EQ(compileFile("/dev/zero"), "/dev/zero: expected a regular file, got a device");
  EXPECT_EQ(compileFile("/dev/full"), "/dev/full: expected a regular file, got a device");
  EXPECT_EQ(compileFile(folder), (folder + ": Is a directory").str());
  std::string pipe = (folder + "/pipe").str();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(compileFile(pipe), pipe + ": expected a regular file, got a pipe");
  std::string big = (folder + "/big").str();
  std::ofstream(big) << "x";
  ASSERT_EQ(truncate(big.c_str(), off_t(1) << 40), 0);
  EXPECT_EQ(compileFile(big), big + ": expected a spec of at most 16777216 bytes, got more");
  EXPECT_NE(compileFile((folder + "/none").str()), "");
  EXPECT_NE(compileFile("/proc/self/mem"), "");
  EXPECT_NE(compileFile(""), "");
}

TEST_F(HostileInput, FullDiskAtTheCache) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (rlim_t limit : {rlim_t(0), rlim_t(100), rlim_t(4096)}) {
    rlimit full = {limit, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
    std::string message = compile(spec);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(message, "");
  }
  std::error_code code;
  EXPECT_EQ(llvm::sys::fs::directory_iterator(folder + "/cache", code),
            llvm::sys::fs::directory_iterator());
}

TEST_F(HostileInput, CacheThatCannotBe) {
  std::ofstream((folder + "/cache").str()) << "a file";
  EXPECT_EQ(compile(spec), "");
  // Where these are relative, they begin in this test's folder.
  llvm::SmallString<128> before;
  ASSERT_FALSE(llvm::sys::fs::current_path(before));
  ASSERT_FALSE(llvm::sys::fs::set_current_path(folder));
  llvm::scope_exit back([&] { EXPECT_FALSE(llvm::sys::fs::set_current_path(before)); });
  JITOptions options;
  options.entry = "linear";
  for (const char *directory : {"/dev/null", "/dev/null/below", "/proc/none", "\n", "/"}) {
    options.cacheDirectory = directory;
    auto kernel = compileKernel(spec, "spec.mlir", options);
    EXPECT_TRUE(bool(kernel)) << directory << ": " << llvm::toString(kernel.takeError());
  }
}

TEST_F(HostileInput, StrangeNames) {
  const std::pair<llvm::StringRef, llvm::StringRef> names[] = {
      {"\"a b\\22c,d\"", "a b\"c,d"},
      {"\"\\0A\"", "\n"},
      {"\"%s%n\"", "%s%n"},
      {"\"\\E2\\82\\AC\"", "\u20ac"},
      {"memcpy", "memcpy"},
      {"expf", "expf"},
      {"llvm.memcpy", "llvm.memcpy"},
      {"\"\\01x\"", "\x01x"},
      {"polyattn_rt_run", "polyattn_rt_run"},
      {"$weird.name", "$weird.name"},
      {"\"llvm.x\"", "llvm.x"}};
  for (auto [quoted, name] : names) {
    // What comes back is another test's affair.
    (void)compile(renamed(quoted), name);
    (void)compileForGPU(renamed(quoted), name);
  }
  EXPECT_NE(compileForGPU(renamed("\"a b\""), "a b"), "");
}

TEST_F(HostileInput, ModulesOfTheLLVMDialect) {
  auto generate = [&](llvm::StringRef text) {
    LoweredModule module = test::copyModule();
    mlir::ScopedDiagnosticHandler quiet(module.context.get(), [](mlir::Diagnostic &) {});
    auto more = mlir::parseSourceString<mlir::ModuleOp>(text, module.context.get());
    EXPECT_TRUE(bool(more)) << text.str();
    module.module->getBody()->getOperations().splice(module.module->getBody()->end(),
                                                     more->getBody()->getOperations());
    auto object = compileLowered(module, test::nativeOptions());
    if (!object)
      return llvm::toString(object.takeError());
    llvm::StringRef bytes(object->object.data(), object->object.size());
    auto kernel =
        CompiledKernel::load(object->kernels.front(), llvm::MemoryBuffer::getMemBufferCopy(bytes));
    return kernel ? std::string() : llvm::toString(kernel.takeError());
  };
  EXPECT_NE(
      generate("llvm.func @f() { llvm.inline_asm has_side_effects \"bogus\", \"\" : () -> ()\n"
               "llvm.return }"),
      "");
  EXPECT_NE(generate("llvm.func @nobody_has_this()\n"
                     "llvm.func @f() { llvm.call @nobody_has_this() : () -> ()\nllvm.return }"),
            "");
  EXPECT_EQ(generate(""), "");
}

TEST_F(HostileInput, DamagedObjects) {
  LoweredModule module = test::copyModule();
  auto object = compileLowered(module, test::nativeOptions());
  ASSERT_TRUE(bool(object));
  std::string good(object->object.data(), object->object.size());
  auto load = [&](const std::string &bytes) {
    auto kernel =
        CompiledKernel::load(object->kernels.front(), llvm::MemoryBuffer::getMemBufferCopy(bytes));
    llvm::consumeError(kernel.takeError());
  };
  for (size_t size = 0; size < good.size(); size += 61)
    load(good.substr(0, size));
  load(std::string(good.size(), '\0'));
  load("not an object");
}

TEST_F(HostileInput, TextThatIsNoSpec) {
  EXPECT_NE(compile(""), "");
  EXPECT_NE(compile(llvm::StringRef("\0\0\0", 3)), "");
  EXPECT_NE(compile("ML\xefR"), ""); // the magic number of MLIR's bytecode
  EXPECT_NE(compile("\xff\xfe\x00\x80"), "");
  EXPECT_NE(compile("polyattn.attention @a("), "");
  EXPECT_NE(compile("#a = dense<\"0x"), "");
  for (size_t size = 0; size < spec.size(); size += 97)
    (void)compile(llvm::StringRef(spec).take_front(size));
}

TEST_F(HostileInput, WrongCallsOfTheCAPI) {
  polyattn_error *error = nullptr;
  EXPECT_EQ(polyattn_compile_file("/dev/zero", nullptr, &error), nullptr);
  EXPECT_STREQ(polyattn_error_message(error), "/dev/zero: expected a regular file, got a device");
  polyattn_error_destroy(error);
  EXPECT_EQ(polyattn_compile_text("x", 1, nullptr, nullptr, nullptr), nullptr);
  EXPECT_NE(polyattn_kernel_run(nullptr, nullptr, 0, 1, nullptr), 0);
}
