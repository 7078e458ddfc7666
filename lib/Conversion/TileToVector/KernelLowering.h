//===- KernelLowering.h - one tile.kernel becomes one function -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOVECTOR_KERNELLOWERING_H
#define POLYATTN_LIB_CONVERSION_TILETOVECTOR_KERNELLOWERING_H

#include "Fusion.h"
#include "MicroKernel.h"
#include "ProductLoop.h"
#include "dialects/Tile/Tile.h"
#include "lib/TileAnalysis/FirstFit.h"
#include "lib/TileAnalysis/NeededPart.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace polyattn::tile_to_vector {

/// A tensor of the user's.
struct Tensor {
  mlir::Value base;
  llvm::SmallVector<Offset> sizes, strides;
  mlir::Type element;
};

/// A window of a tensor that becomes a tile, dimension by dimension of the tile.
struct Source {
  const Tensor &tensor;
  Offset start;
  Offset rowStride, columnStride; ///< 0 for a dimension that is not there
  Offset validRows, validColumns; ///< what lies past them reads as zero
  bool needsZeros = true;         ///< whether something reads these
};

/// The elements of a tile, and those of its rows and columns that are computed: the others are not
/// read.
struct TileExtent {
  int64_t rows, columns;
  Offset endRow = rows, endColumn = columns;
  /// Whether the last column is the same in all iterations of the loops around, as in a call of one
  /// block. Otherwise only the last one of them has fewer columns than others.
  bool isShort = false;

  /// Of a column that is computed as a row.
  TileExtent transposed() const { return {columns, rows, endColumn, endRow}; }
};

class KernelLowering {
public:
  KernelLowering(tile::KernelOp kernel, const MachineDescription &machine)
      : kernel(kernel), e(kernel.getLoc(), kernel.getContext(), machine), fusion(kernel),
        needed(kernel), scratch(64) {}

  /// Adds the function to `module` or reports what is not supported.
  mlir::LogicalResult run(mlir::ModuleOp module);

private:
  using Evaluated = llvm::DenseMap<mlir::Value, Vectors>;

  // KernelLowering.cpp: the function around the programs.
  void loadTensors(mlir::Value pointers);
  void bindProgram(mlir::Value program);
  bool isHoistable(mlir::Operation &op);

  // LowerOps.cpp: ops in order, memory for values.
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation &op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp loop);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp branch);
  mlir::LogicalResult lowerScalar(mlir::Operation &op);
  mlir::LogicalResult materialise(mlir::Value value);
  void freeAfter(mlir::Operation &op);
  TileMemory allocate(int64_t rows, int64_t columns, mlir::Type element, bool buffer = false,
                      bool fresh = false);
  TileMemory allocateFor(mlir::Value value);
  TileMemory storageOf(mlir::Value value);
  TileMemory constantTable(mlir::DenseElementsAttr values, int64_t rows, int64_t columns);
  TileMemory weightTable(llvm::ArrayRef<double> weights, mlir::Type element);
  Offset scalar(mlir::Value index) { return e.toOffset(mapping.lookupOrDefault(index)); }
  llvm::SmallVector<Offset> scalars(mlir::ValueRange indices) {
    return llvm::map_to_vector(indices, [&](mlir::Value index) { return scalar(index); });
  }

  // Views.cpp
  Offset address(const TileMemory &storage, Offset row, Offset column) {
    return tile_to_vector::address(e, storage, row, column);
  }
  TileMemory slice(const TileMemory &storage, Offset row, Offset column, tile::TileType type);
  TileMemory viewStorage(mlir::Value value);
  mlir::Value loadElement(const TileMemory &storage, Offset row, Offset column);

  // Nest.cpp: loops over register tiles.
  TileShape chooseShape(llvm::ArrayRef<tile::DotOp> dots, int64_t rows, int64_t vectors);
  bool fitsL1(tile::TileType rhs);
  using TileBody = llvm::function_ref<void(RegisterTile)>;
  TileExtent extentOf(mlir::Value value);
  void forEachTile(const TileExtent &extent, TileShape shape, bool partialLastVector,
                   TileBody body);
  TileShape triangleShape(const TileShape &shape);
  void forEachLowerTile(const TileExtent &extent, TileShape shape, TileBody body);
  void forEachUpperTile(const TileExtent &extent, TileShape shape, TileBody body);
  void forEachRow(Offset from, int64_t to, Offset end, int64_t step,
                  llvm::function_ref<void(Offset, int64_t)> body);
  void forEachTileOf(mlir::Value value, bool partialLastVector, TileBody body,
                     int64_t fewestRows = 1);
  void compute(mlir::Value value, const TileMemory &destination);
  void computeHere(mlir::Value value, const TileMemory &destination);
  void storeTile(const TileMemory &destination, const RegisterTile &tile, const Vectors &values);
  void copy(const TileMemory &source, const TileMemory &destination);

  // Evaluate.cpp: one register tile of an expression.
  Vectors evaluate(mlir::Value value, const RegisterTile &tile, Evaluated &known);
  Vectors evaluateOp(mlir::Value value, const RegisterTile &tile, Evaluated &known);
  Vectors evaluateTile(mlir::Value value, const RegisterTile &tile);
  Vectors loadTile(const TileMemory &storage, tile::TileType type, tile::TileType result,
                   const RegisterTile &tile);
  Vectors evaluateMap(tile::MapOp map, const RegisterTile &tile, Evaluated &known);
  Vectors applyMap(tile::MapOp map, llvm::SmallVector<Vectors> inputs, int64_t rows,
                   int64_t vectors);
  Vectors evaluateMask(tile::CausalMaskOp mask, const RegisterTile &tile, Evaluated &known);
  /// A vector of a row from `column` on, with `otherwise` in the lanes outside of the triangle.
  mlir::Value inTriangle(tile::Triangle triangle, Offset row, Offset column, mlir::Value value,
                         mlir::Value otherwise);
  Vectors evaluateIota(tile::IotaOp iota, const RegisterTile &tile);
  Vectors evaluateToeplitz(tile::ToeplitzOp toeplitz, const RegisterTile &tile);
  Vectors evaluateMonomials(tile::MonomialsOp monomials, const RegisterTile &tile);

  // Dot.cpp: products.
  void evaluateDots(llvm::ArrayRef<tile::DotOp> dots, const RegisterTile &tile, Evaluated &known);
  const MicroKernel &microKernelOf(tile::DotOp dot);
  Product product(tile::DotOp dot, bool columnAsRow);
  Vectors multiply(llvm::ArrayRef<Product> products, const RegisterTile &tile,
                   Vectors accumulators);
  mlir::LogicalResult lowerAccumulate(tile::AccumulateOp op);

  // Prefetch.cpp: rows of tensors, before they are needed.
  /// A window of a tensor that is touched next, as many rows as a block has.
  struct PrefetchWindow {
    mlir::Value base;
    mlir::Type element;
    Offset start, rowStride;
    int64_t columns;
    bool written;
    int64_t lineElements() const { return 512 / element.getIntOrFloatBitWidth(); }
    int64_t linesPerRow() const { return (columns + lineElements() - 1) / lineElements(); }
  };
  /// What the nests of a loop's body, or of a loop in it, fetch while they compute.
  struct PrefetchPlan {
    llvm::DenseMap<tile::NestAttr, llvm::SmallVector<PrefetchWindow>> windows;
    int64_t rows = 0;
    mlir::Block *block = nullptr;
  };
  /// What the nest at hand fetches, and its tile.
  struct PrefetchCursor {
    llvm::SmallVector<PrefetchWindow> windows;
    TileShape shape{1, 1};
    int64_t tiles = 1, tilesPerColumn = 1;
    Offset tile;            ///< its number
    mlir::scf::ForOp loop;  ///< whose iterations share the rows, or null
    int64_t iterations = 1; ///< of `loop`, at most
    bool pending = false;
  };
  void beginPrefetch(mlir::scf::ForOp loop);
  Offset indexAtStart(mlir::Value index, mlir::scf::ForOp loop);
  void addWindow(mlir::scf::ForOp loop, mlir::Value memref, tile::TileType type,
                 mlir::OperandRange indices, int64_t rowDim, tile::NestAttr nest, bool written);
  void takeWindows(mlir::Operation *op, const TileShape &shape, int64_t rows, int64_t columns);
  void fetchLines(const PrefetchWindow &window, Offset first, int64_t count);
  int64_t linesPerTile(const PrefetchWindow &window);
  Offset firstLine(const PrefetchWindow &window);
  void beginFetch(const RegisterTile &tile);
  llvm::SmallVector<FetchStream> beginStreams(int64_t iterations);

  // Recur.cpp
  mlir::LogicalResult lowerRecur(tile::RecurOp recur);

  // Fourier.cpp
  void lowerPowerOfTwo(tile::PowerOfTwoOp op);
  mlir::LogicalResult lowerFourierRoots(tile::FourierRootsOp op);
  mlir::LogicalResult lowerFourier(tile::FourierOp op);
  mlir::LogicalResult lowerMultiplySpectra(tile::MultiplySpectraOp op);

  // Contract.cpp
  /// Where a contraction finds its operands, and which row of the table comes first.
  struct Contraction {
    TileMemory gradient, source, destination;
    std::optional<TileMemory> weights;
    Offset first;
  };
  /// Rows [begin, end) of the gradient, whose products have a row of the source in common, and the
  /// other row of the first of them.
  struct ContractedRun {
    Offset begin, end, shared, other;
  };
  mlir::LogicalResult lowerContract(tile::ContractOp op);
  void contractRun(const Contraction &contraction, const ContractedRun &run);

  // Load.cpp, Store.cpp
  mlir::LogicalResult lowerLoad(tile::LoadOp load);
  mlir::LogicalResult lowerStore(tile::StoreOp store);
  int64_t panelWidth(tile::LoadOp load);
  bool isReadInPlace(tile::LoadOp load, const Tensor &tensor);
  tile::MapOp mapOfRows(tile::LoadOp load);
  void loadRows(const Source &source, const TileMemory &destination, tile::MapOp map = {});
  void loadPanels(const Source &source, const TileMemory &destination);
  void loadTransposed(const Source &source, const TileMemory &destination);
  void loadElements(const Source &source, Offset firstColumn, const TileMemory &destination);
  mlir::Value loadConverted(const Source &source, Offset row, Offset column, int64_t lanes,
                            mlir::Type element);

  // Transpose.cpp
  void transposeSquare(mlir::Value from, Offset fromStride, mlir::Type fromElement, mlir::Value to,
                       const TileMemory &destination);

  // Reduce.cpp, Rearrange.cpp
  mlir::LogicalResult lowerReduce(tile::ReduceOp reduce);
  void reduceRows(tile::ReduceOp reduce, const TileMemory &destination);
  void reduceColumns(tile::ReduceOp reduce, const TileMemory &destination);
  mlir::Value combine(tile::ReduceKind kind, mlir::Value a, mlir::Value b);
  mlir::Value combineLanes(tile::ReduceKind kind, const Vectors &rows);
  void addColumnProduct(const TileMemory &lhs, const TileMemory &rhs, int64_t depth,
                        std::optional<Offset> bound, tile::Triangle triangle,
                        const TileMemory &destination, Offset endRow);
  Vectors inputTile(mlir::Value value, const RegisterTile &tile);
  void lowerCumulativeSum(tile::CumulativeSumOp sum);
  void lowerDiagonalSums(tile::DiagonalSumsOp sums);
  void lowerSelectRows(tile::SelectRowsOp select);
  void lowerTranspose(tile::TransposeOp transpose);
  void lowerConcat(tile::ConcatOp concat);

  // Pack.cpp
  void lowerPack(tile::PackOp pack);
  void storePacked(tile::PackOp pack, const RegisterTile &tile, const Vectors &values);

  tile::KernelOp kernel;
  Emitter e;
  Fusion fusion;
  NeededParts needed;
  FirstFit scratch;
  mlir::Value scratchPointer;
  llvm::SmallVector<mlir::Value> programIds;        ///< one for each axis of the grid
  mlir::IRMapping mapping;                          ///< scalars
  llvm::DenseMap<mlir::Value, TileMemory> storages; ///< materialised values and views
  llvm::DenseMap<mlir::Value, int64_t> allocations; ///< values and buffers that own memory
  llvm::DenseMap<mlir::Value, Tensor> tensors;
  llvm::DenseSet<mlir::Operation *> hoisted;
  llvm::DenseMap<mlir::Attribute, mlir::Value> tables;
  PrefetchPlan fetch;
  PrefetchCursor fetching;
  mlir::ModuleOp module;
};

} // namespace polyattn::tile_to_vector

#endif // POLYATTN_LIB_CONVERSION_TILETOVECTOR_KERNELLOWERING_H
