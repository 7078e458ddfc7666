//===- KernelLowering.h - one tile kernel for a CTA -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every op of the program that is not deferred (ResidencyAnalysis.h) becomes a phase: all threads
// of the CTA compute its elements and write them to memory, or keep them as accumulators.
// Barriers.h puts barriers between phases.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_KERNELLOWERING_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_KERNELLOWERING_H

#include "Barriers.h"
#include "Emitter.h"
#include "FeatureRuns.h"
#include "MemoryPlan.h"
#include "ResidencyAnalysis.h"
#include "lib/TileAnalysis/FirstFit.h"
#include "mlir/IR/IRMapping.h"
#include "polyattn/Conversion/Passes.h"
#include "llvm/ADT/SetVector.h"
#include <functional>

namespace polyattn::tile_to_warp {

using Values = llvm::SmallVector<mlir::Value>;

/// Alignment of everything in shared memory: once around the banks, in bytes.
inline constexpr int64_t kAlignment = 128;

/// The requests of a kernel for shared memory. A moment is the number of requests before it.
struct MemoryUse {
  struct Load {
    int64_t request; // -1 where its elements are loaded where they are needed
    int64_t bytes;
    bool isCopy; // or could be one
  };
  struct Moments {
    int64_t before, after;
  };
  std::vector<Lifetime> requests;
  llvm::DenseMap<mlir::Operation *, Moments> moments;
  llvm::DenseMap<mlir::Operation *, Load> loads;
};

struct RowBuffer; // of Fourier.cpp

class KernelLowering {
public:
  KernelLowering(tile::KernelOp kernel, const TileToWarpOptions &options, const MemoryPlan &plan);
  /// Writes a gpu.func for the kernel into `module`; the kernel stays as it is.
  mlir::LogicalResult run(mlir::gpu::GPUModuleOp module);
  /// What it asked of shared memory, once it has run.
  MemoryUse takeMemoryUse() {
    memoryUse.requests = shared.requests();
    return std::move(memoryUse);
  }
  /// The loops that copy the next block ahead, in program order.
  llvm::ArrayRef<mlir::scf::ForOp> loopsThatCopyAhead() const { return pipelinedLoops; }

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
  /// In which memory values live that outlast a phase, once it has run (Describe.cpp).
  mlir::ArrayAttr describeMemory();
  void testAlignment();
  /// Batch and heads of this program, as what the code from here on computes with.
  void bindProgramIndices(bool opaque);
  mlir::Value scalar(mlir::Value value) { return mapping.lookupOrDefault(value); }
  /// The value of a scalar as i32; null where there is none.
  mlir::Value toI32(mlir::Value value) { return value ? e.toI32(scalar(value)) : value; }

  //===--- Ops in order (LowerOps.cpp) --------------------------------------===//
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation &op);
  mlir::LogicalResult lowerScalarLoad(mlir::memref::LoadOp load);
  void lowerBuffer(tile::BufferOp buffer);
  void lowerWrite(tile::WriteOp write);
  void lowerConcat(tile::ConcatOp concat);
  void noteMappedLoad(tile::LoadOp load);
  void freeAfter(mlir::Operation &op);
  /// Allocates memory for a tile: in the workspace where shared memory is full or not asked for.
  TileMemory allocate(TileMemory storage, bool inShared = true);
  TileMemory storageFor(mlir::Value value);
  TileMemory allocateFor(mlir::Value value);
  bool prefersColumns(mlir::Value value);
  bool feedsTerms(mlir::Value value);
  void beginPhase();
  void bindThread();
  void recordRead(const TileMemory &storage, const ThreadElements &owned);
  void recordWrite(const TileMemory &storage, const ThreadElements &owned);
  /// Records accesses to a tensor, if the kernel both writes and reads it.
  void recordTensor(mlir::Value memref, bool isWrite);

  //===--- Control flow (ControlFlow.cpp) -----------------------------------===//
  mlir::LogicalResult lowerFor(mlir::scf::ForOp loop);
  /// `stage` is the buffer of the next iteration, null without a pipeline.
  void passOnRegisters(mlir::scf::ForOp loop);
  void lowerYield(mlir::scf::ForOp loop, mlir::Value stage);
  /// What is left to do for a tile in memory once all new values are computed.
  using Writes = llvm::SmallVector<std::function<void()>>;
  void replaceCarried(mlir::Value argument, mlir::OpOperand &yielded, Writes &writes);
  void replaceVector(mlir::Value argument, mlir::Value value, Writes &writes);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp branch);

  //===--- Which elements a thread has (ThreadElements.cpp) -----------------===//
  /// `condition` says whether this thread has any of these elements; null where every thread has.
  using ElementsBody = llvm::function_ref<void(const ThreadElements &owned, mlir::Value condition)>;
  /// Covers rows x columns in passes in which each thread has `run` elements along the lines of
  /// memory. Threads without elements skip `body`.
  void forCopyRuns(int64_t rows, int64_t columns, bool columnMajor, int64_t run, ElementsBody body);
  void forCopyRuns(const TileMemory &storage, ElementsBody body);
  /// Products of one shape that an evaluation computes, and how many of them at once with one right
  /// factor.
  struct ProductCount {
    int64_t all = 1, together = 1;
    int64_t otherRegisters = 0; // that the evaluation needs besides
  };
  /// The accumulators of a rows x columns result, fragment by fragment where those of all products
  /// take too many registers and `whole` is not set. Warps without any run `body`, too, on
  /// another's.
  void forAccumulators(int64_t rows, int64_t columns, const ProductCount &products, bool whole,
                       ElementsBody body);
  /// `forAccumulators` for a value whose evaluation computes products; false for other values.
  bool forProducts(mlir::Value value, ElementsBody body);
  ThreadElements accumulatorElements(int64_t rows, int64_t columns);

  //===--- Writing (Write.cpp) ----------------------------------------------===//
  /// Evaluates `value` and writes it from row `firstRow` on, with zeros up to the given extent.
  void writeTile(mlir::Value value, const TileMemory &storage, int64_t firstRow, int64_t paddedRows,
                 int64_t paddedColumns);
  llvm::SetVector<mlir::Value> loadsOf(mlir::Value root);
  /// `forCopyRuns` for a value that is computed from tensors: all passes load their elements before
  /// the first one computes. False where there is nothing to load, or too much.
  bool forLoadedRuns(mlir::Value value, int64_t rows, int64_t columns, bool columnMajor,
                     int64_t run, ElementsBody body);
  /// Writes a window that reaches beyond its source: elements behind the window are not read.
  void writeWindow(tile::SliceOp window, const TileMemory &storage);
  bool readsWideElements(mlir::Value value);
  /// The accumulators of `value`, computed in a phase of their own.
  Values evaluateInRegisters(mlir::Value value);
  /// Keeps those of `value` as the ones of `owner`.
  void keepInRegisters(mlir::Value value, mlir::Value owner);
  /// The values, with zeros for elements outside of the tile.
  Values padded(mlir::Value tile, const ThreadElements &owned, Values values);
  void storeElements(const TileMemory &storage, const ThreadElements &owned,
                     mlir::ValueRange values);
  /// `storeElements` with the rows shifted, and only for rows below `limit` where that is not zero.
  void storeRows(const TileMemory &storage, const ThreadElements &owned, mlir::ValueRange values,
                 mlir::Value shift, int64_t limit, mlir::Value condition);
  /// `storeRows` for a buffer and its bf16 copy, where it has one.
  void storeBuffer(mlir::Value buffer, const ThreadElements &owned, mlir::ValueRange values,
                   mlir::Value row, int64_t limit, mlir::Value condition);
  void storeRun(const TileMemory &storage, mlir::Value address, mlir::ValueRange values);
  void lowerStore(tile::StoreOp store);
  void storeGlobal(tile::StoreOp store, const ThreadElements &owned, mlir::ValueRange values);
  void storeTensor(const Tensor &tensor, mlir::ValueRange values, mlir::Value offset);

  //===--- Asynchronous copies (Copy.cpp) -----------------------------------===//
  /// Whether this is a part of a tensor whose lines lie there as they will in memory, or a vector
  /// of elements of 4 bytes.
  bool canCopy(mlir::Value value, const TileMemory &storage);
  bool canCopyRows(mlir::Value value, const TileMemory &storage);
  bool canCopyElements(mlir::Value value, const TileMemory &storage);
  /// Starts the copies. Rows of the tensor that are not aligned are moved element by element
  /// instead.
  void copyTile(mlir::Value value, const TileMemory &storage);
  void copyRows(mlir::Value value, const TileMemory &storage);
  void copyElements(tile::LoadOp load, const TileMemory &storage);
  /// Ends a group of copies. A wait for it does not wait for groups that start after it.
  void closeCopies();

  //===--- Copies of the next block (Pipeline.cpp) --------------------------===//
  /// The tiles of a block of positions that a loop copies while it computes on the block before.
  struct Pipeline {
    llvm::SmallVector<std::pair<mlir::Value, TileMemory>> tiles;
    /// The ops that compute where these blocks begin in their tensors.
    llvm::SetVector<mlir::Operation *> arithmetic;
    DoubleBuffer doubleBuffer;
  };
  /// Offsets of the tiles are relative to the start of a buffer.
  Pipeline collectCopies(mlir::scf::ForOp loop);
  /// The pipeline with its double buffer in shared memory, or an empty one.
  Pipeline openPipeline(mlir::scf::ForOp loop);
  bool isKnownAhead(tile::LoadOp load, mlir::scf::ForOp loop, Pipeline &pipeline);
  /// Starts the copies of the block at `position`, if that is before `end`.
  void startCopies(Pipeline &pipeline, mlir::scf::ForOp loop, mlir::Value position,
                   mlir::Value end);
  void startFirstCopies(Pipeline &pipeline, mlir::scf::ForOp loop);
  /// Starts the copies of the next iteration, and points the tiles at this iteration's buffer.
  /// Returns the next iteration's buffer.
  mlir::Value startNextCopies(Pipeline &pipeline, mlir::scf::ForOp loop, mlir::scf::ForOp lowered);

  //===--- Evaluation (Evaluate.cpp, Elements.cpp) --------------------------===//
  Values evaluate(mlir::Value value, const ThreadElements &owned);
  Values evaluateOp(mlir::Value value, const ThreadElements &owned);
  /// The values of a thread's elements in the order of their transpose.
  static Values transposed(const Values &values, const ThreadElements &owned);
  Values evaluateMap(tile::MapOp map, const ThreadElements &owned);
  llvm::SmallVector<unsigned> orderOfInputs(tile::MapOp map, const ThreadElements &owned);
  Values evaluateMask(tile::CausalMaskOp mask, const ThreadElements &owned);
  /// Whether an element is outside of a triangle: i1.
  mlir::Value isOutside(tile::Triangle triangle, mlir::Value row, mlir::Value column);
  /// `value` outside of a triangle, `otherwise` in it.
  mlir::Value outside(tile::Triangle triangle, mlir::Value row, mlir::Value column,
                      mlir::Value value, mlir::Value otherwise);
  /// Each row is a product of rows of `source` that a table names.
  Values evaluateRows(mlir::Value source, mlir::Value first, llvm::ArrayRef<int64_t> table,
                      int64_t factors, llvm::ArrayRef<double> weights, const ThreadElements &owned);
  Values evaluateMonomials(tile::MonomialsOp monomials, const ThreadElements &owned);
  Values evaluateColumn(tile::ConstantColumnOp column, const ThreadElements &owned);
  Values evaluateIota(tile::IotaOp iota, const ThreadElements &owned);
  Values evaluateToeplitz(tile::ToeplitzOp toeplitz, const ThreadElements &owned);
  Values evaluateLoad(tile::LoadOp load, const ThreadElements &owned);
  /// Loads a thread's elements of several passes at once, so that it waits for all together.
  llvm::SmallVector<Values> loadRuns(tile::LoadOp load, llvm::ArrayRef<ThreadElements> owned);
  int64_t runOfLoad(tile::LoadOp load, const ThreadElements &owned);
  Values loadTensor(tile::LoadOp load, const ThreadElements &owned, int64_t run);
  Values evaluateDot(tile::DotOp dot, const ThreadElements &owned);
  /// One element.
  mlir::Value evaluateAt(mlir::Value value, mlir::Value row, mlir::Value column);
  mlir::Value lookup(mlir::Value index, mlir::ElementsAttr table);
  ThreadElements shifted(const ThreadElements &owned, mlir::Value row, mlir::Value column);
  /// The address of each run of a thread's elements that are contiguous in memory, up to 16 bytes,
  /// and the indices of these elements.
  using RunBody = llvm::function_ref<void(mlir::Value address, llvm::ArrayRef<int64_t> elements)>;
  void forRuns(const TileMemory &storage, const ThreadElements &owned, RunBody body);
  Values loadElements(const TileMemory &storage, const ThreadElements &owned);
  /// `loadElements` with the rows shifted, and zeros for rows from `limit` on where that is not
  /// zero.
  Values loadRows(const TileMemory &storage, const ThreadElements &owned, mlir::Value shift,
                  int64_t limit);
  void loadRun(const TileMemory &storage, mlir::Value address, int64_t run, Values &elements);
  /// The byte address of one of a thread's elements; what depends on the thread is computed once.
  mlir::Value address(const TileMemory &storage, const Coordinates &line, const Coordinates &along,
                      int64_t lineOffset, int64_t alongOffset);
  /// The byte offset of a tensor's element at these indices, i64.
  mlir::Value tensorOffset(const Tensor &tensor, mlir::ValueRange indices);

  //===--- Clusters (Cluster.cpp) -------------------------------------------===//
  mlir::LogicalResult lowerClusterSum(tile::ClusterSumOp sum);
  /// A phase behind a barrier of the whole cluster.
  void beginClusterPhase();
  /// Adds what the other CTAs of the cluster have at these elements.
  void addRemote(const TileMemory &storage, const ThreadElements &owned, Values &values);

  //===--- Products (Dot.cpp, Fragments.cpp) --------------------------------===//
  /// A tile in memory as its user sees it.
  struct Window {
    TileMemory storage;
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
    bool lhsIsZeroPastBound = false, rhsIsZeroPastBound = false;
    /// With a lower one row i sums its first i + 1 terms, with an upper one those from i on.
    tile::Triangle lhsTriangle = tile::Triangle::None;
  };
  Product productOf(mlir::Value lhs, mlir::Value rhs, mlir::Value bound, bool lhsTransposed);
  Product productOf(tile::DotOp dot);
  Values initialAccumulators(tile::DotOp dot, const ThreadElements &owned);
  struct RowSums;
  /// Adds products that have one right factor, bound and number of terms to their accumulators.
  /// With a single product, `rowSums` are computed along with it.
  llvm::SmallVector<Values> multiply(llvm::ArrayRef<Product> products, const WarpTile &warpTile,
                                     llvm::ArrayRef<Values> accumulators,
                                     const RowSums *rowSums = nullptr);
  void collectProducts(mlir::Value value, llvm::SmallVectorImpl<tile::DotOp> &products);
  /// Computes those products of a value's evaluation that have a right factor in common, so that
  /// each of its fragments is loaded once.
  void multiplySiblings(mlir::Value value, const ThreadElements &owned);
  /// The largest number of products that `multiplySiblings` would compute at once, 1 without any.
  int64_t countSiblings(mlir::Value value);
  /// The registers of a factor's 16 rows or 8 columns, and what tf32 leaves over.
  struct Fragments {
    llvm::SmallVector<Values> high, low;
  };
  /// Loads the fragments of `count` row or column tiles from `first` on.
  Fragments loadFragments(const Product &product, bool isLhs, const WarpTile &warpTile,
                          mlir::Value term, int64_t first, int64_t count);
  /// The 16 terms from `term` on of a left factor whose rows the warp has in registers.
  Fragments fragmentsInRegisters(mlir::Value factor, int64_t term);
  void addPair(mlir::Value first, mlir::Value second, Values &high, Values &low);
  bool loadMatrices(const Product &product, bool isLhs, const WarpTile &warpTile, mlir::Value term,
                    int64_t first, int64_t count, Fragments &fragments);
  Values evaluateFactor(const Product &product, bool isLhs, const Coordinates &outer,
                        const Coordinates &terms);
  /// One mma: D += A B for 16 x 8 accumulators over the terms of the fragments.
  void multiplyFragment(const Values &a, const Values &b,
                        llvm::MutableArrayRef<mlir::Value> accumulators);
  void maskTerms(Fragments &fragments, bool isLhs, mlir::Value term, mlir::Value bound);
  /// Also computes `fused`, a sum over the columns of the left factor, where it is given.
  void lowerAccumulate(tile::AccumulateOp op, tile::ReduceOp fused = {});

  //===--- Products with a triangle (Triangle.cpp) --------------------------===//
  /// Row tiles of a warp's tile, from `first` to before `end`.
  struct RowTiles {
    int64_t first, end;
  };
  /// Adds a step's terms from `term` on to the rows of some tiles. With `badTerms`, those that are
  /// NaN or infinite are left out and noted there.
  using AddTerms = llvm::function_ref<Values(mlir::Value term, mlir::ValueRange sums, RowTiles rows,
                                             mlir::Value *badTerms)>;
  /// The sums with what products add whose left factor is a triangle.
  Values multiplyTriangle(llvm::ArrayRef<Product> products, const WarpTile &warpTile,
                          Values accumulators, AddTerms addTerms);
  /// Makes parts of a right factor that are NaN or infinite zero, and sets bits of `seen`.
  void leaveBadTerms(Fragments &fragments, mlir::Value &seen);
  /// Whether a lane of the warp has set such bits: i1.
  mlir::Value hasBadTerms(mlir::Value seen);
  /// Whether an element is NaN or infinite: i1.
  mlir::Value isBadTerm(mlir::Value term);
  /// Adds what was left out to the rows that see it, term by term.
  Values addBadTerms(llvm::ArrayRef<Product> products, const WarpTile &warpTile,
                     Values accumulators);

  //===--- Features as factors (Features.cpp) -------------------------------===//
  /// How the features of a left factor are formed in registers; none where it is no such factor.
  std::optional<FeatureRuns> runsToForm(mlir::Value factor);
  /// The address that a lane gives ldmatrix for a matrix whose first element is (row, column) of
  /// the tile.
  mlir::Value matrixAddress(const Window &window, mlir::Value row, mlir::Value column);
  /// f32, null for 1.
  mlir::Value weightOf(const FeatureRuns &runs, mlir::Value run);
  /// The factors of a run's terms, for each eight positions of a warp's tile: two of the eight
  /// right factors, and all left factors, packed two in a word.
  struct RunFactors {
    Values right;
    llvm::SmallVector<Values> left;
  };
  Values loadEightRows(const Window &source, mlir::Value feature, const WarpTile &warpTile);
  llvm::SmallVector<Values> loadLeftFactors(const Window &source, mlir::Value left,
                                            int64_t leftCount, const WarpTile &warpTile);
  /// The factors of the run that begins at `term`.
  RunFactors loadRunFactors(const Product &product, const FeatureRuns &runs,
                            const WarpTile &warpTile, mlir::Value term);
  /// The fragments of the 16 terms at `offset` in the run.
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
    /// Whether the terms of one i are contiguous in memory.
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
  /// `reduceEach` into a vector, with zeros in its padding; `finish` is applied to each result.
  void reduceInto(mlir::Value vector, Reduction reduction,
                  llvm::function_ref<mlir::Value(mlir::Value i, mlir::Value result)> finish);
  /// A sum of products of a matrix and a vector.
  Reduction productReduction(mlir::Value matrix, bool transposed, mlir::Value vector,
                             mlir::Value bound);
  /// Whether the elements of a row lie together in memory, or of a column.
  bool liesByRows(mlir::Value matrix);
  void lowerReduce(tile::ReduceOp reduce);
  void reduceRegisters(tile::ReduceOp reduce);
  void lowerDiagonalSums(tile::DiagonalSumsOp sums);
  void lowerVectorProduct(tile::DotOp dot);
  void lowerVectorAccumulate(tile::AccumulateOp op);

  //===--- States in tensors (Recur.cpp) ------------------------------------===//
  struct StateWalk;
  void lowerRecur(tile::RecurOp recur);

  //===--- Transforms of tensors' columns (Fourier.cpp) ---------------------===//
  void lowerPowerOfTwo(tile::PowerOfTwoOp op);
  /// The rows of complex numbers of a tensor, from indices on.
  RowBuffer rowsFrom(mlir::Value memref, mlir::ValueRange indices);
  void lowerFourierRoots(tile::FourierRootsOp op);
  void lowerFourier(tile::FourierOp op);
  void lowerMultiplySpectra(tile::MultiplySpectraOp op);

  //===--- Running sums (CumulativeSum.cpp) ---------------------------------===//
  void lowerCumulativeSum(tile::CumulativeSumOp sum);

  //===--- Sums of rows on the tensor cores (RowSums.cpp) -------------------===//
  /// The product of the left factor, `rows` of it, with a vector, or with 1 where that is null.
  struct RowSums {
    mlir::Value vector;
    int64_t rows;
    /// Called in one lane for each row.
    std::function<void(mlir::Value row, mlir::Value sum)> write;
    /// Called in one lane for each row of padding, up to a multiple of 16, where it is not null.
    std::function<void(mlir::Value row)> clear = {};
  };
  /// `reduceEach` on the tensor cores where the matrix can be read by ldmatrix; else false.
  bool reduceByProducts(const Reduction &reduction, WriteSum write);
  /// The 16 x 8 right factor of a sum: a vector, in two columns that add up to it.
  Values vectorFragment(mlir::Value vector, mlir::Value term);
  /// The one of the fragments of 16 rows each, from `first` on, whose sums this warp computes:
  /// warps with the same rows share the work.
  Values ownShare(llvm::ArrayRef<Values> fragments, int64_t first, const WarpTile &warpTile);
  void writeRowSums(const RowSums &rowSums, const WarpTile &warpTile,
                    llvm::ArrayRef<mlir::Value> sums);
  bool canHaveRowSums(tile::DotOp dot);
  /// A later product of a vector with the transposed left factor of `dot` that can be computed
  /// along with it, or null.
  tile::DotOp vectorProductToFuse(tile::DotOp dot);
  /// A later sum over the columns of the left factor of `dot` that can be computed along with it,
  /// or null.
  tile::ReduceOp columnSumToFuse(tile::DotOp dot);
  /// A later update whose left factor `reduce` sums up, and that can be emitted together with it;
  /// or null.
  tile::AccumulateOp updateToFuse(tile::ReduceOp reduce);
  /// The row sums that an op computes, and memory that is allocated for its result.
  RowSums rowSumsInto(mlir::Value result, mlir::Value vector, mlir::Value initial);
  RowSums rowSumsOf(tile::DotOp product);
  RowSums rowSumsOf(tile::ReduceOp reduce);

  tile::KernelOp kernel;
  TileToWarpOptions options;
  const MemoryPlan &plan;
  ResidencyAnalysis residency;
  Emitter e;
  Barriers barriers;
  FirstFit shared, workspace;
  MemoryUse memoryUse;
  llvm::SmallVector<unsigned> usedTensors; // which have parameters
  llvm::DenseMap<mlir::Value, Tensor> tensors;
  mlir::IRMapping mapping; // scalars
  llvm::DenseMap<mlir::Value, TileMemory> storages;
  /// Copies of buffers rounded to bf16, which products read.
  llvm::DenseMap<mlir::Value, TileMemory> bf16Copies;
  llvm::DenseMap<mlir::Value, Values> registers;
  /// Elements of tensors that this pass of an evaluation has loaded before.
  llvm::DenseMap<mlir::Value, Values> preloaded;
  /// Products of the evaluation at hand that were computed with their siblings.
  llvm::DenseMap<mlir::Value, Values> multiplied;
  /// Values whose storage has not been given back.
  llvm::DenseSet<mlir::Value> allocated;
  /// Values that are in their storage or registers by now.
  llvm::DenseSet<mlir::Value> computed;
  /// Loops that copy ahead, in program order, and their tiles.
  llvm::SmallVector<mlir::scf::ForOp> pipelinedLoops;
  llvm::DenseSet<mlir::Value> pipelined;
  /// Updates that were emitted along with an op before them.
  llvm::DenseSet<mlir::Operation *> emittedEarly;
  mlir::Value warp, workspacePointer;
  mlir::Value clusterRank;                    // i32, null without clusters
  llvm::SmallVector<mlir::Value> coordinates; // i32, one for each axis of the grid of programs
  llvm::DenseMap<mlir::Value, mlir::Value> narrowNumbers;                   // of indices: i32
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>, 3> programIndices; // the index, i32
  mlir::Value firstLane;                                                    // the lane id
  mlir::Value lane, thread;                                                 // of the open phase
  /// The bytes of a program's workspace, known at the end.
  mlir::arith::ConstantOp workspaceBytes;
};

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_KERNELLOWERING_H
