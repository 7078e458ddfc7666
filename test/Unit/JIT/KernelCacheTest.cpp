//===- KernelCacheTest.cpp - compiled kernels on disk ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/KernelCache.h"
#include "CopyKernel.h"
#include "polyattn/JIT/Compiler.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <atomic>
#include <fstream>
#include <thread>

using namespace polyattn;

namespace {
class Cache : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("polyattn-cache", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }
  KernelCache cache() { return KernelCache((folder + "/below/it").str()); }
  std::string fileOf(llvm::StringRef key) { return (folder + "/below/it/llvmcache-" + key).str(); }
  llvm::SmallString<128> folder;
};
} // namespace

TEST_F(Cache, KeysTellPartsApart) {
  EXPECT_EQ(KernelCache::key({"a", "b"}), KernelCache::key({"a", "b"}));
  EXPECT_NE(KernelCache::key({"ab", "c"}), KernelCache::key({"a", "bc"}));
  EXPECT_NE(KernelCache::key({"a"}), KernelCache::key({"a", ""}));
}

TEST_F(Cache, FindsWhatWasStored) {
  EXPECT_FALSE(cache().find("key").has_value());
  std::string object("ob\0ject", 7);
  ASSERT_TRUE(cache().store("key", test::copyDescription(), object));
  auto entry = cache().find("key");
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->description.entry, "copy");
  EXPECT_EQ(entry->object->getBuffer(), object);
  EXPECT_FALSE(cache().find("other").has_value());
}

TEST_F(Cache, WithoutFolderKeepsNothing) {
  KernelCache none("");
  EXPECT_FALSE(none.store("key", test::copyDescription(), "object"));
  EXPECT_FALSE(none.find("key").has_value());
  // A file where the folder should be.
  std::ofstream(folder.str().str() + "/file") << "x";
  KernelCache blocked((folder + "/file").str());
  EXPECT_FALSE(blocked.store("key", test::copyDescription(), "object"));
  EXPECT_FALSE(blocked.find("key").has_value());
}

TEST_F(Cache, IgnoresDamagedFiles) {
  ASSERT_TRUE(cache().store("key", test::copyDescription(), "object"));
  std::ifstream stream(fileOf("key"), std::ios::binary);
  std::string good((std::istreambuf_iterator<char>(stream)), {});
  auto replace = [&](const std::string &content) {
    std::ofstream(fileOf("key"), std::ios::binary | std::ios::trunc) << content;
    return cache().find("key").has_value();
  };
  EXPECT_TRUE(replace(good));
  for (size_t size = 0; size < good.size(); size += 7)
    EXPECT_FALSE(replace(good.substr(0, size))) << size;
  EXPECT_FALSE(replace(good + "x"));
  for (size_t at = 0; at < good.size(); at += 5) {
    std::string bad = good;
    bad[at] ^= 0x20;
    EXPECT_FALSE(replace(bad)) << at;
  }
}

TEST_F(Cache, TakesManyWriters) {
  std::vector<std::thread> writers;
  std::atomic<int> wrong{0};
  for (int writer = 0; writer < 6; ++writer)
    writers.emplace_back([&] {
      std::string object(50000, 'x');
      for (int round = 0; round < 30; ++round) {
        if (!cache().store("key", test::copyDescription(), object))
          ++wrong;
        auto entry = cache().find("key");
        if (!entry || entry->object->getBuffer() != object)
          ++wrong;
      }
    });
  for (std::thread &writer : writers)
    writer.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Cache, ReadsTheEnvironment) {
  setenv("POLYATTN_CACHE_DIR", "/some/where", 1);
  EXPECT_EQ(KernelCache::defaultDirectory(), "/some/where");
  setenv("POLYATTN_CACHE_DIR", "", 1);
  EXPECT_EQ(KernelCache::defaultDirectory(), "");
  unsetenv("POLYATTN_CACHE_DIR");
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(KernelCache::defaultDirectory(), "/xdg/polyattn");
  unsetenv("XDG_CACHE_HOME");
}

TEST(CompileKernel, ReportsErrors) {
  JITOptions options;
  options.cacheDirectory = "";
  auto message = [&](llvm::StringRef text) {
    auto kernel = compileKernel(text, "spec.mlir", options);
    return kernel ? std::string("no error") : llvm::toString(kernel.takeError());
  };
  EXPECT_EQ(message(""), "spec.mlir: no polyattn.attention, nothing to compile");
  EXPECT_EQ(message("x").find("spec.mlir:1:1: error: "), 0u);
  options.target = "vax";
  EXPECT_EQ(message("").find("unknown target 'vax'"), 0u);
  bool onArm = isHostArchitecture(llvm::cantFail(findMachine("aarch64")));
  options.target = onArm ? "x86-64" : "aarch64";
  EXPECT_EQ(message(""), "code for target '" + options.target + "' cannot run on this machine");
  auto missing = compileKernelFromFile("/no/such/file.mlir");
  EXPECT_EQ(llvm::toString(missing.takeError()), "/no/such/file.mlir: No such file or directory");
}
