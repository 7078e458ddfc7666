//===- SpecAttends.cpp - random attends of a spec -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecWriter.h"
#include <algorithm>

using namespace polyattn;
using namespace polyattn::random;

bool SpecWriter::decay() {
  int64_t form = choices.below(8);
  if (form < 5)
    return false;
  bool perQuery = choices.chance(40);
  attributes += std::string("gate_heads = #polyattn.gate_heads<") + (perQuery ? "q" : "kv") + ">, ";
  if (form < 7) {
    // The gates of an attend before, of which the gradient is a sum then, where both read them
    // alike.
    Gates gates{{}, form == 5 ? "?x?x?x" : "?x", grouping, perQuery};
    bool again = lastGates && lastGates->isReadAs(gates) && choices.chance(60);
    gates.tensor = again ? lastGates->tensor : addTensor("g", gates.shape, "f32");
    operands += " decay %" + gates.tensor.name;
    types += ", " + gates.tensor.type;
    lastGates = gates;
    return true;
  }
  std::string factors;
  for (int64_t i = 0; i < (perQuery || sharesHeads ? spec.sizes.heads : spec.sizes.kvHeads); ++i)
    factors += (i ? ", " : "") + number(choices.oneOf({0.9, 1.0, 0.5, 0.99, 1e-3}));
  attributes += "decay_factors = array<f64: " + factors + ">, ";
  return true;
}

void SpecWriter::decayOfFeatures(int64_t features) {
  bool perQuery = choices.chance(40);
  attributes += std::string("gate_heads = #polyattn.gate_heads<") + (perQuery ? "q" : "kv") + ">, ";
  Tensor gates = addTensor("g", "?x?x?x" + std::to_string(features) + "x", "f32");
  operands += " decay %" + gates.name;
  types += ", " + gates.type;
}

std::string SpecWriter::normalizer(bool isSigned, bool hasStates, bool mayBeSoftmax) {
  if (mayBeSoftmax && choices.chance(12))
    return "softmax";
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

/// One schedule for all attends of a spec, whose segments are the same.
std::string SpecWriter::chunkwiseSchedule() {
  int64_t block = choices.oneOf({16, 8, 32, 64, 33});
  blocks.push_back(block);
  return "schedule = #polyattn.schedule<form = chunkwise, diagonal = scores, block = " +
         std::to_string(block) +
         ", feature_block = " + std::to_string(choices.oneOf({16, 64, 7, 33})) +
         ", quadratic_below = " + std::to_string(choices.oneOf({0, 0, 40, 129})) +
         ", segment = " + std::to_string(block * choices.oneOf({1, 2, 4})) + ">, ";
}

void SpecWriter::initialStates(const Value &key, int64_t valueWidth, bool normalized) {
  std::string width = std::to_string(key.structure.width());
  auto take = [&](const char *keyword, const char *name, const std::string &shape) {
    // The state of an attend before, of which the gradient is a sum then.
    auto given = llvm::find_if(givenStates, [&](const Tensor &tensor) {
      return tensor.type == "tensor<" + shape + "f32>";
    });
    bool again = given != givenStates.end() && choices.chance(60);
    if (!again)
      given = givenStates.insert(givenStates.begin(), addTensor(name, shape, "f32"));
    operands += std::string(" ") + keyword + " %" + given->name;
    types += ", " + given->type;
  };
  take("initial", "s", "?x?x" + width + "x" + std::to_string(valueWidth) + "x");
  if (normalized)
    take("initial_normalizer", "z", "?x?x" + width + "x");
}

void SpecWriter::attend() {
  Choices::Group group(choices);
  operands = types = attributes = "";
  // Attends of one attention are alike, now and then not.
  if (outputs.empty() || choices.chance(5)) {
    mask = choices.chance(25) ? "full" : choices.chance(25) ? "anticausal" : "causal";
    grouping = std::string("grouping = #polyattn.grouping<") +
               (choices.chance(sharesHeads ? 2 : 25) ? "interleaved" : "block") + ">";
    // Without one keys have the heads of queries, and under the full mask positions of their own.
    if ((spec.sizes.heads == spec.sizes.kvHeads || sharesHeads) && choices.chance(25))
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
  bool isLocal = isOrdered() && choices.chance(15);
  if (isLocal) {
    Sides local = sides(2);
    operands += " local " + local.query.name + ", " + local.key.name;
    types += ", " + local.query.structure.str() + ", " + local.key.structure.str();
    isSigned |= !local.query.nonNegative || !local.key.nonNegative;
    blocks.push_back(choices.oneOf({8, 1, 2, 5, 16, 33, 64, 100, 128}));
    attributes += "block = " + std::to_string(blocks.back()) + " : i64, ";
  }
  int64_t features = both.key.structure.width();
  bool featuresDecay =
      mask == "causal" && !isLocal && chunks.empty() && features <= 300 && choices.chance(10);
  if (featuresDecay)
    decayOfFeatures(features);
  bool hasDecay = featuresDecay || (isOrdered() && decay());
  bool holdable = isOrdered() && features <= 1500;
  bool initial = holdable && choices.chance(15), final = holdable && choices.chance(20);
  if (choices.chance(25)) {
    double scale = choices.oneOf({0.5, 2.0, 0.125, -1.0, 1e-3});
    attributes += "score_scale = " + number(scale) + ", ";
    isSigned |= scale < 0;
  }
  bool hasStates = initial || final || featuresDecay;
  if (isLocal && !hasDecay && !hasStates && choices.chance(40))
    attributes += "sliding, ";
  bool mayLackState = !hasStates && !isLocal && chunks.empty();
  std::string denominator = normalizer(isSigned, hasStates, mayLackState && !hasDecay);
  bool lacksState = denominator == "softmax";
  if (mayLackState && !llvm::StringRef(denominator).contains("mean") && choices.chance(12)) {
    attributes +=
        "window = " + std::to_string(choices.oneOf({16, 1, 2, 33, 64, 65, 100, 300})) + " : i64, ";
    lacksState = true;
  }
  bool normalized = denominator.compare(0, 4, "none") != 0;
  if (initial)
    initialStates(both.key, value.structure.width(), normalized);
  if (final)
    attributes += "final_state, ";
  if (outputs.empty() && isOrdered() && !featuresDecay && !lacksState && choices.chance(12))
    chunks = chunkwiseSchedule();
  if (!chunks.empty())
    attributes += chunks;
  else if (!featuresDecay && !lacksState && choices.chance(20))
    attributes += schedule(features);
  if (choices.chance(10))
    attributes += "precision = " + std::string(choices.chance(60) ? "bf16" : "f32") + ", ";
  attributes += grouping;
  if (grouping.empty() && !attributes.empty())
    attributes.resize(attributes.size() - 2); // the last comma
  last = {" = attend" + operands + " " + mask + " normalize <" + denominator + "> {" + attributes +
              "} : " + types + "\n",
          value.structure.width(), features, final, normalized};
  writeAttend();
}

/// Writes the last attend, or once more an equal one.
void SpecWriter::writeAttend() {
  Value output{"%" + fresh("o"), Structure::vector(last.valueWidth)};
  std::string results = output.name;
  if (last.givesState) {
    std::string shape = "tensor<?x?x" + std::to_string(last.features) + "x";
    states.push_back({fresh("fs"), shape + std::to_string(last.valueWidth) + "xf32>"});
    results += ", %" + states.back().first;
    if (last.isNormalized) {
      states.push_back({fresh("fz"), shape + "f32>"});
      results += ", %" + states.back().first;
    }
  }
  body += "  " + results + last.text;
  outputs.push_back(std::move(output));
}
