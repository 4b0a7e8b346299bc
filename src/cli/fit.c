/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux fit: fit the throughput model to measured step times, and print it as tables or as a JSON
 * job object.  The tables show which parameters the samples determine and which are assumed, the
 * error of each sample's prediction, and the mean error.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/csv.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/job_options.h"
#include "base/options.h"
#include "cli/json_output.h"
#include "cli/table.h"
#include "model/fit.h"
#include "wire/job.h"

/* Samples listed without --all: two screens. */
#define LISTED 50

/* ---- Samples ------------------------------------------------------------------------------ */

struct columns {
    size_t nodes, replicas, local_bsz, grad_s, step_s, weight;
};

static int find_columns (const struct csv *csv, struct columns *ret, struct pollux_error *err)
{
    int code = csv_column (csv, "nodes", &ret->nodes, err);
    if (code == 0)
        code = csv_column (csv, "replicas", &ret->replicas, err);
    if (code == 0)
        code = csv_column (csv, "local_bsz", &ret->local_bsz, err);
    if (code == 0)
        code = csv_column (csv, "grad_s", &ret->grad_s, err);
    if (code == 0)
        code = csv_column (csv, "step_s", &ret->step_s, err);
    if (code == 0)
        ret->weight = csv_optional_column (csv, "weight");
    return code;
}

static int read_sample (const struct csv *csv, const struct columns *columns, size_t row,
                        struct pollux_sample *ret, struct pollux_error *err)
{
    struct pollux_sample sample = {.weight = 1};
    int64_t nodes = 0, replicas = 0;
    int code = csv_int64 (csv, row, columns->nodes, 1, POLLUX_REPLICAS_LIMIT, &nodes, err);
    if (code == 0)
        code = csv_int64 (csv, row, columns->replicas, 1, POLLUX_REPLICAS_LIMIT, &replicas, err);
    if (code == 0 && replicas < nodes)
        code = csv_fail (csv, row, columns->replicas, err,
                         "expected at least one replica on each of %d nodes", (int)nodes);
    if (code == 0)
        code = csv_int64 (csv, row, columns->local_bsz, 1, POLLUX_BATCH_LIMIT, &sample.m, err);
    if (code == 0)
        code = csv_double (csv, row, columns->grad_s, FIT_LEAST, FIT_MOST, &sample.grad_s, err);
    if (code == 0)
        code = csv_double (csv, row, columns->step_s, FIT_LEAST, FIT_MOST, &sample.step_s, err);
    if (code == 0 && columns->weight < csv_columns (csv))
        code = csv_double (csv, row, columns->weight, FIT_LEAST, FIT_MOST, &sample.weight, err);
    if (code < 0)
        return code;
    sample.shape = (struct pollux_shape){.nodes = (int)nodes, .replicas = (int)replicas};
    *ret = sample;
    return 0;
}

/* All samples of a table, in a new array. */
static int read_samples (const struct csv *csv, struct pollux_sample **ret,
                         struct pollux_error *err)
{
    struct columns columns;
    int code = find_columns (csv, &columns, err);
    if (code == 0)
        code = csv_expect_rows (csv, err);
    if (code < 0)
        return code;
    size_t count = csv_rows (csv);
    struct pollux_sample *samples = calloc (count, sizeof (*samples));
    if (!samples)
        return fail (err, -ENOMEM, "not enough memory for %zu samples", count);
    for (size_t row = 0; code == 0 && row < count; row++)
        code = read_sample (csv, &columns, row, &samples[row], err);
    if (code < 0)
        free (samples);
    else
        *ret = samples;
    return code;
}

/* ---- Tables ------------------------------------------------------------------------------- */

/* NULL if the samples determine a parameter, or else the reason why not. */
struct evidence {
    const char *alpha_grad, *node, *local, *beta_node, *beta_local, *gamma;
};

static struct evidence find_evidence (struct fit_seen seen)
{
    const char *no_third = "assumed: no sample with more than two replicas";
    struct evidence evidence = {
        .alpha_grad = seen.batches ? NULL : "assumed: all samples have one local_bsz",
        .node = seen.node ? NULL : "assumed: no sample on several nodes",
        .local = seen.local ? NULL : "assumed: no sample with several replicas on one node",
        .gamma = seen.node || seen.local ? NULL : "assumed: no sample with several replicas",
    };
    evidence.beta_node = evidence.node ? evidence.node : seen.third ? NULL : no_third;
    evidence.beta_local = evidence.local ? evidence.local : seen.third ? NULL : no_third;
    return evidence;
}

static int print_parameters (const struct pollux_model *model, struct evidence evidence,
                             struct terminal terminal, FILE *out, struct pollux_error *err)
{
    static const char *const titles[] = {"<parameter", "value", "<unit", "<from"};
    const struct {
        const char *name;
        double value;
        const char *unit, *assumed;
    } rows[] = {
        {"alpha_grad", model->alpha_grad, "s", evidence.alpha_grad},
        {"beta_grad", model->beta_grad, "s/sample", evidence.alpha_grad},
        {"alpha_local", model->alpha_local, "s", evidence.local},
        {"beta_local", model->beta_local, "s/replica", evidence.beta_local},
        {"alpha_node", model->alpha_node, "s", evidence.node},
        {"beta_node", model->beta_node, "s/replica", evidence.beta_node},
        {"gamma", model->gamma, "", evidence.gamma},
    };
    struct table table = TABLE_START (titles);
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        table_cell (&table, "%s", rows[i].name);
        table_cell (&table, "%.6g", rows[i].value);
        table_cell (&table, "%s", rows[i].unit);
        table_cell (&table, "%s", rows[i].assumed ? rows[i].assumed : "samples");
    }
    return table_end (&table, terminal, out, err);
}

/* A sample with the model's prediction. */
struct prediction {
    size_t row;
    double grad_s, step_s;
    double worst; /* the larger of both errors: |log (predicted / measured)| */
};

static struct prediction predict (const struct pollux_model *model,
                                  const struct pollux_sample *sample, size_t row)
{
    struct prediction p = {
        .row = row,
        .grad_s = pollux_grad_time (model, sample->m),
        .step_s = pollux_iter_time (model, sample->shape, (struct pollux_batch){.m = sample->m}),
    };
    p.worst = fmax (fabs (log (p.grad_s / sample->grad_s)), fabs (log (p.step_s / sample->step_s)));
    return p;
}

/* Worst first; the file's order among equals. */
static int compare_predictions (const void *left, const void *right)
{
    const struct prediction *a = left, *b = right;
    if (a->worst != b->worst)
        return a->worst < b->worst ? 1 : -1;
    return (a->row > b->row) - (a->row < b->row);
}

static double percent (double predicted, double measured)
{
    return 100 * (predicted / measured - 1);
}

static int print_samples (const struct csv *csv, const struct pollux_sample *samples,
                          const struct prediction *predictions, size_t count,
                          struct terminal terminal, FILE *out, struct pollux_error *err)
{
    static const char *const titles[] = {"line",  "nodes", "replicas", "local_bsz", "grad_s",
                                         "model", "error", "step_s",   "model",     "error"};
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax (largest, samples[predictions[i].row].step_s);
    int decimals = table_decimals (largest, 5);
    struct table table = TABLE_START (titles);
    for (size_t i = 0; i < count; i++) {
        const struct prediction *p = &predictions[i];
        const struct pollux_sample *sample = &samples[p->row];
        table_cell (&table, "%zu", csv_line (csv, p->row));
        table_cell (&table, "%d", sample->shape.nodes);
        table_cell (&table, "%d", sample->shape.replicas);
        table_cell (&table, "%lld", (long long)sample->m);
        table_cell (&table, "%.*f", decimals, sample->grad_s);
        table_cell (&table, "%.*f", decimals, p->grad_s);
        table_cell (&table, "%+.1f %%", percent (p->grad_s, sample->grad_s));
        table_cell (&table, "%.*f", decimals, sample->step_s);
        table_cell (&table, "%.*f", decimals, p->step_s);
        table_cell (&table, "%+.1f %%", percent (p->step_s, sample->step_s));
    }
    return table_end (&table, terminal, out, err);
}

static int print_fit (const struct csv *csv, const struct pollux_sample *samples,
                      const struct pollux_fit *fit, bool all, FILE *out, struct pollux_error *err)
{
    size_t count = csv_rows (csv);
    struct prediction *predictions = calloc (count, sizeof (*predictions));
    if (!predictions)
        return fail (err, -ENOMEM, "not enough memory for %zu samples", count);
    size_t worst = 0;
    for (size_t row = 0; row < count; row++) {
        predictions[row] = predict (&fit->model, &samples[row], row);
        worst = predictions[row].worst > predictions[worst].worst ? row : worst;
    }
    struct prediction worst_one = predictions[worst];
    bool listed = all || count <= LISTED;
    if (!listed)
        qsort (predictions, count, sizeof (*predictions), compare_predictions);

    struct terminal terminal = terminal_of (out);
    fprintf (out, "Throughput model, fitted to %zu sample%s:\n\n", count, count == 1 ? "" : "s");
    int code = print_parameters (&fit->model, find_evidence (fit_seen (samples, count)), terminal,
                                 out, err);
    fputs (listed ? "\nSamples, and what the model predicts:\n\n"
                  : "\nThe samples that are farthest from what the model predicts (--all lists "
                    "every one):\n\n",
           out);
    if (code == 0)
        code =
            print_samples (csv, samples, predictions, listed ? count : LISTED, terminal, out, err);
    free (predictions);
    const struct pollux_sample *sample = &samples[worst_one.row];
    fprintf (out,
             "\nQuality: root mean square error %.2f %% of the micro-step, %.2f %% of the step; "
             "loss %.6f.\nFarthest: line %zu, %+.1f %% of the micro-step, %+.1f %% of the step.\n",
             100 * fit->grad_error, 100 * fit->step_error, fit->loss, csv_line (csv, worst_one.row),
             percent (worst_one.grad_s, sample->grad_s),
             percent (worst_one.step_s, sample->step_s));
    return code;
}

/* ---- The command -------------------------------------------------------------------------- */

/* The job object, with the quality of the fit beside it. */
static int print_job (const struct wire_job *job, const struct pollux_fit *fit,
                      const struct pollux_sample *samples, size_t count, FILE *out,
                      struct pollux_error *err)
{
    int most = 0;
    for (size_t i = 0; i < count; i++)
        most = samples[i].shape.replicas > most ? samples[i].shape.replicas : most;
    json_t *object = wire_job_encode (job);
    json_t *quality = json_pack ("{s:I, s:i, s:f, s:f, s:f}", "samples", (json_int_t)count,
                                 "largest_replicas", most, "loss", fit->loss, "grad_error",
                                 fit->grad_error, "step_error", fit->step_error);
    if (json_object_set_new (object, "fit", quality) < 0) {
        json_decref (object);
        object = NULL;
    }
    return output_json (object, out, err);
}

enum { FIT_JSON = 1, FIT_ALL };

static const struct command_option fit_options[] = {
    {"json", NULL, FIT_JSON, "print a job object, for pollux goodput and other programs"},
    {"all", NULL, FIT_ALL, "list every sample, not only those with the largest errors"},
    JOB_OPTIONS,
};

struct fit_arguments {
    const char *path;
    bool json, all;
    struct job_options job;
};

static int parse (struct options *options, struct fit_arguments *ret, struct pollux_error *err)
{
    struct fit_arguments arguments = {.job = job_options_start ()};
    int id;
    while ((id = options_next (options, err)) > 0) {
        if (id == FIT_JSON)
            arguments.json = true;
        else if (id == FIT_ALL)
            arguments.all = true;
        else if ((id = job_options_take (&arguments.job, id, options, err)) < 0)
            return id;
    }
    if (id == 0)
        id = options_operand (options, &arguments.path, err);
    if (id < 0)
        return id;
    if (arguments.job.any && !arguments.json)
        return fail (err, -EINVAL,
                     "batches and gradient statistics complete the job object of "
                     "--json: add --json, or leave them out");
    *ret = arguments;
    return 0;
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct fit_arguments arguments;
    int code = parse (options, &arguments, err);
    struct wire_job job = {.has_model = true};
    if (code == 0)
        code = job_options_apply (&arguments.job, &job, err);
    if (code < 0)
        return code;

    struct csv *csv = NULL;
    struct pollux_sample *samples = NULL;
    struct pollux_fit fit;
    code = csv_read (arguments.path, &csv, err);
    if (code == 0)
        code = read_samples (csv, &samples, err);
    if (code == 0)
        code = pollux_fit (samples, csv_rows (csv), NULL, &fit, err);
    if (code == 0) {
        job.model = fit.model;
        code = arguments.json ? print_job (&job, &fit, samples, csv_rows (csv), out, err)
                              : print_fit (csv, samples, &fit, arguments.all, out, err);
    }
    free (samples);
    csv_free (csv);
    return code;
}

const struct command fit_command = {
    .name = "fit",
    .operands = "SAMPLES.csv",
    .summary = "fit the throughput model to measured step times",
    .description =
        "Fits the seven parameters of the throughput model to measured step times and prints\n"
        "them, with the error of every sample and the quality of the fit.\n"
        "\n"
        "SAMPLES.csv (- for the standard input) has one row per placement and batch:\n"
        "  nodes, replicas    the placement\n"
        "  local_bsz          samples in one replica's micro-batch\n"
        "  grad_s             mean seconds of a micro-step without synchronisation\n"
        "  step_s             mean seconds of a step with it\n"
        "  weight             optional: counts like that many equal rows\n"
        "\n"
        "With --json the result is a job object; what measurements of time cannot tell of the\n"
        "job, the other options add.",
    COMMAND_OPTIONS (fit_options),
    .run = run,
};
