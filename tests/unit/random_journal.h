/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster at work, to be recorded: a source that makes jobs come, report and end by chance, and
 * a backend that obeys.  Equal arguments give equal events. */
#ifndef TESTS_RANDOM_JOURNAL_H
#define TESTS_RANDOM_JOURNAL_H

#include "base/rng.h"
#include "loop/loop.h"

/* Rounds of 60 s on 8 nodes of 4 slots. */
struct random_journal {
    const char *policy;
    int rounds; /* full ones */
    uint64_t seed;
    /* As under a daemon: jobs are programs, which wait after a failure; running ones are cancelled
     * too; a round after every change fills free slots; now and then the policy has forgotten. */
    bool real;
    bool *cold; /* set by others: the next full round is cold, which clears it; may be NULL */
};

/* Run the loop.  On success *ret is what is believed at the end; the caller clears it. */
int random_journal_write (const struct random_journal *options, struct journal journal,
                          struct cluster *ret, struct pollux_error *err);

/* The same program, or none. */
void launches_equal (const struct launch *a, const struct launch *b);

/* Everything that a fold can tell of two clusters. */
void clusters_equal (const struct cluster *a, const struct cluster *b);

/* The same, but what a snapshot forgets of ended jobs does not matter. */
void clusters_alike (const struct cluster *a, const struct cluster *b);

#endif
