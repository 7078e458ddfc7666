//===- FakeDriver.cpp - a CUDA driver without a GPU -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>

using namespace polyattn::test;

struct polyattn_cu_context_object {};

struct polyattn_cu_function_object {
  std::string name;
  size_t parameters = 0;
  int dynamicSharedBytes = 0;
};

struct polyattn_cu_module_object {
  std::string text;
  std::deque<polyattn_cu_function_object> functions = {}; // which stay where they are
};

struct polyattn_cu_event_object {};

// What is defined below and is of another type does not compile.
#define DECLARE(name, symbol, parameters) extern "C" polyattn_cu_result symbol parameters;
POLYATTN_CU_FUNCTIONS(DECLARE)
#undef DECLARE

namespace {

enum { kSuccess = 0, kInvalidValue = 1, kInvalidContext = 201, kInvalidPTX = 218, kNotFound = 500 };

polyattn_cu_context_object primary, framework;

FakeDriver &driver() { return FakeDriver::get(); }

int enterWithContext(const char *function) {
  if (int result = driver().enter(function))
    return result;
  return driver().contexts.empty() ? kInvalidContext : kSuccess;
}

/// Whether the bytes are memory of the device.
bool isMemory(uint64_t address, size_t bytes) {
  auto next = driver().memory.upper_bound(address);
  if (next == driver().memory.begin())
    return false;
  auto [first, size] = *std::prev(next);
  return address + bytes <= first + size;
}

} // namespace

FakeDriver &FakeDriver::get() {
  static FakeDriver instance;
  return instance;
}

polyattn_cu_context polyattn::test::frameworkContext() { return &framework; }

int FakeDriver::enter(const char *function) {
  int before = static_cast<int>(std::count(calls.begin(), calls.end(), function));
  calls.push_back(function);
  return failing == function && before == failingCall ? kFailure : kSuccess;
}

extern "C" {

int cuGetErrorString(int error, const char **text) {
  if (int result = driver().enter("cuGetErrorString"))
    return result;
  *text = error == FakeDriver::kFailure ? "the fake driver was told to fail"
          : error == kInvalidContext    ? "invalid device context"
          : error == kInvalidPTX        ? "a PTX JIT compilation failed"
          : error == kNotFound          ? "named symbol not found"
                                        : "invalid argument";
  return kSuccess;
}

int cuInit(unsigned) { return driver().enter("cuInit"); }

int cuDriverGetVersion(int *version) {
  *version = 12040;
  return driver().enter("cuDriverGetVersion");
}

int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  if (int result = driver().enter("cuDeviceGet"))
    return result;
  return ordinal < 2 ? kSuccess : 101;
}

int cuDeviceGetName(char *name, int size, int) {
  strncpy(name, "Fake GPU", size);
  return driver().enter("cuDeviceGetName");
}

int cuDeviceGetAttribute(int *value, int attribute, int) {
  const std::map<int, int> values = {{75, driver().major},
                                     {76, driver().minor},
                                     {16, driver().multiprocessors},
                                     {97, driver().sharedBytes}};
  if (int result = driver().enter("cuDeviceGetAttribute"))
    return result;
  auto found = values.find(attribute);
  if (found == values.end())
    return kInvalidValue;
  *value = found->second;
  return kSuccess;
}

int cuDevicePrimaryCtxRetain(polyattn_cu_context *context, int) {
  if (int result = driver().enter("cuDevicePrimaryCtxRetain"))
    return result;
  *context = &primary;
  ++driver().retained;
  return kSuccess;
}

int cuDevicePrimaryCtxRelease_v2(int) {
  --driver().retained;
  return driver().enter("cuDevicePrimaryCtxRelease");
}

int cuCtxGetCurrent(polyattn_cu_context *context) {
  *context = driver().contexts.empty() ? nullptr : driver().contexts.back();
  return driver().enter("cuCtxGetCurrent");
}

int cuCtxGetDevice(int *device) {
  *device = 0;
  return enterWithContext("cuCtxGetDevice");
}

int cuCtxPushCurrent_v2(polyattn_cu_context context) {
  if (int result = driver().enter("cuCtxPushCurrent"))
    return result;
  driver().contexts.push_back(context);
  return kSuccess;
}

int cuCtxPopCurrent_v2(polyattn_cu_context *context) {
  if (driver().contexts.empty())
    return kInvalidContext;
  *context = driver().contexts.back();
  driver().contexts.pop_back();
  return driver().enter("cuCtxPopCurrent");
}

int cuModuleLoadDataEx(polyattn_cu_module *module, const void *image, unsigned count, int *options,
                       void **values) {
  int result = enterWithContext("cuModuleLoadDataEx");
  std::string text = static_cast<const char *>(image);
  if (!result && text.find(".version") == std::string::npos)
    result = kInvalidPTX;
  for (unsigned i = 0; i < count; ++i)
    if (result && options[i] == 5)
      strcpy(static_cast<char *>(values[i]), "ptxas application ptx input, line 1; fatal");
  if (result)
    return result;
  ++driver().modules;
  *module = new polyattn_cu_module_object{text};
  return kSuccess;
}

int cuModuleUnload(polyattn_cu_module module) {
  delete module;
  --driver().modules;
  return enterWithContext("cuModuleUnload");
}

int cuModuleGetFunction(polyattn_cu_function *function, polyattn_cu_module module,
                        const char *name) {
  if (int result = enterWithContext("cuModuleGetFunction"))
    return result;
  size_t begin = module->text.find(".entry " + std::string(name) + "(");
  if (begin == std::string::npos)
    return kNotFound;
  std::string list = module->text.substr(begin, module->text.find(')', begin) - begin);
  polyattn_cu_function_object &found = module->functions.emplace_back();
  found.name = name;
  for (size_t at = 0; (at = list.find(".param", at)) != std::string::npos; ++at)
    ++found.parameters;
  *function = &found;
  return kSuccess;
}

int cuFuncSetAttribute(polyattn_cu_function function, int attribute, int value) {
  if (int result = enterWithContext("cuFuncSetAttribute"))
    return result;
  if (attribute != 8 || value > driver().sharedBytes)
    return kInvalidValue;
  function->dynamicSharedBytes = value;
  return kSuccess;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, polyattn_cu_function, int threads,
                                                size_t) {
  if (int result = enterWithContext("cuOccupancyMaxActiveBlocksPerMultiprocessor"))
    return result;
  *blocks = driver().residentCTAs;
  return threads < 1 ? kInvalidValue : kSuccess;
}

int cuLaunchKernel(polyattn_cu_function function, unsigned gridX, unsigned gridY, unsigned gridZ,
                   unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                   polyattn_cu_stream stream, void **parameters, void **extra) {
  if (int result = enterWithContext("cuLaunchKernel"))
    return result;
  uint64_t programs = uint64_t(gridX) * gridY * gridZ, threads = uint64_t(blockX) * blockY * blockZ;
  int limit = std::max(function->dynamicSharedBytes, 48 << 10);
  if (programs == 0 || threads == 0 || threads > 1024 || int(sharedBytes) > limit || extra)
    return kInvalidValue;
  FakeLaunch launch{
      function->name, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, stream, {}};
  for (size_t i = 0; i < function->parameters; ++i)
    launch.parameters.push_back(*static_cast<uint64_t *>(parameters[i]));
  driver().dynamicSharedBytes = function->dynamicSharedBytes;
  driver().launches.push_back(launch);
  if (driver().onLaunch)
    driver().onLaunch(launch);
  return kSuccess;
}

/// What has been launched as JSON, for programs that load this library in place of the driver.
/// Lives until the next call.
const char *polyattn_fake_cuda_launches() {
  static std::string text;
  text = "[";
  for (const FakeLaunch &launch : driver().launches) {
    text += text.size() > 1 ? ", " : "";
    text += "{\"function\": \"" + launch.function +
            "\", \"stream\": " + std::to_string(reinterpret_cast<uintptr_t>(launch.stream)) +
            ", \"parameters\": [";
    for (size_t i = 0; i < launch.parameters.size(); ++i)
      text += (i ? ", " : "") + std::to_string(launch.parameters[i]);
    text += "]}";
  }
  return (text += "]").c_str();
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  if (int result = enterWithContext("cuMemAlloc"))
    return result;
  if (bytes == 0)
    return kInvalidValue;
  void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  memset(memory, 0x5a, bytes);
  *address = reinterpret_cast<uint64_t>(memory);
  driver().memory[*address] = bytes;
  return kSuccess;
}

int cuMemFree_v2(uint64_t address) {
  if (!driver().memory.erase(address))
    return kInvalidValue;
  free(reinterpret_cast<void *>(address));
  return enterWithContext("cuMemFree");
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  if (int result = enterWithContext("cuMemcpyHtoD"))
    return result;
  if (!isMemory(to, bytes))
    return kInvalidValue;
  memcpy(reinterpret_cast<void *>(to), from, bytes);
  return kSuccess;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  if (int result = enterWithContext("cuMemcpyDtoH"))
    return result;
  if (!isMemory(from, bytes))
    return kInvalidValue;
  memcpy(to, reinterpret_cast<void *>(from), bytes);
  return kSuccess;
}

int cuEventCreate(polyattn_cu_event *event, unsigned) {
  if (int result = enterWithContext("cuEventCreate"))
    return result;
  ++driver().events;
  *event = new polyattn_cu_event_object;
  return kSuccess;
}

int cuEventDestroy_v2(polyattn_cu_event event) {
  delete event;
  --driver().events;
  return enterWithContext("cuEventDestroy");
}

int cuEventRecord(polyattn_cu_event, polyattn_cu_stream) {
  return enterWithContext("cuEventRecord");
}
int cuEventSynchronize(polyattn_cu_event) { return enterWithContext("cuEventSynchronize"); }

int cuEventElapsedTime(float *milliseconds, polyattn_cu_event, polyattn_cu_event) {
  *milliseconds = 2.0f;
  return enterWithContext("cuEventElapsedTime");
}

} // extern "C"
