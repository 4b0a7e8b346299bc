/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux logs: print the output of a replica, and follow it on request.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/client_options.h"
#include "cli/safe_print.h"

enum {
    LOGS_FOLLOW = 'f',
    LOGS_RANK = CLIENT_OPTION_NEXT,
    LOGS_GENERATION,
    LOGS_ALL,
    LOGS_TAIL,
    LOGS_RAW
};

static const struct command_option logs_options[] = {
    {"follow", NULL, LOGS_FOLLOW, "keep printing until the job has ended"},
    {"rank", "N", LOGS_RANK, "the replica (0)"},
    {"generation", "N|last", LOGS_GENERATION, "the generation (last)"},
    {"all", NULL, LOGS_ALL, "all generations that are kept, with a line before each"},
    {"tail", "LINES", LOGS_TAIL, "only the last lines"},
    {"raw", NULL, LOGS_RAW, "do not replace control characters on a terminal"},
    CLIENT_OPTION_SERVER_ROW,
};

struct logs_request {
    struct client_options client;
    const char *name;
    bool follow, raw, all;
    int64_t rank, generation, tail; /* generation 0: the last; tail -1: all */
};

static int parse_generation (const struct options *options, int64_t *ret, struct pollux_error *err)
{
    *ret = 0;
    return strcmp (options->argument, "last") == 0
               ? 0
               : options_int64 (options, 1, INT32_MAX, ret, err);
}

static int take_option (void *self, int id, const struct options *options, struct pollux_error *err)
{
    struct logs_request *ret = self;
    ret->follow |= id == LOGS_FOLLOW;
    ret->raw |= id == LOGS_RAW;
    ret->all |= id == LOGS_ALL;
    switch (id) {
    case LOGS_RANK:
        return options_int64 (options, 0, POLLUX_REPLICAS_LIMIT - 1, &ret->rank, err);
    case LOGS_GENERATION:
        return parse_generation (options, &ret->generation, err);
    case LOGS_TAIL:
        return options_int64 (options, 0, 1000000, &ret->tail, err);
    default:
        return client_options_take (&ret->client, options, id);
    }
}

static int parse (struct options *options, struct logs_request *ret, struct pollux_error *err)
{
    int rc = options_each (options, take_option, ret, err);
    if (rc == 0 && ret->all && ret->generation > 0)
        rc = fail (err, -EINVAL, "--all and --generation: give one of them");
    return rc < 0 ? rc : options_operand (options, &ret->name, err);
}

static struct client_path path_of (const struct logs_request *request)
{
    char query[128], generation[24], tail[32] = "";
    snprintf (generation, sizeof (generation), request->all ? "all" : "last");
    if (request->generation > 0)
        snprintf (generation, sizeof (generation), "%lld", (long long)request->generation);
    if (request->tail >= 0)
        snprintf (tail, sizeof (tail), "&tail=%lld", (long long)request->tail);
    snprintf (query, sizeof (query), "/logs?rank=%lld&generation=%s&follow=%d%s",
              (long long)request->rank, generation, request->follow, tail);
    return client_path ("/v1/jobs/", request->name, query);
}

static int take (void *self, const char *bytes, size_t length, struct pollux_error *err)
{
    struct safe_print *print = self;
    safe_print_bytes (print, bytes, length);
    if (fflush (print->out) != 0)
        return fail (err, -EIO, "the output cannot be written");
    return 0;
}

/* A stream that breaks off gives no reason.  A daemon that answers tells it, if it refuses the token now: it has
 * expired or was revoked. */
static int explain_end (struct client *client, int code, struct pollux_error *err)
{
    struct pollux_error refusal;
    json_t *status = NULL;
    int rc = client_get (client, "/v1/status", &status, &refusal);
    json_decref (status);
    if (rc != -EREMOTEIO)
        return code;
    *err = refusal;
    return rc;
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct logs_request request = {.tail = -1};
    struct client *client = NULL;
    int rc = parse (options, &request, err);
    if (rc == 0)
        rc = client_open (&request.client.server, &client, err);
    if (rc == 0) {
        struct safe_print print = safe_print_start (out, !request.raw && isatty (fileno (out)));
        rc = client_stream (client, path_of (&request).text,
                            (struct client_sink){.take = take, .self = &print}, err);
        safe_print_end (&print);
        if (rc == -EHOSTUNREACH && request.follow)
            rc = explain_end (client, rc, err);
    }
    client_close (client);
    return rc;
}

const struct command logs_command = {
    .name = "logs",
    .operands = "JOB",
    .summary = "print a job's output",
    .description =
        "Prints the output, standard error included, of one replica of a job's last run, of an\n"
        "earlier one, or of all that are kept.  On a terminal control characters are shown as "
        "question\n"
        "marks.",
    COMMAND_OPTIONS (logs_options),
    .run = run,
};
