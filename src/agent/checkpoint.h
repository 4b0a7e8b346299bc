/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints from inside: what writing and reading share. */
#ifndef AGENT_CHECKPOINT_H
#define AGENT_CHECKPOINT_H

#include <dirent.h>
#include <sys/types.h>

#include "agent/manifest.h"

#define CHECKPOINT_PREFIX "checkpoint-"
#define CHECKPOINT_NEW ".new-" /* being written; locked as long as the writer lives */
#define CHECKPOINT_OLD ".old-" /* being removed */

/* Pieces in which files are read. */
enum { CHECKPOINT_PIECE = 1 << 20 };

struct pollux_checkpoint {
    char *directory, *path; /* owned: of all checkpoints, and its own folder */
    int parent, folder;     /* descriptors of the two; -1: none */
    int64_t number;         /* 0: being written */
    bool writing;           /* not committed: removed when closed */
    pid_t pid;              /* by this process */
    struct manifest manifest;
};

/* An object with nothing in it but the directory; NULL: no memory. */
struct pollux_checkpoint *checkpoint_new (const char *directory);

/* Set path to directory/name. */
int checkpoint_set_path (struct pollux_checkpoint *checkpoint, const char *name,
                         struct pollux_error *err);

/* The number of a name "checkpoint-N", 0 if it is none. */
int64_t checkpoint_number (const char *name);

/* A folder in a directory, to be listed; NULL, and errno: it cannot be opened.  The next name in it
 * but for "." and ".."; NULL at the end. */
DIR *checkpoint_folder (int parent, const char *name);
const char *checkpoint_next (DIR *folder);

/* Numbers of the checkpoints in a directory, largest first; the caller's (free). */
int checkpoint_list (int parent, int64_t **ret, size_t *ret_count, struct pollux_error *err);

/* Checksum and size of a regular file in a folder, read to its end; and into ret, if that is not
 * NULL, where exactly *size bytes are expected. */
int checkpoint_sum (int folder, const char *name, int64_t *size, uint64_t *ret_checksum, void *ret,
                    struct pollux_error *err);

#endif
