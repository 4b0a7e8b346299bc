/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints that are complete or absent, and positions in the data that survive a resize.
 *
 *     DIR/checkpoint-12/            a checkpoint: its files, and
 *         MANIFEST                  their names, sizes and checksums
 *     DIR/.new-XXXXXX/              a checkpoint that is being written
 *
 * A checkpoint gets its name when all of it is on the disk: if the writer dies, the previous one
 * stays the newest.  Readers verify checksums: they skip a damaged checkpoint and report it.  One
 * replica writes; any number of replicas may read.
 *
 * Under polluxd (POLLUX_GENERATION is set) a replica that was given up but still runs cannot disturb: once a
 * newer generation of its job has opened the directory to read or to write, older ones can publish no
 * checkpoint and remove none of the newer ones; begin, commit and open then fail with -ESTALE.  This needs an
 * atomic rename, no locks, and works across hosts.  For directories that are only read it holds for
 * POLLUX_CHECKPOINT_DIR and below.
 */
#ifndef POLLUX_CHECKPOINT_H
#define POLLUX_CHECKPOINT_H

#include <pollux/pollux.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- Writing ---------------------------------------------------------------------------- */

/* A checkpoint that is being written or read. */
struct pollux_checkpoint;

/* 2^16 files per checkpoint: the manifest stays below 16 MiB. */
#define POLLUX_CHECKPOINT_FILES (1 << 16)

/* Begin a checkpoint in a directory, which is created if it is missing (its parent must exist).  The
 * caller owns *ret: call pollux_checkpoint_commit and, in any case, pollux_checkpoint_close. */
int pollux_checkpoint_begin (const char *directory, struct pollux_checkpoint **ret,
                             struct pollux_error *err);

/* Add a file.  Its name has 1 to 128 characters A-Z a-z 0-9 . _ - and does not start with a dot. */
int pollux_checkpoint_write (struct pollux_checkpoint *checkpoint, const char *name,
                             const void *data, size_t size, struct pollux_error *err);

/* The folder of the checkpoint.  Before the commit, files with such names may also be written there
 * directly.  Valid until the commit or close. */
const char *pollux_checkpoint_path (const struct pollux_checkpoint *checkpoint);

/* Write everything to the disk, make this checkpoint the newest, then remove all but the `keep`
 * newest (keep >= 1).  On failure, for example a full disk, earlier checkpoints do not change.
 * Blocks until all is on the disk.  -ESTALE: a newer generation of this job runs; end the program. */
int pollux_checkpoint_commit (struct pollux_checkpoint *checkpoint, int keep,
                              struct pollux_error *err);

/* Free the object; an uncommitted checkpoint is removed.  Accepts NULL. */
void pollux_checkpoint_close (struct pollux_checkpoint *checkpoint);

/* ---- Reading ---------------------------------------------------------------------------- */

/* Open the newest complete checkpoint.  note, which may be NULL, gets a sentence on newer ones that
 * are damaged, or "".  The caller owns *ret (pollux_checkpoint_close).
 * -ENOENT: there is no checkpoint; -EBADMSG: all are damaged, err names the newest; -ESTALE: a newer
 * generation of this job runs. */
int pollux_checkpoint_open (const char *directory, struct pollux_checkpoint **ret,
                            struct pollux_error *note, struct pollux_error *err);

/* The number in its name; 0: not committed yet. */
int64_t pollux_checkpoint_number (const struct pollux_checkpoint *checkpoint);

/* Size of a file in bytes.  -ENOENT. */
int64_t pollux_checkpoint_size (const struct pollux_checkpoint *checkpoint, const char *name);

/* Read a whole file of exactly `size` bytes and verify its checksum again.  -ENOENT; -EINVAL: it has
 * another size; -EBADMSG: it was damaged after pollux_checkpoint_open. */
int pollux_checkpoint_read (const struct pollux_checkpoint *checkpoint, const char *name, void *ret,
                            size_t size, struct pollux_error *err);

/* ---- The position in the data ----------------------------------------------------------- */

/* Each pass over the dataset has its own order, which depends only on seed and pass and takes no
 * memory.  Passes follow each other without a gap: if too few samples are left for an update, it
 * takes the rest from the next pass.  So every sample is seen exactly once per pass, for any batches
 * and numbers of replicas, and every update is full.
 *
 * Save these four integers with a checkpoint. */
struct pollux_sampler {
    uint64_t seed;
    int64_t length;       /* samples in the dataset, 1 to POLLUX_BATCH_LIMIT */
    int64_t pass, offset; /* position of the next sample: 0 <= offset < length */
};

/* The sample index, 0 to length-1, at a position of a pass; the same on every machine and in every
 * version.  -1 unless 0 <= position < length <= POLLUX_BATCH_LIMIT and pass >= 0. */
int64_t pollux_sampler_index (uint64_t seed, int64_t length, int64_t pass, int64_t position);

/* The m sample indices for one replica and one micro-step (0 to batch.s) of the next update.  All
 * replicas and micro-steps together get the next M positions, each once.  -EINVAL for illegal
 * arguments. */
int pollux_sampler_take (const struct pollux_sampler *sampler, int replicas, int rank,
                         struct pollux_batch batch, int64_t micro_step, int64_t *ret,
                         struct pollux_error *err);

/* After an update, also a skipped one: advance by M samples.  Returns the number of passes that
 * began; if it is above 0, call pollux_agent_pass_begin.  -EINVAL. */
int64_t pollux_sampler_advance (struct pollux_sampler *sampler, int replicas,
                                struct pollux_batch batch, struct pollux_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
