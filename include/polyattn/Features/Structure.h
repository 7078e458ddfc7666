//===- Structure.h - the structure of a feature vector ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A feature map's result is not just a vector of D values: it is a tensor product, a symmetric
// power, a concatenation, ... of smaller vectors. The structure decides how <phi(x), phi(y)> may be
// evaluated: as features (D values each) or as a score, a polynomial of small inner products that
// needs no features. This file is pure mathematics; the dialect's feature type wraps it.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FEATURES_STRUCTURE_H
#define POLYATTN_FEATURES_STRUCTURE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>
#include <vector>

namespace polyattn {

/// The structure of a feature vector, a small immutable tree.
class Structure {
public:
  enum class Kind : int64_t {
    Vector,         // n values with no further structure
    TensorPower,    // a^(x)p, all n^p products
    SymmetricPower, // monomials i1 <= ... <= ip times sqrt(multinomial)
    TensorProduct,  // a (x) b (x) ..., all products, the last index fastest
    Concat,         // a (+) b (+) ...
    Exponential,    // exp of the score of the one part: a score without features
  };

  /// A width that does not fit 62 bits is reported as this value.
  static constexpr int64_t kHuge = int64_t(1) << 62;

  static Structure vector(int64_t width);
  static Structure tensorPower(Structure base, int64_t degree);
  /// The symmetric power; `block` > 1 keeps whole blocks (TSPOW of Power
  /// attention): sorted tuples of block indices, every product inside a tuple.
  static Structure symmetricPower(Structure base, int64_t degree, int64_t block = 1);
  static Structure tensorProduct(std::vector<Structure> parts);
  static Structure concat(std::vector<Structure> parts);
  static Structure exponential(Structure exponent);

  Kind kind() const { return kind_; }
  /// The number of features D, kHuge where it overflows; 1 where a score has no features.
  int64_t width() const;
  /// The exponent of a power, 1 otherwise.
  int64_t degree() const { return degree_; }
  /// The block of a symmetric power, 1 otherwise.
  int64_t block() const { return block_; }
  /// The base of a power, the exponent, the operands of a product or a concatenation.
  llvm::ArrayRef<Structure> parts() const { return parts_; }

  /// True where <phi(x), phi(y)> has a form that is cheaper than the features:
  /// some power or product is inside.
  bool hasScoreForm() const;
  /// Multiply-adds for one score in its score form.
  int64_t scoreCost() const;
  /// The total width of the leaves that a score needs.
  int64_t leafWidth() const;

  bool operator==(const Structure &other) const;
  bool operator!=(const Structure &other) const { return !(*this == other); }

  /// `[32] x [32]`, `sym 2 [64]`, `[1] + [16] + sym 2 [16]`, `exp [64]`, ...
  std::string str() const;

  /// A flat prefix code, for storage in a uniqued type.
  llvm::SmallVector<int64_t> encode() const;
  static Structure decode(llvm::ArrayRef<int64_t> code);

private:
  Structure() = default;
  static Structure decodeFront(llvm::ArrayRef<int64_t> &code);
  void encodeInto(llvm::SmallVectorImpl<int64_t> &code) const;

  Kind kind_ = Kind::Vector;
  int64_t width_ = 0;
  int64_t degree_ = 1;
  int64_t block_ = 1;
  std::vector<Structure> parts_;
};

/// a * b and a + b, kHuge where they are larger. Both are from 0 to kHuge.
int64_t saturatingMul(int64_t a, int64_t b);
int64_t saturatingAdd(int64_t a, int64_t b);
/// Binomial coefficient, kHuge where it overflows.
int64_t binomial(int64_t n, int64_t k);

/// One stored monomial of a power: the base indices i1, ..., ip and the weight
/// that makes <phi(x), phi(y)> = <x, y>^p.
struct Monomial {
  llvm::SmallVector<int64_t, 4> indices;
  double weight;
};

/// The monomials of a power of a vector of width `n` in storage order: the tensor power with the
/// last index fastest; the symmetric power (block 1) in lexicographic order of sorted tuples; the
/// blocked one in lexicographic order of sorted block tuples, inside a tuple with the last index
/// fastest. Power attention (Gelada et al. 2025), TPOW and TSPOW.
std::vector<Monomial> tensorMonomials(int64_t n, int64_t degree);
std::vector<Monomial> symmetricMonomials(int64_t n, int64_t degree, int64_t block);

} // namespace polyattn

#endif // POLYATTN_FEATURES_STRUCTURE_H
