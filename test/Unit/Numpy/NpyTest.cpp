//===- NpyTest.cpp - .npy files -------------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Numpy/Npy.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace polyattn;

namespace {

class NpyTest : public testing::Test {
protected:
  NpyTest() { EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("polyattn-npy", folder)); }
  ~NpyTest() override { (void)llvm::sys::fs::remove_directories(folder); }

  std::string path(llvm::StringRef name) {
    llvm::SmallString<128> full(folder);
    llvm::sys::path::append(full, name);
    return full.str().str();
  }
  /// A file of the given version, header text and data.
  std::string write(int version, const std::string &header, const std::string &data) {
    std::string file = path("in.npy"), length;
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
      length += static_cast<char>(header.size() >> (8 * i));
    std::error_code code;
    llvm::raw_fd_ostream(file, code)
        << "\x93NUMPY" << static_cast<char>(version) << '\0' << length << header << data;
    return file;
  }
  static std::string header(const std::string &descr, const std::string &shape,
                            const std::string &order = "False") {
    return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  }
  template <typename T> static std::string bytes(std::initializer_list<T> numbers) {
    return std::string(reinterpret_cast<const char *>(numbers.begin()), numbers.size() * sizeof(T));
  }
  std::string failure(int version, const std::string &header, const std::string &data,
                      ElementType type = ElementType::F32) {
    auto tensor = readNpy(write(version, header, data), type);
    EXPECT_FALSE(bool(tensor));
    return tensor ? "" : llvm::toString(tensor.takeError());
  }
  static std::vector<double> numbers(const HostTensor &tensor) {
    std::vector<double> result;
    tensor.forEach([&](int64_t, void *at) { result.push_back(loadElement(tensor.type, at)); });
    return result;
  }
  static bool contains(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    return text.find(part) != std::string::npos;
  }

  llvm::SmallString<128> folder;
};

TEST_F(NpyTest, RoundTripOfEveryType) {
  for (ElementType type : {ElementType::F32, ElementType::BF16, ElementType::F16})
    for (const auto &shape : {std::vector<int64_t>{2, 3, 5}, {7}, {}, {2, 0, 3}}) {
      auto tensor = allocateTensor(type, shape, Layout::Padded);
      ASSERT_TRUE(bool(tensor));
      tensor->forEach([&](int64_t i, void *at) { storeElement(type, at, double(i) / 4 - 2); });
      auto writer = NpyWriter::open(path("t.npy"), type, shape);
      ASSERT_TRUE(bool(writer));
      ASSERT_FALSE(bool(writer->write(*tensor)));
      ASSERT_FALSE(bool(writer->commit()));
      auto read = readNpy(path("t.npy"), type);
      ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
      EXPECT_EQ(read->sizes, tensor->sizes);
      EXPECT_EQ(numbers(*read), numbers(*tensor));
    }
}

TEST_F(NpyTest, VersionsAndSpellings) {
  std::string data = bytes<float>({1, 2, 3});
  for (int version : {1, 2, 3}) {
    auto tensor = readNpy(write(version, header("<f4", "(3,)"), data), ElementType::F32);
    ASSERT_TRUE(bool(tensor)) << llvm::toString(tensor.takeError());
    EXPECT_EQ(numbers(*tensor), (std::vector<double>{1, 2, 3}));
  }
  auto tensor =
      readNpy(write(1, "{\"shape\": (3L,), \"fortran_order\": False, \"descr\": \"<f4\"}", data),
              ElementType::F32);
  ASSERT_TRUE(bool(tensor)) << llvm::toString(tensor.takeError());
}

TEST_F(NpyTest, FortranOrderIsPutInOrder) {
  std::string data = bytes<float>({0, 3, 1, 4, 2, 5});
  auto tensor = readNpy(write(1, header("<f4", "(2, 3)", "True"), data), ElementType::F32);
  ASSERT_TRUE(bool(tensor));
  EXPECT_EQ(numbers(*tensor), (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

TEST_F(NpyTest, RoundingIsCounted) {
  auto rounded = [&](const char *descr, const std::string &data, ElementType type) {
    NpyRounding rounding;
    auto tensor =
        readNpy(write(1, header(descr, "(4,)"), data), type, Layout::Contiguous, &rounding);
    EXPECT_TRUE(bool(tensor));
    EXPECT_EQ(rounding.descr, descr);
    return rounding.numbers;
  };
  double nan = std::nan("");
  EXPECT_EQ(rounded("<f8", bytes<double>({1, 1.5, nan, -0.0}), ElementType::F32), 0);
  EXPECT_EQ(rounded("<f8", bytes<double>({0.1, 1e300, nan, 3}), ElementType::F32), 2);
  EXPECT_EQ(rounded("<f4", bytes<float>({1, 1.5, 0.1f, 257}), ElementType::BF16), 2);
  EXPECT_EQ(rounded("<f4", bytes<float>({1, 1.5, 1e-8f, 257}), ElementType::F16), 1);
  EXPECT_EQ(rounded("<f4", bytes<float>({0.1f, 1, 2, 3}), ElementType::F32), 0);
}

TEST_F(NpyTest, WholeNumbers) {
  std::string data = bytes<int64_t>({-1, int64_t(1) << 53, INT64_MAX});
  auto tensor = readNpy(write(1, header("<i8", "(3,)"), data), ElementType::I64);
  ASSERT_TRUE(bool(tensor));
  EXPECT_EQ(std::memcmp(tensor->data, data.data(), data.size()), 0);
  auto narrow =
      readNpy(write(1, header("<i4", "(2,)"), bytes<int32_t>({7, INT32_MIN})), ElementType::I32);
  ASSERT_TRUE(bool(narrow));
  EXPECT_EQ(numbers(*narrow), (std::vector<double>{7, -0x1p31}));
}

TEST_F(NpyTest, DoublesAreRounded) {
  std::string data = bytes<double>({1.0 + 0x1p-30, 3});
  for (ElementType type : {ElementType::F32, ElementType::BF16, ElementType::F16}) {
    auto tensor = readNpy(write(1, header("<f8", "(2,)"), data), type);
    ASSERT_TRUE(bool(tensor));
    EXPECT_EQ(numbers(*tensor), (std::vector<double>{1, 3}));
  }
}

TEST_F(NpyTest, BrainFloatSpellings) {
  for (const char *descr : {"<V2", "|V2", "<u2"}) {
    auto tensor =
        readNpy(write(1, header(descr, "(1,)"), bytes<uint16_t>({0x4040})), ElementType::BF16);
    ASSERT_TRUE(bool(tensor));
    EXPECT_EQ(numbers(*tensor), std::vector<double>{3});
  }
}

TEST_F(NpyTest, WrongTypes) {
  std::string data(8, '\0');
  contains(failure(1, header("<i8", "(1,)"), data), "expected numbers of type '<f4' (f32)");
  contains(failure(1, header("<f2", "(4,)"), data), "got '<f2'");
  contains(failure(1, header(">f4", "(2,)"), data), "got '>f4'");
  contains(failure(1, header("<f2", "(4,)"), data, ElementType::BF16), "(bf16)");
  contains(failure(1, header("<i4", "(2,)"), data, ElementType::I64),
           "expected numbers of type '<i8' (i64), got '<i4'");
  contains(failure(1, header("<f8", "(1,)"), data, ElementType::I64), "got '<f8'");
  contains(failure(1, header("<u2", "(4,)"), data, ElementType::F16), "got '<u2'");
}

TEST_F(NpyTest, TruncatedAndOverlong) {
  std::string data = bytes<float>({1, 2, 3});
  std::string error = failure(1, header("<f4", "(4,)"), data);
  contains(error, "in.npy': its header promises 16 bytes");
  contains(error, "it holds 12");
  contains(failure(1, header("<f4", "(2,)"), data), "promises 8 bytes");
  std::string file = write(1, header("<f4", "(3,)"), data);
  for (uint64_t size : {0, 3, 7, 9, 20}) {
    int fd;
    ASSERT_FALSE(llvm::sys::fs::openFileForReadWrite(file, fd, llvm::sys::fs::CD_OpenExisting,
                                                     llvm::sys::fs::OF_None));
    ASSERT_FALSE(llvm::sys::fs::resize_file(fd, size));
    auto handle = llvm::sys::fs::convertFDToNativeFile(fd);
    (void)llvm::sys::fs::closeFile(handle);
    auto tensor = readNpy(file, ElementType::F32);
    ASSERT_FALSE(bool(tensor));
    contains(llvm::toString(tensor.takeError()),
             size < 6 ? "it is not a .npy file" : "it ends inside its header");
    file = write(1, header("<f4", "(3,)"), data);
  }
}

TEST_F(NpyTest, CorruptHeaders) {
  contains(failure(9, header("<f4", "(1,)"), "1234"), "version 9");
  for (const char *text :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': [('a', '<f4')], }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"})
    contains(failure(1, text, "1234"), "its header ");
}

TEST_F(NpyTest, HugeSizes) {
  contains(failure(1, header("<f4", "(4611686018427387904, 4611686018427387904, 4)"), "1234"),
           "it holds 4");
  contains(failure(1, header("<f4", "(9223372036854775807, 2)"), "1234"), "it holds 4");
}

TEST_F(NpyTest, WhatIsNotCommittedLeavesNothing) {
  std::string file = path("out.npy");
  {
    auto writer = NpyWriter::open(file, ElementType::F32, {4});
    ASSERT_TRUE(bool(writer));
  }
  std::error_code code;
  llvm::sys::fs::directory_iterator entry(folder, code), end;
  EXPECT_TRUE(entry == end);
  auto writer = NpyWriter::open(path("missing/out.npy"), ElementType::F32, {4});
  ASSERT_FALSE(bool(writer));
  contains(llvm::toString(writer.takeError()), "missing/out.npy");
}

} // namespace
