/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a view to the search space: columns, pinned jobs, rows, and a table of the value of every
 * replica count, so that the search evaluates a state by table look-ups.
 */
#include "policy/ga/space.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/priority_order.h"
#include "policy/speedup.h"

static int count_slots (int slots)
{
    return slots < GA_SLOTS_LIMIT ? slots : GA_SLOTS_LIMIT;
}

static void make_columns (struct ga_space *space)
{
    const struct view *view = space->view;
    for (int i = 0; i < view->node_count; i++)
        if (view->nodes[i].available && view->nodes[i].slots > 0) {
            int column = space->column_count++;
            space->nodes[column] = i;
            space->slots[column] = view->nodes[i].slots;
            space->capacity[column] = (uint16_t)count_slots (view->nodes[i].slots);
        }
}

/* The column of a node, or -1.  Columns are in the order of nodes. */
static int find_column (const struct ga_space *space, int node)
{
    int low = 0, high = space->column_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (space->nodes[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < space->column_count && space->nodes[low] == node ? low : -1;
}

/* Can the job keep its placement next to the jobs pinned so far? */
static bool can_stay (const struct ga_space *space, struct placement placement)
{
    for (int i = 0; i < placement.count; i++) {
        int column = find_column (space, placement.shares[i].node);
        if (column < 0 || space->capacity[column] < placement.shares[i].replicas)
            return false;
    }
    return true;
}

static void pin (struct ga_space *space, struct placement placement)
{
    for (int i = 0; i < placement.count; i++) {
        int column = find_column (space, placement.shares[i].node);
        space->capacity[column] =
            (uint16_t)(space->capacity[column] - placement.shares[i].replicas);
        space->in_use[column] = UINT16_MAX;
        if (placement.count > 1)
            space->shared[column] = UINT16_MAX;
    }
}

static bool is_gapless (const struct job *job, int limit)
{
    for (int k = 1; k <= limit; k++)
        if (!job_allows (job, k))
            return false;
    return true;
}

/* All nodes have one type. */
static bool allows_nodes (const struct ga_space *space, const struct job *job)
{
    return space->column_count == 0 ||
           job_allows_type (job, space->view->nodes[space->nodes[0]].type);
}

static void make_row (struct ga_space *space, int job)
{
    const struct job *it = space->view->jobs[job];
    int most = allows_nodes (space, it) ? job_most_replicas (it) : 0;
    int slots = view_slots (space->view);
    struct ga_row *row = &space->rows[space->row_count];
    *row = (struct ga_row){.job = job, .limit = most < slots ? most : slots};
    row->gapless = is_gapless (it, row->limit);
    space->row_of[job] = space->row_count++;
}

static int make_rows (struct ga_space *space)
{
    const struct view *view = space->view;
    struct priority *order = malloc (((size_t)view->job_count + 1) * sizeof (order[0]));
    if (!order)
        return -ENOMEM;
    int count = 0;
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        space->row_of[i] = -1;
        if (job_pinned (job) && can_stay (space, job->placement))
            pin (space, job->placement);
        else
            order[count++] = (struct priority){.key = job->attained_s, .job = i};
    }
    priority_order_sort (order, count); /* jobs of a view are in order of submission */
    for (int i = 0; i < count; i++)
        make_row (space, order[i].job);
    free (order);
    return 0;
}

static int make_current (struct ga_space *space)
{
    space->current = calloc (ga_state_size (space) + 1, sizeof (space->current[0]));
    if (!space->current)
        return -ENOMEM;
    for (int r = 0; r < space->row_count; r++) {
        struct ga_row *row = &space->rows[r];
        struct placement placement = space->view->jobs[row->job]->placement;
        for (int i = 0; i < placement.count; i++) {
            int column = find_column (space, placement.shares[i].node);
            int replicas = count_slots (placement.shares[i].replicas);
            if (column >= 0 && replicas <= space->slots[column])
                space->current[ga_row_at (space, r) + (size_t)column] = (uint16_t)replicas;
            else
                row->must_move = true;
        }
    }
    return 0;
}

/* ---- Values ---- */

/* What is the same for all jobs, and scratch. */
struct curves {
    int fair;     /* replicas of a fair share */
    int one_most; /* slots of the largest node */
    double *one, *many;
    struct pollux_best *bests;
};

static double term (const struct ga_space *space, const struct job *job, double x)
{
    return fitness_term (space->p, job->spec.weight, x);
}

/* Fill in the values of 0..most replicas. */
static int value_job (const struct ga_space *space, const struct job *job, int most,
                      const struct curves *curves, struct ga_value *values,
                      struct pollux_error *err)
{
    enum pollux_search search = space->view->search;
    struct job_model model = job_model_last (job); /* all nodes have one type */
    int one_most = most < curves->one_most ? most : curves->one_most;
    int rc = one_most > 0
                 ? job_curve (job, &model, search, one_most, curves->one, NULL, curves->bests, err)
                 : 0;
    if (rc == 0 && most > 1)
        rc = job_curve (job, &model, search, most, NULL, curves->many, curves->bests, err);
    if (rc < 0)
        return rc;
    double fair = fair_goodput_on (&model, search, curves->fair);
    double restart = restart_factor (space->view, job);
    for (int k = 0; k <= most; k++)
        for (int nodes = 1; nodes <= 2; nodes++) {
            double goodput = 0;
            if (k > 0 && nodes == 1 && k <= one_most)
                goodput = curves->one[k - 1];
            if (k > 1 && nodes == 2)
                goodput = curves->many[k - 1];
            double speedup = fair > 0 ? goodput / fair : 0;
            double x = speedup * space->per_speedup;
            values[ga_value_index (k, nodes)] = (struct ga_value){
                .speedup = speedup,
                .kept = term (space, job, x),
                .moved = term (space, job, x * restart),
            };
        }
    return 0;
}

/* The largest replica count in a job's table. */
static int table_most (const struct ga_space *space, int job)
{
    int row = space->row_of[job];
    return row >= 0 ? space->rows[row].limit
                    : placement_replicas (space->view->jobs[job]->placement);
}

static struct curves make_curves (const struct ga_space *space)
{
    struct curves curves = {.fair = fair_replicas (space->view)};
    for (int i = 0; i < space->column_count; i++)
        curves.one_most = curves.one_most > space->slots[i] ? curves.one_most : space->slots[i];
    return curves;
}

static int make_values (struct ga_space *space, struct pollux_error *err)
{
    const struct view *view = space->view;
    struct curves curves = make_curves (space);
    size_t total = 0, longest = 1;
    for (int i = 0; i < view->job_count; i++) {
        size_t most = (size_t)table_most (space, i);
        longest = longest > most ? longest : most;
        total += 2 * (most + 1);
    }
    curves.one = malloc (longest * sizeof (curves.one[0]));
    curves.many = malloc (longest * sizeof (curves.many[0]));
    curves.bests = malloc (2 * longest * sizeof (curves.bests[0]));
    space->values = malloc ((total + 1) * sizeof (space->values[0]));
    int rc = curves.one && curves.many && curves.bests && space->values
                 ? 0
                 : fail (err, -ENOMEM, "no memory for the speedups of %d jobs", view->job_count);

    struct ga_value *at = space->values;
    space->pinned_terms = fitness_none (space->p);
    for (int i = 0; i < view->job_count && rc == 0; i++) {
        const struct job *job = view->jobs[i];
        int most = table_most (space, i), row = space->row_of[i];
        rc = value_job (space, job, most, &curves, at, err);
        space->values_of[i] = at;
        if (row >= 0) {
            space->rows[row].values = at;
        } else {
            const struct ga_value *value = &at[ga_value_index (most, job->placement.count)];
            space->pinned_terms = fitness_add (space->p, space->pinned_terms, value->kept);
            space->pinned_speedup += value->speedup;
        }
        space->weights += job->spec.weight;
        at += 2 * (most + 1);
    }
    free (curves.one);
    free (curves.many);
    free (curves.bests);
    return rc;
}

int ga_space_new (const struct view *view, struct ga_space *ret, struct pollux_error *err)
{
    size_t jobs = (size_t)view->job_count + 1, nodes = (size_t)view->node_count;
    size_t stride = (nodes + GA_LANES - 1) / GA_LANES * GA_LANES;
    int slots = view_slots (view);
    struct ga_space space = {
        .view = view,
        .p = view->p < FITNESS_LEAST_P ? -INFINITY : view->p,
        .per_speedup = slots > 0 ? (double)view_nodes (view) / slots : 0,
        .rows = calloc (jobs, sizeof (space.rows[0])),
        .row_of = calloc (jobs, sizeof (space.row_of[0])),
        .values_of = calloc (jobs, sizeof (space.values_of[0])),
        .nodes = calloc (stride + 1, sizeof (space.nodes[0])),
        .stride = (int)stride,
        .capacity = calloc (stride + 1, sizeof (space.capacity[0])),
        .shared = calloc (stride + 1, sizeof (space.shared[0])),
        .in_use = calloc (stride + 1, sizeof (space.in_use[0])),
        .slots = calloc (stride + 1, sizeof (space.slots[0])),
    };
    int rc = -ENOMEM;
    if (space.rows && space.row_of && space.values_of && space.nodes && space.capacity &&
        space.shared && space.in_use && space.slots) {
        make_columns (&space);
        rc = make_rows (&space);
    }
    if (rc == 0)
        rc = make_current (&space);
    if (rc < 0)
        fail (err, rc, "no memory to search for placements of %d jobs", view->job_count);
    else
        rc = make_values (&space, err);
    if (rc < 0) {
        ga_space_clear (&space);
        return rc;
    }
    *ret = space;
    return 0;
}

void ga_space_clear (struct ga_space *space)
{
    free (space->rows);
    free (space->row_of);
    free (space->nodes);
    free (space->capacity);
    free (space->shared);
    free (space->in_use);
    free (space->slots);
    free (space->current);
    free (space->values);
    free (space->values_of);
    *space = (struct ga_space){0};
}
