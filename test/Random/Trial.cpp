//===- Trial.cpp - one case on its targets --------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trial.h"
#include "DecodedSequences.h"
#include "Judge.h"
#include "lib/Driver/Gradients.h"
#include "lib/Driver/Subject.h"
#include "mlir/Parser/Parser.h"
#include "polyattn/Schedule/Invariant.h"
#include "polyattn/Spec/ParseSpec.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::random;

static void copyTo(char *to, size_t size, StringRef text) {
  size_t length = std::min(size - 1, text.size());
  std::memcpy(to, text.data(), length);
  to[length] = 0;
}

TrialReport::Entry &polyattn::random::addEntry(TrialReport &report, StringRef target) {
  copyTo(report.stage, sizeof(report.stage), target);
  TrialReport::Entry &entry = report.entries[report.count++];
  copyTo(entry.target, sizeof(entry.target), target);
  return entry;
}

void polyattn::random::conclude(TrialReport::Entry &entry, Outcome outcome, StringRef message) {
  entry.outcome = outcome;
  copyTo(entry.message, sizeof(entry.message), message.rtrim());
}

void polyattn::random::disturb(const Case &trial, const TensorSignature &signature,
                               const HostTensor &tensor) {
  std::mt19937_64 engine(trial.seed + 17);
  auto uniform = [&] { return double(engine() >> 11) * 0x1p-53; };
  auto changed = [&](double x) -> double {
    if (signature.role == Role::First || signature.role == Role::Offsets)
      return x;
    if (signature.role == Role::Decay) {
      if (trial.inputs != "resets")
        return x;
      double kind = uniform();
      return kind < 0.5 ? x : kind < 0.55 ? -HUGE_VAL : -std::pow(10.0, 34 * uniform() - 4);
    }
    if (trial.inputs == "empty")
      return 0;
    if (signature.role == Role::Frequencies || signature.role == Role::Gain)
      return x;
    if (trial.inputs == "small")
      return std::round(x);
    if (trial.inputs == "mixed" && signature.role != Role::Weight)
      return x * std::pow(10.0, 4 * uniform() - 3);
    return x;
  };
  tensor.forEach([&](int64_t, void *address) {
    storeElement(tensor.type, address, changed(loadElement(tensor.type, address)));
  });
}

namespace {

class SpecTrial {
public:
  SpecTrial(const Case &trial, const TargetRegistry &targets, AttentionOp attention,
            std::string &diagnostics, TrialReport &report)
      : trial(trial), targets(targets), attention(attention), diagnostics(diagnostics),
        report(report) {
    options.spec = "random.mlir";
    options.direction = trial.direction;
    options.invariant = trial.invariant;
    options.gradients = {trial.wrt, trial.accumulate, trial.stateEvery};
  }

  void run() {
    TrialReport::Entry &oracle = addEntry(report, "oracle");
    if (llvm::Error error = prepare())
      return refuse(oracle, messageOf(std::move(error)));
    if (!judgeFor(ElementType::F32, /*gpu=*/false))
      return conclude(oracle, diagnostics.empty() ? Outcome::Wrong : Outcome::Refused, diagnostics);
    oracle.outcome = Outcome::Right;
    if (gradients && !judgeOracle(oracle))
      return;
    for (const std::string &target : trial.targets)
      runOn(target, addEntry(report, target));
  }

private:
  std::string messageOf(llvm::Error error) {
    bool reported = error.isA<ReportedError>();
    std::string text = llvm::toString(std::move(error));
    return reported ? diagnostics : text;
  }

  /// Sizes that the entry ties together, inputs, poisoned results.
  llvm::Error prepare() {
    llvm::Expected<Signature> made = signatureOf(attention);
    if (!made)
      return made.takeError();
    signature = std::move(*made);
    if (trial.direction == CallDirection::Backward) {
      auto pair = makePair();
      if (!pair)
        return pair.takeError();
      gradients = std::move(*pair);
      signature = gradients->getSignature();
    }
    if (isOfSegments(trial.direction))
      if (llvm::Error error = deriveSegment())
        return error;
    sizes = trial.sizes;
    if (signature.samePositions)
      sizes.keys = sizes.queries;
    sizes.kvHeads = signature.fixedKvHeads.value_or(sizes.kvHeads);
    sizes.heads = signature.fixedHeads.value_or(sizes.heads);
    if (signature.sameHeads && !signature.sharesHeads)
      sizes.kvHeads = sizes.heads;
    if (sizes.kvHeads == 0 || sizes.heads % sizes.kvHeads != 0)
      sizes.heads = sizes.kvHeads;
    if (signature.offsets) {
      sizes.batch = 1;
      sizes.queries = sizes.keys = sizes.sequences ? sizes.queries : 0;
    }
    for (auto [name, size] : {std::pair(kPositions, &sizes.queries), {kKeyPositions, &sizes.keys}})
      if (const SizeLimit *limit = signature.limitOf(name))
        *size = std::min(*size, limit->most);
    if (signature.firstPosition)
      sizes.rows = std::min<int64_t>(driver::lastRandomPosition(signature), 2048) +
                   std::max(sizes.queries, sizes.keys);
    else if (signature.offsets)
      sizes.rows = sizes.queries;
    Layout layout = trial.padded ? Layout::Padded : Layout::Contiguous;
    auto add = [&](const TensorSignature &tensor, std::vector<HostTensor> &list) -> llvm::Error {
      auto allocated = allocateTensor(tensor.type, shapeOf(tensor, sizes), layout);
      if (!allocated)
        return allocated.takeError();
      list.push_back(std::move(*allocated));
      return llvm::Error::success();
    };
    for (const TensorSignature &argument : signature.arguments) {
      if (llvm::Error error = add(argument, arguments))
        return error;
      driver::fillRandom(signature, argument, sizes, trial.seed, arguments.back());
      random::disturb(trial, argument, arguments.back());
      if (argument.role == Role::First && keepsWindows())
        arguments.back().forEach(
            [&](int64_t, void *address) { storeElement(argument.type, address, 0); });
    }
    for (const TensorSignature &result : signature.results)
      if (llvm::Error error = add(result, results))
        return error;
    if (trial.direction == CallDirection::Decode)
      DecodedSequences::clearStates(signature, sizes, arguments);
    return llvm::Error::success();
  }

  /// Whether decoding keeps the last positions. A sequence that goes on has some then, while the
  /// definition has nothing before its first row: keys of zeros would still count in a denominator.
  bool keepsWindows() {
    if (trial.direction != CallDirection::Decode || signature.limitOf(kPositions))
      return signature.limitOf(kPositions);
    auto module = cloneAlone(attention);
    auto entries = makeEntries(*module, {trial.direction, /*pair=*/false, {}});
    if (!entries) { // is refused again where the case is compiled
      llvm::consumeError(entries.takeError());
      diagnostics.clear();
      return true;
    }
    bool found = false;
    entries->front().attention.walk([&](KeepOp keep) { found |= keep.isRing(); });
    return found;
  }

  /// The entries of gradients, without states after blocks where no attend can keep some.
  llvm::Expected<GradientPair> makePair() {
    auto pair = GradientPair::make(attention, options.gradients);
    if (pair || !trial.stateEvery)
      return pair;
    std::string message = messageOf(pair.takeError());
    if (!StringRef(message).contains("keeps no states"))
      return llvm::createStringError(message);
    diagnostics.clear();
    options.gradients.stateEvery = 0;
    return GradientPair::make(attention, options.gradients);
  }

  /// The entry of a segment, which the oracle evaluates as it is.
  llvm::Error deriveSegment() {
    segmentModule = cloneAlone(attention);
    auto entries = makeEntries(*segmentModule, {trial.direction, /*pair=*/false, {}});
    if (!entries)
      return entries.takeError();
    segment = entries->front().attention;
    signature = std::move(entries->front().signature);
    return llvm::Error::success();
  }

  /// Numbers in products of a GPU have the type that tensors hold or attends ask for, f32 as two of
  /// tf32, and in gradients of 16 bits as two of bf16. On processors they have the type that the
  /// target says, elsewhere f32.
  const Judge *judgeFor(ElementType type, bool gpu,
                        driver::EvaluationBudget budget = driver::EvaluationBudget::Small) {
    bool split = gpu && type == ElementType::F32;
    auto &ofBudget = budget == driver::EvaluationBudget::Small ? judges : judgesOfLargeBudget;
    std::optional<Judge> &judge = ofBudget[split ? 3 : static_cast<int>(type)];
    if (!judge) {
      Arithmetic sums = split              ? Arithmetic::ofSplitTF32()
                        : gpu && gradients ? Arithmetic::ofSplitBF16()
                                           : Arithmetic::of(ElementType::F32);
      Arithmetic vectors = split ? sums : Arithmetic::of(type);
      auto asked = gradients ? Judge::ask(*gradients, arguments, sizes, {vectors, sums}, budget)
                             : Judge::ask(segment ? segment : attention, arguments, sizes,
                                          {vectors, sums}, budget);
      if (!asked) {
        llvm::consumeError(asked.takeError());
        return nullptr;
      }
      judge = std::move(*asked);
    }
    return &*judge;
  }

  void runOn(StringRef name, TrialReport::Entry &entry) {
    diagnostics.clear();
    auto target = targets.create(name);
    if (!target)
      return conclude(entry, Outcome::Wrong, messageOf(target.takeError()));
    auto subject = driver::Subject::create(attention, trial.direction, options, **target);
    if (!subject)
      return refuse(entry, messageOf(subject.takeError()));
    auto executable = subject->compile(**target, trial.text, options);
    if (!executable)
      return refuse(entry, messageOf(executable.takeError()));
    compiled = subject->getSignature();
    if (gradients)
      if (llvm::Error error = save(*subject, **target))
        return refuse(entry, messageOf(std::move(error)));
    for (const HostTensor &result : results)
      result.poison();
    std::string failure;
    if (trial.direction == CallDirection::Decode)
      failure = decode(**executable);
    else
      failure = call(**executable, (*target)->hasSegments());
    if (!failure.empty())
      return conclude(entry, Outcome::Wrong, failure);
    bool isGPU = (*target)->usesTensorCores();
    ElementType products = driver::typeOfProducts(attention, signature);
    ElementType type = (*target)->arithmetic(products).value_or(ElementType::F32);
    Judge::Verdict verdict = verdictOf(*judgeFor(type, isGPU));
    // Rows that come out of a state are rounded where its features are summed, which may take long
    // to ask for.
    if (!verdict.failure.empty())
      if (const Judge *thorough = judgeFor(type, isGPU, driver::EvaluationBudget::Large))
        verdict = verdictOf(*thorough);
    if (verdict.failure.empty() &&
        !llvm::all_of(results, [](const HostTensor &result) { return result.paddingIsPoison(); }))
      verdict.failure = "memory between rows of a result was written";
    concludeWith(verdict, entry);
  }

  Judge::Verdict verdictOf(const Judge &judge) {
    Judge::Verdict verdict;
    for (auto [i, tensor] : llvm::enumerate(signature.results))
      if (isComputed(tensor))
        judge.judge(i, tensor.name, tensor.type, toArray(results[i]), verdict);
    return verdict;
  }

  static void concludeWith(const Judge::Verdict &verdict, TrialReport::Entry &entry) {
    entry.worst = verdict.worst;
    entry.compared = verdict.compared;
    entry.undetermined = verdict.undetermined;
    conclude(entry, verdict.failure.empty() ? Outcome::Right : Outcome::Wrong, verdict.failure);
  }

  /// Whether gradients are those that the oracle takes of its own definitions, in f64.
  bool judgeOracle(TrialReport::Entry &entry) {
    // A change by a unit of f64 would be rounded away again.
    Arithmetic exact{0x1p-51, 0x1.fffffffffffffp1023, 0x1p-1022};
    auto judge =
        Judge::ask(*gradients, arguments, sizes, {exact, exact}, driver::EvaluationBudget::Small);
    auto own = driver::askGradients(attention, signature, arguments, sizes);
    if (!judge || !own) {
      conclude(entry, Outcome::Wrong, diagnostics);
      llvm::consumeError(judge ? own.takeError() : judge.takeError());
      return false;
    }
    auto verdictOn = [&](const Judge &judge) {
      Judge::Verdict verdict;
      for (auto [i, tensor] : llvm::enumerate(signature.results))
        judge.judge(i, tensor.name, ElementType::F32, (*own)[i], verdict);
      return verdict;
    };
    Judge::Verdict verdict = verdictOn(*judge);
    // The derived entries simplify a quotient whose terms cancel. The definition computes both
    // terms, and their difference is off by the roundoff of f64.
    if (!verdict.failure.empty()) {
      judge->allowAlso(ofDefinition(*own, exact));
      verdict = verdictOn(*judge);
    }
    concludeWith(verdict, entry);
    return verdict.failure.empty();
  }

  /// How well an arithmetic determines the gradients that the oracle takes of its definitions.
  Judge ofDefinition(const std::vector<Array> &own, const Arithmetic &arithmetic) {
    Judge judge = Judge::of(arithmetic, own, std::max(sizes.queries, sizes.keys));
    for (uint64_t sample = 0; sample < 4; ++sample) {
      Disturbance vectors(arithmetic, sample), sums(arithmetic, sample + 100);
      auto rounded = driver::askGradients(attention, signature, arguments, sizes,
                                          {std::ref(vectors), std::ref(sums)});
      if (rounded)
        judge.addSample(*rounded);
      else
        llvm::consumeError(rounded.takeError());
    }
    return judge;
  }

  /// Computes what gradients take of a forward call.
  llvm::Error save(const driver::Subject &subject, Target &target) {
    for (auto [tensor, argument] : llvm::zip_equal(arguments, signature.arguments))
      if (argument.role == Role::Saved)
        tensor.poison();
    return driver::computeSaved(subject, target, trial.text, options, {arguments, sizes})
        .takeError();
  }

  /// What is wrong with one call; empty where it has run.
  std::string call(Executable &executable, bool hasSegments) {
    std::vector<HostTensor> placed = placeArguments();
    Call call{placed, results, sizes, int(trial.threads), hasSegments ? trial.segments : 0};
    llvm::Error error = executable.run(call);
    if (error && call.segments) { // of an entry whose positions are not cut
      llvm::consumeError(std::move(error));
      call.segments = 0;
      error = executable.run(call);
    }
    if (error)
      return messageOf(std::move(error));
    bool isFixed = !trial.invariant || sameOnOtherThreads(executable, call);
    return isFixed ? "" : "an invariant kernel's numbers depend on its threads";
  }

  /// The arguments, of which those that results live in are the results, and hold what they held.
  std::vector<HostTensor> placeArguments() {
    std::vector<HostTensor> placed = arguments;
    for (auto [tensor, result] : llvm::zip_equal(signature.results, results))
      if (tensor.argument) {
        copyElements(arguments[*tensor.argument], result);
        placed[*tensor.argument] = result;
      }
    return placed;
  }

  std::string decode(Executable &executable) {
    DecodedSequences sequences(trial, signature, sizes, arguments);
    llvm::Error error = sequences.run(executable, compiled, results);
    return error ? messageOf(std::move(error)) : "";
  }

  /// States of decode entries do not have the keys of the last local block yet, and are one result
  /// where the definition has several.
  bool isComputed(const TensorSignature &result) {
    bool isDecoded = trial.direction == CallDirection::Decode;
    auto hasBlock = [](AttendOp attend) { return bool(attend.getLocalQuery()); };
    return !isDecoded || result.role != Role::State ||
           (compiled.findResult(result.name) &&
            llvm::none_of(attention.getBody().getOps<AttendOp>(), hasBlock));
  }

  /// Bit for bit.
  bool sameOnOtherThreads(Executable &executable, Call call) {
    auto bits = [&] {
      std::vector<uint64_t> bits;
      for (const HostTensor &result : results)
        for (double x : toArray(result).data)
          bits.push_back(llvm::bit_cast<uint64_t>(x));
      return bits;
    };
    std::vector<uint64_t> once = bits();
    call.threads = call.threads == 1 ? 3 : 1;
    placeArguments();
    if (llvm::Error error = executable.run(call)) {
      llvm::consumeError(std::move(error));
      return false;
    }
    return bits() == once;
  }

  /// A refusal needs words, and of a pass that gives up in the middle they are not about the spec.
  void refuse(TrialReport::Entry &entry, StringRef message) {
    bool internal = message.trim().empty();
    for (StringRef words :
         {"failed to legalize", "C1:", "C2:", "C3:", "does not dominate", "unrealized_conversion",
          "operand #", "op requires", "'tile.", "'warp.", "'llvm.", "'vector.", "'memref."})
      internal |= message.contains(words);
    conclude(entry, internal ? Outcome::Wrong : Outcome::Refused,
             internal ? ("an error that is not about the spec: " + message).str() : message.str());
  }

  const Case &trial;
  const TargetRegistry &targets;
  AttentionOp attention;
  std::string &diagnostics;
  TrialReport &report;
  driver::RunOptions options;
  /// Of what the oracle evaluates, and of the entry that was compiled.
  Signature signature, compiled;
  CallSizes sizes;
  std::vector<HostTensor> arguments, results;
  /// Where gradients are computed; the signature is theirs, then.
  std::optional<GradientPair> gradients;
  /// Where it is about a segment: its entry, which is null elsewhere.
  OwningOpRef<ModuleOp> segmentModule;
  AttentionOp segment;
  std::optional<Judge> judges[4], judgesOfLargeBudget[4];
};

} // namespace

void polyattn::random::runTrial(const Case &trial, const DialectRegistry &dialects,
                                const TargetRegistry &targets, TrialReport &report) {
  MLIRContext context(dialects, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream stream(diagnostics);
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      stream << diagnostic.getLocation() << ": " << diagnostic << "\n";
    return success();
  });
  TrialReport::Entry &verifier = addEntry(report, "verifier");
  // Specs as the tools read them: what no result depends on is gone.
  OwningOpRef<ModuleOp> module;
  if (trial.isTile) {
    module = parseSourceString<ModuleOp>(trial.text, ParserConfig(&context), "random.mlir");
  } else {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(trial.text, "random.mlir"),
                               llvm::SMLoc());
    module = parseSpecSource(sources, context);
  }
  if (!module)
    return conclude(verifier, diagnostics.empty() ? Outcome::Wrong : Outcome::Refused,
                    diagnostics.empty() ? "an error without words" : diagnostics);
  if (trial.isInvalid)
    return conclude(verifier, Outcome::Wrong, "an invalid program is accepted");
  verifier.outcome = Outcome::Right;
  if (trial.invariant)
    setInvariant(*module);
  if (trial.isTile)
    return runTileTrial(trial, *module, diagnostics, report);
  SmallVector<AttentionOp> entries(module->getOps<AttentionOp>());
  if (entries.size() == 1)
    SpecTrial(trial, targets, entries[0], diagnostics, report).run();
}
