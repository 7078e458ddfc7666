//===- BackwardSignature.cpp - what gradients ask of their caller ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Attributes/DidYouMean.h"
#include "polyattn/Entry/Signature.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace polyattn;

static bool hasGradient(const TensorSignature &argument) { return !isInteger(argument.type); }

static std::vector<std::string> differentiableArguments(const Signature &forward) {
  std::vector<std::string> names;
  for (const TensorSignature &argument : forward.arguments)
    if (hasGradient(argument))
      names.push_back(argument.name);
  return names;
}

static Error checkWrt(const Signature &forward, ArrayRef<std::string> wrt) {
  std::vector<std::string> known = differentiableArguments(forward);
  for (auto [i, name] : enumerate(wrt)) {
    const TensorSignature *argument = forward.findArgument(name);
    if (argument && !hasGradient(*argument))
      return createStringError("wrt: argument '" + name +
                               "' holds whole numbers, which have no gradient");
    if (!argument)
      return createStringError("wrt: expected names among " + join(known, ", ") + ", got '" + name +
                               "'" + didYouMean(name, join(known, ", ")));
    if (is_contained(wrt.take_front(i), name))
      return createStringError("wrt: '" + name + "' is given twice");
  }
  return Error::success();
}

/// The gradient in an argument or a result of the forward entry.
static TensorSignature gradientIn(const TensorSignature &tensor, ElementType type) {
  TensorSignature gradient = tensor;
  gradient.name = "d_" + tensor.name;
  gradient.type = type;
  gradient.role = Role::Gradient;
  gradient.gradientOf = tensor.name;
  return gradient;
}

/// Whether the gradient has no positions: that of a weight, of a table or of a decay [H].
static bool isSumOverPositions(const TensorSignature &argument) {
  switch (argument.role) {
  case Role::Weight:
  case Role::Vector:
  case Role::Gain:
  case Role::Frequencies:
  case Role::Lags:
    return true;
  case Role::Decay:
    return argument.dims.size() == 1;
  default:
    return false;
  }
}

Expected<Signature> polyattn::backwardSignature(const Signature &forward,
                                                const GradientOptions &options) {
  const std::vector<std::string> &wrt = options.wrt;
  if (forward.slots || forward.lengths)
    return createStringError("entry '" + forward.name +
                             "' decodes: gradients with slots or lengths are not supported");
  if (Error error = checkWrt(forward, wrt))
    return std::move(error);
  Signature signature = forward;
  signature.name += "__backward";
  signature.results.clear();
  for (const TensorSignature &result : forward.results) {
    signature.arguments.push_back(gradientIn(result, result.type));
    if (forward.findArgument(signature.arguments.back().name))
      return createStringError(
          "entry '" + forward.name + "' has an argument '" + signature.arguments.back().name +
          "', which is the name of the gradient in its result '" + result.name + "'");
  }
  for (const std::string &name :
       wrt.empty() ? differentiableArguments(forward) : std::vector<std::string>(wrt)) {
    const TensorSignature &argument = *forward.findArgument(name);
    bool isSequence =
        argument.role == Role::Query || argument.role == Role::Key || argument.role == Role::Value;
    signature.results.push_back(
        gradientIn(argument, isSequence ? argument.type : ElementType::F32));
    if (options.accumulate && isSumOverPositions(argument)) {
      TensorSignature sum = signature.results.back();
      sum.name = (kRunningSumPrefix + sum.name).str();
      if (forward.findArgument(sum.name))
        return createStringError("entry '" + forward.name + "' has an argument '" + sum.name +
                                 "', which is the name of the running sum of '" +
                                 signature.results.back().name + "'");
      signature.results.back().argument = signature.arguments.size();
      signature.arguments.push_back(std::move(sum));
    }
  }
  return signature;
}
