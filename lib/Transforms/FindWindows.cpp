//===- FindWindows.cpp - windows of attends whose tables end --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Schedule/Windows.h"
#include "polyattn/Transforms/Passes.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_FINDWINDOWS
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

namespace {
struct FindWindows : polyattn::impl::FindWindowsBase<FindWindows> {
  void runOnOperation() override {
    getOperation().walk([&](AttendOp attend) {
      if (std::optional<int64_t> window = windowOf(attend))
        attend.setWindow(*window);
    });
  }
};
} // namespace
