/* SPDX-License-Identifier: Apache-2.0 */
/* Private to checkpoint_*.c: what writing and reading share. */
#ifndef AGENT_CHECKPOINT_PRIVATE_H
#define AGENT_CHECKPOINT_PRIVATE_H

#include <dirent.h>
#include <sys/types.h>

#include "agent/checkpoint_fence.h"
#include "agent/manifest.h"

#define CHECKPOINT_PREFIX "checkpoint-"
#define CHECKPOINT_NEW                                                                             \
    ".new-" /* being written; the writer holds a lock on it, where there are locks */
#define CHECKPOINT_OLD ".old-" /* being removed */

/* Bytes that are read at once. */
enum { CHECKPOINT_PIECE = 1 << 20 };

struct pollux_checkpoint {
    char *directory, *path; /* owned: the directory of all checkpoints; this one's folder */
    int parent, folder;     /* descriptors of the two; -1: not open */
    int64_t number;         /* 0: being written */
    bool writing;           /* not committed: closing removes the folder */
    pid_t pid;              /* the process that writes it */
    struct fence fence;     /* of the writer */
    struct manifest manifest;
};

/* An object that has only the directory set; NULL: no memory. */
struct pollux_checkpoint *checkpoint_new (const char *directory);

/* Set path to directory/name. */
int checkpoint_set_path (struct pollux_checkpoint *checkpoint, const char *name,
                         struct pollux_error *err);

/* The N of a name "checkpoint-N"; 0 for any other name. */
int64_t checkpoint_number (const char *name);

/* Open a folder for listing.  NULL on failure, with errno. */
DIR *checkpoint_folder (int parent, const char *name);

/* The next name in a folder, without "." and ".."; NULL at the end. */
const char *checkpoint_next (DIR *folder);

/* Numbers of the checkpoints in a directory, largest first.  The caller frees them. */
int checkpoint_list (int parent, int64_t **ret, size_t *ret_count, struct pollux_error *err);

/* Read a regular file in a folder to its end; its size and checksum.  If ret is not NULL, the content
 * is copied to it: *size must be set to the size of ret, and a longer file is refused (-EBADMSG). */
int checkpoint_sum (int folder, const char *name, enum checksum_algorithm algorithm, int64_t *size,
                    uint64_t *ret_checksum, void *ret, struct pollux_error *err);

#endif
