//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Numpy/Npy.h"
#include "polyattn/Files/InputFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <cstring>

using namespace llvm;
using namespace polyattn;

namespace {

constexpr StringLiteral kMagic = "\x93NUMPY";

/// What a header says.
struct Header {
  std::string descr;
  bool fortranOrder = false;
  SmallVector<int64_t, 4> shape;
};

/// The header's text is a Python dictionary of three known keys; no more of Python is read.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : rest(text) {}

  Expected<Header> parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    if (!take('{'))
      return malformed("does not start with '{'");
    while (!take('}')) {
      std::string key;
      if (!takeString(key) || !take(':'))
        return malformed("has no key where one is due");
      if (key == "descr" && !descr)
        descr = takeString(header.descr);
      else if (key == "fortran_order" && !order)
        order = takeBool(header.fortranOrder);
      else if (key == "shape" && !shape)
        shape = takeShape(header.shape);
      else
        return malformed("has the key '" + key + "' twice or unexpectedly");
      if (!(key == "descr" ? descr : key == "shape" ? shape : order))
        return malformed("has no valid '" + key + "' (arrays of records are not read)");
      if (!take(',') && !rest.ltrim().starts_with("}"))
        return malformed("lacks ',' or '}'");
    }
    if (!descr || !order || !shape)
      return malformed("lacks 'descr', 'fortran_order' or 'shape'");
    return header;
  }

private:
  Error malformed(const Twine &why) { return createStringError("its header " + why); }

  bool take(char c) {
    rest = rest.ltrim();
    return rest.consume_front(StringRef(&c, 1));
  }
  bool takeString(std::string &text) {
    char quote = take('\'') ? '\'' : take('"') ? '"' : 0;
    size_t end = quote ? rest.find(quote) : StringRef::npos;
    if (end == StringRef::npos)
      return false;
    text = rest.take_front(end).str();
    rest = rest.drop_front(end + 1);
    return true;
  }
  bool takeBool(bool &value) {
    rest = rest.ltrim();
    value = rest.starts_with("True");
    return rest.consume_front("True") || rest.consume_front("False");
  }
  bool takeShape(SmallVectorImpl<int64_t> &shape) {
    if (!take('('))
      return false;
    while (!take(')')) {
      int64_t size;
      rest = rest.ltrim();
      if (rest.consumeInteger(10, size) || size < 0 || shape.size() > 32)
        return false;
      rest.consume_front("L"); // Python 2
      shape.push_back(size);
      if (!take(',') && !rest.ltrim().starts_with(")"))
        return false;
    }
    return true;
  }

  StringRef rest;
};

Error inFile(StringRef path, Error error) {
  return createStringError("'" + path + "': " + toString(std::move(error)));
}

/// Splits a file's bytes into header and data.
Expected<std::pair<Header, StringRef>> splitFile(StringRef bytes) {
  if (!bytes.starts_with(kMagic))
    return createStringError("it is not a .npy file");
  if (bytes.size() < 10)
    return createStringError("it ends inside its header");
  unsigned major = static_cast<uint8_t>(bytes[6]);
  if (major < 1 || major > 3)
    return createStringError("version " + Twine(major) + " of the format is not known");
  size_t start = major == 1 ? 10 : 12;
  if (bytes.size() < start)
    return createStringError("it ends inside its header");
  size_t length = major == 1 ? support::endian::read16le(bytes.data() + 8)
                             : support::endian::read32le(bytes.data() + 8);
  if (bytes.size() - start < length)
    return createStringError("it ends inside its header");
  Expected<Header> header = HeaderParser(bytes.substr(start, length)).parse();
  if (!header)
    return header.takeError();
  return std::make_pair(std::move(*header), bytes.drop_front(start + length));
}

StringRef descrOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "<f4";
  case ElementType::F16:
    return "<f2";
  case ElementType::BF16:
    return "<V2";
  case ElementType::I32:
    return "<i4";
  case ElementType::I64:
    return "<i8";
  }
  return "";
}

/// Bytes of one number in a file that may be read as `wanted`; 0 where it may not.
int64_t numberBytes(StringRef descr, ElementType wanted) {
  if (descr == descrOf(wanted))
    return bytesOf(wanted);
  if (isInteger(wanted))
    return 0;
  if (descr == "<f8" || (descr == "<f4" && wanted != ElementType::F32))
    return descr == "<f8" ? 8 : 4;
  if (wanted == ElementType::BF16 && (descr == "|V2" || descr == "V2" || descr == "<u2"))
    return 2;
  return 0;
}

} // namespace

static Expected<HostTensor> readBytes(StringRef bytes, ElementType wanted, Layout layout,
                                      NpyRounding &rounding) {
  auto split = splitFile(bytes);
  if (!split)
    return split.takeError();
  const Header &header = split->first;
  StringRef data = split->second;
  int64_t size = numberBytes(header.descr, wanted);
  if (!size)
    return createStringError("expected numbers of type '" + descrOf(wanted) + "' (" +
                             nameOf(wanted) + ")" +
                             (isInteger(wanted)            ? ""
                              : wanted == ElementType::F32 ? " or '<f8'"
                                                           : ", '<f4' or '<f8'") +
                             ", got '" + header.descr + "'");
  __int128 promised = size;
  for (int64_t extent : header.shape)
    if (extent != 0)
      promised = std::min(promised * extent, __int128(1) << 62);
  if (is_contained(header.shape, 0))
    promised = 0;
  if (promised != __int128(data.size()))
    return createStringError("its header promises " + Twine(int64_t(promised)) +
                             " bytes of data for the shape " + formatSizes(header.shape) +
                             ", it holds " + Twine(data.size()));

  Expected<HostTensor> tensor = allocateTensor(wanted, header.shape, layout);
  if (!tensor)
    return tensor.takeError();
  // Where an element lies in the file: row-major, or column-major.
  SmallVector<int64_t, 4> fileStrides(header.shape.size(), 1);
  for (size_t d = 1; d < header.shape.size(); ++d)
    fileStrides[d] = fileStrides[d - 1] * header.shape[d - 1];
  auto position = [&](int64_t linear) {
    if (!header.fortranOrder)
      return linear;
    int64_t at = 0;
    for (int64_t d = int64_t(header.shape.size()) - 1; d >= 0; --d) {
      at += linear % header.shape[d] * fileStrides[d];
      linear /= header.shape[d];
    }
    return at;
  };
  rounding = {0, header.descr};
  tensor->forEach([&](int64_t linear, void *address) {
    const char *number = data.data() + position(linear) * size;
    if (size == bytesOf(wanted)) {
      std::memcpy(address, number, size);
      return;
    }
    double value;
    if (size == 8)
      std::memcpy(&value, number, sizeof(value));
    else
      value = loadElement(ElementType::F32, number);
    storeElement(wanted, address, value);
    double stored = loadElement(wanted, address);
    rounding.numbers += stored != value && !(std::isnan(stored) && std::isnan(value));
  });
  return tensor;
}

Expected<HostTensor> polyattn::readNpy(StringRef path, ElementType wanted, Layout layout,
                                       NpyRounding *rounding) {
  NpyRounding unasked;
  auto buffer = mapDataFile(path);
  if (!buffer)
    return inFile(path, buffer.takeError());
  Expected<HostTensor> tensor =
      readBytes((*buffer)->getBuffer(), wanted, layout, rounding ? *rounding : unasked);
  if (!tensor)
    return inFile(path, tensor.takeError());
  return tensor;
}

/// The header of version 1, padded with blanks so that the data starts on a multiple of 64.
static std::string makeHeader(ElementType type, ArrayRef<int64_t> sizes) {
  std::string shape = "(";
  for (auto [i, size] : enumerate(sizes))
    shape += (i ? ", " : "") + std::to_string(size);
  shape += sizes.size() == 1 ? "," : ""; // Python's tuple of one
  std::string text =
      "{'descr': '" + descrOf(type).str() + "', 'fortran_order': False, 'shape': " + shape + "), }";
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string header = kMagic.str() + std::string("\x01\x00", 2);
  header += static_cast<char>(text.size() & 255);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

Expected<NpyWriter> NpyWriter::open(StringRef path, ElementType type, ArrayRef<int64_t> sizes) {
  Expected<OutputFile> file = OutputFile::open(path);
  if (!file)
    return inFile(path, file.takeError());
  return NpyWriter(std::move(*file), makeHeader(type, sizes));
}

Error NpyWriter::write(const HostTensor &tensor) {
  int64_t bytes = bytesOf(tensor.type);
  Error error = file.write([&](raw_ostream &stream) {
    stream << header;
    tensor.forEach(
        [&](int64_t, void *address) { stream.write(static_cast<const char *>(address), bytes); });
  });
  return error ? inFile(file.getPath(), std::move(error)) : Error::success();
}

Error NpyWriter::commit() {
  Error error = file.commit();
  return error ? inFile(file.getPath(), std::move(error)) : Error::success();
}
