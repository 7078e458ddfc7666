//===- PlanJSON.cpp - plans to and from JSON ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/Calling.md says what the keys mean.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/LaunchLimits.h"
#include "polyattn/Launch/LaunchPlan.h"
#include "llvm/ADT/STLExtras.h"

using namespace polyattn;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

namespace {
/// A word and what it stands for.
struct Word {
  StringRef word;
  int64_t value;
};
} // namespace

static const Word kChoices[] = {{"segments", LaunchExtent::Segments},
                                {"splits", LaunchExtent::Splits},
                                {"parts", LaunchExtent::Parts}};
static const Word kFills[] = {{"none", LaunchWorkspace::None},
                              {"zero", LaunchWorkspace::Zero},
                              {"launch", LaunchWorkspace::Launch},
                              {"program", LaunchWorkspace::Program}};
static const Word kStageKinds[] = {{"plain", LaunchStage::Plain},
                                   {"per_split", LaunchStage::PerSplit},
                                   {"combines_splits", LaunchStage::CombinesSplits},
                                   {"chained", LaunchStage::Chained},
                                   {"sums_segments", LaunchStage::SumsSegments}};

static StringRef wordOf(llvm::ArrayRef<Word> words, int64_t value) {
  return llvm::find_if(words, [&](const Word &word) { return word.value == value; })->word;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Value toJSON(const LaunchExtent &extent) {
  if (extent.base == LaunchExtent::Number)
    return extent.plus;
  Object object;
  if (extent.base == LaunchExtent::Dimension) {
    object["tensor"] = extent.tensor;
    object["dimension"] = extent.dimension;
  } else {
    object["choice"] = wordOf(kChoices, extent.base);
  }
  if (extent.plus != 0)
    object["plus"] = extent.plus;
  if (extent.divisor != 1)
    object["divided_by"] = extent.divisor;
  if (extent.times != 1)
    object["times"] = extent.times;
  return std::move(object);
}

static Array toJSON(llvm::ArrayRef<LaunchExtent> extents) {
  Array list;
  for (const LaunchExtent &extent : extents)
    list.push_back(toJSON(extent));
  return list;
}

Value LaunchPlan::toJSON() const {
  Array spaces, kernels, numbers;
  for (const LaunchWorkspace &workspace : workspaces)
    spaces.push_back(Object{{"name", workspace.name},
                            {"dtype", nameOf(workspace.dtype)},
                            {"fill", wordOf(kFills, workspace.fill)},
                            {"shape", ::toJSON(workspace.shape)}});
  for (const LaunchStage &stage : stages)
    kernels.push_back(Object{{"function", stage.function},
                             {"kind", wordOf(kStageKinds, stage.kind)},
                             {"programs", ::toJSON(stage.programs)},
                             {"workspaces", Array(stage.workspaces)},
                             {"scratch_bytes", stage.scratchBytes},
                             {"cluster", stage.cluster}});
  for (const LaunchChoice &choice : choices) {
    Object object{{"choose", wordOf(kChoices, choice.kind)}, {"of", ::toJSON(choice.of)}};
    for (const tile::ChoiceField &field : tile::kChoiceFields)
      if (field.isOf(choice.kind))
        object[field.name] = choice.*LaunchChoice::field(field.name);
    numbers.push_back(std::move(object));
  }
  return Object{{"workspaces", std::move(spaces)},
                {"stages", std::move(kernels)},
                {"choices", std::move(numbers)}};
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// Reads one object of a plan, and keeps what is wrong first.
class Reader {
public:
  Reader(const Object &object, StringRef what, std::string &problem)
      : object(object), what(what), problem(problem) {}

  std::string text(StringRef key) {
    std::optional<StringRef> value = object.getString(key);
    if (!value)
      complain(key);
    return value.value_or("").str();
  }

  int64_t number(StringRef key, std::optional<int64_t> otherwise = std::nullopt) {
    if (otherwise && !object.get(key))
      return *otherwise;
    std::optional<int64_t> value = object.getInteger(key);
    if (!value)
      complain(key);
    return value.value_or(0);
  }

  int64_t word(StringRef key, llvm::ArrayRef<Word> words) {
    std::string value = text(key);
    const Word *found = llvm::find_if(words, [&](const Word &word) { return word.word == value; });
    if (found == words.end())
      complain(key);
    return found == words.end() ? words.front().value : found->value;
  }

  ElementType element(StringRef key) {
    std::optional<ElementType> type = parseElementType(text(key));
    if (!type)
      complain(key);
    return type.value_or(ElementType::F32);
  }

  LaunchExtent extent(StringRef key) {
    const Value *value = object.get(key);
    return value ? extent(*value, key) : (complain(key), LaunchExtent());
  }

  std::vector<LaunchExtent> extents(StringRef key) {
    std::vector<LaunchExtent> list;
    for (const Value &value : array(key))
      list.push_back(extent(value, key));
    return list;
  }

  std::vector<int64_t> numbers(StringRef key) {
    std::vector<int64_t> list;
    for (const Value &value : array(key)) {
      if (!value.getAsInteger())
        complain(key);
      list.push_back(value.getAsInteger().value_or(0));
    }
    return list;
  }

private:
  void complain(StringRef key) {
    if (problem.empty())
      problem = ("a " + what + " has no such '" + key + "'").str();
  }

  llvm::ArrayRef<Value> array(StringRef key) {
    const Array *list = object.getArray(key);
    if (!list)
      complain(key);
    return list ? llvm::ArrayRef(list->data(), list->size()) : llvm::ArrayRef<Value>();
  }

  LaunchExtent extent(const Value &value, StringRef key) {
    if (std::optional<int64_t> number = value.getAsInteger())
      return LaunchExtent::number(*number);
    const Object *parts = value.getAsObject();
    LaunchExtent result;
    if (!parts) {
      complain(key);
      return result;
    }
    Reader inner(*parts, "size", problem);
    if (parts->get("choice")) {
      result.base = LaunchExtent::Base(inner.word("choice", kChoices));
    } else {
      result.base = LaunchExtent::Dimension;
      result.tensor = inner.number("tensor");
      result.dimension = inner.number("dimension");
    }
    result.plus = inner.number("plus", 0);
    result.divisor = inner.number("divided_by", 1);
    result.times = inner.number("times", 1);
    return result;
  }

  const Object &object;
  StringRef what;
  std::string &problem;
};

/// A list of objects under `key`, each of them given to `read`.
template <typename Read>
void readAll(const Object &plan, StringRef key, StringRef what, std::string &problem, Read read) {
  const Array *list = plan.getArray(key);
  if (!list && problem.empty())
    problem = ("a plan has no such '" + key + "'").str();
  if (!list)
    return;
  for (const Value &value : *list) {
    const Object *object = value.getAsObject();
    if (object)
      read(Reader(*object, what, problem));
    else if (problem.empty())
      problem = ("a " + what + " is no object").str();
  }
}
} // namespace

Expected<LaunchPlan> LaunchPlan::fromJSON(const Value &value, llvm::ArrayRef<int64_t> ranks) {
  const Object *object = value.getAsObject();
  if (!object)
    return createStringError("a plan is no object");
  LaunchPlan plan;
  std::string problem;
  readAll(*object, "workspaces", "workspace", problem, [&](Reader reader) {
    plan.workspaces.push_back({reader.text("name"), reader.element("dtype"),
                               LaunchWorkspace::Fill(reader.word("fill", kFills)),
                               reader.extents("shape")});
  });
  readAll(*object, "stages", "stage", problem, [&](Reader reader) {
    plan.stages.push_back({reader.text("function"), reader.extents("programs"),
                           reader.numbers("workspaces"),
                           LaunchStage::Kind(reader.word("kind", kStageKinds)),
                           reader.number("scratch_bytes"), reader.number("cluster")});
  });
  readAll(*object, "choices", "choice", problem, [&](Reader reader) {
    LaunchChoice choice;
    choice.kind = LaunchExtent::Base(reader.word("choose", kChoices));
    choice.of = reader.extent("of");
    for (const tile::ChoiceField &field : tile::kChoiceFields)
      if (field.isOf(choice.kind))
        choice.*LaunchChoice::field(field.name) = reader.number(field.name);
    plan.choices.push_back(choice);
  });
  if (!problem.empty())
    return createStringError(problem);
  if (Error error = plan.verify(ranks))
    return std::move(error);
  return plan;
}
