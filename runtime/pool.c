/*===- pool.c - the threads that run block programs -----------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* One pool per copy of the runtime. A call is a *job* on the caller's stack; idle workers join
 * jobs that still want threads. The caller works on its own job and, at the end, waits only
 * for workers that have joined it. So no call ever waits for a thread to become free,
 * and a child process after fork, which has no workers, still computes. */
#include "runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#define MAX_WORKERS 1023
/* About 10 us on current machines: longer than the gap between two launches of a decoding
 * loop, shorter than what a sleeping colleague would notice. */
#define SPINS 300

typedef struct job {
  polyattn_rt_range function;
  void *context;
  int64_t count;
  int64_t threads;
  int64_t scratch_bytes;
  _Atomic int64_t next;  /* the first program that nobody has taken */
  _Atomic int working;   /* workers that have joined and not yet left */
  int wanted;            /* workers that may still join; under the mutex */
  struct job *following; /* under the mutex */
} job;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_arrived = PTHREAD_COND_INITIALIZER;
static pthread_cond_t worker_left = PTHREAD_COND_INITIALIZER;
static pthread_once_t fork_handler = PTHREAD_ONCE_INIT;
static job *jobs;               /* jobs that may still want workers */
static _Atomic unsigned posted; /* counts posted jobs: what idle workers watch */
static int sleeping;            /* workers inside pthread_cond_wait */
static int num_workers;
static bool stopping;
static pthread_t workers[MAX_WORKERS];

static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Takes the next piece: half of an equal share of what is left, so that pieces are few and
 * the last ones are small. */
static bool take(job *work, int64_t *begin, int64_t *end) {
  int64_t next = atomic_load_explicit(&work->next, memory_order_relaxed);
  while (next < work->count) {
    int64_t piece = (work->count - next) / (2 * work->threads);
    *end = next + (piece > 1 ? piece : 1);
    if (atomic_compare_exchange_weak_explicit(&work->next, &next, *end, memory_order_relaxed,
                                              memory_order_relaxed)) {
      *begin = next;
      return true;
    }
  }
  return false;
}

/* Runs pieces until none is left. */
static int work_on(job *work) {
  polyattn_rt_buffer scratch;
  if (polyattn_rt_scratch_acquire(work->scratch_bytes, &scratch) != 0)
    return 1;
  int64_t begin, end;
  while (take(work, &begin, &end))
    work->function(work->context, begin, end, scratch.data);
  polyattn_rt_scratch_release(scratch);
  return 0;
}

/* A job that wants a worker and has programs left; called with the mutex held. */
static job *join_job(void) {
  for (job *work = jobs; work; work = work->following) {
    if (work->wanted == 0 || atomic_load_explicit(&work->next, memory_order_relaxed) >= work->count)
      continue;
    --work->wanted;
    atomic_fetch_add_explicit(&work->working, 1, memory_order_relaxed);
    return work;
  }
  return NULL;
}

static void *worker_main(void *unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  while (!stopping) {
    job *work = join_job();
    if (!work) {
      unsigned seen = atomic_load_explicit(&posted, memory_order_relaxed);
      pthread_mutex_unlock(&mutex);
      for (int i = 0; i < SPINS; ++i) {
        if (atomic_load_explicit(&posted, memory_order_acquire) != seen)
          break;
        relax();
      }
      pthread_mutex_lock(&mutex);
      while (!stopping && atomic_load_explicit(&posted, memory_order_relaxed) == seen) {
        ++sleeping;
        pthread_cond_wait(&job_arrived, &mutex);
        --sleeping;
      }
      continue;
    }
    pthread_mutex_unlock(&mutex);
    /* Without memory for scratch this worker leaves; the caller does the work. */
    (void)work_on(work);
    /* The job may be gone after this: it lies on the caller's stack. */
    bool last = atomic_fetch_sub_explicit(&work->working, 1, memory_order_acq_rel) == 1;
    pthread_mutex_lock(&mutex);
    if (last)
      pthread_cond_broadcast(&worker_left);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void lock_for_fork(void) { pthread_mutex_lock(&mutex); }
static void unlock_parent(void) { pthread_mutex_unlock(&mutex); }
static void reset_child(void) {
  /* The workers and their jobs stayed in the parent. */
  jobs = NULL;
  sleeping = 0;
  num_workers = 0;
  pthread_cond_init(&job_arrived, NULL);
  pthread_cond_init(&worker_left, NULL);
  pthread_mutex_unlock(&mutex);
}
static void install_fork_handler(void) {
  (void)pthread_atfork(lock_for_fork, unlock_parent, reset_child);
}

/* Starts workers up to `wanted`; where the system refuses, fewer must do. Mutex held. */
static void grow(int wanted) {
  while (num_workers < wanted && num_workers < MAX_WORKERS && !stopping) {
    if (pthread_create(&workers[num_workers], NULL, worker_main, NULL) != 0)
      return;
    ++num_workers;
  }
}

/* An unloaded library must not leave threads in its code. */
__attribute__((destructor)) static void stop_workers(void) {
  pthread_mutex_lock(&mutex);
  stopping = true;
  atomic_fetch_add_explicit(&posted, 1, memory_order_release);
  int count = num_workers;
  num_workers = 0;
  pthread_cond_broadcast(&job_arrived);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < count; ++i)
    if (!pthread_equal(workers[i], pthread_self()))
      pthread_join(workers[i], NULL);
}

static void post(job *work) {
  pthread_once(&fork_handler, install_fork_handler);
  pthread_mutex_lock(&mutex);
  grow(work->wanted);
  work->following = jobs;
  jobs = work;
  atomic_fetch_add_explicit(&posted, 1, memory_order_release);
  if (sleeping > 0) {
    if (work->wanted == 1)
      pthread_cond_signal(&job_arrived);
    else
      pthread_cond_broadcast(&job_arrived);
  }
  pthread_mutex_unlock(&mutex);
}

/* No worker can join any more once the job is off the list. */
static void withdraw(job *work) {
  pthread_mutex_lock(&mutex);
  job **link = &jobs;
  while (*link && *link != work)
    link = &(*link)->following;
  if (*link)
    *link = work->following;
  pthread_mutex_unlock(&mutex);
}

static void wait_for_workers(job *work) {
  for (int i = 0; i < SPINS; ++i) {
    if (atomic_load_explicit(&work->working, memory_order_acquire) == 0)
      return;
    relax();
  }
  pthread_mutex_lock(&mutex);
  while (atomic_load_explicit(&work->working, memory_order_acquire) != 0)
    pthread_cond_wait(&worker_left, &mutex);
  pthread_mutex_unlock(&mutex);
}

int polyattn_rt_parallel(polyattn_rt_range function, void *context, int64_t count, int threads,
                         int64_t scratch_bytes) {
  if (count <= 0)
    return 0;
  job work = {.function = function,
              .context = context,
              .count = count,
              .threads = threads < 1                 ? 1
                         : threads > MAX_WORKERS + 1 ? MAX_WORKERS + 1
                                                     : threads,
              .scratch_bytes = scratch_bytes};
  if (work.threads > count)
    work.threads = count;
  if (work.threads == 1) {
    /* One piece: compiled code may prepare something per call. */
    polyattn_rt_buffer scratch;
    if (polyattn_rt_scratch_acquire(scratch_bytes, &scratch) != 0)
      return 1;
    function(context, 0, count, scratch.data);
    polyattn_rt_scratch_release(scratch);
    return 0;
  }
  work.wanted = (int)work.threads - 1;
  /* The caller's own memory first: a job that has been posted must be finished. */
  polyattn_rt_buffer scratch;
  if (polyattn_rt_scratch_acquire(scratch_bytes, &scratch) != 0)
    return 1;
  post(&work);
  int64_t begin, end;
  while (take(&work, &begin, &end))
    function(context, begin, end, scratch.data);
  polyattn_rt_scratch_release(scratch);
  withdraw(&work);
  wait_for_workers(&work);
  return 0;
}
