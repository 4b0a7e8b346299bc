/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux scale: change the limits and the weight of a job while it waits or runs.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "cli/answer_text.h"
#include "cli/client_options.h"
#include "wire/spec.h"

enum { SCALE_MIN = CLIENT_OPTION_NEXT, SCALE_MAX, SCALE_WEIGHT };

static const struct command_option scale_options[] = {
    {"min", "N", SCALE_MIN, "least replicas while it runs"},
    {"max", "N", SCALE_MAX, "most replicas"},
    {"weight", "X", SCALE_WEIGHT, "its share of goodput, relative to other jobs"},
    CLIENT_OPTION_ROWS,
};

struct scale_request {
    struct client_options client;
    const char *name;
    int64_t min, max; /* -1: unchanged */
    double weight;    /* 0: unchanged */
};

static int parse (struct options *options, struct scale_request *ret, struct pollux_error *err)
{
    int id, rc = 0;
    while (rc == 0 && (id = options_next (options, err)) != 0) {
        switch (id) {
        case SCALE_MIN:
            rc = options_int64 (options, 0, POLLUX_REPLICAS_LIMIT, &ret->min, err);
            break;
        case SCALE_MAX:
            rc = options_int64 (options, 1, POLLUX_REPLICAS_LIMIT, &ret->max, err);
            break;
        case SCALE_WEIGHT:
            rc = options_double (options, WIRE_WEIGHT_LEAST, WIRE_WEIGHT_LIMIT, &ret->weight, err);
            break;
        default:
            rc = client_options_take (&ret->client, options, id);
        }
    }
    if (rc == 0)
        rc = options_operand (options, &ret->name, err);
    if (rc == 0 && ret->min < 0 && ret->max < 0 && !(ret->weight > 0))
        rc = fail (err, -EINVAL, "expected --min, --max or --weight; see 'pollux scale --help'");
    return rc;
}

/* The request's body, which belongs to the caller; NULL: no memory. */
static json_t *limits_of (const struct scale_request *request)
{
    json_t *limits = json_object ();
    if (request->min >= 0)
        json_object_set_new (limits, "min_replicas", json_integer (request->min));
    if (request->max >= 0)
        json_object_set_new (limits, "max_replicas", json_integer (request->max));
    if (request->weight > 0)
        json_object_set_new (limits, "weight", json_real (request->weight));
    return limits;
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct scale_request request = {.min = -1, .max = -1};
    struct client *client = NULL;
    json_t *job = NULL, *limits = NULL;
    int rc = parse (options, &request, err);
    if (rc == 0)
        rc = client_open (&request.client.server, &client, err);
    if (rc == 0 && !(limits = limits_of (&request)))
        rc = fail (err, -ENOMEM, "not enough memory for a request");
    if (rc == 0)
        rc = client_post (client, client_path ("/v1/jobs/", request.name, "/limits").text, limits,
                          &job, err);
    if (rc == 0 && request.client.json)
        rc = answer_json (json_incref (job), out, err);
    else if (rc == 0 && (rc = answer_disarm (job, err)) == 0)
        fprintf (out, "%s: %s replicas, weight %s\n", answer_text (job, "name"),
                 answer_limits (job).text, answer_rate (answer_number (job, "weight")).text);
    json_decref (limits);
    json_decref (job);
    client_close (client);
    return rc;
}

const struct command scale_command = {
    .name = "scale",
    .operands = "JOB",
    .summary = "change the limits and the weight of a job",
    .description = "Sets the fewest and the most replicas of a job, or its weight; the others stay "
                   "as they are.\n"
                   "The next round decides with them.",
    COMMAND_OPTIONS (scale_options),
    .run = run,
};
