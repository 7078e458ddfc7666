//===- Header.cpp - the C99 header of a shared library --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Embedded.h"
#include "EntryPoints.h"
#include "polyattn/Compiler/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace polyattn;

/// Whether polyattn_NAME is something else in the headers that a program may include beside, or is
/// of one of their families, which grow.
static bool isTaken(llvm::StringRef name) {
  static constexpr llvm::StringLiteral kFamilies[] = {
      "api",     "call", "compile", "cuda",     "dense",     "dtype", "error",
      "explain", "ir",   "kernel",  "parallel", "reference", "rt",    "save",
      "set",     "size", "state",   "string",   "task",      "tensor"};
  return llvm::is_contained(kFamilies, name.take_until([](char c) { return c == '_'; }));
}

/// A library's file may have a name that C does not allow.
static std::string nameOfLibrary(llvm::StringRef stem, llvm::StringRef suffix) {
  std::string name = "polyattn_" + stem.str() + suffix.str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return name;
}

std::string polyattn::setterName(llvm::StringRef stem) {
  return nameOfLibrary(stem, "_set_parallel_for");
}

std::string polyattn::versionName(llvm::StringRef stem) { return nameOfLibrary(stem, "_version"); }

std::string polyattn::functionName(const KernelDescription &kernel) {
  llvm::StringRef definition = kernel.entry;
  if (kernel.direction == CallDirection::Forward ||
      !definition.consume_back(suffixOf(kernel.direction)))
    return "polyattn_" + kernel.entry;
  return ("polyattn_" + definition + suffixOf(kernel.direction).drop_front()).str();
}

std::string polyattn::optionsFunctionName(const KernelDescription &kernel) {
  return functionName(kernel) + "_with";
}

llvm::Error polyattn::checkCNames(llvm::StringRef stem, llvm::ArrayRef<KernelDescription> kernels) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  llvm::StringSet<> names;
  names.insert(setterName(stem));
  names.insert(versionName(stem));
  for (const KernelDescription &kernel : kernels) {
    if (kernel.entry.empty() || !llvm::all_of(kernel.entry, isPart))
      return llvm::createStringError("@" + kernel.entry +
                                     ": expected an entry whose name can be part of a C name");
    if (isTaken(kernel.entry))
      return llvm::createStringError("@" + kernel.entry + ": its C function would be polyattn_" +
                                     kernel.entry + ", which is polyattn's own");
    for (const std::string &name : {functionName(kernel), optionsFunctionName(kernel)})
      if (!names.insert(name).second)
        return llvm::createStringError("@" + kernel.entry +
                                       ": the library would have two functions " + name);
  }
  return llvm::Error::success();
}

/// Parameter names: the spec's, behind an end that no keyword and no macro has.
static llvm::SmallVector<std::string> parameterNames(const KernelDescription &kernel) {
  llvm::SmallVector<std::string> names;
  for (const TensorDescription &tensor : kernel.tensors)
    names.push_back(tensor.name + "_view");
  return names;
}

static void declare(llvm::raw_ostream &stream, const KernelDescription &kernel) {
  llvm::SmallVector<std::string> names = parameterNames(kernel);
  stream << "\n/* @" << kernel.entry << ", for " << kernel.target << ":\n";
  for (const TensorDescription &tensor : kernel.tensors) {
    stream << " *   " << tensor.name << (tensor.isResult ? " (result)" : "") << ": "
           << nameOf(tensor.dtype) << " [";
    llvm::interleaveComma(tensor.sizes, stream,
                          [&](int64_t size) { stream << sizeToString(size); });
    stream << "]\n";
  }
  if (kernel.firstPosition) {
    stream << " * " << kernel.tensors[kernel.firstPosition->tensor].name
           << " has the position of each batch's first row in its sequence: at least 0";
    if (kernel.firstPosition->unit > 1)
      stream << ", a multiple of " << kernel.firstPosition->unit;
    stream << ".\n";
  }
  for (const LimitDescription &limit : kernel.limits)
    stream << " * " << sizeToString(limit.size) << " is at most " << limit.most
           << ", the positions that " << kernel.tensors[limit.tensor].name
           << " has the distances of" << (kernel.offsets ? ", in each sequence.\n" : ".\n");
  for (const TensorDescription &tensor : kernel.tensors)
    if (tensor.argument)
      stream << " * " << tensor.name << " lives in " << kernel.tensors[*tensor.argument].name
             << ": pass the same memory for both.\n";
  if (kernel.slots)
    stream
        << " * " << kernel.tensors[*kernel.slots].name
        << " has the row of each batch in the pools of states, each another one; below 0 a batch\n"
           " * has none, and its results are zero.\n";
  if (kernel.lengths)
    stream << " * " << kernel.tensors[*kernel.lengths].name
           << " has how many positions of each batch count; the results of the others are zero.\n";
  if (kernel.offsets)
    stream << " * " << kernel.tensors[*kernel.offsets].name
           << " has where packed sequences begin, ascending from 0, and as the last one T.\n";
  stream << " */\n";
  auto function = [&](llvm::StringRef called, llvm::StringRef how) {
    stream << "int " << called << "(";
    for (const std::string &name : names)
      stream << "const polyattn_tensor *" << name << ", ";
    stream << how << ", char *error, size_t error_size);\n";
  };
  function(functionName(kernel), "int threads");
  function(optionsFunctionName(kernel), "const polyattn_call_options *options");
}

std::string polyattn::writeHeader(llvm::StringRef stem, llvm::ArrayRef<KernelDescription> kernels) {
  std::string guard = "POLYATTN_KERNELS_" + stem.upper() + "_H";
  for (char &c : guard)
    if (!llvm::isAlnum(c))
      c = '_';
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "/* Attention kernels, written by " << version()
         << ". C99 and C++.\n"
            " *\n"
            " * Each function checks its tensors, computes the results on `threads` threads, the\n"
            " * caller's included, and returns 0. Any number of threads may call at once. A wrong\n"
            " * call returns 1, writes one line to `error` (which may be null) that names the\n"
            " * argument, what was expected and what came, and computes nothing. A name that ends\n"
            " * in _with is the same function with options; it returns 2 where the caller has\n"
            " * cancelled the call (is_cancelled). Sizes:\n"
            " * B batch size, T sequence length, Tk that of the keys, H heads, Hkv key heads, L "
            "rows of\n"
            " * tables of positions, P slots of a pool of states. */\n"
         << "#ifndef " << guard << "\n#define " << guard << "\n\n"
         << embeddedHeaders() << "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
  stream << "\n/* Which compiler wrote the library, and for which version of this interface. */\n"
            "const char *"
         << versionName(stem) << "(void);\n";
  stream << "\n/* The application's threads for all calls of this library that give none of their "
            "own;\n"
            " * null: threads of the library's. */\nvoid "
         << setterName(stem) << "(polyattn_parallel_for parallel_for, void *user);\n";
  for (const KernelDescription &kernel : kernels)
    declare(stream, kernel);
  stream << "\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* " << guard << " */\n";
  return text;
}
