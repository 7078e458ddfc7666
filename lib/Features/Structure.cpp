//===- Structure.cpp - the structure of a feature vector ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Features/Structure.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cassert>
#include <cmath>

using namespace polyattn;

int64_t polyattn::saturatingMul(int64_t a, int64_t b) {
  __int128 product = static_cast<__int128>(a) * b;
  return product >= Structure::kHuge ? Structure::kHuge : static_cast<int64_t>(product);
}

int64_t polyattn::saturatingAdd(int64_t a, int64_t b) {
  return a >= Structure::kHuge - b ? Structure::kHuge : a + b;
}

int64_t polyattn::binomial(int64_t n, int64_t k) {
  if (k < 0 || k > n)
    return 0;
  k = std::min(k, n - k);
  __int128 result = 1;
  for (int64_t i = 1; i <= k; ++i) {
    result = result * (n - k + i) / i;
    if (result >= Structure::kHuge)
      return Structure::kHuge;
  }
  return static_cast<int64_t>(result);
}

static int64_t saturatingPow(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (int64_t i = 0; i < exponent && result < Structure::kHuge; ++i)
    result = saturatingMul(result, base);
  return result;
}

Structure Structure::vector(int64_t width) {
  Structure s;
  s.width_ = width;
  return s;
}

Structure Structure::tensorPower(Structure base, int64_t degree) {
  Structure s;
  s.kind_ = Kind::TensorPower;
  s.degree_ = degree;
  s.parts_.push_back(std::move(base));
  return s;
}

Structure Structure::symmetricPower(Structure base, int64_t degree, int64_t block) {
  Structure s = tensorPower(std::move(base), degree);
  s.kind_ = Kind::SymmetricPower;
  s.block_ = block;
  return s;
}

Structure Structure::tensorProduct(std::vector<Structure> parts) {
  Structure s;
  s.kind_ = Kind::TensorProduct;
  s.parts_ = std::move(parts);
  return s;
}

Structure Structure::concat(std::vector<Structure> parts) {
  Structure s;
  s.kind_ = Kind::Concat;
  s.parts_ = std::move(parts);
  return s;
}

Structure Structure::exponential(Structure exponent) {
  Structure s;
  s.kind_ = Kind::Exponential;
  s.parts_.push_back(std::move(exponent));
  return s;
}

int64_t Structure::width() const {
  switch (kind_) {
  case Kind::Vector:
    return width_;
  case Kind::Exponential:
    return 1;
  case Kind::TensorPower:
    return saturatingPow(parts_[0].width(), degree_);
  case Kind::SymmetricPower: {
    // C(blocks + p - 1, p) sorted block tuples of block^p products each.
    int64_t blocks = parts_[0].width() / block_;
    return saturatingMul(binomial(blocks + degree_ - 1, degree_), saturatingPow(block_, degree_));
  }
  case Kind::TensorProduct: {
    int64_t product = 1;
    for (const Structure &part : parts_)
      product = saturatingMul(product, part.width());
    return product;
  }
  case Kind::Concat: {
    int64_t sum = 0;
    for (const Structure &part : parts_)
      sum = saturatingAdd(sum, part.width());
    return sum;
  }
  }
  return 0;
}

bool Structure::hasScoreForm() const {
  switch (kind_) {
  case Kind::Vector:
    return false;
  case Kind::TensorPower:
  case Kind::SymmetricPower:
  case Kind::TensorProduct:
  case Kind::Exponential:
    return true;
  case Kind::Concat:
    return llvm::any_of(parts_, [](const Structure &part) { return part.hasScoreForm(); });
  }
  return false;
}

/// What the exponential of a score takes, in multiply-adds.
static constexpr int64_t kExponentialCost = 16;

int64_t Structure::scoreCost() const {
  switch (kind_) {
  case Kind::Vector:
    return width_;
  case Kind::TensorPower:
  case Kind::SymmetricPower: {
    // Repeated squaring.
    int64_t multiplies = 0;
    for (int64_t p = degree_; p > 1; p >>= 1)
      multiplies += 1 + (p & 1);
    return parts_[0].scoreCost() + multiplies;
  }
  case Kind::Exponential:
    return saturatingAdd(parts_[0].scoreCost(), kExponentialCost);
  case Kind::TensorProduct:
  case Kind::Concat: {
    int64_t cost = parts_.size() - 1;
    for (const Structure &part : parts_)
      cost = saturatingAdd(cost, part.scoreCost());
    return cost;
  }
  }
  return 0;
}

int64_t Structure::leafWidth() const {
  if (kind_ == Kind::Vector)
    return width_;
  int64_t sum = 0;
  for (const Structure &part : parts_)
    sum = saturatingAdd(sum, part.leafWidth());
  return sum;
}

bool Structure::operator==(const Structure &other) const {
  return kind_ == other.kind_ && width_ == other.width_ && degree_ == other.degree_ &&
         block_ == other.block_ && parts_ == other.parts_;
}

std::string Structure::str() const {
  auto nested = [](const Structure &part, bool atom) {
    bool compound = part.kind_ == Kind::Concat || part.kind_ == Kind::TensorProduct;
    return compound && atom ? "(" + part.str() + ")" : part.str();
  };
  switch (kind_) {
  case Kind::Vector:
    return "[" + std::to_string(width_) + "]";
  case Kind::Exponential:
    return "exp " + nested(parts_[0], true);
  case Kind::TensorPower:
    return "pow " + std::to_string(degree_) + " " + nested(parts_[0], true);
  case Kind::SymmetricPower:
    return "sym " + std::to_string(degree_) +
           (block_ > 1 ? " block " + std::to_string(block_) : "") + " " + nested(parts_[0], true);
  case Kind::TensorProduct:
  case Kind::Concat: {
    const char *separator = kind_ == Kind::Concat ? " + " : " x ";
    std::string text;
    for (auto [i, part] : llvm::enumerate(parts_))
      text += (i ? separator : "") + nested(part, true);
    return text;
  }
  }
  return "";
}

void Structure::encodeInto(llvm::SmallVectorImpl<int64_t> &code) const {
  code.append(
      {static_cast<int64_t>(kind_), width_, degree_, block_, static_cast<int64_t>(parts_.size())});
  for (const Structure &part : parts_)
    part.encodeInto(code);
}

llvm::SmallVector<int64_t> Structure::encode() const {
  llvm::SmallVector<int64_t> code;
  encodeInto(code);
  return code;
}

Structure Structure::decodeFront(llvm::ArrayRef<int64_t> &code) {
  assert(code.size() >= 5 && "truncated structure code");
  Structure s;
  s.kind_ = static_cast<Kind>(code[0]);
  s.width_ = code[1];
  s.degree_ = code[2];
  s.block_ = code[3];
  int64_t count = code[4];
  code = code.drop_front(5);
  for (int64_t i = 0; i < count; ++i)
    s.parts_.push_back(decodeFront(code));
  return s;
}

Structure Structure::decode(llvm::ArrayRef<int64_t> code) { return decodeFront(code); }

//===----------------------------------------------------------------------===//
// Monomials
//===----------------------------------------------------------------------===//

/// p! / (m1! m2! ...) for the multiplicities of a sorted tuple.
static double multinomial(llvm::ArrayRef<int64_t> sorted) {
  double result = 1;
  int64_t run = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    run = i && sorted[i] == sorted[i - 1] ? run + 1 : 1;
    result *= static_cast<double>(i + 1) / static_cast<double>(run);
  }
  return result;
}

/// Calls `visit` with every tuple of `degree` indices below `n`, the last index
/// fastest; sorted tuples only where `sorted`.
template <typename Visit>
static void forEachTuple(int64_t n, int64_t degree, bool sorted, Visit visit) {
  llvm::SmallVector<int64_t, 4> tuple(degree, 0);
  if (n == 0)
    return;
  while (true) {
    visit(llvm::ArrayRef<int64_t>(tuple));
    int64_t slot = degree - 1;
    while (slot >= 0 && tuple[slot] == n - 1)
      --slot;
    if (slot < 0)
      return;
    ++tuple[slot];
    for (int64_t later = slot + 1; later < degree; ++later)
      tuple[later] = sorted ? tuple[slot] : 0;
  }
}

std::vector<Monomial> polyattn::tensorMonomials(int64_t n, int64_t degree) {
  std::vector<Monomial> result;
  forEachTuple(n, degree, /*sorted=*/false, [&](llvm::ArrayRef<int64_t> tuple) {
    result.push_back({{tuple.begin(), tuple.end()}, 1.0});
  });
  return result;
}

std::vector<Monomial> polyattn::symmetricMonomials(int64_t n, int64_t degree, int64_t block) {
  std::vector<Monomial> result;
  forEachTuple(n / block, degree, /*sorted=*/true, [&](llvm::ArrayRef<int64_t> blocks) {
    double weight = std::sqrt(multinomial(blocks));
    forEachTuple(block, degree, /*sorted=*/false, [&](llvm::ArrayRef<int64_t> inner) {
      Monomial monomial{{}, weight};
      for (int64_t slot = 0; slot < degree; ++slot)
        monomial.indices.push_back(blocks[slot] * block + inner[slot]);
      result.push_back(std::move(monomial));
    });
  });
  return result;
}
