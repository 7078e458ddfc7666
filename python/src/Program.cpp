//===- Program.cpp - what can be called with arrays -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Errors.h"
#include "Imported.h"
#include "polyattn/Entry/LargePages.h"
#include <algorithm>
#include <array>
#include <climits>

namespace nb = nanobind;
using namespace polyattn::python;

static Imported streamOf("polyattn._arrays", "stream_of"),
    workspaceLike("polyattn._arrays", "workspace_like"),
    emptyLike("polyattn._arrays", "empty_like"), asArrayOf("polyattn._arrays", "as_array_of");

using Infos = std::vector<polyattn_tensor_info>;

polyattn_compile_options Source::options() const {
  auto text = [](const std::optional<std::string> &field) {
    return field ? field->c_str() : nullptr;
  };
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  options.entry = text(entry);
  options.target = text(target);
  options.cache_directory = text(cache);
  options.dtype = text(dtype);
  options.invariant = invariant;
  options.direction = text(direction);
  options.wrt = text(wrt);
  options.packed = packed;
  options.accumulate = accumulate;
  options.state_every = stateEvery;
  options.sizes = text(sizes);
  return options;
}

std::string Source::what() const {
  std::string named = entry.value_or(name);
  return direction && *direction != "forward" ? named + " (" + *direction + ")" : named;
}

static std::string listNames(const polyattn_tensor_info *begin, size_t count) {
  std::string names;
  for (size_t i = 0; i < count; ++i)
    names += (i ? ", " : "") + std::string(begin[i].name);
  return names;
}

/// `count` tensors that begin at `infos`, from a dictionary by their names.
static void gatherNamed(std::vector<nb::object> &given, nb::handle named,
                        const polyattn_tensor_info *infos, const char *what,
                        const std::string &entry) {
  for (auto [key, value] : nb::borrow<nb::dict>(named)) {
    std::string name = nb::cast<std::string>(nb::str(key));
    size_t i = 0;
    while (i < given.size() && name != infos[i].name)
      ++i;
    if (i == given.size())
      raiseCallError(entry + ": unknown " + what + " '" + name + "', expected " +
                     listNames(infos, given.size()));
    if (given[i].is_valid())
      raiseCallError(nameOf(infos[i], entry) + ": came twice, by its position and by its name");
    given[i] = nb::borrow(value);
  }
}

static void checkAllThere(const std::vector<nb::object> &given, const polyattn_tensor_info *infos,
                          const std::string &entry) {
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i].is_valid())
      raiseCallError(nameOf(infos[i], entry) + ": is missing, expected " +
                     listNames(infos, given.size()));
}

static std::vector<nb::object> gatherArguments(const Infos &infos, size_t count, nb::args arrays,
                                               nb::kwargs named, const std::string &entry) {
  std::vector<nb::object> given(count);
  if (arrays.size() > count)
    raiseCallError(entry + ": expected " + std::to_string(count) + " arguments (" +
                   listNames(infos.data(), count) + "), got " + std::to_string(arrays.size()));
  for (size_t i = 0; i < arrays.size(); ++i)
    given[i] = nb::borrow(arrays[i]);
  if (named.size() != 0)
    gatherNamed(given, named, infos.data(), "argument", entry);
  checkAllThere(given, infos.data(), entry);
  return given;
}

/// The results that the caller has: one array, several in the spec's order, or some by their names.
static std::vector<nb::object> gatherResults(const polyattn_tensor_info *infos, size_t count,
                                             nb::handle out, const std::string &entry) {
  std::vector<nb::object> given(count);
  if (out.is_none())
    return given;
  if (nb::isinstance<nb::dict>(out)) {
    gatherNamed(given, out, infos, "result", entry);
    return given;
  }
  if (!nb::isinstance<nb::tuple>(out) && !nb::isinstance<nb::list>(out)) {
    if (count != 1)
      raiseCallError(entry + ": out: expected a tuple or a dictionary of " +
                     listNames(infos, count));
    given[0] = nb::borrow(out);
    return given;
  }
  if (nb::len(out) != count)
    raiseCallError(entry + ": out: expected " + std::to_string(count) + " results (" +
                   listNames(infos, count) + "), got " + std::to_string(nb::len(out)));
  for (size_t i = 0; i < count; ++i)
    given[i] = nb::borrow(out[i]);
  return given;
}

namespace {
/// The sizes that the arguments give, as far as they do: what does not fit is refused by the call.
class Sizes {
public:
  Sizes() { values.fill(-1); }
  void bind(const polyattn_tensor_info &info, const polyattn_tensor &tensor) {
    for (int i = 0; i < std::min(info.rank, tensor.rank); ++i)
      if (info.sizes[i] < 0 && values[-info.sizes[i]] < 0)
        values[-info.sizes[i]] = tensor.sizes[i];
  }
  std::vector<int64_t> shapeOf(const polyattn_tensor_info &info) const {
    std::vector<int64_t> shape(info.sizes, info.sizes + info.rank);
    for (int64_t &size : shape)
      if (size < 0)
        size = valueOf(size);
    return shape;
  }

private:
  int64_t valueOf(int64_t name) const {
    if (values[-name] >= 0)
      return values[-name];
    if (name == POLYATTN_SIZE_TK)
      return valueOf(POLYATTN_SIZE_T);
    if (name == POLYATTN_SIZE_N)
      return std::max<int64_t>(values[-POLYATTN_SIZE_N1] - 1, 0);
    return name == POLYATTN_SIZE_HKV ? valueOf(POLYATTN_SIZE_H) : 0;
  }
  std::array<int64_t, 1 + POLYATTN_NAMED_SIZES> values;
};
} // namespace

void Program::countArguments() {
  numArguments = 0;
  for (const polyattn_tensor_info &info : infos)
    numArguments += !info.is_result;
}

/// Results that live in arguments are those arrays, where the caller gives none.
void Program::placeResults(std::vector<nb::object> &results,
                           const std::vector<nb::object> &arguments) const {
  for (size_t i = 0; i < results.size(); ++i)
    if (int64_t place = placeOf(numArguments + i); place >= 0 && !results[i].is_valid())
      results[i] = arguments[place];
}

/// A new array for a result, of the library that `first` is of; NumPy's without a first argument.
nb::object Program::emptyResult(const polyattn_tensor_info &info, const std::vector<int64_t> &shape,
                                const nb::object *first) const {
  if ((!first || isNumpyArray(*first)) && info.dtype != POLYATTN_BF16)
    return emptyNumpyArray(info.dtype, shape);
  nb::list sizes;
  for (int64_t size : shape)
    sizes.append(size);
  return emptyLike(first ? *first : nb::none(), nb::tuple(sizes), polyattn_dtype_name(info.dtype),
                   nameOf(info, entry));
}

static size_t bytesOf(const polyattn_tensor &tensor) {
  size_t bytes = polyattn_dtype_bytes(tensor.dtype);
  for (int i = 0; i < tensor.rank; ++i)
    bytes *= size_t(tensor.sizes[i]);
  return bytes;
}

/// The tensors of all arrays, which `views` hold. Results that are not given are made.
std::vector<polyattn_tensor> Program::importArrays(const Arrays &arguments, Arrays &results,
                                                   std::vector<ArrayView> &views) const {
  std::vector<polyattn_tensor> tensors;
  auto import = [&](const nb::object &array) {
    size_t i = tensors.size();
    views[i].import(array, infos[i], entry, gpu());
    tensors.push_back(views[i].get());
  };
  Sizes sizes;
  for (size_t i = 0; i < numArguments; ++i) {
    import(arguments[i]);
    sizes.bind(infos[i], tensors[i]);
  }
  const nb::object *first = arguments.empty() ? nullptr : &arguments.front();
  for (size_t i = 0; i < results.size(); ++i) {
    const polyattn_tensor_info &info = infos[numArguments + i];
    bool isNew = !results[i].is_valid();
    if (isNew)
      results[i] = emptyResult(info, sizes.shapeOf(info), first);
    import(results[i]);
    if (isNew && gpu() < 0)
      adviseLargePages(tensors.back().data, bytesOf(tensors.back()));
  }
  return tensors;
}

/// The stream on which the arrays' library computes on a GPU at present, so that the call comes
/// after what was computed there; null on a processor.
void *Program::currentStream(const Arrays &arguments) const {
  if (gpu() < 0 || arguments.empty())
    return nullptr;
  nb::object stream = streamOf(arguments.front(), nameOf(infos.front(), entry), gpu());
  return reinterpret_cast<void *>(nb::cast<uintptr_t>(stream));
}

/// Gives a call on a GPU the memory that it needs beside its tensors, and returns what owns it.
nb::object Program::takeWorkspace(const Arrays &arguments,
                                  const std::vector<polyattn_tensor> &tensors,
                                  Resources &resources) const {
  if (gpu() < 0 || arguments.empty())
    return nb::none();
  resources.workspaceBytes = workspaceBytes(tensors);
  nb::object workspace = workspaceLike(arguments.front(), resources.workspaceBytes);
  resources.workspace = reinterpret_cast<void *>(nb::cast<uintptr_t>(workspace[1]));
  return workspace;
}

/// One result as it is, several as a tuple.
static nb::object asTuple(const std::vector<nb::object> &results) {
  if (results.size() == 1)
    return results.front();
  nb::list list;
  for (const nb::object &result : results)
    list.append(result);
  return nb::tuple(list);
}

void Program::runOrRaise(const std::vector<polyattn_tensor> &tensors,
                         const Resources &resources) const {
  Interrupts interrupts;
  polyattn_error *error = nullptr;
  {
    nb::gil_scoped_release release;
    run(tensors, resources, interrupts, &error);
  }
  endCall(interrupts, error);
}

/// A whole number of Python's or NumPy's; `otherwise` for None.
static int threadsOf(nb::handle given, int otherwise, const std::string &entry) {
  if (given.is_none())
    return otherwise;
  Py_ssize_t number = 0;
  bool isWhole = PyIndex_Check(given.ptr()) && !PyBool_Check(given.ptr());
  if (isWhole)
    number = PyNumber_AsSsize_t(given.ptr(), nullptr); // what is too large becomes the largest
  if (!isWhole || PyErr_Occurred()) {
    PyErr_Clear();
    std::string kind = nb::cast<std::string>(given.type().attr("__name__"));
    raiseCallError(entry + ": threads: expected a whole number or None, got " + kind);
  }
  return int(std::clamp<Py_ssize_t>(number, INT_MIN, INT_MAX));
}

nb::object Program::call(nb::args arrays, nb::object out, nb::object chosenThreads,
                         nb::kwargs named) const {
  Arrays arguments = gatherArguments(infos, numArguments, arrays, named, entry);
  Arrays results =
      gatherResults(infos.data() + numArguments, infos.size() - numArguments, out, entry);
  placeResults(results, arguments);
  bool makesResults = std::any_of(results.begin(), results.end(),
                                  [](const nb::object &result) { return !result.is_valid(); });

  Resources resources;
  resources.threads = threadsOf(chosenThreads, threads, entry);
  resources.stream = currentStream(arguments);
  std::vector<ArrayView> views(infos.size());
  std::vector<polyattn_tensor> tensors = importArrays(arguments, results, views);
  nb::object workspace = takeWorkspace(arguments, tensors, resources);
  runOrRaise(tensors, resources);

  if (makesResults && out.is_none() && !arguments.empty() && !isNumpyArray(arguments.front()))
    for (nb::object &result : results)
      result = asArrayOf(arguments.front(), result);
  return asTuple(results);
}

nb::object Program::callPlain(nb::list arguments, int chosenThreads) const {
  if (gpu() >= 0 || numArguments == 0 || nb::len(arguments) != numArguments)
    return nb::none();
  std::vector<polyattn_tensor> tensors(infos.size());
  Sizes sizes;
  for (size_t i = 0; i < numArguments; ++i) {
    if (!describePlainTensor(arguments[i], tensors[i]))
      return nb::none();
    sizes.bind(infos[i], tensors[i]);
  }
  nb::object first = arguments[0];
  nb::list results;
  for (size_t i = numArguments; i < infos.size(); ++i) {
    int64_t place = placeOf(i);
    nb::object result = place >= 0 ? nb::object(arguments[size_t(place)])
                                   : emptyResult(infos[i], sizes.shapeOf(infos[i]), &first);
    if (!describePlainTensor(result, tensors[i]))
      return nb::none();
    if (place < 0)
      adviseLargePages(tensors[i].data, bytesOf(tensors[i]));
    results.append(result);
  }
  Resources resources;
  resources.threads = chosenThreads;
  runOrRaise(tensors, resources);
  return results;
}

nb::list Program::tensors() const {
  nb::list result;
  for (const polyattn_tensor_info &info : infos) {
    nb::list sizes;
    for (int i = 0; i < info.rank; ++i)
      if (const char *name = polyattn_size_name(info.sizes[i]))
        sizes.append(name);
      else
        sizes.append(info.sizes[i]);
    result.append(nb::make_tuple(info.name, bool(info.is_result), polyattn_dtype_name(info.dtype),
                                 nb::tuple(sizes)));
  }
  return result;
}

nb::list Program::roles() const {
  nb::list result;
  for (size_t i = 0; i < infos.size(); ++i)
    result.append(roleOf(i));
  return result;
}

nb::list Program::limits() const {
  nb::list result;
  for (int64_t size = -1; size >= -POLYATTN_NAMED_SIZES; --size) {
    size_t argument = 0;
    int64_t most = limitOf(size, &argument);
    if (most >= 0)
      result.append(nb::make_tuple(polyattn_size_name(size), most, infos[argument].name));
  }
  return result;
}

Kernel::Kernel(const Source &source) {
  polyattn_compile_options options = source.options();
  Interrupts interrupts(source.what());
  interrupts.watch(options);
  polyattn_error *error = nullptr;
  {
    nb::gil_scoped_release release;
    kernel.reset(polyattn_compile_text(source.text.data(), source.text.size(), source.name.c_str(),
                                       &options, &error));
  }
  endCall(interrupts, error);
  entry = polyattn_kernel_entry(kernel.get());
  infos.resize(polyattn_kernel_num_tensors(kernel.get()));
  for (size_t i = 0; i < infos.size(); ++i)
    polyattn_kernel_tensor(kernel.get(), i, &infos[i]);
  device = polyattn_kernel_device(kernel.get());
  countArguments();
}

int64_t Kernel::workspaceBytes(const std::vector<polyattn_tensor> &tensors) const {
  int64_t bytes = 0;
  polyattn_error *error = nullptr;
  if (polyattn_kernel_workspace(kernel.get(), tensors.data(), tensors.size(), &bytes, &error))
    raise(error);
  return bytes;
}

void Kernel::run(const std::vector<polyattn_tensor> &tensors, const Resources &resources,
                 Interrupts &interrupts, polyattn_error **error) const {
  if (device >= 0) {
    polyattn_kernel_launch(kernel.get(), tensors.data(), tensors.size(), resources.workspace,
                           resources.workspaceBytes, resources.stream, error);
    return;
  }
  polyattn_call_options options = POLYATTN_CALL_OPTIONS_INIT;
  options.threads = resources.threads;
  interrupts.watch(options);
  if (team)
    team->useFor(options);
  polyattn_kernel_run_with(kernel.get(), tensors.data(), tensors.size(), &options, error);
}

Reference::Reference(const Source &source) {
  polyattn_compile_options options = source.options();
  Interrupts interrupts(source.what());
  interrupts.watch(options);
  polyattn_error *error = nullptr;
  {
    nb::gil_scoped_release release;
    reference.reset(polyattn_reference_create(source.text.data(), source.text.size(),
                                              source.name.c_str(), &options, &error));
  }
  endCall(interrupts, error);
  entry = polyattn_reference_entry(reference.get());
  infos.resize(polyattn_reference_num_tensors(reference.get()));
  for (size_t i = 0; i < infos.size(); ++i)
    polyattn_reference_tensor(reference.get(), i, &infos[i]);
  countArguments();
}

void Reference::run(const std::vector<polyattn_tensor> &tensors, const Resources &,
                    Interrupts &interrupts, polyattn_error **error) const {
  polyattn_call_options options = POLYATTN_CALL_OPTIONS_INIT;
  interrupts.watch(options);
  polyattn_reference_run_with(reference.get(), tensors.data(), tensors.size(), &options, error);
}
