//===- Program.cpp - random programs of feature vectors -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <cstdio>

using namespace polyattn;
using namespace polyattn::random;

std::string polyattn::random::number(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.6e", value);
  return text;
}

std::string Program::Weight::type() const {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

Program Program::identity(Structure structure) {
  Program program;
  program.inputs = {{structure}};
  program.vectors = {{structure, false}};
  return program;
}

Program Program::make(Choices &choices, std::vector<Input> inputs, int64_t least, int64_t most,
                      int64_t maxFeatures) {
  Program program;
  program.inputs = inputs;
  if (choices.chance(10))
    program.inputs.push_back({inputs[0].structure, false, /*isTable=*/true});
  for (const Input &input : program.inputs)
    program.vectors.push_back({input.structure, input.nonNegative});
  for (int64_t i = 0; i < most; ++i) {
    Choices::Group group(choices);
    if (i >= least && !choices.chance(65))
      break;
    program.addOp(choices, maxFeatures);
  }
  program.result = program.ops.empty() ? 0 : program.vectors.size() - 1;
  return program;
}

Program Program::withElementwise(Choices &choices) const {
  Program longer = *this;
  longer.addElementwise(choices, result);
  longer.result = longer.vectors.size() - 1;
  return longer;
}

size_t Program::addWeight(std::vector<int64_t> shape, bool isFrequencies) {
  weights.push_back({std::move(shape), isFrequencies});
  return weights.size() - 1;
}

size_t Program::addWeightProduct(size_t lhs, size_t rhs) {
  Op op{
      "weight_product",        "", {}, {lhs, rhs}, weights[lhs].type() + ", " + weights[rhs].type(),
      /*isWeightProduct=*/true};
  ops.push_back(std::move(op));
  products.push_back({{weights[lhs].shape[0], weights[rhs].shape[1]}});
  return kProduct + products.size() - 1;
}

bool Program::add(std::string mnemonic, std::vector<size_t> operands, std::string attributes,
                  Structure structure, bool nonNegative, std::vector<size_t> weightOperands) {
  Op op{std::move(mnemonic), std::move(attributes), std::move(operands), std::move(weightOperands),
        ""};
  for (size_t operand : op.vectors)
    op.types += (op.types.empty() ? "" : ", ") + vectors[operand].structure.str();
  for (size_t weight : op.weights)
    op.types += (op.types.empty() ? "" : ", ") + weightOf(weight).type();
  ops.push_back(std::move(op));
  vectors.push_back({std::move(structure), nonNegative});
  return true;
}

/// A vector of this width or, as a factor for all, of width 1; the newest that there is.
size_t Program::another(Choices &choices, int64_t wanted) {
  std::vector<size_t> fitting;
  for (size_t i = vectors.size(); i-- > 0;)
    if (width(i) == wanted || width(i) == 1)
      fitting.push_back(i);
  return fitting[choices.below(int64_t(fitting.size()))];
}

std::string Program::write(std::string &text, const std::vector<std::string> &inputNames,
                           const std::vector<std::string> &weightNames,
                           const std::string &prefix) const {
  std::vector<std::string> names = inputNames, productNames;
  for (const Op &op : ops) {
    std::vector<std::string> &defined = op.isWeightProduct ? productNames : names;
    defined.push_back("%" + prefix + (op.isWeightProduct ? "w" : "") +
                      std::to_string(defined.size()));
    text += "  " + defined.back() + " = " + op.mnemonic;
    std::string operands;
    for (size_t vector : op.vectors)
      operands += (operands.empty() ? " " : ", ") + names[vector];
    for (size_t weight : op.weights)
      operands += (operands.empty() ? " " : ", ") +
                  (weight < kProduct ? weightNames[weight] : productNames[weight - kProduct]);
    text += operands;
    if (!op.attributes.empty())
      text += " {" + op.attributes + "}";
    if (!op.types.empty())
      text += " : " + op.types;
    text += "\n";
  }
  return names[result];
}
