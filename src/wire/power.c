/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes and decodes the states of groups and nodes, and the ledger. */
#include "wire/power.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cluster/restore.h"
#include "wire/event_format.h"
#include "wire/member.h"
#include "wire/node_groups.h"

#define TIME_US .optional = true, .max = 0x1p53

/* More than all slots cost in 300 years at the highest price. */
#define AMOUNT .optional = true, .max = 1e30

static const struct wire_member power_members[] = {
    {WIRE_MEMBER (power, resized_us, WIRE_INT64), TIME_US},
    {WIRE_MEMBER (power, reason, WIRE_TEXT), .optional = true, .max = DETAIL_SIZE - 1},
    {WIRE_MEMBER (power, boots, WIRE_INT64), .optional = true, .max = 0x1p53},
    {0},
};

/* -1 means absent: the snapshot is of an older version. */
static const struct wire_member node_members[] = {
    {WIRE_MEMBER (node_power, state, WIRE_CHOICE), .optional = true, .max = POWER_STATES - 1,
     .names = power_names},
    {WIRE_MEMBER (node_power, since_us, WIRE_INT64), TIME_US},
    {WIRE_MEMBER (node_power, deadline_us, WIRE_INT64), TIME_US},
    {WIRE_MEMBER (node_power, billed_us, WIRE_INT64), .optional = true, .missing = -1,
     .max = 0x1p53},
    {WIRE_MEMBER (node_power, came, WIRE_BOOL), .optional = true},
    {WIRE_MEMBER (node_power, failures, WIRE_INT), .optional = true, .max = INT_MAX},
    {0},
};

static const struct wire_member row_members[] = {
    {WIRE_MEMBER (ledger_row, capacity, WIRE_BOOL), .optional = true},
    {WIRE_MEMBER (ledger_row, owner, WIRE_NAME), .optional = true},
    {WIRE_MEMBER (ledger_row, slot_s, WIRE_DOUBLE), AMOUNT},
    {WIRE_MEMBER (ledger_row, cost, WIRE_DOUBLE), AMOUNT},
    {0},
};

/* ---- Groups ------------------------------------------------------------------------------- */

static bool is_empty (const struct power *power)
{
    return power->count == 0 && power->goal.kind == GOAL_FIXED && power->resized_us == 0 &&
           !power->reason[0] && power->utility_count == 0 && power->boots == 0;
}

static int put_power (const struct power *power, json_t *object, struct pollux_error *err)
{
    int code = wire_goal_groups_put (&power->goal, power->groups, power->count, object, err);
    if (code == 0)
        code = wire_members_encode (power_members, power, object, err);
    if (code < 0)
        return code;
    json_t *wanted = json_object (), *complete = json_object (), *utilities = json_array ();
    code = wire_put (object, "wanted", wanted, err);
    int put = wire_put (object, "complete_us", complete, err); /* also after a failure: released */
    code = code < 0 ? code : put;
    put = wire_put (object, "utilities", utilities, err);
    code = code < 0 ? code : put;
    for (int i = 0; code == 0 && i < power->count; i++) {
        const char *name = power->groups[i].name;
        code = wire_put (wanted, name, json_integer (power->wanted[i]), err);
        if (code == 0 && power->complete_us[i] > 0)
            code = wire_put (complete, name, json_integer (power->complete_us[i]), err);
    }
    for (int i = 0; code == 0 && i < power->utility_count; i++)
        if (json_array_append_new (utilities, wire_number_encode (power->utilities[i])) < 0)
            code = fail (err, -ENOMEM, "utilities: not enough memory");
    return code;
}

int wire_groups_put (const struct cluster *cluster, json_t *whole, struct pollux_error *err)
{
    if (is_empty (&cluster->power))
        return 0;
    json_t *object = json_object ();
    int code = wire_put (whole, "groups", object, err);
    return code < 0 ? code : put_power (&cluster->power, object, err);
}

static int decode_utilities (const struct wire_place *list, struct power *ret,
                             struct pollux_error *err)
{
    size_t count = 0;
    int code = wire_count_elements (list, UTILITY_ROUNDS, "utilities", &count, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        struct wire_place place = wire_element (list, i);
        const char *text = json_string_value (place.value);
        double utility = text && strcmp (text, "inf") == 0 ? INFINITY
                         : json_is_number (place.value)    ? json_number_value (place.value)
                                                           : NAN;
        if (!(utility >= 0))
            code = wire_fail (&place, err, "expected a number from 0, or \"inf\"");
        ret->utilities[i] = utility;
    }
    ret->utility_count = (int)count;
    return code;
}

int wire_groups_restore (const struct wire_place *whole, struct cluster *cluster, int64_t now_us,
                         struct pollux_error *err)
{
    struct power power = {.count = 0};
    struct pollux_error why = {""};
    struct wire_place place = wire_field (whole, "groups");
    struct wire_place wanted = wire_field (&place, "wanted"),
                      complete = wire_field (&place, "complete_us"),
                      utilities = wire_field (&place, "utilities");
    if (!wire_has (whole, "groups"))
        return 0;
    int code = wire_goal_groups_decode (&place, &power.goal, power.groups, &power.count, err);
    if (code == 0)
        code = wire_members_decode (power_members, &place, &power, err);
    if (code == 0 && wire_has (&place, "complete_us"))
        code = wire_expect_object (&complete, err);
    for (int i = 0; code == 0 && i < power.count; i++) {
        int64_t count = 0;
        code = wire_int64 (&wanted, power.groups[i].name, 0, NODES_LIMIT, &count, err);
        power.wanted[i] = (int)count;
        if (code == 0 && wire_has (&complete, power.groups[i].name))
            code = wire_int64 (&complete, power.groups[i].name, 0, CLUSTER_TIME_LIMIT_US,
                               &power.complete_us[i], err);
    }
    if (code == 0)
        code = decode_utilities (&utilities, &power, err);
    if (code == 0 && cluster_restore_groups (cluster, &power, now_us, &why) < 0)
        code = wire_fail (&place, err, "%s", why.text);
    return code;
}

/* ---- Nodes -------------------------------------------------------------------------------- */

int wire_node_put (const struct cluster *cluster, int node, json_t *object,
                   struct pollux_error *err)
{
    struct event event = {.node = cluster->nodes[node]};
    int code = wire_members_encode (wire_formats[EVENT_NODE].members, &event, object, err);
    return code < 0 ? code
                    : wire_members_encode (node_members, &cluster->node_power[node], object, err);
}

int wire_node_restore (const struct wire_place *place, struct cluster *cluster, int64_t now_us,
                       struct pollux_error *err)
{
    struct event event = {.type = EVENT_NODE};
    struct node_power power = {.group = -1};
    struct pollux_error why = {""};
    int code = wire_members_decode (wire_formats[EVENT_NODE].members, place, &event, err);
    if (code == 0)
        code = wire_members_decode (node_members, place, &power, err);
    if (power.billed_us < 0)
        power.billed_us = now_us;
    if (code == 0) {
        code = cluster_restore_node (cluster, &event.node, &power, now_us, &why);
        if (code < 0)
            code = code == -EINVAL ? wire_fail (place, err, "%s", why.text)
                                   : fail (err, code, "%s", why.text);
    }
    return code;
}

/* ---- The ledger --------------------------------------------------------------------------- */

static int put_row (const struct ledger_row *row, json_t *list, struct pollux_error *err)
{
    json_t *object = json_object ();
    if (json_array_append_new (list, object) < 0)
        return fail (err, -ENOMEM, "not enough memory");
    int code = wire_put (object, "month",
                         json_sprintf ("%04d-%02d", row->month / 12, row->month % 12 + 1), err);
    return code < 0 ? code : wire_members_encode (row_members, row, object, err);
}

int wire_ledger_put (const struct cluster *cluster, json_t *whole, struct pollux_error *err)
{
    if (cluster->ledger.count == 0)
        return 0;
    json_t *list = json_array ();
    int code = wire_put (whole, "ledger", list, err);
    for (int i = 0; code == 0 && i < cluster->ledger.count; i++)
        code = put_row (&cluster->ledger.rows[i], list, err);
    return code;
}

/* YYYY-MM */
static int decode_month (const struct wire_place *row, int *ret, struct pollux_error *err)
{
    struct wire_place place = wire_field (row, "month");
    const char *text = json_string_value (place.value);
    int year = 0, month = 0, length = 0;
    if (!text || strlen (text) != 7 || strspn (text, "0123456789") != 4 ||
        strspn (text + 5, "0123456789") != 2 ||
        sscanf (text, "%4d-%2d%n", &year, &month, &length) != 2 || length != 7 || month < 1 ||
        month > 12)
        return wire_fail (&place, err, "expected a month as 2026-01");
    *ret = 12 * year + month - 1;
    return 0;
}

int wire_ledger_restore (const struct wire_place *whole, struct cluster *cluster, int64_t now_us,
                         struct pollux_error *err)
{
    struct wire_place list = wire_field (whole, "ledger");
    size_t count = 0;
    if (!wire_has (whole, "ledger"))
        return 0;
    int code = wire_count_elements (&list, LEDGER_LIMIT, "rows", &count, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        struct wire_place place = wire_element (&list, i);
        struct ledger_row row = {.month = 0};
        struct pollux_error why = {""};
        code = wire_members_decode (row_members, &place, &row, err);
        if (code == 0)
            code = decode_month (&place, &row.month, err);
        if (code == 0) {
            code = cluster_restore_costs (cluster, &row, now_us, &why);
            if (code < 0)
                code = code == -EINVAL ? wire_fail (&place, err, "%s", why.text)
                                       : fail (err, code, "%s", why.text);
        }
    }
    return code;
}
