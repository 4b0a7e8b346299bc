/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon's loop around the local backend, with real processes and a clock of its own. */
#ifndef TESTS_BACKEND_FIXTURE_H
#define TESTS_BACKEND_FIXTURE_H

#include "backend/backend.h"
#include "backend/run.h"

enum { FIXTURE_EVENTS = 4096 };

struct fixture {
    char path[64];     /* of the state directory */
    char program[128]; /* "": the pollux of this flavour */
    struct loop loop;
    const struct backend_ops *ops;
    void *backend;  /* self of ops */
    int root;       /* descriptor of its run directories */
    int keep_jobs;  /* 0: the default */
    int64_t now_us; /* of events */
    struct fixture_event {
        enum event_type type;
        int job, generation;
        enum exit_kind kind;
        char detail[DETAIL_SIZE];
    } events[FIXTURE_EVENTS]; /* START, STARTED and EXIT so far */
    int count;
    char log[4096]; /* the last lines of its log */
};

/* *state is a struct fixture with nodes a and b of two slots each.  At the end whatever runs is
 * killed, and nothing may be left. */
int fixture_set_up (void **state);
int fixture_set_up_fake (void **state);
int fixture_tear_down (void **state);

/* A job that runs a shell script; more is what a test wants different, or NULL. */
struct launch fixture_launch (void);
int fixture_submit (struct fixture *fixture, const char *name, const char *script,
                    const struct launch *more);
void fixture_cancel (struct fixture *fixture, int job);

/* Plan: job after job, how many replicas on a and on b. */
void fixture_plan (struct fixture *fixture, int count, const int (*replicas)[2]);
#define PLAN(fixture, ...)                                                                         \
    fixture_plan ((fixture), sizeof ((int[][2]){__VA_ARGS__}) / sizeof (int[2]),                   \
                  (const int[][2]){__VA_ARGS__})

/* Settle, then wait a moment for something to happen, and take it. */
void fixture_step (struct fixture *fixture);

/* Step until it is so; a minute later the test fails. */
#define AWAIT(fixture, condition)                                                                  \
    do {                                                                                           \
        int64_t fixture_end = fixture_deadline ();                                                 \
        while (!(condition)) {                                                                     \
            if (fixture_expired (fixture_end))                                                     \
                fixture_fail ((fixture), #condition);                                              \
            fixture_step (fixture);                                                                \
        }                                                                                          \
    } while (0)
int64_t fixture_deadline (void);
bool fixture_expired (int64_t deadline);
void fixture_fail (struct fixture *fixture, const char *what);

/* The daemon dies, and another one comes. */
void fixture_end_daemon (struct fixture *fixture);
void fixture_restart_daemon (struct fixture *fixture);
int fixture_try_restart (struct fixture *fixture, struct pollux_error *err);

const struct job *fixture_job (const struct fixture *fixture, int job);
/* How many events of a type there are for a job, and the last EXIT. */
int fixture_event_count (const struct fixture *fixture, enum event_type type, int job);
const struct fixture_event *fixture_exit (const struct fixture *fixture, int job);

/* Is there a file in the state directory, and what does it say? */
bool fixture_has (const struct fixture *fixture, const char *file);
void fixture_read (const struct fixture *fixture, const char *file, char *ret, size_t size);
void fixture_touch (const struct fixture *fixture, const char *file);

/* The pid of a run's supervisor, 0: none. */
int fixture_supervisor (const struct fixture *fixture, const char *job, int generation, int rank);
/* Processes with this state directory in their environment or command line. */
int fixture_processes (const struct fixture *fixture, bool kill_them);

#endif
