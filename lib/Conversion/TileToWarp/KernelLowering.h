//===- KernelLowering.h - one block program for a CTA -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every op of the program that is not deferred (Placement.h) becomes a phase: all threads of the
// CTA compute its elements and write them to memory, or keep them as accumulators. Barriers.h
// puts barriers between phases.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_KERNELLOWERING_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_KERNELLOWERING_H

#include "Barriers.h"
#include "Emitter.h"
#include "FeatureRuns.h"
#include "MemoryPlan.h"
#include "Placement.h"
#include "lib/Conversion/Analysis/FirstFit.h"
#include "mlir/IR/IRMapping.h"
#include "polyattn/Conversion/Passes.h"
#include "llvm/ADT/SetVector.h"
#include <functional>

namespace polyattn::tile_to_warp {

using Values = llvm::SmallVector<mlir::Value>;

/// Of everything in memory: once around the banks.
inline constexpr int64_t kAlignment = 128;

class KernelLowering {
public:
  KernelLowering(tile::KernelOp kernel, const TileToWarpOptions &options, const MemoryPlan &plan);
  /// Writes a gpu.func for the kernel into `module`; the kernel stays as it is.
  mlir::LogicalResult run(mlir::gpu::GPUModuleOp module);
  /// What it asked of shared memory, once it has run.
  const std::vector<Lifetime> &sharedRequests() const { return shared.requests(); }

private:
  //===--- Function and parameters (KernelLowering.cpp) ---------------------===//
  struct Tensor {
    mlir::Value base; // !llvm.ptr<1>
    mlir::Type element;
    Values sizes, strides; // i64
    mlir::Value aligned;   // i1: every row starts at a multiple of 16 bytes; null for never
  };
  void createFunction(mlir::gpu::GPUModuleOp module);
  void bindProgram();
  void describePrograms();
  mlir::Value narrowSize(tile::ExtentAttr size);
  void lowerProgramId(tile::ProgramIdOp id);
  void bindNarrow(mlir::Value index, mlir::Value number, bool dependsOnProgram);
  mlir::Value narrow(mlir::Value index);
  template <typename Division> mlir::LogicalResult lowerDivision(Division op);
  mlir::LogicalResult lowerQuotient(mlir::arith::DivUIOp op);
  mlir::LogicalResult lowerRemainder(mlir::arith::RemUIOp op);
  /// What lies where for longer than a phase, once it has run (Describe.cpp).
  mlir::ArrayAttr describeMemory();
  void testAlignment();
  /// Batch and heads of this program, as what the code from here on computes with.
  void bindProgramIndices(bool opaque);
  mlir::Value scalar(mlir::Value value) { return mapping.lookupOrDefault(value); }
  /// The same as i32; null where there is none.
  mlir::Value number(mlir::Value value) { return value ? e.toI32(scalar(value)) : value; }

  //===--- Ops in order (Walk.cpp) ------------------------------------------===//
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation &op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp loop);
  /// `stage` is that of the next iteration, null without a pipeline.
  void lowerYield(mlir::scf::ForOp loop, mlir::Value stage);
  void replaceCarried(mlir::Value argument, mlir::Value value,
                      llvm::SmallVectorImpl<std::function<void()>> &writes);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp branch);
  mlir::LogicalResult lowerNumber(mlir::memref::LoadOp load);
  void lowerBuffer(tile::BufferOp buffer);
  void lowerWrite(tile::WriteOp write);
  void lowerConcat(tile::ConcatOp concat);
  void freeAfter(mlir::Operation &op);
  /// A place for a tile: in the workspace where shared memory is full or not asked for.
  Storage allocate(Storage storage, bool inShared = true);
  Storage storageFor(mlir::Value value);
  Storage allocateFor(mlir::Value value);
  bool prefersColumns(mlir::Value value);
  bool feedsTerms(mlir::Value value);
  void beginPhase();
  void bindThread();
  void recordRead(const Storage &storage, const Grid &grid);
  void recordWrite(const Storage &storage, const Grid &grid);

  //===--- Which elements a thread has (Grids.cpp) --------------------------===//
  /// `condition` says whether this thread has the grid at all; null where all have.
  using GridBody = llvm::function_ref<void(const Grid &grid, mlir::Value condition)>;
  /// One grid after another that together cover rows x columns, `run` elements along the lines of
  /// memory. The threads without elements skip `body`.
  void forCopyGrids(int64_t rows, int64_t columns, bool columnMajor, int64_t run, GridBody body);
  void forCopyGrids(const Storage &storage, GridBody body);
  /// Products of one shape that an evaluation computes, and how many of them at once with one right
  /// factor.
  struct ProductCount {
    int64_t all = 1, together = 1;
    int64_t otherRegisters = 0; // that the evaluation needs besides
  };
  /// The accumulators of a rows x columns result, piece by piece where those of all products take
  /// too many registers and `whole` is not set. Warps without any run `body`, too, on another's.
  void forAccumulators(int64_t rows, int64_t columns, const ProductCount &products, bool whole,
                       GridBody body);
  /// The same for a value whose evaluation has products; false for others.
  bool forProducts(mlir::Value value, GridBody body);
  Grid accumulatorGrid(int64_t rows, int64_t columns);

  //===--- Writing (Write.cpp) ----------------------------------------------===//
  /// Evaluates `value` and writes it from row `firstRow` on, with zeros up to the given extent.
  void writeTile(mlir::Value value, const Storage &storage, int64_t firstRow, int64_t paddedRows,
                 int64_t paddedColumns);
  /// The same of a window that leaves its source: what is behind the window is not read.
  void writeWindow(tile::SliceOp window, const Storage &storage);
  bool readsWideElements(mlir::Value value);
  /// Evaluates `value` on the accumulators of `owner`, which has its shape.
  void keepInRegisters(mlir::Value value, mlir::Value owner);
  /// The values, zero where the grid leaves the tile.
  Values padded(mlir::Value tile, const Grid &grid, Values values);
  void storeElements(const Storage &storage, const Grid &grid, mlir::ValueRange values);
  /// The same with the rows shifted, and only for rows below `limit` where that is not zero.
  void storeRows(const Storage &storage, const Grid &grid, mlir::ValueRange values,
                 mlir::Value shift, int64_t limit, mlir::Value condition);
  /// The same for a buffer and its copy for products.
  void storeBuffer(mlir::Value buffer, const Grid &grid, mlir::ValueRange values, mlir::Value row,
                   int64_t limit, mlir::Value condition);
  void storeRun(const Storage &storage, mlir::Value address, mlir::ValueRange values);
  void lowerStore(tile::StoreOp store);
  void storeGlobal(tile::StoreOp store, const Grid &grid, mlir::ValueRange values);
  void storeTensor(const Tensor &tensor, mlir::ValueRange values, mlir::Value offset);

  //===--- Asynchronous copies (Copy.cpp) -----------------------------------===//
  /// Whether this is a part of a tensor whose lines lie there as they will in memory.
  bool canCopy(mlir::Value value, const Storage &storage);
  /// Starts the copies where the tensor's rows are aligned, else moves elements.
  void copyTile(mlir::Value value, const Storage &storage);

  //===--- Copies of the next block (Pipeline.cpp) --------------------------===//
  /// The tiles of a block of positions that a loop copies while it computes on the block before.
  struct Pipeline {
    llvm::SmallVector<std::pair<mlir::Value, Storage>> tiles;
    /// What these blocks' places in their tensors are computed from.
    llvm::SetVector<mlir::Operation *> arithmetic;
    Stages stages;
  };
  /// Offsets are from the beginning of the stage.
  Pipeline collectCopies(mlir::scf::ForOp loop);
  /// With two stages of shared memory, or empty.
  Pipeline openPipeline(mlir::scf::ForOp loop);
  bool isKnownAhead(tile::LoadOp load, mlir::scf::ForOp loop, Pipeline &pipeline);
  /// Of the block at `position`, if that is before `end`.
  void startCopies(Pipeline &pipeline, mlir::scf::ForOp loop, mlir::Value position,
                   mlir::Value end);
  void startFirstCopies(Pipeline &pipeline, mlir::scf::ForOp loop);
  /// Starts those of the next iteration; from here on the tiles are where this iteration has them.
  /// Returns the next iteration's stage.
  mlir::Value startNextCopies(Pipeline &pipeline, mlir::scf::ForOp loop, mlir::scf::ForOp lowered);

  //===--- Evaluation (Evaluate.cpp, Elements.cpp) --------------------------===//
  Values evaluate(mlir::Value value, const Grid &grid);
  Values evaluateOp(mlir::Value value, const Grid &grid);
  /// The values of a grid in the order of its transpose.
  static Values transposed(const Values &values, const Grid &grid);
  Values evaluateMap(tile::MapOp map, const Grid &grid);
  Values evaluateMask(tile::CausalMaskOp mask, const Grid &grid);
  /// `value` outside of a triangle, `otherwise` in it.
  mlir::Value outside(tile::Triangle triangle, mlir::Value row, mlir::Value column,
                      mlir::Value value, mlir::Value otherwise);
  /// Each row is a product of rows of `source` that a table names.
  Values evaluateRows(mlir::Value source, mlir::Value first, llvm::ArrayRef<int64_t> table,
                      int64_t factors, llvm::ArrayRef<double> weights, const Grid &grid);
  Values evaluateExpand(tile::ExpandOp expand, const Grid &grid);
  Values evaluateColumn(tile::ColumnOp column, const Grid &grid);
  Values evaluatePositions(tile::PositionsOp positions, const Grid &grid);
  Values evaluateLoad(tile::LoadOp load, const Grid &grid);
  int64_t runOfLoad(tile::LoadOp load, const Grid &grid);
  Values loadTensor(tile::LoadOp load, const Grid &grid, int64_t run);
  Values evaluateDot(tile::DotOp dot, const Grid &grid);
  /// One element.
  mlir::Value evaluateAt(mlir::Value value, mlir::Value row, mlir::Value column);
  mlir::Value lookup(mlir::Value index, mlir::ElementsAttr table);
  Grid shifted(const Grid &grid, mlir::Value row, mlir::Value column);
  /// The address of each run of a grid's elements that lie together in memory, up to 16 bytes, and
  /// their numbers in the grid.
  using RunBody = llvm::function_ref<void(mlir::Value address, llvm::ArrayRef<int64_t> elements)>;
  void forRuns(const Storage &storage, const Grid &grid, RunBody body);
  Values loadElements(const Storage &storage, const Grid &grid);
  /// The same with the rows shifted; zeros for rows from `limit` on where that is not zero.
  Values loadRows(const Storage &storage, const Grid &grid, mlir::Value shift, int64_t limit);
  void loadRun(const Storage &storage, mlir::Value address, int64_t run, Values &elements);
  /// The byte address of an element of a grid, with what depends on the thread computed once.
  mlir::Value address(const Storage &storage, const Coordinates &line, const Coordinates &along,
                      int64_t lineOffset, int64_t alongOffset);
  /// i64, in bytes, of a tensor's element that the indices name.
  mlir::Value tensorOffset(const Tensor &tensor, mlir::ValueRange indices);

  //===--- Clusters (Cluster.cpp) -------------------------------------------===//
  mlir::LogicalResult lowerClusterSum(tile::ClusterSumOp sum);
  /// A phase behind a barrier of the whole cluster.
  void beginClusterPhase();
  /// Adds what the other CTAs have at the elements of a grid.
  void addRemote(const Storage &storage, const Grid &grid, Values &values);

  //===--- Products (Dot.cpp, Fragments.cpp) --------------------------------===//
  /// A tile in memory as its user sees it.
  struct Window {
    Storage storage;
    bool transposed = false;
    mlir::Value row, column; // shifts in the storage's coordinates, null for zero
    int64_t alignment = 8;   // of the shift along lines
  };
  std::optional<Window> windowOf(mlir::Value value);
  /// Where a value can be read by ldmatrix.
  std::optional<Window> matricesOf(mlir::Value value);
  struct Product {
    mlir::Value lhs, rhs;
    mlir::Value bound; // of the terms: i32, or null
    bool lhsTransposed;
    int64_t terms;
    bool rhsIsZeroPastBound;
    bool lhsIsLower = false; // row i sums its first i + 1 terms
  };
  Product productOf(mlir::Value lhs, mlir::Value rhs, mlir::Value bound, bool lhsTransposed);
  Product productOf(tile::DotOp dot);
  Values initialSums(tile::DotOp dot, const Grid &grid);
  struct RowSums;
  /// Adds products that have one right factor, bound and number of terms to their accumulators.
  /// `rowSums` are written beside the only one.
  llvm::SmallVector<Values> multiply(llvm::ArrayRef<Product> products, const WarpTile &warpTile,
                                     llvm::ArrayRef<Values> accumulators,
                                     const RowSums *rowSums = nullptr);
  void collectProducts(mlir::Value value, llvm::SmallVectorImpl<tile::DotOp> &products);
  /// Computes those products of a value's evaluation that have a right factor in common, so that
  /// each of its fragments is loaded once.
  void multiplySiblings(mlir::Value value, const Grid &grid);
  /// The largest number of products that `multiplySiblings` would compute at once, 1 without any.
  int64_t countSiblings(mlir::Value value);
  /// The registers of a factor's 16 rows or 8 columns, and what tf32 leaves over.
  struct Fragments {
    llvm::SmallVector<Values> high, low;
  };
  /// Of `count` tiles from the first on.
  Fragments loadFragments(const Product &product, bool isLhs, const WarpTile &warpTile,
                          mlir::Value term, int64_t first, int64_t count);
  bool loadMatrices(const Product &product, bool isLhs, const WarpTile &warpTile, mlir::Value term,
                    int64_t first, int64_t count, Fragments &fragments);
  Values evaluateFactor(const Product &product, bool isLhs, const Coordinates &outer,
                        const Coordinates &terms);
  /// One 16 x 8 piece: D += A B over the terms of a fragment.
  void multiplyPiece(const Values &a, const Values &b, llvm::MutableArrayRef<mlir::Value> sums);
  void maskTerms(Fragments &fragments, bool isLhs, mlir::Value term, mlir::Value bound);
  /// With the sums over rows of its left factor that `beside` asks for, if it is there.
  void lowerAccumulate(tile::AccumulateOp op, tile::ReduceOp beside = {});

  //===--- Products with a triangle (Triangle.cpp) --------------------------===//
  /// Adds a step's terms from `term` on to the rows of a warp's tile from the 16 `firstRows`-th on.
  /// With `badTerms`, those that are NaN or infinite are left out and noted there.
  using AddTerms = llvm::function_ref<Values(mlir::Value term, mlir::ValueRange sums,
                                             int64_t firstRows, mlir::Value *badTerms)>;
  /// The sums with what products add whose row i has i + 1 terms.
  Values multiplyTriangle(llvm::ArrayRef<Product> products, const WarpTile &warpTile, Values sums,
                          AddTerms addTerms);
  /// Makes parts of a right factor that are NaN or infinite zero, and sets bits of `seen`.
  void leaveBadTerms(Fragments &fragments, mlir::Value &seen);
  /// Whether a lane of the warp has set such bits: i1.
  mlir::Value hasBadTerms(mlir::Value seen);
  /// The same of an element: i1.
  mlir::Value isBadTerm(mlir::Value term);
  /// Adds what was left out to the rows that see it, term by term.
  Values addBadTerms(llvm::ArrayRef<Product> products, const WarpTile &warpTile, Values sums);

  //===--- Features as factors (Features.cpp) -------------------------------===//
  /// How the features of a left factor are formed in registers; none where it is no such factor.
  std::optional<FeatureRuns> runsToForm(mlir::Value factor);
  /// Of a lane's matrix, whose first element the tile has at (row, column).
  mlir::Value matrixAddress(const Window &window, mlir::Value row, mlir::Value column);
  /// f32, null for 1.
  mlir::Value weightOf(const FeatureRuns &runs, mlir::Value run);
  /// What the terms of one run are products of, for each eight positions of a warp's tile: two of
  /// the eight right numbers, and all left numbers, two in a word.
  struct RunFactors {
    Values right;
    llvm::SmallVector<Values> left;
  };
  Values loadEights(const Window &source, mlir::Value feature, const WarpTile &warpTile);
  llvm::SmallVector<Values> loadLefts(const Window &source, mlir::Value left, int64_t lefts,
                                      const WarpTile &warpTile);
  /// Of the run that begins at `term`.
  RunFactors loadRunFactors(const Product &product, const FeatureRuns &runs,
                            const WarpTile &warpTile, mlir::Value term);
  /// Of the 16 terms at `offset` in the run.
  Fragments formTerms(const RunFactors &factors, int64_t offset);
  /// Features in rows, at the 16 positions from `term` on.
  Fragments formRows(const Product &product, const FeatureRuns &runs, const WarpTile &warpTile,
                     mlir::Value term);

  //===--- Sums (Reduce.cpp) ------------------------------------------------===//
  /// For each of some outputs i the sum or the largest of terms (i, k).
  struct Reduction {
    int64_t outputs, length; // the numbers of i and k
    mlir::Value bound;       // k is below it, i32; null for all
    tile::ReduceKind kind = tile::ReduceKind::Add;
    /// The terms of one i and several k.
    std::function<Values(mlir::Value i, const Coordinates &k)> terms;
    /// Whether these lie together in memory.
    bool alongLines = true;
    /// Where the terms are products of a matrix's elements (i, k), or (k, i) where it is
    /// transposed, with those of a vector, or with 1 where there is none.
    mlir::Value matrix, vector;
    bool transposed = false;
  };
  using WriteSum =
      llvm::function_ref<void(mlir::Value i, mlir::Value result, const ThreadLayout &layout)>;
  /// Each output by several lanes; `write` runs in one of them, which the layout names.
  void reduceEach(const Reduction &reduction, WriteSum write);
  /// The same as `reduceEach` into a vector, with zeros in its padding. `finish` is applied to each
  /// result.
  void reduceInto(mlir::Value vector, Reduction reduction,
                  llvm::function_ref<mlir::Value(mlir::Value i, mlir::Value result)> finish);
  /// A sum of products of a matrix and a vector.
  Reduction productReduction(mlir::Value matrix, bool transposed, mlir::Value vector,
                             mlir::Value bound);
  /// Whether the elements of a row lie together in memory, or of a column.
  bool liesByRows(mlir::Value matrix);
  void lowerReduce(tile::ReduceOp reduce);
  void lowerVectorProduct(tile::DotOp dot);
  void lowerVectorAccumulate(tile::AccumulateOp op);

  //===--- Running sums (CumulativeSum.cpp) ---------------------------------===//
  void lowerCumulativeSum(tile::CumulativeSumOp sum);

  //===--- Sums of rows on the tensor cores (RowSums.cpp) -------------------===//
  /// The product of the left factor, `rows` of it, with a vector, or with 1 where that is null.
  struct RowSums {
    mlir::Value vector;
    int64_t rows;
    /// In one lane for each row.
    std::function<void(mlir::Value row, mlir::Value sum)> write;
  };
  /// The same as `reduceEach` where the matrix can be read by ldmatrix; else false.
  bool reduceByProducts(const Reduction &reduction, WriteSum write);
  /// The 16 x 8 right factor of a sum: a vector, in two columns that add up to it.
  Values vectorFragment(mlir::Value vector, mlir::Value term);
  /// Of the fragments of 16 rows each from the first on, that whose sums this warp computes: warps
  /// with the same rows share the work.
  Values ownShare(llvm::ArrayRef<Values> fragments, int64_t first, const WarpTile &warpTile);
  void writeRowSums(const RowSums &rowSums, const WarpTile &warpTile,
                    llvm::ArrayRef<mlir::Value> sums);
  bool canHaveRowSums(tile::DotOp dot);
  /// A later product of a vector with the transposed left factor of `dot`, or null.
  tile::DotOp vectorProductBeside(tile::DotOp dot);
  /// A later sum over the columns of the left factor of `dot`, or null.
  tile::ReduceOp columnSumBeside(tile::DotOp dot);
  /// A later update whose left factor `reduce` sums up, and that may as well come now; or null.
  tile::AccumulateOp updateBeside(tile::ReduceOp reduce);
  /// What these ops compute, into memory that is allocated for it.
  RowSums rowSumsInto(mlir::Value result, mlir::Value vector, mlir::Value initial);
  RowSums rowSumsOf(tile::DotOp product);
  RowSums rowSumsOf(tile::ReduceOp reduce);

  tile::KernelOp kernel;
  TileToWarpOptions options;
  const MemoryPlan &plan;
  Placement placement;
  Emitter e;
  Barriers barriers;
  FirstFit shared, workspace;
  llvm::DenseMap<mlir::Value, Tensor> tensors;
  mlir::IRMapping mapping; // scalars
  llvm::DenseMap<mlir::Value, Storage> storages;
  /// What products read of buffers: the same numbers, rounded to bf16.
  llvm::DenseMap<mlir::Value, Storage> operandCopies;
  llvm::DenseMap<mlir::Value, Values> registers;
  /// Products of the evaluation at hand that were computed with their siblings.
  llvm::DenseMap<mlir::Value, Values> multiplied;
  /// Values whose storage has not been given back.
  llvm::DenseSet<mlir::Value> allocated;
  /// Values that are in their storage or registers by now.
  llvm::DenseSet<mlir::Value> computed;
  /// Tiles of which the loop copies the next one ahead.
  llvm::DenseSet<mlir::Value> pipelined;
  /// Updates that came with an op before them.
  llvm::DenseSet<mlir::Operation *> early;
  mlir::Value warp, workspacePointer;
  mlir::Value clusterRank;                    // i32, null without clusters
  llvm::SmallVector<mlir::Value> coordinates; // i32, one for each axis of the grid of programs
  llvm::DenseMap<mlir::Value, mlir::Value> narrowNumbers;                   // of indices: i32
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>, 3> programIndices; // the index, i32
  mlir::Value firstLane;                                                    // the lane's number
  mlir::Value lane, thread;                                                 // of the open phase
  /// Of a program's workspace, known at the end.
  mlir::arith::ConstantOp workspaceBytes;
};

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_KERNELLOWERING_H
