//===- Processes.cpp - work that may crash or never end -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes.h"
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace polyattn::mutation;

static constexpr rlim_t kSeconds = 60;

namespace {
struct Child {
  size_t number;
  int pipe;
};
} // namespace

[[noreturn]] static void runChild(size_t number, int pipe, size_t bytes,
                                  const std::function<void(size_t, void *)> &work) {
  rlimit limit = {kSeconds, kSeconds};
  setrlimit(RLIMIT_CPU, &limit);
  limit = {0, 0};
  setrlimit(RLIMIT_CORE, &limit);
  std::vector<std::max_align_t> answer(bytes / sizeof(std::max_align_t) + 1);
  work(number, answer.data());
  // What fits into a pipe is written at once.
  bool written = write(pipe, answer.data(), bytes) == ssize_t(bytes);
  _exit(written ? 0 : 1);
}

static pid_t startChild(size_t number, size_t bytes, Child &child,
                        const std::function<void(size_t, void *)> &work) {
  int ends[2];
  std::fflush(nullptr);
  if (pipe(ends) != 0) {
    std::perror("pipe");
    std::exit(1);
  }
  pid_t id = fork();
  if (id < 0) {
    std::perror("fork");
    std::exit(1);
  }
  if (id == 0) {
    close(ends[0]);
    runChild(number, ends[1], bytes, work);
  }
  close(ends[1]);
  child = {number, ends[0]};
  return id;
}

void polyattn::mutation::forEachInProcess(size_t count, unsigned jobs, size_t bytes,
                                          const std::function<void(size_t, void *)> &work,
                                          const std::function<void(size_t, const void *)> &done) {
  std::map<pid_t, Child> running;
  std::vector<std::max_align_t> answer(bytes / sizeof(std::max_align_t) + 1);
  for (size_t next = 0; next < count || !running.empty();) {
    if (next < count && running.size() < jobs) {
      Child child;
      pid_t id = startChild(next++, bytes, child, work);
      running[id] = child;
      continue;
    }
    int status;
    pid_t id = waitpid(-1, &status, 0);
    auto found = running.find(id);
    if (found == running.end())
      continue;
    Child child = found->second;
    running.erase(found);
    bool whole = read(child.pipe, answer.data(), bytes) == ssize_t(bytes);
    close(child.pipe);
    done(child.number, whole && WIFEXITED(status) ? answer.data() : nullptr);
  }
}
