/* Runs the kernel @linear of an object file, with nothing but the runtime, on .npy files:
 *   run_object q.npy k.npy v.npy o.npy   overwrites the numbers of o.npy
 * Built with -DSCRATCH_BYTES=..., what the kernel's function says it needs. */
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBatch = 2, kPositions = 150, kHeads = 3, kWidth = 64 };
enum { kCount = kBatch * kPositions * kHeads * kWidth };

void linear(void *const *tensors, int64_t begin, int64_t end, void *scratch);
void linear__prefix(void *const *tensors, int64_t begin, int64_t end, void *scratch);

static const int64_t sizes[] = {kBatch, kPositions, kHeads, kWidth};
#define VECTORS(heads) {POLYATTN_SIZE_B, POLYATTN_SIZE_T, heads, kWidth}
static const polyattn_rt_tensor_rule rules[] = {
    {"q", 0, POLYATTN_F32, 4, VECTORS(POLYATTN_SIZE_H)},
    {"k", 0, POLYATTN_F32, 4, VECTORS(POLYATTN_SIZE_HKV)},
    {"v", 0, POLYATTN_F32, 4, VECTORS(POLYATTN_SIZE_HKV)},
    {"o", 1, POLYATTN_F32, 4, VECTORS(POLYATTN_SIZE_H)},
};
#define DIM(tensor, dimension) {POLYATTN_RT_DIMENSION, tensor, dimension, 0, 1, 1}
#define NUMBER(number) {POLYATTN_RT_NUMBER, 0, 0, number, 1, 1}
/* One for each segment but the last, in two subsegments. */
#define PREFIXES {POLYATTN_RT_SEGMENTS, 0, 0, -1, 1, 2}
#define SEGMENTS {POLYATTN_RT_SEGMENTS, 0, 0, 0, 1, 1}
/* S of each of them, and z. */
static const polyattn_rt_workspace_rule workspaces[] = {
    {POLYATTN_F32,
     POLYATTN_RT_FILL_NONE,
     5,
     {PREFIXES, DIM(0, 0), DIM(2, 2), NUMBER(kWidth), NUMBER(kWidth)}},
    {POLYATTN_F32, POLYATTN_RT_FILL_NONE, 4, {PREFIXES, DIM(0, 0), DIM(2, 2), NUMBER(kWidth)}}};
static const int64_t all_workspaces[] = {0, 1};
static const polyattn_rt_stage_rule stages[] = {{linear__prefix,
                                                 POLYATTN_RT_STAGE_SUMS_SEGMENTS,
                                                 SCRATCH_BYTES,
                                                 1,
                                                 {DIM(2, 0), DIM(2, 2), PREFIXES},
                                                 3,
                                                 all_workspaces,
                                                 2},
                                                {linear,
                                                 POLYATTN_RT_STAGE,
                                                 SCRATCH_BYTES,
                                                 1,
                                                 {DIM(0, 0), DIM(0, 2), SEGMENTS},
                                                 3,
                                                 all_workspaces,
                                                 2}};
static const polyattn_rt_choice_rule choices[] = {
    {POLYATTN_RT_SEGMENTS, DIM(0, 1), 64, 64, 0, 40, 2, 0, 0}};
static const polyattn_rt_kernel kernel = {
    "linear", rules, 4, {workspaces, 2, stages, 2, choices, 1}, NULL, {-1, -1, -1, -1, -1, -1, -1},
    {{0}},    {0, 0}};

static long header_bytes(FILE *file) {
  unsigned char start[10];
  if (fread(start, 1, 10, file) != 10)
    exit(2);
  return 10 + start[8] + 256 * start[9];
}

int main(int argc, char **argv) {
  static float data[4][kCount];
  polyattn_tensor tensors[4];
  const polyattn_tensor *pointers[4];
  char message[256];
  int i;
  for (i = 0; i < 4; ++i) {
    FILE *file = argc == 5 ? fopen(argv[i + 1], "r+b") : NULL;
    if (!file)
      return 2;
    fseek(file, header_bytes(file), SEEK_SET);
    tensors[i] = polyattn_dense(data[i], POLYATTN_F32, 4, sizes);
    pointers[i] = &tensors[i];
    if (i < 3 && fread(data[i], sizeof(float), kCount, file) != kCount)
      return 2;
    if (i == 3) {
      if (polyattn_rt_run(&kernel, pointers, 4, 2, message, sizeof message) != 0) {
        fprintf(stderr, "%s\n", message);
        return 1;
      }
      if (fwrite(data[3], sizeof(float), kCount, file) != kCount)
        return 2;
    }
    fclose(file);
  }
  return 0;
}
