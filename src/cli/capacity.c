/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux capacity: the number of nodes that a workload needs.  Simulates doubling cluster sizes in
 * parallel.  With a target, bisection finds the smallest size that meets it, assuming that more
 * nodes are never worse.  For clusters with types, see capacity_mix.c.
 */
#include "cli/capacity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/number.h"
#include "base/options.h"
#include "cli/json_output.h"
#include "cli/plot.h"
#include "cli/policy_options_help.h"
#include "cli/simulations.h"
#include "cli/table.h"
#include "policy/policy_options.h"

enum {
    OPTION_POLICY = SIM_OPTION_NEXT,
    OPTION_MEAN,
    OPTION_P99,
    OPTION_MIN,
    OPTION_MAX,
    OPTION_PRICE,
    OPTION_THREADS,
    OPTION_JSON
};

static const struct command_option option_rows[] = {
    {"target-mean", "SECONDS", OPTION_MEAN, "target for the mean completion time"},
    {"target-p99", "SECONDS", OPTION_P99, "target for the 99th percentile of completion times"},
    {"policy", "NAME", OPTION_POLICY, "the policy (pollux)"},
    {"min-nodes", "N", OPTION_MIN, "smallest cluster to simulate (1)"},
    {"max-nodes", "N", OPTION_MAX, "largest cluster to simulate (64)"},
    {"price", "X|TYPE=X,...", OPTION_PRICE, "cost of a GPU per hour, used or not (1)"},
    SIM_OPTION_ROWS,
    {"threads", "N", OPTION_THREADS, "simulations at the same time (one per processor)"},
    {"json", NULL, OPTION_JSON, "print JSON"},
};

/* One cluster size, over all workloads. */
struct size {
    int nodes;
    double mean_jct_s, p99_jct_s; /* means over the workloads */
    double utilisation;
    double cost; /* of keeping all slots from the first submission to the last completion */
    bool enough;
};

/* Doubling from 1 to 65,536 is 17 sizes, bisection adds at most 16. */
enum { SIZES_LIMIT = 40 };

struct study {
    struct size sizes[SIZES_LIMIT]; /* by nodes */
    int count;
};

/* "t4=0.5,a100=3" */
static int parse_prices (const char *text, struct capacity_request *ret, struct pollux_error *err)
{
    int count = 0;
    for (const char *at = text; at; at = strchr (at, ',') ? strchr (at, ',') + 1 : NULL) {
        if (count == NODE_GROUPS_LIMIT)
            return fail (err, -EINVAL, "--price: more than %d types", NODE_GROUPS_LIMIT);
        char word[NAME_SIZE + 32];
        size_t length = strcspn (at, ","), name = strcspn (at, "=");
        struct type_price *price = &ret->prices[count];
        snprintf (word, sizeof (word), "%.*s", (int)(length < 80 ? length : 80), at);
        if (length > 80 || name >= length || name == 0 || name >= NAME_SIZE ||
            number_double (word + name + 1, &price->price) < 0 || !(price->price >= 0) ||
            price->price > 1e9)
            return fail (err, -EINVAL, "--price: expected TYPE=PRICE, such as a100=3.2, got %s",
                         quote (word).text);
        snprintf (price->type, NAME_SIZE, "%.*s", (int)name, at);
        for (int i = 0; i < count; i++)
            if (strcmp (ret->prices[i].type, price->type) == 0)
                return fail (err, -EINVAL, "--price: type %s twice", price->type);
        count++;
    }
    ret->price_count = count;
    return 0;
}

bool capacity_has_target (const struct capacity_request *request)
{
    return !isnan (request->target_mean_s) || !isnan (request->target_p99_s);
}

static int check_types (const struct capacity_request *request, struct pollux_error *err)
{
    bool typed = request->sim.config.group_count > 0;
    if (typed && request->has_range && request->sim.goal_count == 0)
        return fail (err, -EINVAL,
                     "--min-nodes and --max-nodes exclude --node-group and --cluster, "
                     "which say how many nodes of each type there are at most");
    if (request->sim.goal_count > 0 && (capacity_has_target (request) || request->has_price))
        return fail (err, -EINVAL,
                     "--goal excludes --target-mean, --target-p99 and --price; prices are those of "
                     "--cluster");
    if (!typed && request->price_count > 0)
        return fail (err, -EINVAL, "--price: prices of types need --node-group or --cluster");
    return 0;
}

static int parse (struct options *options, struct capacity_request *ret, struct pollux_error *err)
{
    struct capacity_request request = {.sim = sim_options_defaults (),
                                       .target_mean_s = NAN,
                                       .target_p99_s = NAN,
                                       .min_nodes = 1,
                                       .max_nodes = 64,
                                       .price = 1};
    int rc = policy_find ("pollux", &request.policy, err), id = 0;
    while (rc == 0 && (id = options_next (options, err)) > 0) {
        switch (id) {
        case OPTION_POLICY:
            rc = policy_find (options->argument, &request.policy, err);
            break;
        case OPTION_MEAN:
            rc = options_double (options, 1, 1e9, &request.target_mean_s, err);
            break;
        case OPTION_P99:
            rc = options_double (options, 1, 1e9, &request.target_p99_s, err);
            break;
        case OPTION_MIN:
            rc = options_int64 (options, 1, NODES_LIMIT, &request.min_nodes, err);
            request.has_range = true;
            break;
        case OPTION_MAX:
            rc = options_int64 (options, 1, NODES_LIMIT, &request.max_nodes, err);
            request.has_range = true;
            break;
        case OPTION_PRICE:
            request.has_price = true;
            rc = strchr (options->argument, '=')
                     ? parse_prices (options->argument, &request, err)
                     : options_double (options, 0, 1e9, &request.price, err);
            break;
        case OPTION_THREADS:
            rc = options_int64 (options, 1, 256, &request.threads, err);
            break;
        case OPTION_JSON:
            request.json = true;
            break;
        default:
            rc = sim_options_take (&request.sim, options, id, err);
        }
    }
    if (rc == 0 && id == 0 && request.max_nodes < request.min_nodes)
        rc = fail (err, -EINVAL, "--max-nodes %lld is below --min-nodes %lld",
                   (long long)request.max_nodes, (long long)request.min_nodes);
    if (rc == 0 && id == 0)
        rc = check_types (&request, err);
    if (rc == 0 && id == 0)
        rc = sim_options_check (&request.sim, err);
    if (rc == 0 && id == 0)
        rc = policy_settings_check (&request.sim.config.settings, &request.policy, 1, err);
    if (rc == 0 && id == 0)
        *ret = request;
    return rc < 0 ? rc : id;
}

bool capacity_meets (const struct capacity_request *request, double mean_jct_s, double p99_jct_s)
{
    return !(mean_jct_s > request->target_mean_s) && !(p99_jct_s > request->target_p99_s);
}

/* The index of a size in the study, or where it is to be inserted. */
static int index_of (const struct study *study, int nodes)
{
    int at = 0;
    while (at < study->count && study->sizes[at].nodes < nodes)
        at++;
    return at;
}

static void add_size (struct study *study, const struct capacity_request *request,
                      const struct sim_task *tasks, int workloads)
{
    struct size size = {.nodes = tasks[0].config.nodes};
    double slots = (double)size.nodes * request->sim.config.slots_per_node;
    for (int w = 0; w < workloads; w++) {
        const struct sim_result *result = &tasks[w].result;
        size.mean_jct_s += result->mean_jct_s / workloads;
        size.p99_jct_s += result->p99_jct_s / workloads;
        size.utilisation += result->utilisation / workloads;
        size.cost += slots * result->makespan_s / 3600 * request->price / workloads;
    }
    size.enough = capacity_meets (request, size.mean_jct_s, size.p99_jct_s);
    int at = index_of (study, size.nodes);
    for (int i = study->count++; i > at; i--)
        study->sizes[i] = study->sizes[i - 1];
    study->sizes[at] = size;
}

/* Simulate several sizes in parallel and add them to the study. */
static int measure (struct study *study, const struct capacity_request *request,
                    const struct sim_inputs *inputs, const int *nodes, int size_count,
                    struct pollux_error *err)
{
    struct simulations simulations;
    int rc = simulations_new (&request->sim.config, inputs, size_count, &simulations, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < simulations.count; i++) {
        simulations.tasks[i].config.nodes = nodes[i / inputs->count];
        simulations.tasks[i].policy = request->policy;
    }
    rc = simulations_run (&simulations, (int)request->threads, err);
    for (int i = 0; i < size_count && rc == 0; i++)
        add_size (study, request, &simulations.tasks[i * inputs->count], inputs->count);
    simulations_clear (&simulations);
    return rc;
}

static int explore (struct study *study, const struct capacity_request *request,
                    const struct sim_inputs *inputs, struct pollux_error *err)
{
    int nodes[SIZES_LIMIT], count = 0;
    for (int64_t n = request->min_nodes; n < request->max_nodes; n *= 2)
        nodes[count++] = (int)n;
    nodes[count++] = (int)request->max_nodes;
    int rc = measure (study, request, inputs, nodes, count, err);
    if (rc < 0 || !capacity_has_target (request) || !study->sizes[study->count - 1].enough)
        return rc;
    for (;;) { /* bisect between the largest size that misses the target and the next one */
        int at = study->count - 1;
        while (at > 0 && study->sizes[at - 1].enough)
            at--;
        int above = study->sizes[at].nodes, below = at > 0 ? study->sizes[at - 1].nodes : above - 1;
        if (above - below <= 1)
            return 0;
        int middle = (above + below) / 2;
        rc = measure (study, request, inputs, &middle, 1, err);
        if (rc < 0)
            return rc;
    }
}

/* The smallest size such that it and all larger ones meet the target; NULL: none. */
static const struct size *smallest_enough (const struct study *study)
{
    int at = study->count;
    while (at > 0 && study->sizes[at - 1].enough)
        at--;
    return at < study->count ? &study->sizes[at] : NULL;
}

static int print_json (const struct capacity_request *request, const struct study *study, FILE *out,
                       struct pollux_error *err)
{
    json_t *sizes = json_array ();
    for (int i = 0; i < study->count; i++) {
        const struct size *size = &study->sizes[i];
        json_array_append_new (
            sizes, json_pack ("{s:i, s:i, s:f, s:f, s:f, s:f, s:b}", "nodes", size->nodes, "gpus",
                              size->nodes * request->sim.config.slots_per_node, "mean_jct",
                              size->mean_jct_s, "p99_jct", size->p99_jct_s, "utilisation",
                              size->utilisation, "cost", size->cost, "enough", (int)size->enough));
    }
    const struct size *enough = capacity_has_target (request) ? smallest_enough (study) : NULL;
    return output_json (json_pack ("{s:s, s:s, s:o, s:o}", "policy", request->policy->name, "agent",
                                   job_agent_names[request->sim.config.agent], "nodes",
                                   enough ? json_integer (enough->nodes) : json_null (), "sizes",
                                   sizes),
                        out, err);
}

static int print_chart (const struct study *study, struct terminal terminal, FILE *out,
                        struct pollux_error *err)
{
    double nodes[SIZES_LIMIT], mean_h[SIZES_LIMIT], p99_h[SIZES_LIMIT];
    for (int i = 0; i < study->count; i++) {
        nodes[i] = study->sizes[i].nodes;
        mean_h[i] = study->sizes[i].mean_jct_s / 3600;
        p99_h[i] = study->sizes[i].p99_jct_s / 3600;
    }
    size_t count = (size_t)study->count;
    const struct plot_series series[] = {{"p99", nodes, p99_h, count},
                                         {"mean", nodes, mean_h, count}};
    const struct plot plot = {.x_label = "nodes (log)", .y_label = "JCT, hours", .x_log = true};
    fputc ('\n', out);
    return plot_print (&plot, series, 2, terminal, out, err);
}

static int print_study (const struct capacity_request *request, const struct study *study,
                        FILE *out, struct pollux_error *err)
{
    static const char *const titles[] = {"nodes", "GPUs", "mean JCT", "p99 JCT",
                                         "busy",  "cost", "<target"};
    struct terminal terminal = terminal_of (out);
    struct table table = table_start (titles, capacity_has_target (request) ? 7 : 6);
    for (int i = 0; i < study->count; i++) {
        const struct size *size = &study->sizes[i];
        table_cell (&table, "%d", size->nodes);
        table_cell (&table, "%d", size->nodes * request->sim.config.slots_per_node);
        table_cell (&table, "%.0f s", size->mean_jct_s);
        table_cell (&table, "%.0f s", size->p99_jct_s);
        table_cell (&table, "%.1f %%", 100 * size->utilisation);
        table_cell (&table, "%.2f", size->cost);
        if (capacity_has_target (request))
            table_cell (&table, "%s", size->enough ? "met" : "missed");
    }
    int rc = table_end (&table, terminal, out, err);
    if (rc == 0 && study->count > 1)
        rc = print_chart (study, terminal, out, err);
    if (rc < 0 || !capacity_has_target (request))
        return rc;
    const struct size *enough = smallest_enough (study);
    if (enough)
        fprintf (out, "\n%d node%s of %d GPUs %s enough under policy %s.\n", enough->nodes,
                 enough->nodes == 1 ? "" : "s", request->sim.config.slots_per_node,
                 enough->nodes == 1 ? "is" : "are", request->policy->name);
    else
        fprintf (out, "\nThe target is not met with up to %lld nodes; raise --max-nodes.\n",
                 (long long)request->max_nodes);
    return 0;
}

static int study_sizes (void *self, const struct sim_inputs *inputs, FILE *out,
                        struct pollux_error *err)
{
    const struct capacity_request *request = self;
    struct study study = {.count = 0};
    int rc = explore (&study, request, inputs, err);
    if (rc == 0)
        rc = request->json ? print_json (request, &study, out, err)
                           : print_study (request, &study, out, err);
    if (rc < 0)
        return rc;
    return capacity_has_target (request) && !smallest_enough (&study) ? EXIT_FAILED : EXIT_OK;
}

static int capacity_run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct capacity_request request;
    int rc = parse (options, &request, err);
    if (rc < 0)
        return rc;
    return with_sim_inputs (options, request.sim.files,
                            request.sim.goal_count > 0           ? capacity_study_goals
                            : request.sim.config.group_count > 0 ? capacity_study_mixes
                                                                 : study_sizes,
                            &request, out, err);
}

const struct command capacity_command = {
    .name = "capacity",
    .operands = "[WORKLOAD.csv|FOLDER]...",
    .summary = "how many nodes a workload needs",
    .description =
        "Simulates the workloads on clusters of doubling size and, with a target, finds the\n"
        "smallest size that meets it. The cost counts every GPU from the first submission to the\n"
        "last completion, whether it is used or not. With --node-group or --cluster, which say\n"
        "how many nodes each group has at most, it compares mixes of groups. With --goal "
        "it\n"
        "compares sizes that follow goals with fixed ones. Exit status 1: the target is not met.",
    .options = option_rows,
    .option_count = sizeof (option_rows) / sizeof (option_rows[0]),
    .more_help = policy_options_help,
    .run = capacity_run,
};
