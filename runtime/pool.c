/*===- pool.c - the threads that run program instances -----------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* One pool per copy of the runtime. A call is a *job* on the caller's stack; idle workers join
 * jobs that still want threads. The caller works on its own job and, at the end, waits only
 * for workers that have joined it. So no call ever waits for a thread to become free,
 * and a child process after fork, which has no workers, still computes.
 *
 * An application's own threads join in the same way: each task of its parallel loop takes
 * chunks until none is left, so a task that starts late finds less to do, or nothing.
 *
 * Each thread begins with a share of the programs that is its own, the same one in every call, and
 * then helps with those of others: what a program has left in a core's caches, a state that is
 * decoded in place for one, is found there again by the next call. */
#include "cancel.h"
#include "runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define MAX_WORKERS 1023
#define MAX_SHARES 32

/* Programs that one thread takes first. */
typedef struct share {
  _Alignas(64) _Atomic int64_t next; /* the first program that nobody has taken */
  int64_t end;
} share;

typedef struct job {
  polyattn_rt_range function;
  void *context;
  int64_t count;
  int64_t threads;
  int64_t scratch_bytes;
  share *shares;
  int64_t num_shares;
  polyattn_rt_cancellation *cancellation;
  _Atomic int working; /* workers that have joined and not yet left */
  int wanted;          /* workers that may still join; under the mutex */
  pthread_t caller;
  void *scratch;         /* the caller's */
  struct job *following; /* under the mutex */
} job;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_arrived = PTHREAD_COND_INITIALIZER;
static pthread_cond_t worker_left = PTHREAD_COND_INITIALIZER;
static pthread_once_t fork_handler = PTHREAD_ONCE_INIT;
static job *jobs;               /* jobs that may still want workers */
static _Atomic unsigned posted; /* counts posted jobs: what idle workers watch */
static int sleeping;            /* workers inside pthread_cond_wait */
static int watching;            /* workers that wait without sleeping; under the mutex */
static int last_threads;        /* of the last job; under the mutex */
static _Atomic int processors;  /* what this process may use, when a worker last looked */
static int num_workers;
static bool stopping;
static pthread_t workers[MAX_WORKERS];

/* Takes a share's next chunk, one of `parts` of what is left, and `most` programs at most. */
static bool take_of(share *from, int64_t parts, int64_t most, int64_t *begin, int64_t *end) {
  int64_t next = atomic_load_explicit(&from->next, memory_order_relaxed);
  while (next < from->end) {
    int64_t piece = (from->end - next) / parts;
    piece = piece < most ? piece : most;
    *end = next + (piece > 1 ? piece : 1);
    if (atomic_compare_exchange_weak_explicit(&from->next, &next, *end, memory_order_relaxed,
                                              memory_order_relaxed)) {
      *begin = next;
      return true;
    }
  }
  return false;
}

/* Takes the next chunk for thread `thread`: of its own share, then of those after it. Any number
 * will do, an application's loop may give its tasks what it likes. A chunk is half of an equal part
 * of what is left for the threads whose share it is, so that chunks are few and the last ones are
 * small. One thread alone takes all: compiled code may prepare something per chunk. */
static bool take(job *work, int64_t thread, int64_t most, int64_t *begin, int64_t *end) {
  int64_t threads = (work->threads + work->num_shares - 1) / work->num_shares;
  int64_t parts = work->threads == 1 ? 1 : 2 * threads;
  int64_t own = (int64_t)((uint64_t)thread % (uint64_t)work->num_shares);
  for (int64_t i = 0; i < work->num_shares; ++i)
    if (take_of(&work->shares[(own + i) % work->num_shares], parts, most, begin, end))
      return true;
  return false;
}

static bool has_programs(job *work) {
  for (int64_t i = 0; i < work->num_shares; ++i)
    if (atomic_load_explicit(&work->shares[i].next, memory_order_relaxed) < work->shares[i].end)
      return true;
  return false;
}

/* As equal shares as there are. */
static void divide(job *work, int64_t num_shares) {
  work->num_shares = num_shares;
  int64_t each = work->count / work->num_shares, more = work->count % work->num_shares, next = 0;
  for (int64_t i = 0; i < work->num_shares; ++i) {
    atomic_init(&work->shares[i].next, next);
    work->shares[i].end = next += each + (i < more);
  }
}

/* Runs chunks until none is left or the call has been cancelled, as thread `thread` of the job.
 * What has been taken is run: in a chain other programs may be waiting for it. */
static void run_chunks(job *work, int64_t thread, void *scratch) {
  polyattn_rt_pace pace = polyattn_rt_pace_of(work->cancellation);
  int64_t most, begin, end;
  while ((most = polyattn_rt_next_chunk(&pace)) > 0 && take(work, thread, most, &begin, &end))
    work->function(work->context, begin, end, scratch);
}

/* The same with scratch of the calling thread's. */
static int work_on(job *work, int64_t thread) {
  polyattn_rt_buffer scratch;
  if (polyattn_rt_scratch_acquire(work->scratch_bytes, &scratch) != 0)
    return 1;
  run_chunks(work, thread, scratch.data);
  polyattn_rt_scratch_release(scratch);
  return 0;
}

/* A job that wants a worker and has programs left; called with the mutex held. */
static job *join_job(void) {
  for (job *work = jobs; work; work = work->following) {
    if (work->wanted == 0 || !has_programs(work))
      continue;
    --work->wanted;
    atomic_fetch_add_explicit(&work->working, 1, memory_order_relaxed);
    return work;
  }
  return NULL;
}

static int was_posted(const void *seen) {
  return atomic_load_explicit(&posted, memory_order_acquire) != *(const unsigned *)seen;
}

/* Returns when there may be a job; called with the mutex held. */
static void wait_for_job(void) {
  unsigned seen = atomic_load_explicit(&posted, memory_order_relaxed);
  /* More threads than processors: whoever spins takes the time of one that has work. */
  bool fits = last_threads <= atomic_load_explicit(&processors, memory_order_relaxed);
  if (fits) {
    ++watching;
    pthread_mutex_unlock(&mutex);
    (void)polyattn_rt_wait_awake(was_posted, &seen);
    pthread_mutex_lock(&mutex);
    --watching;
  }
  while (!stopping && !was_posted(&seen)) {
    ++sleeping;
    pthread_cond_wait(&job_arrived, &mutex);
    --sleeping;
  }
}

/* The worker's number counts from 1: the caller is thread 0 of its job. */
static void *worker_main(void *number) {
  pthread_mutex_lock(&mutex);
  while (!stopping) {
    job *work = join_job();
    if (!work) {
      wait_for_job();
      continue;
    }
    pthread_mutex_unlock(&mutex);
    /* Without memory for scratch this worker leaves; the caller does the work. */
    (void)work_on(work, (int64_t)(intptr_t)number);
    /* The job may be gone after this: it lies on the caller's stack. */
    bool last = atomic_fetch_sub_explicit(&work->working, 1, memory_order_acq_rel) == 1;
    atomic_store_explicit(&processors, polyattn_rt_processors(), memory_order_relaxed);
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
  watching = 0;
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
    if (pthread_create(&workers[num_workers], NULL, worker_main,
                       (void *)(intptr_t)(num_workers + 1)) != 0)
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
  if (num_workers == 0)
    atomic_store_explicit(&processors, polyattn_rt_processors(), memory_order_relaxed);
  grow(work->wanted);
  last_threads = (int)work->threads;
  work->following = jobs;
  jobs = work;
  atomic_fetch_add_explicit(&posted, 1, memory_order_release);
  /* Workers that still watch for work need no signal. */
  int missing = work->wanted - watching;
  for (int i = 0; i < missing && i < sleeping; ++i)
    pthread_cond_signal(&job_arrived);
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

static int has_left(const void *context) {
  return atomic_load_explicit(&((const job *)context)->working, memory_order_acquire) == 0;
}

static void wait_for_workers(job *work) {
  if (has_left(work) || (work->threads <= atomic_load_explicit(&processors, memory_order_relaxed) &&
                         polyattn_rt_wait_awake(has_left, work)))
    return;
  pthread_mutex_lock(&mutex);
  while (!has_left(work))
    pthread_cond_wait(&worker_left, &mutex);
  pthread_mutex_unlock(&mutex);
}

/* Runs chunks on the thread that made the call, with the scratch that it has. */
static void work_as_caller(job *work, int64_t thread) { run_chunks(work, thread, work->scratch); }

/* One of the tasks that an application's parallel loop runs. */
static void run_task(void *context, int64_t index) {
  job *work = context;
  if (pthread_equal(pthread_self(), work->caller))
    work_as_caller(work, index);
  else
    (void)work_on(work, index);
}

static void run_on_workers(job *work) {
  work->wanted = (int)work->threads - 1;
  post(work);
  work_as_caller(work, 0);
  withdraw(work);
  wait_for_workers(work);
}

static int run(polyattn_rt_range function, void *context, int64_t count,
               const polyattn_rt_team *team, int64_t scratch_bytes, int64_t max_shares) {
  if (count <= 0)
    return 0;
  int64_t threads = team->threads < 1                 ? 1
                    : team->threads > MAX_WORKERS + 1 ? MAX_WORKERS + 1
                                                      : team->threads;
  share shares[MAX_SHARES];
  job work = {.function = function,
              .context = context,
              .count = count,
              .threads = threads < count ? threads : count,
              .scratch_bytes = scratch_bytes,
              .shares = shares,
              .cancellation = team->cancellation,
              .caller = pthread_self()};
  /* The caller's own memory first: a job that has been posted must be finished. */
  polyattn_rt_buffer scratch;
  if (polyattn_rt_scratch_acquire(scratch_bytes, &scratch) != 0)
    return 1;
  work.scratch = scratch.data;
  divide(&work, work.threads < max_shares ? work.threads : max_shares);
  if (work.threads == 1) {
    work_as_caller(&work, 0);
  } else if (team->parallel_for) {
    team->parallel_for(team->user, work.threads, run_task, &work);
    /* The chunks that tasks without memory for scratch have not taken. */
    work_as_caller(&work, 0);
  } else {
    run_on_workers(&work);
  }
  polyattn_rt_scratch_release(scratch);
  return polyattn_rt_was_cancelled(team->cancellation) ? POLYATTN_RT_CANCELLED : 0;
}

int polyattn_rt_parallel(polyattn_rt_range function, void *context, int64_t count,
                         const polyattn_rt_team *team, int64_t scratch_bytes) {
  return run(function, context, count, team, scratch_bytes, MAX_SHARES);
}

int polyattn_rt_parallel_in_sequence(polyattn_rt_range function, void *context, int64_t count,
                                     const polyattn_rt_team *team, int64_t scratch_bytes) {
  return run(function, context, count, team, scratch_bytes, 1);
}
