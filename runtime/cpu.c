/*===- cpu.c - what this processor can execute ----------------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "runtime.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <pthread.h>
#include <stdbool.h>

/* What the operating system must keep of a thread besides the feature itself. */
enum { SAVES_NOTHING, SAVES_AVX, SAVES_AVX512, SAVES_AMX };
enum { EAX, EBX, ECX, EDX };

typedef struct feature {
  const char *name; /* LLVM's */
  uint32_t leaf, subleaf;
  int8_t output, bit, saves;
} feature;

/* A feature's index in this table is its bit in a polyattn_rt_cpu_features. */
static const feature features[] = {
    {"cx8", 1, 0, EDX, 8, SAVES_NOTHING},
    {"cmov", 1, 0, EDX, 15, SAVES_NOTHING},
    {"mmx", 1, 0, EDX, 23, SAVES_NOTHING},
    {"fxsr", 1, 0, EDX, 24, SAVES_NOTHING},
    {"sse", 1, 0, EDX, 25, SAVES_NOTHING},
    {"sse2", 1, 0, EDX, 26, SAVES_NOTHING},
    {"sse3", 1, 0, ECX, 0, SAVES_NOTHING},
    {"pclmul", 1, 0, ECX, 1, SAVES_NOTHING},
    {"ssse3", 1, 0, ECX, 9, SAVES_NOTHING},
    {"fma", 1, 0, ECX, 12, SAVES_AVX},
    {"cx16", 1, 0, ECX, 13, SAVES_NOTHING},
    {"sse4.1", 1, 0, ECX, 19, SAVES_NOTHING},
    {"sse4.2", 1, 0, ECX, 20, SAVES_NOTHING},
    {"crc32", 1, 0, ECX, 20, SAVES_NOTHING},
    {"movbe", 1, 0, ECX, 22, SAVES_NOTHING},
    {"popcnt", 1, 0, ECX, 23, SAVES_NOTHING},
    {"aes", 1, 0, ECX, 25, SAVES_NOTHING},
    {"xsave", 1, 0, ECX, 27, SAVES_AVX},
    {"avx", 1, 0, ECX, 28, SAVES_AVX},
    {"f16c", 1, 0, ECX, 29, SAVES_AVX},
    {"rdrnd", 1, 0, ECX, 30, SAVES_NOTHING},
    {"fsgsbase", 7, 0, EBX, 0, SAVES_NOTHING},
    {"bmi", 7, 0, EBX, 3, SAVES_NOTHING},
    {"avx2", 7, 0, EBX, 5, SAVES_AVX},
    {"bmi2", 7, 0, EBX, 8, SAVES_NOTHING},
    {"invpcid", 7, 0, EBX, 10, SAVES_NOTHING},
    {"avx512f", 7, 0, EBX, 16, SAVES_AVX512},
    {"avx512dq", 7, 0, EBX, 17, SAVES_AVX512},
    {"rdseed", 7, 0, EBX, 18, SAVES_NOTHING},
    {"adx", 7, 0, EBX, 19, SAVES_NOTHING},
    {"avx512ifma", 7, 0, EBX, 21, SAVES_AVX512},
    {"clflushopt", 7, 0, EBX, 23, SAVES_NOTHING},
    {"clwb", 7, 0, EBX, 24, SAVES_NOTHING},
    {"avx512cd", 7, 0, EBX, 28, SAVES_AVX512},
    {"sha", 7, 0, EBX, 29, SAVES_NOTHING},
    {"avx512bw", 7, 0, EBX, 30, SAVES_AVX512},
    {"avx512vl", 7, 0, EBX, 31, SAVES_AVX512},
    {"avx512vbmi", 7, 0, ECX, 1, SAVES_AVX512},
    {"avx512vbmi2", 7, 0, ECX, 6, SAVES_AVX512},
    {"gfni", 7, 0, ECX, 8, SAVES_NOTHING},
    {"vaes", 7, 0, ECX, 9, SAVES_AVX},
    {"vpclmulqdq", 7, 0, ECX, 10, SAVES_AVX},
    {"avx512vnni", 7, 0, ECX, 11, SAVES_AVX512},
    {"avx512bitalg", 7, 0, ECX, 12, SAVES_AVX512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, SAVES_AVX512},
    {"rdpid", 7, 0, ECX, 22, SAVES_NOTHING},
    {"avx512vp2intersect", 7, 0, EDX, 8, SAVES_AVX512},
    {"avx512fp16", 7, 0, EDX, 23, SAVES_AVX512},
    {"amx-bf16", 7, 0, EDX, 22, SAVES_AMX},
    {"amx-tile", 7, 0, EDX, 24, SAVES_AMX},
    {"amx-int8", 7, 0, EDX, 25, SAVES_AMX},
    {"avxvnni", 7, 1, EAX, 4, SAVES_AVX},
    {"avx512bf16", 7, 1, EAX, 5, SAVES_AVX512},
    {"amx-fp16", 7, 1, EAX, 21, SAVES_AMX},
    {"avxifma", 7, 1, EAX, 23, SAVES_AVX},
    {"avxvnniint8", 7, 1, EDX, 4, SAVES_AVX},
    {"avxneconvert", 7, 1, EDX, 5, SAVES_AVX},
    {"avxvnniint16", 7, 1, EDX, 10, SAVES_AVX},
    {"xsaveopt", 0xd, 1, EAX, 0, SAVES_AVX},
    {"xsavec", 0xd, 1, EAX, 1, SAVES_AVX},
    {"xsaves", 0xd, 1, EAX, 3, SAVES_AVX},
    {"sahf", 0x80000001, 0, ECX, 0, SAVES_NOTHING},
    {"lzcnt", 0x80000001, 0, ECX, 5, SAVES_NOTHING},
    {"sse4a", 0x80000001, 0, ECX, 6, SAVES_NOTHING},
    {"prfchw", 0x80000001, 0, ECX, 8, SAVES_NOTHING},
    {"xop", 0x80000001, 0, ECX, 11, SAVES_AVX},
    {"fma4", 0x80000001, 0, ECX, 16, SAVES_AVX},
    {"tbm", 0x80000001, 0, ECX, 21, SAVES_NOTHING},
    {"64bit", 0x80000001, 0, EDX, 29, SAVES_NOTHING},
};
enum { NUM_FEATURES = sizeof features / sizeof features[0] };
POLYATTN_RT_ASSERT((int)NUM_FEATURES <= 64 * POLYATTN_RT_FEATURE_WORDS, "a bit for each feature");

static polyattn_rt_cpu_features own;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The states of registers that the operating system saves; 0 where it does not say. */
static uint64_t saved_states(void) {
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 27)))
    return 0;
  __asm__(".byte 0x0f, 0x01, 0xd0" /* xgetbv */ : "=a"(eax), "=d"(edx) : "c"(0));
  return ((uint64_t)edx << 32) | eax;
}

static void ask_processor(void) {
  static const uint64_t needed[] = {0, 0x6, 0xe6, 0x60000};
  uint64_t saved = saved_states();
  for (int i = 0; i < NUM_FEATURES; ++i) {
    const feature *one = &features[i];
    unsigned output[4] = {0};
    /* Subleaf 1 of leaf 7 is there where subleaf 0 counts it. */
    if (one->leaf == 7 && one->subleaf == 1 &&
        (!__get_cpuid_count(7, 0, &output[EAX], &output[EBX], &output[ECX], &output[EDX]) ||
         output[EAX] < 1))
      continue;
    bool has = __get_cpuid_count(one->leaf, one->subleaf, &output[EAX], &output[EBX], &output[ECX],
                                 &output[EDX]) &&
               ((output[one->output] >> one->bit) & 1) &&
               (saved & needed[one->saves]) == needed[one->saves];
    if (has)
      own.bits[i / 64] |= (uint64_t)1 << (i % 64);
  }
}

int polyattn_rt_add_cpu_feature(const char *name, size_t length, polyattn_rt_cpu_features *to) {
  for (int i = 0; i < NUM_FEATURES; ++i)
    if (strlen(features[i].name) == length && memcmp(features[i].name, name, length) == 0) {
      to->bits[i / 64] |= (uint64_t)1 << (i % 64);
      return 0;
    }
  return 1;
}

const char *polyattn_rt_missing_cpu_feature(const polyattn_rt_cpu_features *needed) {
  pthread_once(&once, ask_processor);
  for (int i = 0; i < POLYATTN_RT_FEATURE_WORDS; ++i) {
    uint64_t missing = needed->bits[i] & ~own.bits[i];
    if (missing == 0)
      continue;
    int feature = 64 * i + __builtin_ctzll(missing);
    return feature < NUM_FEATURES ? features[feature].name : "a feature of a later version";
  }
  return NULL;
}

#else

int polyattn_rt_add_cpu_feature(const char *name, size_t length, polyattn_rt_cpu_features *to) {
  (void)name, (void)length, (void)to;
  return 1;
}

const char *polyattn_rt_missing_cpu_feature(const polyattn_rt_cpu_features *needed) {
  (void)needed;
  return NULL;
}

#endif
