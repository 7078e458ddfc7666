//===- Processes.cpp - work that may crash or never end -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace polyattn::test;

namespace {
struct Child {
  size_t number;
  void *answer;
};
} // namespace

/// Bytes of address space that this process has already.
static size_t addressSpace() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * size_t(sysconf(_SC_PAGESIZE));
}

static void limit(int resource, rlim_t value) {
  rlimit both = {value, value};
  setrlimit(resource, &both);
}

/// Memory that a child writes and its parent reads.
static void *share(size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  return memory;
}

static pid_t startChild(const Child &child, const ProcessLimits &limits,
                        const std::function<void(size_t, void *)> &work) {
  std::fflush(nullptr);
  pid_t id = fork();
  if (id < 0) {
    std::perror("fork");
    std::exit(1);
  }
  if (id != 0)
    return id;
  limit(RLIMIT_CPU, limits.seconds);
  alarm(8 * limits.seconds); // one that waits takes no processor's time
  limit(RLIMIT_CORE, 0);
  if (limits.bytes)
    limit(RLIMIT_AS, addressSpace() + limits.bytes);
  work(child.number, child.answer);
  _exit(0);
}

static ProcessEnd endOf(int status, const ProcessLimits &limits, const rusage &usage) {
  if (WIFEXITED(status))
    return WEXITSTATUS(status) ? "status " + std::to_string(WEXITSTATUS(status)) : "";
  time_t seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec;
  if (WTERMSIG(status) == SIGALRM)
    return "out of time";
  if (WTERMSIG(status) == SIGKILL && seconds + 1 >= time_t(limits.seconds))
    return "out of time";
  return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
}

void polyattn::test::forEachInProcess(
    const std::function<bool(size_t)> &more, unsigned jobs, size_t bytes,
    const ProcessLimits &limits, const std::function<void(size_t, void *)> &work,
    const std::function<void(size_t, const void *, const ProcessEnd &)> &done) {
  std::map<pid_t, Child> running;
  bool last = false;
  for (size_t next = 0; !last || !running.empty();) {
    if (!last && running.size() < jobs) {
      last = !more(next);
      if (last)
        continue;
      Child child = {next++, share(bytes)};
      running[startChild(child, limits, work)] = child;
      continue;
    }
    int status;
    rusage usage;
    auto found = running.find(wait4(-1, &status, 0, &usage));
    if (found == running.end())
      continue;
    Child child = found->second;
    running.erase(found);
    done(child.number, child.answer, endOf(status, limits, usage));
    munmap(child.answer, bytes);
  }
}
