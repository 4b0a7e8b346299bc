/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What slots have cost: by month and owner of the jobs that held them, and for all slots that there were, held or not.
 * Idle capacity is the difference.  Months are those of UTC.
 */
#ifndef CLUSTER_LEDGER_H
#define CLUSTER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/node.h"

struct ledger_row {
    int month;     /* 12 x year + month of the year from 0 */
    bool capacity; /* of all slots; false: of the jobs of an owner */
    char owner[NAME_SIZE];
    double slot_s; /* slot-seconds */
    double cost;   /* in the unit of the groups' prices */
};

/* Rows in the order in which they began. */
struct ledger {
    struct ledger_row *rows;
    int count, capacity;
    int latest; /* month of all rows */
};

/* 8192 rows of 96 bytes: ten years with 68 owners in each month.  Beyond that the owners of the oldest month become one row,
 * of LEDGER_OTHERS. */
enum { LEDGER_LIMIT = 8192 };
#define LEDGER_OTHERS "(others)"

/* Months that times in microseconds since 1970, below 2^53, can be in.  They are less than half as many as rows: if all rows
 * are used, some month has rows of several owners. */
enum { LEDGER_FIRST_MONTH = 1970 * 12, LEDGER_LAST_MONTH = 2255 * 12 + 11 };

/* Add `slots` slots and their cost over a time, which may include ends of months.  owner NULL: capacity.  *hint: any number;
 * the caller keeps it for its next call with this owner, which is faster then.  -ENOMEM: a part may have
 * been added. */
int ledger_add (struct ledger *ledger, int64_t from_us, int64_t until_us, const char *owner,
                double slots, double cost_per_s, int *hint);

/* Append a row of a snapshot.  -EINVAL: there is one of this month and owner, or too
 * many, or no time is in this month; -ENOMEM. */
int ledger_restore (struct ledger *ledger, const struct ledger_row *row);

/* The month of a time since 1970, and the time at which a month begins. */
int ledger_month (int64_t at_us);
int64_t ledger_month_us (int month);

/* A copy, which the caller clears.  -ENOMEM. */
int ledger_copy (const struct ledger *ledger, struct ledger *ret);

void ledger_clear (struct ledger *ledger);

#endif
