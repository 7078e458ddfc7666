//===- HostTensor.cpp - a typed, strided tensor in host memory ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Entry/HostTensor.h"
#include "polyattn/Entry/LargePages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace llvm;
using namespace polyattn;

/// The nearest whole number that the type holds; zero for NaN.
static int64_t wholeNumber(ElementType type, double value) {
  bool isWide = type == ElementType::I64;
  double limit = isWide ? 0x1p63 : 0x1p31; // the first that is too large
  if (std::isnan(value))
    return 0;
  if (value >= limit)
    return isWide ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
  return static_cast<int64_t>(std::max(std::nearbyint(value), -limit));
}

/// Rounds to `precision` significant bits, ties to even, with subnormals below 2^minExponent.
/// Done in one step from f64: going through f32 would round twice.
static double roundToPrecision(double value, int precision, int minExponent, double largest) {
  if (!std::isfinite(value) || value == 0)
    return value;
  int exponent;
  std::frexp(value, &exponent);
  int quantum = std::max(exponent - 1, minExponent) - (precision - 1);
  double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  if (std::fabs(rounded) > largest)
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

double polyattn::roundTo(ElementType type, double value) {
  switch (type) {
  case ElementType::F32:
    return static_cast<float>(value);
  case ElementType::BF16:
    return roundToPrecision(value, 8, -126, 3.3895313892515355e38);
  case ElementType::F16:
    return roundToPrecision(value, 11, -14, 65504.0);
  case ElementType::I32:
  case ElementType::I64:
    return static_cast<double>(wholeNumber(type, value));
  }
  return value;
}

static double decodeHalf(uint16_t bits) {
  int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double magnitude;
  if (exponent == 31)
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, -24);
  else
    magnitude = std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

static uint16_t encodeHalf(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return sign | 0x7e00;
  double magnitude = std::fabs(roundTo(ElementType::F16, value));
  if (std::isinf(magnitude))
    return sign | 0x7c00;
  if (magnitude < std::ldexp(1.0, -14))
    return sign | static_cast<uint16_t>(std::ldexp(magnitude, 24));
  int exponent;
  double fraction = std::frexp(magnitude, &exponent); // in [0.5, 1)
  return sign | static_cast<uint16_t>((exponent + 14) << 10) |
         static_cast<uint16_t>(std::ldexp(fraction, 11) - 1024);
}

int64_t polyattn::loadInteger(ElementType type, const void *address) {
  assert(isInteger(type));
  int64_t wide;
  int32_t narrow;
  bool isWide = type == ElementType::I64;
  std::memcpy(isWide ? static_cast<void *>(&wide) : &narrow, address, bytesOf(type));
  return isWide ? wide : narrow;
}

double polyattn::loadElement(ElementType type, const void *address) {
  if (isInteger(type))
    return static_cast<double>(loadInteger(type, address));
  if (type == ElementType::F32) {
    float value;
    std::memcpy(&value, address, sizeof(value));
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, address, sizeof(bits));
  if (type == ElementType::F16)
    return decodeHalf(bits);
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

void polyattn::storeElement(ElementType type, void *address, double value) {
  if (isInteger(type)) {
    // Little-endian: the lower bytes are those of a narrower number.
    int64_t number = wholeNumber(type, value);
    std::memcpy(address, &number, bytesOf(type));
    return;
  }
  if (type == ElementType::F16) {
    uint16_t bits = encodeHalf(value);
    std::memcpy(address, &bits, sizeof(bits));
    return;
  }
  float single = static_cast<float>(roundTo(type, value));
  if (type == ElementType::F32) {
    std::memcpy(address, &single, sizeof(single));
    return;
  }
  uint32_t wide;
  std::memcpy(&wide, &single, sizeof(wide));
  uint16_t bits = std::isnan(single) ? uint16_t(0x7fc0) : uint16_t(wide >> 16);
  std::memcpy(address, &bits, sizeof(bits));
}

int64_t HostTensor::count() const {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

void HostTensor::forEach(function_ref<void(int64_t, void *)> visit) const {
  int64_t total = count(), bytes = bytesOf(type);
  if (total == 0)
    return;
  int64_t run = sizes.empty() ? 1 : sizes.back();
  SmallVector<int64_t, 4> index(sizes.size(), 0);
  char *row = static_cast<char *>(data);
  for (int64_t linear = 0; linear < total; linear += run) {
    for (int64_t i = 0; i < run; ++i)
      visit(linear + i, row + i * bytes);
    for (int64_t d = rank() - 2; d >= 0; --d) {
      row += strides[d] * bytes;
      if (++index[d] < sizes[d])
        break;
      row -= strides[d] * sizes[d] * bytes;
      index[d] = 0;
    }
  }
}

/// A NaN that no rounding makes: its payload tells unwritten memory from a computed NaN. As a whole
/// number it is no position of a sequence that fits into memory.
static void poisonElements(ElementType type, void *data, int64_t count) {
  static constexpr uint32_t kSingle = 0x7fc0beef;
  static constexpr uint16_t kBrain = 0x7fd5, kHalf = 0x7ed5;
  if (bytesOf(type) >= 4)
    std::fill_n(static_cast<uint32_t *>(data), count * bytesOf(type) / 4, kSingle);
  else
    std::fill_n(static_cast<uint16_t *>(data), count, type == ElementType::BF16 ? kBrain : kHalf);
}

void polyattn::copyElements(const HostTensor &from, const HostTensor &to) {
  std::vector<const void *> addresses;
  from.forEach([&](int64_t, void *address) { addresses.push_back(address); });
  to.forEach([&](int64_t linear, void *address) {
    std::memcpy(address, addresses[linear], bytesOf(from.type));
  });
}

void HostTensor::poison() const { poisonElements(type, storage.get(), storageElements); }

bool HostTensor::paddingIsPoison() const {
  if (storageElements == count())
    return true;
  int64_t bytes = bytesOf(type);
  // Blank out the elements in a copy; whatever differs from poison then is padding.
  std::vector<char> copy(storageElements * bytes), clean(storageElements * bytes);
  std::memcpy(copy.data(), storage.get(), copy.size());
  poisonElements(type, clean.data(), storageElements);
  forEach([&](int64_t, void *address) {
    int64_t at = static_cast<char *>(address) - static_cast<char *>(storage.get());
    std::memcpy(&copy[at], &clean[at], bytes);
  });
  return copy == clean;
}

Expected<HostTensor> polyattn::allocateTensor(ElementType type, ArrayRef<int64_t> sizes,
                                              Layout layout) {
  HostTensor tensor;
  tensor.type = type;
  tensor.sizes.assign(sizes.begin(), sizes.end());
  tensor.strides.assign(sizes.size(), 1);
  __int128 elements = 1;
  constexpr __int128 kLimit = __int128(1) << 60;
  for (int64_t d = int64_t(sizes.size()) - 1; d >= 0; --d) {
    tensor.strides[d] = static_cast<int64_t>(elements);
    bool innermost = d + 1 == int64_t(sizes.size());
    // Eight elements keep rows aligned to vectors, as a caller's own padding would.
    int64_t gap = layout == Layout::Padded && sizes.size() > 1 && d > 0 ? (innermost ? 8 : 1) : 0;
    elements *= __int128(sizes[d]) + gap;
    if (elements > kLimit)
      return createStringError("a tensor of sizes " + formatSizes(sizes) + " is too large");
  }
  tensor.storageElements = static_cast<int64_t>(elements);
  // Whole cache lines: kernels may be tuned for aligned rows, and aligned_alloc asks for it.
  size_t bytes = (tensor.storageElements * bytesOf(type) + 63) / 64 * 64;
  void *memory = std::aligned_alloc(64, std::max<size_t>(bytes, 64));
  if (!memory)
    return createStringError("there is no memory for a tensor of sizes " + formatSizes(sizes));
  adviseLargePages(memory, bytes);
  tensor.storage = std::shared_ptr<void>(memory, std::free);
  tensor.data = memory;
  tensor.poison();
  return tensor;
}

std::string polyattn::formatSizes(ArrayRef<int64_t> sizes) {
  std::string text;
  raw_string_ostream stream(text);
  stream << "[";
  llvm::interleaveComma(sizes, stream);
  stream << "]";
  return text;
}
