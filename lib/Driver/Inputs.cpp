//===- Inputs.cpp - the arguments of a run --------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "polyattn/Numpy/Npy.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Parallel.h"
#include <unistd.h>

using namespace llvm;
using namespace polyattn;
using namespace polyattn::driver;

/// What a list of names offers, for an error: `q, k, v`.
static std::string namesOf(const std::vector<TensorSignature> &tensors) {
  std::string text;
  for (const TensorSignature &tensor : tensors)
    text += (text.empty() ? "" : ", ") + tensor.name;
  return text;
}

static Error checkNames(const Signature &signature, const RunOptions &options) {
  for (const NamedFile &file : options.inputs)
    if (!signature.findArgument(file.name))
      return createStringError("argument '" + file.name + "': expected one of " +
                               namesOf(signature.arguments));
  for (auto [i, file] : enumerate(options.outputs)) {
    if (!signature.findResult(file.name))
      return createStringError("result '" + file.name + "': expected one of " +
                               namesOf(signature.results));
    for (const NamedFile &other : ArrayRef(options.outputs).take_front(i))
      if (other.path == file.path && file.path != "/dev/null")
        return createStringError("results '" + other.name + "' and '" + file.name +
                                 "' go to one file, '" + file.path + "'");
  }
  return Error::success();
}

/// Bytes that this process may use: the machine's memory, or less in a container.
static double availableMemory() {
  double physical = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGE_SIZE));
  auto limit = MemoryBuffer::getFileAsStream("/sys/fs/cgroup/memory.max");
  double bytes;
  if (limit && !(*limit)->getBuffer().trim().getAsDouble(bytes))
    return std::min(physical, bytes);
  return physical;
}

/// Refuses what this machine cannot hold before anything is allocated.
static Error checkMemory(const Signature &signature, const CallSizes &sizes,
                         const RunOptions &options) {
  double bytes = 0;
  // The oracle holds everything in f64.
  bool oracle =
      options.check != CheckAgainst::Nothing || StringRef(options.target).starts_with("reference");
  for (const auto *list : {&signature.arguments, &signature.results})
    for (const TensorSignature &tensor : *list) {
      double count = 1;
      // An empty tensor counts as if it were not: a huge batch of nothing is a mistake, too.
      for (int64_t size : shapeOf(tensor, sizes))
        count *= double(std::max<int64_t>(size, 1));
      bytes += count * double(bytesOf(tensor.type) + (oracle ? 8 : 0));
    }
  double available = availableMemory();
  if (bytes <= available)
    return Error::success();
  std::string text;
  raw_string_ostream stream(text);
  stream << format("arguments and results need %.3g GiB, this machine has %.3g GiB", bytes / 0x1p30,
                   available / 0x1p30);
  return createStringError(text);
}

/// Tables that no file gives have the rows that the call reads, where it begins given or at random.
static int64_t rowsOfTables(const Signature &signature, const CallSizes &sizes,
                            const std::optional<HostTensor> &first) {
  int64_t last = signature.firstPosition ? lastRandomPosition(signature) : 0, rows;
  if (first) {
    last = 0;
    first->forEach(
        [&](int64_t, void *address) { last = std::max(last, loadInteger(first->type, address)); });
  }
  return __builtin_add_overflow(last, std::max(sizes.queries, sizes.keys), &rows)
             ? std::numeric_limits<int64_t>::max()
             : rows;
}

/// What a forward call gives is computed by one. A segment's gradients do not have all that such a
/// call takes.
static bool isComputed(const TensorSignature &argument, const RunOptions &options) {
  return argument.role == Role::Saved && options.direction == CallDirection::Backward;
}

Expected<Inputs> driver::gatherInputs(const Signature &signature, const RunOptions &options) {
  if (Error error = checkNames(signature, options))
    return std::move(error);
  Layout layout = options.padded ? Layout::Padded : Layout::Contiguous;
  size_t count = signature.arguments.size();
  std::vector<std::optional<HostTensor>> given(count);
  SizeBinder binder(signature);
  for (auto [i, argument] : enumerate(signature.arguments)) {
    auto file = find_if(options.inputs, [&, &argument = argument](const NamedFile &f) {
      return f.name == argument.name;
    });
    if (file == options.inputs.end()) {
      if (!options.random && !isComputed(argument, options))
        return createStringError("argument '" + argument.name + "': expected --input " +
                                 argument.name + "=FILE.npy or --random, got neither");
      continue;
    }
    NpyRounding rounding;
    Expected<HostTensor> tensor = readNpy(file->path, argument.type, layout, &rounding);
    if (!tensor)
      return createStringError("argument '" + argument.name + "': " + toString(tensor.takeError()));
    if (rounding.numbers > 0)
      errs() << "polyattn-run: note: argument '" << argument.name << "': " << rounding.numbers
             << " of " << tensor->count() << " numbers of type '" << rounding.descr
             << "' are rounded to " << nameOf(argument.type) << "\n";
    if (Error error = binder.bind(argument, tensor->sizes))
      return std::move(error);
    given[i] = std::move(*tensor);
  }
  for (const RandomSize &size : options.random.value_or(std::vector<RandomSize>()))
    if (Error error = binder.bind(size.symbol, size.size, "--random"))
      return std::move(error);
  SmallVector<SizeName> needed = {kBatch, kPositions, kHeads};
  if (signature.offsets)
    needed.push_back(kSequences);
  if (options.random)
    for (SizeName symbol : needed)
      if (!binder.isBound(symbol))
        return createStringError("--random: expected a size for " + sizeToString(symbol) +
                                 ", which no --input gives");

  Expected<CallSizes> sizes = binder.finish();
  if (!sizes)
    return sizes.takeError();
  const std::optional<HostTensor> none;
  if ((signature.firstPosition || signature.offsets) && !binder.isBound(kTableRows))
    sizes->rows = rowsOfTables(signature, *sizes,
                               signature.firstPosition ? given[*signature.firstPosition] : none);
  if (Error error = checkNumbers(signature, *sizes,
                                 [&](unsigned i) { return given[i] ? &*given[i] : nullptr; }))
    return std::move(error);
  if (Error error = checkMemory(signature, *sizes, options))
    return std::move(error);
  Inputs inputs;
  inputs.sizes = *sizes;
  SmallVector<size_t> random;
  for (auto [i, argument] : enumerate(signature.arguments)) {
    if (!given[i]) {
      auto made = allocateTensor(argument.type, shapeOf(argument, *sizes), layout);
      if (!made)
        return createStringError("argument '" + argument.name + "': " + toString(made.takeError()));
      given[i] = std::move(*made);
      if (!isComputed(argument, options))
        random.push_back(i);
    }
    inputs.arguments.push_back(std::move(*given[i]));
  }
  parallelFor(0, random.size(), [&](size_t i) {
    fillRandom(signature, signature.arguments[random[i]], *sizes, options.seed,
               inputs.arguments[random[i]]);
  });
  if (Error error =
          checkNumbers(signature, inputs.sizes, [&](unsigned i) { return &inputs.arguments[i]; }))
    return std::move(error);
  return inputs;
}
