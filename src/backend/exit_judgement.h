/* SPDX-License-Identifier: Apache-2.0 */
/* How a generation ended, judged from the exits of its replicas. */
#ifndef BACKEND_EXIT_JUDGEMENT_H
#define BACKEND_EXIT_JUDGEMENT_H

#include "cluster/event.h"
#include "wire/run.h"

struct replica_exit {
    struct run_status status;
    bool lost; /* its supervisor died without a status; status.why may have the reason */
};

struct exit_case {
    const struct replica_exit *exits; /* by rank */
    int count;
    bool stop_asked; /* by the scheduler, before any failure */
    int failures;    /* of the job, before this */
    int max_failures;
    const char *gone;   /* the node for whose sake it was stopped; NULL: none */
    const char *excuse; /* why a failure is not the job's own; NULL: it is */
};

/* A sentence: "replica 3 ended with exit code 1", for who = "replica 3". */
void replica_exit_describe (const struct replica_exit *replica, const char *who,
                            struct pollux_error *ret);

/* Did the replica end by itself, and not with success? */
bool replica_exit_failed (const struct replica_exit *replica);

/* All exited with 0: finished.  After a request to stop: stopped, with a warning that work is lost
 * unless every replica exited with 143.  After the loss of a node: again.  Otherwise a failure: again if there is an excuse, failed,
 * or gave up after more than max_failures. */
enum exit_kind exit_judgement (const struct exit_case *given, char detail[DETAIL_SIZE]);

#endif
