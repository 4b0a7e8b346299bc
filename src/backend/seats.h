/* SPDX-License-Identifier: Apache-2.0 */
/* Which slots of which nodes are taken, by number. */
#ifndef BACKEND_SEATS_H
#define BACKEND_SEATS_H

#include "cluster/node.h"

struct seats {
    struct seats_row {
        unsigned short
            taken[SLOTS_LIMIT]; /* how often; more than once only after a change of nodes */
    } * *rows;                  /* by node; NULL: all free */
    int count;
};

/* How many of the first `slots` slots of a node are free. */
int seats_free (const struct seats *seats, int node, int slots);

/* Take the lowest free slot of a node of so many.  Its number, or -ENOSPC or -ENOMEM. */
int seats_take (struct seats *seats, int node, int slots);

/* Take exactly this one, free or not.  0 or -ENOMEM. */
int seats_hold (struct seats *seats, int node, int slot);

void seats_release (struct seats *seats, int node, int slot);
void seats_clear (struct seats *seats);

#endif
