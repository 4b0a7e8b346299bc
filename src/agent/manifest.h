/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of a checkpoint's files, as text.  Version 2:
 *
 *     pollux-checkpoint 2
 *     checksum xxh3-64
 *     file 8c5a2f0e7d114b93 4096 weights
 *     file 02f7a4c19be0d385 152 pollux-agent
 *     end 2 5f0c9b7e31a2d846
 *
 * A line "file" has checksum, size in bytes and name.  The line "end" has the number of files and a
 * checksum of all text before it on that line and above.  Both checksums use the algorithm that is
 * named.  Every list has exactly one form: a text that differs from it in one byte is refused.
 *
 * Version 1, which is only read, has no line "checksum": its files use CHECKSUM_VERSION1, and the
 * list itself FNV-1a (base/bytes.h).
 */
#ifndef AGENT_MANIFEST_H
#define AGENT_MANIFEST_H

#include "agent/checksum.h"
#include "pollux/pollux.h"

#define MANIFEST_NAME "MANIFEST"

enum { MANIFEST_NAME_LIMIT = 128 };

/* 65536 lines of at most 128 + 42 bytes are less than 16 MiB. */
#define MANIFEST_LIMIT ((size_t)16 << 20)

struct manifest_file {
    char name[MANIFEST_NAME_LIMIT + 1];
    int64_t size;
    uint64_t checksum;
};

/* A zeroed manifest is empty and of version 2.  It owns files (manifest_free). */
struct manifest {
    enum checksum_algorithm algorithm; /* of the files' checksums */
    struct manifest_file *files;
    size_t count, capacity;
};

void manifest_free (struct manifest *manifest);

/* True if a file of a checkpoint may have this name. */
bool manifest_is_name (const char *name);

/* Add a file with a legal name, or replace its entry.  -ENOMEM; -E2BIG: too many files. */
int manifest_set (struct manifest *manifest, const char *name, int64_t size, uint64_t checksum,
                  struct pollux_error *err);

/* The entry of a file; NULL: the file is not listed. */
const struct manifest_file *manifest_find (const struct manifest *manifest, const char *name);

/* As text of version 2, which the caller frees.  -EINVAL: the algorithm is CHECKSUM_VERSION1. */
int manifest_encode (const struct manifest *manifest, char **ret, size_t *ret_length,
                     struct pollux_error *err);

/* Read a text of version 1 or 2.  Accepts any bytes: -EBADMSG says what is wrong with them.
 * On success the caller owns *ret (manifest_free). */
int manifest_parse (const char *text, size_t length, struct manifest *ret,
                    struct pollux_error *err);

#endif
