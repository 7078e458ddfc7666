//===- Specs.cpp - random attention specs ---------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallChoices.h"
#include "Case.h"
#include "Program.h"
#include <algorithm>

using namespace polyattn;
using namespace polyattn::random;

namespace {

/// A vector in the body of an attention.
struct Value {
  std::string name;
  Structure structure;
  bool nonNegative = false;
};

/// Writes one attention from its first tensor to its `return`.
class SpecWriter {
public:
  SpecWriter(Choices &choices, Case &spec) : choices(choices), spec(spec) {}
  void write();
  bool isCausal() const { return allCausal; }
  const std::vector<int64_t> &getBlocks() const { return blocks; }

private:
  struct Tensor {
    std::string name, type;
    int64_t width = 0;
  };

  std::string fresh(const char *stem) { return stem + std::to_string(next++); }
  Tensor addTensor(const char *stem, const std::string &shape, const std::string &element) {
    Tensor tensor{fresh(stem), "tensor<" + shape + element + ">"};
    arguments += (arguments.empty() ? "%" : ", %") + tensor.name + ": " + tensor.type;
    return tensor;
  }
  Tensor addSequence(const char *stem, int64_t width) {
    Tensor tensor = addTensor(stem, "?x?x?x" + std::to_string(width) + "x", storage);
    tensor.width = width;
    return tensor;
  }
  std::vector<Tensor> addWeights(const Program &program);
  Tensor addTable(int64_t width);
  Value readOf(const Tensor &tensor);

  /// The program applied to a tensor or, where that is null, to a vector.
  Value applied(const Program &program, const Tensor *tensor, const Value *vector,
                const std::vector<Tensor> &weights, const std::string &map);
  std::string defineMap(const Program &program);
  struct Sides {
    Value query, key;
  };
  Sides bothSides(const Tensor *query, const Value *queryVector, const Tensor &key,
                  int64_t maxFeatures, int64_t mostOps);

  void attend();
  void decay();
  std::string normalizer(bool isSigned, bool hasStates);
  std::string schedule(int64_t features);
  void initialStates(const Value &key, int64_t valueWidth, bool normalized);
  void finish();

  Choices &choices;
  Case &spec;
  std::string storage = "f32", weightStorage = "f32", maps, arguments, body;
  int next = 0;
  std::vector<Value> outputs;
  std::vector<std::pair<std::string, std::string>> states; // name and type
  std::optional<Tensor> lastQuery, lastKey, lastValue;
  std::vector<int64_t> blocks;
  std::string mask = "causal";
  std::string grouping;
  bool allCausal = true;
  bool isOrdered() const { return mask != "full"; }
  // Text of the attend that is being written.
  std::string operands, types, attributes;
};

std::vector<SpecWriter::Tensor> SpecWriter::addWeights(const Program &program) {
  std::vector<Tensor> tensors;
  bool perHead = choices.chance(20);
  for (const Program::Weight &weight : program.getWeights())
    tensors.push_back(addTensor("w", (perHead ? "?x" : "") + weight.type() + "x", weightStorage));
  return tensors;
}

SpecWriter::Tensor SpecWriter::addTable(int64_t width) {
  return addTensor("table", (choices.chance(50) ? "?x?x" : "?x1x") + std::to_string(width) + "x",
                   storage);
}

Value SpecWriter::readOf(const Tensor &tensor) {
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

Value SpecWriter::applied(const Program &program, const Tensor *tensor, const Value *vector,
                          const std::vector<Tensor> &weights, const std::string &map) {
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

void SpecWriter::decay() {
  int64_t form = choices.below(8);
  if (form < 5)
    return;
  bool perQuery = choices.chance(40);
  attributes += std::string("gate_heads = #polyattn.gate_heads<") + (perQuery ? "q" : "kv") + ">, ";
  if (form < 7) {
    Tensor gates = addTensor("g", form == 5 ? "?x?x?x" : "?x", "f32");
    operands += " decay %" + gates.name;
    types += ", " + gates.type;
    return;
  }
  std::string factors;
  for (int64_t i = 0; i < (perQuery ? spec.sizes.heads : spec.sizes.kvHeads); ++i)
    factors += (i ? ", " : "") + number(choices.oneOf({0.9, 1.0, 0.5, 0.99, 1e-3}));
  attributes += "decay_factors = array<f64: " + factors + ">, ";
}

std::string SpecWriter::normalizer(bool isSigned, bool hasStates) {
  int64_t kind = choices.below(4);
  if (kind < 2 || spec.sizes.heads == 0)
    return choices.chance(10) ? "none, reduce = mean" : "none";
  bool bias = kind == 3;
  std::string text = bias ? "bias, bias = " + number(choices.oneOf({1.0, 0.5, 3.0, -0.5, 1e-3}))
                          : "sum, eps = " + number(choices.oneOf({1e-6, 1e-3, 1.0, 0.1}));
  bool eps = !bias || choices.chance(30);
  if (bias && eps)
    text += ", eps = " + number(1e-3);
  if (eps && !hasStates && choices.chance(20))
    text += ", eps_mode = row_max";
  if (choices.chance(15))
    text += ", reduce = mean";
  if (choices.chance(10))
    text += ", guard_below = " + number(1e-3) + ", guard_add = " + number(0.5);
  if (choices.chance(isSigned ? 60 : 10))
    text += ", min_denom = " + number(choices.oneOf({0.5, 1e-3, 2.0}));
  if (isSigned)
    attributes += "signed_scores, ";
  return text;
}

std::string SpecWriter::schedule(int64_t features) {
  // What an interpreter has the time for: it takes as long for a block of one feature as for one of
  // many.
  constexpr int64_t mostFeatures = 5000, mostBlocks = 512;
  int64_t block = choices.oneOf({16, 8, 32, 33, 64, 100, 128, 1});
  blocks.push_back(block);
  const char *form = choices.oneOf({"state", "quadratic", "both"});
  if (features > mostFeatures)
    form = "quadratic";
  int64_t below = form == std::string("both") ? choices.oneOf({0, 5, 40, 129}) : 0;
  std::string shortBlocks;
  if (isOrdered() && choices.chance(40)) {
    std::string lengths = choices.oneOf({"16, 32", "1", "5, 40", "16, 64, 128"});
    blocks.push_back(std::stoll(lengths.substr(lengths.rfind(' ') + 1)));
    shortBlocks = ", short_blocks = [" + lengths + "]";
  }
  return std::string("schedule = #polyattn.schedule<form = ") + form +
         ", diagonal = " + choices.oneOf({"scores", "features"}) +
         ", block = " + std::to_string(block) + ", feature_block = " +
         std::to_string(std::max(choices.oneOf<int64_t>({16, 4, 7, 8, 12, 64, 1, 33}),
                                 features / mostBlocks)) +
         ", quadratic_below = " + std::to_string(below) + shortBlocks + ">, ";
}

void SpecWriter::initialStates(const Value &key, int64_t valueWidth, bool normalized) {
  std::string width = std::to_string(key.structure.width());
  Tensor state = addTensor("s", "?x?x" + width + "x" + std::to_string(valueWidth) + "x", "f32");
  operands += " initial %" + state.name;
  types += ", " + state.type;
  if (!normalized)
    return;
  Tensor sums = addTensor("z", "?x?x" + width + "x", "f32");
  operands += " initial_normalizer %" + sums.name;
  types += ", " + sums.type;
}

void SpecWriter::attend() {
  Choices::Group group(choices);
  operands = types = attributes = "";
  // Attends of one attention are alike, now and then not.
  if (outputs.empty() || choices.chance(5)) {
    mask = choices.chance(25) ? "full" : choices.chance(25) ? "anticausal" : "causal";
    grouping = std::string("grouping = #polyattn.grouping<") +
               (choices.chance(25) ? "interleaved" : "block") + ">";
    // Without one keys have the heads of queries, and under the full mask positions of their own.
    if (spec.sizes.heads == spec.sizes.kvHeads && choices.chance(25))
      grouping = "";
  }
  allCausal &= mask == "causal";
  auto width = [&] { return choices.oneOf({4, 1, 2, 3, 5, 7, 8, 16, 17, 33}); };
  // Sequences of its own, or those of the attend before it.
  bool again = lastKey && choices.chance(40);
  bool ofOutput = !outputs.empty() && choices.chance(15);
  if (ofOutput) {
    lastKey = addSequence("k", outputs.back().structure.width());
  } else if (!again) {
    lastQuery = addSequence("q", width());
    lastKey = addSequence("k", lastQuery->width);
  }
  if (!ofOutput && lastQuery->width != lastKey->width)
    lastQuery = addSequence("q", lastKey->width);
  if (!lastValue || !again)
    lastValue = addSequence("v", width());
  if (!ofOutput && choices.chance(5))
    lastKey = lastQuery; // one tensor on both sides
  int64_t maxFeatures = choices.oneOf({64, 20, 300, 1000, 20000});
  Value from = ofOutput ? outputs.back() : Value{"", Structure::vector(1)};
  auto sides = [&](int64_t most) {
    return bothSides(ofOutput ? nullptr : &*lastQuery, ofOutput ? &from : nullptr, *lastKey,
                     maxFeatures, most);
  };
  Sides both = sides(4);
  Program valueProgram =
      choices.chance(20) ? Program::make(choices, {{Structure::vector(lastValue->width)}}, 0, 2, 40)
                         : Program::identity(Structure::vector(lastValue->width));
  Value value = applied(valueProgram, &*lastValue, nullptr, addWeights(valueProgram), "");
  operands = " query " + both.query.name + " key " + both.key.name + " value " + value.name;
  types =
      both.query.structure.str() + ", " + both.key.structure.str() + ", " + value.structure.str();
  bool isSigned = !both.query.nonNegative || !both.key.nonNegative;
  if (isOrdered() && choices.chance(15)) {
    Sides local = sides(2);
    operands += " local " + local.query.name + ", " + local.key.name;
    types += ", " + local.query.structure.str() + ", " + local.key.structure.str();
    isSigned |= !local.query.nonNegative || !local.key.nonNegative;
    blocks.push_back(choices.oneOf({8, 1, 2, 5, 16, 33, 64, 100, 128}));
    attributes += "block = " + std::to_string(blocks.back()) + " : i64, ";
  }
  if (isOrdered())
    decay();
  int64_t features = both.key.structure.width();
  bool holdable = isOrdered() && features <= 1500;
  bool initial = holdable && choices.chance(15), final = holdable && choices.chance(20);
  if (choices.chance(25)) {
    double scale = choices.oneOf({0.5, 2.0, 0.125, -1.0, 1e-3});
    attributes += "score_scale = " + number(scale) + ", ";
    isSigned |= scale < 0;
  }
  std::string denominator = normalizer(isSigned, initial || final);
  bool normalized = denominator.compare(0, 4, "none") != 0;
  if (initial)
    initialStates(both.key, value.structure.width(), normalized);
  if (final)
    attributes += "final_state, ";
  if (choices.chance(20))
    attributes += schedule(features);
  attributes += grouping;
  if (grouping.empty() && !attributes.empty())
    attributes.resize(attributes.size() - 2); // the last comma

  Value output{"%" + fresh("o"), Structure::vector(value.structure.width())};
  std::string results = output.name;
  if (final) {
    std::string shape = "tensor<?x?x" + std::to_string(features) + "x";
    states.push_back({fresh("fs"), shape + std::to_string(value.structure.width()) + "xf32>"});
    results += ", %" + states.back().first;
    if (normalized) {
      states.push_back({fresh("fz"), shape + "f32>"});
      results += ", %" + states.back().first;
    }
  }
  body += "  " + results + " = attend" + operands + " " + mask + " normalize <" + denominator +
          "> {" + attributes + "} : " + types + "\n";
  outputs.push_back(std::move(output));
}

/// Results: outputs, vectors computed from them, final states.
void SpecWriter::finish() {
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
    clauses = "first_position %" + addTensor("first", "?x", type).name + " ";
  }
  if (choices.chance(10)) {
    std::string type = choices.oneOf({"i32", "i64"});
    clauses += "packed %" + addTensor("offsets", "?x", type).name + " ";
    spec.sizes.sequences = choices.oneOf({3, 1, 2, 6, 0});
  }
  spec.text = maps + "polyattn.attention @attention(" + arguments + ")\n    -> (" + declared +
              ") " + clauses + "{\n" + body + "  return " + returned + " : " + types + "\n}\n";
}

void SpecWriter::write() {
  spec.sizes.kvHeads = choices.oneOf({1, 1, 2, 3});
  spec.sizes.heads = spec.sizes.kvHeads * choices.oneOf({1, 1, 1, 2, 3});
  // The heads that share keys are where halves of a pair may mistake one side's tensors of 16 bits.
  if (choices.chance(spec.sizes.heads == spec.sizes.kvHeads ? 30 : 50))
    storage = choices.oneOf({"bf16", "f16"});
  weightStorage = choices.chance(40) ? "f32" : storage;
  attend();
  for (int i = 0; i < 2 && choices.chance(20); ++i)
    attend();
  finish();
  chooseSizes(choices, blocks, spec);
}

} // namespace

Case polyattn::random::makeSpec(Choices &choices, const SpecWeights &weights) {
  Case spec;
  SpecWriter writer(choices, spec);
  writer.write();
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
    chooseGradients(choices, spec);
  }
  return spec;
}
