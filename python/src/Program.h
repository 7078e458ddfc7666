//===- Program.h - what can be called with arrays ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_PYTHON_SRC_PROGRAM_H
#define POLYATTN_PYTHON_SRC_PROGRAM_H

#include "Arrays.h"
#include "Interrupts.h"
#include "Team.h"
#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <string>
#include <vector>

namespace polyattn::python {

/// A spec's text and how to compile it, as the package's Python code has read them.
struct Source {
  std::string text, name;
  std::optional<std::string> entry, target, cache, dtype;
  bool invariant = false;
  std::optional<std::string> direction = {}, wrt = {};
  bool packed = false, accumulate = false;
  int64_t stateEvery = 0;
  std::optional<std::string> sizes = {}; // d=64,m=1024

  /// Points into this.
  polyattn_compile_options options() const;
  /// What is compiled, for people.
  std::string what() const;
};

/// What a call runs with: threads of the processor, or a GPU's stream and memory.
struct Resources {
  int threads = 1;
  void *stream = nullptr, *workspace = nullptr;
  int64_t workspaceBytes = 0;
};

/// An entry of a spec as a function of arrays. Arrays are views of the caller's memory; nothing is
/// copied.
class Program {
public:
  virtual ~Program() = default;

  /// Arguments by position and by name; results are made, or written to `out`.
  nanobind::object call(nanobind::args arrays, nanobind::object out, nanobind::object threads,
                        nanobind::kwargs named) const;

  /// The same for tensors of PyTorch on the processor that are nothing but memory
  /// (describePlainTensor), of which the first is asked for new ones: a list of results, in a
  /// fraction of the time. None where one is anything else, or where they are not as many as the
  /// arguments: what there is to say of that, `call` says.
  nanobind::object callPlain(nanobind::list tensors, int threads) const;

  /// (name, is_result, dtype, sizes) of every tensor; negative sizes are the call's.
  nanobind::list tensors() const;
  /// What each of them is to the attention: "query", "weight", "gain", "frequencies", ...
  nanobind::list roles() const;
  /// (name, most, argument) of every named size that has a limit.
  nanobind::list limits() const;

  std::string entry;
  /// The threads of a call that does not say how many.
  int threads = 1;
  /// Whose threads these are; those of libpolyattn where it is not set.
  std::optional<Team> team;

protected:
  /// Without the interpreter's lock. Sets the error upon failure.
  virtual void run(const std::vector<polyattn_tensor> &tensors, const Resources &resources,
                   Interrupts &interrupts, polyattn_error **error) const = 0;
  /// The number of the GPU that calls run on; negative for the processor.
  virtual int gpu() const { return -1; }
  /// The bytes that a call on a GPU needs beside its tensors. Raises where these do not fit.
  virtual int64_t workspaceBytes(const std::vector<polyattn_tensor> &) const { return 0; }
  /// The argument in which the tensor at `index` lives, a result; negative where it has memory of
  /// its own.
  virtual int64_t placeOf(size_t index) const { return -1; }
  virtual const char *roleOf(size_t index) const = 0;
  virtual int64_t limitOf(int64_t size, size_t *argument) const = 0;
  /// In the spec's order, arguments first.
  std::vector<polyattn_tensor_info> infos;
  size_t numArguments = 0;
  void countArguments();

private:
  using Arrays = std::vector<nanobind::object>;
  void placeResults(Arrays &results, const Arrays &arguments) const;
  nanobind::object emptyResult(const polyattn_tensor_info &info, const std::vector<int64_t> &shape,
                               const nanobind::object *first) const;
  std::vector<polyattn_tensor> importArrays(const Arrays &arguments, Arrays &results,
                                            std::vector<ArrayView> &views) const;
  void *currentStream(const Arrays &arguments) const;
  void runOrRaise(const std::vector<polyattn_tensor> &tensors, const Resources &resources) const;
  nanobind::object takeWorkspace(const Arrays &arguments,
                                 const std::vector<polyattn_tensor> &tensors,
                                 Resources &resources) const;
};

/// Compiled code.
class Kernel : public Program {
public:
  explicit Kernel(const Source &source);
  std::string json() const { return polyattn_kernel_json(kernel.get()); }

protected:
  void run(const std::vector<polyattn_tensor> &tensors, const Resources &resources,
           Interrupts &interrupts, polyattn_error **error) const override;
  int gpu() const override { return device; }
  int64_t workspaceBytes(const std::vector<polyattn_tensor> &tensors) const override;
  int64_t placeOf(size_t index) const override {
    return polyattn_kernel_tensor_place(kernel.get(), index);
  }
  const char *roleOf(size_t index) const override {
    return polyattn_kernel_tensor_role(kernel.get(), index);
  }
  int64_t limitOf(int64_t size, size_t *argument) const override {
    return polyattn_kernel_limit(kernel.get(), size, argument);
  }

private:
  struct Destroy {
    void operator()(polyattn_kernel *kernel) const { polyattn_kernel_destroy(kernel); }
  };
  std::unique_ptr<polyattn_kernel, Destroy> kernel;
  int device;
};

/// The oracle.
class Reference : public Program {
public:
  explicit Reference(const Source &source);

protected:
  void run(const std::vector<polyattn_tensor> &tensors, const Resources &resources,
           Interrupts &interrupts, polyattn_error **error) const override;
  const char *roleOf(size_t index) const override {
    return polyattn_reference_tensor_role(reference.get(), index);
  }
  int64_t limitOf(int64_t size, size_t *argument) const override {
    return polyattn_reference_limit(reference.get(), size, argument);
  }

private:
  struct Destroy {
    void operator()(polyattn_reference *reference) const { polyattn_reference_destroy(reference); }
  };
  std::unique_ptr<polyattn_reference, Destroy> reference;
};

} // namespace polyattn::python

#endif // POLYATTN_PYTHON_SRC_PROGRAM_H
