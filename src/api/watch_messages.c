/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each message is one line of JSON, written field by field.  Times, status and rounds are those of the other routes.
 */
#include "api/watch_messages.h"

#include <stdlib.h>
#include <string.h>

#include "api/api_private.h"
#include "api/tokens.h"

enum { ROUNDS_SENT = 100 };

static const struct change_log *log_of (const struct watch_state *state)
{
    return &state->api->options.status->changes;
}

/* ---- Parts ------------------------------------------------------------------------ */

static int add_piece (const char *bytes, size_t length, void *text)
{
    json_text_add (text, bytes, length);
    return 0;
}

/* Append a document, which is freed. */
static void put_json (struct json_text *text, json_t *json)
{
    if (!json || json_dump_callback (json, add_piece, text, API_JSON | JSON_ENCODE_ANY) < 0)
        text->failed = true;
    json_decref (json);
}

static void put_number_and_time (struct json_text *text, const struct watch_state *state)
{
    json_text_put (text, "\"number\":%lld,\"at\":", (long long)state->number);
    json_text_number (text, (double)state->present->now_us * 1e-6, 16);
    json_text_put (text, ",\"mark\":\"" WATCH_MARK "\"",
                   (unsigned long long)state->present->cluster->now_us);
}

static void put_start (struct json_text *text, const struct watch_state *state)
{
    json_text_put (text, "id: %lld\nevent: change\ndata: {", (long long)state->number);
    put_number_and_time (text, state);
}

static void put_end (struct json_text *text)
{
    json_text_add (text, "}\n\n", 3);
}

static json_t *status_of (const struct watch_state *state)
{
    const struct api_options *options = &state->api->options;
    return describe_status (state->present, options->backend, options->started_us);
}

static void put_status (struct json_text *text, const struct watch_state *state)
{
    json_text_put (text, ",\"status\":");
    put_json (text, status_of (state));
}

/* Groups without their nodes, which have rows. */
static void put_groups (struct json_text *text, const struct watch_state *state)
{
    json_text_put (text, ",\"groups\":");
    put_json (text, describe_groups (state->present, false));
}

/* Nodes that changed at this event or after it. */
static void put_nodes (struct json_text *text, const struct watch_state *state, int64_t since)
{
    const struct cluster *cluster = state->present->cluster;
    int count = 0;
    for (int i = 0; i < cluster->node_count; i++) {
        if (change_log_node (log_of (state), i) < since)
            continue;
        json_text_put (text, "%s", count++ > 0 ? "," : ",\"nodes\":[");
        row_put_node (text, cluster, i);
    }
    if (count > 0)
        json_text_put (text, "]");
}

/* The newest rounds, so many of them; 0: no field. */
static void put_rounds (struct json_text *text, const struct present *present, int64_t count)
{
    const struct round_summary *summary;
    for (int64_t age = 0; age < count && age < ROUNDS_SENT; age++)
        if ((summary = round_history_get (present->rounds, age)) != NULL) {
            json_text_put (text, "%s", age > 0 ? "," : ",\"rounds\":[");
            put_json (text, describe_round (summary));
        }
    if (count > 0 && present->rounds->count > 0)
        json_text_put (text, "]");
}

/* Rounds that a client may not know that has all up to this event: later ones, and one whose decision may have come
 * later. */
static int64_t rounds_since (const struct present *present, int64_t number)
{
    const struct round_summary *summary;
    int64_t age = 0;
    while (age < ROUNDS_SENT && (summary = round_history_get (present->rounds, age)) != NULL &&
           summary->seq >= number)
        age++;
    return age + 1;
}

static void put_changes (struct json_text *text, const struct watch_state *state)
{
    const struct plan_changes *last = &log_of (state)->last;
    if (last->round == 0)
        return;
    json_text_put (text, ",\"changes\":{\"round\":%lld,\"at\":", (long long)last->round);
    json_text_number (text, (double)last->at_us * 1e-6, 16);
    json_text_put (text, ",\"text\":");
    json_text_string (text, last->text);
    json_text_add (text, "}", 1);
}

static struct http_packet *packet_of (struct json_text *text)
{
    if (!text->failed)
        return http_packet_new (text->bytes, text->length);
    free (text->bytes);
    return NULL;
}

/* ---- Messages --------------------------------------------------------------------------------- */

struct http_packet *watch_snapshot (const struct watch_state *state)
{
    const struct cluster *cluster = state->present->cluster;
    struct json_text text = {0};
    put_number_and_time (&text, state);
    put_status (&text, state);
    put_groups (&text, state);
    if (cluster->node_count > 0)
        put_nodes (&text, state, 0);
    else
        json_text_put (&text, ",\"nodes\":[]");
    json_text_put (&text, ",\"jobs\":[");
    watch_rows_put_all (state->rows, cluster, &text);
    json_text_put (&text, "],\"omitted\":%d", watch_rows_omitted (cluster));
    if (state->present->rounds->count > 0)
        put_rounds (&text, state->present, ROUNDS_SENT);
    else
        json_text_put (&text, ",\"rounds\":[]");
    if (log_of (state)->last.round > 0)
        put_changes (&text, state);
    else
        json_text_put (&text, ",\"changes\":null");
    json_text_put (&text, ",\"playback\":%s",
                   state->told->playback ? state->told->playback : "null");
    put_end (&text);
    return packet_of (&text);
}

struct http_packet *watch_snapshot_start (int64_t number, const char *name, unsigned role)
{
    struct json_text text = {0};
    json_text_put (&text,
                   "id: %lld\nevent: snapshot\ndata: {\"you\":{\"name\":", (long long)number);
    json_text_string (&text, name);
    json_text_put (&text, ",\"role\":");
    json_text_string (&text, role_name (role));
    json_text_put (&text, "},");
    return packet_of (&text);
}

struct http_packet *watch_catch_up (const struct watch_state *state,
                                    const struct watch_known *known)
{
    struct json_text text = {0};
    put_start (&text, state);
    put_status (&text, state);
    put_groups (&text, state);
    put_nodes (&text, state, known->number);
    json_text_put (&text, ",\"jobs\":[");
    watch_rows_put_since (state->rows, known, &text);
    json_text_put (&text, "]");
    put_rounds (&text, state->present, rounds_since (state->present, known->number));
    put_changes (&text, state);
    if (state->told->playback)
        json_text_put (&text, ",\"playback\":%s", state->told->playback);
    put_end (&text);
    return packet_of (&text);
}

/* ---- What differs ------------------------------------------------------------------------------ */

void watch_told_clear (struct watch_told *told)
{
    free (told->status);
    free (told->playback);
    free (told->groups);
    *told = (struct watch_told){0};
}

/* Replace the text; true: it has changed.  NULL, no memory or no text: it stays. */
static bool take_text (char **place, char *text)
{
    if (!text)
        return false;
    bool same = *place && strcmp (*place, text) == 0;
    free (*place);
    *place = text;
    return !same;
}

/* The status, if more than its time has changed.  It counts all jobs that ever were: a million of them
 * take 10 ms. */
static void put_status_if_changed (struct json_text *text, const struct watch_state *state)
{
    json_t *status = status_of (state);
    json_t *now_at = json_incref (json_object_get (status, "now_at"));
    if (status && json_object_set_new (status, "now_at", json_null ()) == 0 &&
        take_text (&state->told->status, json_dumps (status, API_JSON)) &&
        json_object_set (status, "now_at", now_at) == 0) {
        json_text_put (text, ",\"status\":");
        put_json (text, json_incref (status));
    }
    json_decref (now_at);
    json_decref (status);
}

/* The groups, if more than their cost has changed. */
static void put_groups_if_changed (struct json_text *text, const struct watch_state *state)
{
    json_t *groups = describe_groups (state->present, false);
    if (groups && json_object_del (groups, "now_at") == 0 &&
        json_object_del (groups, "cost") == 0 &&
        take_text (&state->told->groups, json_dumps (groups, API_JSON)))
        put_groups (text, state);
    json_decref (groups);
}

static char *playback_text (const struct watch_state *state)
{
    json_t *playback = api_playback_json (state->api);
    char *text = json_is_object (playback) ? json_dumps (playback, API_JSON) : NULL;
    json_decref (playback);
    return text;
}

struct http_packet *watch_change (const struct watch_state *state, int64_t before, bool *ret_empty)
{
    struct watch_told *told = state->told;
    struct json_text text = {0};
    put_start (&text, state);
    size_t start = text.length;
    put_status_if_changed (&text, state);
    put_groups_if_changed (&text, state);
    put_nodes (&text, state, before + 1);
    if (state->rows->changed_count > 0) {
        json_text_put (&text, ",\"jobs\":[");
        watch_rows_put_changed (state->rows, &text);
        json_text_put (&text, "]");
    }
    put_rounds (&text, state->present, state->present->rounds->count - told->rounds);
    told->rounds = state->present->rounds->count;
    if (log_of (state)->last.round != told->changes)
        put_changes (&text, state);
    told->changes = log_of (state)->last.round;
    if (take_text (&told->playback, playback_text (state)))
        json_text_put (&text, ",\"playback\":%s", told->playback);
    *ret_empty = text.length == start && !text.failed;
    put_end (&text);
    return packet_of (&text);
}
