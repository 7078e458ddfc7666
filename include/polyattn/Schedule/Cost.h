//===- Cost.h - floating-point operations that an attention needs -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the algorithm needs, not what some kernel executes: no padding, the lower triangle
// only under an ordered mask, power features stored symmetrically. The number is the
// numerator of every "fraction of peak", so it must not flatter.
//
// One multiply-add is two operations, any other element-wise function one.
//
//   programs   per query (B T H) and per key (B Tk Hkv): project 2 d m (+ m with a bias),
//              a projection of a projection as one where that is less (the product of the
//              weights belongs to no position); element-wise ops, hadamard and add 1 per
//              element and operand beyond the first; layer_norm 5, rope 3, softmax 4, the norms 2
//              or 3 per element.
//              Gradients of weights 2 d m for each pair of vectors that they are sums of.
//   pairs      2 min(leaf width, D) + 2 dv for every pair inside a block of C positions:
//              (C + 1) / 2 per token in a full block. A leaf that a score has several times, as
//              in 1 + s + s^2 / 2, counts once.
//   expansion  1 per product of a power or tensor feature, for each query that reads the
//              state and each key that enters it.
//              A state that is symmetric in the value and a factor of the key (ContractedState.h)
//              is counted as kept: its features once, 4 for each to contract what a query reads.
//              What another attend keeps too, in whatever shape, is updated once.
//   state      read 2 D dv per query beyond the first block, update 2 D dv per key before
//              the last (all of them where a state comes in or goes out).
//
// D is the cheapest width: of a tensor power, or of a tensor product of one vector with
// itself, the symmetric one. The quadratic form is the same with one block. Where it costs
// less, or D is too large to hold, it is the one that counts.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_SCHEDULE_COST_H
#define POLYATTN_SCHEDULE_COST_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "polyattn/Entry/CallSizes.h"

namespace polyattn {

/// The block for which costs are given where the spec does not fix one.
constexpr int64_t kDefaultCostBlock = 64;

struct ForwardCost {
  /// In floating-point operations; f64, since products of sizes pass 2^63.
  double programs = 0, pairs = 0, expansion = 0, state = 0;
  /// True where some attend is counted in its quadratic form.
  bool quadratic = false;

  double total() const { return programs + pairs + expansion + state; }
};

ForwardCost forwardCost(AttentionOp attention, const CallSizes &sizes,
                        int64_t block = kDefaultCostBlock);

/// The number of features with every power stored symmetrically, kHuge where it overflows.
int64_t cheapestWidth(mlir::Value features);

/// The terms of all inner products from which one score is computed, each product once.
int64_t scoreLeafWidth(mlir::Value query, mlir::Value key);

/// The operations of one vector's program, without expansions.
double programFlops(mlir::Value features);

/// What computing one vector takes on a processor, in the time of multiply-adds: functions like exp
/// are polynomials.
double programMultiplyAdds(mlir::Value features);

} // namespace polyattn

#endif // POLYATTN_SCHEDULE_COST_H
