/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time and optimality gap of a decision, from 64 GPUs to 131,072.  Problems are random but
 * realistic: jobs of six kinds with throughput and noise as measured in practice, nine of ten
 * limited to 64 replicas and the rest to 1,024, nodes of 8 GPUs (4 in the smallest cluster), three
 * to four GPUs per job.  Then the same with three types of GPUs, a third of the nodes each: every job has models of one
 * to three types and the owner's speeds of all.  Last, both with pollux-jct: every job says how much work is left, and was
 * measured with 8 replicas at most.
 *
 *   cold   no job runs yet
 *   warm   the next round: the plan has been carried out, jobs are a minute older, hints have
 *          changed a little, one job in a hundred is replaced by a new one
 *
 * Times are those of the policy, with the evaluation of goodput, without JSON: processor time, since a
 * decision has one thread and the machine may have other work.  `--table` prints a table instead of
 * lines; `--most N` omits clusters with more than N GPUs, `--policy NAME` the other policies.
 */
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#include "base/rng.h"
#include "bench.h"
#include "policy/policy.h"

/* A policy, and what jobs tell it. */
static const struct subject {
    const char *policy, *prefix; /* of the names of its measurements */
    int profiled;                /* max_profiled_replicas; -1: any number is trusted */
    bool says_work;              /* jobs say how much is left */
} pollux = {"pollux", "", -1, false}, jct = {"pollux-jct", "jct-", 8, true};

static const struct size {
    int gpus, jobs, per_node, problems;
    double limit_ms, limit_gap; /* targets; 0: none */
    int types;                  /* of GPUs */
    const struct subject *subject;
} sizes[] = {
    {64, 20, 4, 200, 1, 0, 1, &pollux},         {512, 120, 8, 40, 10, 1, 1, &pollux},
    {4096, 1200, 8, 8, 100, 1, 1, &pollux},     {32768, 10000, 8, 3, 1000, 1, 1, &pollux},
    {131072, 40000, 8, 2, 5000, 1, 1, &pollux}, {64, 20, 4, 200, 3, 1, 3, &pollux},
    {512, 120, 8, 40, 20, 1, 3, &pollux},       {4096, 1200, 8, 8, 150, 1, 3, &pollux},
    {32768, 10000, 8, 3, 1500, 1, 3, &pollux},  {64, 20, 4, 200, 1, 1, 1, &jct},
    {512, 120, 8, 40, 10, 1, 1, &jct},          {4096, 1200, 8, 8, 100, 1, 1, &jct},
    {32768, 10000, 8, 3, 1000, 1, 1, &jct},     {64, 20, 4, 200, 3, 1, 3, &jct},
    {512, 120, 8, 40, 20, 1, 3, &jct},          {4096, 1200, 8, 8, 150, 1, 3, &jct},
    {32768, 10000, 8, 3, 1500, 1, 3, &jct},
};
enum { SIZES = sizeof (sizes) / sizeof (sizes[0]) };

/* Models as measured on GPUs of a few years ago. */
static const struct kind {
    struct pollux_model model;
    struct pollux_limits limits;
    double noise_scale; /* at the start of training; it grows tenfold */
    double share;       /* of all jobs */
} kinds[] = {
    {{0.084, 0.0044, 0.48, 0.0034, 0.14, 0.00013, 3.5}, {200, 12800, 20, 200, true}, 3000, 0.05},
    {{0.18, 0.058, 1.2, 0.001, 0.052, 0.0059, 1.2}, {12, 384, 4, 12, true}, 200, 0.15},
    {{0.23, 0.012, 0.19, 0.012, 0.18, 0.008, 2.8}, {8, 512, 4, 8, true}, 80, 0.15},
    {{0.022, 0.00064, 0.08, 0.0028, 0.009, 0.0005, 2.2}, {128, 4096, 32, 1024, true}, 800, 0.45},
    {{0.06, 0.0085, 0.35, 0.005, 0.09, 0.001, 2.5}, {20, 640, 4, 80, true}, 150, 0.15},
    {{0.012, 0.0000015, 0.05, 0.003, 0.01, 0.001, 1.5}, {256, 32768, 256, 32768, true}, 5000, 0.05},
};
enum { KINDS = sizeof (kinds) / sizeof (kinds[0]) };

/* Speeds of the types of GPUs, relative to the first. */
static const struct {
    const char *name;
    double speed;
} types[] = {{"t4", 1}, {"a100", 5}, {"rtx2080ti", 2}};

/* ---- Problems ---- */

struct instance {
    struct view view;
    struct node *nodes;
    struct job *jobs;
    const struct job **order;
    int types;
    const struct subject *subject;
    struct rng rng;
};

/* A random factor around 1; deviation: standard deviation of its logarithm. */
static double jitter (struct rng *rng, double deviation)
{
    return exp (deviation * rng_gaussian (rng));
}

/* A model on a type whose speed differs from job to job. */
static struct pollux_model model_on (struct pollux_model model, double speed)
{
    model.alpha_grad /= speed;
    model.beta_grad /= speed;
    return model;
}

/* Models of one to three types, and speeds of all. */
static void add_types (struct job *job, const struct subject *subject, struct rng *rng)
{
    struct pollux_model base = job->hints.model;
    int first = (int)rng_below (rng, 3);
    for (int i = 0; i < 3; i++) {
        double speed = types[i].speed * jitter (rng, 0.3);
        struct type_speed *known = &job->spec.speeds.list[job->spec.speeds.count++];
        known->speed = speed;
        snprintf (known->type, NAME_SIZE, "%s", types[i].name);
        if (i == first) {
            job->hints.model = model_on (base, speed);
            snprintf (job->hints.type, NAME_SIZE, "%s", types[i].name);
        } else if (rng_below (rng, 2) == 0) {
            struct type_model *other = &job->hints.others[job->hints.other_count++];
            *other = (struct type_model){.model = model_on (base, speed),
                                         .max_local = job->hints.limits.max_local,
                                         .max_profiled_replicas = subject->profiled};
            snprintf (other->type, NAME_SIZE, "%s", types[i].name);
        }
    }
}

static void job_new (struct instance *instance, int index, double age_s)
{
    static const char *const format = "job-%d";
    struct rng *rng = &instance->rng;
    double u = rng_uniform (rng);
    int kind = 0;
    while (kind < KINDS - 1 && u >= kinds[kind].share)
        u -= kinds[kind++].share;
    struct pollux_model model = kinds[kind].model;
    double speed = jitter (rng, 0.3), network = jitter (rng, 0.3);
    struct job job = {
        .spec = {.max_replicas = rng_uniform (rng) < 0.9 ? 64 : 1024,
                 .weight = 1,
                 .preemptible = true,
                 .adaptive = true,
                 .restart_delay_s = NAN},
        .hints = {.has_model = true,
                  .model = {model.alpha_grad * speed, model.beta_grad * speed,
                            model.alpha_node * network, model.beta_node * network,
                            model.alpha_local * network, model.beta_local * network, model.gamma},
                  .grad = {.sqr = 1,
                           .var = kinds[kind].noise_scale * pow (10, rng_uniform (rng)) *
                                  jitter (rng, 0.3) / (double)kinds[kind].limits.init_batch},
                  .limits = kinds[kind].limits,
                  .max_profiled_replicas = instance->subject->profiled,
                  .progress = NAN,
                  .total = NAN,
                  .step_s = NAN,
                  .rate_factor = NAN},
        .age_s = age_s,
        .restarts = (int)(age_s / 1800),
        .phase = JOB_PENDING,
    };
    if (instance->types > 1)
        add_types (&job, instance->subject, rng);
    if (instance->subject->says_work) {
        job.hints.progress = 0;
        job.hints.total = pow (10, 3 + 3 * rng_uniform (rng)); /* iterations */
    }
    snprintf (job.spec.name, sizeof (job.spec.name), format, index);
    job_clear (&instance->jobs[index]);
    instance->jobs[index] = job;
}

static void *need (void *memory)
{
    if (!memory) {
        fputs ("bench/scale: out of memory\n", stderr);
        exit (1);
    }
    return memory;
}

static struct instance instance_new (const struct size *size, uint64_t seed)
{
    int nodes = size->gpus / size->per_node;
    struct instance instance = {
        .view = {.node_count = nodes,
                 .job_count = size->jobs,
                 .interval_s = 60,
                 .restart_delay_s = 30,
                 .p = -1,
                 .search = POLLUX_EXACT},
        .nodes = need (calloc ((size_t)nodes, sizeof (struct node))),
        .jobs = need (calloc ((size_t)size->jobs, sizeof (struct job))),
        .order = need (calloc ((size_t)size->jobs, sizeof (struct job *))),
        .types = size->types,
        .subject = size->subject,
        .rng = rng_stream (seed, (uint64_t)size->gpus),
    };
    for (int i = 0; i < nodes; i++) {
        instance.nodes[i] = (struct node){.slots = size->per_node, .available = true};
        snprintf (instance.nodes[i].name, NAME_SIZE, "n%d", i);
        if (size->types > 1)
            snprintf (instance.nodes[i].type, NAME_SIZE, "%s", types[i % 3].name);
    }
    for (int i = 0; i < size->jobs; i++) {
        job_new (&instance, i, -7200 * log (1 - rng_uniform (&instance.rng)));
        instance.order[i] = &instance.jobs[i];
    }
    instance.view.nodes = instance.nodes;
    instance.view.jobs = instance.order;
    return instance;
}

static void instance_free (struct instance *instance)
{
    for (int i = 0; i < instance->view.job_count; i++)
        job_clear (&instance->jobs[i]);
    free (instance->nodes);
    free (instance->jobs);
    free (instance->order);
}

/* Carry out the plan, and let a minute pass. */
static void instance_advance (struct instance *instance, const struct plan *plan)
{
    for (int i = 0; i < instance->view.job_count; i++) {
        struct job *job = &instance->jobs[i];
        if (rng_uniform (&instance->rng) < 0.01) {
            job_new (instance, i, 60 * rng_uniform (&instance->rng));
            continue;
        }
        struct placement next = plan_placement (plan, i);
        job->restarts +=
            job->placement.count > 0 && next.count > 0 && !placement_same (job->placement, next);
        if (job_place (job, next) < 0)
            need (NULL);
        job->age_s += 60;
        job->hints.grad.var *= jitter (&instance->rng, 0.05);
    }
    instance->view.seed++;
}

/* ---- Measuring ---- */

struct measured {
    double cold_ms, warm_ms;   /* medians */
    double cold_gap, warm_gap; /* means, % */
    double memory_mb;
};

static double decide_ms (const struct policy *policy, const struct view *view,
                         struct memory *memory, struct plan *plan)
{
    struct pollux_error err;
    double start_s = bench_cpu_s ();
    if (decide (policy, view, memory, plan, &err) < 0) {
        fprintf (stderr, "bench/scale: %s\n", err.text);
        exit (1);
    }
    return 1e3 * (bench_cpu_s () - start_s);
}

static double gap_of (const struct plan *plan)
{
    return 100 * (plan->bound - plan->fitness) / plan->bound;
}

static double median (double *values, int count)
{
    qsort (values, (size_t)count, sizeof (values[0]), bench_compare);
    return values[count / 2];
}

static struct measured measure (const struct size *size)
{
    enum { WARM_ROUNDS = 3, PROBLEMS_MOST = 256 };
    double cold_ms[PROBLEMS_MOST] = {0}, warm_ms[PROBLEMS_MOST * WARM_ROUNDS] = {0};
    struct measured measured = {0};
    const struct policy *policy;
    if (policy_find (size->subject->policy, &policy, NULL) < 0)
        exit (1);
    for (int i = 0; i < size->problems; i++) {
        struct instance instance = instance_new (size, (uint64_t)i);
        struct memory memory;
        struct plan plan = {0};
        if (memory_new (policy, &memory, NULL) < 0)
            need (NULL);
        cold_ms[i] = decide_ms (policy, &instance.view, &memory, &plan);
        measured.cold_gap += gap_of (&plan) / size->problems;
        for (int j = 0; j < WARM_ROUNDS; j++) {
            instance_advance (&instance, &plan);
            warm_ms[i * WARM_ROUNDS + j] = decide_ms (policy, &instance.view, &memory, &plan);
            measured.warm_gap += gap_of (&plan) / size->problems / WARM_ROUNDS;
        }
        plan_clear (&plan);
        memory_clear (&memory);
        instance_free (&instance);
    }
    measured.cold_ms = median (cold_ms, size->problems);
    measured.warm_ms = median (warm_ms, size->problems * WARM_ROUNDS);
    struct rusage usage;
    getrusage (RUSAGE_SELF, &usage);
    measured.memory_mb =
        (double)usage.ru_maxrss / 1024; /* sizes rise, so this is the peak of this size */
    return measured;
}

/* ---- Printing ---- */

static void print_lines (const struct size *size, const struct measured *measured)
{
    char name[64];
    const struct {
        const char *what;
        double value;
        const char *unit;
        double limit;
    } lines[] = {
        {"cold", measured->cold_ms, "ms", size->limit_ms},
        {"warm", measured->warm_ms, "ms", size->limit_ms},
        {"cold-gap", measured->cold_gap, "%", size->limit_gap},
        {"warm-gap", measured->warm_gap, "%", size->limit_gap},
        {"memory", measured->memory_mb, "MB", 0},
    };
    for (size_t i = 0; i < sizeof (lines) / sizeof (lines[0]); i++) {
        snprintf (name, sizeof (name), "%s%dgpus-%djobs%s-%s", size->subject->prefix, size->gpus,
                  size->jobs, size->types > 1 ? "-3types" : "", lines[i].what);
        bench_print (name, lines[i].value, lines[i].unit);
        if (lines[i].limit > 0)
            bench_target (name, lines[i].value, lines[i].limit);
    }
}

int main (int argc, char **argv)
{
    bool table = false;
    int most = INT_MAX;
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp (argv[i], "--table") == 0) {
            table = true;
        } else if (strcmp (argv[i], "--most") == 0 && i + 1 < argc) {
            most = atoi (argv[++i]);
        } else if (strcmp (argv[i], "--policy") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else {
            fputs ("usage: scale [--table] [--most GPUS] [--policy NAME]\n", stderr);
            return 2;
        }
    }
    if (table)
        printf ("%-10s %5s %8s %8s %10s %10s %9s %9s %10s\n", "policy", "types", "GPUs", "jobs",
                "cold ms", "warm ms", "cold gap", "warm gap", "memory MB");
    double first_ms = 0, last_ms = 0;
    int first = 0, last = 0;
    for (int i = 0; i < SIZES; i++) {
        if (sizes[i].gpus > most || (only && strcmp (only, sizes[i].subject->policy) != 0))
            continue;
        struct measured measured = measure (&sizes[i]);
        if (table)
            printf ("%-10s %5d %8d %8d %10.3f %10.3f %7.3f %% %7.3f %% %10.1f\n",
                    sizes[i].subject->policy, sizes[i].types, sizes[i].gpus, sizes[i].jobs,
                    measured.cold_ms, measured.warm_ms, measured.cold_gap, measured.warm_gap,
                    measured.memory_mb);
        else
            print_lines (&sizes[i], &measured);
        fflush (stdout);
        if (sizes[i].types > 1 || sizes[i].subject != &pollux)
            continue;
        if (sizes[i].gpus >= 512 && first == 0) {
            first = sizes[i].gpus;
            first_ms = measured.cold_ms;
        }
        last = sizes[i].gpus;
        last_ms = measured.cold_ms;
    }
    if (last > first && first > 0) {
        double exponent = log (last_ms / first_ms) / log ((double)last / first);
        if (table)
            printf ("From %d to %d GPUs the time grows with the power %.2f of the GPUs.\n", first,
                    last, exponent);
        else
            bench_print ("growth-exponent", exponent, "");
    }
    return 0;
}
