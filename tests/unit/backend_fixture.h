/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's loop around a backend, with real processes and a clock that the test sets. */
#ifndef TESTS_BACKEND_FIXTURE_H
#define TESTS_BACKEND_FIXTURE_H

#include "backend/backend.h"
#include "backend/run.h"

enum { FIXTURE_EVENTS = 4096 };

struct fixture {
    char path[64];     /* of the state directory, which is also TMPDIR of the replicas */
    char *tmpdir;      /* TMPDIR of the test program; NULL: unset */
    char program[128]; /* "": the pollux beside this test */
    struct loop loop;
    const struct backend_ops *ops;
    void *backend;     /* self of ops */
    int root;          /* descriptor of its run directories */
    int keep_jobs;     /* 0: the default */
    int64_t log_limit; /* 0: the default */
    int64_t now_us;    /* of events */
    struct fixture_event {
        enum event_type type;
        int job, generation;
        enum exit_kind kind;
        char detail[DETAIL_SIZE];
    } events[FIXTURE_EVENTS]; /* START, STARTED and EXIT so far */
    int count;
    char log[4096]; /* the last lines of its log */
};

/* *state is a struct fixture with the local or the fake backend and nodes a and b of two slots each.
 * tear_down kills what runs, and fails if a process is left. */
int fixture_set_up (void **state);
int fixture_set_up_fake (void **state);
int fixture_tear_down (void **state);

/* Submit a job that runs a shell script; more: its launch, or NULL for fixture_launch. */
struct launch fixture_launch (void);
int fixture_submit (struct fixture *fixture, const char *name, const char *script,
                    const struct launch *more);
void fixture_cancel (struct fixture *fixture, int job);

/* Post a plan: for each job, the replicas on a and on b. */
void fixture_plan (struct fixture *fixture, int count, const int (*replicas)[2]);
#define PLAN(fixture, ...)                                                                         \
    fixture_plan ((fixture), sizeof ((int[][2]){__VA_ARGS__}) / sizeof (int[2]),                   \
                  (const int[][2]){__VA_ARGS__})

/* Settle, wait for up to 20 ms, and take the events. */
void fixture_step (struct fixture *fixture);

/* Step until the condition holds; the test fails after two minutes. */
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

/* End the daemon, as if it died; start another one. */
void fixture_end_daemon (struct fixture *fixture);
void fixture_restart_daemon (struct fixture *fixture);
int fixture_try_restart (struct fixture *fixture, struct pollux_error *err);

const struct job *fixture_job (const struct fixture *fixture, int job);
/* Number of events of a type for a job; its last EXIT. */
int fixture_event_count (const struct fixture *fixture, enum event_type type, int job);
const struct fixture_event *fixture_exit (const struct fixture *fixture, int job);

/* Files in the state directory. */
bool fixture_has (const struct fixture *fixture, const char *file);
void fixture_read (const struct fixture *fixture, const char *file, char *ret, size_t size);
void fixture_touch (const struct fixture *fixture, const char *file);

/* The pid of a run's supervisor, 0: none. */
int fixture_supervisor (const struct fixture *fixture, const char *job, int generation, int rank);
/* Processes with this state directory in their environment or command line. */
int fixture_processes (const struct fixture *fixture, bool kill_them);

#endif
