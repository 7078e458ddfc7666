//===- KernelDescription.cpp - descriptions to and from JSON --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Kernel/KernelDescription.h"

using namespace polyattn;

static llvm::json::Array sizesToJSON(llvm::ArrayRef<int64_t> sizes) {
  llvm::json::Array result;
  for (int64_t size : sizes)
    if (size < 0)
      result.push_back(sizeToString(size));
    else
      result.push_back(size);
  return result;
}

static llvm::json::Value firstToJSON(const KernelDescription &kernel) {
  if (!kernel.firstPosition)
    return nullptr;
  return llvm::json::Object{{"argument", kernel.tensors[kernel.firstPosition->tensor].name},
                            {"unit", kernel.firstPosition->unit}};
}

static llvm::json::Array limitsToJSON(const KernelDescription &kernel) {
  llvm::json::Array limits;
  for (const LimitDescription &limit : kernel.limits)
    limits.push_back(llvm::json::Object{{"size", sizeToString(limit.size)},
                                        {"most", limit.most},
                                        {"argument", kernel.tensors[limit.tensor].name}});
  return limits;
}

static llvm::json::Value tensorName(const KernelDescription &kernel,
                                    std::optional<int64_t> tensor) {
  return tensor ? llvm::json::Value(kernel.tensors[*tensor].name) : llvm::json::Value(nullptr);
}

/// What a tensor is a gradient of, or was saved from, is there only where it is such a one.
static llvm::json::Object tensorToJSON(const TensorDescription &tensor) {
  llvm::json::Object object{{"name", tensor.name},
                            {"dtype", nameOf(tensor.dtype)},
                            {"shape", sizesToJSON(tensor.sizes)},
                            {"role", nameOf(tensor.role)}};
  if (!tensor.gradientOf.empty())
    object["gradient_of"] = tensor.gradientOf;
  if (!tensor.savedFrom.empty())
    object["saved_from"] = tensor.savedFrom;
  return object;
}

llvm::json::Value KernelDescription::toJSON() const {
  llvm::json::Array arguments, results;
  for (const TensorDescription &tensor : tensors) {
    llvm::json::Object object = tensorToJSON(tensor);
    if (tensor.argument)
      object["in"] = tensors[*tensor.argument].name;
    (tensor.isResult ? results : arguments).push_back(std::move(object));
  }
  return llvm::json::Object{{"version", kVersion},
                            {"entry", entry},
                            {"direction", nameOf(direction)},
                            {"arguments", std::move(arguments)},
                            {"results", std::move(results)},
                            {"plan", plan.toJSON()},
                            {"fixed_sizes", llvm::json::Array(fixedSizes)},
                            {"limits", limitsToJSON(*this)},
                            {"first_position", firstToJSON(*this)},
                            {"slots", tensorName(*this, slots)},
                            {"lengths", tensorName(*this, lengths)},
                            {"packed", tensorName(*this, offsets)},
                            {"target", target},
                            {"cpu_level", cpuLevel},
                            {"cpu_features", cpuFeatures},
                            {"feature_dim", featureDimension},
                            {"degree", degree},
                            {"score_form", scoreForm},
                            {"invariant", invariant}};
}

static bool readSizes(const llvm::json::Array *array, std::vector<int64_t> &sizes) {
  if (!array)
    return false;
  sizes.clear();
  for (const llvm::json::Value &value : *array) {
    if (std::optional<int64_t> number = value.getAsInteger()) {
      if (*number < 0)
        return false;
      sizes.push_back(*number);
      continue;
    }
    std::optional<SizeName> name = parseSizeName(value.getAsString().value_or(""));
    if (!name)
      return false;
    sizes.push_back(*name);
  }
  return true;
}

/// Whether there is an array, all of objects that `read` takes.
static bool readObjects(const llvm::json::Array *array,
                        llvm::function_ref<bool(const llvm::json::Object &)> read) {
  return array && llvm::all_of(*array, [&](const llvm::json::Value &value) {
           const llvm::json::Object *object = value.getAsObject();
           return object && read(*object);
         });
}

static bool readTensors(const llvm::json::Array *array, bool areResults,
                        std::vector<TensorDescription> &tensors) {
  return readObjects(array, [&](const llvm::json::Object &object) {
    std::optional<llvm::StringRef> name = object.getString("name");
    std::optional<ElementType> dtype = parseElementType(object.getString("dtype").value_or(""));
    std::optional<Role> role = parseRole(object.getString("role").value_or(""));
    TensorDescription tensor;
    if (!name || !dtype || !role || !readSizes(object.getArray("shape"), tensor.sizes) ||
        tensor.sizes.size() > POLYATTN_MAX_RANK)
      return false;
    tensor.name = name->str();
    tensor.dtype = *dtype;
    tensor.isResult = areResults;
    if (const llvm::json::Value *where = object.get("in")) {
      auto argument = llvm::find_if(tensors, [&](const TensorDescription &other) {
        return !other.isResult && other.name == where->getAsString().value_or("");
      });
      if (!areResults || argument == tensors.end() || argument->dtype != tensor.dtype ||
          argument->sizes != tensor.sizes)
        return false;
      tensor.argument = argument - tensors.begin();
    }
    tensor.role = *role;
    tensor.gradientOf = object.getString("gradient_of").value_or("").str();
    tensor.savedFrom = object.getString("saved_from").value_or("").str();
    tensors.push_back(std::move(tensor));
    return true;
  });
}

static bool readFixed(const llvm::json::Array *array,
                      std::array<int64_t, POLYATTN_NAMED_SIZES> &sizes) {
  if (!array || array->size() != sizes.size())
    return false;
  for (auto [value, size] : llvm::zip_equal(*array, sizes)) {
    size = value.getAsInteger().value_or(-2);
    if (size < -1)
      return false;
  }
  return true;
}

static bool readLimits(const llvm::json::Array *array, KernelDescription &kernel) {
  return readObjects(array, [&](const llvm::json::Object &object) {
    std::optional<SizeName> size = parseSizeName(object.getString("size").value_or(""));
    std::optional<int64_t> most = object.getInteger("most");
    auto tensor = llvm::find_if(kernel.tensors, [&](const TensorDescription &t) {
      return t.name == object.getString("argument").value_or("") && !t.isResult;
    });
    if (!size || !most || *most < 1 || tensor == kernel.tensors.end())
      return false;
    kernel.limits.push_back({*size, *most, tensor - kernel.tensors.begin()});
    return true;
  });
}

/// The argument of whole numbers that has the name: one for each batch, or packed sequence.
static std::optional<int64_t> findNumbers(const KernelDescription &kernel,
                                          std::optional<llvm::StringRef> name,
                                          std::optional<SizeName> count = std::nullopt) {
  int64_t expected = count ? *count : kernel.offsets ? kSequences : kBatch;
  auto tensor = llvm::find_if(kernel.tensors, [&](const TensorDescription &t) {
    return name && t.name == *name && !t.isResult;
  });
  if (tensor == kernel.tensors.end() || tensor->sizes.size() != 1 || tensor->sizes[0] != expected ||
      !isInteger(tensor->dtype))
    return std::nullopt;
  return tensor - kernel.tensors.begin();
}

/// Nothing, or such an argument.
static bool readNumbers(const llvm::json::Value *value, const KernelDescription &kernel,
                        std::optional<int64_t> &tensor,
                        std::optional<SizeName> count = std::nullopt) {
  if (!value || value->kind() == llvm::json::Value::Null)
    return value;
  tensor = findNumbers(kernel, value->getAsString(), count);
  return tensor.has_value();
}

static bool readFirst(const llvm::json::Value *value, KernelDescription &kernel) {
  if (!value || value->kind() == llvm::json::Value::Null)
    return value;
  const llvm::json::Object *object = value->getAsObject();
  std::optional<llvm::StringRef> name = object ? object->getString("argument") : std::nullopt;
  std::optional<int64_t> unit = object ? object->getInteger("unit") : std::nullopt;
  std::optional<int64_t> tensor = findNumbers(kernel, name);
  if (!unit || *unit < 1 || !tensor)
    return false;
  kernel.firstPosition = FirstDescription{*tensor, *unit};
  return true;
}

std::vector<int64_t> KernelDescription::ranks() const {
  std::vector<int64_t> result;
  result.reserve(tensors.size());
  for (const TensorDescription &tensor : tensors)
    result.push_back(tensor.sizes.size());
  return result;
}

llvm::Expected<KernelDescription> KernelDescription::fromJSON(const llvm::json::Value &value) {
  KernelDescription result;
  const llvm::json::Object *object = value.getAsObject();
  std::optional<llvm::StringRef> entry = object ? object->getString("entry") : std::nullopt;
  if (!entry)
    return llvm::createStringError("not a kernel description");
  constexpr int64_t kLastWithoutNumber = 3;
  int64_t version = object->getInteger("version").value_or(kLastWithoutNumber);
  if (version != kVersion)
    return llvm::createStringError("'" + *entry + "': a description of version " +
                                   llvm::Twine(version) + ", expected " + llvm::Twine(kVersion) +
                                   ": compile it anew");
  std::optional<CallDirection> direction =
      parseDirection(object->getString("direction").value_or(""));
  if (!direction || !readTensors(object->getArray("arguments"), false, result.tensors) ||
      !readTensors(object->getArray("results"), true, result.tensors) ||
      !readFixed(object->getArray("fixed_sizes"), result.fixedSizes) ||
      !readLimits(object->getArray("limits"), result) ||
      !readNumbers(object->get("packed"), result, result.offsets, kSequenceBounds) ||
      !readFirst(object->get("first_position"), result) ||
      !readNumbers(object->get("slots"), result, result.slots) ||
      !readNumbers(object->get("lengths"), result, result.lengths))
    return llvm::createStringError("'" + *entry + "': not a kernel description");
  const llvm::json::Value *plan = object->get("plan");
  auto read = LaunchPlan::fromJSON(plan ? *plan : llvm::json::Value(nullptr), result.ranks());
  if (!read)
    return llvm::createStringError("'" + *entry + "': " + llvm::toString(read.takeError()));
  result.plan = std::move(*read);
  result.entry = entry->str();
  result.direction = *direction;
  result.target = object->getString("target").value_or("").str();
  result.cpuLevel = object->getString("cpu_level").value_or("").str();
  result.cpuFeatures = object->getString("cpu_features").value_or("").str();
  result.featureDimension = object->getInteger("feature_dim");
  result.degree = object->getInteger("degree");
  result.scoreForm = object->getString("score_form").value_or("").str();
  result.invariant = object->getBoolean("invariant").value_or(false);
  return result;
}

polyattn_rt_cpu_features polyattn::cpuFeatureBits(llvm::StringRef names) {
  polyattn_rt_cpu_features bits = {};
  llvm::SmallVector<llvm::StringRef> list;
  names.split(list, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : list)
    // Nobody has what this runtime does not know.
    if (polyattn_rt_add_cpu_feature(name.data(), name.size(), &bits) != 0)
      bits.bits[POLYATTN_RT_FEATURE_WORDS - 1] |= uint64_t(1) << 63;
  return bits;
}

std::array<polyattn_rt_limit_rule, POLYATTN_NAMED_SIZES>
polyattn::limitRules(const KernelDescription &description) {
  std::array<polyattn_rt_limit_rule, POLYATTN_NAMED_SIZES> rules = {};
  for (const LimitDescription &limit : description.limits)
    rules[indexOf(limit.size)] = {limit.most, limit.tensor};
  return rules;
}

RuntimeKernel::RuntimeKernel(const KernelDescription &description,
                             llvm::ArrayRef<polyattn_rt_function> functions)
    : plan(description.plan, functions) {
  for (const TensorDescription &tensor : description.tensors) {
    polyattn_rt_tensor_rule rule = {};
    rule.name = tensor.name.c_str();
    rule.is_result = tensor.isResult;
    rule.dtype = dtypeOf(tensor.dtype);
    rule.rank = tensor.sizes.size();
    rule.lives_in = tensor.argument.value_or(-1) + 1;
    llvm::copy(tensor.sizes, rule.sizes);
    tensors.push_back(rule);
  }
  kernel = {description.entry.c_str(),
            tensors.data(),
            static_cast<int64_t>(tensors.size()),
            plan.get(),
            description.target.empty() ? nullptr : description.target.c_str(),
            {},
            cpuFeatureBits(description.cpuFeatures),
            {},
            description.slots.value_or(-1) + 1,
            description.lengths.value_or(-1) + 1,
            description.offsets.value_or(-1) + 1,
            {}};
  if (description.firstPosition)
    kernel.first = {description.firstPosition->tensor, description.firstPosition->unit};
  llvm::copy(description.fixedSizes, kernel.fixed);
  llvm::copy(limitRules(description), kernel.limits);
}
