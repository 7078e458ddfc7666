//===- polyattn-peers.cpp - the measured attentions on OpenBLAS -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// polyattn-peers --entry NAME [--B n] [--T n] [--H n] [--seconds s] [--local-block n]
//                [--chunk n --tile n] [--check]
//
// Prints one JSON object. The same algorithms as the entries of specs/bench.mlir, one thread,
// with products by OpenBLAS and the rest in vectorized C++. Without --chunk the fastest block
// lengths of {64, 128, 256} are found first, so that the comparison is with OpenBLAS at its best.
// --check compares with direct f64 loops instead; --local-block is the entry's own block of
// exact scores.
//
//===----------------------------------------------------------------------===//

#include "Blas.h"
#include "ChunkedAttention.h"
#include "Peak.h"
#include "benchmarks/softmax/SoftmaxAttention.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

using namespace polyattn::bench;

namespace {

struct Options {
  std::string entry;
  Sizes sizes;
  double seconds = 2;
  std::optional<int64_t> localBlock;
  std::optional<Blocking> blocking;
  bool check = false;
};

[[noreturn]] void fail(const std::string &message) {
  std::fprintf(stderr, "polyattn-peers: error: %s\n", message.c_str());
  std::exit(1);
}

int64_t parseCount(const std::string &option, const char *text) {
  char *end = nullptr;
  long long value = std::strtoll(text, &end, 10);
  if (*end || end == text || value < 1 || value > (1 << 30))
    fail(option + ": expected a number of at least 1, got '" + text + "'");
  return value;
}

Options parseOptions(int argc, char **argv) {
  Options options;
  Blocking blocking;
  bool chunkGiven = false;
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i];
    if (option == "--check") {
      options.check = true;
      continue;
    }
    if (i + 1 == argc)
      fail("unknown option or missing value: '" + option + "'");
    const char *value = argv[++i];
    if (option == "--entry")
      options.entry = value;
    else if (option == "--B")
      options.sizes.batch = parseCount(option, value);
    else if (option == "--T")
      options.sizes.tokens = parseCount(option, value);
    else if (option == "--H")
      options.sizes.heads = parseCount(option, value);
    else if (option == "--local-block")
      options.localBlock = parseCount(option, value);
    else if (option == "--chunk")
      blocking.chunk = parseCount(option, value), chunkGiven = true;
    else if (option == "--tile")
      blocking.tile = parseCount(option, value);
    else if (option == "--seconds") {
      char *end = nullptr;
      options.seconds = std::strtod(value, &end);
      if (*end || !(options.seconds > 0))
        fail(option + ": expected a number above 0, got '" + value + "'");
    } else
      fail("unknown option '" + option + "'");
  }
  if (chunkGiven)
    options.blocking = blocking;
  return options;
}

struct Run {
  Entry entry;
  Sizes sizes;
  Tensors tensors;
  /// The matrix product that softmax attention uses.
  MatrixProduct product = blasProduct;

  /// Seconds of one call.
  double operator()(const Blocking &blocking) {
    auto start = std::chrono::steady_clock::now();
    if (entry.system == System::Softmax)
      softmaxAttention({sizes.batch, sizes.tokens, sizes.heads, entry.width, entry.valueWidth},
                       tensors.q.data(), tensors.k.data(), tensors.v.data(), tensors.o.data(),
                       product);
    else
      chunkedAttention(entry, sizes, tensors, blocking);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

/// The fastest of the block lengths, or of the products, by the best of three calls on a part of
/// the sequence.
Blocking tune(Run &run) {
  Run part{run.entry, run.sizes, {}};
  part.sizes.batch = part.sizes.heads = 1;
  part.sizes.tokens = std::min<int64_t>(run.sizes.tokens, 4096);
  part.tensors = makeTensors(part.entry, part.sizes);
  auto time = [&](const Blocking &blocking) {
    double seconds = part(blocking);
    for (int i = 0; i < 2; ++i)
      seconds = std::min(seconds, part(blocking));
    return seconds;
  };
  Blocking best;
  if (run.entry.system == System::Softmax) {
    double blas = time(best);
    part.product = plainProduct;
    if (time(best) < blas)
      run.product = plainProduct;
    return best;
  }
  double bestSeconds = 0;
  for (int64_t chunk : {64, 128, 256})
    for (int64_t tile = 64; tile <= chunk; tile *= 2) {
      double seconds = time({chunk, tile});
      if (bestSeconds == 0 || seconds < bestSeconds) {
        bestSeconds = seconds;
        best = {chunk, tile};
      }
    }
  return best;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void measure(Run &run, const Options &options) {
  Blocking blocking = options.blocking ? *options.blocking : tune(run);
  double flops = countFlops(run.entry, run.sizes);
  run(blocking); // page faults and cold caches
  constexpr double kPeakSeconds = 5e-3;
  std::vector<double> times, peaks{measurePeak(kPeakSeconds)}, fractions;
  double spent = 0;
  while (spent < options.seconds || times.size() < 3) {
    times.push_back(run(blocking));
    spent += times.back();
    peaks.push_back(measurePeak(kPeakSeconds));
    fractions.push_back(flops / times.back() / ((peaks.back() + peaks[peaks.size() - 2]) / 2));
  }
  double middle = median(times), best = *std::min_element(times.begin(), times.end());
  double highestPeak = *std::max_element(peaks.begin(), peaks.end());
  const Sizes &sizes = run.sizes;
  std::printf("{\"entry\": \"%s\", \"B\": %lld, \"T\": %lld, \"H\": %lld, \"threads\": 1, "
              "\"core\": \"%s\", \"product\": \"%s\", \"chunk\": %lld, \"tile\": %lld, "
              "\"local_block\": %lld, "
              "\"samples\": %zu, \"seconds_median\": %.9g, \"seconds_best\": %.9g, "
              "\"tokens_per_second\": %.9g, \"flops\": %.12g, \"flops_per_second\": %.9g, "
              "\"peak_flops_per_second\": %.9g, \"peak_flops_per_second_best\": %.9g, "
              "\"fraction_of_peak\": %.5f, \"fraction_of_peak_best\": %.5f}\n",
              run.entry.name.c_str(), (long long)sizes.batch, (long long)sizes.tokens,
              (long long)sizes.heads, openblas_get_corename(),
              run.product == plainProduct ? "plain" : "openblas", (long long)blocking.chunk,
              (long long)blocking.tile, (long long)run.entry.localBlock, times.size(), middle, best,
              double(sizes.batch * sizes.tokens) / middle, flops, flops / middle, median(peaks),
              highestPeak, median(fractions), flops / best / highestPeak);
}

/// Every block length and both products, since each takes other paths.
void check(Run &run) {
  std::vector<double> expected = directAttention(run.entry, run.sizes, run.tensors);
  double worst = 0;
  auto compare = [&](const Blocking &blocking) {
    std::fill(run.tensors.o.begin(), run.tensors.o.end(), NAN);
    run(blocking);
    double difference = 0, size = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      difference += (run.tensors.o[i] - expected[i]) * (run.tensors.o[i] - expected[i]);
      size += expected[i] * expected[i];
    }
    // A NaN must not lose against a number.
    double error = std::sqrt(difference / size);
    worst = error <= worst ? worst : error;
  };
  for (Blocking blocking : {Blocking{64, 64}, Blocking{128, 64}, Blocking{256, 128}})
    compare(blocking);
  run.product = plainProduct;
  compare({});
  bool passed = worst <= 1e-5;
  std::printf("{\"entry\": \"%s\", \"rel_error\": %.3g, \"check\": \"%s\"}\n",
              run.entry.name.c_str(), worst, passed ? "passed" : "failed");
  if (!passed)
    std::exit(1);
}

} // namespace

int main(int argc, char **argv) {
  Options options = parseOptions(argc, argv);
  const Entry *found = findEntry(options.entry);
  if (!found)
    fail("--entry: expected one of " + entryNames() + ", got '" + options.entry + "'");
  openblas_set_num_threads(1);
  Run run{*found, options.sizes, {}};
  if (options.localBlock) {
    if (!found->localBlock)
      fail("--local-block: " + found->name + " has no local kernel");
    run.entry.localBlock = *options.localBlock;
  }
  run.tensors = makeTensors(run.entry, run.sizes);
  if (options.check)
    check(run);
  else
    measure(run, options);
}
