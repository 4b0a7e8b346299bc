/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who ended a generation: the job, or Slurm?  The carrier is given news of ranks, with clocks that differ, and what
 * Slurm says; no command of Slurm is run.
 */
#define _GNU_SOURCE /* strcasestr */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "backend/slurm/slurm_steps_private.h"
#include "base/clock.h"
#include "unit.h"

static void node_failed (void *self, int node);
static int cancel (void *self, struct carried_share *share);
static int send_signal (void *self, struct carried_share *share)
{
    (void)self;
    assert_int_equal (share->phase, SLURM_HELD);
    return 0;
}

static void listed (void *self, const struct slurm_jobs *jobs)
{
    (void)self;
    (void)jobs;
}

static int read_run (void *self, const struct run_name *name, struct run_view *ret,
                     struct pollux_error *err);
static int refuse_run (void *self, const struct run_name *name, const struct run_status *status,
                       struct pollux_error *err);
static const struct slurm_way way = {.steps = true,
                                     .node_failed = node_failed,
                                     .signal = send_signal,
                                     .cancel = cancel,
                                     .listed = listed,
                                     .read = read_run,
                                     .refuse = refuse_run};
static const struct slurm_way way_of_many = {
    .many_owners = true, .cancel = cancel, .read = read_run, .refuse = refuse_run};

/* Two nodes with one replica each. */
struct fixture {
    struct slurm slurm;
    struct share shares[2];
    struct generation *generation;
    int failed[2]; /* nodes: how often their failure was reported */
    int cancelled; /* shares */
    int pause_s;   /* of the last excuse */
    int refuse;    /* what refuse_run returns */
};

static int cancel (void *self, struct carried_share *share)
{
    assert_int_equal (share->listed_count, 1);
    ((struct fixture *)self)->cancelled++;
    return 0;
}

static void node_failed (void *self, int node)
{
    ((struct fixture *)self)->failed[node]++;
}

/* There are no files. */
static int read_run (void *self, const struct run_name *name, struct run_view *ret,
                     struct pollux_error *err)
{
    (void)self;
    (void)name;
    (void)err;
    *ret = (struct run_view){.state = RUN_NONE};
    return 0;
}

static int refuse_run (void *self, const struct run_name *name, const struct run_status *status,
                       struct pollux_error *err)
{
    (void)name;
    (void)status;
    int code = ((struct fixture *)self)->refuse;
    if (code < 0)
        snprintf (err->text, sizeof (err->text), "refused");
    return code;
}

static void add_generation (struct fixture *fixture, enum launcher launcher)
{
    struct placement placement = {.shares = fixture->shares, .count = 2};
    struct generation *generation =
        generation_add (&fixture->slurm.set, "job", 1, placement, launcher);
    assert_non_null (generation);
    generation->job = 7;
    for (int i = 0; i < generation->share_count; i++) {
        struct carried_share *share =
            slurm_table_add (&fixture->slurm, generation, i, CARRIED_LISTED);
        assert_non_null (share);
        share->phase = SLURM_HELD;
    }
    for (int i = 0; i < generation->replicas; i++)
        generation->ranks[i].phase = RANK_RUNNING;
    fixture->generation = generation;
}

static void drop_generation (struct fixture *fixture)
{
    generation_drop (&fixture->slurm.set, fixture->generation);
    while (fixture->slurm.count > 0)
        slurm_table_drop (&fixture->slurm, fixture->slurm.shares[0]);
    fixture->slurm.poll_us = fixture->slurm.query_us = INT64_MAX;
    fixture->slurm.unnamed_failure_us = 0;
}

static int setup (void **state)
{
    static const struct backend_options options = {.state = ""};
    struct fixture *fixture = calloc (1, sizeof (*fixture));
    if (!fixture || slurm_init (&fixture->slurm, &way, fixture, &options, NULL) < 0)
        return -1;
    fixture->shares[0] = (struct share){.node = 0, .replicas = 1};
    fixture->shares[1] = (struct share){.node = 1, .replicas = 1};
    *state = fixture;
    return 0;
}

static int teardown (void **state)
{
    struct fixture *fixture = *state;
    slurm_clear (&fixture->slurm);
    free (fixture);
    return 0;
}

/* How a rank ends. */
enum end {
    FAILED,  /* by itself */
    OUTSIDE, /* Slurm's SIGTERM came first */
    OURS,    /* this daemon's request came first */
    OLD,     /* it was stopped, and its supervisor does not say by whom */
    LOST,    /* its supervisor was killed */
    WAITED,  /* Slurm had not started it: this daemon's request to stop cancels it */
};

/* A share that waits in Slurm is asked to stop: it is cancelled, and Slurm says so. */
static void end_waiting (struct fixture *fixture, int rank)
{
    struct carried_share *share = fixture->generation->shares[rank].carried;
    struct slurm_job ended = {
        .step = "", .state = "CANCELLED", .phase = SLURM_EXCUSED, .name = share->name};
    int cancelled = fixture->cancelled;
    share->phase = SLURM_COMING;
    share->listed_count = 1;
    fixture->slurm.poll_us = fixture->slurm.query_us = INT64_MAX;
    fixture->generation->due_us = INT64_MAX; /* there is no cluster */
    slurm_step (&fixture->slurm, NULL);
    assert_int_equal (fixture->cancelled, cancelled + 1);
    slurm_table_take (&fixture->slurm, &(struct slurm_jobs){.list = &ended, .count = 1});
    generation_end_rank (&fixture->slurm.set, fixture->generation, rank,
                         &(struct run_status){.code = 143, .stopped = true}, false);
}

static void end_rank (struct fixture *fixture, int rank, enum end end, int64_t at_us)
{
    struct run_news news = {.generation = 1, .rank = rank, .ended = true};
    news.status = (struct run_status){.started = true,
                                      .code = end == FAILED ? 1 : 143,
                                      .stopped = end != FAILED,
                                      .outside = end == OUTSIDE,
                                      .at_us = at_us};
    if (end == WAITED)
        end_waiting (fixture, rank);
    else if (end == LOST)
        generation_end_rank (&fixture->slurm.set, fixture->generation, rank,
                             &(struct run_status){.started = true, .signal = SIGKILL}, true);
    else
        slurm_carrier.news (&fixture->slurm, fixture->generation, &news);
}

static void stop_all (struct fixture *fixture)
{
    for (int i = 0; i < fixture->generation->share_count; i++)
        slurm_carrier.stop (&fixture->slurm, fixture->generation, i);
}

static const char *excuse (struct fixture *fixture)
{
    static struct pollux_error text;
    fixture->pause_s = 0;
    return slurm_carrier.excuse (&fixture->slurm, fixture->generation, &text, &fixture->pause_s);
}

/* The first end that arrives makes this daemon stop all other shares. */
static void test_who_ended_it (void **state)
{
    static const struct {
        const char *name;
        enum launcher launcher;
        int first;            /* the rank that ends first */
        enum end ends[2];     /* by rank */
        int64_t clocks_us[2]; /* of the nodes */
        bool cancelled;       /* this daemon has cancelled the share that ends last */
        bool excused;
    } cases[] = {
        {"a stop from outside, then a failure",
         LAUNCHER_ENV,
         0,
         {OUTSIDE, FAILED},
         {5, 9},
         false,
         true},
        {"the same; the second clock is behind",
         LAUNCHER_ENV,
         0,
         {OUTSIDE, FAILED},
         {9, 5},
         false,
         true},
        {"the failure ends first; the other writes a checkpoint",
         LAUNCHER_ENV,
         1,
         {OUTSIDE, FAILED},
         {9, 5},
         false,
         true},
        {"a failure, then our stop", LAUNCHER_ENV, 1, {OURS, FAILED}, {9, 5}, false, false},
        {"the same; the first clock is behind",
         LAUNCHER_ENV,
         1,
         {OURS, FAILED},
         {5, 9},
         false,
         false},
        {"a failure, then our stop of an old supervisor",
         LAUNCHER_ENV,
         1,
         {OLD, FAILED},
         {5, 9},
         false,
         false},
        {"an old supervisor was stopped, then a failure",
         LAUNCHER_ENV,
         0,
         {OLD, FAILED},
         {9, 5},
         false,
         true},
        {"SIGTERM of our own scancel", LAUNCHER_ENV, 1, {OUTSIDE, FAILED}, {5, 9}, true, false},
        {"a supervisor is killed, then a failure",
         LAUNCHER_ENV,
         0,
         {LOST, FAILED},
         {0, 1},
         false,
         true},
        {"a failure, found before a killed supervisor",
         LAUNCHER_ENV,
         1,
         {LOST, FAILED},
         {0, 1},
         false,
         true},
        {"a failure, then our scancel", LAUNCHER_ENV, 1, {LOST, FAILED}, {0, 1}, true, false},
        {"a failure, then our stop of a share that Slurm has not started",
         LAUNCHER_ENV,
         1,
         {WAITED, FAILED},
         {0, 1},
         false,
         false},
        {"MPI: a failure, then Slurm ends the step",
         LAUNCHER_MPI,
         1,
         {OUTSIDE, FAILED},
         {5, 9},
         false,
         false},
        {"MPI: a failure, then Slurm kills the step",
         LAUNCHER_MPI,
         1,
         {LOST, FAILED},
         {0, 9},
         false,
         false},
        {"MPI: a stop of the step, then a failure",
         LAUNCHER_MPI,
         0,
         {OUTSIDE, FAILED},
         {9, 5},
         false,
         true},
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT (cases); i++) {
        int first = cases[i].first, last = 1 - first;
        add_generation (fixture, cases[i].launcher);
        end_rank (fixture, first, cases[i].ends[first], cases[i].clocks_us[first]);
        int64_t now_us = clock_monotonic_us ();
        while (clock_monotonic_us () <= now_us)
            ; /* the ends arrive one after the other */
        generation_stop (&fixture->slurm.set, fixture->generation, STOP_FAILED);
        stop_all (fixture);
        if (cases[i].cancelled)
            ((struct carried_share *)fixture->generation->shares[last].carried)->cancel_us = 1;
        end_rank (fixture, last, cases[i].ends[last], cases[i].clocks_us[last]);
        if (!excuse (fixture) != !cases[i].excused)
            fail_msg ("%s: expected %s", cases[i].name, cases[i].excused ? "an excuse" : "none");
        slurm_carrier.forget_excuses (&fixture->slurm, 7);
        drop_generation (fixture);
    }
}

/* Any number of ends from outside is no failure of the job; after some of them it waits. */
static void test_pauses (void **state)
{
    struct fixture *fixture = *state;
    for (int i = 1; i <= 40; i++) {
        add_generation (fixture, LAUNCHER_ENV);
        end_rank (fixture, 0, OUTSIDE, i);
        end_rank (fixture, 1, FAILED, i);
        assert_non_null (excuse (fixture));
        assert_int_equal (fixture->pause_s, slurm_pause_s (i));
        drop_generation (fixture);
    }
    slurm_carrier.forget_excuses (&fixture->slurm, 7);
    assert_int_equal (fixture->slurm.excuses.count, 0);
}

/* A limit of Slurm may last: the job waits from the first time on. */
static void test_limited_share (void **state)
{
    struct fixture *fixture = *state;
    for (int i = 1; i <= 3; i++) {
        add_generation (fixture, LAUNCHER_ENV);
        struct carried_share *share = fixture->generation->shares[1].carried;
        share->excused = share->limited = true;
        snprintf (share->why, sizeof (share->why), "Slurm does not start it: Licenses");
        stop_all (fixture);
        end_rank (fixture, 0, OURS, i);
        end_rank (fixture, 1, FAILED, i);
        assert_string_equal (excuse (fixture), share->why);
        assert_int_equal (fixture->pause_s, 5 << i);
        drop_generation (fixture);
    }
}

/* The pauses grow up to ten minutes. */
static void test_pause_lengths (void **state)
{
    (void)state;
    static const struct {
        int count, seconds;
    } cases[] = {{0, 0}, {1, 0}, {5, 0}, {6, 10}, {7, 20}, {11, 320}, {12, 600}, {1000000, 600}};
    for (size_t i = 0; i < COUNT (cases); i++)
        assert_int_equal (slurm_pause_s (cases[i].count), cases[i].seconds);
}

/* Supervisors are killed for an unknown reason: the sixth time in succession is the job's failure. */
static void test_unexplained_losses (void **state)
{
    struct fixture *fixture = *state;
    for (int i = 1; i <= 6; i++) {
        add_generation (fixture, LAUNCHER_ENV);
        end_rank (fixture, 0, LOST, 0);
        end_rank (fixture, 1, LOST, 0);
        assert_int_equal (excuse (fixture) != NULL, i <= 5);
        drop_generation (fixture);
    }
}

/* Slurm does not have the share any more. */
static struct carried_share *set_gone (struct fixture *fixture, int number)
{
    struct carried_share *share = fixture->generation->shares[number].carried;
    share->state = CARRIED_GONE;
    share->since_us = 0;
    fixture->slurm.listed_us = INT64_C (2000000);
    return share;
}

/* A share has ended without files.  A run that has begun is lost, whatever the job has removed.  One that has not: all
 * starts wait only if the reason concerns all of them, and never because of a job of one of several owners. */
static void test_missing_files (void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *name;
        const struct slurm_way *way;
        bool begun, no_process, excused, refused;
        bool lost, held;
    } cases[] = {
        {"one of many owners, begun", &way_of_many, true, false, false, false, true, false},
        {"one of many owners", &way_of_many, false, false, false, false, true, false},
        {"no process to submit it", &way_of_many, false, true, false, false, false, true},
        {"Slurm ended it", &way_of_many, false, false, true, false, false, false},
        {"Slurm did not take it", &way_of_many, false, false, false, true, false, false},
        {"one owner, begun", &way, true, false, false, false, true, false},
        {"one owner", &way, false, false, false, false, false, true},
        {"one owner, Slurm ended it", &way, false, false, true, false, false, false},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct run_news news = {.generation = 1, .rank = 0};
        struct pollux_error err = {.text = ""};
        fixture->slurm.way = cases[i].way;
        add_generation (fixture, LAUNCHER_ENV);
        fixture->generation->ranks[0].phase = RANK_STARTING;
        if (cases[i].begun)
            slurm_carrier.news (&fixture->slurm, fixture->generation, &news);
        struct carried_share *share = set_gone (fixture, 0);
        share->no_process = cases[i].no_process;
        share->excused = cases[i].excused;
        share->refused = cases[i].refused;
        assert_int_equal (slurm_carrier.look (&fixture->slurm, fixture->generation, 0, &err), 0);
        const struct replica_exit *exit = &fixture->generation->exits[0];
        if (fixture->generation->ranks[0].phase != RANK_ENDED || exit->lost != cases[i].lost ||
            fixture->generation->carrier_failed != cases[i].held ||
            (fixture->slurm.set.hold_until_us > 0) != cases[i].held || !*exit->status.why)
            fail_msg ("%s: lost %d, held %d, '%s'", cases[i].name, exit->lost,
                      fixture->slurm.set.hold_until_us > 0, exit->status.why);
        assert_int_equal (exit->status.excused, cases[i].excused);
        fixture->slurm.set.hold_until_us = 0;
        drop_generation (fixture);
    }
    fixture->slurm.way = &way;
}

/* A step whose srun was killed before its processes began is cancelled once, and its runs end when it is not listed. */
static void test_orphaned_step (void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *name;
        const struct slurm_way *way;
        int64_t listed_s; /* for so long */
        bool srun, begun, cancelled;
    } cases[] = {
        {"it may still begin", &way, 20, false, false, false},
        {"its srun runs", &way, 40, true, false, false},
        {"it has begun", &way, 40, false, true, false},
        {"a job, not a step", &way_of_many, 40, false, false, false},
        {"an orphan", &way, 40, false, false, true},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct pollux_error err = {.text = ""};
        fixture->slurm.way = cases[i].way;
        fixture->cancelled = 0;
        add_generation (fixture, LAUNCHER_ENV);
        struct rank *rank = &fixture->generation->ranks[0];
        struct carried_share *share = fixture->generation->shares[0].carried;
        rank->phase = RANK_STARTING;
        rank->begun = cases[i].begun;
        share->listed_count = 1;
        share->since_us -= cases[i].listed_s * 1000000;
        share->command = cases[i].srun ? 1 : 0;
        for (int look = 0; look < 2; look++)
            assert_int_equal (slurm_carrier.look (&fixture->slurm, fixture->generation, 0, &err),
                              0);
        if (fixture->cancelled != cases[i].cancelled || share->excused != cases[i].cancelled)
            fail_msg ("%s: cancelled %d times", cases[i].name, fixture->cancelled);
        assert_int_not_equal (rank->phase, RANK_ENDED);
        share->command = 0;
        if (cases[i].cancelled) {
            set_gone (fixture, 0);
            assert_int_equal (slurm_carrier.look (&fixture->slurm, fixture->generation, 0, &err),
                              0);
            assert_int_equal (rank->phase, RANK_ENDED);
            assert_true (fixture->generation->exits[0].status.excused);
            assert_int_equal (fixture->slurm.set.hold_until_us, 0);
        }
        drop_generation (fixture);
    }
    fixture->slurm.way = &way;
}

/* A Slurm job that ends again and again before its supervisor begins is a failure of its Pollux job in the end. */
static void test_unexplained_starts (void **state)
{
    struct fixture *fixture = *state;
    struct pollux_error err;
    fixture->slurm.way = &way_of_many;
    for (int i = 1; i <= 6; i++) {
        add_generation (fixture, LAUNCHER_ENV);
        for (int j = 0; j < 2; j++) {
            fixture->generation->ranks[j].phase = RANK_STARTING;
            set_gone (fixture, j);
            assert_int_equal (slurm_carrier.look (&fixture->slurm, fixture->generation, j, &err),
                              0);
        }
        assert_int_equal (excuse (fixture) != NULL, i <= 5);
        drop_generation (fixture);
    }
    fixture->slurm.way = &way;
}

/* A rank is refused with a run directory.  If that fails, it is tried again only while a supervisor may begin. */
static void test_refusals (void **state)
{
    struct fixture *fixture = *state;
    enum where {
        NONE,
        LISTED,
        IN_VAIN,
        GONE
    }; /* the share, in Slurm; IN_VAIN: it cannot be ended */
    static const struct {
        enum where where;
        int code;
        enum rank_phase phase;
    } cases[] = {
        {LISTED, 0, RANK_ENDED},          {LISTED, -ENOENT, RANK_ENDED},
        {LISTED, -ELOOP, RANK_WAITING},   {LISTED, -ENOSPC, RANK_WAITING},
        {LISTED, -EAGAIN, RANK_STARTING}, {LISTED, -EEXIST, RANK_STARTING},
        {IN_VAIN, -EAGAIN, RANK_ENDED},   {IN_VAIN, -EPERM, RANK_ENDED},
        {GONE, -ELOOP, RANK_ENDED},       {GONE, -ENOTDIR, RANK_ENDED},
        {GONE, -EEXIST, RANK_STARTING},   {NONE, -EACCES, RANK_ENDED},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        add_generation (fixture, LAUNCHER_ENV);
        struct carried_share *share = fixture->generation->shares[0].carried;
        struct rank *rank = &fixture->generation->ranks[0];
        rank->phase = RANK_WAITING;
        if (cases[i].where == GONE)
            set_gone (fixture, 0);
        else if (cases[i].where == IN_VAIN)
            share->cancel_us = clock_monotonic_us () - INT64_C (61000000);
        else if (cases[i].where == NONE)
            slurm_table_drop (&fixture->slurm, share);
        fixture->refuse = cases[i].code;
        slurm_carrier.refuse (&fixture->slurm, fixture->generation, 0, false, "why");
        if (rank->phase != cases[i].phase)
            fail_msg ("case %zu: phase %d, expected %d", i, rank->phase, cases[i].phase);
        assert_int_equal (rank->error_logged, cases[i].phase == RANK_WAITING);
        drop_generation (fixture);
    }
}

/* srun's message about a failed node: the node of the share is reported, also if its generation was dropped.  Of an MPI
 * step it is not known, and nothing starts. */
static void test_failed_nodes (void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        enum launcher launcher;
        const char *error;
        bool dropped;
        int reported;
        bool may_start;
    } cases[] = {
        {LAUNCHER_ENV, "srun: error: Node failure on n1\n", false, 1, true},
        {LAUNCHER_ENV, "slurmstepd: error: *** STEP 1.2 ON n1 CANCELLED DUE TO NODE FAILURE ***\n",
         false, 1, true},
        {LAUNCHER_ENV, "srun: error: Node failure on n1\n", true, 1, true},
        {LAUNCHER_MPI, "srun: error: Node failure on n1\n", false, 0, false},
        {LAUNCHER_MPI, "srun: error: Node failure on n1\n", true, 0, false},
        {LAUNCHER_MPI, "srun: error: n1: task 0: Exited with exit code 1\n", false, 0, true},
        {LAUNCHER_ENV, "srun: error: n1: task 0: Exited with exit code 1\n", false, 0, true},
        {LAUNCHER_ENV, "slurmstepd: error: *** STEP 1.2 ON n1 CANCELLED ***\n", false, 0, true},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        bool env = cases[i].launcher == LAUNCHER_ENV;
        struct command_result result = {
            .code = -EREMOTEIO, .exit_code = 1, .output = "", .error = cases[i].error};
        add_generation (fixture, cases[i].launcher);
        memset (fixture->failed, 0, sizeof (fixture->failed));
        fixture->slurm.query_us = INT64_MAX;
        struct carried_share *share = fixture->generation->shares[env ? 1 : 0].carried;
        if (cases[i].dropped)
            share->generation = NULL;
        slurm_share_ended (&fixture->slurm, share, &result);
        share->generation = fixture->generation;
        assert_int_equal (fixture->failed[1], cases[i].reported);
        assert_int_equal (fixture->failed[0], 0);
        assert_int_equal (slurm_carrier.may_start (&fixture->slurm), cases[i].may_start);
        assert_int_equal (fixture->slurm.query_us == 0,
                          strcasestr (cases[i].error, "node fail") != NULL);
        drop_generation (fixture);
    }
    assert_true (slurm_is_node_failure ("NODE_FAIL") && slurm_is_node_failure ("BOOT_FAIL"));
    assert_false (slurm_is_node_failure ("PREEMPTED") || slurm_is_node_failure ("FAILED"));
}

/* A share that Slurm lists and could not end is cancelled again and again: its node may come back. */
static void test_abandoned_share (void **state)
{
    struct fixture *fixture = *state;
    int64_t now_us = clock_monotonic_us ();
    static const int64_t second_us = 1000000;
    add_generation (fixture, LAUNCHER_ENV);
    struct carried_share *share = fixture->generation->shares[0].carried;
    slurm_table_drop (&fixture->slurm, fixture->generation->shares[1].carried);
    generation_drop (&fixture->slurm.set, fixture->generation);
    assert_null (share->generation);
    share->listed_count = 1;
    share->cancel_us = now_us - 61 * second_us;
    share->kill_us = now_us - 5 * second_us;
    fixture->slurm.poll_us = fixture->slurm.query_us = INT64_MAX;
    slurm_step (&fixture->slurm, NULL);
    assert_true (share->abandoned);
    assert_int_equal (fixture->cancelled, 0);
    share->kill_us = now_us - 31 * second_us;
    assert_true (slurm_due_us (&fixture->slurm) <= now_us);
    for (int i = 0; i < 2; i++) {
        fixture->slurm.poll_us = INT64_MAX;
        slurm_step (&fixture->slurm, NULL);
        assert_int_equal (fixture->cancelled, 1);
    }
    fixture->slurm.poll_us = INT64_MAX;
    assert_true (slurm_due_us (&fixture->slurm) > now_us + 29 * second_us);
    share->listed_count = 0; /* it has ended */
    share->state = CARRIED_GONE;
    slurm_step (&fixture->slurm, NULL);
    assert_int_equal (fixture->slurm.count, 0);
    assert_int_equal (fixture->cancelled, 1);
}

/* In an allocation a failed node has no slots until a query that began later finds it. */
static void test_failed_node_of_allocation (void **state)
{
    (void)state;
    struct steps steps = {.slurm = {.node_count = -1}};
    struct node known[2] = {{.name = "n0"}, {.name = "n1"}};
    struct cluster cluster = {.nodes = known, .node_count = 2};
    struct slurm_node list[2] = {{.name = "n0", .state = "allocated", .cpus = 4},
                                 {.name = "n1", .state = "allocated", .cpus = 4}};
    struct slurm_nodes found = {.list = list, .count = 2};
    steps.slurm.cluster = &cluster;
    steps.slurm.query_began_us = clock_monotonic_us ();
    assert_int_equal (steps_take_nodes (&steps, &found, "", NULL), 0);
    assert_true (steps.slurm.nodes[0].slots > 0 && steps.slurm.nodes[1].slots > 0);
    steps_way.node_failed (&steps, 1);
    for (int i = 0; i < 2; i++) { /* an answer of before changes nothing */
        assert_true (steps.slurm.nodes[0].slots > 0);
        assert_int_equal (steps.slurm.nodes[1].slots, 0);
        assert_true (slurm_lacks_node (&steps.slurm, 1));
        assert_int_equal (steps_take_nodes (&steps, &found, "", NULL), 0);
    }
    steps.slurm.query_began_us = clock_monotonic_us () + 1;
    assert_int_equal (steps_take_nodes (&steps, &found, "", NULL), 0);
    assert_true (steps.slurm.nodes[1].slots > 0);
    free (steps.slurm.nodes);
    free (steps.details);
}

/* One of the nodes of an MPI step has failed: nothing starts before a query that began later tells which.  The others
 * keep their slots, so that their jobs go on. */
static void test_failed_node_of_mpi (void **state)
{
    (void)state;
    struct steps steps = {.slurm = {.way = &steps_way, .node_count = -1}};
    struct node known[2] = {{.name = "n0"}, {.name = "n1"}};
    struct cluster cluster = {.nodes = known, .node_count = 2};
    struct slurm_node list[2] = {{.name = "n0", .state = "allocated", .cpus = 4},
                                 {.name = "n1", .state = "allocated", .cpus = 4}};
    struct slurm_nodes found = {.list = list, .count = 2};
    const struct carried_share share = {.many_nodes = true};
    struct slurm *slurm = &steps.slurm;
    static const int64_t second_us = 1000000;
    slurm->way_self = &steps;
    slurm->cluster = &cluster;
    slurm->query_began_us = clock_monotonic_us ();
    assert_int_equal (steps_take_nodes (&steps, &found, "", NULL), 0);
    assert_true (slurm->query_us > clock_monotonic_us () + 10 * second_us);
    assert_true (slurm_carrier.may_start (slurm));
    slurm_share_failed (slurm, &share);
    slurm->set.wants_settle = false;
    /* The answer to a query that was under way: Slurm is asked again soon. */
    assert_int_equal (steps_take_nodes (&steps, &found, "", NULL), 0);
    assert_true (slurm->query_us <= clock_monotonic_us () + second_us);
    assert_false (slurm_carrier.may_start (slurm) || slurm->set.wants_settle);
    assert_true (slurm->nodes[0].slots > 0 && slurm->nodes[1].slots > 0);
    strcpy (list[1].state, "down");
    slurm->query_began_us = clock_monotonic_us () + 1;
    assert_int_equal (steps_take_nodes (&steps, &found, "", NULL), 0);
    assert_true (slurm->query_us > clock_monotonic_us () + 10 * second_us);
    assert_true (slurm_carrier.may_start (slurm) && slurm->set.wants_settle);
    assert_true (slurm->nodes[0].slots > 0);
    assert_int_equal (slurm->nodes[1].slots, 0);
    free (slurm->nodes);
    free (steps.details);
}

/* After a restart a node may have fewer slots than its replicas, because jobs of others have GPUs of it: the replicas that
 * find none are stopped, and until they have ended nothing starts in their place, whatever the node has then. */
static void test_slots_of_recovered_replicas (void **state)
{
    struct fixture *fixture = *state;
    struct generation_set *set = &fixture->slurm.set;
    struct node node = {.name = "n0", .slots = 3, .available = true};
    struct cluster cluster = {.nodes = &node, .node_count = 1};
    struct share share = {.node = 0, .replicas = 2};
    struct placement placement = {.shares = &share, .count = 1};
    struct generation *first = generation_add (set, "a", 1, placement, LAUNCHER_ENV);
    struct generation *second = generation_add (set, "b", 1, placement, LAUNCHER_ENV);
    assert_non_null (first);
    assert_non_null (second);
    assert_int_equal (generation_take_slots (set, &cluster, first), 0);
    assert_int_equal (generation_take_slots (set, &cluster, second), -ENOSPC);
    assert_int_equal (slot_map_free (&set->slot_map, 0, 8), 4);
    assert_int_equal (slot_map_free (&set->slot_map, 0, 3), 0);
    generation_drop (set, second);
    assert_int_equal (slot_map_free (&set->slot_map, 0, 8), 6);
    /* A node that has lost two of its slots is full, whatever numbers the slots of its replicas have. */
    second = generation_add (set, "b", 2, placement, LAUNCHER_ENV);
    assert_non_null (second);
    assert_int_equal (generation_take_slots (set, &cluster, second), -ENOSPC);
    generation_drop (set, first);
    assert_int_equal (slot_map_free (&set->slot_map, 0, 2), 0);
    assert_int_equal (slot_map_free (&set->slot_map, 0, 3), 1);
    generation_drop (set, second);
    assert_int_equal (slot_map_free (&set->slot_map, 0, 8), 8);
}

/* Under MPI all ranks are one step; or one Slurm job per node, whose failed node is known. */
static void test_mpi_shares (void **state)
{
    static const struct {
        const struct slurm_way *way;
        int shares;
        bool many_nodes;
    } cases[] = {{&way, 1, true}, {&way_of_many, 2, false}};
    (void)state;
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct fixture fixture = {
            .shares = {{.node = 0, .replicas = 1}, {.node = 1, .replicas = 1}}};
        struct backend_options options = {0};
        assert_int_equal (slurm_init (&fixture.slurm, cases[i].way, &fixture, &options, NULL), 0);
        add_generation (&fixture, LAUNCHER_MPI);
        assert_int_equal (fixture.generation->share_count, cases[i].shares);
        assert_int_equal (fixture.generation->runs, 2);
        for (int j = 0; j < cases[i].shares; j++)
            assert_int_equal (fixture.slurm.shares[j]->many_nodes, cases[i].many_nodes);
        drop_generation (&fixture);
        slurm_clear (&fixture.slurm);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_who_ended_it, setup, teardown),
        cmocka_unit_test_setup_teardown (test_pauses, setup, teardown),
        cmocka_unit_test_setup_teardown (test_limited_share, setup, teardown),
        cmocka_unit_test (test_pause_lengths),
        cmocka_unit_test_setup_teardown (test_unexplained_losses, setup, teardown),
        cmocka_unit_test_setup_teardown (test_missing_files, setup, teardown),
        cmocka_unit_test_setup_teardown (test_orphaned_step, setup, teardown),
        cmocka_unit_test_setup_teardown (test_unexplained_starts, setup, teardown),
        cmocka_unit_test_setup_teardown (test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown (test_failed_nodes, setup, teardown),
        cmocka_unit_test_setup_teardown (test_abandoned_share, setup, teardown),
        cmocka_unit_test (test_failed_node_of_allocation),
        cmocka_unit_test (test_failed_node_of_mpi),
        cmocka_unit_test (test_mpi_shares),
        cmocka_unit_test_setup_teardown (test_slots_of_recovered_replicas, setup, teardown),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
