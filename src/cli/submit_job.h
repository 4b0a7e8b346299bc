/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `pollux submit` as fields of a job file. */
#ifndef CLI_SUBMIT_JOB_H
#define CLI_SUBMIT_JOB_H

#include <jansson.h>
#include <limits.h>

#include "base/options.h"

enum submit_option_id {
    SUBMIT_OPTION_FIRST = 1000, /* above the letters of short options */
    SUBMIT_NAME = SUBMIT_OPTION_FIRST,
    SUBMIT_REPLICAS,
    SUBMIT_MIN,
    SUBMIT_MAX,
    SUBMIT_ALLOWED,
    SUBMIT_TYPES,
    SUBMIT_NOT_TYPES,
    SUBMIT_SPEEDS,
    SUBMIT_APPLICATION,
    SUBMIT_IGNORE_EXPERIENCE,
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
        {"replicas", "N", SUBMIT_REPLICAS, "exact number of replicas"},                            \
        {"min", "N", SUBMIT_MIN, "least replicas while it runs"},                                  \
        {"max", "N", SUBMIT_MAX, "most replicas (1)"},                                             \
        {"allowed", "any|pow2|N,N,...", SUBMIT_ALLOWED, "allowed numbers of replicas"},            \
        {"types", "TYPE,...", SUBMIT_TYPES, "only on nodes of these types"},                       \
        {"not-types", "TYPE,...", SUBMIT_NOT_TYPES, "on all types of nodes but these"},            \
        {"speeds", "TYPE=X,...", SUBMIT_SPEEDS, "how fast it is on types, relative to others"},    \
        {"application", "NAME", SUBMIT_APPLICATION,                                                \
         "what it trains; its jobs learn from each other (owner and command)"},                    \
        {"ignore-experience", NULL, SUBMIT_IGNORE_EXPERIENCE,                                      \
         "it learns from no earlier job, and later ones not from it"},                             \
        {"weight", "X", SUBMIT_WEIGHT, "its share of goodput, relative to other jobs (1)"},        \
        {"preemptible", NULL, SUBMIT_PREEMPTIBLE, "it may be stopped and resumed elsewhere"},      \
        {"no-preemptible", NULL, SUBMIT_NO_PREEMPTIBLE, "it is never stopped for other jobs"},     \
        {"adaptive", NULL, SUBMIT_ADAPTIVE, "it tunes its batch to its replicas and reports"},     \
        {"no-adaptive", NULL, SUBMIT_NO_ADAPTIVE, "a Python script that is not adaptive"},         \
        {"fixed-batch", "M", SUBMIT_FIXED_BATCH, "its total batch, if it is not adaptive"},        \
        {"launcher", "env|mpi", SUBMIT_LAUNCHER, "a process per replica, or one mpirun"},          \
        {"directory", "DIR", SUBMIT_DIRECTORY, "working directory (the current one)"},             \
        {"checkpoint-dir", "DIR", SUBMIT_CHECKPOINT_DIR, "directory of its checkpoints"},          \
        {"env", "NAME[=VALUE]", SUBMIT_ENV, "environment variable; without =VALUE from here"},     \
        {"stop-signal", "SIGNAL", SUBMIT_STOP_SIGNAL, "signal that asks it to stop (SIGTERM)"},    \
        {"grace", "SECONDS", SUBMIT_GRACE, "time from the stop signal to SIGKILL"},                \
        {"max-failures", "N", SUBMIT_MAX_FAILURES, "failures followed by a restart (3)"},          \
    {                                                                                              \
        "backoff", "SECONDS", SUBMIT_BACKOFF, "pause after a failure, doubled each time (10)"      \
    }

/* Take the current option, whose id is one of those above, into a job. */
int submit_job_take (json_t *job, const struct options *options, int id, struct pollux_error *err);

/* The command, of count words. */
int submit_job_command (json_t *job, char **words, int count, struct pollux_error *err);

/* Make a path absolute, without "./"; `what` names it in errors. */
enum { SUBMIT_PATH_SIZE = 2 * PATH_MAX };
int submit_path_absolute (const char *what, const char *path, char ret[SUBMIT_PATH_SIZE],
                          struct pollux_error *err);

/* Make the job's directories absolute. */
int submit_job_place (json_t *job, struct pollux_error *err);

#endif
