/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fencing: a replica that the scheduler gave up, but that still lives and writes, cannot publish a checkpoint
 * once a newer generation of its job has opened the directory.  It may have been suspended between any two
 * system calls.  There are no locks and no clocks, only names and rename(2).
 *
 *     DIR/.generation-JOB-7           a fence: generation 7 has opened the directory
 *     DIR/.new-JOB-6-RANDOM/          a checkpoint that generation 6 writes
 *
 * JOB is a hash of the job's identity, so that another job in the same directory is not concerned.
 *
 *     a writer of generation 6                        generation 7 opens the directory
 *     1  make .new-JOB-6-RANDOM                       1  make .generation-JOB-7
 *     2  look for fences above 6; if any, fail        2  rename all .new-JOB-1..6-* to .old-*
 *     3  write all files                              3  look for the newest checkpoint
 *     4  rename .new-JOB-6-RANDOM to checkpoint-N
 *
 * If writer 2 comes after opener 1, the writer fails.  Otherwise its folder existed before opener 1, and
 * opener 2 sees it: either it is renamed, and writer 4 fails because there is no such folder; or writer 4 was
 * faster, and opener 3 sees the checkpoint.  So after opener 2 no checkpoint of an older generation appears.
 *
 * The newest fences are kept, not only the last one: a listing of a directory may miss an entry that is
 * removed meanwhile, but not all of them.
 */
#ifndef AGENT_CHECKPOINT_FENCE_H
#define AGENT_CHECKPOINT_FENCE_H

#include "pollux/pollux.h"

struct fence {
    uint64_t job;
    int generation; /* 0: not under a scheduler; then nothing is fenced */
};

enum { FENCE_NAME_SIZE = 80 };

/* By POLLUX_GENERATION and POLLUX_JOB_ID (or POLLUX_JOB).  -EINVAL: POLLUX_GENERATION is no number. */
int fence_read (struct fence *ret, struct pollux_error *err);

/* Does this generation fence a directory that it only reads?  It does if the directory is
 * POLLUX_CHECKPOINT_DIR or below it, or has a fence of this job already.  Then a missing directory is made, so
 * that it has a fence. */
bool fence_covers (const struct fence *fence, const char *directory);

/* Steps 1 and 2 of an opener, then check that no newer generation has opened the directory.
 * -ESTALE: one has; other errors: there is no fence now. */
int fence_raise (const struct fence *fence, int directory, struct pollux_error *err);

/* Step 2 of a writer.  -ESTALE: a newer generation has opened the directory. */
int fence_check (const struct fence *fence, int directory, struct pollux_error *err);

/* A new name for step 1 of a writer. */
int fence_name_new (const struct fence *fence, char ret[FENCE_NAME_SIZE], struct pollux_error *err);

/* May a writer remove the folder `.new-*` of this name, if its writer is dead?  Not if it belongs to another
 * job or to a newer generation. */
bool fence_may_remove (const struct fence *fence, const char *name);

#endif
