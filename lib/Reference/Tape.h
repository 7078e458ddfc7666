//===- Tape.h - numbers that remember how they were computed ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reverse mode, number by number. A definition that is written for any kind of number computes a
// value when it is given `Variable`s, and notes for each step on a tape by how much the result
// moves with its operands; a sweep back over the tape gives the slope of a result in everything
// that it was computed from. A tape lives for the vectors of one token, and is cleared then.
//
// Where a function has a kink, its slope is that of one side or zero:
//
//   |a| at 0, sqrt(a) at 0 (so |x| of a zero vector)     0
//   max(a, b) with a = b                                 that of a
//   a^e at a = 0, in the exponent                        0
//
// What is a constant on the branch that is taken (max(a, 0) for a <= 0, a floor) has no slope.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_TAPE_H
#define POLYATTN_LIB_REFERENCE_TAPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <functional>
#include <vector>

namespace polyattn::reference {

class Tape;

/// A number that a tape knows, or a constant.
struct Variable {
  double value;
  Tape *tape = nullptr; // null for a constant
  size_t step = 0;      // which of the tape's steps has computed it

  Variable(double value = 0) : value(value) {}
  Variable(double value, Tape *tape, size_t step) : value(value), tape(tape), step(step) {}
};

class Tape {
public:
  Tape() = default;
  /// Products of slopes are rounded where `rounding` says so, f64's own rounding where it is null.
  explicit Tape(std::function<double(double)> rounding) : rounding(std::move(rounding)) {}

  /// A number that slopes are asked for.
  Variable variable(double value) { return record(value, {}); }

  /// An operand of a step, and the step's slope in it.
  struct Operand {
    const Variable &variable;
    double slope;
  };
  /// What one or two operands give.
  Variable record(double value, llvm::ArrayRef<Operand> operands) {
    Step step;
    for (auto [i, operand] : llvm::enumerate(operands))
      if (operand.variable.tape)
        step.operands[i] = {operand.variable.step, operand.slope};
    steps.push_back(step);
    return {value, this, steps.size() - 1};
  }

  /// Says that what is asked for moves by `slope` times as much as `result` does. Adds up.
  void seed(const Variable &result, double slope) {
    slopes.resize(steps.size());
    if (result.tape)
      slopes[result.step] += slope;
  }
  /// Goes back over all steps, after which `slopeOf` is known of every variable.
  void sweep() {
    slopes.resize(steps.size());
    for (size_t i = steps.size(); i-- > 0;) {
      // Nothing comes of what is not asked for, be its slope infinite.
      if (slopes[i] == 0)
        continue;
      for (const Edge &edge : steps[i].operands)
        if (edge.step != kNone)
          slopes[edge.step] += rounded(slopes[i] * edge.slope);
    }
  }
  double slopeOf(const Variable &variable) const {
    return variable.tape ? slopes[variable.step] : 0;
  }
  bool empty() const { return steps.empty(); }
  void clear() {
    steps.clear();
    slopes.clear();
  }

private:
  double rounded(double x) const { return rounding ? rounding(x) : x; }

  static constexpr size_t kNone = ~size_t(0);
  struct Edge {
    size_t step = kNone;
    double slope = 0;
  };
  struct Step {
    Edge operands[2];
  };
  std::function<double(double)> rounding;
  std::vector<Step> steps;
  std::vector<double> slopes;
};

/// f(a) and f(a, b) with their slopes; constants of constants are no steps.
inline Variable compute(double value, const Variable &a, double slope) {
  return a.tape ? a.tape->record(value, {{a, slope}}) : Variable(value);
}
inline Variable compute(double value, const Variable &a, double aSlope, const Variable &b,
                        double bSlope) {
  Tape *tape = a.tape ? a.tape : b.tape;
  return tape ? tape->record(value, {{a, aSlope}, {b, bSlope}}) : Variable(value);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

inline Variable operator+(const Variable &a, const Variable &b) {
  return compute(a.value + b.value, a, 1, b, 1);
}
inline Variable operator-(const Variable &a, const Variable &b) {
  return compute(a.value - b.value, a, 1, b, -1);
}
inline Variable operator-(const Variable &a) { return compute(-a.value, a, -1); }
inline Variable operator*(const Variable &a, const Variable &b) {
  return compute(a.value * b.value, a, b.value, b, a.value);
}
inline Variable operator/(const Variable &a, const Variable &b) {
  double quotient = a.value / b.value;
  return compute(quotient, a, 1 / b.value, b, -quotient / b.value);
}
inline Variable &operator+=(Variable &a, const Variable &b) { return a = a + b; }
inline Variable &operator*=(Variable &a, const Variable &b) { return a = a * b; }
inline Variable &operator/=(Variable &a, const Variable &b) { return a = a / b; }

inline bool operator<(const Variable &a, const Variable &b) { return a.value < b.value; }
inline bool operator>(const Variable &a, const Variable &b) { return a.value > b.value; }
inline bool operator<=(const Variable &a, const Variable &b) { return a.value <= b.value; }
inline bool operator==(const Variable &a, const Variable &b) { return a.value == b.value; }
inline bool isnan(const Variable &a) { return std::isnan(a.value); }

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

inline Variable exp(const Variable &a) {
  double y = std::exp(a.value);
  return compute(y, a, y);
}
inline Variable log(const Variable &a) { return compute(std::log(a.value), a, 1 / a.value); }
inline Variable log1p(const Variable &a) {
  return compute(std::log1p(a.value), a, 1 / (1 + a.value));
}
inline Variable sin(const Variable &a) { return compute(std::sin(a.value), a, std::cos(a.value)); }
inline Variable cos(const Variable &a) { return compute(std::cos(a.value), a, -std::sin(a.value)); }
inline Variable tanh(const Variable &a) {
  double y = std::tanh(a.value);
  return compute(y, a, 1 - y * y);
}
inline Variable erfc(const Variable &a) {
  return compute(std::erfc(a.value), a, -2 / std::sqrt(M_PI) * std::exp(-a.value * a.value));
}
inline Variable sqrt(const Variable &a) {
  double y = std::sqrt(a.value);
  return compute(y, a, y == 0 ? 0 : 0.5 / y);
}
inline Variable fabs(const Variable &a) {
  return compute(std::fabs(a.value), a, a.value > 0 ? 1 : a.value < 0 ? -1 : 0);
}
/// One of the two itself; as with f64, a number rather than NaN.
inline Variable fmax(const Variable &a, const Variable &b) {
  return b.value > a.value || std::isnan(a.value) ? b : a;
}
inline Variable pow(const Variable &a, const Variable &e) {
  double y = std::pow(a.value, e.value);
  double slope = e.value == 0 ? 0 : e.value * std::pow(a.value, e.value - 1);
  return compute(y, a, slope, e, a.value == 0 ? 0 : y * std::log(a.value));
}

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_TAPE_H
