//===- Target.h - what can run an attention ---------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The run driver checks, measures and prints; a target only compiles and runs. Targets
// are registered by name, as passes are.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DRIVER_TARGET_H
#define POLYATTN_DRIVER_TARGET_H

#include "polyattn/Entry/Signature.h"
#include "polyattn/Reference/Array.h"
#include "llvm/Support/JSON.h"
#include <limits>

namespace polyattn {

/// One call. Arguments and results are in the order of the signature, have its element types
/// and the shapes that `sizes` give; strides are arbitrary but the innermost, which is 1.
struct Call {
  llvm::ArrayRef<HostTensor> arguments;
  /// Poisoned with NaN: whatever is not written is found out.
  llvm::ArrayRef<HostTensor> results;
  CallSizes sizes;
  int threads = 1;
  /// Into how many segments the positions of each head are cut; 0 for the target's own choice.
  /// Targets that have no segments take 0 only.
  int64_t segments = 0;
};

/// What the maker says of a machine whose peak is not measured here.
struct DataSheet {
  /// The device's own name, and the chip whose data sheet it is.
  std::string device, chip;
  /// Dense products of the entry's element type, on tensor cores.
  double flopsPerSecond = 0;
};

/// A compiled entry.
class Executable {
public:
  virtual ~Executable() = default;
  /// May be called any number of times; writes every element of every result.
  virtual llvm::Error run(const Call &call) = 0;
  /// Seconds of one call, the mean of `count`. Results may stay where they were computed.
  virtual llvm::Expected<double> time(const Call &call, int64_t count);
  /// Numbers that the last run has found out beside its results, for one whose algorithm needs
  /// `flops` operations.
  virtual llvm::json::Object getFindings(double flops) const { return {}; }
  /// For machines other than this processor, whose peak is measured.
  virtual std::optional<DataSheet> getDataSheet() const { return std::nullopt; }
  /// Lanes of f32 in the widest vectors that the code may use, which the measured peak is of. A
  /// large number where it may use all of this processor's.
  virtual int64_t vectorLanes() const { return std::numeric_limits<int64_t>::max(); }
  /// Whether the code multiplies pairs of bf16. The measured peak is then that of such products.
  virtual bool multipliesPairs() const { return false; }
  /// Lines on what the last run has found out beside its results.
  virtual void printFindings(llvm::raw_ostream &stream) const {}
};

/// An entry to compile, as an attention and as the text that it is defined in, in which tensors
/// hold what `storage` says where it is not empty.
struct EntrySource {
  /// The entry of the direction; the definition itself for gradients by a target that
  /// `derivesGradients`. The driver's own: a target that rewrites works on a clone.
  AttentionOp attention;
  llvm::StringRef text, fileName, storage;
  /// Where a target that counts what a kernel's parts cost writes its tile kernel with the costs
  /// of each line; nowhere if empty.
  llvm::StringRef profile = {};
  /// The attention's module says so, too.
  bool invariant = false, packed = false;
  CallDirection direction = CallDirection::Forward;
  GradientOptions gradients = {};
  /// The definition's name in the text, where the entry has another one.
  llvm::StringRef definition = {};
  /// Sizes of the definition in place of those of the text.
  std::map<std::string, int64_t> sizes = {};

  llvm::StringRef nameInText() const {
    return definition.empty() ? AttentionOp(attention).getSymName() : definition;
  }
};

class Target {
public:
  virtual ~Target() = default;
  /// Compiles one attention; its time is what `compile_ms` reports.
  virtual llvm::Expected<std::unique_ptr<Executable>> compile(const EntrySource &source) = 0;
  virtual bool hasDirection(CallDirection direction) const { return true; }
  /// Whether it computes gradients of a definition, with the tensors of `backwardSignature`, and
  /// not by the entry that differentiation makes of it.
  virtual bool derivesGradients() const { return false; }
  /// Whether it knows what the parts of a kernel cost.
  virtual bool hasProfile() const { return false; }
  /// Whether a call may say how many segments there are.
  virtual bool hasSegments() const { return false; }
  /// The type in which products are computed whose factors may be rounded to `products`. It says
  /// how exact a badly conditioned row can be; none for f64, whose rows have no such excuse.
  virtual std::optional<ElementType> arithmetic(ElementType products) const { return std::nullopt; }
  /// Whether products are those of tensor cores, which multiply f32 as a sum of two of tf32.
  virtual bool usesTensorCores() const { return false; }
  /// True for the readable interpreters in f64: their own other reading is what checks them.
  virtual bool isReference() const { return false; }
};

/// A failure whose located diagnostic the context's handler has printed already.
class ReportedError : public llvm::ErrorInfo<ReportedError> {
public:
  static char ID;
  void log(llvm::raw_ostream &stream) const override { stream << "see the diagnostic"; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
};

class TargetRegistry {
public:
  using Factory = std::function<std::unique_ptr<Target>()>;

  void add(llvm::StringRef name, llvm::StringRef description, Factory factory);
  /// Fails with the known names where there is no such target.
  llvm::Expected<std::unique_ptr<Target>> create(llvm::StringRef name) const;
  /// `name: description`, a line each.
  std::string list() const;

private:
  struct Entry {
    std::string name, description;
    Factory factory;
  };
  std::vector<Entry> entries;
};

/// The oracle as a target, in both of its readings: `reference` and `reference-recurrent`.
void registerReferenceTargets(TargetRegistry &registry);

/// The tile kernels, interpreted in f64: `tile`. Several threads stand for a head that is cut
/// into as many parts, where it can be; a call with segments runs the tile kernels for GPUs.
/// `tile-sm_80` runs those for that GPU, and rounds what its kernels round.
void registerTileTarget(TargetRegistry &registry);

/// Compiled code in this process: `cpu` for the machine we run on, and its smaller relatives by
/// the names that polyattn-compile takes.
void registerCPUTargets(TargetRegistry &registry);

/// GPU kernels on this machine: `emulator` and `emulator-<chip>`. Their threads are their own,
/// whatever a call says.
void registerEmulatorTargets(TargetRegistry &registry);

/// GPU kernels on this machine's GPU: `cuda`. `driver` is the driver's library, libcuda.so.1 where
/// empty. Threads are the kernel's, and times are the GPU's, without copies.
void registerCUDATarget(TargetRegistry &registry, const std::string &driver = "");

/// Every target of the project.
void registerTargets(TargetRegistry &registry);

/// An oracle's view of a tensor.
Array toArray(const HostTensor &tensor);

} // namespace polyattn

#endif // POLYATTN_DRIVER_TARGET_H
