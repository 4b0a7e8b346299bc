/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux sim: simulate every workload under every policy, and compare the policies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "cli/json_output.h"
#include "cli/policy_options_help.h"
#include "cli/sim_options.h"
#include "cli/sim_report.h"
#include "cli/simulations.h"
#include "policy/policy_options.h"
#include "store/store.h"

/* Each is a row of the table. */
enum { POLICIES_LIMIT = 64 };

enum {
    OPTION_POLICY = SIM_OPTION_NEXT,
    OPTION_THREADS,
    OPTION_RECORD,
    OPTION_JSON,
    OPTION_NO_TIMES
};

static const struct command_option option_rows[] = {
    {"policy", "NAME[,NAME...]", OPTION_POLICY, "policies to compare (pollux,tiresias,optimus)"},
    SIM_OPTION_NODES_ROW,
    SIM_OPTION_ROWS,
    {"threads", "N", OPTION_THREADS, "simulations at the same time (one per processor)"},
    {"json", "FILE", OPTION_JSON, "write all results as JSON; -: standard output"},
    {"record", "FILE.db", OPTION_RECORD, "write the journal of one simulation, for pollux replay"},
    {"no-times", NULL, OPTION_NO_TIMES, "leave decide times of the real clock out of the JSON"},
};

struct request {
    struct sim_options sim;
    const struct policy *policies[POLICIES_LIMIT];
    int policy_count;
    int64_t threads;
    const char *json, *record;
    bool no_times;
};

static int parse_policies (const char *list, struct request *request, struct pollux_error *err)
{
    request->policy_count = 0;
    for (const char *at = list; at; at = strchr (at, ',') ? strchr (at, ',') + 1 : NULL) {
        char name[NAME_SIZE];
        size_t length = strcspn (at, ",");
        snprintf (name, sizeof (name), "%.*s",
                  (int)(length < sizeof (name) ? length : sizeof (name) - 1), at);
        const struct policy *policy = NULL;
        int rc = policy_find (name, &policy, err);
        if (rc < 0)
            return rc;
        for (int i = 0; i < request->policy_count; i++)
            if (request->policies[i] == policy)
                return fail (err, -EINVAL, "policy %s is named twice", name);
        if (request->policy_count == POLICIES_LIMIT)
            return fail (err, -EINVAL, "more than %d policies", POLICIES_LIMIT);
        request->policies[request->policy_count++] = policy;
    }
    return 0;
}

static int parse (struct options *options, struct request *ret, struct pollux_error *err)
{
    struct request request = {.sim = sim_options_defaults ()};
    int rc = 0, id;
    while ((id = options_next (options, err)) > 0) {
        switch (id) {
        case OPTION_POLICY:
            rc = parse_policies (options->argument, &request, err);
            break;
        case OPTION_THREADS:
            rc = options_int64 (options, 1, 256, &request.threads, err);
            break;
        case OPTION_JSON:
            request.json = options->argument;
            break;
        case OPTION_RECORD:
            request.record = options->argument;
            break;
        case OPTION_NO_TIMES:
            request.no_times = true;
            break;
        default:
            rc = sim_options_take (&request.sim, options, id, err);
        }
        if (rc < 0)
            return rc;
    }
    if (id == 0 && request.policy_count == 0)
        rc = parse_policies ("pollux,tiresias,optimus", &request, err);
    if (id == 0 && rc == 0)
        rc = policy_settings_check (&request.sim.config.settings, request.policies,
                                    request.policy_count, err);
    if (id == 0 && rc == 0)
        *ret = request;
    return rc < 0 ? rc : id;
}

static int run_tasks (const struct request *request, struct simulations *simulations,
                      struct pollux_error *err)
{
    struct store *record = NULL;
    if (request->record && simulations->count != 1)
        return fail (err, -EINVAL, "--record takes one workload and one policy, not %d simulations",
                     simulations->count);
    if (request->record) {
        int rc = store_open (request->record, STORE_RECORD, &record, err);
        if (rc < 0)
            return rc;
        simulations->tasks[0].config.journal = store_journal (record);
    }
    int rc = simulations_run (simulations, (int)request->threads, err);
    int closed = store_close (record, rc == 0 ? err : NULL);
    return rc == 0 ? closed : rc;
}

static int print_results (const struct request *request, const struct sim_report *report, FILE *out,
                          struct pollux_error *err)
{
    int rc = 0;
    if (request->json)
        rc = output_json_file (sim_report_json (report, !request->no_times), request->json, out,
                               err);
    if (rc == 0 && !(request->json && strcmp (request->json, "-") == 0))
        rc = sim_report_print (report, terminal_of (out), out, err);
    return rc;
}

static int simulate (void *self, const struct sim_inputs *inputs, FILE *out,
                     struct pollux_error *err)
{
    const struct request *request = self;
    struct simulations simulations;
    sim_inputs_warn (inputs, &request->sim.config, "sim");
    int rc =
        simulations_new (&request->sim.config, inputs, request->policy_count, &simulations, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < simulations.count; i++)
        simulations.tasks[i].policy = request->policies[i / inputs->count];
    rc = run_tasks (request, &simulations, err);
    bool modelled = false;
    for (int i = 0; i < simulations.count; i++)
        modelled |= simulations.tasks[i].result.modelled;
    if (rc == 0 && modelled)
        fputs ("pollux sim: some placements or batches lie outside the measurements; the model "
               "fitted to the application was used there\n",
               stderr);
    struct sim_report report = {.inputs = inputs,
                                .policies = request->policies,
                                .policy_count = request->policy_count,
                                .agent = request->sim.config.agent,
                                .tasks = simulations.tasks};
    if (rc == 0)
        rc = print_results (request, &report, out, err);
    simulations_clear (&simulations);
    return rc;
}

static int sim_command_run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct request request;
    int rc = parse (options, &request, err);
    if (rc < 0)
        return rc;
    return with_sim_inputs (options, request.sim.files, simulate, &request, out, err);
}

const struct command sim_command = {
    .name = "sim",
    .operands = "[WORKLOAD.csv|FOLDER]...",
    .summary = "simulate policies on workloads, and compare them",
    .description =
        "Runs every workload under every policy on a simulated cluster and prints\n"
        "completion times, fairness and cost. A folder means all *.csv in it; without operands, a\n"
        "built-in workload is run. Applications come from built-in profiles unless --traces or\n"
        "--profiles names others. The same seed gives the same results with any number of\n"
        "threads.",
    .options = option_rows,
    .option_count = sizeof (option_rows) / sizeof (option_rows[0]),
    .more_help = policy_options_help,
    .run = sim_command_run,
};
