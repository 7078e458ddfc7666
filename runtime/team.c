/*===- team.c - whose threads a call runs on ------------------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "runtime.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

/* What has been set for all calls. Both fields change together: the version is odd meanwhile, and
 * whoever read under another version reads again. */
static _Atomic unsigned version;
static _Atomic(polyattn_parallel_for) common_for;
static _Atomic(void *) common_user;

void polyattn_rt_set_parallel_for(polyattn_parallel_for parallel_for, void *user) {
  unsigned before = atomic_load(&version);
  do
    before &= ~1u;
  while (!atomic_compare_exchange_weak(&version, &before, before + 1));
  atomic_store(&common_for, parallel_for);
  atomic_store(&common_user, user);
  atomic_store(&version, before + 2);
}

static void read_common(polyattn_rt_team *team) {
  unsigned before;
  do {
    before = atomic_load(&version);
    team->parallel_for = atomic_load(&common_for);
    team->user = atomic_load(&common_user);
  } while ((before & 1) != 0 || atomic_load(&version) != before);
}

polyattn_rt_team polyattn_rt_team_of(int threads) {
  polyattn_rt_team team = {threads, NULL, NULL, NULL};
  read_common(&team);
  return team;
}

int polyattn_rt_can_be_cancelled(const polyattn_call_options *options) {
  return options->struct_size >= offsetof(polyattn_call_options, cancelled_user) + sizeof(void *) &&
         options->is_cancelled;
}

int polyattn_rt_read_options(const polyattn_call_options *options, polyattn_rt_team *team,
                             char *error, size_t error_size) {
  if (!options || options->struct_size < offsetof(polyattn_call_options, user) + sizeof(void *)) {
    snprintf(error, error ? error_size : 0,
             options ? "options: struct_size is not that of any version; start from "
                       "POLYATTN_CALL_OPTIONS_INIT"
                     : "options is null");
    return 1;
  }
  *team = polyattn_rt_team_of(options->threads);
  if (options->parallel_for) {
    team->parallel_for = options->parallel_for;
    team->user = options->user;
  }
  return 0;
}
