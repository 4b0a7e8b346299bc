/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `pollux submit` as fields of a job file. */
#ifndef CLI_SUBMIT_JOB_H
#define CLI_SUBMIT_JOB_H

#include <jansson.h>
#include <limits.h>

#include "base/options.h"

enum submit_option_id {
    SUBMIT_OPTION_FIRST = 1000, /* past the letters, which are short names */
    SUBMIT_NAME = SUBMIT_OPTION_FIRST,
    SUBMIT_REPLICAS,
    SUBMIT_MIN,
    SUBMIT_MAX,
    SUBMIT_ALLOWED,
    SUBMIT_WEIGHT,
    SUBMIT_PREEMPTIBLE,
    SUBMIT_NO_PREEMPTIBLE,
    SUBMIT_ADAPTIVE,
    SUBMIT_NO_ADAPTIVE,
    SUBMIT_FIXED_BATCH,
    SUBMIT_LAUNCHER,
    SUBMIT_DIRECTORY,
    SUBMIT_CHECKPOINT_DIR,
    SUBMIT_ENV,
    SUBMIT_STOP_SIGNAL,
    SUBMIT_GRACE,
    SUBMIT_MAX_FAILURES,
    SUBMIT_BACKOFF,
};

/* Rows for the command's table. */
#define SUBMIT_OPTION_ROWS                                                                         \
    {"name", "NAME", SUBMIT_NAME, "the job's name (the daemon makes one)"},                        \
        {"replicas", "N", SUBMIT_REPLICAS, "exactly so many replicas"},                            \
        {"min", "N", SUBMIT_MIN, "at least so many replicas whenever it runs"},                    \
        {"max", "N", SUBMIT_MAX, "at most so many (1)"},                                           \
        {"allowed", "any|pow2|N,N,...", SUBMIT_ALLOWED, "which counts"},                           \
        {"weight", "X", SUBMIT_WEIGHT, "its share of goodput, relative to other jobs (1)"},        \
        {"preemptible", NULL, SUBMIT_PREEMPTIBLE, "it may be stopped and resumed elsewhere"},      \
        {"no-preemptible", NULL, SUBMIT_NO_PREEMPTIBLE, "it runs where it started, to its end"},   \
        {"adaptive", NULL, SUBMIT_ADAPTIVE, "it tunes its batch to its replicas and reports"},     \
        {"no-adaptive", NULL, SUBMIT_NO_ADAPTIVE, "it does not, although it is a Python script"},  \
        {"fixed-batch", "M", SUBMIT_FIXED_BATCH, "its total batch, if it is not adaptive"},        \
        {"launcher", "env|mpi", SUBMIT_LAUNCHER, "a process per replica, or one mpirun"},          \
        {"directory", "DIR", SUBMIT_DIRECTORY, "where it runs (here)"},                            \
        {"checkpoint-dir", "DIR", SUBMIT_CHECKPOINT_DIR, "where it saves and resumes"},            \
        {"env", "NAME[=VALUE]", SUBMIT_ENV, "a variable for it; without value: as it is here"},    \
        {"stop-signal", "SIGNAL", SUBMIT_STOP_SIGNAL, "what asks it to stop (SIGTERM)"},           \
        {"grace", "SECONDS", SUBMIT_GRACE, "from the stop signal to SIGKILL"},                     \
        {"max-failures", "N", SUBMIT_MAX_FAILURES, "so many are forgiven (3)"},                    \
    {                                                                                              \
        "backoff", "SECONDS", SUBMIT_BACKOFF, "pause after a failure, doubled each time (10)"      \
    }

/* Take the current option, whose id is one of those above, into a job. */
int submit_job_take (json_t *job, const struct options *options, int id, struct pollux_error *err);

/* The command, of count words. */
int submit_job_command (json_t *job, char **words, int count, struct pollux_error *err);

/* A path as seen from here, without a leading "./"; `what` names it in errors. */
enum { SUBMIT_PATH_SIZE = 2 * PATH_MAX };
int submit_path_absolute (const char *what, const char *path, char ret[SUBMIT_PATH_SIZE],
                          struct pollux_error *err);

/* Make its directories absolute, as seen from here. */
int submit_job_place (json_t *job, struct pollux_error *err);

#endif
