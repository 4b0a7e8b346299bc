/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux goodput: the goodput of a job on 1, 2, 3, ... slots, on one node and on several, each with
 * its best batch: as a table, a plot and a sentence, or as JSON.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/job_options.h"
#include "base/options.h"
#include "cli/json_output.h"
#include "cli/plot.h"
#include "cli/table.h"
#include "wire/job.h"

enum {
    GOODPUT_NODES = 1,
    GOODPUT_SLOTS_PER_NODE,
    GOODPUT_MAX_REPLICAS,
    GOODPUT_SEARCH,
    GOODPUT_ALL,
    GOODPUT_JSON
};

static const struct command_option goodput_options[] = {
    {"nodes", "N", GOODPUT_NODES, "nodes of the cluster (16)"},
    {"gpus-per-node", "G", GOODPUT_SLOTS_PER_NODE, "GPUs of each node (4)"},
    {"max-replicas", "K", GOODPUT_MAX_REPLICAS, "largest number of GPUs (all)"},
    {"search", "exact|reference", GOODPUT_SEARCH, "search every legal batch (exact) or 50 of them"},
    {"all", NULL, GOODPUT_ALL, "print a row for every number of GPUs"},
    {"json", NULL, GOODPUT_JSON, "print every point as JSON"},
    JOB_OPTIONS,
};

struct goodput_arguments {
    const char *path;
    int nodes, slots_per_node;
    int max_replicas; /* 0: all slots */
    enum pollux_search search;
    bool all, json;
    struct job_options job;
};

/* ---- Arguments ---------------------------------------------------------------------------- */

static int take (void *self, int id, const struct options *options, struct pollux_error *err)
{
    struct goodput_arguments *ret = self;
    int64_t number = 0;
    size_t choice = 0;
    int code;
    switch (id) {
    case GOODPUT_NODES:
        code = options_int64 (options, 1, POLLUX_REPLICAS_LIMIT, &number, err);
        ret->nodes = (int)number;
        return code;
    case GOODPUT_SLOTS_PER_NODE:
        code = options_int64 (options, 1, POLLUX_REPLICAS_LIMIT, &number, err);
        ret->slots_per_node = (int)number;
        return code;
    case GOODPUT_MAX_REPLICAS:
        code = options_int64 (options, 1, POLLUX_REPLICAS_LIMIT, &number, err);
        ret->max_replicas = (int)number;
        return code;
    case GOODPUT_SEARCH:
        code = options_choice (options, wire_search_names, POLLUX_REFERENCE + 1, &choice, err);
        ret->search = (enum pollux_search)choice;
        return code;
    case GOODPUT_ALL:
        ret->all = true;
        return 0;
    case GOODPUT_JSON:
        ret->json = true;
        return 0;
    default:
        code = job_options_take (&ret->job, id, options, err);
        return code < 0 ? code : 0;
    }
}

static int parse (struct options *options, struct goodput_arguments *ret, struct pollux_error *err)
{
    struct goodput_arguments arguments = {
        .nodes = 16, .slots_per_node = 4, .search = POLLUX_EXACT, .job = job_options_start ()};
    int code = options_each (options, take, &arguments, err);
    if (code == 0)
        code = options_operand (options, &arguments.path, err);
    if (code < 0)
        return code;
    int64_t slots = (int64_t)arguments.nodes * arguments.slots_per_node;
    if (arguments.max_replicas == 0 || arguments.max_replicas > slots)
        arguments.max_replicas = slots < POLLUX_REPLICAS_LIMIT ? (int)slots : POLLUX_REPLICAS_LIMIT;
    *ret = arguments;
    return 0;
}

/* Refuse a job whose object and options together lack a needed value. */
static int expect_whole (const struct wire_job *job, const struct wire_place *object,
                         struct pollux_error *err)
{
    const struct {
        const char *field;
        bool known;
        const char *expected;
    } needs[] = {
        {"model", job->has_model, "one as pollux fit --json prints it"},
        {"grad", job->has_grad, "it, or --noise-scale, or --grad-sqr and --grad-var"},
        {"init_batch", job->limits.init_batch > 0, "it, or --init-batch"},
        {"max_batch", job->limits.max_batch > 0, "it, or --max-batch"},
        {"min_local", job->limits.min_local > 0, "it, or --min-local"},
        {"max_local", job->limits.max_local > 0, "it, or --max-local"},
    };
    for (size_t i = 0; i < sizeof (needs) / sizeof (needs[0]); i++) {
        struct wire_place place = wire_field (object, needs[i].field);
        if (!needs[i].known)
            return wire_fail (&place, err, "expected %s", needs[i].expected);
    }
    return 0;
}

/* Read the job object of the file; options override its fields. */
static int read_job (const struct goodput_arguments *arguments, struct wire_job *ret,
                     struct pollux_error *err)
{
    struct wire_document *document;
    int code = wire_document_read (arguments->path, WIRE_JOB_LIMIT, &document, err);
    if (code < 0)
        return code;
    struct wire_place root = wire_root (document);
    struct wire_job job;
    code = wire_job_decode (&root, &job, err);
    if (code == 0)
        code = job_options_apply (&arguments->job, &job, err);
    if (code == 0)
        code = expect_whole (&job, &root, err);
    wire_document_free (document);
    if (code == 0)
        *ret = job;
    return code;
}

/* ---- Curves ------------------------------------------------------------------------------- */

/* One point of a curve.  No legal batch: goodput 0. */
struct point {
    struct pollux_shape shape;
    struct pollux_batch batch;
    double total, throughput, efficiency, goodput, speedup;
};

/* Points for 1..count replicas: on one node, up to its slots; and on the fewest nodes, at least
 * two.  many[0] is empty: one replica has one node. */
struct curves {
    struct point *one, *many;
    int one_count, many_count;
    const struct point *unit; /* denominator of speedups; NULL: no legal point */
};

static struct point find_point (const struct wire_job *job, struct pollux_shape shape,
                                struct pollux_best best)
{
    struct point point = {.shape = shape, .batch = best.batch, .goodput = best.goodput};
    if (best.goodput > 0) {
        point.total = pollux_total_batch (shape, best.batch);
        point.throughput = pollux_throughput (&job->model, shape, best.batch);
        point.efficiency = pollux_efficiency (job->grad, job->limits.init_batch, point.total);
    }
    return point;
}

static void curves_free (struct curves *curves)
{
    free (curves->one);
    free (curves->many);
}

/* Speedups are relative to the fewest slots with a legal batch. */
static void find_speedups (struct curves *curves)
{
    int most = curves->one_count > curves->many_count ? curves->one_count : curves->many_count;
    for (int k = 0; k < most && !curves->unit; k++) {
        if (k < curves->one_count && curves->one[k].goodput > 0)
            curves->unit = &curves->one[k];
        else if (k < curves->many_count && curves->many[k].goodput > 0)
            curves->unit = &curves->many[k];
    }
    if (!curves->unit)
        return;
    double unit = curves->unit->goodput;
    for (int k = 0; k < curves->one_count; k++)
        curves->one[k].speedup = curves->one[k].goodput / unit;
    for (int k = 0; k < curves->many_count; k++)
        curves->many[k].speedup = curves->many[k].goodput / unit;
}

/* On success the points belong to the caller (curves_free). */
static int find_curves (const struct wire_job *job, const struct goodput_arguments *arguments,
                        struct curves *ret, struct pollux_error *err)
{
    int most = arguments->max_replicas, per_node = arguments->slots_per_node;
    size_t size = (size_t)most;
    struct curves curves = {
        .one = calloc (size, sizeof (*curves.one)),
        .many = calloc (size, sizeof (*curves.many)),
        .one_count = most < per_node ? most : per_node,
        .many_count = arguments->nodes > 1 ? most : 0,
    };
    struct pollux_best *best = calloc (2 * size, sizeof (*best));
    int code = curves.one && curves.many && best
                   ? pollux_curve (&job->model, job->grad, &job->limits, arguments->search, most,
                                   best, best + size, err)
                   : fail (err, -ENOMEM, "not enough memory for %d replicas", most);
    if (code < 0)
        goto out;
    for (int k = 1; k <= curves.one_count; k++)
        curves.one[k - 1] =
            find_point (job, (struct pollux_shape){.nodes = 1, .replicas = k}, best[k - 1]);
    for (int k = 2; k <= curves.many_count; k++) {
        int nodes = (k + per_node - 1) / per_node;
        struct pollux_shape shape = {.nodes = nodes < 2 ? 2 : nodes, .replicas = k};
        curves.many[k - 1] = find_point (job, shape, best[size + (size_t)k - 1]);
    }
    find_speedups (&curves);
    for (size_t i = 0; i < 2 * size; i++) {
        if (!isfinite (best[i].goodput)) {
            code = fail (err, -EINVAL, "model: expected steps that take time, got %g s",
                         pollux_grad_time (&job->model, best[i].batch.m));
            goto out;
        }
    }
    *ret = curves;
    curves = (struct curves){0};
out:
    curves_free (&curves);
    free (best);
    return code;
}

/* ---- For people --------------------------------------------------------------------------- */

/* Slot counts with a row, without --all: 1, 2, 3, 4, 6, 8, 12, 16, ..., and the last. */
static bool has_row (int k, int most)
{
    int power = k;
    while (power > 3 && power % 2 == 0)
        power /= 2;
    return power <= 3 || k == most;
}

static void point_cells (struct table *table, const struct point *point, int decimals)
{
    table_cell (table, "%d", point->shape.replicas);
    table_cell (table, "%d", point->shape.nodes);
    if (!(point->goodput > 0)) {
        for (int i = 0; i < 7; i++)
            table_cell (table, "-");
        return;
    }
    table_cell (table, "%.0f", point->total);
    table_cell (table, "%lld", (long long)point->batch.m);
    table_cell (table, "%lld", (long long)point->batch.s);
    table_cell (table, "%.*f", decimals, point->throughput);
    table_cell (table, "%.1f %%", 100 * point->efficiency);
    table_cell (table, "%.*f", decimals, point->goodput);
    table_cell (table, "%.2f", point->speedup);
}

static int print_table (const struct curves *curves, int most, bool all, struct terminal terminal,
                        FILE *out, struct pollux_error *err)
{
    static const char *const titles[] = {"GPUs",       "nodes",      "batch",   "m",      "s",
                                         "throughput", "efficiency", "goodput", "speedup"};
    double largest = 0;
    for (int k = 0; k < most; k++) {
        largest = fmax (largest, k < curves->one_count ? curves->one[k].throughput : 0);
        largest = fmax (largest, k < curves->many_count ? curves->many[k].throughput : 0);
    }
    int decimals = table_decimals (largest, 5);
    struct table table = TABLE_START (titles);
    for (int k = 1; k <= most; k++) {
        if (!all && !has_row (k, most))
            continue;
        if (k <= curves->one_count)
            point_cells (&table, &curves->one[k - 1], decimals);
        if (k >= 2 && k <= curves->many_count)
            point_cells (&table, &curves->many[k - 1], decimals);
    }
    return table_end (&table, terminal, out, err);
}

/* Goodput over slots; a point without a legal batch breaks the line. */
static int print_plot (const struct curves *curves, struct terminal terminal, FILE *out,
                       struct pollux_error *err)
{
    size_t one = (size_t)curves->one_count, many = (size_t)curves->many_count;
    double *values = calloc (2 * (one + many), sizeof (*values));
    if (!values)
        return fail (err, -ENOMEM, "not enough memory for a plot");
    double *x = values, *y = values + one + many;
    for (size_t i = 0; i < one + many; i++) {
        const struct point *point = i < one ? &curves->one[i] : &curves->many[i - one];
        x[i] = (double)(i < one ? i + 1 : i - one + 1);
        y[i] = point->goodput > 0 ? point->goodput : NAN;
    }
    const struct plot plot = {.x_label = "GPUs", .y_label = "goodput (useful samples/s)"};
    const struct plot_series series[] = {
        {.name = "many nodes", .x = x + one, .y = y + one, .count = many},
        {.name = "one node", .x = x, .y = y, .count = one},
    };
    /* Without several nodes there is one curve. */
    int code = plot_print (&plot, series + (many == 0), many ? 2 : 1, terminal, out, err);
    free (values);
    return code;
}

/* One sentence: the best placement, and up to how many slots scaling is efficient. */
static void print_summary (const struct curves *curves, FILE *out)
{
    const struct point *best = curves->unit;
    int first = best->shape.replicas, half = first;
    for (int i = 0; i < curves->one_count + curves->many_count; i++) {
        const struct point *point =
            i < curves->one_count ? &curves->one[i] : &curves->many[i - curves->one_count];
        best = point->goodput > best->goodput ? point : best;
        if (point->speedup * first >= 0.5 * point->shape.replicas && point->shape.replicas > half)
            half = point->shape.replicas;
    }
    fprintf (out,
             "Most goodput: %.5g samples/s on %d GPU%s, %.2f times that of %d.\n"
             "Up to %d GPU%s, goodput per GPU is at least half of that on %d.\n",
             best->goodput, best->shape.replicas, best->shape.replicas == 1 ? "" : "s",
             best->speedup, first, half, half == 1 ? "" : "s", first);
}

static int print_all (const struct curves *curves, const struct goodput_arguments *arguments,
                      FILE *out, struct pollux_error *err)
{
    struct terminal terminal = terminal_of (out);
    fprintf (out, "Best batch on nodes of %d GPU%s (%s search), rates in samples/s:\n\n",
             arguments->slots_per_node, arguments->slots_per_node == 1 ? "" : "s",
             wire_search_names[arguments->search]);
    int code = print_table (curves, arguments->max_replicas, arguments->all, terminal, out, err);
    fputc ('\n', out);
    if (code == 0)
        code = print_plot (curves, terminal, out, err);
    fputc ('\n', out);
    print_summary (curves, out);
    return code;
}

/* ---- For programs ------------------------------------------------------------------------- */

static json_t *encode_point (const struct point *point)
{
    if (!(point->goodput > 0))
        return json_pack ("{s:i, s:i, s:n, s:n, s:n, s:n, s:n, s:i, s:i}", "replicas",
                          point->shape.replicas, "nodes", point->shape.nodes, "batch", "m", "s",
                          "throughput", "efficiency", "goodput", 0, "speedup", 0);
    return json_pack ("{s:i, s:i, s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "replicas",
                      point->shape.replicas, "nodes", point->shape.nodes, "batch",
                      (json_int_t)point->total, "m", (json_int_t)point->batch.m, "s",
                      (json_int_t)point->batch.s, "throughput", point->throughput, "efficiency",
                      point->efficiency, "goodput", point->goodput, "speedup", point->speedup);
}

static json_t *encode_points (const struct point *points, int from, int to)
{
    json_t *array = json_array ();
    for (int i = from; array && i < to; i++) {
        if (json_array_append_new (array, encode_point (&points[i])) < 0) {
            json_decref (array);
            array = NULL;
        }
    }
    return array;
}

static json_t *encode_curves (const struct curves *curves,
                              const struct goodput_arguments *arguments)
{
    return json_pack ("{s:s, s:i, s:i, s:o, s:o}", "search", wire_search_names[arguments->search],
                      "cluster_nodes", arguments->nodes, "gpus_per_node", arguments->slots_per_node,
                      "one_node", encode_points (curves->one, 0, curves->one_count), "many_nodes",
                      encode_points (curves->many, 1, curves->many_count));
}

/* ---- The command -------------------------------------------------------------------------- */

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct goodput_arguments arguments;
    struct wire_job job;
    struct curves curves = {0};
    int code = parse (options, &arguments, err);
    if (code == 0)
        code = read_job (&arguments, &job, err);
    if (code == 0)
        code = find_curves (&job, &arguments, &curves, err);
    if (code < 0)
        return code;
    if (arguments.json)
        code = output_json (encode_curves (&curves, &arguments), out, err);
    else if (curves.unit)
        code = print_all (&curves, &arguments, out, err);
    else
        code = fail (err, -EINVAL,
                     "%s: no batch is legal on 1 to %d GPUs: expected some GPUs x m x (s+1) from "
                     "init_batch to max_batch with m from min_local to max_local",
                     file_name (arguments.path).text, arguments.max_replicas);
    curves_free (&curves);
    return code;
}

const struct command goodput_command = {
    .name = "goodput",
    .operands = "MODEL.json",
    .summary = "predict a job's best batch and goodput on any number of GPUs",
    .description =
        "Predicts the goodput of a job on 1, 2, 3, ... GPUs, on one node and on several: for each\n"
        "number the best total batch (GPUs x m x (s+1): m samples per micro-batch, s extra\n"
        "accumulation steps), throughput, statistical efficiency, goodput and speedup.\n"
        "\n"
        "MODEL.json (- for the standard input) is a job object, as pollux fit --json prints it.\n"
        "Options give the fields that it lacks, and override the others.",
    COMMAND_OPTIONS (goodput_options),
    .run = run,
};
