/* Calls a library whose entry has a first position: one that may begin where it says, and two that
 * may not. */
#include "first-position.h"
#include <math.h>
#include <stdio.h>

enum { T = 5, H = 2 };
static float q[T * H * 12], v[T * H * 8], f[6], g[H], s[H * 12 * 8], o[T * H * 8],
    final_s[H * 12 * 8];

static int call(int64_t first, char *error, size_t size) {
  int64_t q_sizes[] = {1, T, H, 12}, v_sizes[] = {1, T, H, 8}, s_sizes[] = {1, H, 12, 8};
  int64_t six = 6, heads = H, one = 1;
  polyattn_tensor tq = polyattn_dense(q, POLYATTN_F32, 4, q_sizes);
  polyattn_tensor tv = polyattn_dense(v, POLYATTN_F32, 4, v_sizes);
  polyattn_tensor tf = polyattn_dense(f, POLYATTN_F32, 1, &six);
  polyattn_tensor tg = polyattn_dense(g, POLYATTN_F32, 1, &heads);
  polyattn_tensor ts = polyattn_dense(s, POLYATTN_F32, 3 + 1, s_sizes);
  polyattn_tensor tfirst = polyattn_dense(&first, POLYATTN_I64, 1, &one);
  polyattn_tensor to = polyattn_dense(o, POLYATTN_F32, 4, v_sizes);
  polyattn_tensor tfinal = polyattn_dense(final_s, POLYATTN_F32, 4, s_sizes);
  return polyattn_rope_states(&tq, &tq, &tv, &tf, &tg, &ts, &tfirst, &to, &tfinal, 1, error, size);
}

int main(void) {
  char error[300];
  int i;
  for (i = 0; i < T * H * 12; ++i)
    q[i] = 1;
  for (i = 0; i < T * H * 8; ++i)
    v[i] = 1;
  f[0] = 1;
  if (call(1000, error, sizeof error) != 0)
    return puts(error), 1;
  /* Element 0 is turned by 1000.5: what the first key adds to the state. */
  for (i = 0; i < H; ++i)
    printf("%.4f\n", final_s[i * 12 * 8]);
  call(-1, error, sizeof error);
  puts(error);
  call(INT64_MAX, error, sizeof error);
  puts(error);
  return 0;
}
