/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An explanation as JSON.
 */
#include "api/explain_json.h"

#include <math.h>

#include "policy/explain_text.h"

static json_t *describe_point (const void *entry)
{
    const struct explain_point *point = entry;
    return json_pack ("{s:i, s:o, s:o, s:o, s:o}", "replicas", point->replicas, "goodput",
                      describe_number (point->goodput), "speedup", describe_number (point->speedup),
                      "eta_s", describe_number (point->eta_s), "batch",
                      describe_batch (point->batch, point->total_batch));
}

/* An array of `count` values, each made by describe from one entry of `size` bytes. */
static json_t *describe_list (const void *entries, size_t size, int count,
                              json_t *(*describe) (const void *entry))
{
    json_t *array = json_array ();
    for (int i = 0; array && i < count; i++)
        if (json_array_append_new (array, describe ((const char *)entries + (size_t)i * size)) <
            0) {
            json_decref (array);
            return NULL;
        }
    return array;
}

static json_t *describe_other (const void *entry)
{
    const struct explain_other *other = entry;
    return json_pack ("{s:s, s:i, s:i, s:o}", "name", other->name, "from", other->from, "to",
                      other->to, "goodput_factor", describe_number (other->goodput));
}

static json_t *describe_others (const struct explain_change *change)
{
    int count = change->other_count < EXPLAIN_OTHERS ? change->other_count : EXPLAIN_OTHERS;
    return describe_list (change->others, sizeof (change->others[0]), count, describe_other);
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

static json_t *describe_type (const void *entry)
{
    const struct explain_type *other = entry;
    return json_pack ("{s:s, s:b, s:b, s:b, s:i, s:o}", "type", other->type, "revocable",
                      other->revocable, "known", other->known, "predicted", other->predicted,
                      "replicas", other->replicas, "goodput_factor",
                      describe_number (other->goodput));
}

static json_t *describe_line (const void *line)
{
    return json_string (line);
}

json_t *describe_explanation (const struct present *present, int job, const struct explanation *all)
{
    char waits[WAIT_REASON_SIZE];
    bool waiting = wait_reason (present->cluster, &present->totals, present->cluster->jobs[job],
                                present_times (present), waits);
    const struct round_summary *full = round_history_last_full (present->rounds);
    struct explain_text text; /* 22 KiB */
    explain_text_make (all, full, waiting ? waits : NULL, &text);
    return json_pack (
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o}", "job",
        describe_job (present, job), "round", full ? describe_round (full) : json_null (), "price",
        describe_number (full ? full->price : NAN), "curve",
        describe_list (all->curve, sizeof (all->curve[0]), all->curve_count, describe_point),
        "types", describe_list (all->types, sizeof (all->types[0]), all->type_count, describe_type),
        "current", describe_point (&all->current), "one_more", describe_change (&all->more),
        "one_less", describe_change (&all->less), "fair_share", all->fair, "fitness",
        describe_number (all->fitness), "limits",
        describe_list (all->limits, sizeof (all->limits[0]), all->limit_count, describe_line),
        "waits_for", waiting ? json_string (waits) : json_null (), "sentences",
        describe_list (text.sentences, sizeof (text.sentences[0]), text.count, describe_line));
}
