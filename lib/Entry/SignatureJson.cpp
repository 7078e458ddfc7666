//===- SignatureJson.cpp - signatures as JSON -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Entry/Signature.h"

using namespace polyattn;

llvm::json::Object polyattn::toJson(const Signature &signature) {
  auto tensors = [&](const std::vector<TensorSignature> &list) {
    llvm::json::Array array;
    for (const TensorSignature &tensor : list) {
      llvm::json::Array shape, dims;
      for (int64_t dim : tensor.dims) {
        std::optional<int64_t> size = signature.fixedSize(dim);
        shape.push_back(size ? llvm::json::Value(*size) : llvm::json::Value(nullptr));
        dims.push_back(size ? llvm::json::Value(*size) : llvm::json::Value(sizeToString(dim)));
      }
      llvm::json::Object object{{"name", tensor.name},
                                {"shape", std::move(shape)},
                                {"dims", std::move(dims)},
                                {"dtype", nameOf(tensor.type)},
                                {"role", nameOf(tensor.role)}};
      if (!tensor.gradientOf.empty())
        object["gradient_of"] = tensor.gradientOf;
      if (!tensor.savedFrom.empty())
        object["saved_from"] = tensor.savedFrom;
      if (tensor.argument)
        object["in"] = signature.arguments[*tensor.argument].name;
      array.push_back(std::move(object));
    }
    return array;
  };
  auto optional = [](std::optional<int64_t> value) {
    return value ? llvm::json::Value(*value) : llvm::json::Value(nullptr);
  };
  const EntryFacts &facts = signature.facts;
  llvm::json::Object result{{"name", signature.name},
                            {"arguments", tensors(signature.arguments)},
                            {"results", tensors(signature.results)},
                            {"feature_dim", optional(facts.featureDim)},
                            {"degree", optional(facts.degree)},
                            {"score_form", facts.scoreForm.empty()
                                               ? llvm::json::Value(nullptr)
                                               : llvm::json::Value(facts.scoreForm)},
                            {"state_bytes", optional(facts.stateBytes)}};
  llvm::json::Array limits;
  for (auto [i, limit] : llvm::enumerate(signature.limits))
    if (limit)
      limits.push_back(llvm::json::Object{{"size", sizeToString(-1 - int64_t(i))},
                                          {"most", limit->most},
                                          {"argument", signature.arguments[limit->argument].name}});
  if (!limits.empty())
    result["limits"] = std::move(limits);
  return result;
}
