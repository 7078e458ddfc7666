//===- OpDispatch.h - one function per op of an interface -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Levels that give every op of an interface a meaning of theirs, every feature op or every op that
// gives a state, write one overload per op. The list of ops is the definitions': a level that
// misses one does not compile.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_OPDISPATCH_H
#define POLYATTN_DIALECTS_OPDISPATCH_H

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

/// Calls `visit` if the op is an `Op`, and says whether it is.
template <typename Op, typename Interface, typename Visitor>
bool visitIf(Interface op, Visitor &visit) {
  if constexpr (Op::template hasTrait<Interface::template Trait>()) {
    if (auto concrete = llvm::dyn_cast<Op>(op.getOperation())) {
      visit(concrete);
      return true;
    }
  }
  return false;
}

template <typename Interface, typename Visitor, typename... Ops>
void visitOps(Interface op, Visitor &visit, OpList<Ops...>) {
  (visitIf<Ops>(op, visit) || ...);
}

} // namespace detail

/// visit(op) with the op's own class. `visit` takes every op of the dialect that has the interface.
template <typename Interface, typename Visitor> void visitOp(Interface op, Visitor visit) {
  detail::visitOps(op, visit, detail::DialectOps());
}

/// The same for a `visit` whose calls give a result.
template <typename Result, typename Interface, typename Visitor>
Result dispatch(Interface op, Visitor visit) {
  std::optional<Result> result;
  visitOp(op, [&](auto concrete) { result.emplace(visit(concrete)); });
  return std::move(*result);
}

} // namespace polyattn

#endif // POLYATTN_DIALECTS_OPDISPATCH_H
