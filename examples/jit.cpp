//===- jit.cpp - compile a spec and run it, from C++ ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// Usage: polyattn-example-jit SPEC.mlir, where the spec has the entry @linear.

#include "polyattn/JIT/Compiler.h"
#include "reference.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: " << argv[0] << " SPEC.mlir\n";
    return 1;
  }
  polyattn::JITOptions options;
  options.entry = "linear";
  auto kernel = polyattn::compileKernelFromFile(argv[1], options);
  if (!kernel) {
    llvm::errs() << llvm::toString(kernel.takeError()) << '\n';
    return 1;
  }
  std::vector<float> q(ELEMENTS), k(ELEMENTS), v(ELEMENTS), o(ELEMENTS);
  example_fill(q.data(), 1);
  example_fill(k.data(), 2);
  example_fill(v.data(), 3);
  auto view = [](std::vector<float> &data) {
    return polyattn_dense(data.data(), POLYATTN_F32, 4, example_sizes);
  };
  if (llvm::Error error = (*kernel)->run({view(q), view(k), view(v), view(o)}, /*threads=*/2)) {
    llvm::errs() << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  double error = example_error(q.data(), k.data(), v.data(), o.data());
  llvm::outs() << "relative error " << llvm::format("%.1e", error) << '\n';
  return error < 1e-5 ? 0 : 1;
}
