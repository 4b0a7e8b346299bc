/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The solver on problems with one to three pools of nodes: plans are feasible and have the value that
 * is stated, no plan exceeds the bound, and tiny problems are solved optimally.
 */
#include "unit.h"

#include "solver/solver.h"

enum { NODES_MOST = 512, JOBS_MOST = 512, POOLS_MOST = 3, OPTIONS_MOST = 512, SHARES_MOST = 16 };

/* A problem with its memory. */
struct random_problem {
    int slots[NODES_MOST], pools[NODES_MOST];
    struct solver_job jobs[JOBS_MOST];
    struct solver_option options[JOBS_MOST][OPTIONS_MOST];
    struct share current[JOBS_MOST][SHARES_MOST];
    struct solver_problem problem;
};

/* What the random problems are made of. */
struct recipe {
    int nodes, jobs, pools; /* at most; at least one each */
    int node_slots; /* of the largest node of pool 0; others have up to half as many, or equal */
    int replicas;   /* of a job at most */
    double current, pinned; /* shares of jobs */
};

static int between (struct rng *rng, int low, int high)
{
    return low + (int)rng_below (rng, (uint64_t)(high - low + 1));
}

/* A placement of a job in a pool, on nodes with free slots.  Returns the number of shares. */
static int place_somewhere (const struct random_problem *it, int pool, int most, int *free,
                            bool *used, struct rng *rng, struct share *ret)
{
    int count = 0, nodes = between (rng, 1, 3);
    for (int i = 0; i < it->problem.node_count && count < nodes && most > 0; i++) {
        if (it->pools[i] != pool || free[i] == 0 || used[i] || rng_below (rng, 2) == 0)
            continue;
        int replicas = between (rng, 1, free[i] < most ? free[i] : most);
        ret[count++] = (struct share){.node = i, .replicas = replicas};
        most -= replicas;
    }
    for (int i = 0; i < count; i++) {
        free[ret[i].node] -= ret[i].replicas;
        used[ret[i].node] = count > 1;
    }
    return count;
}

/* The slots of the largest node of a pool, and of all its nodes. */
static struct pool_size {
    int node, all;
} size_of (const struct random_problem *it, int pool)
{
    struct pool_size size = {0};
    for (int i = 0; i < it->problem.node_count; i++) {
        int slots = it->pools[i] == pool ? it->slots[i] : 0;
        size.node = slots > size.node ? slots : size.node;
        size.all += slots;
    }
    return size;
}

/* The options of a job: in every pool a curve with falling increments, on one node and, for less, on
 * several.  Some jobs cannot use some pools. */
static void make_options (struct random_problem *it, int job, const struct recipe *recipe,
                          struct rng *rng, bool pinned)
{
    struct solver_job *made = &it->jobs[job];
    struct solver_option *options = it->options[job];
    struct placement current = made->current;
    int current_pool = current.count > 0 ? it->pools[current.shares[0].node] : -1;
    int keep = placement_replicas (current), count = 0;
    double power = 0.3 + 0.6 * rng_uniform (rng), several = 0.5 + 0.5 * rng_uniform (rng);
    double moved = 0.7 + 0.3 * rng_uniform (rng), weight = log_uniform (rng, 0.5, 2);
    if (!pinned)
        options[count++] = (struct solver_option){.where = WHERE_NONE};
    for (int pool = 0; pool < it->problem.pool_count; pool++) {
        struct pool_size size = size_of (it, pool);
        double speed = log_uniform (rng, 1, 8);
        int most = rng_below (rng, 5) == 0 ? 0 : size.all; /* 0: not allowed there */
        most = most < recipe->replicas ? most : recipe->replicas;
        for (int k = 1; k <= most || (pool == current_pool && k <= keep); k++) {
            double value = weight * pow (speed * k, power);
            if (pool == current_pool && k == keep)
                options[count++] = (struct solver_option){
                    current.count > 1 ? value * several : value, k, pool, WHERE_KEEP};
            if (pinned || k > most)
                continue;
            if (k <= size.node)
                options[count++] = (struct solver_option){value * moved, k, pool, WHERE_ONE};
            if (k > 1)
                options[count++] =
                    (struct solver_option){value * moved * several, k, pool, WHERE_MANY};
        }
    }
    assert_true (count <= OPTIONS_MOST);
    made->options = options;
    made->option_count = count;
}

static void make_problem (struct random_problem *it, const struct recipe *recipe, struct rng *rng)
{
    int free[NODES_MOST];
    bool used[NODES_MOST] = {false};
    struct solver_problem problem = {
        .slots = it->slots,
        .pools = it->pools,
        .node_count = between (rng, 1, recipe->nodes),
        .pool_count = between (rng, 1, recipe->pools),
        .jobs = it->jobs,
        .job_count = between (rng, 1, recipe->jobs),
        .seed = rng_next (rng),
    };
    it->problem = problem;
    for (int i = 0; i < problem.node_count; i++) {
        it->pools[i] = (int)rng_below (rng, (uint64_t)problem.pool_count);
        int most = it->pools[i] % 2 == 0 ? recipe->node_slots : (recipe->node_slots + 1) / 2;
        it->slots[i] = free[i] = rng_below (rng, 10) == 0 ? between (rng, 0, most) : most;
    }
    for (int i = 0; i < problem.job_count; i++) {
        struct placement current = {it->current[i], 0};
        if (rng_uniform (rng) < recipe->current)
            current.count = place_somewhere (it, (int)rng_below (rng, (uint64_t)problem.pool_count),
                                             recipe->replicas, free, used, rng, it->current[i]);
        it->jobs[i].current = current;
        make_options (it, i, recipe, rng, current.count > 0 && rng_uniform (rng) < recipe->pinned);
    }
}

/* ---- Checking a plan ---- */

/* The option that a placement is; NULL: none. */
static const struct solver_option *option_of (const struct random_problem *it, int job,
                                              struct placement placement)
{
    const struct solver_job *made = &it->jobs[job];
    enum where where = placement.count == 0   ? WHERE_NONE
                       : placement.count == 1 ? WHERE_ONE
                                              : WHERE_MANY;
    if (placement.count > 0 && placement_same (placement, made->current))
        where = WHERE_KEEP;
    for (int i = 0; i < made->option_count; i++) {
        const struct solver_option *option = &made->options[i];
        if (option->where == where && option->replicas == placement_replicas (placement) &&
            (placement.count == 0 || option->pool == it->pools[placement.shares[0].node]))
            return option;
    }
    return NULL;
}

/* The value of a plan.  The test fails if it is not feasible. */
static double check_plan (const struct random_problem *it, const struct placement *placements)
{
    int free[NODES_MOST], several[NODES_MOST] = {0};
    double value = 0;
    memcpy (free, it->slots, sizeof (free));
    for (int i = 0; i < it->problem.job_count; i++) {
        const struct solver_option *option = option_of (it, i, placements[i]);
        if (!option)
            fail_msg ("job %d has a placement that is none of its options", i);
        value += option->value;
        for (int j = 0; j < placements[i].count; j++) {
            struct share share = placements[i].shares[j];
            assert_int_equal (it->pools[share.node], option->pool);
            free[share.node] -= share.replicas;
            several[share.node] += placements[i].count > 1;
            assert_true (free[share.node] >= 0 && several[share.node] <= 1);
        }
    }
    return value;
}

static struct solver_result solve (struct solver *solver, const struct random_problem *it)
{
    struct solver_result result;
    struct solver_conflict conflict;
    struct pollux_error err;
    if (solver_solve (solver, &it->problem, &result, &conflict, &err) < 0)
        fail_msg ("%s", err.text);
    double value = check_plan (it, result.placements);
    assert_true (relative (value, result.value) < 1e-9);
    assert_true (result.bound >= result.value - 1e-9 * fabs (result.value));
    for (int i = 0; i < it->problem.pool_count; i++)
        assert_true (result.prices[i] >= 0);
    return result;
}

static struct solver *fresh (void)
{
    struct solver *solver;
    assert_int_equal (0, solver_new (&solver, NULL));
    return solver;
}

/* ---- The optimum of tiny problems, by trying everything ---- */

struct trial {
    const struct random_problem *it;
    int free[NODES_MOST];
    bool several[NODES_MOST];
    double best;
};

static void try_job (struct trial *trial, int job, double value);

/* Spread what is left of an option over the nodes from `node` on. */
static void try_nodes (struct trial *trial, int job, const struct solver_option *option, int node,
                       int left, int count, double value)
{
    const struct random_problem *it = trial->it;
    bool single = option->where == WHERE_ONE;
    if (left == 0) {
        if (single || count > 1)
            try_job (trial, job + 1, value + option->value);
        return;
    }
    if (node == it->problem.node_count)
        return;
    try_nodes (trial, job, option, node + 1, left, count, value);
    if (it->pools[node] != option->pool || (!single && trial->several[node]))
        return;
    for (int k = single ? left : 1; k <= left && k <= trial->free[node]; k++) {
        trial->free[node] -= k;
        trial->several[node] |= !single;
        try_nodes (trial, job, option, node + 1, left - k, count + 1, value);
        trial->free[node] += k;
        if (!single)
            trial->several[node] = false;
    }
}

static void try_keep (struct trial *trial, int job, const struct solver_option *option,
                      double value)
{
    struct placement current = trial->it->jobs[job].current;
    bool fits = true, several = current.count > 1;
    for (int i = 0; i < current.count; i++)
        fits &= trial->free[current.shares[i].node] >= current.shares[i].replicas &&
                !(several && trial->several[current.shares[i].node]);
    if (!fits)
        return;
    for (int i = 0; i < current.count; i++) {
        trial->free[current.shares[i].node] -= current.shares[i].replicas;
        trial->several[current.shares[i].node] |= several;
    }
    try_job (trial, job + 1, value + option->value);
    for (int i = 0; i < current.count; i++) {
        trial->free[current.shares[i].node] += current.shares[i].replicas;
        if (several)
            trial->several[current.shares[i].node] = false;
    }
}

static void try_job (struct trial *trial, int job, double value)
{
    const struct random_problem *it = trial->it;
    if (job == it->problem.job_count) {
        trial->best = fmax (trial->best, value);
        return;
    }
    for (int i = 0; i < it->jobs[job].option_count; i++) {
        const struct solver_option *option = &it->jobs[job].options[i];
        if (option->where == WHERE_NONE)
            try_job (trial, job + 1, value + option->value);
        else if (option->where == WHERE_KEEP)
            try_keep (trial, job, option, value);
        else
            try_nodes (trial, job, option, 0, option->replicas, 0, value);
    }
}

static double optimum (const struct random_problem *it)
{
    struct trial trial = {.it = it, .best = -INFINITY};
    memcpy (trial.free, it->slots, sizeof (trial.free));
    try_job (&trial, 0, 0);
    return trial.best;
}

static struct random_problem scratch;

static void tiny_problems_are_solved (void **state)
{
    (void)state;
    const struct recipe recipe = {.nodes = 4,
                                  .jobs = 3,
                                  .pools = POOLS_MOST,
                                  .node_slots = 3,
                                  .replicas = 3,
                                  .current = 0.5,
                                  .pinned = 0.2};
    struct solver *solver = fresh ();
    int count = soak_count (30000), met = 0, proven = 0;
    for (int i = 0; i < count; i++) {
        struct rng rng = rng_stream (1, (uint64_t)i);
        make_problem (&scratch, &recipe, &rng);
        struct solver_result result = solve (solver, &scratch);
        double best = optimum (&scratch), slack = 1e-9 * fabs (best);
        if (result.bound < best - slack)
            fail_msg ("problem %d: bound %.15g, optimum %.15g", i, result.bound, best);
        met += result.value >= best - slack;
        proven += result.bound <= best + 1e-3 * fabs (best);
    }
    print_message ("%d tiny problems: %d optimal, %d with a bound within 0.1 %%\n", count, met,
                   proven);
    assert_true (met >= count * 0.999);
    solver_free (solver);
}

static void large_problems_have_small_gaps (void **state)
{
    (void)state;
    const struct recipe recipe = {.nodes = 256,
                                  .jobs = 400,
                                  .pools = POOLS_MOST,
                                  .node_slots = 8,
                                  .replicas = 16,
                                  .current = 0.7,
                                  .pinned = 0.05};
    struct solver *solver = fresh ();
    int count = soak_count (300);
    double sum = 0;
    for (int i = 0; i < count; i++) {
        struct rng rng = rng_stream (2, (uint64_t)i);
        make_problem (&scratch, &recipe, &rng);
        struct solver_result result = solve (solver, &scratch);
        sum += (result.bound - result.value) / fabs (result.value);
    }
    print_message ("%d large problems: mean gap %.3f %%\n", count, 100 * sum / count);
    assert_true (count < 30 || sum / count < 0.02);
    solver_free (solver);
}

/* Who gets the slots of the scarce pool?  The limit, mean gap 0.3 %, is missed (0.39 %) if the search does not count
 * the slots of every pool. */
static void small_clusters_have_small_gaps (void **state)
{
    (void)state;
    const struct recipe recipe = {.nodes = 16,
                                  .jobs = 20,
                                  .pools = POOLS_MOST,
                                  .node_slots = 4,
                                  .replicas = 16,
                                  .current = 0.5,
                                  .pinned = 0};
    struct solver *solver = fresh ();
    int count = soak_count (3000);
    double sum = 0;
    for (int i = 0; i < count; i++) {
        struct rng rng = rng_stream (3, (uint64_t)i);
        make_problem (&scratch, &recipe, &rng);
        struct solver_result result = solve (solver, &scratch);
        if (result.value > 0)
            sum += (result.bound - result.value) / result.value;
    }
    print_message ("%d small clusters: mean gap %.3f %%\n", count, 100 * sum / count);
    assert_true (count < 100 || sum / count < 0.003); /* a few may be hard ones */
    solver_free (solver);
}

/* Two pools that no job shares are two problems. */
static void separate_pools (void **state)
{
    (void)state;
    const struct solver_option options[] = {
        {0, 0, 0, WHERE_NONE}, {1, 1, 0, WHERE_ONE}, {1.5, 2, 0, WHERE_ONE}};
    const struct solver_option others[] = {
        {0, 0, 0, WHERE_NONE}, {3, 1, 1, WHERE_ONE}, {5, 2, 1, WHERE_ONE}};
    const struct solver_job jobs[] = {{.options = options, .option_count = 3},
                                      {.options = options, .option_count = 3},
                                      {.options = others, .option_count = 3}};
    const int slots[] = {2, 2}, pools[] = {0, 1};
    const struct solver_problem problem = {.slots = slots,
                                           .pools = pools,
                                           .node_count = 2,
                                           .pool_count = 2,
                                           .jobs = jobs,
                                           .job_count = 3};
    struct solver *solver = fresh ();
    struct solver_result result;
    struct solver_conflict conflict;
    assert_int_equal (0, solver_solve (solver, &problem, &result, &conflict, NULL));
    assert_true (result.value == 7);
    for (int i = 0; i < 3; i++) {
        assert_int_equal (1, result.placements[i].count);
        assert_int_equal (i == 2 ? 1 : 0, result.placements[i].shares[0].node);
        assert_int_equal (i == 2 ? 2 : 1, result.placements[i].shares[0].replicas);
    }
    solver_free (solver);
}

/* Pools that are alike, as nodes of one type that are taken back differently often: every job is worth the same in both.  Their slots
 * have a price, and the gap is as small as with one pool. */
static void equal_pools (void **state)
{
    (void)state;
    enum { JOBS = 24, NODES = 16, NODE_SLOTS = 4, MOST = 16 };
    struct random_problem *it = &scratch;
    struct solver *solver = fresh ();
    double sum = 0;
    int count = soak_count (200);
    for (int i = 0; i < count; i++) {
        struct rng rng = rng_stream (4, (uint64_t)i);
        memset (it, 0, sizeof (*it));
        for (int j = 0; j < NODES; j++) {
            it->slots[j] = NODE_SLOTS;
            it->pools[j] = j % 2;
        }
        for (int j = 0; j < JOBS; j++) {
            int options = 1;
            double scale = exp (4 * rng_uniform (&rng)), falls = 0.3 + 0.6 * rng_uniform (&rng);
            it->options[j][0] = (struct solver_option){0, 0, 0, WHERE_NONE};
            for (int pool = 0; pool < 2; pool++)
                for (int k = 1; k <= MOST; k++)
                    it->options[j][options++] = (struct solver_option){
                        scale * pow (k, falls), k, pool, k <= NODE_SLOTS ? WHERE_ONE : WHERE_MANY};
            it->jobs[j] = (struct solver_job){.options = it->options[j], .option_count = options};
        }
        it->problem = (struct solver_problem){.slots = it->slots,
                                              .pools = it->pools,
                                              .node_count = NODES,
                                              .pool_count = 2,
                                              .jobs = it->jobs,
                                              .job_count = JOBS};
        struct solver_result result = solve (solver, it);
        assert_true (result.prices[0] > 0 && result.prices[1] > 0);
        sum += (result.bound - result.value) / result.value;
    }
    print_message ("%d problems with equal pools: mean gap %.3f %%\n", count, 100 * sum / count);
    assert_true (sum / count < 0.02);
    solver_free (solver);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (separate_pools),
        cmocka_unit_test (equal_pools),
        cmocka_unit_test (tiny_problems_are_solved),
        cmocka_unit_test (large_problems_have_small_gaps),
        cmocka_unit_test (small_clusters_have_small_gaps),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
