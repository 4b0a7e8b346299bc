/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which mix of types should I buy?  Simulates the mixes whose numbers of nodes are 0, powers of two, or the most of each
 * type.  With a target, neighbours of the cheapest mix that meets it are simulated, too, as long as one of them is
 * cheaper: one node more or less of a group, or one of another group instead.
 *
 * The cost of a mix is its price per hour, times the time from the first submission to the last completion.
 */
#include "cli/capacity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/simulations.h"
#include "cli/table.h"

enum { MIXES_LIMIT = 1024, IMPROVEMENTS = 20, TITLE_SIZE = NAME_SIZE + 16 };

struct mix {
    int nodes[NODE_GROUPS_LIMIT]; /* by type; 0: none */
    int gpus;
    double mean_jct_s, p99_jct_s, utilisation; /* means over the workloads */
    double per_hour, cost;
    bool enough; /* it meets the target */
    bool best;   /* no other mix is both cheaper and faster */
};

struct study {
    const struct capacity_request *request;
    const struct node_group *groups;
    int type_count;
    struct mix *mixes;
    int count;
};

/* ---- Mixes --------------------------------------------------------------------------------- */

/* The next number of nodes: 0, 1, 2, 4, ..., most; -1: there is none. */
static int next_count (int nodes, int most)
{
    if (nodes == most)
        return -1;
    int next = nodes > 0 ? 2 * nodes : 1;
    return next < most ? next : most;
}

/* The cluster of a mix, without the types that it has none of. */
static struct sim_config config_of (const struct study *study, const struct mix *mix)
{
    struct sim_config config = study->request->sim.config;
    config.group_count = 0;
    for (int i = 0; i < study->type_count; i++)
        if (mix->nodes[i] > 0) {
            struct node_group *group = &config.groups[config.group_count++];
            *group = study->groups[i];
            group->nodes = group->max_nodes = mix->nodes[i];
            group->min_nodes = 0;
        }
    return config;
}

/* Can all jobs run in this mix? */
static bool is_possible (const struct study *study, const struct sim_inputs *inputs,
                         const struct mix *mix)
{
    struct sim_config config = config_of (study, mix);
    if (config.group_count == 0)
        return false;
    for (int w = 0; w < inputs->count; w++)
        for (int j = 0; j < inputs->workloads[w].workload.count; j++) {
            const struct workload_job *job = &inputs->workloads[w].workload.jobs[j];
            int slots = sim_app_slots (&config, job->app);
            if (slots == 0 || (!study->request->policy->elastic && job->replicas > slots))
                return false;
        }
    return true;
}

static bool is_known (const struct study *study, const struct mix *mix)
{
    for (int i = 0; i < study->count; i++)
        if (memcmp (study->mixes[i].nodes, mix->nodes, sizeof (mix->nodes)) == 0)
            return true;
    return false;
}

/* Add a mix to those that are to be simulated, if there is room. */
static void add_mix (struct study *study, const struct sim_inputs *inputs, struct mix mix)
{
    if (study->count == MIXES_LIMIT || is_known (study, &mix) || !is_possible (study, inputs, &mix))
        return;
    for (int i = 0; i < study->type_count; i++) {
        int gpus = mix.nodes[i] * study->groups[i].slots_per_node;
        mix.gpus += gpus;
        mix.per_hour += gpus * study->request->prices[i].price;
    }
    study->mixes[study->count++] = mix;
}

/* All mixes of the grid.  -E2BIG: too many; -EINVAL: the jobs cannot even run on all nodes together. */
static int add_grid (struct study *study, const struct sim_inputs *inputs, struct pollux_error *err)
{
    struct mix mix = {.gpus = 0};
    int64_t combinations = 1;
    for (int i = 0; i < study->type_count && combinations <= MIXES_LIMIT; i++) {
        int counts = 1;
        for (int n = 0; n >= 0; n = next_count (n, study->groups[i].max_nodes))
            counts += n > 0;
        combinations *= counts;
        mix.nodes[i] = study->groups[i].max_nodes;
    }
    if (combinations - 1 > MIXES_LIMIT)
        return fail (err, -E2BIG, "more than %d mixes; give fewer types, or fewer nodes of each",
                     MIXES_LIMIT);
    if (!is_possible (study, inputs, &mix))
        return fail (err, -EINVAL, "the jobs cannot run on any mix of these nodes");
    mix = (struct mix){.gpus = 0};
    for (int type = 0; type < study->type_count;) {
        add_mix (study, inputs, mix);
        for (type = 0; type < study->type_count; type++) { /* count up */
            int next = next_count (mix.nodes[type], study->groups[type].max_nodes);
            mix.nodes[type] = next > 0 ? next : 0;
            if (next > 0)
                break;
        }
    }
    return 0;
}

/* Simulate the mixes from `first` on. */
static int measure (struct study *study, const struct sim_inputs *inputs, int first,
                    struct pollux_error *err)
{
    const struct capacity_request *request = study->request;
    struct simulations simulations;
    if (first == study->count)
        return 0;
    int rc =
        simulations_new (&request->sim.config, inputs, study->count - first, &simulations, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < simulations.count; i++) {
        simulations.tasks[i].config = config_of (study, &study->mixes[first + i / inputs->count]);
        simulations.tasks[i].policy = request->policy;
    }
    rc = simulations_run (&simulations, (int)request->threads, err);
    for (int i = 0; i < simulations.count && rc == 0; i++) {
        const struct sim_result *result = &simulations.tasks[i].result;
        struct mix *mix = &study->mixes[first + i / inputs->count];
        mix->mean_jct_s += result->mean_jct_s / inputs->count;
        mix->p99_jct_s += result->p99_jct_s / inputs->count;
        mix->utilisation += result->utilisation / inputs->count;
        mix->cost += mix->per_hour * result->makespan_s / 3600 / inputs->count;
        mix->enough = capacity_meets (request, mix->mean_jct_s, mix->p99_jct_s);
    }
    simulations_clear (&simulations);
    return rc;
}

/* ---- The answer ---------------------------------------------------------------------------- */

/* The cheapest mix that meets the target; NULL: none. */
static const struct mix *cheapest (const struct study *study)
{
    const struct mix *best = NULL;
    for (int i = 0; i < study->count; i++)
        if (study->mixes[i].enough && (!best || study->mixes[i].cost < best->cost))
            best = &study->mixes[i];
    return best;
}

/* Add the neighbours of a mix: one node more or less of one type, or one less of one and one more of another. */
static void add_neighbours (struct study *study, const struct sim_inputs *inputs, struct mix at)
{
    for (int less = -1; less < study->type_count; less++)
        for (int more = -1; more < study->type_count; more++) {
            struct mix mix = {.gpus = 0};
            memcpy (mix.nodes, at.nodes, sizeof (mix.nodes));
            if (less >= 0)
                mix.nodes[less]--;
            if (more >= 0)
                mix.nodes[more]++;
            bool legal = less != more && (less < 0 || mix.nodes[less] >= 0) &&
                         (more < 0 || mix.nodes[more] <= study->groups[more].max_nodes);
            if (legal)
                add_mix (study, inputs, mix);
        }
}

static int improve (struct study *study, const struct sim_inputs *inputs, struct pollux_error *err)
{
    for (int i = 0; i < IMPROVEMENTS; i++) {
        const struct mix *best = cheapest (study);
        int first = study->count;
        if (!best)
            return 0;
        struct mix at = *best;
        add_neighbours (study, inputs, at);
        int rc = measure (study, inputs, first, err);
        if (rc < 0)
            return rc;
        if (cheapest (study)->cost >= at.cost)
            return 0;
    }
    return 0;
}

static int by_cost (const void *a, const void *b)
{
    const struct mix *x = a, *y = b;
    int order = compare_doubles (x->cost, y->cost);
    return order ? order : compare_doubles (x->mean_jct_s, y->mean_jct_s);
}

/* Sort by cost, and mark the mixes that are faster than all cheaper ones. */
static void find_best (struct study *study)
{
    double fastest_s = INFINITY;
    qsort (study->mixes, (size_t)study->count, sizeof (study->mixes[0]), by_cost);
    for (int i = 0; i < study->count; i++) {
        study->mixes[i].best = study->mixes[i].mean_jct_s < fastest_s;
        fastest_s = fmin (fastest_s, study->mixes[i].mean_jct_s);
    }
}

/* ---- Printing ------------------------------------------------------------------------------ */

static json_t *encode_nodes (const struct study *study, const struct mix *mix)
{
    json_t *object = json_object ();
    for (int i = 0; i < study->type_count; i++)
        json_object_set_new (object, study->groups[i].name, json_integer (mix->nodes[i]));
    return object;
}

static int print_json (const struct study *study, FILE *out, struct pollux_error *err)
{
    const struct capacity_request *request = study->request;
    const struct mix *answer = capacity_has_target (request) ? cheapest (study) : NULL;
    json_t *mixes = json_array ();
    for (int i = 0; i < study->count; i++) {
        const struct mix *mix = &study->mixes[i];
        json_array_append_new (
            mixes, json_pack ("{s:o, s:i, s:f, s:f, s:f, s:f, s:f, s:b, s:b}", "nodes",
                              encode_nodes (study, mix), "gpus", mix->gpus, "mean_jct",
                              mix->mean_jct_s, "p99_jct", mix->p99_jct_s, "utilisation",
                              mix->utilisation, "per_hour", mix->per_hour, "cost", mix->cost,
                              "enough", (int)mix->enough, "best", (int)mix->best));
    }
    return output_json (json_pack ("{s:s, s:s, s:o, s:o}", "policy", request->policy->name, "agent",
                                   job_agent_names[request->sim.config.agent], "mix",
                                   answer ? encode_nodes (study, answer) : json_null (), "mixes",
                                   mixes),
                        out, err);
}

static void print_answer (const struct study *study, FILE *out)
{
    const struct mix *answer = cheapest (study);
    const char *separator = "";
    if (!answer) {
        fputs ("\nThe target is not met by any mix; raise the nodes of --node-group.\n", out);
        return;
    }
    fputs ("\nThe cheapest mix that meets the target: ", out);
    for (int i = 0; i < study->type_count; i++)
        if (answer->nodes[i] > 0) {
            fprintf (out, "%s%d node%s of %d %s", separator, answer->nodes[i],
                     answer->nodes[i] == 1 ? "" : "s", study->groups[i].slots_per_node,
                     study->groups[i].name);
            separator = ", ";
        }
    fprintf (out, "; %.2f per hour, under policy %s.\n", answer->per_hour,
             study->request->policy->name);
}

static int print_table (const struct study *study, FILE *out, struct pollux_error *err)
{
    const struct capacity_request *request = study->request;
    static const char *const others[] = {"GPUs",     "mean JCT", "p99 JCT", "busy",
                                         "per hour", "cost",     "<target"};
    char names[NODE_GROUPS_LIMIT][TITLE_SIZE];
    const char *titles[NODE_GROUPS_LIMIT + sizeof (others) / sizeof (others[0])];
    size_t count = 0;
    for (int i = 0; i < study->type_count; i++) {
        snprintf (names[i], TITLE_SIZE, "%s x%d", study->groups[i].name,
                  study->groups[i].slots_per_node);
        titles[count++] = names[i];
    }
    for (int i = 0; i < (capacity_has_target (request) ? 7 : 6); i++)
        titles[count++] = others[i];
    struct table table = table_start (titles, count);
    for (int m = 0; m < study->count; m++) {
        const struct mix *mix = &study->mixes[m];
        if (!mix->best)
            continue;
        for (int i = 0; i < study->type_count; i++)
            table_cell (&table, "%d", mix->nodes[i]);
        table_cell (&table, "%d", mix->gpus);
        table_cell (&table, "%.0f s", mix->mean_jct_s);
        table_cell (&table, "%.0f s", mix->p99_jct_s);
        table_cell (&table, "%.1f %%", 100 * mix->utilisation);
        table_cell (&table, "%.2f", mix->per_hour);
        table_cell (&table, "%.2f", mix->cost);
        if (capacity_has_target (request))
            table_cell (&table, "%s", mix->enough ? "met" : "missed");
    }
    fprintf (out, "Of %d mixes, those that no other one beats in both cost and mean JCT:\n\n",
             study->count);
    int rc = table_end (&table, terminal_of (out), out, err);
    if (rc == 0 && capacity_has_target (request))
        print_answer (study, out);
    return rc;
}

/* ---- The whole ----------------------------------------------------------------------------- */

static bool is_of_type (const struct node_group *group, const char *type)
{
    return strcmp (group->name, type) == 0 || strcmp (group->type, type) == 0;
}

static bool has_type (const struct sim_config *config, const char *type)
{
    for (int i = 0; i < config->group_count; i++)
        if (is_of_type (&config->groups[i], type))
            return true;
    return false;
}

/* The price given for a group's name, else for its type; NAN: none. */
static double given_price (const struct capacity_request *request, const struct node_group *group)
{
    double price = NAN;
    for (int i = 0; i < request->price_count; i++) {
        const struct type_price *given = &request->prices[i];
        if (strcmp (given->type, group->name) == 0)
            return given->price;
        if (is_of_type (group, given->type))
            price = given->price;
    }
    return price;
}

/* The price of a GPU in a group without --price: that of the file, if any group of it has one. */
static double price_of_file (const struct capacity_request *request, const struct node_group *group)
{
    const struct sim_config *config = &request->sim.config;
    for (int i = 0; i < config->group_count && !request->has_price; i++)
        if (config->groups[i].price_per_node_hour > 0)
            return group->price_per_node_hour / group->slots_per_node;
    return request->price;
}

/* Make the prices those of the groups, in their order.  -EINVAL names a type without a price, or a price without a type. */
static int order_prices (struct capacity_request *request, struct pollux_error *err)
{
    const struct sim_config *config = &request->sim.config;
    struct type_price ordered[NODE_GROUPS_LIMIT];
    for (int i = 0; i < request->price_count; i++)
        if (!has_type (config, request->prices[i].type))
            return fail (err, -EINVAL,
                         "--price: type %s, which --node-group or --cluster does not have",
                         request->prices[i].type);
    for (int i = 0; i < config->group_count; i++) {
        const struct node_group *group = &config->groups[i];
        memcpy (ordered[i].type, group->name, NAME_SIZE);
        ordered[i].price = request->price_count > 0 ? given_price (request, group)
                                                    : price_of_file (request, group);
        if (isnan (ordered[i].price))
            return fail (err, -EINVAL, "--price: none for type %s", group->name);
    }
    memcpy (request->prices, ordered, (size_t)config->group_count * sizeof (ordered[0]));
    request->price_count = config->group_count;
    return 0;
}

int capacity_study_mixes (void *self, const struct sim_inputs *inputs, FILE *out,
                          struct pollux_error *err)
{
    struct capacity_request *request = self;
    struct study study = {.request = request,
                          .groups = request->sim.config.groups,
                          .type_count = request->sim.config.group_count};
    int rc = order_prices (request, err);
    if (rc < 0)
        return rc;
    sim_inputs_warn (inputs, &request->sim.config, "capacity");
    study.mixes = calloc (MIXES_LIMIT, sizeof (study.mixes[0]));
    if (!study.mixes)
        return fail (err, -ENOMEM, "no memory for %d mixes", MIXES_LIMIT);
    rc = add_grid (&study, inputs, err);
    if (rc == 0)
        rc = measure (&study, inputs, 0, err);
    if (rc == 0 && capacity_has_target (request))
        rc = improve (&study, inputs, err);
    bool answered = !capacity_has_target (request) || cheapest (&study);
    if (rc == 0) {
        find_best (&study);
        rc = request->json ? print_json (&study, out, err) : print_table (&study, out, err);
    }
    free (study.mixes);
    if (rc < 0)
        return rc;
    return answered ? EXIT_OK : EXIT_FAILED;
}
