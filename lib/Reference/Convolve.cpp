//===- Convolve.cpp - convolutions by their definition --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Convolve.h"
#include "polyattn/Tasks/Cancelled.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

LagOfPair::LagOfPair(bool isReversed, bool isCircular, int64_t lags, int64_t positions)
    : isReversed(isReversed), isCircular(isCircular), lags(lags), positions(positions) {}

std::optional<int64_t> LagOfPair::operator()(int64_t i, int64_t j) const {
  int64_t lag = isReversed ? j - i : i - j;
  if (isCircular && lag < 0)
    lag += positions;
  return lag >= 0 && lag < lags ? std::optional(lag) : std::nullopt;
}

std::vector<std::vector<double>> Evaluator::vectorsOf(Value value, int64_t batch, int64_t head) {
  std::vector<std::vector<double>> result;
  for (int64_t t = 0; t < sizes.queries && !isCancelled(); ++t)
    result.push_back(expand(at(value, {batch, t, head})));
  return result;
}

static double squaresOf(ArrayRef<double> numbers) {
  double sum = 0;
  for (double x : numbers)
    sum += x * x;
  return sum;
}
static double squaresOf(const std::vector<std::vector<double>> &rows) {
  double sum = 0;
  for (const std::vector<double> &row : rows)
    sum += squaresOf(ArrayRef(row));
  return sum;
}

/// What transforms add to a sum of products: they round numbers as large as all rows together. So
/// much ends up in every row, however small it is, and in every channel, as two of them are the
/// parts of complex numbers. `size` is the product of the lengths of both factors.
static double transformed(double size, const Rounding &rounding) {
  return rounding ? rounding(size) - size : 0;
}

void Evaluator::convolve(ConvolveOp op) {
  int64_t width = op.getType().getWidth();
  LagOfPair lagOf(op.getReversed(), op.getCircular(), op.getLags(), sizes.queries);
  Array output({sizes.batch, sizes.queries, sizes.heads, width});
  int64_t columns = op.hasSharedChannels() ? 1 : width;
  for (auto [b, h] : heads) {
    std::vector<std::vector<double>> x = vectorsOf(op.getInput(), b, h);
    const double *filter = tensors[op.getFilterArgument()].data.data();
    if (op.hasFilterPerHead())
      filter += h * op.getLags() * columns;
    int64_t known = std::min<int64_t>(op.getLags(), sizes.queries);
    double size = std::sqrt(squaresOf(x) * squaresOf(ArrayRef(filter, known * columns)));
    for (int64_t i = 0; i < sizes.queries && !isCancelled(); ++i) {
      double *row = &output.at({b, i, h});
      for (int64_t e = 0; e < width; ++e)
        row[e] += transformed(size, terms);
      for (int64_t j = 0; j < sizes.queries; ++j)
        if (std::optional<int64_t> lag = lagOf(i, j))
          for (int64_t e = 0; e < width; ++e)
            row[e] += reference::rounded(filter[*lag * columns + (columns == 1 ? 0 : e)] * x[j][e],
                                         terms);
    }
  }
  tensors.computed[op.getResult()] = std::move(output);
}

Array Evaluator::filterGradient(FilterGradientOp op, RankedTensorType type) {
  SmallVector<int64_t> shape(op.getType().getShape());
  bool perHead = type.getRank() > int64_t(shape.size());
  if (perHead)
    shape.insert(shape.begin(), sizes.heads);
  Array result(shape);
  int64_t width = cast<FeatureType>(op.getInputs()[0].getType()).getWidth();
  int64_t columns = op.getSharedChannels() ? 1 : width;
  LagOfPair lagOf(op.getReversed(), op.getCircular(), op.getLags(), sizes.queries);
  for (auto [input, gradient] : llvm::zip(op.getInputs(), op.getGradients()))
    for (auto [b, h] : heads) {
      std::vector<std::vector<double>> x = vectorsOf(input, b, h), dy = vectorsOf(gradient, b, h);
      double *sums = result.data.data() + (perHead ? h * op.getLags() * columns : 0);
      int64_t known = std::min<int64_t>(op.getLags(), sizes.queries) * columns;
      double size = std::sqrt(squaresOf(x) * squaresOf(dy));
      for (int64_t number = 0; number < known; ++number)
        sums[number] += transformed(size, terms);
      for (int64_t i = 0; i < int64_t(dy.size()); ++i)
        for (int64_t j = 0; j < int64_t(x.size()); ++j)
          if (std::optional<int64_t> lag = lagOf(i, j))
            for (int64_t e = 0; e < width; ++e)
              sums[*lag * columns + (columns == 1 ? 0 : e)] +=
                  reference::rounded(dy[i][e] * x[j][e], terms);
    }
  addRunningSum(op.getPlus(), result);
  return result;
}
