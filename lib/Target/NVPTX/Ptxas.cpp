//===- Ptxas.cpp - from PTX to a GPU's machine code -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Target/NVPTX.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace polyattn;

llvm::Expected<std::string> polyattn::findPtxas(llvm::StringRef configured) {
  if (!configured.empty()) {
    if (auto path = llvm::sys::findProgramByName(configured))
      return *path;
    return llvm::createStringError("there is no ptxas at '" + configured + "'");
  }
  if (auto home = llvm::sys::Process::GetEnv("CUDA_HOME")) {
    std::string path = *home + "/bin/ptxas";
    if (llvm::sys::fs::can_execute(path))
      return path;
    return llvm::createStringError("CUDA_HOME: there is no '" + path + "'");
  }
  if (auto path = llvm::sys::findProgramByName("ptxas"))
    return *path;
  llvm::StringRef usual = "/usr/local/cuda/bin/ptxas";
  if (llvm::sys::fs::can_execute(usual))
    return usual.str();
  return llvm::createStringError("machine code of a GPU needs NVIDIA's ptxas, which is neither in "
                                 "PATH nor in /usr/local/cuda/bin; CUDA_HOME may say where CUDA "
                                 "is, and --emit ptx needs none of it");
}

/// The number before `unit` in a line, or 0: "Used 30 registers, used 1 barriers, 400 bytes smem".
static int64_t numberBefore(llvm::StringRef line, llvm::StringRef unit) {
  llvm::StringRef before = line.substr(0, line.find(unit)).rtrim();
  if (before.size() == line.rtrim().size())
    return 0;
  llvm::StringRef digits =
      before.take_back(before.size() - 1 - before.find_last_not_of("0123456789"));
  int64_t number = 0;
  return digits.getAsInteger(10, number) ? 0 : number;
}

static bool isWarning(llvm::StringRef line) {
  return line.contains("warning") || line.contains("(C7") || line.contains("Performance Loss");
}

Cubin polyattn::parsePtxasOutput(llvm::StringRef text) {
  Cubin result;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (isWarning(line)) {
      result.warnings.push_back(line.trim().str());
      continue;
    }
    llvm::StringRef name = line.split("Compiling entry function '").second.split('\'').first;
    if (!name.empty()) {
      result.kernels.emplace_back().function = name.str();
      continue;
    }
    if (result.kernels.empty())
      continue;
    KernelResources &kernel = result.kernels.back();
    if (line.contains("bytes stack frame")) {
      kernel.stackBytes = numberBefore(line, "bytes stack frame");
      kernel.spillStoreBytes = numberBefore(line, "bytes spill stores");
      kernel.spillLoadBytes = numberBefore(line, "bytes spill loads");
    } else if (line.contains("registers")) {
      kernel.registers = numberBefore(line, "registers");
      kernel.staticSharedBytes = numberBefore(line, "bytes smem");
    }
  }
  return result;
}

/// A file that is gone when this is.
static llvm::Expected<std::unique_ptr<llvm::FileRemover>>
createTemporary(llvm::StringRef suffix, llvm::StringRef content, llvm::SmallString<128> &path) {
  int file = -1;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("polyattn", suffix, file, path))
    return llvm::createStringError("a temporary file: " + code.message());
  auto remover = std::make_unique<llvm::FileRemover>(path);
  llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
  stream << content;
  stream.close();
  if (std::error_code code = stream.error()) {
    stream.clear_error();
    return llvm::createStringError(path + ": " + code.message());
  }
  return std::move(remover);
}

static llvm::Expected<std::string> readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

llvm::Expected<Cubin> polyattn::assemblePTX(llvm::StringRef ptx, const GPUDescription &gpu,
                                            llvm::StringRef ptxas) {
  llvm::SmallString<128> input, output, messages;
  std::unique_ptr<llvm::FileRemover> removers[3];
  if (llvm::Error error = createTemporary("ptx", ptx, input).moveInto(removers[0]))
    return std::move(error);
  if (llvm::Error error = createTemporary("cubin", "", output).moveInto(removers[1]))
    return std::move(error);
  if (llvm::Error error = createTemporary("log", "", messages).moveInto(removers[2]))
    return std::move(error);

  std::string problem, arch = "-arch=" + gpu.name;
  llvm::StringRef arguments[] = {ptxas, "-v", "-O3", arch, input, "-o", output};
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), messages.str(),
                                                messages.str()};
  int status = llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &problem);
  llvm::Expected<std::string> said = readFile(messages);
  if (!said)
    return said.takeError();
  if (status != 0) {
    llvm::StringRef first = llvm::StringRef(*said).trim().split('\n').first;
    return llvm::createStringError(llvm::formatv("{0} failed with status {1}: {2}", ptxas, status,
                                                 first.empty() ? llvm::StringRef(problem) : first));
  }
  Cubin result = parsePtxasOutput(*said);
  if (llvm::Error error = readFile(output).moveInto(result.bytes))
    return std::move(error);
  return std::move(result);
}
