//===- Module.cpp - the compiler and its kernels for Python ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin layer over polyattn-c. _polyattn.pyi has its types for users and for mypy.
//
//===----------------------------------------------------------------------===//

#include "Errors.h"
#include "Program.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;
using namespace polyattn::python;

/// What a function of the C API has made of a source, without the interpreter's lock.
template <typename Make> static std::string makeText(const Source &source, Make make) {
  polyattn_compile_options options = source.options();
  Interrupts interrupts(source.what());
  interrupts.watch(options);
  polyattn_error *error = nullptr;
  polyattn_string *string;
  {
    nb::gil_scoped_release release;
    string = make(source.text.data(), source.text.size(), source.name.c_str(), &options, &error);
  }
  std::string text(polyattn_string_data(string), polyattn_string_length(string));
  polyattn_string_destroy(string);
  endCall(interrupts, error);
  return text;
}

static std::string explain(const Source &source) { return makeText(source, polyattn_explain); }

static std::string printIR(const Source &source, const std::string &level) {
  return makeText(source, [&](auto text, auto length, auto name, auto options, auto error) {
    return polyattn_ir(text, length, name, level.c_str(), options, error);
  });
}

static void save(const Source &source, const std::string &directory, const std::string &library) {
  polyattn_compile_options options = source.options();
  Interrupts interrupts(source.what());
  interrupts.watch(options);
  polyattn_error *error = nullptr;
  {
    nb::gil_scoped_release release;
    (void)polyattn_save(source.text.data(), source.text.size(), source.name.c_str(),
                        directory.c_str(), library.c_str(), &options, &error);
  }
  endCall(interrupts, error);
}

static void makeSource(Source *place, std::string text, std::string name,
                       std::optional<std::string> entry, std::optional<std::string> target,
                       std::optional<std::string> cache, std::optional<std::string> dtype,
                       bool invariant, std::optional<std::string> direction,
                       std::optional<std::string> wrt, bool packed, bool accumulate,
                       int64_t stateEvery, std::optional<std::string> sizes) {
  new (place) Source{std::move(text),  std::move(name),  std::move(entry), std::move(target),
                     std::move(cache), std::move(dtype), invariant,        std::move(direction),
                     std::move(wrt),   packed,           accumulate,       stateEvery,
                     std::move(sizes)};
}

/// The same for another target.
static Source sourceFor(Source source, std::string target) {
  source.target = std::move(target);
  return source;
}

/// For pickle: what makes the same again.
static nb::tuple reduceSource(nb::handle_t<Source> self) {
  const Source &source = nb::cast<const Source &>(self);
  return nb::make_tuple(self.type(),
                        nb::make_tuple(source.text, source.name, source.entry, source.target,
                                       source.cache, source.dtype, source.invariant,
                                       source.direction, source.wrt, source.packed,
                                       source.accumulate, source.stateEvery, source.sizes));
}

NB_MODULE(_polyattn, module) {
  // Kernels that a program keeps in globals outlive the interpreter.
  nb::set_leak_warnings(false);
  module.def("api_version", &polyattn_api_version);
  nb::class_<Source>(module, "Source")
      .def("__init__", &makeSource, "text"_a, "name"_a, "entry"_a.none(), "target"_a.none(),
           "cache"_a.none(), "dtype"_a.none(), "invariant"_a, "direction"_a.none() = nb::none(),
           "wrt"_a.none() = nb::none(), "packed"_a = false, "accumulate"_a = false,
           "state_every"_a = 0, "sizes"_a.none() = nb::none())
      .def_ro("text", &Source::text)
      .def_ro("name", &Source::name)
      .def("for_target", &sourceFor, "target"_a)
      .def("__reduce__", &reduceSource);
  nb::class_<Team>(module, "Team").def_static("of_library", &Team::ofLibrary, "path"_a);
  nb::class_<Program>(module, "Program")
      .def("__call__", &Program::call, "arrays"_a, "out"_a = nb::none(), "threads"_a = nb::none(),
           "named"_a)
      .def("_call_plain", &Program::callPlain, "tensors"_a, "threads"_a)
      .def_ro("entry", &Program::entry)
      .def_rw("threads", &Program::threads)
      .def_rw("_team", &Program::team, "team"_a.none())
      .def("_tensors", &Program::tensors)
      .def("_roles", &Program::roles)
      .def("_limits", &Program::limits);
  nb::class_<Kernel, Program>(module, "Kernel")
      .def(nb::init<const Source &>(), "source"_a)
      .def("_json", &Kernel::json);
  nb::class_<Reference, Program>(module, "Reference").def(nb::init<const Source &>(), "source"_a);
  module.def("explain", &explain, "source"_a);
  module.def("print_ir", &printIR, "source"_a, "level"_a);
  module.def("save", &save, "source"_a, "directory"_a, "library"_a);
}
