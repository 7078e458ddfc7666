//===- ProgressLine.h - that something takes long ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_PROGRESSLINE_H
#define POLYATTN_LIB_DRIVER_PROGRESSLINE_H

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace polyattn {

/// While this lives and more than a second has passed, the last line of the terminal on standard
/// error says what is being done, and for how many seconds. Then the line is empty again. Where
/// standard error is no terminal nothing is written.
class ProgressLine {
public:
  explicit ProgressLine(std::string what);
  ~ProgressLine();
  ProgressLine(const ProgressLine &) = delete;

private:
  void writeEverySecond();

  std::string what;
  std::mutex mutex;
  std::condition_variable changed;
  bool ends = false;
  std::thread writer;
};

} // namespace polyattn

#endif // POLYATTN_LIB_DRIVER_PROGRESSLINE_H
