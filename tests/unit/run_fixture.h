/* SPDX-License-Identifier: Apache-2.0 */
/* A state directory per test, with one prepared generation. */
#ifndef TESTS_RUN_FIXTURE_H
#define TESTS_RUN_FIXTURE_H

#include "backend/run.h"

/* Job "job", generation 3, rank 1. */
extern const struct run_name run_fixture_name;

struct run_fixture {
    char path[64]; /* of the state directory */
    int root;
    struct run_view view; /* of the last look */
};

/* *state is a struct run_fixture.  tear_down kills what still runs. */
int run_fixture_set_up (void **state);
int run_fixture_tear_down (void **state);

/* Call a function in a child process; its changes of test->view are copied back. */
int run_fixture_in_child (struct run_fixture *test,
                          int (*what) (struct run_fixture *, struct pollux_error *),
                          struct pollux_error *err);
int run_fixture_try_look (struct run_fixture *test, struct pollux_error *err);

/* Look at the run, in a child process; a failure fails the test. */
enum run_state run_fixture_look (struct run_fixture *test);

/* Kill a child and reap it. */
void run_fixture_kill_child (int pid);

/* Kill all processes of a lost run; returns the number that the first pass found. */
int run_fixture_kill_all (struct run_fixture *test);

void run_fixture_pause_ms (long ms);

#endif
