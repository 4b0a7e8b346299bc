/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An explanation as JSON.
 */
#include "api/explain_json.h"

#include <math.h>

#include "policy/explain_text.h"

static json_t *describe_point (const struct explain_point *point)
{
    return json_pack ("{s:i, s:o, s:o, s:o, s:o}", "replicas", point->replicas, "goodput",
                      describe_number (point->goodput), "speedup", describe_number (point->speedup),
                      "eta_s", describe_number (point->eta_s), "batch",
                      describe_batch (point->batch, point->total_batch));
}

static json_t *describe_others (const struct explain_change *change)
{
    json_t *array = json_array ();
    for (int i = 0; array && i < change->other_count && i < EXPLAIN_OTHERS; i++) {
        const struct explain_other *other = &change->others[i];
        json_t *object =
            json_pack ("{s:s, s:i, s:i, s:o}", "name", other->name, "from", other->from, "to",
                       other->to, "goodput_factor", describe_number (other->goodput));
        if (json_array_append_new (array, object) < 0) {
            json_decref (array);
            return NULL;
        }
    }
    return array;
}

static json_t *describe_change (const struct explain_change *change)
{
    return json_pack ("{s:b, s:o, s:i, s:o, s:o, s:o, s:o, s:i, s:o, s:i, s:o}", "possible",
                      change->possible, "why",
                      change->possible ? json_null () : json_string (change->why), "replicas",
                      change->point.replicas, "goodput", describe_number (change->point.goodput),
                      "goodput_factor", describe_number (change->goodput), "eta_s",
                      describe_number (change->point.eta_s), "batch",
                      describe_batch (change->point.batch, change->point.total_batch), "free",
                      change->free, "others", describe_others (change), "others_count",
                      change->other_count, "fitness", describe_number (change->fitness));
}

static json_t *describe_curve (const struct explanation *all)
{
    json_t *array = json_array ();
    for (int i = 0; array && i < all->curve_count; i++)
        if (json_array_append_new (array, describe_point (&all->curve[i])) < 0) {
            json_decref (array);
            return NULL;
        }
    return array;
}

static json_t *describe_types (const struct explanation *all)
{
    json_t *array = json_array ();
    for (int i = 0; array && i < all->type_count; i++) {
        const struct explain_type *other = &all->types[i];
        json_t *object =
            json_pack ("{s:s, s:b, s:b, s:i, s:o}", "type", other->type, "known", other->known,
                       "predicted", other->predicted, "replicas", other->replicas, "goodput_factor",
                       describe_number (other->goodput));
        if (json_array_append_new (array, object) < 0) {
            json_decref (array);
            return NULL;
        }
    }
    return array;
}

/* An array of `count` strings of `size` bytes each. */
static json_t *describe_lines (const char *lines, size_t size, int count)
{
    json_t *array = json_array ();
    for (int i = 0; array && i < count; i++)
        if (json_array_append_new (array, json_string (lines + (size_t)i * size)) < 0) {
            json_decref (array);
            return NULL;
        }
    return array;
}

json_t *describe_explanation (const struct present *present, int job, const struct explanation *all)
{
    char waits[WAIT_REASON_SIZE];
    bool waiting = wait_reason (present->cluster, present->totals, present->cluster->jobs[job],
                                present->now_us, present->next_round_us, waits);
    const struct round_summary *full = round_history_last_full (present->rounds);
    struct explain_text text; /* 22 KiB */
    explain_text_make (all, full, waiting ? waits : NULL, &text);
    return json_pack (
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o}", "job",
        describe_job (present, job), "round", full ? describe_round (full) : json_null (), "price",
        describe_number (full ? full->price : NAN), "curve", describe_curve (all), "types",
        describe_types (all), "current", describe_point (&all->current), "one_more",
        describe_change (&all->more), "one_less", describe_change (&all->less), "fair_share",
        all->fair, "fitness", describe_number (all->fitness), "limits",
        describe_lines (all->limits[0], EXPLAIN_SENTENCE, all->limit_count), "waits_for",
        waiting ? json_string (waits) : json_null (), "sentences",
        describe_lines (text.sentences[0], EXPLAIN_TEXT_SIZE, text.count));
}
