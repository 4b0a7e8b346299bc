/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gavel (OSDI'20), for comparison on clusters with several types of GPUs.  Jobs keep the replicas and the batch that
 * they asked for; their speed on each type is known beforehand (job_spec.speeds, in iterations per second).  A linear
 * program says which share of time x each job should spend on each type:
 *
 *     at most all of its time, at most the slots of each type, and
 *     the largest sum of speeds (gavel_fair=0), or the largest minimum over jobs of the speed relative to that of an
 *     equal share (gavel_fair=1)
 *
 * Rounds follow the shares: pairs of a job and a type are served by x / (share of time that they had so far), the largest
 * first.  Jobs keep their slots if they are served on the same type again.
 *
 * Memory: the time of each job on each type, and its slots of the last round.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/compare.h"
#include "base/error.h"
#include "cluster/pools.h"
#include "policy/free_slots.h"
#include "policy/name_index.h"
#include "policy/policy_list.h"
#include "policy/policy_options.h"
#include "policy/simplex.h"

/* Pools that are told apart: a cluster's types, and some of nodes that are gone. */
enum { POOLS_LIMIT = 2 * NODE_TYPES_LIMIT };

/* Numbers of a program: 1 GiB. */
#define CELLS_LIMIT ((size_t)1 << 27)

/* The speed of a job on a type that is too small for it, as published. */
static const double no_room_speed = 0.1;

static const struct policy_option gavel_options[] = {
    {.name = "gavel_round",
     .min = 0,
     .max = 86400,
     .usual = 360,
     .help = "seconds between decisions, as published; 0: every round"},
    {.name = "gavel_fair",
     .kind = OPTION_INTEGER,
     .min = 0,
     .max = 1,
     .usual = 0,
     .help = "0: largest sum of speeds; 1: largest minimum of relative speeds"},
    {0},
};

/* What is remembered of a job. */
struct record {
    double time_s[POOLS_LIMIT]; /* by pool */
    int pool;                   /* of the last round; -1: it had no slots */
    int first_slot, slot_count; /* its slots are memory.slots[first_slot...] */
};

struct gavel_memory {
    struct name_index names;
    struct record *records; /* by index in names */
    int *slots;             /* numbers of slots, node by node */
    double total_s[POOLS_LIMIT];
    char types[POOLS_LIMIT][NAME_SIZE]; /* of the pools; times are forgotten if they change */
    int type_count;
    struct arena arena; /* of one round */
};

/* A job on a type. */
struct pair {
    int job, pool;
    double share, priority;
};

struct round {
    const struct view *view;
    struct arena *arena;
    struct pools pools;
    double *speeds, *shares;     /* [job * pools.count + pool] */
    double total_s[POOLS_LIMIT]; /* of the memory, with new jobs; kept if the round succeeds */
    struct pair *pairs;
    int *pool_of; /* by job: where it runs in this round; -1: nowhere */
    int *served;  /* jobs in the order in which they were served */
    int served_count;
};

static void gavel_memory_clear (void *self)
{
    struct gavel_memory *memory = self;
    name_index_clear (&memory->names);
    free (memory->records);
    free (memory->slots);
    arena_clear (&memory->arena);
}

/* ---- Shares of time ------------------------------------------------------------------------ */

static double *at (const struct round *round, double *values, int job, int pool)
{
    return &values[job * round->pools.count + pool];
}

/* Speeds of the pairs; 0 on a type that the job may not use. */
static void find_speeds (struct round *round)
{
    for (int i = 0; i < round->view->job_count; i++)
        for (int c = 0; c < round->pools.count; c++) {
            const struct job *job = round->view->jobs[i];
            const char *type = round->pools.list[c].type;
            bool fits = job_request (job) <= round->pools.list[c].slots;
            *at (round, round->speeds, i, c) = !job_allows_type (job, type) ? 0
                                               : fits ? job_assumed_speed (job, type)
                                                      : no_room_speed;
        }
}

/* A job's speed if it spent time on each type in proportion to the type's slots. */
static double equal_speed (const struct round *round, int job)
{
    double sum = 0, slots = 0;
    for (int c = 0; c < round->pools.count; c++) {
        double speed = *at (round, round->speeds, job, c);
        sum += round->pools.list[c].slots * speed;
        slots += speed > 0 ? round->pools.list[c].slots : 0;
    }
    return slots > 0 ? sum / slots : 0;
}

/* The program of simplex.h.  Columns: pairs, then with `fair` the minimum.  Rows: the time of each job, the slots of each
 * type, and with `fair` for each job that the minimum is at most its relative speed. */
static void state_program (const struct round *round, bool fair, int columns, double *tableau)
{
    int jobs = round->view->job_count, pools = round->pools.count, width = columns + 1;
    double *gains = tableau + (size_t)(jobs + pools + (fair ? jobs : 0)) * (size_t)width;
    for (int i = 0; i < jobs; i++) {
        double *time = tableau + (size_t)i * (size_t)width,
               *least = tableau + (size_t)(jobs + pools + i) * (size_t)width;
        double equal = equal_speed (round, i), replicas = job_request (round->view->jobs[i]);
        for (int c = 0; c < pools; c++) {
            int column = i * pools + c;
            double speed = *at (round, round->speeds, i, c);
            time[column] = 1;
            tableau[(size_t)(jobs + c) * (size_t)width + (size_t)column] = replicas;
            if (fair)
                least[column] = equal > 0 ? -replicas * speed / equal : 0;
            else
                gains[column] = speed;
        }
        time[columns] = 1;
        if (fair && equal > 0) /* a job that can run nowhere does not lower the minimum */
            least[columns - 1] = 1;
    }
    for (int c = 0; c < pools; c++)
        tableau[(size_t)(jobs + c) * (size_t)width + (size_t)columns] = round->pools.list[c].slots;
    if (fair)
        gains[columns - 1] = 1;
}

/* Solve the program; shares have five decimals, as published.  -ENOMEM; -EINVAL: it is too large. */
static int find_shares (struct round *round, bool fair, struct pollux_error *err)
{
    int jobs = round->view->job_count, pools = round->pools.count;
    int rows = jobs + pools + (fair ? jobs : 0), columns = jobs * pools + fair;
    size_t cells = ((size_t)rows + 1) * ((size_t)columns + 1);
    if (cells > CELLS_LIMIT)
        return fail (
            err, -EINVAL,
            "gavel: %d jobs on %d types of nodes are a program of %zu numbers, and at most "
            "%zu are solved",
            jobs, pools, cells, CELLS_LIMIT);
    double *tableau = arena_take (round->arena, cells, sizeof (tableau[0]));
    int *basis = arena_take (round->arena, SIMPLEX_SCRATCH (rows, columns), sizeof (basis[0]));
    double *x = arena_take (round->arena, (size_t)columns, sizeof (x[0]));
    if (!tableau || !basis || !x)
        return -ENOMEM;
    memset (tableau, 0, cells * sizeof (tableau[0]));
    state_program (round, fair, columns, tableau);
    /* Without a solution, as if no job can run, all shares are 0: jobs are served in order then. */
    bool solved = simplex_solve (tableau, rows, columns, basis, x) == 0;
    for (int i = 0; i < jobs * pools; i++)
        round->shares[i] =
            solved && round->speeds[i] > 0 ? fmin (fmax (rint (1e5 * x[i]) / 1e5, 0), 1) : 0;
    return 0;
}

/* ---- Who is served ------------------------------------------------------------------------- */

static int by_priority (const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int order = compare_doubles (y->priority, x->priority);
    if (order == 0)
        order = compare_doubles (y->share, x->share);
    if (order == 0)
        order = x->pool != y->pool ? x->pool - y->pool : x->job - y->job;
    return order;
}

static void serve (struct round *round, const struct record *records)
{
    const struct view *view = round->view;
    int pools = round->pools.count, count = 0, left[POOLS_LIMIT];
    for (int c = 0; c < pools; c++) {
        left[c] = round->pools.list[c].slots;
        for (int i = 0; i < view->job_count; i++) {
            double share = *at (round, round->shares, i, c), total_s = round->total_s[c],
                   had = total_s > 0 ? records[i].time_s[c] / total_s : 0;
            round->pairs[count++] = (struct pair){
                .job = i, .pool = c, .share = share, .priority = share > 0 ? share / had : 0};
        }
    }
    qsort (round->pairs, (size_t)count, sizeof (round->pairs[0]), by_priority);
    for (int i = 0; i < view->job_count; i++) {
        struct placement placement = view->jobs[i]->placement;
        round->pool_of[i] = -1;
        for (int j = 0; view_is_fixed (view, view->jobs[i]) && j < placement.count; j++)
            if (round->pools.of_node[placement.shares[j].node] < pools)
                left[round->pools.of_node[placement.shares[j].node]] -=
                    placement.shares[j].replicas;
    }
    for (int i = 0; i < count; i++) {
        struct pair pair = round->pairs[i];
        int replicas = job_request (view->jobs[pair.job]);
        if (round->pool_of[pair.job] >= 0 || replicas < 1 || replicas > left[pair.pool] ||
            view_is_fixed (view, view->jobs[pair.job]) ||
            !job_allows_type (view->jobs[pair.job], round->pools.list[pair.pool].type))
            continue;
        round->pool_of[pair.job] = pair.pool;
        round->served[round->served_count++] = pair.job;
        left[pair.pool] -= replicas;
    }
}

/* ---- Slots --------------------------------------------------------------------------------- */

/* Numbers of slots, node by node. */
struct slot_table {
    int *node; /* by slot */
    bool *taken;
    int count;
};

static int slot_table_make (const struct round *round, struct slot_table *ret)
{
    const struct view *view = round->view;
    size_t count = 0;
    for (int i = 0; i < view->node_count; i++)
        count += view->nodes[i].slots > 0 ? (size_t)view->nodes[i].slots : 0;
    *ret = (struct slot_table){
        .node = arena_take (round->arena, count + 1, sizeof (ret->node[0])),
        .taken = arena_take (round->arena, count + 1, sizeof (ret->taken[0])),
    };
    if (!ret->node || !ret->taken)
        return -ENOMEM;
    for (int i = 0; i < view->node_count; i++)
        for (int k = 0; k < view->nodes[i].slots; k++) {
            ret->taken[ret->count] = !view->nodes[i].available;
            ret->node[ret->count++] = i;
        }
    return 0;
}

/* Take the slots of a job's last round, if it is on the same type and none of them is taken. */
static bool take_old (const struct round *round, struct slot_table *table, int job,
                      const struct record *record, const int *all, int *slots)
{
    int replicas = job_request (round->view->jobs[job]);
    if (record->pool != round->pool_of[job] || record->slot_count != replicas ||
        round->view->jobs[job]->placement.count == 0 || !all)
        return false;
    const int *old = all + record->first_slot;
    for (int k = 0; k < replicas; k++)
        if (old[k] >= table->count || table->taken[old[k]] ||
            round->pools.of_node[table->node[old[k]]] != record->pool)
            return false;
    for (int k = 0; k < replicas; k++) {
        table->taken[old[k]] = true;
        slots[k] = old[k];
    }
    return true;
}

/* Take the free slots with the lowest numbers. */
static void take_lowest (const struct round *round, struct slot_table *table, int job, int *slots)
{
    int replicas = job_request (round->view->jobs[job]), taken = 0;
    for (int i = 0; i < table->count && taken < replicas; i++)
        if (!table->taken[i] && round->pools.of_node[table->node[i]] == round->pool_of[job]) {
            table->taken[i] = true;
            slots[taken++] = i;
        }
}

static int place (const struct round *round, const struct slot_table *table, int job,
                  const int *slots, struct plan *plan)
{
    int replicas = job_request (round->view->jobs[job]), count = 0;
    struct share *shares = arena_take (round->arena, (size_t)replicas, sizeof (shares[0]));
    if (!shares)
        return -ENOMEM;
    for (int k = 0; k < replicas; k++) {
        if (count == 0 || shares[count - 1].node != table->node[slots[k]])
            shares[count++] = (struct share){table->node[slots[k]], 0};
        shares[count - 1].replicas++;
    }
    return plan_place (plan, job, (struct placement){shares, count});
}

/* Place the jobs that may not be moved, with any free slots of their nodes. */
static int place_fixed (const struct round *round, struct slot_table *table, struct plan *plan)
{
    const struct view *view = round->view;
    int rc = 0;
    for (int i = 0; i < view->job_count && rc == 0; i++) {
        struct placement placement = view->jobs[i]->placement;
        if (!view_is_fixed (view, view->jobs[i]))
            continue;
        for (int j = 0; j < placement.count; j++)
            for (int k = 0, left = placement.shares[j].replicas; k < table->count && left > 0; k++)
                if (table->node[k] == placement.shares[j].node && !table->taken[k]) {
                    table->taken[k] = true;
                    left--;
                }
        rc = plan_place (plan, i, placement);
    }
    return rc;
}

/* Give slots to the served jobs: larger ones first, and of equal ones those that stay first. */
static int give_slots (struct round *round, const struct gavel_memory *memory,
                       struct record *records, int *slots, struct plan *plan)
{
    struct slot_table table;
    int largest = 0, used = 0, rc = slot_table_make (round, &table);
    if (rc == 0)
        rc = place_fixed (round, &table, plan);
    for (int i = 0; i < round->served_count; i++) {
        int replicas = job_request (round->view->jobs[round->served[i]]);
        largest = replicas > largest ? replicas : largest;
    }
    for (int size = largest; rc == 0 && size > 0; size--)
        for (int stay = 1; stay >= 0; stay--)
            for (int i = 0; rc == 0 && i < round->served_count; i++) {
                int job = round->served[i];
                if (job_request (round->view->jobs[job]) != size ||
                    plan_placement (plan, job).count > 0)
                    continue;
                struct record *record = &records[job];
                if (stay && !take_old (round, &table, job, record, memory->slots, slots + used))
                    continue;
                if (!stay)
                    take_lowest (round, &table, job, slots + used);
                rc = place (round, &table, job, slots + used, plan);
                record->first_slot = used;
                record->slot_count = size;
                used += size;
            }
    return rc;
}

/* ---- The decision -------------------------------------------------------------------------- */

/* Jobs stay between decisions. */
static int keep_all (const struct view *view, struct plan *plan, struct pollux_error *err)
{
    struct free_slots slots;
    int rc = free_slots_new (view, &slots, err);
    for (int fixed = 1; fixed >= 0 && rc == 0; fixed--)
        for (int i = 0; i < view->job_count && rc == 0; i++)
            if (view_is_fixed (view, view->jobs[i]) == fixed &&
                view_is_available (view, view->jobs[i]->placement))
                rc = free_slots_keep (&slots, view, i, plan, err);
    free_slots_clear (&slots);
    return rc;
}

/* Is this a round in which nothing is decided? */
static bool is_between (const struct view *view, double round_s)
{
    return round_s > view->interval_s &&
           floor (view->now_s / round_s) == floor ((view->now_s - view->interval_s) / round_s);
}

/* -ENOMEM; -EINVAL: there are too many types. */
static int round_make (struct round *round, struct pollux_error *err)
{
    const struct view *view = round->view;
    if (pools_make_by_type (view->nodes, view->node_count, round->arena, &round->pools) < 0)
        return -ENOMEM;
    if (round->pools.count > POOLS_LIMIT)
        return fail (err, -EINVAL,
                     "policy gavel tells %d types of nodes apart, those of nodes that are gone "
                     "included, and the cluster has %d; use pollux or pollux-jct",
                     POOLS_LIMIT, round->pools.count);
    size_t jobs = (size_t)view->job_count + 1, pairs = jobs * (size_t)round->pools.count;
    round->speeds = arena_take (round->arena, pairs, sizeof (round->speeds[0]));
    round->shares = arena_take (round->arena, pairs, sizeof (round->shares[0]));
    round->pairs = arena_take (round->arena, pairs, sizeof (round->pairs[0]));
    round->pool_of = arena_take (round->arena, jobs, sizeof (round->pool_of[0]));
    round->served = arena_take (round->arena, jobs, sizeof (round->served[0]));
    return round->speeds && round->shares && round->pairs && round->pool_of && round->served
               ? 0
               : -ENOMEM;
}

/* Forget all times if the types of the cluster, or their order, have changed. */
static void follow_types (struct gavel_memory *memory, const struct pools *pools)
{
    bool same = memory->type_count == pools->count;
    for (int c = 0; same && c < pools->count; c++)
        same = strcmp (memory->types[c], pools->list[c].type) == 0;
    if (same)
        return;
    name_index_clear (&memory->names);
    memory->type_count = pools->count;
    for (int c = 0; c < pools->count; c++) {
        memcpy (memory->types[c], pools->list[c].type, NAME_SIZE);
        memory->total_s[c] = 0;
    }
}

/* The records of this view's jobs.  A new job starts with half a round on every type. */
static struct record *follow (const struct gavel_memory *memory, struct round *round,
                              double round_s)
{
    const struct view *view = round->view;
    struct record *records = malloc (((size_t)view->job_count + 1) * sizeof (records[0]));
    int next = 0;
    memcpy (round->total_s, memory->total_s, sizeof (round->total_s));
    for (int i = 0; records && i < view->job_count; i++) {
        int last = name_index_seek (&memory->names, view->jobs[i]->spec.name, &next);
        records[i] = last >= 0 ? memory->records[last] : (struct record){.pool = -1};
        for (int c = 0; last < 0 && c < round->pools.count; c++) {
            records[i].time_s[c] = round_s / 2;
            round->total_s[c] += round_s / 2;
        }
    }
    return records;
}

/* Remember this round. */
static void note (struct gavel_memory *memory, const struct round *round, struct record *records,
                  int *slots, double round_s)
{
    memcpy (memory->total_s, round->total_s, sizeof (memory->total_s));
    for (int i = 0; i < round->view->job_count; i++) {
        int pool = round->pool_of[i];
        records[i].pool = pool;
        if (pool >= 0) {
            records[i].time_s[pool] += round_s;
            memory->total_s[pool] += round_s;
        }
    }
    free (memory->records);
    free (memory->slots);
    memory->records = records;
    memory->slots = slots;
}

/* Can every job keep what it has: the requested replicas, on nodes that are there and have the slots? */
static bool all_stand (const struct view *view, struct arena *arena)
{
    int *used = arena_take (arena, (size_t)view->node_count + 1, sizeof (used[0]));
    bool stands = used != NULL;
    for (int i = 0; stands && i < view->node_count; i++)
        used[i] = 0;
    for (int i = 0; stands && i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        if (job->placement.count == 0 || view_is_fixed (view, job))
            continue;
        stands = view_is_available (view, job->placement) &&
                 placement_replicas (job->placement) == job_request (job) &&
                 job_allows_type (job, view->nodes[job->placement.shares[0].node].type);
        for (int k = 0; k < job->placement.count; k++) {
            struct share share = job->placement.shares[k];
            used[share.node] += share.replicas;
            stands &= used[share.node] <= view->nodes[share.node].slots;
        }
    }
    return stands;
}

static int gavel_decide (const struct view *view, void *self, struct plan *plan,
                         struct pollux_error *err)
{
    struct gavel_memory *memory = self;
    double round_s = policy_option_value (view, &gavel_options[0]);
    bool fair = policy_option_value (view, &gavel_options[1]) > 0;
    struct round round = {.view = view, .arena = &memory->arena};
    arena_reset (&memory->arena);
    bool between = is_between (view, round_s) && all_stand (view, &memory->arena);
    if (between || view->job_count == 0 || view_slots (view) <= 0)
        return keep_all (view, plan, err);
    round_s = fmax (round_s, view->interval_s);
    int rc = round_make (&round, err);
    if (rc == 0)
        follow_types (memory, &round.pools);
    struct record *records = rc == 0 ? follow (memory, &round, round_s) : NULL;
    int *slots = malloc (((size_t)view_slots (view) + 1) * sizeof (slots[0]));
    if (!records || !slots)
        rc = -ENOMEM;
    if (rc == 0) {
        find_speeds (&round);
        rc = find_shares (&round, fair, err);
    }
    if (rc == 0) {
        serve (&round, records);
        rc = give_slots (&round, memory, records, slots, plan);
    }
    if (rc == 0)
        rc = name_index_set_jobs (&memory->names, view, err);
    if (rc == 0) {
        note (memory, &round, records, slots, round_s);
        return 0;
    }
    free (records);
    free (slots);
    return rc == -EINVAL ? rc
                         : fail (err, rc, "no memory for the shares of %d jobs", view->job_count);
}

const struct policy policy_gavel = {
    .name = "gavel",
    .summary = "Gavel (OSDI'20): shares of time on types, jobs as requested",
    .rates = true,
    .options = gavel_options,
    .memory_size = sizeof (struct gavel_memory),
    .memory_clear = gavel_memory_clear,
    .decide = gavel_decide,
};
