//===- Inputs.h - the arguments of a run ------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_INPUTS_H
#define POLYATTN_LIB_DRIVER_INPUTS_H

#include "Options.h"

namespace polyattn::driver {

struct Inputs {
  std::vector<HostTensor> arguments;
  CallSizes sizes;
};

/// Reads the arguments that files give, makes up the others where --random says so. Those that a
/// forward call gives stay poisoned where no file does.
llvm::Expected<Inputs> gatherInputs(const Signature &signature, const RunOptions &options);

/// Fills a tensor with numbers fit for its role: activations standard normal, weights normal
/// with variance 1 / rows, gains around 1, decays the logarithm of a uniform number in (0.9, 1),
/// states small; where calls begin, a few multiples of the local block that tables have rows for, 0
/// for one of four batches with slots; slots in any order, as far as there are any, then none;
/// lengths the whole call or any. A seed gives the same values on every machine, up to libm.
void fillRandom(const Signature &signature, const TensorSignature &argument, const CallSizes &sizes,
                uint64_t seed, const HostTensor &tensor);

/// Random calls begin at no later position than this, where nothing gives a table's length.
int64_t lastRandomPosition(const Signature &signature);

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_INPUTS_H
