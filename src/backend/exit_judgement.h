/* SPDX-License-Identifier: Apache-2.0 */
/* How a generation ended, from how its replicas did. */
#ifndef BACKEND_EXIT_JUDGEMENT_H
#define BACKEND_EXIT_JUDGEMENT_H

#include "cluster/event.h"
#include "wire/run.h"

/* One replica's end. */
struct replica_exit {
    struct run_status status;
    bool lost; /* its supervisor died without telling; status.why may say more */
};

struct exit_case {
    const struct replica_exit *exits; /* by rank */
    int count;
    bool stop_asked; /* by the scheduler, before anything else went wrong */
    int failures;    /* of the job, before this */
    int max_failures;
    const char *excuse; /* NULL, or why a failure is not the job's own */
};

/* One end in words: "replica 3 ended with exit code 1", for who = "replica 3". */
void replica_exit_describe (const struct replica_exit *replica, const char *who,
                            struct pollux_error *ret);

/* Did this replica neither finish nor end because it was asked to? */
bool replica_exit_failed (const struct replica_exit *replica);

/* All 0: finished.  After a request to stop: stopped, and a warning that work is lost unless every
 * replica exited with 143.  Otherwise a failure: again with an excuse, gave up after more failures
 * than are forgiven. */
enum exit_kind exit_judgement (const struct exit_case *given, char detail[DETAIL_SIZE]);

#endif
