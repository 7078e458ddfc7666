//===- Reference.cpp - the oracle for programs in C -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include "mlir/IR/Diagnostics.h"
#include "polyattn/Entry/Signature.h"
#include "polyattn/Reference/Evaluate.h"
#include "polyattn/Tasks/Task.h"
#include <mutex>

using namespace polyattn;
using capi::guarded;
using capi::report;

struct polyattn_reference {
  LoweredModule module;
  AttentionOp attention;
  Signature signature;
  /// Arguments, then results.
  std::vector<TensorDescription> tensors;
  /// A context is one thread's at a time.
  mutable std::timed_mutex mutex;
};

static llvm::Expected<std::unique_ptr<polyattn_reference>>
createReference(llvm::StringRef text, llvm::StringRef name, const CompileOptions &options) {
  llvm::Expected<LoweredModule> module = parseSpec(text, name, options);
  if (!module)
    return module.takeError();
  if (module->kernels.size() != 1)
    return expectedOneEntry(name, module->kernels);
  auto reference = std::make_unique<polyattn_reference>();
  reference->module = std::move(*module);
  reference->attention = *reference->module.module->getOps<AttentionOp>().begin();
  llvm::Expected<Signature> signature = signatureOf(reference->attention);
  if (!signature)
    return signature.takeError();
  reference->signature = std::move(*signature);
  reference->tensors = reference->module.kernels.front().tensors;
  return reference;
}

polyattn_reference *polyattn_reference_create(const char *text, size_t length, const char *name,
                                              const polyattn_compile_options *options,
                                              polyattn_error **error) {
  return guarded(error, [&]() -> polyattn_reference * {
    auto fail = [&](llvm::Error failure) {
      report(error, std::move(failure));
      return nullptr;
    };
    llvm::Expected<JITOptions> read = capi::readOptions(options);
    if (!read)
      return fail(read.takeError());
    if (!text)
      return fail(llvm::createStringError("text is null"));
    llvm::Expected<CompileOptions> compileOptions = compileOptionsOf(*read);
    if (!compileOptions)
      return fail(compileOptions.takeError());
    // Gradients are asked of kernels.
    if (isAboutGradients(compileOptions->direction.direction))
      compileOptions->direction = {};
    auto created = makeOrAbandon<std::unique_ptr<polyattn_reference>>(
        [spec = std::string(text, length), name = std::string(name ? name : "spec"),
         options = std::move(*compileOptions)] { return createReference(spec, name, options); },
        read->cancelled);
    return created ? created->release() : fail(created.takeError());
  });
}

void polyattn_reference_destroy(polyattn_reference *reference) { delete reference; }

const char *polyattn_reference_entry(const polyattn_reference *reference) {
  return reference ? reference->signature.name.c_str() : "";
}

size_t polyattn_reference_num_tensors(const polyattn_reference *reference) {
  return reference ? reference->tensors.size() : 0;
}

int polyattn_reference_tensor(const polyattn_reference *reference, size_t index,
                              polyattn_tensor_info *info) {
  if (!info || index >= polyattn_reference_num_tensors(reference))
    return 1;
  capi::describe(reference->tensors[index], *info);
  if (info->is_result)
    info->dtype = POLYATTN_F64;
  return 0;
}

const char *polyattn_reference_tensor_role(const polyattn_reference *reference, size_t index) {
  if (index >= polyattn_reference_num_tensors(reference))
    return "";
  return nameOf(reference->tensors[index].role).data();
}

int64_t polyattn_reference_limit(const polyattn_reference *reference, int64_t size,
                                 size_t *argument) {
  if (!reference || size >= 0 || size < -POLYATTN_NAMED_SIZES)
    return -1;
  const std::optional<SizeLimit> &limit = reference->signature.limits[indexOf(SizeName(size))];
  if (limit && argument)
    *argument = limit->argument;
  return limit ? limit->most : -1;
}

static std::string nameOfElement(int32_t dtype) {
  const char *name = polyattn_dtype_name(dtype);
  return name ? name : "one of no known name, " + std::to_string(dtype);
}

/// Calls `visit(linear, address)` for every element in row-major order, unless the call has been
/// cancelled.
static void forEach(const polyattn_tensor &tensor,
                    llvm::function_ref<void(int64_t linear, char *address)> visit) {
  int64_t count = 1, bytes = polyattn_dtype_bytes(tensor.dtype);
  for (int i = 0; i < tensor.rank; ++i)
    count *= tensor.sizes[i];
  for (int64_t linear = 0; linear < count; ++linear) {
    if (linear % (1 << 16) == 0 && isCancelled())
      return;
    int64_t offset = 0, rest = linear;
    for (int i = tensor.rank; i-- > 0; rest /= tensor.sizes[i])
      offset += rest % tensor.sizes[i] * tensor.strides[i];
    visit(linear, static_cast<char *>(tensor.data) + offset * bytes);
  }
}

static double loadNumber(int32_t dtype, const void *address) {
  if (std::optional<ElementType> type = elementTypeOf(dtype))
    return loadElement(*type, address);
  double value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

static bool isWhole(int32_t dtype) { return dtype == POLYATTN_I32 || dtype == POLYATTN_I64; }

/// Everything about one tensor but how its shape fits to the others'.
static llvm::Error checkTensor(const std::string &who, const TensorDescription &rule,
                               const polyattn_tensor &tensor) {
  int32_t expected = static_cast<int32_t>(rule.dtype);
  bool known = tensor.dtype == POLYATTN_F64 || elementTypeOf(tensor.dtype);
  bool fits = known && isWhole(expected) == isWhole(tensor.dtype);
  if (rule.isResult)
    fits = tensor.dtype == POLYATTN_F64;
  if (!fits)
    return llvm::createStringError(who + ": expected element type " +
                                   (rule.isResult       ? "f64"
                                    : isWhole(expected) ? "i32 or i64"
                                                        : "f32, f16, bf16 or f64") +
                                   ", got " + nameOfElement(tensor.dtype));
  if (tensor.rank != int64_t(rule.sizes.size()))
    return llvm::createStringError(who + ": expected " + std::to_string(rule.sizes.size()) +
                                   " dimensions, got " + std::to_string(tensor.rank));
  int64_t count = 1;
  for (int i = 0; i < tensor.rank; ++i)
    if (tensor.sizes[i] < 0 || llvm::MulOverflow(count, tensor.sizes[i], count))
      return llvm::createStringError(who +
                                     ": expected sizes that are not negative and whose "
                                     "product is a number of elements, got " +
                                     formatSizes({tensor.sizes, size_t(tensor.rank)}));
  if (!tensor.data && count != 0)
    return llvm::createStringError(who + ": the data pointer is null");
  return llvm::Error::success();
}

static llvm::SmallVector<int64_t, 4> shapeOf(const polyattn_tensor &tensor) {
  return {tensor.sizes, tensor.sizes + tensor.rank};
}

/// Sizes of the call from the arguments; every tensor's shape is checked then.
static llvm::Expected<CallSizes> checkCall(const polyattn_reference &reference,
                                           llvm::ArrayRef<polyattn_tensor> tensors) {
  const Signature &signature = reference.signature;
  std::string entry = signature.name + ": ";
  if (tensors.size() != reference.tensors.size())
    return llvm::createStringError(entry + "expected " + std::to_string(reference.tensors.size()) +
                                   " tensors, got " + std::to_string(tensors.size()));
  auto nameOf = [&](size_t i) {
    const TensorDescription &rule = reference.tensors[i];
    return entry + (rule.isResult ? "result '" : "argument '") + rule.name + "'";
  };
  for (size_t i = 0; i < tensors.size(); ++i)
    if (llvm::Error error = checkTensor(nameOf(i), reference.tensors[i], tensors[i]))
      return std::move(error);
  std::vector<llvm::SmallVector<int64_t, 4>> shapes;
  for (const polyattn_tensor &tensor : tensors.take_front(signature.arguments.size()))
    shapes.push_back(shapeOf(tensor));
  CallSizes sizes;
  if (llvm::Error error = bindShapes(signature, shapes, sizes))
    return llvm::createStringError(entry + llvm::toString(std::move(error)));
  for (auto [i, result] : llvm::enumerate(signature.results)) {
    size_t index = signature.arguments.size() + i;
    auto expected = polyattn::shapeOf(result, sizes);
    if (expected != shapeOf(tensors[index]))
      return llvm::createStringError(nameOf(index) + ": expected shape " + formatSizes(expected) +
                                     ", got " + formatSizes(shapeOf(tensors[index])));
  }
  HostTensor numbers;
  auto numbersOf = [&](unsigned argument) {
    const polyattn_tensor &tensor = tensors[argument];
    numbers.type = tensor.dtype == POLYATTN_I32 ? ElementType::I32 : ElementType::I64;
    numbers.sizes = shapeOf(tensor);
    numbers.strides.assign(tensor.strides, tensor.strides + tensor.rank);
    numbers.data = tensor.data;
    return &numbers;
  };
  if (llvm::Error error = checkNumbers(signature, sizes, numbersOf))
    return llvm::createStringError(entry + llvm::toString(std::move(error)));
  return sizes;
}

/// Where the oracle cannot read a spec it says so with a diagnostic.
static llvm::Expected<std::vector<Array>> evaluateLocated(const polyattn_reference &reference,
                                                          llvm::ArrayRef<Array> arguments,
                                                          const CallSizes &sizes) {
  std::string words;
  mlir::ScopedDiagnosticHandler handler(reference.module.context.get(),
                                        [&](mlir::Diagnostic &diagnostic) {
                                          if (words.empty())
                                            words = diagnostic.str();
                                          return mlir::success();
                                        });
  auto results = evaluate(reference.attention, arguments, sizes, Reading::Scores);
  if (isCancelled())
    return llvm::make_error<CancelledError>();
  if (mlir::succeeded(results))
    return std::move(*results);
  return llvm::createStringError(
      reference.signature.name + ": " +
      (words.empty() ? "the reference cannot evaluate this spec" : words));
}

static llvm::Error runReference(const polyattn_reference &reference,
                                llvm::ArrayRef<polyattn_tensor> tensors) {
  llvm::Expected<CallSizes> sizes = checkCall(reference, tensors);
  if (!sizes)
    return sizes.takeError();
  size_t numArguments = reference.signature.arguments.size();
  std::vector<Array> arguments;
  for (const polyattn_tensor &tensor : tensors.take_front(numArguments)) {
    Array &array = arguments.emplace_back(shapeOf(tensor));
    forEach(tensor, [&](int64_t linear, char *address) {
      array.data[linear] = loadNumber(tensor.dtype, address);
    });
  }
  llvm::Expected<std::vector<Array>> results = evaluateLocated(reference, arguments, *sizes);
  if (!results)
    return results.takeError();
  for (auto [array, tensor] : llvm::zip(*results, tensors.drop_front(numArguments)))
    forEach(tensor, [&, &array = array](int64_t linear, char *address) {
      std::memcpy(address, &array.data[linear], sizeof(double));
    });
  return llvm::Error::success();
}

/// Waits until the oracle is free. Returns false where the caller has cancelled the call.
static bool lockUntilCancelled(std::unique_lock<std::timed_mutex> &lock,
                               const CancelledByCaller &cancelled) {
  if (!cancelled) {
    lock.lock();
    return true;
  }
  while (!lock.try_lock_for(std::chrono::milliseconds(50)))
    if (cancelled())
      return false;
  return true;
}

static llvm::Error runUntilCancelled(const polyattn_reference &reference,
                                     llvm::ArrayRef<polyattn_tensor> tensors,
                                     const CancelledByCaller &cancelled) {
  std::unique_lock<std::timed_mutex> lock(reference.mutex, std::defer_lock);
  if (!lockUntilCancelled(lock, cancelled))
    return llvm::make_error<CancelledError>();
  llvm::Error failure = llvm::Error::success();
  bool wanted = untilCancelled(
      [&] {
        if (!failure)
          failure = runReference(reference, tensors);
      },
      cancelled);
  if (wanted)
    return failure;
  llvm::consumeError(std::move(failure));
  return llvm::make_error<CancelledError>();
}

int polyattn_reference_run(const polyattn_reference *reference, const polyattn_tensor *tensors,
                           size_t num_tensors, polyattn_error **error) {
  polyattn_call_options options = POLYATTN_CALL_OPTIONS_INIT;
  return polyattn_reference_run_with(reference, tensors, num_tensors, &options, error);
}

int polyattn_reference_run_with(const polyattn_reference *reference, const polyattn_tensor *tensors,
                                size_t num_tensors, const polyattn_call_options *options,
                                polyattn_error **error) {
  return capi::statusOf(error, [&]() -> llvm::Error {
    if (!reference || !options || (!tensors && num_tensors != 0))
      return llvm::createStringError(!reference ? "reference is null"
                                     : !options ? "options is null"
                                                : "tensors is null");
    char message[256];
    polyattn_rt_team team;
    if (polyattn_rt_read_options(options, &team, message, sizeof message) != 0)
      return llvm::createStringError(llvm::Twine(message));
    CancelledByCaller cancelled;
    if (polyattn_rt_can_be_cancelled(options))
      cancelled = capi::cancelledBy(options->is_cancelled, options->cancelled_user);
    return runUntilCancelled(*reference, {tensors, num_tensors}, cancelled);
  });
}
