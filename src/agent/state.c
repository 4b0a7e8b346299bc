/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of an agent as bytes, for a checkpoint that another machine may read with another number
 * of replicas.
 *
 *     magic "plxagent" | version | progress | updates, total batch (0 without evidence)
 *     | limit of the gain (2) | second moment (3) | evidence (7)
 *     | the profiles by type of node (type_profile.c)
 *     | the noise estimator (model/noise_save.c) | checksum of all before
 *
 * Older versions have one profile, which counts for the type of nodes that the agent is on: its head before
 * the fields from updates to evidence, its entries after them.  Version 1 has none of those fields: an agent
 * that reads it starts without evidence.
 *
 * Every field takes eight bytes, little-endian.  The reader checks the length, the checksum, then
 * every field, before it changes the agent.
 */
#include "agent/agent.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

enum {
    FIELD = 8,
    VERSION = 3,
    HEAD_FIELDS = 3, /* magic, version, progress */
    EVIDENCE_FIELDS = 7,
    TRUST_FIELDS = 7 + EVIDENCE_FIELDS, /* since version 2 */
};

static const uint8_t magic[FIELD] = {'p', 'l', 'x', 'a', 'g', 'e', 'n', 't'};
static const char file_name[] = "pollux-agent";

static size_t state_size (const struct pollux_agent *agent, size_t types_size)
{
    return FIELD * (HEAD_FIELDS + TRUST_FIELDS) + types_size + pollux_noise_size (agent->noise) +
           FIELD;
}

size_t pollux_agent_state_size (const struct pollux_agent *agent)
{
    return state_size (agent, type_profiles_size (&agent->types));
}

/* ---- Saving ------------------------------------------------------------------------------- */

static uint8_t *put_trust (uint8_t *at, const struct pollux_agent *agent)
{
    const struct evidence *evidence = &agent->adaptation.evidence;
    const struct gain_limit *limit = &agent->adaptation.gain_limit;
    const double values[] = {limit->most,        limit->trial,         agent->moment.now,
                             agent->moment.init, agent->moment.energy, evidence->weight,
                             evidence->weight2,  evidence->sqr,        evidence->var,
                             evidence->size,     evidence->sqr2,       evidence->root2};
    bool known = adaptation_has_evidence (&agent->adaptation);
    double total = pollux_total_batch (agent->world.shape, agent->tuner.batch);
    at = bytes_put_u64 (at, agent->adaptation.updates);
    at = bytes_put_u64 (at, known ? (uint64_t)total : 0);
    for (size_t i = 0; i < sizeof (values) / sizeof (values[0]); i++)
        at = bytes_put_double (at, values[i]);
    return at;
}

int pollux_agent_state_save (const struct pollux_agent *agent, void *ret, size_t size,
                             struct pollux_error *err)
{
    size_t needed = pollux_agent_state_size (agent), noise = pollux_noise_size (agent->noise);
    if (size < needed)
        return fail (err, -ENOSPC, "saving the agent needs %zu bytes, got room for %zu", needed,
                     size);
    uint8_t *at = ret;
    memcpy (at, magic, sizeof (magic));
    at = bytes_put_u64 (at + sizeof (magic), VERSION);
    at = bytes_put_double (at, agent->progress);
    at = put_trust (at, agent);
    at = type_profiles_put (at, &agent->types);
    int code = pollux_noise_save (agent->noise, at, noise, err);
    if (code == 0)
        bytes_put_u64 (at + noise, bytes_checksum (ret, needed - FIELD));
    return code;
}

/* ---- Restoring ---------------------------------------------------------------------------- */

/* All fields except the noise estimator. */
struct state {
    double progress;
    uint64_t updates, total_batch; /* total_batch 0: unknown, or there was no evidence */
    struct gain_limit gain_limit;
    struct second_moment moment;
    struct evidence evidence;
    struct type_profiles types;
};

/* The fields since version 2. */
static const uint8_t *get_trust (const uint8_t *at, struct state *ret)
{
    struct evidence *evidence = &ret->evidence;
    double *const values[] = {&ret->gain_limit.most, &ret->gain_limit.trial, &ret->moment.now,
                              &ret->moment.init,     &ret->moment.energy,    &evidence->weight,
                              &evidence->weight2,    &evidence->sqr,         &evidence->var,
                              &evidence->size,       &evidence->sqr2,        &evidence->root2};
    at = bytes_get_u64 (at, &ret->updates);
    at = bytes_get_u64 (at, &ret->total_batch);
    for (size_t i = 0; i < sizeof (values) / sizeof (values[0]); i++)
        at = bytes_get_double (at, values[i]);
    return at;
}

static bool trust_is_legal (const struct state *state)
{
    const struct gain_limit *limit = &state->gain_limit;
    const struct second_moment *moment = &state->moment;
    return state->updates <= INT64_MAX && state->total_batch <= 2 * (uint64_t)POLLUX_BATCH_LIMIT &&
           limit->most >= GAIN_LIMIT_FIRST && limit->most <= GAIN_LIMIT_LAST && limit->trial >= 0 &&
           isfinite (limit->trial) && second_moment_is_legal (moment) &&
           evidence_is_legal (&state->evidence);
}

static int check_head (const struct state *state, bool legal_profile, struct pollux_error *err)
{
    bool legal = state->progress >= 0 && isfinite (state->progress) && trust_is_legal (state);
    return legal && legal_profile
               ? 0
               : fail (err, -EINVAL, "saved agent: impossible state (progress %g)",
                       state->progress);
}

/* The fields after progress, of versions 1 and 2. */
static int get_old_fields (uint64_t version, struct saved_bytes *bytes, struct state *ret,
                           struct pollux_error *err)
{
    struct type_profile *only = &ret->types.items[0];
    bool legal;
    bytes->at = profile_head_get (bytes->at, only, &legal);
    if (version > 1)
        bytes->at = get_trust (bytes->at, ret);
    int code = check_head (ret, legal, err);
    ret->types.count = 1;
    return code < 0 ? code : profile_entries_get (bytes, &only->profile, err);
}

static int get_fields (uint64_t version, struct saved_bytes *bytes, struct state *ret,
                       struct pollux_error *err)
{
    bytes->at = bytes_get_double (bytes->at, &ret->progress);
    if (version < 3)
        return get_old_fields (version, bytes, ret, err);
    bytes->at = get_trust (bytes->at, ret);
    int code = check_head (ret, true, err);
    return code < 0 ? code : type_profiles_get (bytes, &ret->types, err);
}

static void adopt (struct pollux_agent *agent, const struct state *state)
{
    char type[TYPE_SIZE];
    memcpy (type, agent->types.items[0].type, TYPE_SIZE);
    agent->progress = agent->advice.progress = state->progress;
    agent->types = state->types;
    type_profiles_move (&agent->types, type);
    struct type_profile *present = &agent->types.items[0];
    present->max_local = agent->tuner.limits.max_local;
    /* This generation fits at once, starting from the restored model. */
    agent->tuner.fitted = present->fitted;
    if (present->fitted)
        agent->tuner.fit = (struct pollux_fit){
            .model = present->model, .loss = NAN, .grad_error = NAN, .step_error = NAN};
    agent->tuner.fitted_steps = 0;
    agent->tuner.fitted_at_s = -INFINITY;
    agent->adaptation.evidence = state->evidence;
    agent->adaptation.gain_limit = state->gain_limit;
    agent->adaptation.updates = state->updates;
    agent->adaptation.had_evidence = state->total_batch > 0;
    adaptation_place (&agent->adaptation);
    agent->moment = state->moment;
    if (adaptation_has_evidence (&agent->adaptation))
        tuner_resume (&agent->tuner, (int64_t)state->total_batch);
    agent->advice.batch = agent->followed = agent->tuner.batch;
}

int pollux_agent_state_restore (struct pollux_agent *agent, const void *data, size_t size,
                                struct pollux_error *err)
{
    struct state state = {.gain_limit = agent->adaptation.gain_limit};
    static const int least_fields[] = {0, HEAD_FIELDS + PROFILE_HEAD_FIELDS,
                                       HEAD_FIELDS + PROFILE_HEAD_FIELDS + TRUST_FIELDS,
                                       HEAD_FIELDS + TRUST_FIELDS};
    uint64_t version = VERSION;
    if (size >= 2 * FIELD)
        bytes_get_u64 ((const uint8_t *)data + FIELD, &version);
    version = version >= 1 && version <= VERSION ? version : VERSION;
    int code = bytes_check_state (data, size, FIELD * (size_t)(least_fields[version] + 1), magic,
                                  (unsigned)version, "saved agent", err);
    if (code < 0)
        return code;
    struct saved_bytes bytes = {(const uint8_t *)data + 2 * FIELD,
                                (const uint8_t *)data + size - FIELD};
    code = get_fields (version, &bytes, &state, err);
    if (code == 0)
        code = pollux_noise_restore (agent->noise, bytes.at, (size_t)(bytes.end - bytes.at), err);
    if (code == 0 && agent_is_here (agent))
        adopt (agent, &state);
    return code;
}

/* ---- In a checkpoint ---------------------------------------------------------------------- */

int pollux_agent_save (const struct pollux_agent *agent, struct pollux_checkpoint *checkpoint,
                       struct pollux_error *err)
{
    size_t size = pollux_agent_state_size (agent);
    void *data = malloc (size);
    if (!data)
        return fail (err, -ENOMEM, "saving the agent: no memory for %zu bytes", size);
    int code = pollux_agent_state_save (agent, data, size, err);
    if (code == 0)
        code = pollux_checkpoint_write (checkpoint, file_name, data, size, err);
    free (data);
    return code;
}

int pollux_agent_restore (struct pollux_agent *agent, const struct pollux_checkpoint *checkpoint,
                          struct pollux_error *err)
{
    int64_t size = pollux_checkpoint_size (checkpoint, file_name);
    int64_t most = (int64_t)state_size (agent, TYPES_SIZE_LIMIT);
    if (size < 0)
        return fail (err, (int)size, "checkpoint %s: there is no file %s in it",
                     pollux_checkpoint_path (checkpoint), file_name);
    if (size > most)
        return fail (err, -EINVAL, "checkpoint %s: %s has %lld bytes, too many for this agent",
                     pollux_checkpoint_path (checkpoint), file_name, (long long)size);
    void *data = malloc ((size_t)size + 1);
    if (!data)
        return fail (err, -ENOMEM, "restoring the agent: no memory for %lld bytes",
                     (long long)size);
    int code = pollux_checkpoint_read (checkpoint, file_name, data, (size_t)size, err);
    if (code == 0)
        code = pollux_agent_state_restore (agent, data, (size_t)size, err);
    free (data);
    return code;
}
