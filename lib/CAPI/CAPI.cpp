//===- CAPI.cpp - the compiler for programs in C --------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn-c/polyattn.h"
#include "polyattn/JIT/Compiler.h"
#include <cstddef>
#include <new>

using namespace polyattn;

static_assert(POLYATTN_SIZE_B == kBatch && POLYATTN_SIZE_T == kPositions &&
              POLYATTN_SIZE_TK == kKeyPositions && POLYATTN_SIZE_H == kHeads &&
              POLYATTN_SIZE_HKV == kKeyHeads);
static_assert(offsetof(polyattn_compile_options, storage) >= 40, "the struct of version 1");
static_assert(sizeof(polyattn_tensor) == 16 + 16 * POLYATTN_MAX_RANK);
static_assert(sizeof(polyattn_tensor_info) == 24 + 8 * POLYATTN_MAX_RANK);

struct polyattn_error {
  std::string message;
};

struct polyattn_kernel {
  std::unique_ptr<CompiledKernel> code;
  std::string json;
};

/// What cannot be reported otherwise; nobody needs to free it.
static polyattn_error *outOfMemory() {
  static polyattn_error error{"out of memory"};
  return &error;
}

static void report(polyattn_error **error, std::string message) {
  if (!error)
    return;
  *error = new (std::nothrow) polyattn_error{std::move(message)};
  if (!*error)
    *error = outOfMemory();
}

/// Runs `body`; no exception of the standard library may reach a C program.
template <typename Body>
static auto guarded(polyattn_error **error, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    if (error)
      *error = outOfMemory();
  } catch (const std::exception &exception) {
    report(error, exception.what());
  } catch (...) {
    report(error, "unknown failure");
  }
  return {};
}

/// The fields that a program of an older version knew of, and defaults for the others.
static llvm::Expected<JITOptions> readOptions(const polyattn_compile_options *given) {
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
  if (has(offsetof(polyattn_compile_options, storage) + sizeof(char *)) && given->storage)
    result.storage = given->storage;
  if (has(offsetof(polyattn_compile_options, invariant) + sizeof(int32_t)))
    result.invariant = given->invariant != 0;
  return result;
}

static polyattn_kernel *finish(llvm::Expected<std::unique_ptr<CompiledKernel>> compiled,
                               polyattn_error **error) {
  if (!compiled) {
    report(error, llvm::toString(compiled.takeError()));
    return nullptr;
  }
  auto kernel = std::make_unique<polyattn_kernel>();
  kernel->code = std::move(*compiled);
  llvm::raw_string_ostream(kernel->json) << kernel->code->getDescription().toJSON();
  return kernel.release();
}

int polyattn_api_version(void) { return POLYATTN_API_VERSION; }

const char *polyattn_error_message(const polyattn_error *error) {
  return error ? error->message.c_str() : "";
}

void polyattn_error_destroy(polyattn_error *error) {
  if (error != outOfMemory())
    delete error;
}

polyattn_kernel *polyattn_compile_file(const char *path, const polyattn_compile_options *options,
                                       polyattn_error **error) {
  return guarded(error, [&]() -> polyattn_kernel * {
    llvm::Expected<JITOptions> read = readOptions(options);
    if (!read)
      return finish(read.takeError(), error);
    if (!path)
      return finish(llvm::createStringError("path is null"), error);
    return finish(compileKernelFromFile(path, *read), error);
  });
}

polyattn_kernel *polyattn_compile_text(const char *text, size_t length, const char *name,
                                       const polyattn_compile_options *options,
                                       polyattn_error **error) {
  return guarded(error, [&]() -> polyattn_kernel * {
    llvm::Expected<JITOptions> read = readOptions(options);
    if (!read)
      return finish(read.takeError(), error);
    if (!text)
      return finish(llvm::createStringError("text is null"), error);
    return finish(compileKernel({text, length}, name ? name : "spec", *read), error);
  });
}

void polyattn_kernel_destroy(polyattn_kernel *kernel) { delete kernel; }

const char *polyattn_kernel_entry(const polyattn_kernel *kernel) {
  return kernel ? kernel->code->getDescription().entry.c_str() : "";
}

size_t polyattn_kernel_num_tensors(const polyattn_kernel *kernel) {
  return kernel ? kernel->code->getDescription().tensors.size() : 0;
}

int polyattn_kernel_tensor(const polyattn_kernel *kernel, size_t index,
                           polyattn_tensor_info *info) {
  if (!info || index >= polyattn_kernel_num_tensors(kernel))
    return 1;
  const TensorDescription &tensor = kernel->code->getDescription().tensors[index];
  *info = {};
  info->name = tensor.name.c_str();
  info->is_result = tensor.isResult;
  info->dtype = static_cast<int32_t>(tensor.dtype);
  info->rank = static_cast<int32_t>(tensor.sizes.size());
  llvm::copy(tensor.sizes, info->sizes);
  return 0;
}

const char *polyattn_kernel_json(const polyattn_kernel *kernel) {
  return kernel ? kernel->json.c_str() : "";
}

int polyattn_kernel_run(const polyattn_kernel *kernel, const polyattn_tensor *tensors,
                        size_t num_tensors, int threads, polyattn_error **error) {
  polyattn_call_options options = POLYATTN_CALL_OPTIONS_INIT;
  options.threads = threads;
  return polyattn_kernel_run_with(kernel, tensors, num_tensors, &options, error);
}

int polyattn_kernel_run_with(const polyattn_kernel *kernel, const polyattn_tensor *tensors,
                             size_t num_tensors, const polyattn_call_options *options,
                             polyattn_error **error) {
  // Not `{}` as for the others: an exception is a failure.
  int status = 1;
  guarded(error, [&]() -> int {
    if (!kernel || !options || (!tensors && num_tensors != 0)) {
      report(error, !kernel ? "kernel is null" : !options ? "options is null" : "tensors is null");
      return 1;
    }
    llvm::Error failure = kernel->code->run(llvm::ArrayRef(tensors, num_tensors), *options);
    status = failure ? 1 : 0;
    if (failure)
      report(error, llvm::toString(std::move(failure)));
    return status;
  });
  return status;
}

void polyattn_set_parallel_for(polyattn_parallel_for parallel_for, void *user) {
  polyattn_rt_set_parallel_for(parallel_for, user);
}
