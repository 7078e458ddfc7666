//===- SpecWriter.h - the text of a random attention spec -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_RANDOM_SPECWRITER_H
#define POLYATTN_TEST_RANDOM_SPECWRITER_H

#include "Case.h"
#include "Choices.h"
#include "Program.h"
#include <optional>

namespace polyattn::random {

/// Writes one attention from its first tensor to its `return`.
class SpecWriter {
public:
  SpecWriter(Choices &choices, Case &spec) : choices(choices), spec(spec) {}
  /// Convolutions in so many of a hundred specs, and attends in the others.
  void write(int convolutionPercent);
  bool isCausal() const { return allCausal; }
  const std::vector<int64_t> &getBlocks() const { return blocks; }
  /// The names of arguments that may have gradients.
  const std::vector<std::string> &getDifferentiable() const { return differentiable; }

private:
  /// A vector in the body of an attention.
  struct Value {
    std::string name;
    Structure structure;
    bool nonNegative = false;
  };
  struct Tensor {
    std::string name, type;
    int64_t width = 0;
  };

  std::string fresh(const char *stem) { return stem + std::to_string(next++); }
  Tensor addGiven(const char *stem, const std::string &shape, const std::string &element) {
    Tensor tensor{fresh(stem), "tensor<" + shape + element + ">"};
    arguments += (arguments.empty() ? "%" : ", %") + tensor.name + ": " + tensor.type;
    return tensor;
  }
  Tensor addTensor(const char *stem, const std::string &shape, const std::string &element) {
    Tensor tensor = addGiven(stem, shape, element);
    differentiable.push_back(tensor.name);
    return tensor;
  }
  Tensor addSequence(const char *stem, int64_t width) {
    bool isShared = sharesHeads && choices.chance(60);
    Tensor tensor = addTensor(stem, "?x?x?x" + std::to_string(width) + "x",
                              storage + (isShared ? ", #polyattn.shared_heads" : ""));
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

  /// A tensor of decays, and how an attend reads it.
  struct Gates {
    Tensor tensor;
    std::string shape, grouping;
    bool perQuery = false;
    bool isReadAs(const Gates &other) const {
      return shape == other.shape && grouping == other.grouping && perQuery == other.perQuery;
    }
  };

  /// An attend as text, from its `=` on, and what it gives.
  struct Attend {
    std::string text;
    int64_t valueWidth = 0, features = 0;
    bool givesState = false, isNormalized = false;
  };
  void attend();
  void writeAttend();
  /// Whether it has written one.
  bool decay();
  void decayOfFeatures(int64_t features);
  std::string normalizer(bool isSigned, bool hasStates, bool mayBeSoftmax);
  std::string schedule(int64_t features);
  std::string chunkwiseSchedule();
  void initialStates(const Value &key, int64_t valueWidth, bool normalized);

  /// A filter, and how convolutions read it.
  struct Filter {
    Tensor tensor;
    std::string type;
    int64_t width = 0;
    bool isShared = false; // by all channels
  };
  Value rowsToConvolve();
  Value gated(const Value &rows);
  Filter filterOf(int64_t width);
  void convolution();
  void convolutions();
  std::vector<Value> chooseResults();
  void finish();

  Choices &choices;
  Case &spec;
  std::string chunks; // the schedule of all attends in the form `chunkwise`; else empty
  std::string storage = "f32", weightStorage = "f32", maps, arguments, body;
  int next = 0;
  std::vector<std::string> differentiable;
  std::vector<Value> outputs;
  std::vector<std::pair<std::string, std::string>> states; // name and type
  Attend last;
  std::optional<Tensor> lastQuery, lastKey, lastValue;
  std::optional<Gates> lastGates;
  std::optional<Filter> lastFilter;
  std::string convolutionFlags;
  std::vector<Tensor> givenStates; // the last one first
  std::vector<int64_t> blocks;
  std::string mask = "causal";
  std::string grouping;
  bool allCausal = true, convolves = false, sharesHeads = false;
  bool isOrdered() const { return mask != "full"; }
  // Text of the attend that is being written.
  std::string operands, types, attributes;
};

} // namespace polyattn::random

#endif // POLYATTN_TEST_RANDOM_SPECWRITER_H
