/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon's loop around the local backend, with real processes and a clock of its own. */
#ifndef TESTS_LIVES_H
#define TESTS_LIVES_H

#include "backend/local.h"
#include "backend/run.h"

enum { LIVES_EVENTS = 4096 };

struct lives {
    char path[64];     /* of the state directory */
    char program[128]; /* "": the pollux of this flavour */
    struct loop loop;
    struct machine machine;
    struct local *local;
    int keep_jobs;  /* 0: the default */
    int64_t now_us; /* of events */
    struct lives_event {
        enum event_type type;
        int job, generation;
        enum exit_kind kind;
        char detail[DETAIL_SIZE];
    } events[LIVES_EVENTS]; /* START, STARTED and EXIT so far */
    int count;
    char said[4096]; /* the last lines of its log */
};

/* *state is a struct lives with nodes a and b of two slots each.  At the end whatever runs is
 * killed, and nothing may be left. */
int lives_set_up (void **state);
int lives_tear_down (void **state);

/* A job that runs a shell script; more is what a test wants different, or NULL. */
struct launch lives_launch (void);
int lives_submit (struct lives *lives, const char *name, const char *script,
                  const struct launch *more);
void lives_cancel (struct lives *lives, int job);

/* Plan: job after job, how many replicas on a and on b. */
void lives_plan (struct lives *lives, int count, const int (*replicas)[2]);
#define PLAN(lives, ...)                                                                           \
    lives_plan ((lives), sizeof ((int[][2]){__VA_ARGS__}) / sizeof (int[2]),                       \
                (const int[][2]){__VA_ARGS__})

/* Settle, then wait a moment for something to happen, and take it. */
void lives_step (struct lives *lives);

/* Step until it is so; a minute later the test fails. */
#define AWAIT(lives, condition)                                                                    \
    do {                                                                                           \
        int64_t lives_end = lives_deadline ();                                                     \
        while (!(condition)) {                                                                     \
            if (lives_late (lives_end))                                                            \
                lives_fail ((lives), #condition);                                                  \
            lives_step (lives);                                                                    \
        }                                                                                          \
    } while (0)
int64_t lives_deadline (void);
bool lives_late (int64_t deadline);
void lives_fail (struct lives *lives, const char *what);

/* The daemon dies, and another one comes. */
void lives_die (struct lives *lives);
void lives_return (struct lives *lives);
int lives_try_return (struct lives *lives, struct pollux_error *err);

const struct job *lives_job (const struct lives *lives, int job);
/* How many events of a type there are for a job, and the last EXIT. */
int lives_seen (const struct lives *lives, enum event_type type, int job);
const struct lives_event *lives_exit (const struct lives *lives, int job);

/* Is there a file in the state directory, and what does it say? */
bool lives_has (const struct lives *lives, const char *file);
void lives_read (const struct lives *lives, const char *file, char *ret, size_t size);
void lives_touch (const struct lives *lives, const char *file);

/* The pid of a run's supervisor, 0: none. */
int lives_supervisor (const struct lives *lives, const char *job, int generation, int rank);
/* Processes with this state directory in their environment or command line. */
int lives_processes (const struct lives *lives, bool kill_them);

#endif
