/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the simple fields of all types of events.  event_encode.c and event_decode.c add the
 * others: specs, hints, placements.
 */
#include "wire/event_format.h"

#include <math.h>
#include <stddef.h>

#include "wire/job.h"
#include "wire/spec.h"

static const struct wire_member no_members[] = {{0}};

static const struct wire_member limits_members[] = {
    WIRE_LIMITS_ROWS (event, limits),
    {0},
};

static const struct wire_member node_members[] = {
    {WIRE_FIELD ("name", event, node.name, WIRE_NAME)},
    {WIRE_FIELD ("type", event, node.type, WIRE_NAME), .optional = true},
    {WIRE_FIELD ("slots", event, node.slots, WIRE_INT), .max = SLOTS_LIMIT},
    {WIRE_FIELD ("available", event, node.available, WIRE_BOOL)},
    {0},
};

static const struct wire_member round_members[] = {
    {WIRE_FIELD ("policy", event, round.policy, WIRE_NAME)},
    {WIRE_FIELD ("interval", event, round.interval_s, WIRE_DOUBLE), .max = MODEL_TIME_LIMIT},
    {WIRE_FIELD ("restart_delay", event, round.restart_delay_s, WIRE_DOUBLE),
     .max = MODEL_TIME_LIMIT},
    {WIRE_FIELD ("p", event, round.p, WIRE_DOUBLE), .min = -INFINITY, .max = 1},
    {WIRE_FIELD ("batch_search", event, round.search, WIRE_CHOICE), .max = POLLUX_REFERENCE,
     .names = wire_search_names},
    {WIRE_FIELD ("seed", event, round.seed, WIRE_UINT64)},
    {WIRE_FIELD ("budget", event, round.budget, WIRE_INT64), .optional = true, .max = 0x1p53},
    {WIRE_FIELD ("software", event, round.software, WIRE_NAME)},
    {WIRE_FIELD ("least_age", event, round.least_age_s, WIRE_DOUBLE), .optional = true,
     .max = MODEL_TIME_LIMIT},
    {WIRE_FIELD ("fill", event, round.fill, WIRE_BOOL), .optional = true},
    {WIRE_FIELD ("cold", event, round.cold, WIRE_BOOL), .optional = true},
    {WIRE_FIELD ("experience", event, round.experience, WIRE_BOOL), .optional = true},
    {0},
};

static const struct wire_member generation_members[] = {
    {WIRE_FIELD ("generation", event, start.generation, WIRE_INT), .max = INT32_MAX},
    {0},
};

static const struct wire_member start_members[] = {
    {WIRE_FIELD ("generation", event, start.generation, WIRE_INT), .max = INT32_MAX},
    {WIRE_FIELD ("relocated", event, start.relocated, WIRE_BOOL), .optional = true},
    {0},
};

static const struct wire_member exit_members[] = {
    {WIRE_FIELD ("generation", event, exit.generation, WIRE_INT), .max = INT32_MAX},
    {WIRE_FIELD ("kind", event, exit.kind, WIRE_CHOICE), .max = EXIT_KINDS - 1,
     .names = exit_names},
    {WIRE_FIELD ("detail", event, exit.detail, WIRE_TEXT), .optional = true,
     .max = DETAIL_SIZE - 1},
    {WIRE_FIELD ("pause", event, exit.pause_s, WIRE_INT), .optional = true, .max = PAUSE_LIMIT},
    {0},
};

/* Without a change of size: the utility only. */
static const struct wire_member size_members[] = {
    {WIRE_FIELD ("utility", event, size.utility, WIRE_DOUBLE), .optional = true, .missing = NAN,
     .max = INFINITY},
    {WIRE_FIELD ("reason", event, size.reason, WIRE_TEXT), .optional = true,
     .max = DETAIL_SIZE - 1},
    {0},
};

static const struct wire_member power_members[] = {
    {WIRE_FIELD ("node", event, power.node, WIRE_NAME)},
    {WIRE_FIELD ("state", event, power.state, WIRE_CHOICE), .max = POWER_STATES - 1,
     .names = power_names},
    {WIRE_FIELD ("deadline_us", event, power.deadline_us, WIRE_INT64), .optional = true,
     .max = 0x1p53},
    {WIRE_FIELD ("detail", event, power.detail, WIRE_TEXT), .optional = true,
     .max = DETAIL_SIZE - 1},
    {0},
};

const struct wire_format wire_formats[EVENT_TYPES] = {
    [EVENT_SUBMIT] = {true, no_members},          [EVENT_CANCEL] = {true, no_members},
    [EVENT_LIMITS] = {true, limits_members},      [EVENT_NODE] = {false, node_members},
    [EVENT_HINTS] = {false, no_members},          [EVENT_ROUND] = {false, round_members},
    [EVENT_PLAN] = {false, no_members},           [EVENT_START] = {true, start_members},
    [EVENT_STARTED] = {true, generation_members}, [EVENT_EXIT] = {true, exit_members},
    [EVENT_GROUPS] = {false, no_members},         [EVENT_SIZE] = {false, size_members},
    [EVENT_POWER] = {false, power_members},
};

const struct wire_member wire_batch_members[] = {
    {WIRE_FIELD ("m", report, batch.m, WIRE_INT64), .optional = true,
     .max = (double)POLLUX_BATCH_LIMIT},
    {WIRE_FIELD ("s", report, batch.s, WIRE_INT64), .optional = true,
     .max = (double)POLLUX_BATCH_LIMIT},
    {0},
};

const struct wire_member wire_report_members[] = {
    {WIRE_FIELD ("oracle_remaining", report, oracle_remaining, WIRE_DOUBLE), .optional = true,
     .missing = NAN, .max = MODEL_PROGRESS_LIMIT},
    {0},
};

const struct wire_member wire_oracle_members[] = {
    {WIRE_MEMBER (oracle, remaining, WIRE_DOUBLE), .optional = true, .missing = NAN,
     .max = MODEL_PROGRESS_LIMIT},
    {0},
};

#define ANY .optional = true, .missing = NAN, .min = -INFINITY, .max = INFINITY
const struct wire_member wire_plan_members[] = {
    {WIRE_MEMBER (plan, fitness, WIRE_DOUBLE), ANY},
    {WIRE_MEMBER (plan, bound, WIRE_DOUBLE), ANY},
    {WIRE_MEMBER (plan, price, WIRE_DOUBLE), ANY},
    {0},
};
