/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes about rounds: the latest ones, and one of them with its plan and the one before.
 */
#include <string.h>

#include "api/api_private.h"
#include "base/number.h"
#include "store/reader.h"

void api_list_rounds (struct api *api, struct http_request *request)
{
    int64_t limit = 50;
    if (api_query_int (api, request, "limit", 1, ROUND_HISTORY_LIMIT, &limit) < 0)
        return;
    json_t *array = json_array ();
    const struct round_summary *summary;
    const struct round_history *rounds = &api->options.status->rounds;
    for (int64_t age = 0; array && age < limit && (summary = round_history_get (rounds, age));
         age++)
        if (json_array_append_new (array, describe_round (summary)) < 0) {
            json_decref (array);
            array = NULL;
        }
    api_reply (api, request, 200, json_pack ("{s:o}", "rounds", array));
}

/* Same shares in the same order. */
static bool same_placement (json_t *a, json_t *b)
{
    void *in_a = json_object_iter (a), *in_b = json_object_iter (b);
    for (; in_a && in_b;
         in_a = json_object_iter_next (a, in_a), in_b = json_object_iter_next (b, in_b))
        if (strcmp (json_object_iter_key (in_a), json_object_iter_key (in_b)) != 0 ||
            !json_equal (json_object_iter_value (in_a), json_object_iter_value (in_b)))
            return false;
    return !in_a && !in_b;
}

/* False for a job that had ended before the round: no plan takes its slots. */
static bool was_live (const struct cluster *cluster, const char *name, int64_t at_us)
{
    int job = cluster_find_job (cluster, name);
    return job >= 0 && (job_live (cluster->jobs[job]) || cluster->jobs[job]->end_us > at_us);
}

static bool add_change (json_t *changes, const char *name, json_t *from, json_t *to)
{
    json_t *change = json_pack ("{s:s, s:o, s:o}", "job", name, "from",
                                from ? json_incref (from) : json_object (), "to",
                                to ? json_incref (to) : json_object ());
    return json_array_append_new (changes, change) == 0;
}

/* The jobs that two plans place differently; NULL: no memory. */
static json_t *describe_changes (const struct cluster *cluster, int64_t at_us, json_t *before,
                                 json_t *after)
{
    json_t *changes = json_array (), *placement;
    const char *name;
    bool whole = changes != NULL;
    json_object_foreach (after, name, placement)
    {
        json_t *from = json_object_get (before, name);
        if (whole && !(from && same_placement (from, placement)))
            whole = add_change (changes, name, from, placement);
    }
    json_object_foreach (before, name, placement)
    {
        if (whole && !json_object_get (after, name) && was_live (cluster, name, at_us))
            whole = add_change (changes, name, placement, NULL);
    }
    if (whole)
        return changes;
    json_decref (changes);
    return NULL;
}

/* The placements of a PLAN's body; NULL: there is none. */
static json_t *placements_of (const char *body)
{
    json_t *plan = body ? json_loads (body, 0, NULL) : NULL;
    json_t *placements = json_object_get (plan, "placements");
    placements = json_is_object (placements) ? json_incref (placements) : NULL;
    json_decref (plan);
    return placements;
}

/* Add a value, or null in place of NULL. */
static bool put_or_null (json_t *object, const char *key, json_t *value)
{
    return json_object_set_new (object, key, value ? value : json_null ()) == 0;
}

/* The number of the round of an age; null: there is none. */
static json_t *number_of (const struct round_history *rounds, int64_t age)
{
    const struct round_summary *summary = round_history_get (rounds, age);
    return summary ? json_integer (summary->seq) : NULL;
}

static json_t *describe_round_fully (const struct cluster *cluster,
                                     const struct round_history *rounds, int64_t age,
                                     const struct reader_plans *plans)
{
    const struct round_summary *summary = round_history_get (rounds, age);
    json_t *object = describe_round (summary);
    json_t *after = placements_of (plans->plan), *before = placements_of (plans->before);
    if (after && !before && plans->first)
        before = json_object ();
    json_t *changes =
        after && before ? describe_changes (cluster, summary->at_us, before, after) : NULL;
    bool whole = put_or_null (object, "changes", changes);
    whole = put_or_null (object, "before", before) && whole;
    whole = put_or_null (object, "after", after) && whole;
    whole = put_or_null (object, "previous", number_of (rounds, age + 1)) && whole;
    whole = put_or_null (object, "next", number_of (rounds, age - 1)) && whole;
    if (whole && object)
        return object;
    json_decref (object);
    return NULL;
}

/* The age of a round; -1: it is not among the last ones. */
static int64_t find_round (const struct round_history *rounds, int64_t seq)
{
    const struct round_summary *summary = NULL;
    int64_t age = 0;
    while ((summary = round_history_get (rounds, age)) && summary->seq != seq)
        age++;
    return summary ? age : -1;
}

void api_show_round (struct api *api, struct http_request *request)
{
    const char *number = http_param (request, "number");
    const struct round_history *rounds = &api->options.status->rounds;
    int64_t seq = 0, age = -1;
    if (number && number_int64 (number, &seq) == 0)
        age = find_round (rounds, seq);
    if (age < 0) {
        api_refuse (api, request, 404, "there is no round %.40s among the last %d",
                    number ? number : "", ROUND_HISTORY_LIMIT);
        return;
    }
    struct reader_plans plans = {0};
    struct pollux_error err;
    if (api->options.reader && reader_find_plans (api->options.reader, seq, &plans, &err) < 0) {
        api_refuse (api, request, 503, "%s", err.text);
        return;
    }
    json_t *answer = describe_round_fully (api->options.cluster, rounds, age, &plans);
    reader_plans_clear (&plans);
    api_reply (api, request, 200, answer);
}
