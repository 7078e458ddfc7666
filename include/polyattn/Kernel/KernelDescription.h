//===- KernelDescription.h - what a compiled entry takes and gives -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that one must know of compiled code to call it, as plain data: it is
// stored beside cached objects, printed as the JSON of a shared library, and needs
// no MLIR to be read back.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_KERNEL_KERNELDESCRIPTION_H
#define POLYATTN_KERNEL_KERNELDESCRIPTION_H

#include "polyattn/Launch/LaunchPlan.h"
#include "polyattn/Tensor/ElementType.h"
#include "polyattn/Tensor/Role.h"
#include "polyattn/Tensor/SizeName.h"
#include "runtime/runtime.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace polyattn {

struct TensorDescription {
  std::string name;
  bool isResult = false;
  ElementType dtype = ElementType::F32;
  /// Numbers, or below zero a SizeName.
  std::vector<int64_t> sizes;
  /// The number of the argument in whose memory a result lives.
  std::optional<int64_t> argument = {};
  Role role = Role::Query;
  /// The argument or result of the attention whose gradient this is; the result of the forward
  /// entry that this argument is. Empty for others.
  std::string gradientOf = {}, savedFrom = {};
};

/// Which tensor says where calls begin in their sequences, and of what that is a multiple.
struct FirstDescription {
  int64_t tensor = 0, unit = 1;
};

/// The most that a named size may be, which the shape of a tensor says.
struct LimitDescription {
  SizeName size = kPositions;
  int64_t most = 1, tensor = 0;
};

struct KernelDescription {
  std::string entry;
  CallDirection direction = CallDirection::Forward;
  /// Arguments in the spec's order, then results.
  std::vector<TensorDescription> tensors;
  /// How its functions are launched; without stages before it was lowered.
  LaunchPlan plan;
  /// Values of named sizes that the spec fixes, by indexOf; -1 where free.
  std::array<int64_t, POLYATTN_NAMED_SIZES> fixedSizes = {-1, -1, -1, -1, -1, -1, -1, -1, -1};
  /// Of T it is about each sequence where these are packed, and where calls continue sequences
  /// about what has come until a call's end.
  std::vector<LimitDescription> limits;
  /// Empty where calls begin at position 0.
  std::optional<FirstDescription> firstPosition;
  /// The arguments that have the rows of pools of states, and how many positions count.
  std::optional<int64_t> slots, lengths;
  /// The argument that says where packed sequences begin and end.
  std::optional<int64_t> offsets;
  /// The target's name and, on x86-64, the level that the code needs ("x86-64-v4").
  std::string target, cpuLevel;
  /// What a processor must have for it, LLVM's names, "avx2,fma"; empty where that is not checked.
  std::string cpuFeatures;
  /// Facts for people: features per key where the number fits, degree of the scores where they
  /// are polynomials, and the structure whose score form spares the features, or nothing.
  std::optional<int64_t> featureDimension, degree;
  std::string scoreForm;
  /// Whether a head is computed by one program in one order.
  bool invariant = false;

  /// The number that `toJSON` writes under "version": descriptions of others are refused.
  static constexpr int64_t kVersion = 8;

  /// Dimensions of each tensor.
  std::vector<int64_t> ranks() const;

  llvm::json::Value toJSON() const;
  /// Rejects in a line whatever the runtime could not take: the text may come from a damaged file.
  static llvm::Expected<KernelDescription> fromJSON(const llvm::json::Value &value);
};

/// The runtime's form of a description. Points into the description, which must outlive it and
/// not move; `functions` are the addresses of the stages.
class RuntimeKernel {
public:
  RuntimeKernel(const KernelDescription &description,
                llvm::ArrayRef<polyattn_rt_function> functions);
  RuntimeKernel(const RuntimeKernel &) = delete;
  const polyattn_rt_kernel &get() const { return kernel; }

private:
  std::vector<polyattn_rt_tensor_rule> tensors;
  RuntimePlan plan;
  polyattn_rt_kernel kernel;
};

/// The runtime's form of a description's limits, by indexOf.
std::array<polyattn_rt_limit_rule, POLYATTN_NAMED_SIZES>
limitRules(const KernelDescription &description);

/// The runtime's form of a list of features.
polyattn_rt_cpu_features cpuFeatureBits(llvm::StringRef names);

} // namespace polyattn

#endif // POLYATTN_KERNEL_KERNELDESCRIPTION_H
