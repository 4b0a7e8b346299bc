/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles by type of node, in memory and as bytes:
 *
 *     number of types | of each: name (64 bytes) | max_local | max_replicas | steps | fitted
 *     | the model's seven | entries | nodes, replicas, m, steps, met_at, grad_s, step_s of each entry
 *
 * Every field takes eight bytes, little-endian.
 */
#include "agent/type_profile.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

enum { FIELD = 8, MODEL_FIELDS = 7, ENTRY_FIELDS = 7, TYPE_FIELDS = TYPE_SIZE / FIELD + 1 };

void type_name (const char *text, char ret[TYPE_SIZE])
{
    size_t length = text ? strlen (text) : 0;
    bool legal = length < TYPE_SIZE;
    for (size_t i = 0; legal && i < length; i++)
        legal = text[i] >= ' ' && text[i] <= '~' && text[i] != '"' && text[i] != '\\';
    memset (ret, 0, TYPE_SIZE);
    if (legal)
        memcpy (ret, text ? text : "", length);
}

static int find (const struct type_profiles *types, const char *type)
{
    for (int i = 0; i < types->count; i++)
        if (strcmp (types->items[i].type, type) == 0)
            return i;
    return -1;
}

static void remove_at (struct type_profiles *types, int at)
{
    types->count--;
    for (int i = at; i < types->count; i++)
        types->items[i] = types->items[i + 1];
}

void type_profiles_move (struct type_profiles *types, const char *type)
{
    struct type_profile *items = types->items, first = {.max_local = items[0].max_local};
    int at = find (types, type);
    if (at == 0)
        return;
    bool nameless = !items[0].type[0];
    if (at < 0 && nameless) {
        type_name (type, items[0].type);
        return;
    }
    type_name (type, first.type);
    if (at > 0) {
        first = items[at];
        remove_at (types, at);
    }
    if (nameless || items[0].profile.count == 0)
        remove_at (types, 0);
    if (types->count == TYPES_LIMIT)
        types->count--;
    memmove (&items[1], &items[0], (size_t)types->count * sizeof (items[0]));
    items[0] = first;
    types->count++;
}

/* ---- Saving ------------------------------------------------------------------------------- */

size_t type_profiles_size (const struct type_profiles *types)
{
    size_t fields = 1;
    for (int i = 0; i < types->count; i++)
        fields += TYPE_FIELDS + PROFILE_HEAD_FIELDS +
                  ENTRY_FIELDS * (size_t)types->items[i].profile.count;
    return FIELD * fields;
}

static uint8_t *put_entry (uint8_t *at, const struct profile_entry *entry)
{
    at = bytes_put_u64 (at, (uint64_t)entry->shape.nodes);
    at = bytes_put_u64 (at, (uint64_t)entry->shape.replicas);
    at = bytes_put_u64 (at, (uint64_t)entry->m);
    at = bytes_put_u64 (at, (uint64_t)entry->steps);
    at = bytes_put_u64 (at, entry->met_at);
    at = bytes_put_double (at, entry->grad_s);
    return bytes_put_double (at, entry->step_s);
}

static uint8_t *put_type (uint8_t *at, const struct type_profile *item)
{
    const struct pollux_model *model = &item->model;
    const double values[MODEL_FIELDS] = {model->alpha_grad, model->beta_grad,   model->alpha_node,
                                         model->beta_node,  model->alpha_local, model->beta_local,
                                         model->gamma};
    memcpy (at, item->type, TYPE_SIZE);
    at = bytes_put_u64 (at + TYPE_SIZE, (uint64_t)item->max_local);
    at = bytes_put_u64 (at, (uint64_t)item->profile.max_replicas);
    at = bytes_put_u64 (at, item->profile.steps);
    at = bytes_put_u64 (at, item->fitted);
    for (int i = 0; i < MODEL_FIELDS; i++)
        at = bytes_put_double (at, values[i]);
    at = bytes_put_u64 (at, (uint64_t)item->profile.count);
    for (int i = 0; i < item->profile.count; i++)
        at = put_entry (at, &item->profile.entries[i]);
    return at;
}

uint8_t *type_profiles_put (uint8_t *at, const struct type_profiles *types)
{
    at = bytes_put_u64 (at, (uint64_t)types->count);
    for (int i = 0; i < types->count; i++)
        at = put_type (at, &types->items[i]);
    return at;
}

/* ---- Restoring ---------------------------------------------------------------------------- */

const uint8_t *profile_head_get (const uint8_t *at, struct type_profile *ret, bool *ret_legal)
{
    uint64_t max_replicas, steps, fitted, count;
    double x[MODEL_FIELDS];
    at = bytes_get_u64 (at, &max_replicas);
    at = bytes_get_u64 (at, &steps);
    at = bytes_get_u64 (at, &fitted);
    for (int i = 0; i < MODEL_FIELDS; i++)
        at = bytes_get_double (at, &x[i]);
    at = bytes_get_u64 (at, &count);
    bool legal = max_replicas <= POLLUX_REPLICAS_LIMIT && fitted <= 1 && count <= PROFILE_LIMIT &&
                 steps >= count && steps <= INT64_MAX && (count > 0 || !fitted);
    for (int i = 0; legal && fitted && i < MODEL_FIELDS; i++)
        legal = isfinite (x[i]) && x[i] > 0;
    *ret_legal = legal && !(fitted && x[MODEL_FIELDS - 1] < 1);
    if (*ret_legal) {
        ret->fitted = fitted;
        ret->model = (struct pollux_model){x[0], x[1], x[2], x[3], x[4], x[5], x[6]};
        ret->profile.count = (int)count;
        ret->profile.max_replicas = (int)max_replicas;
        ret->profile.steps = steps;
    }
    return at;
}

/* Read an entry; refuse one that profile_add cannot make. */
static int get_entry (struct saved_bytes *bytes, const struct profile *profile,
                      struct profile_entry *ret, struct pollux_error *err)
{
    uint64_t nodes, replicas, m, steps, met_at;
    double grad_s, step_s;
    bytes->at = bytes_get_u64 (bytes->at, &nodes);
    bytes->at = bytes_get_u64 (bytes->at, &replicas);
    bytes->at = bytes_get_u64 (bytes->at, &m);
    bytes->at = bytes_get_u64 (bytes->at, &steps);
    bytes->at = bytes_get_u64 (bytes->at, &met_at);
    bytes->at = bytes_get_double (bytes->at, &grad_s);
    bytes->at = bytes_get_double (bytes->at, &step_s);
    if (nodes < 1 || nodes > replicas || replicas > (uint64_t)profile->max_replicas || m < 1 ||
        m > (uint64_t)POLLUX_BATCH_LIMIT || steps < 1 || steps > profile->steps ||
        met_at > profile->steps ||
        !(grad_s >= 1e-9 && grad_s <= 1e9 && step_s >= 1e-9 && step_s <= 1e9))
        return fail (err, -EINVAL, "saved agent: impossible sample (m %llu, %g s and %g s)",
                     (unsigned long long)m, grad_s, step_s);
    *ret = (struct profile_entry){.shape = {(int)nodes, (int)replicas},
                                  .m = (int64_t)m,
                                  .grad_s = grad_s,
                                  .step_s = step_s,
                                  .steps = (int64_t)steps,
                                  .met_at = met_at};
    return 0;
}

static bool has_fields (const struct saved_bytes *bytes, int count)
{
    return bytes->end - bytes->at >= FIELD * (ptrdiff_t)count;
}

int profile_entries_get (struct saved_bytes *bytes, struct profile *ret, struct pollux_error *err)
{
    int code = 0;
    if (!has_fields (bytes, ENTRY_FIELDS * ret->count))
        return fail (err, -EINVAL, "saved agent: %td bytes are too few for %d samples",
                     bytes->end - bytes->at, ret->count);
    for (int i = 0; code == 0 && i < ret->count; i++)
        code = get_entry (bytes, ret, &ret->entries[i], err);
    return code;
}

/* Read a type; refuse a second one of the same name, and a nameless one after others. */
static int get_type (struct saved_bytes *bytes, struct type_profiles *types,
                     struct pollux_error *err)
{
    struct type_profile *item = &types->items[types->count];
    uint64_t max_local = 0;
    bool legal = has_fields (bytes, TYPE_FIELDS + PROFILE_HEAD_FIELDS);
    if (legal) {
        char name[TYPE_SIZE], plain[TYPE_SIZE];
        memcpy (name, bytes->at, TYPE_SIZE);
        name[TYPE_SIZE - 1] = '\0';
        type_name (name, plain);
        legal = memcmp (plain, bytes->at, TYPE_SIZE) == 0 && (types->count == 0 || plain[0]) &&
                find (types, plain) < 0;
        memcpy (item->type, plain, TYPE_SIZE);
        bytes->at = bytes_get_u64 (bytes->at + TYPE_SIZE, &max_local);
        legal &= max_local >= 1 && max_local <= (uint64_t)POLLUX_BATCH_LIMIT;
        bool head_legal;
        bytes->at = profile_head_get (bytes->at, item, &head_legal);
        legal &= head_legal;
    }
    if (!legal)
        return fail (err, -EINVAL, "saved agent: impossible profile of type %d", types->count + 1);
    item->max_local = (int64_t)max_local;
    types->count++;
    return profile_entries_get (bytes, &item->profile, err);
}

int type_profiles_get (struct saved_bytes *bytes, struct type_profiles *ret,
                       struct pollux_error *err)
{
    uint64_t count = 0;
    int code = 0;
    if (has_fields (bytes, 1))
        bytes->at = bytes_get_u64 (bytes->at, &count);
    if (count < 1 || count > TYPES_LIMIT)
        return fail (err, -EINVAL, "saved agent: expected profiles of 1 to %d types, got %llu",
                     TYPES_LIMIT, (unsigned long long)count);
    ret->count = 0;
    for (uint64_t i = 0; code == 0 && i < count; i++)
        code = get_type (bytes, ret, err);
    return code;
}
