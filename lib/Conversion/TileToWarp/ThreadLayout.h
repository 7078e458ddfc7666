//===- ThreadLayout.h - which thread has which element ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Equal layouts give each element to the same thread, which needs no barrier between what it does
// with the element in one phase and in the next. ThreadElements.h computes a thread's elements from
// a layout.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_THREADLAYOUT_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_THREADLAYOUT_H

#include "polyattn/Target/GPUDescription.h"
#include <cstdint>
#include <tuple>

namespace polyattn::tile_to_warp {

struct ThreadLayout {
  enum class Kind {
    /// `run` neighbours along a line for each thread, line after line; behind the last thread comes
    /// the first one again.
    Runs,
    /// The accumulators of a product: `rowWarps` x `columnWarps` warps with as many 16 x 8
    /// fragments each.
    Accumulators,
    /// A vector, each element in the first of `lanes` lanes. With `neighbours` these are next to
    /// each other, else as far apart as a warp allows.
    LaneSums,
    /// A vector, 16 elements for each warp, warp after warp, in the lanes that have the first
    /// column of accumulators.
    RowSums,
  };

  Kind kind = Kind::Runs;
  int64_t warps = 0; // of the CTA
  int64_t rows = 0, columns = 0;
  bool columnMajor = false;
  int64_t run = 0;
  int64_t rowWarps = 0, columnWarps = 0;
  int64_t lanes = 0;
  bool neighbours = false;
  /// Where the layout begins in a buffer, modulo its rows and columns: windows of one size and
  /// phase are the same one, or have no element in common.
  int64_t rowPhase = 0, columnPhase = 0;

  static ThreadLayout runs(int64_t warps, int64_t rows, int64_t columns, bool columnMajor,
                           int64_t run) {
    ThreadLayout layout = of(Kind::Runs, warps, rows, columns);
    layout.columnMajor = columnMajor;
    layout.run = run;
    return layout;
  }
  static ThreadLayout accumulators(int64_t warps, int64_t rows, int64_t columns, int64_t rowWarps,
                                   int64_t columnWarps) {
    ThreadLayout layout = of(Kind::Accumulators, warps, rows, columns);
    layout.rowWarps = rowWarps;
    layout.columnWarps = columnWarps;
    return layout;
  }
  static ThreadLayout laneSums(int64_t warps, int64_t length, int64_t lanes, bool neighbours) {
    ThreadLayout layout = of(Kind::LaneSums, warps, length, 1);
    layout.lanes = lanes;
    layout.neighbours = neighbours;
    return layout;
  }
  static ThreadLayout rowSums(int64_t warps, int64_t length) {
    return of(Kind::RowSums, warps, length, 1);
  }

  int64_t threads() const { return GPUDescription::warpSize * warps; }
  int64_t lineLength() const { return columnMajor ? rows : columns; }
  int64_t lines() const { return columnMajor ? columns : rows; }

private:
  static ThreadLayout of(Kind kind, int64_t warps, int64_t rows, int64_t columns) {
    ThreadLayout layout;
    layout.kind = kind;
    layout.warps = warps;
    layout.rows = rows;
    layout.columns = columns;
    return layout;
  }
  auto key() const {
    bool stands = kind == Kind::Runs && columnMajor && columns == 1;
    return std::tuple(kind, warps, stands ? 1 : rows, stands ? rows : columns,
                      columnMajor && !stands, run, rowWarps, columnWarps, lanes, neighbours,
                      stands ? columnPhase : rowPhase, stands ? rowPhase : columnPhase);
  }

public:
  /// Vectors of one length are cut alike whether they stand or lie.
  bool operator==(const ThreadLayout &other) const { return key() == other.key(); }
  bool operator!=(const ThreadLayout &other) const { return !(*this == other); }
};

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_THREADLAYOUT_H
