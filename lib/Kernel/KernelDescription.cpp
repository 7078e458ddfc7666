//===- KernelDescription.cpp - descriptions to and from JSON --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Kernel/KernelDescription.h"
#include "llvm/ADT/StringSwitch.h"

using namespace polyattn;

llvm::StringRef polyattn::toString(DataType type) {
  switch (type) {
  case DataType::F32:
    return "f32";
  case DataType::F16:
    return "f16";
  case DataType::BF16:
    return "bf16";
  case DataType::I32:
    return "i32";
  case DataType::I64:
    return "i64";
  }
  return "";
}

std::optional<DataType> polyattn::parseDataType(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<DataType>>(name)
      .Case("f32", DataType::F32)
      .Case("f16", DataType::F16)
      .Case("bf16", DataType::BF16)
      .Case("i32", DataType::I32)
      .Case("i64", DataType::I64)
      .Default(std::nullopt);
}

int64_t polyattn::byteWidth(DataType type) {
  if (type == DataType::I64)
    return 8;
  return type == DataType::F32 || type == DataType::I32 ? 4 : 2;
}

static constexpr llvm::StringLiteral kSizeNames[] = {"B", "T", "Tk", "H", "Hkv", "L"};
static_assert(std::size(kSizeNames) == -POLYATTN_RT_LAST);

std::string polyattn::sizeToString(int64_t size) {
  if (size < 0 && size >= POLYATTN_RT_LAST)
    return kSizeNames[-size - 1].str();
  return std::to_string(size);
}

static llvm::json::Array sizesToJSON(llvm::ArrayRef<int64_t> sizes) {
  llvm::json::Array result;
  for (int64_t size : sizes)
    if (size < 0)
      result.push_back(sizeToString(size));
    else
      result.push_back(size);
  return result;
}

static llvm::json::Object segmentsToJSON(const SegmentDescription &segments) {
  llvm::json::Array sums;
  for (llvm::ArrayRef<int64_t> sizes : segments.sums)
    sums.push_back(llvm::json::Array(sizes));
  return llvm::json::Object{{"sums", std::move(sums)},
                            {"block", segments.block},
                            {"unit", segments.unit},
                            {"from", segments.from},
                            {"sums_percent", segments.sumsPercent},
                            {"pieces", segments.pieces}};
}

static llvm::json::Value firstToJSON(const KernelDescription &kernel) {
  if (!kernel.firstPosition)
    return nullptr;
  return llvm::json::Object{{"argument", kernel.tensors[kernel.firstPosition->tensor].name},
                            {"unit", kernel.firstPosition->unit}};
}

llvm::json::Value KernelDescription::toJSON() const {
  llvm::json::Array arguments, results, stageList;
  for (const TensorDescription &tensor : tensors)
    (tensor.isResult ? results : arguments)
        .push_back(llvm::json::Object{{"name", tensor.name},
                                      {"dtype", toString(tensor.dtype)},
                                      {"shape", sizesToJSON(tensor.sizes)}});
  for (const StageDescription &stage : stages)
    stageList.push_back(llvm::json::Object{{"function", stage.function},
                                           {"programs", sizesToJSON(stage.programs)},
                                           {"scratch_bytes", stage.scratchBytes}});
  return llvm::json::Object{{"entry", entry},
                            {"arguments", std::move(arguments)},
                            {"results", std::move(results)},
                            {"stages", std::move(stageList)},
                            {"split", llvm::json::Object{{"max_parts", split.maxParts},
                                                         {"columns", split.columns},
                                                         {"segment", split.segment},
                                                         {"from", split.from}}},
                            {"segments", segmentsToJSON(segments)},
                            {"fixed_sizes", llvm::json::Array(fixedSizes)},
                            {"first_position", firstToJSON(*this)},
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
    std::optional<llvm::StringRef> name = value.getAsString();
    const auto *found = name ? llvm::find(kSizeNames, *name) : std::end(kSizeNames);
    if (found == std::end(kSizeNames))
      return false;
    sizes.push_back(-1 - (found - std::begin(kSizeNames)));
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
    std::optional<DataType> dtype = parseDataType(object.getString("dtype").value_or(""));
    TensorDescription tensor;
    if (!name || !dtype || !readSizes(object.getArray("shape"), tensor.sizes) ||
        tensor.sizes.size() > POLYATTN_MAX_RANK)
      return false;
    tensor.name = name->str();
    tensor.dtype = *dtype;
    tensor.isResult = areResults;
    tensors.push_back(std::move(tensor));
    return true;
  });
}

static bool readStages(const llvm::json::Array *array, std::vector<StageDescription> &stages) {
  return readObjects(array, [&](const llvm::json::Object &object) {
    std::optional<llvm::StringRef> function = object.getString("function");
    std::optional<int64_t> scratchBytes = object.getInteger("scratch_bytes");
    StageDescription stage;
    if (!function || !scratchBytes || *scratchBytes < 0 ||
        !readSizes(object.getArray("programs"), stage.programs) ||
        stage.programs.size() > POLYATTN_RT_MAX_FACTORS)
      return false;
    stage.function = function->str();
    stage.scratchBytes = *scratchBytes;
    stages.push_back(std::move(stage));
    return true;
  });
}

static bool readSplit(const llvm::json::Object *object, SplitDescription &split) {
  if (!object)
    return false;
  split.maxParts = object->getInteger("max_parts").value_or(0);
  split.columns = object->getInteger("columns").value_or(-1);
  split.segment = object->getInteger("segment").value_or(-1);
  split.from = object->getInteger("from").value_or(-1);
  return split.maxParts >= 1 && split.columns >= 0 && split.segment >= 0 && split.from >= 0;
}

static bool readSegments(const llvm::json::Object *object, SegmentDescription &segments) {
  const llvm::json::Array *sums = object ? object->getArray("sums") : nullptr;
  if (!sums)
    return false;
  for (const llvm::json::Value &value : *sums) {
    std::vector<int64_t> &sizes = segments.sums.emplace_back();
    // Sums have a few numbers of each feature, or one of each head.
    constexpr int64_t kMostOfOne = int64_t(1) << 24;
    if (!readSizes(value.getAsArray(), sizes) ||
        sizes.size() > std::size(polyattn_rt_sum_shape().sizes) ||
        llvm::any_of(sizes, [](int64_t size) { return size < 0 || size > kMostOfOne; }))
      return false;
  }
  segments.block = object->getInteger("block").value_or(-1);
  segments.unit = object->getInteger("unit").value_or(-1);
  segments.from = object->getInteger("from").value_or(-1);
  segments.sumsPercent = object->getInteger("sums_percent").value_or(-1);
  segments.pieces = object->getInteger("pieces").value_or(-1);
  constexpr int64_t kMostPieces = 1 << 10;
  int64_t least = segments.sums.empty() ? 0 : 1;
  return segments.block >= least && segments.unit >= least && segments.from >= 0 &&
         segments.sumsPercent >= 0 && segments.pieces >= 1 && segments.pieces <= kMostPieces;
}

/// Both stages are there, and the heads of the sums.
static bool hasStagesOfSegments(const KernelDescription &kernel) {
  return kernel.split.maxParts == 1 && kernel.stages.size() == 2 &&
         kernel.stages[0].programs.size() == 2;
}

static bool readFixed(const llvm::json::Array *array,
                      std::array<int64_t, -POLYATTN_RT_LAST> &sizes) {
  if (!array || array->size() != sizes.size())
    return false;
  for (auto [value, size] : llvm::zip_equal(*array, sizes)) {
    size = value.getAsInteger().value_or(-2);
    if (size < -1)
      return false;
  }
  return true;
}

/// Nothing, or an argument of whole numbers [B].
static bool readFirst(const llvm::json::Value *value, KernelDescription &kernel) {
  if (!value || value->kind() == llvm::json::Value::Null)
    return value;
  const llvm::json::Object *object = value->getAsObject();
  std::optional<llvm::StringRef> name = object ? object->getString("argument") : std::nullopt;
  std::optional<int64_t> unit = object ? object->getInteger("unit") : std::nullopt;
  auto tensor = llvm::find_if(kernel.tensors, [&](const TensorDescription &t) {
    return name && t.name == *name && !t.isResult;
  });
  if (!unit || *unit < 1 || tensor == kernel.tensors.end() || tensor->sizes.size() != 1 ||
      tensor->sizes[0] != kBatch ||
      (tensor->dtype != DataType::I32 && tensor->dtype != DataType::I64))
    return false;
  kernel.firstPosition = FirstDescription{tensor - kernel.tensors.begin(), *unit};
  return true;
}

llvm::Expected<KernelDescription> KernelDescription::fromJSON(const llvm::json::Value &value) {
  KernelDescription result;
  const llvm::json::Object *object = value.getAsObject();
  std::optional<llvm::StringRef> entry = object ? object->getString("entry") : std::nullopt;
  if (!entry || !readTensors(object->getArray("arguments"), false, result.tensors) ||
      !readTensors(object->getArray("results"), true, result.tensors) ||
      !readStages(object->getArray("stages"), result.stages) ||
      !readSplit(object->getObject("split"), result.split) ||
      !readSegments(object->getObject("segments"), result.segments) ||
      !readFixed(object->getArray("fixed_sizes"), result.fixedSizes) ||
      !readFirst(object->get("first_position"), result) ||
      (result.split.maxParts > 1 && (result.stages.size() != 2 || result.split.segment < 1)) ||
      (!result.segments.sums.empty() && !hasStagesOfSegments(result)))
    return llvm::createStringError("not a kernel description");
  result.entry = entry->str();
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

RuntimeKernel::RuntimeKernel(const KernelDescription &description,
                             llvm::ArrayRef<polyattn_rt_function> functions) {
  for (const TensorDescription &tensor : description.tensors) {
    polyattn_rt_tensor_rule rule = {};
    rule.name = tensor.name.c_str();
    rule.is_result = tensor.isResult;
    rule.dtype = static_cast<int32_t>(tensor.dtype);
    rule.rank = tensor.sizes.size();
    llvm::copy(tensor.sizes, rule.sizes);
    tensors.push_back(rule);
  }
  for (auto [stage, function] : llvm::zip_equal(description.stages, functions)) {
    polyattn_rt_stage_rule rule = {function, {1, 1, 1, 1}, stage.scratchBytes};
    llvm::copy(stage.programs, rule.factors);
    stages.push_back(rule);
  }
  const SegmentDescription &segments = description.segments;
  for (llvm::ArrayRef<int64_t> sizes : segments.sums) {
    polyattn_rt_sum_shape shape = {static_cast<int64_t>(sizes.size()), {}};
    llvm::copy(sizes, shape.sizes);
    sums.push_back(shape);
  }
  kernel = {description.entry.c_str(),
            tensors.data(),
            static_cast<int64_t>(tensors.size()),
            stages.data(),
            static_cast<int64_t>(stages.size()),
            description.target.empty() ? nullptr : description.target.c_str(),
            {},
            {description.split.maxParts, description.split.columns, description.split.segment,
             description.split.from},
            {sums.data(), static_cast<int64_t>(sums.size()), segments.block, segments.unit,
             segments.from, segments.sumsPercent, segments.pieces},
            cpuFeatureBits(description.cpuFeatures),
            {}};
  if (description.firstPosition)
    kernel.first = {description.firstPosition->tensor, description.firstPosition->unit};
  llvm::copy(description.fixedSizes, kernel.fixed);
}
