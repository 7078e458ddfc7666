//===- StatesTest.cpp - states of segments that follow each other ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/states.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

polyattn_tensor view(std::vector<float> &data, std::vector<int64_t> sizes) {
  return polyattn_dense(data.data(), POLYATTN_F32, int32_t(sizes.size()), sizes.data());
}

/// The line of an error, or an empty one.
std::string combine(const polyattn_tensor *before, const polyattn_tensor *decay,
                    const polyattn_tensor *after, const polyattn_tensor *result) {
  char text[256] = "";
  int status = polyattn_rt_combine_states(before, decay, after, result, text, sizeof text);
  EXPECT_EQ(status != 0, *text != 0);
  EXPECT_EQ(std::strchr(text, '\n'), nullptr);
  return text;
}

/// A segment's state [2, 3, 4, 5] and its decay [2, 3, 1].
struct Segment {
  std::vector<float> state = std::vector<float>(120), decay = std::vector<float>(6);
  polyattn_tensor ofState() { return view(state, {2, 3, 4, 5}); }
  polyattn_tensor ofDecay() { return view(decay, {2, 3, 1}); }
};

/// Both segments as one.
Segment both(Segment &first, Segment &second) {
  Segment result;
  polyattn_tensor before = first.ofState(), after = second.ofState(), decay = second.ofDecay(),
                  state = result.ofState(), decayBefore = first.ofDecay(), all = result.ofDecay();
  EXPECT_EQ(combine(&before, &decay, &after, &state), "");
  EXPECT_EQ(combine(&decayBefore, &decay, nullptr, &all), "");
  return result;
}

std::vector<Segment> randomSegments(size_t count) {
  std::mt19937 engine(std::random_device{}());
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> uniform(0.2f, 1.0f);
  std::vector<Segment> segments(count);
  for (Segment &segment : segments) {
    for (float &x : segment.state)
      x = normal(engine);
    for (float &x : segment.decay)
      x = uniform(engine);
  }
  return segments;
}

TEST(States, CombineInAnyOrderOfAssociation) {
  std::vector<Segment> all = randomSegments(8);
  Segment forwards = all[0], backwards = all[7];
  for (size_t i = 1; i < 8; ++i) {
    forwards = both(forwards, all[i]);
    backwards = both(all[7 - i], backwards);
  }
  std::vector<Segment> tree = all;
  for (size_t stride = 1; stride < 8; stride *= 2)
    for (size_t i = 0; i < 8; i += 2 * stride)
      tree[i] = both(tree[i], tree[i + stride]);
  for (size_t e = 0; e < 120; ++e) {
    double exact = 0, magnitude = 0;
    for (Segment &segment : all) {
      double decay = segment.decay[e / 20];
      exact = exact * decay + segment.state[e];
      magnitude = magnitude * decay + std::fabs(segment.state[e]);
    }
    for (Segment *one : {&forwards, &backwards, &tree[0]})
      EXPECT_NEAR(one->state[e], exact, 7 * std::ldexp(magnitude, -23));
  }
}

TEST(States, ResultMayBeEitherState) {
  std::vector<Segment> all = randomSegments(2);
  Segment expected = both(all[0], all[1]);
  polyattn_tensor before = all[0].ofState(), after = all[1].ofState(), decay = all[1].ofDecay();
  std::vector<float> copy = all[1].state;
  EXPECT_EQ(combine(&before, &decay, &after, &after), "");
  EXPECT_EQ(all[1].state, expected.state);
  all[1].state = copy;
  EXPECT_EQ(combine(&before, &decay, &after, &before), "");
  EXPECT_EQ(all[0].state, expected.state);
}

TEST(States, StridesMayBeAny) {
  std::vector<Segment> all = randomSegments(2);
  Segment expected = both(all[0], all[1]);
  std::vector<float> transposed(120), padded(2 * 3 * 4 * 8, NAN);
  for (int64_t i = 0; i < 120; ++i)
    transposed[i / 20 * 20 + i % 5 * 4 + i / 5 % 4] = all[0].state[i];
  polyattn_tensor before = view(transposed, {2, 3, 4, 5}), after = all[1].ofState(),
                  decay = view(all[1].decay, {2, 3}), result = view(padded, {2, 3, 4, 8});
  before.strides[2] = 1;
  before.strides[3] = 4;
  result.sizes[3] = 5;
  EXPECT_EQ(combine(&before, &decay, &after, &result), "");
  for (int64_t i = 0; i < 120; ++i)
    EXPECT_EQ(padded[i / 5 * 8 + i % 5], expected.state[i]);
  for (int64_t row = 0; row < 24; ++row)
    EXPECT_TRUE(std::isnan(padded[row * 8 + 5]));
}

/// A reset lets nothing through, whatever was before it.
TEST(States, ResetForgetsInfiniteStates) {
  std::vector<Segment> all = randomSegments(2);
  all[0].state.assign(120, std::numeric_limits<float>::infinity());
  all[1].decay.assign(6, 0);
  EXPECT_EQ(both(all[0], all[1]).state, all[1].state);
}

TEST(States, EmptyOnesNeedNoMemory) {
  std::vector<float> none;
  polyattn_tensor empty = view(none, {0, 3, 4});
  EXPECT_EQ(combine(&empty, nullptr, &empty, &empty), "");
}

TEST(States, RefusesHostileTensors) {
  std::vector<Segment> all = randomSegments(3);
  polyattn_tensor before = all[0].ofState(), after = all[1].ofState(), decay = all[1].ofDecay(),
                  result = all[2].ofState();
  const std::vector<float> untouched = all[2].state;
  auto with = [](polyattn_tensor tensor, auto change) {
    change(tensor);
    return tensor;
  };
  auto expect = [&](const polyattn_tensor *b, const polyattn_tensor *d, const polyattn_tensor *a,
                    const polyattn_tensor *r, const std::string &message) {
    EXPECT_EQ(combine(b, d, a, r), "state_combine: argument " + message);
    EXPECT_EQ(all[2].state, untouched);
  };
  expect(nullptr, &decay, &after, &result, "'before': expected a tensor, got a null pointer");
  expect(&before, &decay, &after, nullptr, "'result': expected a tensor, got a null pointer");
  auto bad = with(after, [](auto &t) { t.dtype = POLYATTN_BF16; });
  expect(&before, &decay, &bad, &result, "'after': expected f32, got bf16");
  bad = with(before, [](auto &t) { t.dtype = 99; });
  expect(&bad, &decay, &after, &result, "'before': expected f32, got an unknown element type");
  bad = with(before, [](auto &t) { t.rank = 1000; });
  expect(&bad, &decay, &after, &result,
         "'before': expected 2 to 6 dimensions [B, H, ...], got 1000");
  bad = with(before, [](auto &t) { t.sizes[1] = -3; });
  expect(&bad, &decay, &after, &result,
         "'before': expected sizes of at least 0, got -3 in dimension 1");
  bad = with(before, [](auto &t) { t.sizes[1] = t.sizes[2] = int64_t(1) << 40; });
  expect(&bad, &decay, &after, &result, "'before': expected sizes whose product fits in memory");
  bad = with(before, [](auto &t) { t.data = nullptr; });
  expect(&bad, &decay, &after, &result, "'before': expected memory, got a null pointer");
  bad = with(before, [](auto &t) { t.data = static_cast<char *>(t.data) + 1; });
  expect(&bad, &decay, &after, &result, "'before': expected memory aligned to 4 bytes");
  bad = with(after, [](auto &t) { t.sizes[2] = 3; });
  expect(&before, &decay, &bad, &result,
         "'after': expected size 4 in dimension 2, as 'before' has, got 3");
  bad = with(after, [](auto &t) { t.rank = 3; });
  expect(&before, &decay, &bad, &result, "'after': expected 4 dimensions, as 'before' has, got 3");
  bad = with(decay, [](auto &t) { t.sizes[2] = 4; });
  expect(&before, &bad, &after, &result, "'decay': expected size 1 in dimension 2, got 4");
  bad = with(result, [](auto &t) { t.strides[0] = 0; });
  expect(&before, &decay, &after, &bad,
         "'result': expected strides of a row-major tensor, got 0 in dimension 0");
  bad = with(result, [](auto &t) { t.strides[0] = INT64_MAX / 2; });
  expect(&before, &decay, &after, &bad, "'before': expected strides within memory");
  bad = with(result, [](auto &t) { t.data = static_cast<float *>(t.data) + 1; });
  bad.sizes[0] = 1;
  auto half = with(result, [](auto &t) { t.sizes[0] = 1; });
  auto small = with(decay, [](auto &t) { t.sizes[0] = 1; });
  expect(&half, &small, nullptr, &bad,
         "'before': shares memory with the result, and not element by element");
}

} // namespace
