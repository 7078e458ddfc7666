//===- Report.cpp - what polyattn-run prints ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

using namespace llvm;
using namespace polyattn;
using namespace polyattn::driver;

/// JSON has no NaN and no infinity.
static json::Value number(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
}

/// 0 / 0 of an empty call is no rate.
static double rate(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

/// The keys of a measured peak are there in any case: null where there is none.
static void addPeak(json::Object &object, const RunReport &report) {
  const Measurement &m = *report.measurement;
  auto measured = [&](double value) { return m.dataSheet ? json::Value(nullptr) : number(value); };
  object["peak_flops_per_second"] = measured(m.peak);
  object["peak_flops_per_second_best"] = measured(m.highestPeak);
  object["fraction_of_peak"] = measured(m.fraction);
  object["fraction_of_peak_best"] = measured(m.bestFraction);
  if (!m.dataSheet) {
    object["peak_instruction_set"] = m.peakInstructions;
    return;
  }
  object["device"] = m.dataSheet->device;
  object["data_sheet_chip"] = m.dataSheet->chip;
  object["data_sheet_flops_per_second"] = m.dataSheet->flopsPerSecond;
  object["fraction_of_data_sheet"] =
      number(rate(report.flops, m.median) / m.dataSheet->flopsPerSecond);
}

static json::Object runToJson(const RunReport &report) {
  const CallSizes &sizes = report.sizes;
  json::Object object{{"entry", report.signature.name},
                      {"target", report.options.target},
                      {"direction", nameOf(report.options.direction)},
                      {sizeToString(kBatch), sizes.batch},
                      {sizeToString(kPositions), sizes.queries},
                      {sizeToString(kKeyPositions), sizes.keys},
                      {sizeToString(kHeads), sizes.heads},
                      {sizeToString(kKeyHeads), sizes.kvHeads},
                      {"threads", report.options.threads},
                      {"dtype", nameOf(report.signature.storage())},
                      {"compile_ms", number(report.compileMs)},
                      {"flops", number(report.flops)}};
  if (report.measurement) {
    const Measurement &m = *report.measurement;
    object["seconds_median"] = number(m.median);
    object["seconds_best"] = number(m.best);
    object["seconds_p10"] = number(m.p10);
    object["seconds_p90"] = number(m.p90);
    if (report.forwardSeconds)
      object["seconds_forward"] = number(*report.forwardSeconds);
    object["samples"] = m.samples;
    object["calls_per_sample"] = m.callsPerSample;
    object["tokens_per_second"] = number(rate(double(sizes.batch) * sizes.queries, m.median));
    object["flops_per_second"] = number(rate(report.flops, m.median));
    addPeak(object, report);
    object["max_rss_bytes"] = m.maxRssBytes;
  }
  if (report.check) {
    const CheckReport &check = *report.check;
    object["rel_error"] = number(check.relativeError);
    object["worst_row_rel_error"] = number(check.worstRowError);
    object["rounding_rows"] = check.roundingRows;
    object["tolerance"] = check.tolerance;
    if (check.doubtfulRows) {
      object["condition"] = number(check.condition);
      object["ill_conditioned_rows"] = check.illConditionedRows;
    }
    if (check.directions) {
      object["directions"] = check.directions;
    } else {
      object["checked_rows"] = check.checkedRows;
      object["total_rows"] = check.totalRows;
    }
    object["reference_reading"] = check.reading;
    object["check"] = check.failure.empty() ? "passed" : "failed";
  }
  for (const auto &[name, value] : report.findings)
    object[name] = value;
  return object;
}

static std::string formatRate(const RunReport &report) {
  const Measurement &m = *report.measurement;
  double flops = rate(report.flops, m.median);
  std::string text;
  raw_string_ostream stream(text);
  stream << format("  rate: %.4g tokens/s, %.4g Gflop/s, ",
                   rate(double(report.sizes.batch) * report.sizes.queries, m.median), flops / 1e9);
  if (m.dataSheet)
    stream << format("%.1f%% of the %.4g Gflop/s", flops / m.dataSheet->flopsPerSecond * 100,
                     m.dataSheet->flopsPerSecond / 1e9)
           << " of the data sheet of " << m.dataSheet->chip << "; this is " << m.dataSheet->device
           << "\n";
  else
    stream << format("%.1f%% of the peak of %.4g Gflop/s (best call: %.1f%%), ", m.fraction * 100,
                     m.peak / 1e9, m.bestFraction * 100)
           << m.peakInstructions << "\n";
  return text;
}

static std::string nameOfReading(const std::string &reading) {
  if (reading == "differences")
    return "central differences";
  return "the reference's " + reading + (reading == "gradients" ? "" : " reading");
}

static void printSummary(const RunReport &report, raw_ostream &stream) {
  const CallSizes &sizes = report.sizes;
  stream << "@" << report.signature.name << " on " << report.options.target << ": B=" << sizes.batch
         << " T=" << sizes.queries;
  if (sizes.keys != sizes.queries)
    stream << " Tk=" << sizes.keys;
  stream << " H=" << sizes.heads;
  if (sizes.kvHeads != sizes.heads)
    stream << " Hkv=" << sizes.kvHeads;
  stream << "\n";
  for (auto [tensor, result] : zip(report.signature.results, report.results)) {
    double squares = 0;
    result.forEach([&, &result = result](int64_t, void *address) {
      double x = loadElement(result.type, address);
      squares += x * x;
    });
    stream << "  " << tensor.name << ": " << formatSizes(result.sizes) << " " << nameOf(result.type)
           << format(", norm %.6g\n", std::sqrt(squares));
  }
  if (report.measurement) {
    const Measurement &m = *report.measurement;
    stream << format("  time: median %.4g ms, best %.4g ms, 10%% to 90%%: %.4g to %.4g ms (%lld "
                     "samples",
                     m.median * 1e3, m.best * 1e3, m.p10 * 1e3, m.p90 * 1e3, (long long)m.samples);
    if (!m.dataSheet) // A GPU's threads are its own.
      stream << ", " << report.options.threads << " threads";
    stream << ")\n" << formatRate(report);
    if (report.forwardSeconds)
      stream << format("  the forward call: median %.4g ms, this one %.3g times as long\n",
                       *report.forwardSeconds * 1e3, rate(m.median, *report.forwardSeconds));
    stream << format("  compiled in %.3g ms; at most %.3g MiB resident\n", report.compileMs,
                     double(m.maxRssBytes) / 0x1p20);
  }
  if (report.check) {
    const CheckReport &check = *report.check;
    stream << "  check against " << nameOfReading(check.reading) << ": "
           << (check.failure.empty() ? "passed" : "FAILED")
           << format(", relative error %.3g (allowed %.3g), worst row %.3g", check.relativeError,
                     check.tolerance, check.worstRowError);
    if (check.roundingRows)
      stream << ", " << check.roundingRows << (check.roundingRows == 1 ? " row is" : " rows are")
             << " rounding only";
    if (check.doubtfulRows)
      stream << format(", condition %.3g (%lld rows judged by it)", check.condition,
                       (long long)check.illConditionedRows);
    if (check.directions)
      stream << ", along " << check.directions << " directions\n";
    else
      stream << ", " << check.checkedRows << " of " << check.totalRows << " rows\n";
  }
}

void driver::printRun(const RunReport &report, raw_ostream &stream) {
  if (report.options.json)
    stream << formatv("{0:2}", json::Value(runToJson(report))) << "\n";
  else
    printSummary(report, stream);
}

static void printEntry(const Signature &signature, raw_ostream &stream) {
  stream << "@" << signature.name << "\n";
  size_t names = 0, dims = 0;
  for (const auto *list : {&signature.arguments, &signature.results})
    for (const TensorSignature &tensor : *list) {
      names = std::max(names, tensor.name.size());
      dims = std::max(dims, tensor.formatDims().size());
    }
  auto lines = [&](const char *title, const std::vector<TensorSignature> &tensors) {
    for (const TensorSignature &tensor : tensors)
      stream << "  " << title << "  " << left_justify(tensor.name, names) << "  "
             << left_justify(tensor.formatDims(), dims) << "  "
             << left_justify(nameOf(tensor.type), 4) << "  " << nameOf(tensor.role)
             << (tensor.gradientOf.empty() ? "" : " of " + tensor.gradientOf)
             << (tensor.savedFrom.empty() ? "" : " from " + tensor.savedFrom)
             << (tensor.argument ? ", in " + signature.arguments[*tensor.argument].name : "")
             << "\n";
  };
  lines("argument", signature.arguments);
  lines("result  ", signature.results);
  const EntryFacts &facts = signature.facts;
  auto fact = [&](const char *name, const std::optional<int64_t> &value, const char *none) {
    stream << "  " << name << ": ";
    value ? stream << *value : stream << none;
    stream << "\n";
  };
  fact("feature dimension D", facts.featureDim, "beyond 2^62");
  fact("degree", facts.degree, "none, not a polynomial");
  stream << "  scores: "
         << (facts.scoreForm.empty() ? "inner products of the features"
                                     : "in the form of " + facts.scoreForm + ", without features")
         << "\n";
  fact("state bytes per batch and head", facts.stateBytes, "none, no state can be held");
}

void driver::printDescription(ArrayRef<Signature> signatures, bool json, raw_ostream &stream) {
  if (!json) {
    for (const Signature &signature : signatures)
      printEntry(signature, stream);
    return;
  }
  json::Array entries;
  for (const Signature &signature : signatures)
    entries.push_back(toJson(signature));
  stream << formatv("{0:2}", json::Value(json::Object{{"entries", std::move(entries)}})) << "\n";
}
