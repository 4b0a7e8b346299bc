/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the journal of a simulation was made, and what its events do not tell:
 *
 *     {"version": 1, "command": "pollux sim day.csv --record runs", "made_at": 1700000000.5,
 *      "workload": "day", "rho": {"a": 0.93, "b": 1.2}}
 *
 * docs/formats.md explains the fields.  The journals of daemons, and of earlier versions, have none.
 */
#ifndef WIRE_RECORDING_H
#define WIRE_RECORDING_H

#include "cluster/node.h"
#include "wire/text.h"

/* 32 MiB: 300,000 jobs of 100 bytes each.  The recording of more jobs is written without rho. */
#define RECORDING_LIMIT ((size_t)32 << 20)
/* Of a command; a longer one is cut. */
enum { RECORDING_COMMAND_LIMIT = 16384 };

struct recording {
    char *command; /* as typed into a shell; NULL: unknown */
    double made_s; /* when it was made, in seconds since 1970; NaN: unknown */
    char workload[NAME_SIZE];
    struct recorded_rho {
        char job[NAME_SIZE];
        double rho; /* finish-time fairness (sim/sim.h) */
    } * rhos;
    int rho_count; /* 0: rho is not known */
};
void recording_clear (struct recording *recording);

/* Write it into the buffer.  -EFBIG: larger than RECORDING_LIMIT; -EINVAL: a rho is not a positive
 * number; -ENOMEM. */
int wire_recording_encode (const struct recording *recording, struct wire_text_buffer *buffer,
                           struct pollux_error *err);

/* Read it; messages use name for the text.  On success *ret belongs to the caller (recording_clear).
 * -EINVAL names the place; -EPROTO: it is of a newer version. */
int wire_recording_decode (const char *text, size_t length, const char *name, struct recording *ret,
                           struct pollux_error *err);

#endif
