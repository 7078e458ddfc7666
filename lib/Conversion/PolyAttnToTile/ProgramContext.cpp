//===- ProgramContext.cpp - what a program's parts share ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramContext.h"

using namespace mlir;
using namespace polyattn;

Value SegmentContext::isEntered(TileBuilder &b, Direction direction) const {
  auto differ = arith::CmpIPredicate::ne;
  if (direction == Direction::Forwards)
    return b.compare(differ, segment, b.index(0));
  return b.compare(differ, b.addIndex(segment, b.index(1)), segments);
}

Value SegmentContext::isLast(TileBuilder &b, Direction direction) const {
  if (direction == Direction::Backwards)
    return b.isEqual(segment, b.index(0));
  return b.isEqual(b.addIndex(segment, b.index(1)), segments);
}
