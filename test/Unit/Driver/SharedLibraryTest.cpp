//===- SharedLibraryTest.cpp - shared libraries, loaded again -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../JIT/CopyKernel.h"
#include "lib/Driver/EntryPoints.h"
#include "mlir/IR/SymbolTable.h"
#include "polyattn/Compiler/Version.h"
#include "polyattn/Driver/CompileMain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <dlfcn.h>
#include <numeric>
#include <sys/stat.h>

using namespace polyattn;

namespace {
/// A folder of its own for each test.
class SharedLibrary : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("polyattn-test", folder));
  }
  void TearDown() override { (void)llvm::sys::fs::remove_directories(folder); }
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
  EXPECT_STREQ(message, "copy: argument 'q': expected element type f32, got bf16");
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
  (void)llvm::sys::fs::remove_directories(other);
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

/// A program in place of the linker.
static std::string errorOfLinker(const std::string &folder, llvm::StringRef script) {
  std::string program = folder + "/linker";
  {
    std::error_code code;
    llvm::raw_fd_ostream stream(program, code);
    stream << "#!/bin/sh\n" << script;
  }
  (void)llvm::sys::fs::setPermissions(program, llvm::sys::fs::all_perms);
  setenv("POLYATTN_LINKER", program.c_str(), 1);
  LoweredModule module = test::copyModule();
  llvm::Error error = emitSharedLibrary(module, test::nativeOptions(), folder + "/out", "kernels");
  unsetenv("POLYATTN_LINKER");
  std::string text = llvm::toString(std::move(error));
  EXPECT_EQ(text.find(program), 0u) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  return text.substr(program.size());
}

TEST_F(SharedLibrary, SaysWhatTheLinkerSaid) {
  std::string where = folder.str().str();
  EXPECT_EQ(errorOfLinker(where, "echo a warning; echo the reason >&2; exit 3"),
            " failed with status 3: a warning; the reason");
  EXPECT_EQ(errorOfLinker(where, "exit 3"), " failed with status 3 and said nothing");
  EXPECT_EQ(errorOfLinker(where, "echo not today; exit 0"),
            " ended well but wrote no library: not today");
  EXPECT_EQ(errorOfLinker(where, "while [ $1 != -o ]; do shift; done; echo > $2"),
            " ended well but wrote no library");
  EXPECT_NE(errorOfLinker(where, "kill -9 $$"), " failed with status -2 and said nothing");
}

static unsigned modeOf(const std::string &path) {
  llvm::sys::fs::file_status status;
  EXPECT_FALSE(llvm::sys::fs::status(path, status)) << path;
  return status.permissions() & llvm::sys::fs::all_perms;
}

TEST_F(SharedLibrary, FilesKeepTheirModes) {
  auto emit = [&] {
    LoweredModule module = test::copyModule();
    llvm::Error error = emitSharedLibrary(module, test::nativeOptions(), folder, "kernels");
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
  };
  mode_t before = umask(027);
  emit();
  EXPECT_EQ(modeOf(inFolder("libkernels.so")), 0750u);
  EXPECT_EQ(modeOf(inFolder("kernels.h")), 0640u);
  for (const char *name : {"libkernels.so", "kernels.h", "kernels.json"})
    (void)llvm::sys::fs::setPermissions(inFolder(name), llvm::sys::fs::perms(0604));
  emit();
  umask(before);
  EXPECT_EQ(modeOf(inFolder("libkernels.so")), 0604u);
  EXPECT_EQ(modeOf(inFolder("kernels.h")), 0604u);
  EXPECT_EQ(modeOf(inFolder("kernels.json")), 0604u);
}

TEST_F(SharedLibrary, OfAnotherEntryTakesNoPlace) {
  auto emit = [&](llvm::StringRef entry) {
    LoweredModule module = test::copyModule(entry);
    return llvm::toString(emitSharedLibrary(module, test::nativeOptions(), folder, "kernels"));
  };
  EXPECT_EQ(emit("first"), "");
  EXPECT_EQ(emit("second"), inFolder("kernels.json") +
                                ": the library there has first, which the new one would not have: "
                                "compile all entries together, or give each a folder");
  EXPECT_EQ(emit("first"), "");
}

// Entries that are called as what code generation and the runtime call.
TEST_F(SharedLibrary, NamesOfFunctionsThatExist) {
  int count = 0;
  for (llvm::StringRef entry : {"memcpy", "expf", "polyattn_rt_run", "malloc", "main"}) {
    LoweredModule module = test::copyModule(entry);
    std::string stem = "k" + std::to_string(count++);
    llvm::Error error = emitSharedLibrary(module, test::nativeOptions(), folder, stem);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    void *library = dlopen(inFolder("lib" + stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library) << dlerror();
    auto copy = reinterpret_cast<CopyFunction>(dlsym(library, ("polyattn_" + entry).str().c_str()));
    ASSERT_TRUE(copy) << entry.str();
    int64_t sizes[] = {2, 30, 3, 4};
    std::vector<float> q(2 * 30 * 3 * 4), o(q.size());
    std::iota(q.begin(), q.end(), 0.0f);
    polyattn_tensor query = polyattn_dense(q.data(), POLYATTN_F32, 4, sizes);
    polyattn_tensor output = polyattn_dense(o.data(), POLYATTN_F32, 4, sizes);
    EXPECT_EQ(copy(&query, &output, 2, nullptr, 0), 0);
    EXPECT_EQ(q, o);
    EXPECT_EQ(dlclose(library), 0);
  }
}

// What our own headers declare cannot be an entry's C function as well.
TEST_F(SharedLibrary, NamesOfOurOwnHeaders) {
  int found = 0;
  for (const char *header : {"tensor.h", "sizes.h", "parallel.h", "polyattn.h"}) {
    auto file = llvm::MemoryBuffer::getFile(std::string(POLYATTN_TEST_DIR) +
                                            "/../include/polyattn-c/" + header);
    ASSERT_TRUE(bool(file));
    llvm::StringRef text = (*file)->getBuffer();
    for (size_t at = 0; (at = text.find("polyattn_", at)) != llvm::StringRef::npos; ++found) {
      text = text.substr(at + 9);
      at = 0;
      llvm::StringRef name = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
      // Families of names end in an underscore in comments.
      if (name.empty() || name.ends_with("_"))
        continue;
      LoweredModule module = test::copyModule(name);
      EXPECT_NE(llvm::toString(emitSharedLibrary(module, test::nativeOptions(), folder, "k"))
                    .find("which is polyattn's own"),
                std::string::npos)
          << name.str();
    }
  }
  EXPECT_GT(found, 20);
}

TEST_F(SharedLibrary, NamesTheProcessorsFeatures) {
  MachineDescription machine = llvm::cantFail(findMachine("native"));
  if (!llvm::StringRef(machine.triple).starts_with("x86_64"))
    GTEST_SKIP();
  llvm::SmallVector<llvm::StringRef> used;
  llvm::StringRef(machine.features).split(used, ',');
  llvm::SmallVector<std::string> needed;
  for (llvm::StringRef feature : used)
    if (feature.consume_front("+"))
      needed.push_back(feature.str());
  EXPECT_EQ(machine.needed, llvm::join(needed, ","));
  EXPECT_NE(machine.needed.find("sse2"), std::string::npos);
  EXPECT_FALSE(polyattn_rt_missing_cpu_feature(
      std::vector<polyattn_rt_cpu_features>{cpuFeatureBits(machine.needed)}.data()));
  // A machine that lacks one of them gets the name, not an illegal instruction.
  LoweredModule module = test::copyModule();
  CompileOptions options = test::nativeOptions();
  options.machine.needed += ",warp-drive";
  ASSERT_EQ(llvm::toString(emitSharedLibrary(module, options, folder, "kernels")), "");
  void *library = dlopen(inFolder("libkernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto copy = reinterpret_cast<CopyFunction>(dlsym(library, "polyattn_copy"));
  int64_t sizes[] = {1, 1, 1, 4};
  float q[4] = {}, o[4] = {};
  polyattn_tensor query = polyattn_dense(q, POLYATTN_F32, 4, sizes);
  polyattn_tensor output = polyattn_dense(o, POLYATTN_F32, 4, sizes);
  char message[200] = "";
  EXPECT_EQ(copy(&query, &output, 1, message, sizeof message), 1);
  EXPECT_NE(std::string(message).find("and this processor has no "), std::string::npos) << message;
  EXPECT_EQ(dlclose(library), 0);
}

TEST_F(SharedLibrary, RefusesOtherArchitectures) {
  CompileOptions options;
  bool onArm = isHostArchitecture(llvm::cantFail(findMachine("aarch64")));
  options.machine = llvm::cantFail(findMachine(onArm ? "x86-64" : "aarch64"));
  LoweredModule module = test::copyModule();
  llvm::Error error = emitSharedLibrary(module, options, folder, "kernels");
  EXPECT_NE(llvm::toString(std::move(error)).find("--emit obj needs none"), std::string::npos);
}

TEST_F(SharedLibrary, HeaderIsCAndCxx) {
  LoweredModule module = test::copyModule();
  // Names that C cannot take as they are: a keyword, and what a program may have made a macro.
  module.kernels.front().tensors[0].name = "int";
  module.kernels.front().tensors[1].name = "linux";
  llvm::Error error = emitSharedLibrary(module, test::nativeOptions(), folder, "my-kernels");
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  for (const char *language : {"-std=c99 -x c", "-std=c++11 -x c++"}) {
    std::string command = std::string("clang-22 -Wall -Wextra -Werror -pedantic -fsyntax-only ") +
                          language + " -Dlinux=1 -Dq=1 -Dx=1 -include " + inFolder("my-kernels.h") +
                          " /dev/null 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}
