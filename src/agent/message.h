/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_MESSAGE_H
#define AGENT_MESSAGE_H

#include "pollux/pollux.h"

/* Twenty numbers of at most 25 bytes with their names take less than 1 KiB. */
enum { MESSAGE_SIZE = 2048 };

/* A report: version 1 of the hints in docs/formats.md. */
struct message {
    int generation;
    const struct pollux_model *model; /* NULL: not known yet */
    struct pollux_grad grad;          /* used only with a model */
    struct pollux_limits limits;
    int max_profiled_replicas;
    double progress, total; /* total 0: unknown */
    struct pollux_batch batch;
};

/* Write the report as one JSON object in ASCII, independent of the locale.  Returns its length; 0:
 * the report cannot be written (no generation). */
size_t message_write (const struct message *message, char ret[MESSAGE_SIZE]);

#endif
