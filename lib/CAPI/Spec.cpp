//===- Spec.cpp - what a spec becomes, for programs in C ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "polyattn/Compiler/CompileGPU.h"
#include "polyattn/Driver/CompileMain.h"
#include "polyattn/Driver/Explain.h"
#include "polyattn/Target/NVPTX.h"
#include "polyattn/Tasks/Task.h"

using namespace polyattn;
using capi::guarded;
using capi::report;
using capi::statusOf;

struct polyattn_string {
  std::string text;
};

const char *polyattn_string_data(const polyattn_string *string) {
  return string ? string->text.c_str() : "";
}

size_t polyattn_string_length(const polyattn_string *string) {
  return string ? string->text.size() : 0;
}

void polyattn_string_destroy(polyattn_string *string) { delete string; }

namespace {
/// A caller's spec, in memory of its own: the work on it may outlive the call.
struct Source {
  std::string text, name;
  CompileOptions options;
  /// What it is compiled for, where that is no processor.
  std::optional<GPUDescription> gpu;
  CancelledByCaller cancelled;
};
} // namespace

/// The GPU that a target names, "sm_90" or one of this machine; none where it is a processor.
static llvm::Expected<std::optional<GPUDescription>> gpuOf(const JITOptions &options) {
  if (capi::isForGPU(options)) {
    auto device = capi::openGPU(options);
    if (!device)
      return device.takeError();
    return (*device)->getDescription();
  }
  if (!isGPUName(options.target))
    return std::nullopt;
  llvm::Expected<GPUDescription> gpu = findGPU(options.target);
  if (!gpu)
    return gpu.takeError();
  return *gpu;
}

static llvm::Expected<Source> readSource(const char *text, size_t length, const char *name,
                                         const polyattn_compile_options *given) {
  llvm::Expected<JITOptions> read = capi::readOptions(given);
  if (!read)
    return read.takeError();
  if (!text)
    return llvm::createStringError("text is null");
  llvm::Expected<std::optional<GPUDescription>> gpu = gpuOf(*read);
  if (!gpu)
    return gpu.takeError();
  llvm::Expected<CompileOptions> options =
      *gpu ? CompileOptions{specOptionsOf(*read), {}, {}} : compileOptionsOf(*read);
  if (!options)
    return options.takeError();
  options->direction.pair = true;
  return Source{{text, length},
                name ? name : "spec",
                std::move(*options),
                std::move(*gpu),
                std::move(read->cancelled)};
}

/// Parses a spec and lowers it to a level, or not at all.
static llvm::Expected<LoweredModule> lowerSource(const Source &source,
                                                 std::optional<CPUPipelinePhase> level) {
  llvm::Expected<LoweredModule> module = parseSpec(source.text, source.name, source.options);
  if (module && level)
    if (llvm::Error error = lower(*module, source.options, *level))
      return std::move(error);
  return module;
}

static llvm::Expected<std::string> explainForGPU(const Source &source) {
  llvm::Expected<LoweredModule> module = parseForGPU(source.text, source.name, source.options);
  if (!module)
    return module.takeError();
  if (llvm::Error error = lowerForGPU(*module, *source.gpu, GPUPipelinePhase::Warp))
    return std::move(error);
  llvm::Expected<LoweredModule> spec = parseForGPU(source.text, source.name, source.options);
  if (!spec)
    return spec.takeError();
  std::string words;
  llvm::raw_string_ostream stream(words);
  if (llvm::Error error = explainForGPU(stream, *module, *spec, *source.gpu))
    return std::move(error);
  return words;
}

static llvm::Expected<std::string> explainSource(const Source &source) {
  if (source.gpu)
    return explainForGPU(source);
  llvm::Expected<LoweredModule> module = lowerSource(source, CPUPipelinePhase::LLVMDialect);
  if (!module)
    return module.takeError();
  if (llvm::Error error = completeDescriptions(*module, source.options))
    return std::move(error);
  std::string words;
  llvm::raw_string_ostream stream(words);
  if (llvm::Error error = explain(stream, *module, source.text, source.name, source.options))
    return std::move(error);
  return words;
}

template <typename Phase> using Level = std::pair<llvm::StringRef, std::optional<Phase>>;

/// A level by its name.
template <typename Phase>
static llvm::Expected<std::optional<Phase>> parseLevel(llvm::StringRef name,
                                                       llvm::ArrayRef<Level<Phase>> levels) {
  std::string names;
  for (const auto &[known, level] : levels) {
    if (known == name)
      return level;
    names += (names.empty() ? "" : ", ") + known.str();
  }
  return llvm::createStringError("level: expected one of " + names + ", got '" + name + "'");
}

static std::string printModule(LoweredModule &module) {
  std::string text;
  llvm::raw_string_ostream(text) << *module.module << '\n';
  return text;
}

static llvm::Expected<std::string> printForGPU(const Source &source, llvm::StringRef name) {
  static constexpr llvm::StringRef kPTX = "ptx";
  static const Level<GPUPipelinePhase> kLevels[] = {{"spec", std::nullopt},
                                                    {"schedule", GPUPipelinePhase::Schedule},
                                                    {"tile", GPUPipelinePhase::Tile},
                                                    {"warp", GPUPipelinePhase::Warp},
                                                    {kPTX, GPUPipelinePhase::Warp}};
  auto level = parseLevel<GPUPipelinePhase>(name, kLevels);
  if (!level)
    return level.takeError();
  llvm::Expected<LoweredModule> module = parseForGPU(source.text, source.name, source.options);
  if (!module)
    return module.takeError();
  if (*level)
    if (llvm::Error error = lowerForGPU(*module, *source.gpu, **level))
      return std::move(error);
  return name == kPTX ? emitKernelPTX(*module, /*kernel=*/"", *source.gpu) : printModule(*module);
}

static llvm::Expected<std::string> printSource(const Source &source, llvm::StringRef name) {
  if (source.gpu)
    return printForGPU(source, name);
  static const Level<CPUPipelinePhase> kLevels[] = {{"spec", std::nullopt},
                                                    {"schedule", CPUPipelinePhase::Schedule},
                                                    {"tile", CPUPipelinePhase::Tile},
                                                    {"vector", CPUPipelinePhase::Vector},
                                                    {"llvm", CPUPipelinePhase::LLVMDialect}};
  auto level = parseLevel<CPUPipelinePhase>(name, kLevels);
  if (!level)
    return level.takeError();
  llvm::Expected<LoweredModule> module = lowerSource(source, *level);
  if (!module)
    return module.takeError();
  return printModule(*module);
}

/// Writes a library's files. Returns true, or an error.
static llvm::Expected<bool> saveSource(const Source &source, llvm::StringRef directory,
                                       llvm::StringRef name) {
  if (name.empty() || name.contains('/'))
    return llvm::createStringError("library: expected a name without folders, got '" + name + "'");
  if (source.gpu)
    return llvm::createStringError("target: a library has a processor's code; polyattn-compile "
                                   "writes that for a GPU");
  llvm::Expected<LoweredModule> module = lowerSource(source, CPUPipelinePhase::LLVMDialect);
  if (!module)
    return module.takeError();
  if (llvm::Error error = emitSharedLibrary(*module, source.options, directory, name))
    return std::move(error);
  return true;
}

/// Text from `make`, which runs where a spec's nesting has room.
static polyattn_string *
makeString(polyattn_error **error, llvm::Expected<Source> source,
           std::function<llvm::Expected<std::string>(const Source &)> make) {
  if (!source) {
    report(error, source.takeError());
    return nullptr;
  }
  CancelledByCaller cancelled = source->cancelled;
  llvm::Expected<std::string> text = makeOrAbandon<std::string>(
      [source = std::move(*source), make = std::move(make)] { return make(source); }, cancelled);
  if (text)
    return new polyattn_string{std::move(*text)};
  report(error, text.takeError());
  return nullptr;
}

polyattn_string *polyattn_explain(const char *text, size_t length, const char *name,
                                  const polyattn_compile_options *options, polyattn_error **error) {
  return guarded(error, [&] {
    return makeString(error, readSource(text, length, name, options), explainSource);
  });
}

polyattn_string *polyattn_ir(const char *text, size_t length, const char *name, const char *level,
                             const polyattn_compile_options *options, polyattn_error **error) {
  return guarded(error, [&] {
    return makeString(error, readSource(text, length, name, options),
                      [level = std::string(level ? level : "")](const Source &source) {
                        return printSource(source, level);
                      });
  });
}

int polyattn_save(const char *text, size_t length, const char *name, const char *directory,
                  const char *library, const polyattn_compile_options *options,
                  polyattn_error **error) {
  return statusOf(error, [&]() -> llvm::Error {
    llvm::Expected<Source> source = readSource(text, length, name, options);
    if (!source)
      return source.takeError();
    if (!directory || !library)
      return llvm::createStringError(!directory ? "directory is null" : "library is null");
    CancelledByCaller cancelled = source->cancelled;
    llvm::Expected<bool> saved = makeOrAbandon<bool>(
        [source = std::move(*source), directory = std::string(directory),
         library = std::string(library)] { return saveSource(source, directory, library); },
        cancelled);
    return saved ? llvm::Error::success() : saved.takeError();
  });
}
