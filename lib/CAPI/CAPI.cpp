//===- CAPI.cpp - the compiler for programs in C --------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "polyattn/Files/InputFile.h"
#include "polyattn/JIT/States.h"
#include "polyattn/Target/NVPTX.h"

using namespace polyattn;
using capi::guarded;
using capi::readOptions;
using capi::report;
using capi::statusOf;

static std::string toText(const llvm::json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

polyattn_kernel::polyattn_kernel(std::unique_ptr<CompiledKernel> compiled)
    : code(std::move(compiled)), json(toText(code->getDescription().toJSON())) {}

polyattn_kernel::polyattn_kernel(std::unique_ptr<GPUKernel> compiled)
    : onGPU(std::move(compiled)), json(toText(onGPU->getDescription().toJSON())) {}

const KernelDescription &polyattn_kernel::description() const {
  return code ? code->getDescription() : onGPU->getDescription();
}

template <typename Kernel>
static polyattn_kernel *finish(llvm::Expected<std::unique_ptr<Kernel>> compiled,
                               polyattn_error **error) {
  if (compiled)
    return std::make_unique<polyattn_kernel>(std::move(*compiled)).release();
  report(error, compiled.takeError());
  return nullptr;
}

static polyattn_kernel *fail(llvm::Error failure, polyattn_error **error) {
  report(error, std::move(failure));
  return nullptr;
}

static polyattn_kernel *compileText(llvm::StringRef text, llvm::StringRef name,
                                    const JITOptions &options, polyattn_error **error) {
  if (isGPUName(options.target))
    return fail(llvm::createStringError("target: code for '" + options.target +
                                        "' runs on a GPU of this machine as target 'cuda', and "
                                        "polyattn-compile writes it for others"),
                error);
  return capi::isForGPU(options) ? finish(capi::compileForGPU(text, name, options), error)
                                 : finish(compileKernel(text, name, options), error);
}

int polyattn_api_version(void) { return POLYATTN_API_VERSION; }

polyattn_kernel *polyattn_compile_file(const char *path, const polyattn_compile_options *options,
                                       polyattn_error **error) {
  return guarded(error, [&]() -> polyattn_kernel * {
    llvm::Expected<JITOptions> read = readOptions(options);
    if (!read)
      return fail(read.takeError(), error);
    if (!path)
      return fail(llvm::createStringError("path is null"), error);
    auto file = readSpecFile(path);
    if (!file)
      return fail(
          llvm::createStringError(llvm::Twine(path) + ": " + llvm::toString(file.takeError())),
          error);
    return compileText((*file)->getBuffer(), path, *read, error);
  });
}

polyattn_kernel *polyattn_compile_text(const char *text, size_t length, const char *name,
                                       const polyattn_compile_options *options,
                                       polyattn_error **error) {
  return guarded(error, [&]() -> polyattn_kernel * {
    llvm::Expected<JITOptions> read = readOptions(options);
    if (!read)
      return fail(read.takeError(), error);
    if (!text)
      return fail(llvm::createStringError("text is null"), error);
    return compileText({text, length}, name ? name : "spec", *read, error);
  });
}

void polyattn_kernel_destroy(polyattn_kernel *kernel) { delete kernel; }

const char *polyattn_kernel_entry(const polyattn_kernel *kernel) {
  return kernel ? kernel->description().entry.c_str() : "";
}

size_t polyattn_kernel_num_tensors(const polyattn_kernel *kernel) {
  return kernel ? kernel->description().tensors.size() : 0;
}

int polyattn_kernel_tensor(const polyattn_kernel *kernel, size_t index,
                           polyattn_tensor_info *info) {
  if (!info || index >= polyattn_kernel_num_tensors(kernel))
    return 1;
  capi::describe(kernel->description().tensors[index], *info);
  return 0;
}

/// The tensor at an index; null where there is none.
static const TensorDescription *tensorAt(const polyattn_kernel *kernel, size_t index) {
  if (index >= polyattn_kernel_num_tensors(kernel))
    return nullptr;
  return &kernel->description().tensors[index];
}

const char *polyattn_kernel_tensor_role(const polyattn_kernel *kernel, size_t index) {
  const TensorDescription *tensor = tensorAt(kernel, index);
  return tensor ? nameOf(tensor->role).data() : "";
}

const char *polyattn_kernel_tensor_origin(const polyattn_kernel *kernel, size_t index) {
  const TensorDescription *tensor = tensorAt(kernel, index);
  if (!tensor)
    return "";
  if (!tensor->gradientOf.empty())
    return tensor->gradientOf.c_str();
  return (tensor->argument ? tensorAt(kernel, *tensor->argument)->name : tensor->savedFrom).c_str();
}

int64_t polyattn_kernel_tensor_place(const polyattn_kernel *kernel, size_t index) {
  const TensorDescription *tensor = tensorAt(kernel, index);
  return tensor && tensor->argument ? int64_t(*tensor->argument) : -1;
}

int64_t polyattn_kernel_limit(const polyattn_kernel *kernel, int64_t size, size_t *argument) {
  if (!kernel)
    return -1;
  for (const LimitDescription &limit : kernel->description().limits)
    if (limit.size == size) {
      if (argument)
        *argument = limit.tensor;
      return limit.most;
    }
  return -1;
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
  return statusOf(error, [&]() -> llvm::Error {
    if (!kernel || !options || (!tensors && num_tensors != 0))
      return llvm::createStringError(!kernel    ? "kernel is null"
                                     : !options ? "options is null"
                                                : "tensors is null");
    if (!kernel->code)
      return llvm::createStringError(kernel->description().entry +
                                     ": is on a GPU; call polyattn_kernel_launch");
    return kernel->code->run(llvm::ArrayRef(tensors, num_tensors), *options);
  });
}

int polyattn_state_combine(const polyattn_tensor *before, const polyattn_tensor *decay,
                           const polyattn_tensor *after, const polyattn_tensor *result,
                           polyattn_error **error) {
  return statusOf(error, [&] { return combineStates(before, decay, after, result); });
}

void polyattn_set_parallel_for(polyattn_parallel_for parallel_for, void *user) {
  polyattn_rt_set_parallel_for(parallel_for, user);
}
