//===- KernelCacheTest.cpp - compiled kernels on disk ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/KernelCache.h"
#include "CopyKernel.h"
#include "polyattn/Files/PrivateFolder.h"
#include "polyattn/JIT/BuildIdentity.h"
#include "polyattn/JIT/Compiler.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/BuildID.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <atomic>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>

using namespace polyattn;

namespace {
class Cache : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("polyattn-cache", folder));
  }
  void TearDown() override { (void)llvm::sys::fs::remove_directories(folder); }
  KernelCache cache() { return KernelCache((folder + "/below/it").str()); }
  std::string fileOf(llvm::StringRef key) {
    return (folder + "/below/it/" + KernelCache::fileName(key)).str();
  }
  bool store(llvm::StringRef key) { return cache().store(key, test::copyDescription(), "object"); }
  bool finds(llvm::StringRef key) { return cache().find(key).has_value(); }
  llvm::SmallString<128> folder;
};
} // namespace

TEST_F(Cache, KeysTellPartsApart) {
  EXPECT_EQ(KernelCache::key({"a", "b"}), KernelCache::key({"a", "b"}));
  EXPECT_NE(KernelCache::key({"ab", "c"}), KernelCache::key({"a", "bc"}));
  EXPECT_NE(KernelCache::key({"a"}), KernelCache::key({"a", ""}));
}

/// As `readelf -n` reads it.
static std::string buildIdOf(llvm::StringRef path) {
  auto file = llvm::object::ObjectFile::createObjectFile(path);
  if (!file)
    return llvm::toString(file.takeError());
  return llvm::toHex(llvm::object::getBuildID(file->getBinary()), /*LowerCase=*/true);
}

TEST_F(Cache, KeysNameTheBuildWhateverTheProgramIsCalled) {
  std::string own = buildIdOf("/proc/self/exe");
  ASSERT_GE(own.size(), 16u) << own;
  EXPECT_NE(buildIdentity().find(own), std::string::npos) << buildIdentity();
  EXPECT_NE(KernelCache::key({"a"}).find(buildIdentity()), std::string::npos);
}

TEST_F(Cache, BuildsWithoutANoteAreToldApartByTheirCode) {
  auto identityOf = [](const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    void *symbol = library ? dlsym(library, "polyattn_test_number") : nullptr;
    return symbol ? imageIdentity(symbol) : "";
  };
  std::string one = identityOf(POLYATTN_WITHOUT_BUILD_ID_1);
  std::string two = identityOf(POLYATTN_WITHOUT_BUILD_ID_2);
  EXPECT_EQ(buildIdOf(POLYATTN_WITHOUT_BUILD_ID_1), "");
  EXPECT_FALSE(one.empty());
  EXPECT_FALSE(two.empty());
  EXPECT_NE(one, two);
  EXPECT_EQ(imageIdentity(nullptr), "");
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

TEST_F(Cache, RefusesAnEntryUnderAnothersName) {
  ASSERT_TRUE(store("one") && store("two"));
  ASSERT_FALSE(llvm::sys::fs::rename(fileOf("one"), fileOf("two")));
  EXPECT_FALSE(finds("two"));
  EXPECT_FALSE(finds("one"));
}

TEST_F(Cache, IgnoresWhatOthersMayWrite) {
  namespace fs = llvm::sys::fs;
  std::string below = (folder + "/below/it").str();
  ASSERT_TRUE(store("key") && finds("key"));
  auto withMode = [&](const std::string &path, fs::perms mode, fs::perms usual) {
    EXPECT_FALSE(fs::setPermissions(path, mode));
    bool found = finds("key");
    EXPECT_FALSE(fs::setPermissions(path, usual));
    return found;
  };
  for (fs::perms others : {fs::group_write, fs::others_write, fs::all_write}) {
    fs::perms file = fs::owner_read | fs::owner_write;
    EXPECT_FALSE(withMode(fileOf("key"), file | others, file));
    EXPECT_FALSE(withMode(below, fs::owner_all | others, fs::owner_all));
  }
  EXPECT_TRUE(finds("key"));
  // Nothing is written into such a folder, either.
  ASSERT_FALSE(fs::setPermissions(below, fs::all_all));
  EXPECT_FALSE(store("other"));
  EXPECT_FALSE(fs::exists(fileOf("other")));
}

TEST_F(Cache, OwnsWhatItMakes) {
  ASSERT_TRUE(store("key"));
  llvm::sys::fs::file_status status;
  ASSERT_FALSE(llvm::sys::fs::status(fileOf("key"), status));
  EXPECT_EQ(status.permissions(), llvm::sys::fs::owner_read | llvm::sys::fs::owner_write);
  ASSERT_FALSE(llvm::sys::fs::status(folder + "/below/it", status));
  EXPECT_EQ(status.permissions(), llvm::sys::fs::owner_all);
}

TEST_F(Cache, FollowsNoLinks) {
  ASSERT_TRUE(store("key"));
  std::string kept = (folder + "/kept").str();
  ASSERT_FALSE(llvm::sys::fs::rename(fileOf("key"), kept));
  ASSERT_FALSE(llvm::sys::fs::create_link(kept, fileOf("key")));
  EXPECT_FALSE(finds("key"));
  // Stored again, the link is replaced and what it named is left alone.
  ASSERT_TRUE(store("key") && finds("key"));
  EXPECT_TRUE(llvm::sys::fs::exists(kept));
  ASSERT_FALSE(llvm::sys::fs::create_link(folder + "/below/it", folder + "/link"));
  for (const char *name : {"/link", "/link/"}) {
    KernelCache linked((folder + name).str());
    EXPECT_FALSE(linked.find("key").has_value()) << name;
    EXPECT_FALSE(linked.store("key", test::copyDescription(), "object")) << name;
  }
}

TEST_F(Cache, DoesNotWaitForAPipe) {
  ASSERT_TRUE(store("key"));
  ASSERT_FALSE(llvm::sys::fs::remove(fileOf("key")));
  ASSERT_EQ(mkfifo(fileOf("key").c_str(), 0600), 0);
  EXPECT_FALSE(finds("key"));
  ASSERT_TRUE(store("key"));
  EXPECT_TRUE(finds("key"));
  ASSERT_FALSE(llvm::sys::fs::remove(fileOf("key")));
  ASSERT_FALSE(llvm::sys::fs::create_directory(fileOf("key")));
  EXPECT_FALSE(finds("key"));
  EXPECT_FALSE(store("key"));
}

TEST_F(Cache, LeavesNothingOnAFullDisk) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_TRUE(store("small"));
  std::string object(1 << 20, 'x');
  for (rlim_t limit : {rlim_t(0), rlim_t(10), rlim_t(1) << 16}) {
    rlimit full = {limit, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
    bool stored = cache().store("key", test::copyDescription(), object);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_FALSE(stored) << limit;
  }
  std::error_code code;
  std::vector<std::string> names;
  for (llvm::sys::fs::directory_iterator file(folder + "/below/it", code), end; file != end;
       file.increment(code))
    names.push_back(llvm::sys::path::filename(file->path()).str());
  EXPECT_EQ(names, std::vector<std::string>{KernelCache::fileName("small")});
  EXPECT_TRUE(finds("small"));
}

TEST_F(Cache, KeepsTheNewestOfWhatIsTooMuch) {
  ASSERT_TRUE(store("old") && store("new") && store("newest"));
  auto age = [&](const std::string &path, time_t seconds) {
    timespec times[2] = {{time(nullptr) - seconds, 0}, {time(nullptr) - seconds, 0}};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  };
  age(fileOf("old"), 300);
  age(fileOf("new"), 200);
  std::string mine = (folder + "/below/it/notes.txt").str(), left = fileOf("old") + "-7-7.tmp";
  std::ofstream(mine) << std::string(1000, 'x');
  std::ofstream(left) << "x";
  age(left, 4000);
  auto opened = PrivateFolder::open((folder + "/below/it").str(), /*create=*/false);
  ASSERT_TRUE(opened.has_value());
  uint64_t bytes = 0;
  ASSERT_FALSE(llvm::sys::fs::file_size(fileOf("new"), bytes));
  opened->prune({"kernel-"}, 2 * bytes + 100);
  EXPECT_FALSE(llvm::sys::fs::exists(left));
  EXPECT_FALSE(finds("old"));
  EXPECT_TRUE(finds("new") && finds("newest") && llvm::sys::fs::exists(mine));
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

TEST_F(Cache, ReadsTheEnvironmentButNoRelativeFolders) {
  const char *home = getenv("HOME");
  std::string homeBefore = home ? home : "";
  setenv("POLYATTN_CACHE_DIR", "/some/where", 1);
  EXPECT_EQ(KernelCache::defaultDirectory(), "/some/where");
  setenv("POLYATTN_CACHE_DIR", "", 1);
  EXPECT_EQ(KernelCache::defaultDirectory(), "");
  unsetenv("POLYATTN_CACHE_DIR");
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(KernelCache::defaultDirectory(), "/xdg/polyattn");
  setenv("POLYATTN_CACHE_DIR", "relative", 1);
  EXPECT_EQ(KernelCache::defaultDirectory(), "/xdg/polyattn");
  unsetenv("POLYATTN_CACHE_DIR");
  setenv("HOME", "/home/of", 1);
  for (const char *nowhere : {"", "relative", "./relative"}) {
    setenv("XDG_CACHE_HOME", nowhere, 1);
    EXPECT_EQ(KernelCache::defaultDirectory(), "/home/of/.cache/polyattn") << nowhere;
  }
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(KernelCache::defaultDirectory(), "/home/of/.cache/polyattn");
  setenv("HOME", "relative", 1);
  EXPECT_EQ(KernelCache::defaultDirectory(), "");
  setenv("HOME", homeBefore.c_str(), 1);
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
