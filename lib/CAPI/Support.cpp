//===- Support.cpp - errors and options of the C API ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include "polyattn/Spec/ParseSpec.h"
#include <cstddef>

using namespace polyattn;

static_assert(offsetof(polyattn_compile_options, dtype) >= 40, "the struct of version 1");
static_assert(sizeof(polyattn_tensor) == 16 + 16 * POLYATTN_MAX_RANK);
static_assert(sizeof(polyattn_tensor_info) == 24 + 8 * POLYATTN_MAX_RANK);

polyattn_error *capi::outOfMemory() {
  static polyattn_error error{"out of memory", POLYATTN_ERROR_MEMORY};
  return &error;
}

void capi::report(polyattn_error **error, std::string message, int kind) {
  if (!error)
    return;
  *error = new (std::nothrow) polyattn_error{std::move(message), kind};
  if (!*error)
    *error = outOfMemory();
}

void capi::report(polyattn_error **error, llvm::Error failure) {
  int kind = failure.isA<NoGradientError>()  ? POLYATTN_ERROR_NO_GRADIENT
             : failure.isA<SpecError>()      ? POLYATTN_ERROR_SPEC
             : failure.isA<CancelledError>() ? POLYATTN_ERROR_CANCELLED
                                             : POLYATTN_ERROR_OTHER;
  report(error, llvm::toString(std::move(failure)), kind);
}

int capi::statusOf(polyattn_error **error, llvm::function_ref<llvm::Error()> body) {
  bool succeeded = guarded(error, [&] {
    llvm::Error failure = body();
    if (!failure)
      return true;
    report(error, std::move(failure));
    return false;
  });
  return succeeded ? 0 : 1;
}

CancelledByCaller capi::cancelledBy(polyattn_call_cancelled isCancelled, void *user) {
  if (!isCancelled)
    return {};
  return [=] { return isCancelled(user) != 0; };
}

llvm::Expected<JITOptions> capi::readOptions(const polyattn_compile_options *given) {
  JITOptions result;
  if (!given)
    return result;
  if (given->struct_size < offsetof(polyattn_compile_options, optimize_ir) + sizeof(int32_t))
    return llvm::createStringError("options: struct_size is not that of any version; start from "
                                   "POLYATTN_COMPILE_OPTIONS_INIT");
  if (given->entry)
    result.entry = given->entry;
  if (given->target)
    result.target = given->target;
  if (given->cache_directory)
    result.cacheDirectory = given->cache_directory;
  result.codegen.optimizeIR = given->optimize_ir != 0;
  // A field begins behind the whole struct of the version before: its padding is not set.
  auto has = [&](size_t end) { return given->struct_size >= end; };
  if (has(offsetof(polyattn_compile_options, dtype) + sizeof(char *)) && given->dtype)
    result.dtype = given->dtype;
  if (has(offsetof(polyattn_compile_options, invariant) + sizeof(int32_t)))
    result.invariant = given->invariant != 0;
  if (has(offsetof(polyattn_compile_options, direction) + sizeof(char *)) && given->direction) {
    std::optional<CallDirection> direction = parseDirection(given->direction);
    if (!direction)
      return llvm::createStringError("direction: expected " + kDirectionNames + ", got '" +
                                     given->direction + "'");
    result.direction = *direction;
  }
  if (has(offsetof(polyattn_compile_options, wrt) + sizeof(char *)) && given->wrt) {
    if (!isAboutGradients(result.direction))
      return llvm::createStringError("wrt: expected direction training or backward with it");
    llvm::SmallVector<llvm::StringRef> names;
    llvm::StringRef(given->wrt).split(names, ',');
    for (llvm::StringRef name : names)
      result.gradients.wrt.push_back(name.trim().str());
  }
  if (has(offsetof(polyattn_compile_options, packed) + sizeof(int32_t)))
    result.packed = given->packed != 0;
  if (has(offsetof(polyattn_compile_options, accumulate) + sizeof(int32_t)))
    result.gradients.accumulate = given->accumulate != 0;
  if (result.gradients.accumulate && !isAboutGradients(result.direction))
    return llvm::createStringError("accumulate: expected direction training or backward with it");
  if (has(offsetof(polyattn_compile_options, state_every) + sizeof(int64_t)))
    result.gradients.stateEvery = given->state_every;
  if (int64_t every = result.gradients.stateEvery; every < 0 || every > BlockStates::kMaxLength)
    return llvm::createStringError("state_every: expected 1 to " +
                                   llvm::Twine(BlockStates::kMaxLength) +
                                   " positions, or 0 for none, got " + llvm::Twine(every));
  if (result.gradients.stateEvery && !isAboutGradients(result.direction))
    return llvm::createStringError("state_every: expected direction training or backward with it");
  if (has(offsetof(polyattn_compile_options, cancelled_user) + sizeof(void *)))
    result.cancelled = cancelledBy(given->is_cancelled, given->cancelled_user);
  if (has(offsetof(polyattn_compile_options, sizes) + sizeof(char *)) && given->sizes) {
    llvm::Expected<SpecSizes> sizes = parseSpecSizes(given->sizes);
    if (!sizes)
      return llvm::createStringError("sizes: " + llvm::toString(sizes.takeError()));
    result.sizes = std::move(sizes->values);
  }
  return result;
}

void capi::describe(const TensorDescription &tensor, polyattn_tensor_info &info) {
  info = {};
  info.name = tensor.name.c_str();
  info.is_result = tensor.isResult;
  info.dtype = dtypeOf(tensor.dtype);
  info.rank = static_cast<int32_t>(tensor.sizes.size());
  llvm::copy(tensor.sizes, info.sizes);
}

const char *polyattn_error_message(const polyattn_error *error) {
  return error ? error->message.c_str() : "";
}

int polyattn_error_kind(const polyattn_error *error) {
  return error ? error->kind : POLYATTN_ERROR_OTHER;
}

void polyattn_error_destroy(polyattn_error *error) {
  if (error != capi::outOfMemory())
    delete error;
}
