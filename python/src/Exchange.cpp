//===- Exchange.cpp - DLPack's exchange API -------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exchange.h"

namespace nb = nanobind;
using namespace polyattn::python;

namespace {
/// DLPackExchangeAPI of dlpack.h. What is before the functions has its place in all versions.
struct ExchangeAPI {
  struct {
    uint32_t major, minor;
  } version;
  const ExchangeAPI *previous;
  void *allocate, *toManaged, *fromManaged;
  DescribeArray describe;
  void *currentStream;
};
constexpr uint32_t kMajorVersion = 1;
} // namespace

DescribeArray polyattn::python::describeFunctionOf(nb::handle type) {
  nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  const char *name = "dlpack_exchange_api";
  if (!PyCapsule_IsValid(capsule.ptr(), name))
    return nullptr;
  auto *api = static_cast<const ExchangeAPI *>(PyCapsule_GetPointer(capsule.ptr(), name));
  while (api && api->version.major != kMajorVersion)
    api = api->previous;
  return api ? api->describe : nullptr;
}
