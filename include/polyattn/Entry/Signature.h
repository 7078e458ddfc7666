//===- Signature.h - what an attention asks of its caller -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sizes of batch, position and head are dynamic in a spec's types. Which tensors
// share them follows from use: what is read on the query side of an attend has T
// positions and H heads, on the key side Tk and Hkv. A signature writes this down, so
// that the driver, the JIT and the C API check a call in one place and in one voice.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_ENTRY_SIGNATURE_H
#define POLYATTN_ENTRY_SIGNATURE_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "polyattn/Entry/CallSizes.h"
#include "polyattn/Entry/HostTensor.h"
#include "polyattn/Tensor/Role.h"
#include "polyattn/Tensor/SizeName.h"
#include "llvm/Support/JSON.h"
#include <array>

namespace polyattn {

struct TensorSignature {
  std::string name;
  ElementType type = ElementType::F32;
  /// Numbers, or below zero a SizeName.
  llvm::SmallVector<int64_t, 4> dims;
  Role role = Role::Query;
  /// The argument or result of the attention whose gradient this is, or the result of the forward
  /// entry that this is; empty for others.
  std::string gradientOf = {}, savedFrom = {};
  /// The argument in whose memory a result lives.
  std::optional<unsigned> argument = {};

  /// `[B, T, H, 64]`
  std::string formatDims() const;
};

/// Facts of an entry, of its attend with the most features where it has several.
struct EntryFacts {
  /// The feature dimension D; none where it overflows.
  std::optional<int64_t> featureDim;
  /// The degree of the scores as a polynomial; none where they are no polynomial.
  std::optional<int64_t> degree;
  /// The structure whose score form spares the features (`sym 2 [64]`); empty without one.
  std::string scoreForm;
  /// Bytes of all states per batch and head in f32, normalizers included; none where D is too
  /// large to hold one.
  std::optional<int64_t> stateBytes;
};

/// The most that a named size may be, which the shape of an argument says.
struct SizeLimit {
  int64_t most;
  unsigned argument;
};

struct Signature {
  std::string name;
  std::vector<TensorSignature> arguments, results;
  /// T = Tk: a causal or anticausal mask, or one tensor on both sides.
  bool samePositions = false;
  /// H = Hkv: an attend without a grouping, a tensor or a per-head weight on both sides.
  bool sameHeads = false;
  /// Some sequences have heads that the H heads share, and Hkv is the number of these: all else has
  /// H heads, so that `sameHeads` holds for the attends.
  bool sharesHeads = false;
  /// Heads that the spec itself fixes, by its list of decay factors.
  std::optional<int64_t> fixedHeads, fixedKvHeads;
  /// The argument that has the first positions; calls begin at multiples of `positionUnit`, the
  /// least common one of the local blocks whose rows are not kept.
  std::optional<unsigned> firstPosition;
  int64_t positionUnit = 1;
  /// The arguments that have the rows of pools, and how many positions count.
  std::optional<unsigned> slots, lengths;
  /// The argument that has the offsets of packed sequences, whose states, slots and first positions
  /// have N in the place of B.
  std::optional<unsigned> offsets;
  /// Limits of named sizes, by indexOf. T is the length of each sequence where these are packed,
  /// and of what is known of it where calls continue it.
  std::array<std::optional<SizeLimit>, POLYATTN_NAMED_SIZES> limits;
  EntryFacts facts;

  /// The name that stands for `name` here: Tk becomes T and Hkv H where they are the same.
  SizeName canonical(SizeName name) const;
  /// The size where the spec gives it, in a type or by a list of decay factors.
  std::optional<int64_t> fixedSize(int64_t size) const;
  /// The limit of a size; null where it has none.
  const SizeLimit *limitOf(SizeName size) const;
  const TensorSignature *findArgument(llvm::StringRef name) const;
  const TensorSignature *findResult(llvm::StringRef name) const;
  /// What sequences hold.
  ElementType storage() const;
};

/// Fails where names repeat or the spec leaves no consistent reading of the sizes.
llvm::Expected<Signature> signatureOf(AttentionOp attention);

/// What the name of an argument begins with that has the running sum of a result, before the
/// result's name.
inline constexpr llvm::StringLiteral kRunningSumPrefix = "sum_";

/// Which gradients a backward call gives, and how.
struct GradientOptions {
  /// The arguments whose gradients are wanted; all that have one where it is empty.
  std::vector<std::string> wrt = {};
  /// Whether sums over positions, the gradients of weights and of decays [H], are added to what
  /// their results hold.
  bool accumulate = false;
  /// After how many positions each the forward call of the pair keeps states, so that the backward
  /// call computes all gradients in one sweep; 0 for none and two sweeps.
  int64_t stateEvery = 0;
};

/// The signature of the gradients of an attention with the signature `forward`. Its arguments are
/// those of the attention, then the loss's gradient `d_NAME` in each result; its results are the
/// gradients `d_NAME` in the arguments that are asked for. Those of sequences hold what the
/// sequences do, others f32. What accumulates lives in one more argument, `sum_d_NAME`. Fails where
/// a name is unknown, twice or taken, or of whole numbers.
llvm::Expected<Signature> backwardSignature(const Signature &forward,
                                            const GradientOptions &options);

/// The signature of an entry that differentiation has made of an attention with the signature
/// `definition`. What both have has the same shapes and roles in it, also where the entry does not
/// read it any more; gradients have the shapes of what they are taken in.
llvm::Expected<Signature> derivedSignature(AttentionOp entry, const Signature &definition);

/// The signature of an entry about segments that was made of an attention with the signature
/// `definition`. It has sizes of its own, as it need not have all tensors: without queries H are
/// the heads of keys. What both have has the same roles in it.
llvm::Expected<Signature> segmentSignature(AttentionOp entry, const Signature &definition);

/// Collects the sizes of a call from several sources and says who disagrees with whom.
class SizeBinder {
public:
  explicit SizeBinder(const Signature &signature);

  /// Binds one symbol; `source` names who says so (`--random`).
  llvm::Error bind(SizeName symbol, int64_t size, llvm::StringRef source);
  /// Binds the symbols of one argument from its shape.
  llvm::Error bind(const TensorSignature &argument, llvm::ArrayRef<int64_t> shape);
  bool isBound(SizeName symbol) const;
  /// All sizes: Tk and Hkv that nothing binds are T and H, P is B, or N, L is 0, and B is 1 with
  /// packed sequences. Fails where another symbol stays open.
  llvm::Expected<CallSizes> finish() const;

private:
  const Signature &signature;
  struct Binding {
    int64_t size;
    std::string source;
  };
  /// By indexOf.
  std::array<std::optional<Binding>, POLYATTN_NAMED_SIZES> bindings;
};

/// Binds the sizes of a call from the shapes of its arguments, in their order. The error names
/// the argument, what was expected and what came.
llvm::Error bindShapes(const Signature &signature,
                       llvm::ArrayRef<llvm::SmallVector<int64_t, 4>> shapes, CallSizes &sizes);

/// Positions must be exact in f64, and no sequence is longer than memory.
inline constexpr int64_t kPositionLimit = int64_t(1) << 53;

/// Gives an argument of whole numbers.
using WholeNumbers = llvm::function_ref<const HostTensor *(unsigned argument)>;

/// Says that a size is above its limit; `where` names the sequence.
llvm::Error failLimit(const Signature &signature, SizeName size, int64_t came,
                      const llvm::Twine &where);

/// Checks the numbers that decide which memory is read: slots are rows of the pools, each once, or
/// below 0; no length is longer than the call; offsets are those of sequences in order that fill
/// all T positions, none longer than the tables of positions; and calls begin at no negative
/// position, at multiples of the local block, and with rows enough in tables behind it. No sequence
/// is longer than the limit of T. Arguments for which `numbers` gives null are not looked at.
llvm::Error checkNumbers(const Signature &signature, const CallSizes &sizes, WholeNumbers numbers);

/// The shape of an argument or a result in a call. Sizes are bound.
llvm::SmallVector<int64_t, 4> shapeOf(const TensorSignature &tensor, const CallSizes &sizes);

/// {"name", "arguments": [{"name", "shape" (null: dynamic), "dims", "dtype", "role", "gradient_of"
/// and
///  "saved_from" where they are not empty}], "results", "feature_dim", "degree", "score_form",
///  "state_bytes", "limits": [{"size", "most", "argument"}] where there are some}
llvm::json::Object toJson(const Signature &signature);

} // namespace polyattn

#endif // POLYATTN_ENTRY_SIGNATURE_H
