/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints that are whole or not there, and positions in the data that survive resizing.
 *
 *     DIR/checkpoint-12/            a checkpoint: its files, and
 *         MANIFEST                  their names, sizes and checksums
 *     DIR/.new-XXXXXX/              one that is being written
 *
 * A checkpoint gets its name when all of it is on the disk, so whoever dies while writing leaves
 * the one before as the newest.  Readers trust nothing but checksums: one that was damaged later is
 * passed over, and they say so.  One replica writes; any number of replicas may read.
 */
#ifndef POLLUX_CHECKPOINT_H
#define POLLUX_CHECKPOINT_H

#include <pollux/pollux.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- Writing ---------------------------------------------------------------------------- */

/* A checkpoint that is being written, or one that is read. */
struct pollux_checkpoint;

/* 2^16 files of one checkpoint: a manifest stays below 16 MiB. */
#define POLLUX_CHECKPOINT_FILES (1 << 16)

/* Begin one in a directory, which is made if it is missing (its parent must be there).  *ret is the
 * caller's: pollux_checkpoint_commit and, in any case, pollux_checkpoint_close. */
int pollux_checkpoint_begin (const char *directory, struct pollux_checkpoint **ret,
                             struct pollux_error *err);

/* Add a file; the name is 1 to 128 of A-Z a-z 0-9 . _ - and does not start with a dot. */
int pollux_checkpoint_write (struct pollux_checkpoint *checkpoint, const char *name,
                             const void *data, size_t size, struct pollux_error *err);

/* The folder to write files to by other means before the commit, under such names; or to read them
 * from. */
const char *pollux_checkpoint_path (const struct pollux_checkpoint *checkpoint);

/* Make it durable and the newest, then remove all but the `keep` newest (at least 1).  On failure,
 * a full disk say, the ones before are as they were.  Blocks until the disk has it all. */
int pollux_checkpoint_commit (struct pollux_checkpoint *checkpoint, int keep,
                              struct pollux_error *err);

/* Frees it; what was not committed is removed.  Takes NULL too. */
void pollux_checkpoint_close (struct pollux_checkpoint *checkpoint);

/* ---- Reading ---------------------------------------------------------------------------- */

/* The newest whole one.  note, which may be NULL, gets a sentence on newer ones that are damaged,
 * "" if none is.  *ret is the caller's (pollux_checkpoint_close).
 * -ENOENT: there is none, so training begins; -EBADMSG: all are damaged, err names the newest. */
int pollux_checkpoint_open (const char *directory, struct pollux_checkpoint **ret,
                            struct pollux_error *note, struct pollux_error *err);

/* The number in its name; 0 for one that is not committed yet. */
int64_t pollux_checkpoint_number (const struct pollux_checkpoint *checkpoint);

/* Bytes of a file; -ENOENT. */
int64_t pollux_checkpoint_size (const struct pollux_checkpoint *checkpoint, const char *name);

/* A whole file of exactly `size` bytes, its checksum looked at again.  -ENOENT, -EINVAL for
 * another size, -EBADMSG if it has been damaged since. */
int pollux_checkpoint_read (const struct pollux_checkpoint *checkpoint, const char *name, void *ret,
                            size_t size, struct pollux_error *err);

/* ---- The position in the data ----------------------------------------------------------- */

/* A dataset is passed over again and again, each time in another order that depends on seed and
 * pass alone and takes no memory.  Passes follow each other without a gap: an update that a pass
 * has too few samples for takes the rest from the next one.  So every sample is seen exactly once
 * per pass, whatever the batches and replicas were, and every update is full.
 *
 * An open value: four integers are all there is to save. */
struct pollux_sampler {
    uint64_t seed;
    int64_t length;       /* samples in the dataset, 1 to POLLUX_BATCH_LIMIT */
    int64_t pass, offset; /* of the next sample: 0 <= offset < length */
};

/* The index, 0 to length-1, at a position of a pass; the same on every machine and in every
 * version.  -1 outside of 0 <= position < length <= POLLUX_BATCH_LIMIT, pass >= 0. */
int64_t pollux_sampler_index (uint64_t seed, int64_t length, int64_t pass, int64_t position);

/* The m indices of one replica's micro-step, 0 to batch.s, in the coming update.  Replicas of one
 * update get distinct positions, all together the next M ones.  -EINVAL for what cannot be. */
int pollux_sampler_take (const struct pollux_sampler *sampler, int replicas, int rank,
                         struct pollux_batch batch, int64_t micro_step, int64_t *ret,
                         struct pollux_error *err);

/* The update is made, or skipped: go on by M samples.  Returns how many passes began with it,
 * or have begun within it: more than 0 is the moment for pollux_agent_pass_begin.  -EINVAL. */
int64_t pollux_sampler_advance (struct pollux_sampler *sampler, int replicas,
                                struct pollux_batch batch, struct pollux_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
