//===- Failure.h - input that cannot be simulated ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_FAILURE_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_FAILURE_H

#include <stdexcept>
#include <string>
#include <vector>

namespace polyattn::gpumodel {

/// One line for the user: an argument, a file or a kernel that the model does not take.
class Failure : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The name that takes the fewest edits, which a message offers beside a name that is unknown.
std::string nearest(const std::string &name, const std::vector<std::string> &names);

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_FAILURE_H
