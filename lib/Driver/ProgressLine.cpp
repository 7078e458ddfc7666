//===- ProgressLine.cpp - that something takes long -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgressLine.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <unistd.h>

using namespace polyattn;

ProgressLine::ProgressLine(std::string what) : what(std::move(what)) {
  if (isatty(STDERR_FILENO))
    writer = std::thread([this] { writeEverySecond(); });
}

ProgressLine::~ProgressLine() {
  if (!writer.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    ends = true;
  }
  changed.notify_one();
  writer.join();
}

void ProgressLine::writeEverySecond() {
  std::unique_lock<std::mutex> lock(mutex);
  int seconds = 0;
  while (!changed.wait_for(lock, std::chrono::seconds(1), [&] { return ends; }))
    llvm::errs() << '\r' << what << ": " << ++seconds << " s";
  if (seconds > 0)
    llvm::errs() << "\r\033[K";
}
