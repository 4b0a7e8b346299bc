/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of an agent as bytes, for a checkpoint that another machine may read with another number
 * of replicas.
 *
 *     magic "plxagent" | version | progress | max_replicas | steps | fitted | the model's seven
 *     | entries | updates, total batch (0 without evidence) | limit of the gain (2) | second moment (3)
 *     | evidence (7)
 *     | nodes, replicas, m, steps, met_at, grad_s, step_s of each entry
 *     | the noise estimator (model/noise_save.c) | checksum of all before
 *
 * Version 1 has no fields from updates to evidence: an agent that reads it starts without evidence.
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
    VERSION = 2,
    MODEL_FIELDS = 7,
    ENTRY_FIELDS = 7,
    HEAD_FIELDS = 7 + MODEL_FIELDS,
    EVIDENCE_FIELDS = 7,
    TRUST_FIELDS = 7 + EVIDENCE_FIELDS, /* since version 2 */
};

static const uint8_t magic[FIELD] = {'p', 'l', 'x', 'a', 'g', 'e', 'n', 't'};
static const char file_name[] = "pollux-agent";

/* Up to the end of the entries. */
static size_t entries_size (uint64_t version, int count)
{
    size_t head = HEAD_FIELDS + (version > 1 ? TRUST_FIELDS : 0);
    return FIELD * (head + ENTRY_FIELDS * (size_t)count);
}

size_t pollux_agent_state_size (const struct pollux_agent *agent)
{
    return entries_size (VERSION, agent->profile.count) + pollux_noise_size (agent->noise) + FIELD;
}

/* ---- Saving ------------------------------------------------------------------------------- */

static uint8_t *put_model (uint8_t *at, const struct pollux_model *model)
{
    const double values[MODEL_FIELDS] = {model->alpha_grad, model->beta_grad,   model->alpha_node,
                                         model->beta_node,  model->alpha_local, model->beta_local,
                                         model->gamma};
    for (int i = 0; i < MODEL_FIELDS; i++)
        at = bytes_put_double (at, values[i]);
    return at;
}

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

int pollux_agent_state_save (const struct pollux_agent *agent, void *ret, size_t size,
                             struct pollux_error *err)
{
    const struct profile *profile = &agent->profile;
    size_t needed = pollux_agent_state_size (agent), noise = pollux_noise_size (agent->noise);
    if (size < needed)
        return fail (err, -ENOSPC, "saving the agent needs %zu bytes, got room for %zu", needed,
                     size);
    uint8_t *at = ret;
    memcpy (at, magic, sizeof (magic));
    at = bytes_put_u64 (at + sizeof (magic), VERSION);
    at = bytes_put_double (at, agent->progress);
    at = bytes_put_u64 (at, (uint64_t)profile->max_replicas);
    at = bytes_put_u64 (at, profile->steps);
    at = bytes_put_u64 (at, agent->tuner.fitted);
    at = put_model (at, &agent->tuner.fit.model);
    at = bytes_put_u64 (at, (uint64_t)profile->count);
    at = put_trust (at, agent);
    for (int i = 0; i < profile->count; i++)
        at = put_entry (at, &profile->entries[i]);
    int code = pollux_noise_save (agent->noise, at, noise, err);
    if (code == 0)
        bytes_put_u64 (at + noise, bytes_checksum (ret, needed - FIELD));
    return code;
}

/* ---- Restoring ---------------------------------------------------------------------------- */

/* All fields except the noise estimator. */
struct state {
    double progress;
    uint64_t max_replicas, steps, fitted, count;
    double model[MODEL_FIELDS];
    uint64_t updates, total_batch; /* total_batch 0: unknown, or there was no evidence */
    struct gain_limit gain_limit;
    struct second_moment moment;
    struct evidence evidence;
    struct profile_entry entries[PROFILE_LIMIT];
};

static const uint8_t *get_head (const uint8_t *at, struct state *ret)
{
    at = bytes_get_double (at, &ret->progress);
    at = bytes_get_u64 (at, &ret->max_replicas);
    at = bytes_get_u64 (at, &ret->steps);
    at = bytes_get_u64 (at, &ret->fitted);
    for (int i = 0; i < MODEL_FIELDS; i++)
        at = bytes_get_double (at, &ret->model[i]);
    return bytes_get_u64 (at, &ret->count);
}

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

static int check_head (const struct state *state, struct pollux_error *err)
{
    bool legal = state->progress >= 0 && isfinite (state->progress) &&
                 state->max_replicas <= POLLUX_REPLICAS_LIMIT && state->fitted <= 1 &&
                 state->count <= PROFILE_LIMIT && state->steps >= state->count &&
                 state->steps <= INT64_MAX && (state->count > 0 || !state->fitted) &&
                 trust_is_legal (state);
    for (int i = 0; legal && state->fitted && i < MODEL_FIELDS; i++)
        legal = isfinite (state->model[i]) && state->model[i] > 0;
    return legal && !(state->fitted && state->model[MODEL_FIELDS - 1] < 1)
               ? 0
               : fail (err, -EINVAL, "saved agent: impossible state (progress %g, %llu samples)",
                       state->progress, (unsigned long long)state->count);
}

/* Read an entry; refuse one that profile_add cannot make. */
static int get_entry (const uint8_t **at, const struct state *state, struct profile_entry *ret,
                      struct pollux_error *err)
{
    uint64_t nodes, replicas, m, steps, met_at;
    double grad_s, step_s;
    *at = bytes_get_u64 (*at, &nodes);
    *at = bytes_get_u64 (*at, &replicas);
    *at = bytes_get_u64 (*at, &m);
    *at = bytes_get_u64 (*at, &steps);
    *at = bytes_get_u64 (*at, &met_at);
    *at = bytes_get_double (*at, &grad_s);
    *at = bytes_get_double (*at, &step_s);
    if (nodes < 1 || nodes > replicas || replicas > state->max_replicas || m < 1 ||
        m > (uint64_t)POLLUX_BATCH_LIMIT || steps < 1 || steps > state->steps ||
        met_at > state->steps ||
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

static void adopt (struct pollux_agent *agent, const struct state *state)
{
    const double *x = state->model;
    agent->progress = agent->advice.progress = state->progress;
    agent->profile = (struct profile){.count = (int)state->count,
                                      .max_replicas = (int)state->max_replicas,
                                      .steps = state->steps};
    memcpy (agent->profile.entries, state->entries, state->count * sizeof (state->entries[0]));
    /* This generation fits at once, starting from the restored model. */
    agent->tuner.fitted = state->fitted;
    if (state->fitted)
        agent->tuner.fit = (struct pollux_fit){.model = {x[0], x[1], x[2], x[3], x[4], x[5], x[6]},
                                               .loss = NAN,
                                               .grad_error = NAN,
                                               .step_error = NAN};
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
    uint64_t version = VERSION;
    if (size >= entries_size (1, 0) + FIELD)
        bytes_get_u64 ((const uint8_t *)data + FIELD, &version);
    version = version == 1 ? 1 : VERSION;
    int code = bytes_check_state (data, size, entries_size (version, 0) + FIELD, magic,
                                  (unsigned)version, "saved agent", err);
    if (code < 0)
        return code;
    const uint8_t *at = get_head ((const uint8_t *)data + 2 * FIELD, &state);
    if (version > 1)
        at = get_trust (at, &state);
    code = check_head (&state, err);
    size_t entries = code == 0 ? entries_size (version, (int)state.count) : 0;
    if (code == 0 && size < entries + FIELD)
        code = fail (err, -EINVAL, "saved agent: %zu bytes are too few for %llu samples", size,
                     (unsigned long long)state.count);
    for (uint64_t i = 0; code == 0 && i < state.count; i++)
        code = get_entry (&at, &state, &state.entries[i], err);
    if (code == 0)
        code = pollux_noise_restore (agent->noise, at, size - entries - FIELD, err);
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
    int64_t most =
        (int64_t)(entries_size (VERSION, PROFILE_LIMIT) + pollux_noise_size (agent->noise) + FIELD);
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
