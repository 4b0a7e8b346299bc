/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pollux as published: a genetic search, NSGA-II, for the plan with the best fitness.  The second
 * objective, the cluster's utility, keeps the population diverse.
 *
 *     last round's population, or the current state
 *       -> 99 times: tournaments -> crossover -> mutation -> repair -> the best 100 survive
 *       -> the member with the best fitness
 *
 * Memory: the final population; the next round finds the jobs and nodes of its rows and columns by
 * name.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/ga/population.h"
#include "policy/name_index.h"
#include "policy/objective.h"
#include "policy/policy_list.h"
#include "policy/policy_options.h"
#include "policy/speedup.h"

static const struct policy_option ga_options[] = {
    {.name = "generations",
     .kind = OPTION_INTEGER,
     .min = 1,
     .max = 1e6,
     .usual = 100,
     .help = "generations of a search, the first of them where it starts"},
    POLICY_OPTION_P,
    {0},
};

struct ga_memory {
    struct name_index jobs, nodes;
    struct ga_population population; /* count 0: none yet */
    int *row_of;                     /* by index in jobs; -1: none */
    int *column_of;                  /* by index in nodes; -1: none */
    int stride;
};

static void ga_memory_clear (void *self)
{
    struct ga_memory *memory = self;
    name_index_clear (&memory->jobs);
    name_index_clear (&memory->nodes);
    ga_population_clear (&memory->population);
    free (memory->row_of);
    free (memory->column_of);
}

/* ---- From round to round ---- */

/* A state of the last round in this round's rows and columns; new jobs get no slots. */
static void translate (const struct ga_memory *memory, const struct ga_space *space,
                       const int *old_rows, const int *old_columns, const uint16_t *old,
                       uint16_t *state)
{
    memset (state, 0, ga_state_size (space) * sizeof (state[0]));
    for (int r = 0; r < space->row_count; r++) {
        if (old_rows[r] < 0)
            continue;
        const uint16_t *from = old + (size_t)old_rows[r] * (size_t)memory->stride;
        uint16_t *to = state + ga_row_at (space, r);
        for (int i = 0; i < space->column_count; i++) {
            uint16_t count = old_columns[i] >= 0 ? from[old_columns[i]] : 0;
            to[i] = count < space->capacity[i] ? count : space->capacity[i];
        }
    }
}

/* The last round's rows and columns of this round's jobs and nodes; -1: none. */
static void find_old (const struct ga_memory *memory, const struct ga_space *space, int *old_rows,
                      int *old_columns)
{
    const struct view *view = space->view;
    for (int i = 0, next = 0; i < view->job_count; i++) {
        int old = name_index_seek (&memory->jobs, view->jobs[i]->spec.name, &next);
        if (space->row_of[i] >= 0)
            old_rows[space->row_of[i]] = old >= 0 ? memory->row_of[old] : -1;
    }
    for (int i = 0, next = 0; i < space->column_count; i++) {
        int old = name_index_seek (&memory->nodes, view->nodes[space->nodes[i]].name, &next);
        old_columns[i] = old >= 0 ? memory->column_of[old] : -1;
    }
}

/* Start with the last round's members, or if there are none with the current state. */
static int populate (const struct ga_memory *memory, const struct ga_space *space,
                     struct ga_variation *variation, struct ga_population *population,
                     struct pollux_error *err)
{
    size_t rows = (size_t)space->row_count;
    int *old = malloc ((rows + (size_t)space->column_count + 1) * sizeof (old[0]));
    if (!old)
        return fail (err, -ENOMEM, "no memory for the last population of %d jobs",
                     space->row_count);
    if (memory->population.count > 0)
        find_old (memory, space, old, old + rows);
    for (int i = 0; i < memory->population.count; i++) {
        translate (memory, space, old, old + rows, memory->population.states[i],
                   ga_population_next (population));
        ga_population_add (population, variation);
    }
    if (population->count == 0) {
        memcpy (ga_population_next (population), space->current,
                ga_state_size (space) * sizeof (space->current[0]));
        ga_population_add (population, variation);
    }
    free (old);
    ga_population_select (population);
    return 0;
}

/* Move the population into the memory. */
static int save_population (struct ga_memory *memory, const struct ga_space *space,
                            struct ga_population *population, struct pollux_error *err)
{
    const struct view *view = space->view;
    int *row_of = malloc (((size_t)view->job_count + 1) * sizeof (row_of[0]));
    int *column_of = malloc (((size_t)view->node_count + 1) * sizeof (column_of[0]));
    int rc = row_of && column_of ? 0 : fail (err, -ENOMEM, "no memory to save a population");
    memory->population.count = 0; /* after a failure it would not match the names */
    if (rc == 0)
        rc = name_index_set_jobs (&memory->jobs, view, err);
    if (rc == 0)
        rc = name_index_set_nodes (&memory->nodes, view, err);
    if (rc < 0) {
        free (row_of);
        free (column_of);
        return rc;
    }
    memcpy (row_of, space->row_of, (size_t)view->job_count * sizeof (row_of[0]));
    for (int i = 0; i < view->node_count; i++)
        column_of[i] = -1;
    for (int i = 0; i < space->column_count; i++)
        column_of[space->nodes[i]] = i;
    free (memory->row_of);
    free (memory->column_of);
    ga_population_clear (&memory->population);
    memory->row_of = row_of;
    memory->column_of = column_of;
    memory->stride = space->stride;
    memory->population = *population;
    population->block = NULL;
    return 0;
}

/* ---- The plan ---- */

static bool keeps_placement (const struct ga_space *space, int row, const uint16_t *state)
{
    size_t first = ga_row_at (space, row);
    return !space->rows[row].must_move && memcmp (state + first, space->current + first,
                                                  (size_t)space->stride * sizeof (state[0])) == 0;
}

/* A job's placement in the state.  With the same counts it is the current one, so that the order of
 * the ranks stays and the job does not restart. */
static struct placement placement_of (const struct ga_space *space, int job, const uint16_t *state,
                                      struct share *shares)
{
    int row = space->row_of[job];
    if (row < 0 || keeps_placement (space, row, state))
        return space->view->jobs[job]->placement;
    const uint16_t *counts = state + ga_row_at (space, row);
    struct placement placement = {shares, 0};
    for (int i = 0; i < space->column_count; i++)
        if (counts[i] > 0)
            shares[placement.count++] = (struct share){space->nodes[i], counts[i]};
    return placement;
}

static int make_plan (const struct ga_space *space, const uint16_t *state, struct plan *plan,
                      struct pollux_error *err)
{
    const struct view *view = space->view;
    struct share *shares = malloc (((size_t)space->column_count + 1) * sizeof (shares[0]));
    double *x = malloc (((size_t)view->job_count + 1) * sizeof (x[0]));
    int rc = shares && x ? 0 : -ENOMEM;
    for (int i = 0; i < view->job_count && rc == 0; i++) {
        const struct job *job = view->jobs[i];
        struct placement placement = placement_of (space, i, state, shares);
        struct pollux_shape shape = placement_shape (placement);
        const struct ga_value *values = space->values_of[i];
        plan->speedups[i] = values[ga_value_index (shape.replicas, shape.nodes)].speedup;
        x[i] = plan->speedups[i] * space->per_speedup;
        if (placement.shares != job->placement.shares)
            x[i] *= restart_factor (view, job);
        rc = plan_place (plan, i, placement);
    }
    if (rc == 0)
        plan->fitness = objective_mean (view, x);
    free (shares);
    free (x);
    return rc < 0 ? fail (err, rc, "no memory for a plan of %d jobs", plan->job_count) : 0;
}

static int search (const struct ga_space *space, struct ga_memory *memory, struct plan *plan,
                   struct pollux_error *err)
{
    const struct view *view = space->view;
    struct ga_variation variation;
    int rc = ga_variation_new (space, view->seed, &variation, err);
    if (rc < 0)
        return rc;
    struct ga_population population;
    rc = ga_population_new (space, &population, err);
    if (rc == 0)
        rc = populate (memory, space, &variation, &population, err);
    int64_t generations =
        view->budget > 0 ? view->budget : (int64_t)policy_option_value (view, &ga_options[0]);
    for (int64_t i = 1; i < generations && rc == 0; i++)
        ga_population_breed (&population, &variation);
    if (rc == 0)
        rc = make_plan (space, ga_population_best (&population), plan, err);
    if (rc == 0)
        rc = save_population (memory, space, &population, err);
    ga_population_clear (&population);
    ga_variation_clear (&variation);
    return rc;
}

/* The published search knows nodes of one type. */
static int check_types (const struct view *view, struct pollux_error *err)
{
    const struct node *first = NULL;
    for (int i = 0; i < view->node_count; i++) {
        const struct node *node = &view->nodes[i];
        first = !first && node->available ? node : first;
        if (node->available && strcmp (node->type, first->type) != 0)
            return fail (err, -EINVAL,
                         "policy pollux-ga: nodes %s (type '%s') and %s (type '%s'): it knows one "
                         "type of nodes; use pollux or pollux-jct",
                         first->name, first->type, node->name, node->type);
    }
    return 0;
}

static int pollux_ga_decide (const struct view *view, void *memory, struct plan *plan,
                             struct pollux_error *err)
{
    if (view->job_count == 0)
        return 0;
    struct ga_space space;
    int rc = check_types (view, err);
    if (rc == 0)
        rc = ga_space_new (view, &space, err);
    if (rc < 0)
        return rc;
    rc = search (&space, memory, plan, err);
    ga_space_clear (&space);
    return rc;
}

const struct policy policy_pollux_ga = {
    .name = "pollux-ga",
    .summary = "goodput by genetic search, as published",
    .adaptive = true,
    .elastic = true,
    .one_type = true,
    .search = POLLUX_REFERENCE,
    .options = ga_options,
    .values = &fitness_values,
    .memory_size = sizeof (struct ga_memory),
    .memory_clear = ga_memory_clear,
    .decide = pollux_ga_decide,
};
