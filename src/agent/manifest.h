/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of a checkpoint's files:
 *
 *     pollux-checkpoint 1
 *     file 8c5a2f0e7d114b93 4096 weights
 *     file 02f7a4c19be0d385 152 pollux-agent
 *     end 2 5f0c9b7e31a2d846
 *
 * with checksum, size and name of each, and a checksum (base/bytes.h) of all text before the last
 * number.  There is one way to write a list: what differs from it in a byte is refused.
 */
#ifndef AGENT_MANIFEST_H
#define AGENT_MANIFEST_H

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

/* A zeroed one is empty; files are owned (manifest_free). */
struct manifest {
    struct manifest_file *files;
    size_t count, capacity;
};

void manifest_free (struct manifest *manifest);

/* Whether a file of a checkpoint may be called so. */
bool manifest_is_name (const char *name);

/* Add a file with a legal name, or replace what is said of it.  -ENOMEM; -E2BIG: too many. */
int manifest_set (struct manifest *manifest, const char *name, int64_t size, uint64_t checksum,
                  struct pollux_error *err);

/* NULL: there is none. */
const struct manifest_file *manifest_find (const struct manifest *manifest, const char *name);

/* As text, the caller's (free). */
int manifest_encode (const struct manifest *manifest, char **ret, size_t *ret_length,
                     struct pollux_error *err);

/* Any bytes may be offered: -EBADMSG says what is wrong.  On success *ret is the caller's. */
int manifest_parse (const char *text, size_t length, struct manifest *ret,
                    struct pollux_error *err);

#endif
