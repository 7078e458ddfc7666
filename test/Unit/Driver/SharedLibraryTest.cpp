//===- SharedLibraryTest.cpp - shared libraries, loaded again -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../JIT/CopyKernel.h"
#include "lib/Driver/EntryPoints.h"
#include "polyattn/Driver/CompileMain.h"
#include "polyattn/Driver/Version.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <dlfcn.h>
#include <numeric>

using namespace polyattn;

namespace {
/// A folder of its own for each test.
class SharedLibrary : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("polyattn-test", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }
  std::string inFolder(llvm::StringRef name) { return (folder + "/" + name).str(); }
  std::vector<std::string> listing() {
    std::vector<std::string> names;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator i(folder, code), end; i != end; i.increment(code))
      names.push_back(llvm::sys::path::filename(i->path()).str());
    llvm::sort(names);
    return names;
  }
  llvm::SmallString<128> folder;
};
} // namespace

using CopyFunction = int (*)(const polyattn_tensor *, const polyattn_tensor *, int, char *, size_t);

TEST_F(SharedLibrary, RunsAndReportsErrors) {
  LoweredModule module = test::copyModule();
  llvm::Error error = emitSharedLibrary(module, test::nativeOptions(), folder, "kernels");
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  EXPECT_EQ(listing(), (std::vector<std::string>{"kernels.h", "kernels.json", "libkernels.so"}));

  void *library = dlopen(inFolder("libkernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto copy = reinterpret_cast<CopyFunction>(dlsym(library, "polyattn_copy"));
  ASSERT_TRUE(copy);
  EXPECT_FALSE(dlsym(library, "copy")) << "only the entry points are visible";
  EXPECT_FALSE(dlsym(library, "polyattn_rt_run"));

  int64_t sizes[] = {2, 300, 3, 4};
  std::vector<float> q(2 * 300 * 3 * 4), o(q.size());
  std::iota(q.begin(), q.end(), 0.0f);
  polyattn_tensor query = polyattn_dense(q.data(), POLYATTN_F32, 4, sizes);
  polyattn_tensor output = polyattn_dense(o.data(), POLYATTN_F32, 4, sizes);
  char message[200] = "";
  EXPECT_EQ(copy(&query, &output, 3, message, sizeof message), 0) << message;
  EXPECT_EQ(q, o);
  query.dtype = POLYATTN_BF16;
  EXPECT_EQ(copy(&query, &output, 3, message, sizeof message), 1);
  EXPECT_STREQ(message, "copy: argument 'q': expected element type f32, got bf16 (3)");
  EXPECT_EQ(copy(&query, nullptr, 3, nullptr, 0), 1);
  // Ends the library's threads.
  EXPECT_EQ(dlclose(library), 0);
}

TEST_F(SharedLibrary, RunsOnTheCallersThreads) {
  LoweredModule module = test::copyModule();
  llvm::Error error = emitSharedLibrary(module, test::nativeOptions(), folder, "my-kernels");
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  void *library = dlopen(inFolder("libmy-kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  using CopyWith = int (*)(const polyattn_tensor *, const polyattn_tensor *,
                           const polyattn_call_options *, char *, size_t);
  auto copy = reinterpret_cast<CopyFunction>(dlsym(library, "polyattn_copy"));
  auto copyWith = reinterpret_cast<CopyWith>(dlsym(library, "polyattn_copy_with"));
  auto set = reinterpret_cast<void (*)(polyattn_parallel_for, void *)>(
      dlsym(library, "polyattn_my_kernels_set_parallel_for"));
  ASSERT_TRUE(copy && copyWith && set);

  int64_t sizes[] = {2, 30, 3, 4};
  std::vector<float> q(2 * 30 * 3 * 4), o(q.size());
  std::iota(q.begin(), q.end(), 0.0f);
  polyattn_tensor query = polyattn_dense(q.data(), POLYATTN_F32, 4, sizes);
  polyattn_tensor output = polyattn_dense(o.data(), POLYATTN_F32, 4, sizes);
  auto loop = [](void *user, int64_t count, polyattn_task task, void *context) {
    *static_cast<int64_t *>(user) += count;
    for (int64_t i = 0; i < count; ++i)
      task(context, i);
  };
  int64_t common = 0, own = 0;
  set(loop, &common);
  EXPECT_EQ(copy(&query, &output, 3, nullptr, 0), 0);
  EXPECT_EQ(common, 3);
  EXPECT_EQ(q, o);
  polyattn_call_options options = POLYATTN_CALL_OPTIONS_INIT;
  options.threads = 5;
  options.parallel_for = loop;
  options.user = &own;
  std::fill(o.begin(), o.end(), -1.0f);
  EXPECT_EQ(copyWith(&query, &output, &options, nullptr, 0), 0);
  EXPECT_EQ(own, 5);
  EXPECT_EQ(common, 3);
  EXPECT_EQ(q, o);
  set(nullptr, nullptr);
  EXPECT_EQ(copy(&query, &output, 3, nullptr, 0), 0);
  EXPECT_EQ(common, 3);
  char message[200] = "";
  EXPECT_EQ(copyWith(&query, &output, nullptr, message, sizeof message), 1);
  EXPECT_STREQ(message, "options is null");
  EXPECT_EQ(dlclose(library), 0);
}

TEST_F(SharedLibrary, SaysWhoWroteItAndForWhichInterface) {
  LoweredModule module = test::copyModule();
  llvm::Error error = emitSharedLibrary(module, test::nativeOptions(), folder, "kernels");
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  void *library = dlopen(inFolder("libkernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto versionOf = reinterpret_cast<const char *(*)()>(dlsym(library, "polyattn_kernels_version"));
  ASSERT_TRUE(versionOf);
  EXPECT_EQ(versionOf(), version() + ", interface " + std::to_string(POLYATTN_ABI_VERSION));
  EXPECT_EQ(dlclose(library), 0);
  auto textOf = [&](llvm::StringRef name) {
    auto file = llvm::MemoryBuffer::getFile(inFolder(name));
    return file ? (*file)->getBuffer().str() : "";
  };
  EXPECT_NE(textOf("kernels.h").find("written by " + version()), std::string::npos);
  auto json = llvm::json::parse(textOf("kernels.json"));
  ASSERT_TRUE(bool(json));
  EXPECT_EQ(json->getAsObject()->getString("compiler"), llvm::StringRef(version()));
  EXPECT_EQ(json->getAsObject()->getInteger("interface"), POLYATTN_ABI_VERSION);
}

TEST_F(SharedLibrary, IsTheSameWhereverAndWheneverItIsMade) {
  llvm::SmallString<128> other;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("polyattn-elsewhere", other));
  for (llvm::StringRef directory : {folder.str(), other.str()}) {
    LoweredModule module = test::copyModule();
    llvm::Error error = emitSharedLibrary(module, test::nativeOptions(), directory, "kernels");
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }
  for (const char *name : {"libkernels.so", "kernels.h", "kernels.json"}) {
    auto one = llvm::MemoryBuffer::getFile(folder + "/" + name);
    auto two = llvm::MemoryBuffer::getFile(other + "/" + name);
    ASSERT_TRUE(one && two);
    EXPECT_TRUE((*one)->getBuffer() == (*two)->getBuffer()) << name;
  }
  llvm::sys::fs::remove_directories(other);
}

TEST(SharedLibraryNames, NoTwoFunctionsHaveOneName) {
  auto check = [](llvm::StringRef stem, std::vector<const char *> entries) {
    std::vector<KernelDescription> kernels;
    for (const char *entry : entries)
      kernels.emplace_back().entry = entry;
    return llvm::toString(checkCNames(stem, kernels));
  };
  EXPECT_EQ(check("kernels", {"copy", "copy_2"}), "");
  EXPECT_EQ(check("kernels", {"copy", "copy_with"}),
            "@copy_with: the library would have two functions polyattn_copy_with");
  EXPECT_EQ(
      check("my.kernels", {"my_kernels_version"}),
      "@my_kernels_version: the library would have two functions polyattn_my_kernels_version");
}

TEST_F(SharedLibrary, LeavesNothingBehindOnFailure) {
  // The header's place is taken by a folder.
  ASSERT_FALSE(llvm::sys::fs::create_directory(inFolder("kernels.h")));
  LoweredModule module = test::copyModule();
  llvm::Error error = emitSharedLibrary(module, test::nativeOptions(), folder, "kernels");
  EXPECT_TRUE(bool(error));
  llvm::consumeError(std::move(error));
  EXPECT_EQ(listing(), std::vector<std::string>{"kernels.h"});
}

TEST_F(SharedLibrary, SaysThatThereIsNoLinker) {
  setenv("POLYATTN_LINKER", "no-such-linker", 1);
  LoweredModule module = test::copyModule();
  llvm::Error error = emitSharedLibrary(module, test::nativeOptions(), folder, "kernels");
  unsetenv("POLYATTN_LINKER");
  EXPECT_EQ(llvm::toString(std::move(error)),
            "POLYATTN_LINKER: there is no program 'no-such-linker'");
}

TEST_F(SharedLibrary, RefusesOtherArchitectures) {
  CompileOptions options;
  bool onArm = isHostArchitecture(llvm::cantFail(findMachine("aarch64")));
  options.machine = llvm::cantFail(findMachine(onArm ? "x86-64" : "aarch64"));
  LoweredModule module = test::copyModule();
  llvm::Error error = emitSharedLibrary(module, options, folder, "kernels");
  EXPECT_NE(llvm::toString(std::move(error)).find("--emit obj works"), std::string::npos);
}

TEST_F(SharedLibrary, HeaderIsCAndCxx) {
  LoweredModule module = test::copyModule();
  // Names that C cannot take as they are.
  module.kernels.front().tensors[0].name = "int";
  module.kernels.front().tensors[1].name = "threads";
  llvm::Error error = emitSharedLibrary(module, test::nativeOptions(), folder, "my-kernels");
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  for (const char *language : {"-std=c99 -x c", "-std=c++11 -x c++"}) {
    std::string command = std::string("clang-22 -Wall -Wextra -Werror -pedantic -fsyntax-only ") +
                          language + " -include " + inFolder("my-kernels.h") + " /dev/null 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}
