/* SPDX-License-Identifier: Apache-2.0 */
/* A random run of a cluster, to be recorded: a source of random events (jobs arrive, report and
 * end) and a backend that carries out every plan.  Equal arguments give equal events. */
#ifndef TESTS_RANDOM_JOURNAL_H
#define TESTS_RANDOM_JOURNAL_H

#include "base/rng.h"
#include "loop/loop.h"

/* Rounds of 60 s on 8 nodes of 4 slots. */
struct random_journal {
    const char *policy;
    int rounds; /* full ones */
    uint64_t seed;
    /* As in a daemon: jobs have programs and wait after a failure; running jobs are cancelled too;
     * after every change a round fills free slots; some full rounds are cold (the policy starts
     * without memory). */
    bool real;
    /* Nodes n0 to n3 are a group, and there is a group spot of at most 6 nodes, which are ordered, come or fail to come, are
     * revoked and returned.  Prices change. */
    bool groups;
    bool *cold; /* if true, the next full round is cold, and clears it; may be NULL */
};

/* Run the loop.  On success *ret is the cluster at the end; the caller clears it. */
int random_journal_write (const struct random_journal *options, struct journal journal,
                          struct cluster *ret, struct pollux_error *err);

/* Fail the test unless both have the same program, or none. */
void launches_equal (const struct launch *a, const struct launch *b);

/* Fail the test unless all fields of the groups are equal. */
void node_groups_equal (const struct node_group *a, const struct node_group *b);

/* Fail the test unless the clusters are equal in everything that events determine. */
void clusters_equal (const struct cluster *a, const struct cluster *b);

/* The same, except for data of ended jobs that a snapshot omits. */
void clusters_alike (const struct cluster *a, const struct cluster *b);

#endif
