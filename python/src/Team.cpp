//===- Team.cpp - threads of another library in the process ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Team.h"
#include <atomic>
#include <dlfcn.h>
#include <unistd.h>

using namespace polyattn::python;

namespace {
/// Tasks that a team's threads take one by one: inside a region of the caller a team has one
/// thread.
struct Loop {
  polyattn_task task;
  void *context;
  int64_t count;
  std::atomic<int64_t> next = 0;

  static void run(void *loop) {
    auto &self = *static_cast<Loop *>(loop);
    for (int64_t i = self.next++; i < self.count; i = self.next++)
      self.task(self.context, i);
  }
};
} // namespace

std::optional<Team> Team::ofLibrary(const std::string &path) {
  // Its dependencies are searched: a process may have several OpenMP runtimes.
  void *library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (!library)
    return std::nullopt;
  auto parallel = reinterpret_cast<Parallel>(dlsym(library, "GOMP_parallel"));
  if (!parallel) {
    dlclose(library);
    return std::nullopt;
  }
  // The library stays loaded from here on, and with it the function.
  return Team(parallel, getpid());
}

void Team::useFor(polyattn_call_options &options) const {
  if (getpid() != process)
    return;
  options.user = reinterpret_cast<void *>(parallel);
  options.parallel_for = [](void *user, int64_t count, polyattn_task task, void *context) {
    Loop loop{task, context, count};
    reinterpret_cast<Parallel>(user)(&Loop::run, &loop, unsigned(count), /*flags=*/0);
  };
}
