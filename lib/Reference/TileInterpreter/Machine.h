//===- Machine.h - the values of one running tile kernel --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_TILEINTERPRETER_MACHINE_H
#define POLYATTN_LIB_REFERENCE_TILEINTERPRETER_MACHINE_H

#include "polyattn/Reference/EvaluateTile.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>
#include <variant>

namespace polyattn::reference {

struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> numbers;

  Matrix(int64_t rows, int64_t columns, double fill = 0)
      : rows(rows), columns(columns), numbers(rows * columns, fill) {}
  explicit Matrix(tile::TileType type) : Matrix(type.getRows(), type.getColumns()) {}
  double &at(int64_t r, int64_t c) { return numbers[r * columns + c]; }
  double at(int64_t r, int64_t c) const { return numbers[r * columns + c]; }
};

struct Buffer : Matrix {
  std::vector<int64_t> writes; // how often each row was written

  Buffer(int64_t rows, int64_t columns) : Matrix(rows, columns), writes(rows) {}
  int64_t writesTo(int64_t row, int64_t count) const {
    int64_t sum = 0;
    for (int64_t r = row; r < row + count; ++r)
      sum += writes[r];
    return sum;
  }
};

/// A tile, and where it was read from if from a buffer: a lowering may read late, so the
/// rows must still be what they were.
struct Tile {
  Matrix numbers;
  std::shared_ptr<Buffer> source = nullptr;
  int64_t firstRow = 0, writes = 0;

  bool isFresh() const { return !source || source->writesTo(firstRow, numbers.rows) == writes; }
};

/// An index or truth value, a number, a tile, a buffer.
using Content = std::variant<int64_t, double, std::shared_ptr<const Tile>, std::shared_ptr<Buffer>>;

/// The value in the precision of the type.
double roundTo(mlir::Type type, double value,
               llvm::RoundingMode mode = llvm::RoundingMode::NearestTiesToEven);

class Machine {
public:
  Machine(tile::KernelOp kernel, llvm::MutableArrayRef<Array> tensors, const TileOptions &options)
      : kernel(kernel), tensors(tensors), options(options) {}

  /// Runs the kernel's body as the program of these coordinates.
  mlir::LogicalResult runProgram(llvm::ArrayRef<int64_t> coordinates);
  /// Runs a block and gives back what its terminator passes on, if it has one.
  mlir::LogicalResult runBlock(mlir::Block &block, llvm::SmallVectorImpl<Content> *passedOn);

  const Content &content(mlir::Value value) const { return contents.find(value)->second; }
  int64_t index(mlir::Value value) const { return std::get<int64_t>(content(value)); }
  /// The index, or what stands for one that is not given.
  int64_t indexOr(mlir::Value value, int64_t otherwise) const {
    return value ? index(value) : otherwise;
  }
  const Matrix &tile(mlir::Value value) const {
    return std::get<std::shared_ptr<const Tile>>(content(value))->numbers;
  }
  std::shared_ptr<Buffer> buffer(mlir::Value value) const {
    return std::get<std::shared_ptr<Buffer>>(content(value));
  }
  /// The tensor that a memref stands for, none where the value is no argument of the kernel.
  Array *tensor(mlir::Value value);

  void bind(mlir::Value value, Content content) { contents.insert_or_assign(value, content); }
  /// Binds a tile, rounded where the options ask for it.
  mlir::LogicalResult bindTile(mlir::Value value, Tile tile);
  int64_t coordinate(int64_t axis) const { return coordinates[axis]; }
  bool rounds() const { return options.round; }
  double rounded(mlir::Type type, double value) const {
    return options.round ? roundTo(type, value, options.rounding) : value;
  }

private:
  mlir::LogicalResult runOp(mlir::Operation *op);

  tile::KernelOp kernel;
  llvm::MutableArrayRef<Array> tensors;
  const TileOptions &options;
  llvm::ArrayRef<int64_t> coordinates; // of the program in its grid
  llvm::DenseMap<mlir::Value, Content> contents;
};

// Memory.cpp
mlir::LogicalResult run(Machine &machine, tile::LoadOp op);
mlir::LogicalResult run(Machine &machine, tile::StoreOp op);
mlir::LogicalResult run(Machine &machine, tile::RecurOp op);
mlir::LogicalResult run(Machine &machine, tile::BufferOp op);
mlir::LogicalResult run(Machine &machine, tile::ReadOp op);
mlir::LogicalResult run(Machine &machine, tile::WriteOp op);
mlir::LogicalResult run(Machine &machine, mlir::memref::DimOp op);
mlir::LogicalResult run(Machine &machine, mlir::memref::LoadOp op);
/// Whether a buffer has these rows, or an error.
mlir::LogicalResult checkRows(mlir::Operation *op, const Buffer &buffer, int64_t row,
                              int64_t count);

// Products.cpp
/// The number nearest to `value` that an operand of the precision, or each part of a split one, is.
double nearest(tile::Precision precision, double value);
/// The 16-bit precision in which products of matrices have a tile as an operand, if they do: a
/// lowering may keep it so, for all who use it.
std::optional<tile::Precision> keptPrecision(mlir::Value value);
/// Whether a sum over the first terms of `size` has at most all of them, or an error.
mlir::LogicalResult checkBound(mlir::Operation *op, int64_t bound, int64_t size);
mlir::LogicalResult run(Machine &machine, tile::DotOp op);
mlir::LogicalResult run(Machine &machine, tile::AccumulateOp op);

// Values.cpp
mlir::LogicalResult run(Machine &machine, tile::ConstantOp op);
mlir::LogicalResult run(Machine &machine, tile::ConstantColumnOp op);
mlir::LogicalResult run(Machine &machine, tile::IotaOp op);
mlir::LogicalResult run(Machine &machine, tile::CausalMaskOp op);
mlir::LogicalResult run(Machine &machine, tile::ReduceOp op);
mlir::LogicalResult run(Machine &machine, tile::CumulativeSumOp op);
mlir::LogicalResult run(Machine &machine, tile::MonomialsOp op);
mlir::LogicalResult run(Machine &machine, tile::ContractOp op);
mlir::LogicalResult run(Machine &machine, tile::SliceOp op);
mlir::LogicalResult run(Machine &machine, tile::PackOp op);
mlir::LogicalResult run(Machine &machine, tile::ConcatOp op);
mlir::LogicalResult run(Machine &machine, tile::SelectRowsOp op);
mlir::LogicalResult run(Machine &machine, tile::TransposeOp op);
mlir::LogicalResult run(Machine &machine, tile::ToeplitzOp op);
mlir::LogicalResult run(Machine &machine, tile::DiagonalSumsOp op);

// Fourier.cpp
mlir::LogicalResult run(Machine &machine, tile::PowerOfTwoOp op);
mlir::LogicalResult run(Machine &machine, tile::FourierRootsOp op);
mlir::LogicalResult run(Machine &machine, tile::FourierOp op);
mlir::LogicalResult run(Machine &machine, tile::MultiplySpectraOp op);

// Elements.cpp
mlir::LogicalResult run(Machine &machine, tile::MapOp op);
/// An arithmetic op on numbers, outside a map.
mlir::LogicalResult runScalar(Machine &machine, mlir::Operation *op);

// Control.cpp
mlir::LogicalResult run(Machine &machine, mlir::scf::ForOp op);
mlir::LogicalResult run(Machine &machine, mlir::scf::IfOp op);
mlir::LogicalResult run(Machine &machine, tile::ProgramIdOp op);
/// Arithmetic on indices and truth values; true where the op is one.
bool runIndex(Machine &machine, mlir::Operation *op);

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_TILEINTERPRETER_MACHINE_H
