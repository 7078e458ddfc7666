//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Versions 1, 2 and 3 of the format, little-endian:
//
//   '<f4' f32    '<f2' f16    '<f8' and '<f4' any narrower type, rounded to it
//   '<V2' bf16, which NumPy has no type for; '|V2' and '<u2' (a view of the bits) are
//         read, too. This is what ml_dtypes.bfloat16 saves.
//   '<i4' i32    '<i8' i64
//
// Other types are refused: a silent conversion would hide that a file is not what the
// spec asks for. Fortran order is read and put in C order.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_NUMPY_NPY_H
#define POLYATTN_NUMPY_NPY_H

#include "polyattn/Entry/HostTensor.h"
#include "polyattn/Files/OutputFile.h"

namespace polyattn {

/// What reading has changed.
struct NpyRounding {
  int64_t numbers = 0; // that are not what the file has
  std::string descr;   // the file's type
};

/// Reads a file as a tensor of the wanted type. Errors name the file and what is wrong with it,
/// or what type was expected and what came.
llvm::Expected<HostTensor> readNpy(llvm::StringRef path, ElementType wanted,
                                   Layout layout = Layout::Contiguous,
                                   NpyRounding *rounding = nullptr);

/// A file to be written: opened early, so that a path that cannot be written fails before the
/// work, and put in place whole by `commit`. Without it nothing is left behind.
class NpyWriter {
public:
  static llvm::Expected<NpyWriter> open(llvm::StringRef path, ElementType type,
                                        llvm::ArrayRef<int64_t> sizes);
  /// Writes the tensor, of the type and sizes that `open` was told, in C order.
  llvm::Error write(const HostTensor &tensor);
  /// Several files appear together where each is written before the first is committed.
  llvm::Error commit();

private:
  NpyWriter(OutputFile file, std::string header)
      : file(std::move(file)), header(std::move(header)) {}

  OutputFile file;
  std::string header;
};

} // namespace polyattn

#endif // POLYATTN_NUMPY_NPY_H
