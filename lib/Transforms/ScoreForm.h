//===- ScoreForm.h - pairs of vectors with simpler scores -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TRANSFORMS_SCOREFORM_H
#define POLYATTN_LIB_TRANSFORMS_SCOREFORM_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include <map>

namespace polyattn {

/// True where nothing but the scores of this op's queries and keys is asked for: no state,
/// whose features are defined as written, and no use of the vectors elsewhere. A schedule asks for
/// a form and for blocks, not for how features are stored.
bool needsScoresOnly(AttendOp op);

/// A score: factor <query, key>, or the factor alone where there are no vectors.
struct Scored {
  mlir::Value query, key;
  double factor = 1;
};

/// Rewrites pairs of vectors, a query's and a key's, by the rules of scores:
///
///     <a (x) b, a' (x) b'> = <a, a'> <b, b'>       <a (+) b, a' (+) b'> = <a, a'> + <b, b'>
///     <sym p a, sym p a'> = <a, a'>^p              <c a, c' a'> = c c' <a, a'>
///
/// A product is brought to powers of different pairs, each a symmetric power, a sum to
/// different terms, each with one factor. Widths never grow; features do change, so the
/// result serves where scores alone are asked for. A pair whose factor would be beyond the range of
/// f32 stays as it is.
class ScoreForm {
public:
  /// New ops are put where the builder stands; `loc` is that of vectors which have no other.
  ScoreForm(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  Scored simplify(mlir::Value query, mlir::Value key);
  /// Vectors whose scores are those of `score`, its factor included where `withFactor`.
  std::pair<mlir::Value, mlir::Value> vectorsOf(const Scored &score, bool withFactor);

private:
  /// <query, key>^exponent
  struct Power {
    mlir::Value query, key;
    int64_t exponent;
    int64_t block; // of the symmetric power, 1 where none was asked for
  };

  Scored simplifyProduct(mlir::Value query, mlir::Value key);
  Scored simplifySum(mlir::Value query, mlir::Value key);
  Scored simplifyAbsolutePower(PowerOp query, PowerOp key);
  void collectPowers(mlir::Value query, mlir::Value key, int64_t exponent, int64_t block,
                     llvm::SmallVectorImpl<Power> &powers, double &factor);
  void collectBases(mlir::Value query, mlir::Value key);
  void collectTerms(mlir::Value query, mlir::Value key, double factor,
                    llvm::SmallVectorImpl<Scored> &terms);
  std::pair<mlir::Value, mlir::Value> buildProduct(llvm::ArrayRef<Power> powers);
  Scored buildSum(mlir::Value query, mlir::Value key, llvm::ArrayRef<Scored> terms);

  using Pointers = std::pair<const void *, const void *>; // of a query and a key
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, Scored> known;
  llvm::DenseSet<std::pair<mlir::Value, mlir::Value>> bases; // sums that stay a term of others
  // What was built from the same parts, in whatever order, so that equal terms are one value.
  std::map<std::vector<std::tuple<Pointers, int64_t, int64_t>>, std::pair<mlir::Value, mlir::Value>>
      products;
  std::map<std::vector<std::pair<Pointers, double>>, Scored> sums;
};

} // namespace polyattn

#endif // POLYATTN_LIB_TRANSFORMS_SCOREFORM_H
