//===- SpecConvolutions.cpp - random convolutions of a spec ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecWriter.h"

using namespace polyattn;
using namespace polyattn::random;

/// A sequence, or what the convolution before gives.
SpecWriter::Value SpecWriter::rowsToConvolve() {
  if (!outputs.empty() && choices.chance(60))
    return outputs.back();
  if (!lastQuery || !choices.chance(30))
    lastQuery = addSequence("x", choices.oneOf({4, 1, 2, 3, 5, 7, 8, 16, 17, 33, 34}));
  return readOf(*lastQuery);
}

/// A product of rows and a sequence.
SpecWriter::Value SpecWriter::gated(const Value &rows) {
  int64_t width = rows.structure.width();
  if (!lastValue || lastValue->width != width || !choices.chance(30))
    lastValue = addSequence("v", width);
  Value gate = readOf(*lastValue);
  Value product{"%" + fresh("p"), rows.structure};
  body += "  " + product.name + " = hadamard " + rows.name + ", " + gate.name + " : " +
          rows.structure.str() + ", " + gate.structure.str() + "\n";
  return product;
}

/// A filter, or the last one once more, whose gradient is a sum then.
SpecWriter::Filter SpecWriter::filterOf(int64_t width) {
  if (lastFilter && (lastFilter->isShared || lastFilter->width == width) && choices.chance(20))
    return *lastFilter;
  bool isShared = choices.chance(25);
  int64_t lags = choices.oneOf({2, 1, 7, 16, 33, 100});
  blocks.push_back(lags);
  std::string type = std::to_string(lags) + (isShared ? "" : "x" + std::to_string(width));
  // A row of each head would be a filter of all channels.
  bool perHead = (isShared || lags > 1) && choices.chance(60);
  Tensor tensor = addTensor("h", (perHead ? "?x" : "") + type + "x", weightStorage);
  return {tensor, type, width, isShared};
}

void SpecWriter::convolution() {
  Choices::Group group(choices);
  Value rows = rowsToConvolve();
  if (choices.chance(50))
    rows = gated(rows);
  if (choices.chance(40)) {
    constexpr int64_t mostFeatures = 40;
    Program program = Program::make(choices, {{rows.structure}}, 0, 3, mostFeatures);
    std::string map = choices.chance(30) ? defineMap(program) : "";
    rows = applied(program, nullptr, &rows, addWeights(program), map);
  }
  std::string before = lastFilter ? lastFilter->tensor.name : "";
  lastFilter = filterOf(rows.structure.width());
  // One that is read both ways has no gradient.
  if (lastFilter->tensor.name != before || choices.chance(20))
    convolutionFlags = choices.oneOf({"", "circular", "reversed", "circular, reversed"});
  std::string filter = "%" + fresh("hr");
  body += "  " + filter + " = read %" + lastFilter->tensor.name + " : " + lastFilter->tensor.type +
          " -> " + lastFilter->type + "\n";
  Value output{"%" + fresh("o"), Structure::vector(rows.structure.width())};
  body += "  " + output.name + " = convolve " + rows.name + ", " + filter + " {" +
          convolutionFlags + "} : " + rows.structure.str() + ", " + lastFilter->type + "\n";
  outputs.push_back(std::move(output));
}

void SpecWriter::convolutions() {
  allCausal = false; // no state of a fixed size holds the rows before
  convolves = true;
  convolution();
  for (int i = 0; i < 2 && choices.chance(45); ++i)
    convolution();
}
