//===- FeatureOpDispatch.h - one function per feature op --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Levels that give every feature op a meaning of theirs write one overload per op. The list of ops
// is the definitions': a level that misses one does not compile.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_FEATUREOPDISPATCH_H
#define POLYATTN_DIALECTS_FEATUREOPDISPATCH_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// True for the classes of ops that are computed element by element.
template <typename Op>
constexpr bool isElementwiseOp = Op::template hasTrait<ElementwiseOpInterface::Trait>();

namespace detail {

template <typename... Ops> struct OpList {};
using DialectOps = OpList<
#define GET_OP_LIST
#include "dialects/PolyAttn/PolyAttnOps.cpp.inc"
    >;

template <typename Result, typename Interface, typename Visitor, typename Op>
bool visitOp(Interface op, Visitor &visit, std::optional<Result> &result) {
  if constexpr (Op::template hasTrait<Interface::template Trait>()) {
    if (auto concrete = llvm::dyn_cast<Op>(op.getOperation())) {
      result.emplace(visit(concrete));
      return true;
    }
  }
  return false;
}

template <typename Result, typename Interface, typename Visitor, typename... Ops>
Result visitOps(Interface op, Visitor &visit, OpList<Ops...>) {
  std::optional<Result> result;
  (visitOp<Result, Interface, Visitor, Ops>(op, visit, result) || ...);
  return std::move(*result);
}

} // namespace detail

/// visit(op) with the op's own class. `visit` takes every op of the dialect that has the interface.
template <typename Result, typename Interface, typename Visitor>
Result dispatch(Interface op, Visitor visit) {
  return detail::visitOps<Result>(op, visit, detail::DialectOps());
}

} // namespace polyattn

#endif // POLYATTN_DIALECTS_FEATUREOPDISPATCH_H
