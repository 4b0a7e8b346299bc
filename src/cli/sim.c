/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux sim: simulate every workload under every policy, and compare the policies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "cli/command_line.h"
#include "cli/json_output.h"
#include "cli/policy_options_help.h"
#include "cli/report_file.h"
#include "cli/sim_options.h"
#include "cli/sim_record.h"
#include "cli/sim_results.h"
#include "cli/sim_variants.h"
#include "cli/simulations.h"
#include "cli/text_output.h"
#include "policy/policy_options.h"

/* Each is a row of the table. */
enum { POLICIES_LIMIT = 64 };

enum {
    OPTION_POLICY = SIM_OPTION_NEXT,
    OPTION_THREADS,
    OPTION_RECORD,
    OPTION_REPORT,
    OPTION_JSON,
    OPTION_NO_TIMES
};

static const struct command_option option_rows[] = {
    {"policy", "NAME[,NAME...]", OPTION_POLICY, "policies to compare (pollux,tiresias,optimus)"},
    SIM_OPTION_NODES_ROW,
    SIM_OPTION_ROWS,
    {"threads", "N", OPTION_THREADS, "simulations at the same time (one per processor)"},
    {"json", "FILE", OPTION_JSON, "write all results as JSON; -: standard output"},
    {"record", "DIR|FILE.db", OPTION_RECORD,
     "write the journals, for pollux view, report and replay"},
    {"report", "FILE.html", OPTION_REPORT,
     "write a report as pollux report does; -: standard output"},
    {"no-times", NULL, OPTION_NO_TIMES, "leave decide times of the real clock out of the JSON"},
};

struct request {
    struct sim_options sim;
    const struct policy *policies[POLICIES_LIMIT];
    int policy_count;
    int64_t threads;
    const char *json, *record, *report;
    const char *command; /* this command line */
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
        case OPTION_REPORT:
            request.report = options->argument;
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
        rc = sim_options_check (&request.sim, err);
    if (id == 0 && rc == 0)
        *ret = request;
    return rc < 0 ? rc : id;
}

static bool is_stdout (const char *path)
{
    return path && strcmp (path, "-") == 0;
}

static int print_results (const struct request *request, const struct sim_report *report,
                          const struct sim_record *record, FILE *out, struct pollux_error *err)
{
    int rc = 0;
    if (request->json)
        rc = output_json_file (sim_report_json (report, !request->no_times), request->json, out,
                               err);
    if (rc == 0 && request->report)
        rc = report_write (sim_record_outcomes (record),
                           report->variant_count * report->inputs->count, request->command,
                           request->report, out, err);
    if (rc == 0 && !is_stdout (request->json) && !is_stdout (request->report))
        rc = sim_report_print (report, terminal_of (out), out, err);
    return rc;
}

static int simulate_variants (const struct request *request, const struct sim_inputs *inputs,
                              const struct sim_variants *variants, FILE *out,
                              struct pollux_error *err)
{
    struct simulations simulations;
    struct sim_record *record = NULL;
    struct sim_record_options options = {
        .path = request->record, .outcomes = request->report, .command = request->command};
    int rc = request->report ? report_check (variants->count * inputs->count, err) : 0;
    if (rc < 0)
        return rc;
    rc = simulations_new (&request->sim.config, inputs, variants->count, &simulations, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < simulations.count; i++) {
        const struct sim_variant *variant = &variants->list[i / inputs->count];
        simulations.tasks[i].policy = variant->policy;
        simulations.tasks[i].config = variant->config;
        simulations.tasks[i].name = variant->name;
    }
    if (request->record || request->report)
        rc = sim_record_new (&options, inputs, &simulations, &record, err);
    if (rc == 0)
        rc = simulations_run (&simulations, (int)request->threads, err);
    bool modelled = false;
    for (int i = 0; i < simulations.count; i++)
        modelled |= simulations.tasks[i].result.modelled;
    if (rc == 0 && modelled)
        fputs ("pollux sim: some placements or batches lie outside the measurements; the model "
               "fitted to the application was used there\n",
               stderr);
    struct sim_report report = {.inputs = inputs,
                                .variants = variants->list,
                                .variant_count = variants->count,
                                .agent = request->sim.config.agent,
                                .tasks = simulations.tasks};
    if (rc == 0)
        rc = print_results (request, &report, record, out, err);
    sim_record_free (record);
    simulations_clear (&simulations);
    return rc;
}

static int simulate (void *self, const struct sim_inputs *inputs, FILE *out,
                     struct pollux_error *err)
{
    const struct request *request = self;
    struct sim_variants variants;
    sim_inputs_warn (inputs, &request->sim.config, "sim");
    int rc = sim_variants_new (&request->sim, request->policies, request->policy_count,
                               (struct fixed_range){.halves = false}, &variants, err);
    if (rc < 0)
        return rc;
    rc = simulate_variants (request, inputs, &variants, out, err);
    sim_variants_clear (&variants);
    return rc;
}

/* Before the simulation, which may take long. */
static int check_outputs (struct options *options, const struct request *request,
                          struct pollux_error *err)
{
    char **operands;
    int count = options_operands (options, &operands);
    const char *json = request->json, *report = request->report;
    int rc = json ? output_check (json, operands, count, err) : 0;
    if (rc == 0 && report)
        rc = output_check (report, operands, count, err);
    for (int i = 0; rc == 0 && report && i < 2; i++) {
        const char *other = i == 0 ? json : request->record;
        if (other && strcmp (other, report) == 0 && strcmp (other, "-") != 0)
            rc = fail (err, -EINVAL, "--report: expected another name than that of %s",
                       i == 0 ? "--json" : "--record");
    }
    return rc;
}

static int sim_command_run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct request request = {0};
    /* Before parsing, which sorts options before operands. */
    char *command = command_line (options->argc, options->argv, RECORDING_COMMAND_LIMIT);
    int rc = command ? parse (options, &request, err) : fail (err, -ENOMEM, "not enough memory");
    request.command = command;
    if (rc == 0)
        rc = check_outputs (options, &request, err);
    if (rc == 0)
        rc = with_sim_inputs (options, request.sim.files, simulate, &request, out, err);
    free (command);
    return rc;
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
    COMMAND_OPTIONS (option_rows),
    .more_help = policy_options_help,
    .run = sim_command_run,
};
