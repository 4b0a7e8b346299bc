/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_MESSAGE_H
#define AGENT_MESSAGE_H

#include "agent/type_profile.h"

/* Twelve numbers of at most 25 bytes with their names, and nine with a name of 63 bytes for each type, take less
 * than 5 KiB. */
enum { MESSAGE_SIZE = 8192 };

/* A report: version 1 of the hints in docs/formats.md. */
struct message {
    int generation;
    const struct type_profiles *types;
    struct pollux_grad grad; /* used only with a model */
    struct pollux_limits limits;
    double progress, total; /* total 0: unknown */
    struct pollux_batch batch;
    double step_s;      /* measured with that batch in the present shape; NaN: unknown */
    double rate_factor; /* on the learning rate */
};

/* Write the report as one JSON object in ASCII, independent of the locale.  Returns its length; 0:
 * the report cannot be written (no generation). */
size_t message_write (const struct message *message, char ret[MESSAGE_SIZE]);

#endif
