//===- kernels.cu - microbenchmarks of a GPU's numbers --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Each kernel repeats one thing n times. The first thread writes the clocks to out[0] and the
// number of things to out[1]. `data` has zeros, or addresses that form a chain. rows.py says which
// numbers of machine.txt each kernel gives.

#include <cstdint>

#define KERNEL extern "C" __global__ void __launch_bounds__(1024)
#define CLUSTER extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256)

extern __shared__ __align__(128) unsigned char shared[];

namespace {

__device__ __forceinline__ uint32_t readClock() {
  uint32_t clock;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(clock)::"memory");
  return clock;
}

/// From its construction to `stop`. `used` keeps the compiler from dropping the work.
struct Timer {
  uint32_t begin = readClock();
  __device__ __forceinline__ void stop(uint32_t *out, uint32_t things, bool used = false) const {
    uint32_t clocks = readClock() - begin;
    if (threadIdx.x == 0 && blockIdx.x == 0) {
      out[0] = clocks;
      out[1] = things;
    }
    if (used)
      out[2] = 1;
  }
};

__device__ __forceinline__ uint32_t sharedAddress(const void *pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Fills words of shared memory, and waits until all have.
__device__ __forceinline__ uint32_t fillShared(uint32_t words, uint32_t value) {
  auto *words32 = reinterpret_cast<uint32_t *>(shared);
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x)
    words32[i] = value;
  __syncthreads();
  return sharedAddress(shared);
}

struct Accumulator {
  float sum[4] = {0, 0, 0, 0};
  __device__ __forceinline__ void multiply(const uint32_t *a, uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  __device__ __forceinline__ float total() const { return sum[0] + sum[1] + sum[2] + sum[3]; }
};

__device__ __forceinline__ void loadMatrix(uint32_t *to, uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

__device__ __forceinline__ void clusterBarrier() {
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

} // namespace

// --- matrix products

KERNEL mma_rate(uint32_t *out, const uint32_t *data, uint32_t n) {
  Accumulator sums[8];
  uint32_t a[4] = {data[0], data[1], data[2], data[3]};
  uint32_t b0 = data[4], b1 = data[5];
  __syncthreads();
  Timer timer;
  for (uint32_t r = 0; r < n; ++r)
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sums[i].multiply(a, b0, b1);
  float total = 0;
  timer.stop(out, n * 8);
  for (int i = 0; i < 8; ++i)
    total += sums[i].total();
  if (total == 12345)
    out[2] = 1;
}

KERNEL mma_chain(uint32_t *out, const uint32_t *data, uint32_t n) {
  Accumulator sum;
  uint32_t a[4] = {data[0], data[1], data[2], data[3]};
  uint32_t b0 = data[4], b1 = data[5];
  __syncthreads();
  Timer timer;
  for (uint32_t r = 0; r < n; ++r)
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sum.multiply(a, b0, b1);
  timer.stop(out, n * 8);
  if (sum.total() == 12345)
    out[2] = 1;
}

/// Eight products beside two ldmatrix.x4 of the next ones, as kernels have them.
KERNEL mma_and_ldmatrix(uint32_t *out, const uint32_t *data, uint32_t n) {
  uint32_t begin = fillShared(1024, data[0]) + 16 * (threadIdx.x & 31);
  Accumulator sums[8];
  uint32_t a[2][4], b[2][2][4];
  for (int i = 0; i < 4; ++i)
    a[0][i] = a[1][i] = b[0][0][i] = b[0][1][i] = b[1][0][i] = b[1][1][i] = data[i];
  __syncthreads();
  Timer timer;
  for (uint32_t r = 0; r < n; ++r)
#pragma unroll
    for (int k = 0; k < 2; ++k) {
#pragma unroll
      for (int h = 0; h < 2; ++h)
        loadMatrix(b[k ^ 1][h], begin + (r * 16 & 1023) + (2 * k + h) * 1024);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        sums[i].multiply(a[i & 1], b[k][i >> 2 & 1][i & 2], b[k][i >> 2 & 1][(i & 2) + 1]);
    }
  timer.stop(out, n * 16);
  float total = 0;
  for (int i = 0; i < 8; ++i)
    total += sums[i].total();
  if (total == 12345)
    out[2] = 1;
}

// --- shared memory

/// Each word has the address of the first one.
KERNEL lds_chain(uint32_t *out, const uint32_t *data, uint32_t n) {
  uint32_t at = fillShared(1024, sharedAddress(shared) + data[0]) + 4 * threadIdx.x;
  Timer timer;
  for (uint32_t r = 0; r < n; ++r)
#pragma unroll
    for (int i = 0; i < 8; ++i)
      asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
  timer.stop(out, n * 8, at == 1);
}

KERNEL ldmatrix_chain(uint32_t *out, const uint32_t *data, uint32_t n) {
  uint32_t at[4] = {fillShared(1024, sharedAddress(shared) + data[0]) + 16 * (threadIdx.x & 31)};
  Timer timer;
  for (uint32_t r = 0; r < n; ++r)
#pragma unroll
    for (int i = 0; i < 8; ++i)
      loadMatrix(at, at[0]);
  timer.stop(out, n * 8, at[0] + at[1] + at[2] + at[3] == 1);
}

KERNEL ldmatrix_rate(uint32_t *out, const uint32_t *data, uint32_t n) {
  uint32_t begin = fillShared(3072, data[0]) + 16 * (threadIdx.x & 31), to[8][4], used = 0;
  Timer timer;
  for (uint32_t r = 0; r < n; ++r) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      loadMatrix(to[i], begin + (r * 16 & 1023) + i * 1024);
    for (int i = 0; i < 8; ++i)
      used ^= to[i][0];
  }
  timer.stop(out, n * 8, used == 1);
}

KERNEL lds_rate(uint32_t *out, const uint32_t *data, uint32_t n) {
  uint32_t at = fillShared(1024, data[0]) + 4 * (threadIdx.x & 31), to[8], used = 0;
  Timer timer;
  for (uint32_t r = 0; r < n; ++r) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(to[i]) : "r"(at));
    for (int i = 0; i < 8; ++i)
      used ^= to[i];
  }
  timer.stop(out, n * 8, used == 1);
}

KERNEL sts_rate(uint32_t *out, const uint32_t *data, uint32_t n) {
  uint32_t at = fillShared(0, 0) + 4 * threadIdx.x, value = data[0];
  Timer timer;
  for (uint32_t r = 0; r < n; ++r)
#pragma unroll
    for (int i = 0; i < 8; ++i)
      asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(at), "r"(value) : "memory");
  timer.stop(out, n * 8);
}

// --- caches and device memory

KERNEL chain_l2(uint32_t *out, const uint64_t *data, uint32_t n) {
  auto at = reinterpret_cast<uint64_t>(data);
  Timer timer;
  for (uint32_t r = 0; r < n; ++r)
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
  timer.stop(out, n, at == 1);
}

KERNEL chain_l1(uint32_t *out, const uint64_t *data, uint32_t n) {
  auto at = reinterpret_cast<uint64_t>(data);
  Timer timer;
  for (uint32_t r = 0; r < n; ++r)
    asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at));
  timer.stop(out, n, at == 1);
}

/// A warp waits for four rows of 128 bytes at a time, `pitch` bytes apart. CTAs have parts.
KERNEL rows(uint32_t *out, const uint4 *data, uint32_t n, uint32_t pitch, uint32_t part) {
  const char *at = reinterpret_cast<const char *>(data) + uint64_t(blockIdx.x) * part +
                   uint64_t(threadIdx.x / 8) * pitch + threadIdx.x % 8 * 16;
  uint32_t step = blockDim.x / 8 * pitch, sum = 0;
  Timer timer;
  for (uint32_t r = 0; r < n; ++r) {
    uint4 value = *reinterpret_cast<const uint4 *>(at);
    sum += value.x + value.y + value.z + value.w;
    asm volatile("" : "+r"(sum));
    // The data are zeros, which the compiler does not know.
    at += step + sum;
  }
  timer.stop(out, n, sum == 1);
}

/// 16 bytes of each thread by cp.async, with GROUPS of copies in flight.
template <int Groups>
__device__ void copy(uint32_t *out, const char *data, uint32_t n, uint32_t part) {
  const char *from = data + uint64_t(blockIdx.x) * part + threadIdx.x * 16;
  uint32_t to = sharedAddress(shared) + threadIdx.x * 16, size = blockDim.x * 16;
  Timer timer;
  for (uint32_t r = 0; r < n; ++r) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + r % (Groups + 1) * size),
                 "l"(from + uint64_t(r * size % part))
                 : "memory");
    asm volatile("cp.async.commit_group;\n cp.async.wait_group %0;" ::"n"(Groups) : "memory");
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  timer.stop(out, n);
}
KERNEL copies_1(uint32_t *out, const char *data, uint32_t n, uint32_t part) {
  copy<1>(out, data, n, part);
}
KERNEL copies_4(uint32_t *out, const char *data, uint32_t n, uint32_t part) {
  copy<4>(out, data, n, part);
}
KERNEL copies_12(uint32_t *out, const char *data, uint32_t n, uint32_t part) {
  copy<12>(out, data, n, part);
}

KERNEL stores(uint32_t *out, uint4 *data, uint32_t n, uint32_t part) {
  char *to = reinterpret_cast<char *>(data) + uint64_t(blockIdx.x) * part + threadIdx.x * 16;
  uint32_t size = blockDim.x * 16;
  Timer timer;
  for (uint32_t r = 0; r < n; ++r)
    asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(to + uint64_t(r * size % part)),
                 "r"(n)
                 : "memory");
  timer.stop(out, n);
}

/// The lanes of a warp store four bytes each, `stride` bytes apart: one to 32 lines.
KERNEL scattered_stores(uint32_t *out, char *data, uint32_t n, uint32_t stride) {
  char *to = data + uint64_t(threadIdx.x) * stride;
  Timer timer;
  for (uint32_t r = 0; r < n; ++r)
#pragma unroll
    for (int i = 0; i < 8; ++i)
      asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(to), "r"(n) : "memory");
  timer.stop(out, n * 8);
}

// --- barriers and clusters

KERNEL barriers(uint32_t *out, const uint32_t *data, uint32_t n) {
  __syncthreads();
  Timer timer;
  for (uint32_t r = 0; r < n; ++r)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      __syncthreads();
  timer.stop(out, n * 4);
}

CLUSTER cluster_barriers(uint32_t *out, const uint32_t *data, uint32_t n) {
  Timer timer;
  for (uint32_t r = 0; r < n; ++r)
    clusterBarrier();
  timer.stop(out, n);
}

/// Eight bytes of each lane from the shared memory of the other CTA.
CLUSTER remote_reads(uint32_t *out, const uint32_t *data, uint32_t n) {
  uint32_t from = fillShared(2048, data[0]) + threadIdx.x * 8, rank, sum = 0;
  clusterBarrier();
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(from) : "r"(rank ^ 1));
  Timer timer;
  for (uint32_t r = 0; r < n; ++r) {
    uint32_t to[16];
#pragma unroll
    for (int i = 0; i < 8; ++i)
      asm volatile("ld.volatile.shared::cluster.v2.u32 {%0,%1}, [%2];"
                   : "=r"(to[2 * i]), "=r"(to[2 * i + 1])
                   : "r"(from));
    for (int i = 0; i < 16; ++i)
      sum += to[i];
  }
  timer.stop(out, n * 8, sum == 1);
  clusterBarrier();
}

// --- pipes: an instruction on its own result, and eight of them side by side

#define PIPE(NAME, TEXT)                                                                           \
  KERNEL NAME##_chain(uint32_t *out, const uint32_t *data, uint32_t n) {                           \
    uint32_t value = data[threadIdx.x & 7], other = data[1];                                       \
    Timer timer;                                                                                   \
    for (uint32_t r = 0; r < n; ++r)                                                               \
      _Pragma("unroll") for (int i = 0; i < 8; ++i) asm volatile(TEXT : "+r"(value) : "r"(other)); \
    timer.stop(out, n * 8, value + other == 12345);                                                \
  }                                                                                                \
  KERNEL NAME##_rate(uint32_t *out, const uint32_t *data, uint32_t n) {                            \
    uint32_t values[8], other = data[1], sum = 0;                                                  \
    for (int i = 0; i < 8; ++i)                                                                    \
      values[i] = data[(threadIdx.x + i) & 15];                                                    \
    __syncthreads();                                                                               \
    Timer timer;                                                                                   \
    for (uint32_t r = 0; r < n; ++r)                                                               \
      _Pragma("unroll") for (int i = 0; i < 16;                                                    \
                             ++i) asm volatile(TEXT : "+r"(values[i & 7]) : "r"(other));           \
    timer.stop(out, n * 16);                                                                       \
    for (int i = 0; i < 8; ++i)                                                                    \
      sum += values[i];                                                                            \
    if (sum == 12345)                                                                              \
      out[2] = 1;                                                                                  \
  }

PIPE(ex2, "ex2.approx.ftz.f32 %0, %0;")
PIPE(fma, "fma.rn.f32 %0, %0, %1, %1;")
PIPE(lop, "lop3.b32 %0, %0, %1, %1, 0x96;")
PIPE(imad, "mad.lo.u32 %0, %0, %1, %1;")
PIPE(pack, "cvt.rn.bf16x2.f32 %0, %0, %1;")
PIPE(shuffle, "shfl.sync.up.b32 %0, %0, 1, 0, -1;")
