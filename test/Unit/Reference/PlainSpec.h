//===- PlainSpec.h - a spec for tests of what is around it ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_PLAINSPEC_H
#define POLYATTN_TEST_PLAINSPEC_H

namespace polyattn {

/// An entry without maps, weights and a normalizer, which every target takes.
inline constexpr char kPlainSpec[] = R"mlir(
polyattn.attention @plain(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
                          %v: tensor<?x?x?x16xf32>) -> (o: tensor<?x?x?x16xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x16xf32> -> [16]
  %o = attend query %a key %b value %c full normalize <none>
      {grouping = #polyattn.grouping<block>} : [16], [16], [16]
  return %o : [16]
}
)mlir";

} // namespace polyattn

#endif // POLYATTN_TEST_PLAINSPEC_H
