//===- ProgramOps.cpp - one random op of each family ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <cmath>
#include <numeric>

using namespace polyattn;
using namespace polyattn::random;

/// Numbers that specs have, and some that they should not suffer from.
static double anyNumber(Choices &choices) {
  return choices.oneOf({1.0, 0.5, 2.0, -1.0, 0.125, 0.0, -0.5, 3.0, 1e-3, -0.0, 10.0, 1e-6});
}

/// How often `select` takes the same number.
static constexpr int64_t kMostCopies = 4;

static int64_t anyWidth(Choices &choices) {
  return choices.oneOf({1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 33});
}

void Program::addOp(Choices &choices, int64_t maxFeatures) {
  // The newest first: chains are more telling than bushes.
  size_t x = vectors.size() - 1 - choices.below(std::min<int64_t>(vectors.size(), 3));
  bool plain = width(x) <= 2 * kMaxVector;
  int64_t family = choices.below(17);
  if (family < 4 && plain && addElementwise(choices, x))
    return;
  if (family < 8 && addProduct(choices, x, maxFeatures))
    return;
  if (!plain)
    return;
  if (family < 10)
    addLinear(choices, x);
  else if (family < 11)
    addWeighted(choices, x);
  else if (family < 13)
    addNorm(choices, x);
  else if (family < 14)
    addRope(choices, x);
  else if (family < 16)
    addRearrangement(choices, x);
  else
    addResidualSteps(choices, x);
}

bool Program::addLinear(Choices &choices, size_t x) {
  int64_t columns = anyWidth(choices);
  if (choices.chance(15)) { // two weights, one after the other
    int64_t depth = anyWidth(choices);
    size_t first = addWeight({width(x), depth}), second = addWeight({depth, columns});
    if (choices.chance(50))
      return add("project", {x}, "", Structure::vector(columns), false,
                 {addWeightProduct(first, second)});
    add("project", {x}, "", Structure::vector(depth), false, {first});
    return add("project", {vectors.size() - 1}, "", Structure::vector(columns), false, {second});
  }
  std::vector<size_t> operands = {addWeight({width(x), columns})};
  if (choices.chance(25))
    operands.push_back(addWeight({columns}));
  return add("project", {x}, "", Structure::vector(columns), false, operands);
}

bool Program::addProduct(Choices &choices, size_t x, int64_t maxFeatures) {
  const Structure a = vectors[x].structure;
  auto fits = [&](const Structure &structure) {
    return structure.width() <= maxFeatures && structure.encode().size() < 100;
  };
  size_t y = vectors.size() - 1 - choices.below(int64_t(vectors.size()));
  bool both = nonNegative(x) && nonNegative(y);
  switch (choices.below(4)) {
  case 0: {
    int64_t degree = choices.oneOf({2, 3, 4, 1, 5, 8});
    bool symmetric = choices.chance(60);
    int64_t block = symmetric && choices.chance(20) && a.width() % 2 == 0 ? a.width() / 2 : 1;
    Structure power =
        symmetric ? Structure::symmetricPower(a, degree, block) : Structure::tensorPower(a, degree);
    if (!fits(power))
      return false;
    std::string attributes = "degree = " + std::to_string(degree);
    attributes += symmetric ? ", symmetric" : "";
    attributes += block > 1 ? ", block = " + std::to_string(block) : "";
    attributes += choices.chance(5) ? ", abs" : "";
    return add("power", {x}, attributes, power, nonNegative(x));
  }
  case 1: {
    if (choices.chance(5)) { // a score by distance, which has no features
      bool isLog = choices.chance(70);
      std::string attributes =
          "beyond = " + choices.oneOf<std::string>({"last", "zero", "last", "zero", "error"});
      add("relative", {}, attributes + (isLog ? ", log" : ""), Structure::vector(1), isLog,
          {addWeight({choices.oneOf({1, 2, 7, 16, 33, 100})})});
      y = vectors.size() - 1;
      both = nonNegative(x) && isLog;
    }
    if (a.kind() != Structure::Kind::Exponential && choices.chance(3)) { // nor has this one
      Structure exponential = Structure::exponential(a);
      return add("exp_score", {x}, "", exponential, true);
    }
    Structure product = Structure::tensorProduct({a, vectors[y].structure});
    return fits(product) && add("tensor", {x, y}, "", product, both);
  }
  case 2: {
    std::vector<size_t> parts = {x, y};
    std::vector<Structure> structures = {a, vectors[y].structure};
    if (choices.chance(30)) { // BASED's constant feature
      add("constant", {}, "value = 1.0, width = 1", Structure::vector(1), true);
      parts.insert(parts.begin(), vectors.size() - 1);
      structures.insert(structures.begin(), Structure::vector(1));
    }
    Structure sum = Structure::concat(structures);
    return fits(sum) && add("concat", parts, "", sum, both);
  }
  default: {
    if (width(x) != width(y) || binomial(width(x) + 1, 2) > maxFeatures)
      return false;
    bool root = choices.chance(50);
    return add("triu", {x, y},
               std::string("weights = #polyattn.triu_weights<") + (root ? "sqrt2" : "none") + ">",
               Structure::vector(binomial(width(x) + 1, 2)), both);
  }
  }
}

/// f(x), whose values lie between -1 and 1, or c + f(x) or c - f(x), which is not negative. With c
/// of 1 what is rounded may be: a power of it is NaN.
bool Program::addBetweenOnes(Choices &choices, const char *function, size_t x) {
  Structure plain = Structure::vector(width(x));
  if (!add(function, {x}, "", plain, false) || choices.chance(50))
    return true;
  if (choices.chance(30))
    add("scale", {vectors.size() - 1}, "factor = -1.0", plain, false);
  return add("add_const", {vectors.size() - 1}, "value = " + number(choices.oneOf({1.25, 3.0})),
             plain, true);
}

bool Program::addElementwise(Choices &choices, size_t x) {
  Structure plain = Structure::vector(width(x));
  bool sign = nonNegative(x);
  auto one = [&](const char *name, bool nonNegative) {
    return add(name, {x}, "", plain, nonNegative);
  };
  switch (choices.below(16)) {
  case 0:
    return one("relu", true);
  case 1:
    return one("elu_plus_one", true);
  case 2:
    return one("exp", true);
  case 3:
    return addBetweenOnes(choices, "tanh", x);
  case 4:
    return addBetweenOnes(choices, "sin", x);
  case 5:
    return addBetweenOnes(choices, "cos", x);
  case 6:
    return one("abs", true);
  case 7:
    return one("sigmoid", true);
  case 8:
    return one("silu", false);
  case 9:
    return one("softplus", true);
  case 10:
    return add("gelu", {x},
               std::string("form = #polyattn.gelu_form<") + (choices.chance(50) ? "erf" : "tanh") +
                   ">",
               plain, false);
  case 11: {
    double exponent = choices.oneOf({2.0, 3.0, 1.0, 4.0, 0.0, 7.0});
    if (sign && choices.chance(50))
      exponent = choices.oneOf({0.5, 1.5, 2.25, -0.5});
    return add("pow", {x}, "exponent = " + number(exponent), plain,
               sign || std::fmod(exponent, 2) == 0);
  }
  case 12: {
    double value = anyNumber(choices);
    return add("add_const", {x}, "value = " + number(value), plain, sign && !std::signbit(value));
  }
  case 13: {
    double value = anyNumber(choices);
    return add("clamp_min", {x}, "value = " + number(value), plain, sign || !std::signbit(value));
  }
  case 14: {
    size_t y = another(choices, width(x));
    bool square = x == y;
    return add("hadamard", {x, y}, "", plain, square || (sign && nonNegative(y)));
  }
  default: {
    size_t y = another(choices, width(x));
    return add("add", {x, y}, "", plain, sign && nonNegative(y));
  }
  }
}

bool Program::addWeighted(Choices &choices, size_t x) {
  Structure plain = Structure::vector(width(x));
  if (nonNegative(x) && choices.chance(20))
    return add("pow", {x}, "", plain, true, {addWeight({width(x)})});
  const char *name = choices.oneOf({"add_vec", "mul_vec", "div_vec"});
  return add(name, {x}, "", plain, false, {addWeight({width(x)})});
}

bool Program::addNorm(Choices &choices, size_t x) {
  Structure plain = Structure::vector(width(x));
  std::string eps = "eps = " + number(choices.oneOf({1e-5, 1e-12, 0.1, 1e-3}));
  switch (choices.below(7)) {
  case 0: {
    std::vector<size_t> affine;
    for (int64_t i = choices.below(3); i > 0; --i)
      affine.push_back(addWeight({width(x)}));
    return add("layer_norm", {x},
               eps + ", eps_place = #polyattn.eps_place<" +
                   (choices.chance(30) ? "outside" : "inside") + ">",
               plain, false, affine);
  }
  case 1:
    return add("l2_norm", {x}, eps, plain, nonNegative(x));
  case 2: {
    int64_t groups = 1;
    if (choices.chance(50))
      for (int64_t count : {2, 3, 4})
        groups = width(x) % count == 0 && choices.chance(50) ? count : groups;
    return add("softmax", {x}, "groups = " + std::to_string(groups), plain, true);
  }
  case 3:
    return add("squared_norm", {x}, "", Structure::vector(1), true);
  case 4:
    return add("max", {x}, "", Structure::vector(1), nonNegative(x));
  case 5:
    return nonNegative(x) && add("sum_norm", {x}, eps, plain, true);
  default:
    return add("l2_rescale", {x, vectors.size() - 1 - choices.below(int64_t(vectors.size()))}, "",
               plain, nonNegative(x));
  }
}

bool Program::addRope(Choices &choices, size_t x) {
  if (width(x) < 2)
    return false;
  int64_t dims = 2 * choices.between(1, width(x) / 2);
  const char *layout = choices.oneOf({"half", "interleaved", "deinterleave"});
  std::string attributes = "layout = #polyattn.rope_layout<" + std::string(layout) +
                           ">, dims = " + std::to_string(dims) +
                           ", offset = " + number(choices.oneOf({0.0, 3.0, -1.0, 0.5})) +
                           ", scale = " + number(choices.oneOf({1.0, 0.25, -1.0}));
  return add("rope", {x}, attributes, Structure::vector(width(x)), false,
             {addWeight({dims / 2}, /*isFrequencies=*/true)});
}

bool Program::addRearrangement(Choices &choices, size_t x) {
  if (choices.chance(40)) {
    double factor = anyNumber(choices);
    return add("scale", {x}, "factor = " + number(factor), vectors[x].structure,
               nonNegative(x) && !std::signbit(factor));
  }
  int64_t count = choices.between(1, std::min<int64_t>(width(x) + 2, kMaxVector));
  int64_t first = choices.below(width(x)), step = choices.oneOf({1, 2, 0, 3, -1});
  // The roundings of a sum of equal terms are equal: a sum of f32 is off by as many times one
  // rounding as there are, while the judge expects roundings that are independent.
  int64_t distinct = width(x) / std::gcd(step, width(x));
  count = std::min(count, kMostCopies * distinct);
  std::string indices;
  for (int64_t i = 0; i < count; ++i) {
    int64_t index = ((first + i * step) % width(x) + width(x)) % width(x);
    indices += (i ? ", " : "") + std::to_string(index);
  }
  return add("select", {x}, "indices = array<i64: " + indices + ">", Structure::vector(count),
             nonNegative(x));
}

/// x + f(x), some times over: each vector has two users, and there are many ways through the chain.
bool Program::addResidualSteps(Choices &choices, size_t x) {
  Structure plain = Structure::vector(width(x));
  // Functions whose values are bounded, so that a chain does not grow faster than its length.
  const char *function = choices.oneOf({"tanh", "sin", "sigmoid"});
  bool isPositive = std::string(function) == "sigmoid";
  for (int64_t steps = choices.oneOf({2, 1, 3, 8, 24}); steps > 0; --steps) {
    add(function, {x}, "", plain, isPositive);
    add("add", {x, vectors.size() - 1}, "", plain, isPositive && nonNegative(x));
    x = vectors.size() - 1;
  }
  return true;
}
