//===- polyattn-text.cpp - a text as input of attention kernels -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// polyattn-text tensors TEXT.txt TOKENS HEADS FOLDER
//     Writes FOLDER/llops/NAME.npy and FOLDER/polysketch/NAME.npy: q, k, v from the bytes of a
//     text, and the weights, for @llops_p2 of specs/llops.mlir and @polysketch_p4_local_b64 of
//     specs/polysketch-random.mlir.
// polyattn-text softmax TEXT.txt TOKENS...
//     Times causal softmax attention of one head of 64 on the first bytes of the text: a line
//     "TOKENS SECONDS" each.
//
// `make demo` calls both; see scripts/demo.
//
//===----------------------------------------------------------------------===//

#include "TextTensors.h"
#include "benchmarks/softmax/SoftmaxAttention.h"
#include "polyattn/Numpy/Npy.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cmath>

using namespace llvm;
using namespace polyattn;
using text::Tensor;

namespace {

/// Every tensor's seed: different, and the same in every run.
enum Seed : uint64_t { kEmbedding = 1, kQuery, kKey, kValue, kWeights };
constexpr int64_t kModelWidth = 128;

Error writeTensor(const Twine &folder, StringRef name, const Tensor &tensor) {
  std::string path = (folder + "/" + name + ".npy").str();
  Expected<NpyWriter> writer = NpyWriter::open(path, ElementType::F32, tensor.sizes);
  if (!writer)
    return writer.takeError();
  Expected<HostTensor> host = allocateTensor(ElementType::F32, tensor.sizes);
  if (!host)
    return host.takeError();
  std::copy(tensor.data.begin(), tensor.data.end(), static_cast<float *>(host->data));
  if (Error error = writer->write(*host))
    return error;
  return writer->commit();
}

/// q, k and v of one spec, all from the same embedded text.
Error writeActivations(const Twine &folder, const Tensor &embedded, int64_t heads,
                       int64_t headWidth) {
  const std::pair<const char *, uint64_t> names[] = {{"q", kQuery}, {"k", kKey}, {"v", kValue}};
  if (std::error_code code = sys::fs::create_directories(folder))
    return createStringError("'" + folder + "': " + code.message());
  for (auto [name, seed] : names)
    if (Error error =
            writeTensor(folder, name, text::projectToHeads(embedded, heads, headWidth, seed)))
      return error;
  return Error::success();
}

Error writeTensors(StringRef bytes, int64_t tokens, int64_t heads, StringRef folder) {
  Tensor embedded = text::embedBytes(bytes.str(), tokens, kModelWidth, kEmbedding);

  std::string llops = (folder + "/llops").str();
  if (Error error = writeActivations(llops, embedded, heads, 128))
    return error;
  uint64_t seed = kWeights;
  for (const char *name : {"theta_q1", "theta_q2", "theta_k1", "theta_k2"})
    if (Error error =
            writeTensor(llops, name, text::normalTensor({128, 256}, 1 / std::sqrt(128.0), seed++)))
      return error;

  std::string sketch = (folder + "/polysketch").str();
  if (Error error = writeActivations(sketch, embedded, heads, 64))
    return error;
  // A gain of 64^(-1/4): scores <q, k>^4 of normalized vectors then stay below 8^4.
  Tensor gamma{{64}, std::vector<float>(64, 0.35355339f)}, beta{{64}, std::vector<float>(64)};
  if (Error error = writeTensor(sketch, "gamma", gamma))
    return error;
  if (Error error = writeTensor(sketch, "beta", beta))
    return error;
  for (const char *name : {"g1", "g2"}) // unit variance makes the sketch unbiased
    if (Error error = writeTensor(sketch, name, text::normalTensor({64, 32}, 1, seed++)))
      return error;
  return Error::success();
}

void timeSoftmax(StringRef bytes, int64_t tokens) {
  constexpr int64_t kWidth = 64;
  Tensor embedded = text::embedBytes(bytes.str(), tokens, kModelWidth, kEmbedding);
  Tensor q = text::projectToHeads(embedded, 1, kWidth, kQuery);
  Tensor k = text::projectToHeads(embedded, 1, kWidth, kKey);
  Tensor v = text::projectToHeads(embedded, 1, kWidth, kValue);
  std::vector<float> o(v.data.size());
  double best = 0, spent = 0;
  for (int calls = 0; calls < 2 || (spent < 0.2 && calls < 1000); ++calls) {
    auto start = std::chrono::steady_clock::now();
    bench::softmaxAttention({1, tokens, 1, kWidth, kWidth}, q.data.data(), k.data.data(),
                            v.data.data(), o.data());
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = calls == 0 ? seconds : std::min(best, seconds);
    spent += seconds;
  }
  outs() << tokens << format(" %.6g\n", best);
  outs().flush();
}

Expected<int64_t> parseCount(StringRef name, StringRef text) {
  int64_t count;
  if (text.getAsInteger(10, count) || count < 1 || count > (1 << 24))
    return createStringError(name + ": expected a number from 1 to 16777216, got '" + text + "'");
  return count;
}

Error runText(ArrayRef<const char *> arguments) {
  StringRef command = arguments.empty() ? "" : arguments[0];
  bool tensors = command == "tensors" && arguments.size() == 5;
  if (!tensors && !(command == "softmax" && arguments.size() >= 3))
    return createStringError("expected tensors TEXT.txt TOKENS HEADS FOLDER, or softmax TEXT.txt "
                             "TOKENS...");
  auto buffer = MemoryBuffer::getFile(arguments[1]);
  if (!buffer)
    return createStringError(Twine("'") + arguments[1] + "': " + buffer.getError().message());
  StringRef bytes = (*buffer)->getBuffer();
  if (bytes.empty())
    return createStringError(Twine("'") + arguments[1] + "': expected a text, got an empty file");
  if (tensors) {
    Expected<int64_t> tokens = parseCount("TOKENS", arguments[2]);
    if (!tokens)
      return tokens.takeError();
    Expected<int64_t> heads = parseCount("HEADS", arguments[3]);
    if (!heads)
      return heads.takeError();
    return writeTensors(bytes, *tokens, *heads, arguments[4]);
  }
  for (const char *text : arguments.drop_front(2)) {
    Expected<int64_t> tokens = parseCount("TOKENS", text);
    if (!tokens)
      return tokens.takeError();
    timeSoftmax(bytes, *tokens);
  }
  return Error::success();
}

} // namespace

int main(int argc, char **argv) {
  Error error = runText(ArrayRef<const char *>(argv + 1, argc > 0 ? argc - 1 : 0));
  if (!error)
    return 0;
  errs() << "polyattn-text: error: " << toString(std::move(error)) << "\n";
  return 1;
}
