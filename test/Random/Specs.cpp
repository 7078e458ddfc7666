//===- Specs.cpp - random attention specs ---------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallChoices.h"
#include "SpecWriter.h"

using namespace polyattn;
using namespace polyattn::random;

std::vector<SpecWriter::Tensor> SpecWriter::addWeights(const Program &program) {
  std::vector<Tensor> tensors;
  bool perHead = choices.chance(20);
  for (const Program::Weight &weight : program.getWeights())
    tensors.push_back(addTensor("w", (perHead ? "?x" : "") + weight.type() + "x", weightStorage));
  return tensors;
}

SpecWriter::Tensor SpecWriter::addTable(int64_t width) {
  return addGiven("table", (choices.chance(50) ? "?x?x" : "?x1x") + std::to_string(width) + "x",
                  storage);
}

SpecWriter::Value SpecWriter::readOf(const Tensor &tensor) {
  Value value{"%" + fresh("r"), Structure::vector(tensor.width)};
  body += "  " + value.name + " = read %" + tensor.name + " : " + tensor.type + " -> " +
          value.structure.str() + "\n";
  return value;
}

std::string SpecWriter::defineMap(const Program &program) {
  std::string name = fresh("map"), text, parameters;
  std::vector<std::string> inputNames, weightNames;
  for (const Program::Input &input : program.getInputs()) {
    inputNames.push_back("%x" + std::to_string(inputNames.size()));
    parameters +=
        (parameters.empty() ? "" : ", ") + inputNames.back() + ": " + input.structure.str();
  }
  for (const Program::Weight &weight : program.getWeights()) {
    weightNames.push_back("%w" + std::to_string(weightNames.size()));
    parameters += ", " + weightNames.back() + ": " + weight.type();
  }
  std::string result = program.write(text, inputNames, weightNames, "y");
  maps += "polyattn.feature_map @" + name + "(" + parameters + ") {\n" + text + "  yield " +
          result + " : " + program.getStructure().str() + "\n}\n\n";
  return name;
}

SpecWriter::Value SpecWriter::applied(const Program &program, const Tensor *tensor,
                                      const Value *vector, const std::vector<Tensor> &weights,
                                      const std::string &map) {
  Value source = vector ? *vector : Value{"", Structure::vector(1)};
  bool asTensor = !vector && !map.empty() && choices.chance(70);
  if (!vector && !asTensor)
    source = readOf(*tensor);
  std::vector<Value> tables;
  std::string operandTypes = asTensor ? tensor->type : source.structure.str();
  std::string operandNames = asTensor ? "%" + tensor->name : source.name;
  for (const Program::Input &input : program.getInputs())
    if (input.isTable) {
      Tensor table = addTable(input.structure.width());
      table.width = input.structure.width();
      tables.push_back(readOf(table));
      operandNames += ", " + tables.back().name;
      operandTypes += ", " + input.structure.str();
    }
  Value result{"", program.getStructure(), program.isNonNegative()};
  if (map.empty()) {
    std::vector<std::string> inputNames = {source.name}, weightNames;
    for (const Value &table : tables)
      inputNames.push_back(table.name);
    for (size_t i = 0; i < weights.size(); ++i) {
      weightNames.push_back("%" + fresh("wr"));
      body += "  " + weightNames.back() + " = read %" + weights[i].name + " : " + weights[i].type +
              " -> " + program.getWeights()[i].type() + "\n";
    }
    result.name = program.write(body, inputNames, weightNames, fresh("p") + "_");
    return result;
  }
  for (const Tensor &weight : weights) {
    operandNames += ", %" + weight.name;
    operandTypes += ", " + weight.type;
  }
  result.name = "%" + fresh("a");
  body += "  " + result.name + " = apply @" + map + "(" + operandNames + ") : " + operandTypes +
          " -> " + result.structure.str() + "\n";
  return result;
}

SpecWriter::Sides SpecWriter::bothSides(const Tensor *query, const Value *queryVector,
                                        const Tensor &key, int64_t maxFeatures, int64_t mostOps) {
  Program program =
      Program::make(choices, {{Structure::vector(key.width)}}, 0, mostOps, maxFeatures);
  std::string map = choices.chance(50) ? defineMap(program) : "";
  std::vector<Tensor> weights = addWeights(program);
  Value querySide = applied(program, query, queryVector, weights, map);
  // The other side may have weights of its own, or end differently.
  if (!weights.empty() && choices.chance(20))
    weights = addWeights(program);
  Value keySide = applied(program, &key, nullptr, weights, map);
  if (program.getStructure().kind() == Structure::Kind::Vector && choices.chance(10)) {
    Program end = Program::identity(program.getStructure()).withElementwise(choices);
    if (end.getWeights().empty())
      keySide = applied(end, nullptr, &keySide, {}, "");
  }
  return {querySide, keySide};
}

/// Outputs, vectors computed from them, and what a query is read as.
std::vector<SpecWriter::Value> SpecWriter::chooseResults() {
  std::vector<Value> results;
  for (const Value &output : outputs)
    if (&output == &outputs.back() || choices.chance(50))
      results.push_back(output);
  if (choices.chance(20)) {
    std::vector<Program::Input> inputs;
    std::vector<std::string> names, weightNames;
    for (const Value &output : outputs) {
      inputs.push_back({output.structure});
      names.push_back(output.name);
    }
    Program program = Program::make(choices, inputs, 1, 3, 64);
    for (size_t i = inputs.size(); i < program.getInputs().size(); ++i) {
      Tensor table = addTable(program.getInputs()[i].structure.width());
      table.width = program.getInputs()[i].structure.width();
      names.push_back(readOf(table).name);
    }
    for (const Program::Weight &weight : program.getWeights()) {
      Tensor tensor = addTensor("w", weight.type() + "x", weightStorage);
      weightNames.push_back("%" + fresh("wr"));
      body += "  " + weightNames.back() + " = read %" + tensor.name + " : " + tensor.type + " -> " +
              weight.type() + "\n";
    }
    results.push_back({program.write(body, names, weightNames, "f"), program.getStructure()});
  }
  if (choices.chance(6))
    results.push_back(readOf(*lastQuery));
  return results;
}

/// Results: vectors and final states, of which some are two results.
void SpecWriter::finish() {
  std::vector<Value> results = chooseResults();
  auto repeatSome = [&](auto &list, int percent) {
    while (!list.empty() && choices.chance(percent)) {
      auto again = list[choices.below(int64_t(list.size()))];
      list.push_back(again);
    }
  };
  repeatSome(results, 6);
  repeatSome(states, 35);
  std::string declared, returned, types;
  for (const Value &result : results) {
    int64_t width = result.structure.width();
    std::string element = choices.chance(20) ? "f32" : storage;
    declared += (declared.empty() ? "" : ", ") + fresh("out") + ": tensor<?x?x?x" +
                std::to_string(width) + "x" + element + ">";
    returned += (returned.empty() ? "" : ", ") + result.name;
    types += (types.empty() ? "" : ", ") + result.structure.str();
  }
  for (const auto &[name, type] : states) {
    declared += ", " + fresh("state") + ": " + type;
    returned += ", %" + name;
    types += ", " + type;
  }
  std::string clauses;
  if (choices.chance(12)) {
    std::string type = choices.oneOf({"i64", "i32"});
    clauses = "first_position %" + addGiven("first", "?x", type).name + " ";
  }
  if (!convolves && choices.chance(10)) {
    std::string type = choices.oneOf({"i32", "i64"});
    clauses += "packed %" + addGiven("offsets", "?x", type).name + " ";
    spec.sizes.sequences = choices.oneOf({3, 1, 2, 6, 0});
  }
  spec.text = maps + "polyattn.attention @attention(" + arguments + ")\n    -> (" + declared +
              ") " + clauses + "{\n" + body + "  return " + returned + " : " + types + "\n}\n";
}

void SpecWriter::write(int convolutionPercent) {
  spec.sizes.kvHeads = choices.oneOf({1, 1, 2, 3});
  spec.sizes.heads = spec.sizes.kvHeads * choices.oneOf({1, 1, 1, 2, 3});
  // The heads that share keys are where halves of a pair may mistake one side's tensors of 16 bits.
  if (choices.chance(spec.sizes.heads == spec.sizes.kvHeads ? 30 : 50))
    storage = choices.oneOf({"bf16", "f16"});
  sharesHeads = choices.chance(15);
  weightStorage = choices.chance(40) ? "f32" : storage;
  if (choices.chance(convolutionPercent)) {
    convolutions();
  } else {
    attend();
    for (int i = 0; i < 2 && choices.chance(20); ++i)
      attend();
    if (choices.chance(12))
      writeAttend();
  }
  finish();
  chooseSizes(choices, blocks, spec);
}

Case polyattn::random::makeSpec(Choices &choices, const SpecWeights &weights) {
  Case spec;
  SpecWriter writer(choices, spec);
  writer.write(weights.convolutions);
  spec.seed = uint64_t(choices.below(1000));
  spec.inputs = choices.oneOf({"normal", "normal", "normal", "mixed", "small", "resets", "empty"});
  spec.padded = choices.chance(30);
  spec.threads = choices.oneOf({1, 1, 2, 3});
  spec.segments = choices.chance(20) ? choices.between(1, 3) : 0;
  spec.invariant = choices.chance(10);
  int64_t direction = choices.below(100);
  if (direction >= 100 - weights.decode) {
    if (writer.isCausal())
      chooseCalls(choices, writer.getBlocks(), spec);
  } else if (direction >= 100 - weights.decode - weights.gradients) {
    chooseGradients(choices, writer.getDifferentiable(), spec);
  } else if (direction >= 100 - weights.decode - weights.gradients - weights.segments) {
    if (writer.isCausal())
      spec.direction = choices.oneOf({CallDirection::States, CallDirection::GradientStates});
  }
  return spec;
}
