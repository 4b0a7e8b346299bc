/* SPDX-License-Identifier: Apache-2.0 */
/* The files through which pollux doctor and its job on a node talk; see doctor_node.c. */
#ifndef CLI_DOCTOR_PROBE_H
#define CLI_DOCTOR_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "pollux/pollux.h"

enum {
    PROBE_TEXT_SIZE = 4096,
    PROBE_FAILED = 43 /* exit code: it cannot read or write the files */
};

/* Seconds until a file of the other side must be seen: NFS keeps a directory for up to a minute. */
#define PROBE_FILE_S 75.0

/* Read a file, through a new descriptor of its directory so that NFS asks its server. */
bool probe_read (const char *directory, const char *name, char ret[PROBE_TEXT_SIZE]);

/* Write lines "KEY = VALUE" to a file, atomically. */
int probe_write (const char *directory, const char *name, struct pollux_error *err,
                 const char *format, ...) __attribute__ ((format (printf, 4, 5)));

/* A number of such a file; -1: it is not there. */
int64_t probe_number (const char *text, const char *key);

#endif
