/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux list: the jobs as a table, once or repeatedly.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/number.h"
#include "cli/answer_text.h"
#include "cli/client_options.h"
#include "cli/job_list.h"

enum { LIST_PHASE = CLIENT_OPTION_NEXT, LIST_OWNER, LIST_ALL, LIST_WATCH, LIST_QUIET, LIST_COST };

static const struct command_option list_options[] = {
    {"phase", "PHASE,...", LIST_PHASE, "only pending, running, cancelling, finished, failed ..."},
    {"owner", "NAME", LIST_OWNER, "only jobs of this owner"},
    {"all", NULL, LIST_ALL, "also jobs that ended more than an hour ago"},
    {"watch", "[SECONDS]", LIST_WATCH, "print repeatedly (every 2 seconds)"},
    {"cost", NULL, LIST_COST, "also what the jobs' slots have cost so far"},
    {"quiet", NULL, LIST_QUIET, "print the names only, one per line"},
    CLIENT_OPTION_ROWS,
};

/* Range of --watch in seconds. */
#define WATCH_LEAST 0.1
#define WATCH_MOST 86400.0

struct list_request {
    struct client_options client;
    struct job_list_filter filter;
    bool all, quiet, cost;
    double watch_s; /* 0: once */
};

/* Check phases before the request, with the option's name in the message. */
static int check_phases (const char *phases, struct pollux_error *err)
{
    static const char *const names[] = {"pending", "running",   "cancelling", "finished",
                                        "failed",  "cancelled", "live"};
    for (const char *at = phases;; at++) {
        size_t length = strcspn (at, ","), i = 0, count = sizeof (names) / sizeof (names[0]);
        while (i < count && (strlen (names[i]) != length || strncmp (names[i], at, length) != 0))
            i++;
        if (i == count)
            return fail (err, -EINVAL,
                         "--phase: expected pending, running, cancelling, finished, failed, "
                         "cancelled or live, with commas between them, got %s",
                         excerpt (at, length).text);
        at += length;
        if (!*at)
            return 0;
    }
}

/* `--watch 5`: the seconds as a separate word. */
static int parse_seconds (const struct options *options, double *ret, struct pollux_error *err)
{
    char **words;
    int count = options_operands (options, &words);
    double value;
    if (count != 1 || number_double (words[0], &value) < 0)
        return client_options_no_operand (options, err);
    if (value < WATCH_LEAST || value > WATCH_MOST)
        return fail (err, -EINVAL, "--watch: expected a number from %g to %g, got %s", WATCH_LEAST,
                     WATCH_MOST, quote (words[0]).text);
    *ret = value;
    return 0;
}

static int take (void *self, int id, const struct options *options, struct pollux_error *err)
{
    struct list_request *ret = self;
    ret->all |= id == LIST_ALL;
    ret->quiet |= id == LIST_QUIET;
    switch (id) {
    case LIST_COST:
        ret->cost = true;
        return 0;
    case LIST_PHASE:
        ret->filter.phase = options->argument;
        return check_phases (options->argument, err);
    case LIST_OWNER:
        ret->filter.owner = options->argument;
        return 0;
    case LIST_WATCH:
        ret->watch_s = 2;
        return options->argument
                   ? options_double (options, WATCH_LEAST, WATCH_MOST, &ret->watch_s, err)
                   : 0;
    default:
        return client_options_take (&ret->client, options, id);
    }
}

static int parse (struct options *options, struct list_request *ret, struct pollux_error *err)
{
    int rc = options_each (options, take, ret, err);
    ret->filter.recent = !ret->all && !ret->filter.phase;
    if (rc == 0 && ret->watch_s > 0)
        return parse_seconds (options, &ret->watch_s, err);
    return rc < 0 ? rc : client_options_no_operand (options, err);
}

static int print (const struct list_request *request, json_t *jobs, FILE *out,
                  struct pollux_error *err)
{
    json_t *job;
    size_t i;
    if (request->client.json)
        return answer_json (json_pack ("{s:O}", "jobs", jobs), out, err);
    int rc = answer_disarm (jobs, err);
    if (rc < 0 || !request->quiet)
        return rc < 0 ? rc : job_list_print (jobs, request->cost, terminal_of (out), out, err);
    json_array_foreach (jobs, i, job)
    {
        fprintf (out, "%s\n", answer_text (job, "name"));
    }
    return 0;
}

static int list_once (const struct list_request *request, struct client *client, FILE *out,
                      struct pollux_error *err)
{
    json_t *jobs = NULL;
    int rc = job_list_get (client, &request->filter, &jobs, err);
    if (rc == 0)
        rc = print (request, jobs, out, err);
    json_decref (jobs);
    return rc;
}

static void wait_s (double duration_s)
{
    struct timespec rest = {.tv_sec = (time_t)duration_s,
                            .tv_nsec = (long)(1e9 * (duration_s - floor (duration_s)))};
    nanosleep (&rest, NULL);
}

/* An unreachable daemon may be restarting: keep watching. */
static int watch (const struct list_request *request, struct client *client, FILE *out,
                  struct pollux_error *err)
{
    bool wipe = terminal_of (out).colour && !request->client.json;
    for (;;) {
        char *text = NULL;
        size_t length = 0;
        FILE *page = open_memstream (&text, &length);
        if (!page)
            return fail (err, -ENOMEM, "not enough memory for a page");
        int rc = list_once (request, client, page, err);
        fclose (page);
        /* Overwrite the old page, to avoid flicker. */
        fputs (wipe ? "\033[H\033[2J" : "", out);
        if (rc == 0)
            fwrite (text, 1, length, out);
        free (text);
        if (rc == -EHOSTUNREACH)
            fprintf (wipe ? out : stderr, "%s\n", err->text);
        else if (rc < 0)
            return rc;
        if (!wipe && !request->client.json && !request->quiet)
            fputc ('\n', out);
        if (fflush (out) != 0)
            return EXIT_OK; /* main prints the failure */
        wait_s (request->watch_s);
    }
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct list_request request = {0};
    struct client *client = NULL;
    int rc = parse (options, &request, err);
    if (rc == 0)
        rc = client_open (&request.client.server, &client, err);
    if (rc == 0)
        rc = request.watch_s > 0 ? watch (&request, client, out, err)
                                 : list_once (&request, client, out, err);
    client_close (client);
    return rc;
}

const struct command list_command = {
    .name = "list",
    .operands = "",
    .summary = "list the jobs",
    .description = "Lists jobs in order of submission: those that wait or run, and those that "
                   "ended within the\n"
                   "last hour.  Limits are the fewest and the most replicas; the batch is that of "
                   "all replicas;\n"
                   "goodput is in useful samples per second.  What is not known is a dash.",
    COMMAND_OPTIONS (list_options),
    .run = run,
};
