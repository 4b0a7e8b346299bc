/* SPDX-License-Identifier: Apache-2.0 */
/* A state directory per test, with one generation that is prepared. */
#ifndef TESTS_RUNS_H
#define TESTS_RUNS_H

#include "backend/run.h"

/* Job "job", generation 3, rank 1. */
extern const struct run_name runs_name;

struct runs {
    char path[64]; /* of the state directory */
    int root;
    struct run_view view; /* of the last look */
};

/* *state is a struct runs.  At the end whatever still runs there is killed. */
int runs_set_up (void **state);
int runs_tear_down (void **state);

/* Do something in another process, with its effect on test->view. */
int runs_elsewhere (struct runs *test, int (*what) (struct runs *, struct pollux_error *),
                    struct pollux_error *err);
int runs_try_look (struct runs *test, struct pollux_error *err);

/* Look at the run, from elsewhere; a failure fails the test. */
enum run_state runs_look (struct runs *test);

/* SIGKILL to a child, and wait for its end. */
void runs_bury (int pid);

/* Kill what is left of a lost run until nothing is; how many the first pass found. */
int runs_kill_all (struct runs *test);

void runs_pause_ms (long ms);

#endif
