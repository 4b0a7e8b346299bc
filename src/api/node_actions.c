/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes that change a node: drain and resume by a person, a notice of a provider, up and gone by hooks and boot scripts.
 * All may be repeated: no event is posted if nothing changes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/api_private.h"
#include "base/error.h"
#include "wire/document.h"
#include "wire/keys.h"
#include "wire/submission.h"

/* A week: notices of providers are of minutes. */
enum { LEAVING_LIMIT_S = 7 * 86400 };

static void show (struct api *api, struct http_request *request, int node)
{
    struct present present = api_present (api);
    api_reply (api, request, 200, describe_node (&present, node));
}

/* Post the event and answer with the node; or refuse. */
static void post_and_show (struct api *api, struct http_request *request, struct event *event,
                           const char *name)
{
    struct pollux_error err = {""};
    int rc = api->options.post (api->options.self, event, &err);
    if (rc < 0)
        api_refuse_event (api, request, rc, &err);
    else
        show (api, request, cluster_find_node (api->options.cluster, name));
}

static void post_node (struct api *api, struct http_request *request, const struct node *node)
{
    struct event event = {.type = EVENT_NODE, .job = -1, .node = *node};
    post_and_show (api, request, &event, node->name);
}

/* ---- Drain and resume --------------------------------------------------------------------- */

static void set_available (struct api *api, struct http_request *request, int index, bool available)
{
    struct node node = api->options.cluster->nodes[index];
    if (node.available == available) {
        show (api, request, index);
        return;
    }
    node.available = available;
    post_node (api, request, &node);
}

/* {"leaving_s": 120}; *ret stays as it is without the field. */
static int read_leaving (const struct wire_place *object, double *ret, struct pollux_error *err)
{
    static const char *const keys[] = {"leaving_s", NULL};
    int rc = wire_expect_object (object, err);
    if (rc == 0)
        rc = wire_expect_keys (object, keys, err);
    if (rc == 0 && wire_has (object, "leaving_s"))
        rc = wire_double (object, "leaving_s", 0, LEAVING_LIMIT_S, ret, err);
    return rc;
}

/* A provider takes the node of a group away.  Of several notices the earliest deadline holds; a node that has not come yet
 * is returned at once; one that is being returned, or is off, stays as it is. */
static void leave (struct api *api, struct http_request *request, int index, double leaving_s)
{
    const struct cluster *cluster = api->options.cluster;
    const struct node_power *power = &cluster->node_power[index];
    const char *name = cluster->nodes[index].name;
    int64_t deadline_us =
        api->options.now_us (api->options.self) + (int64_t)(leaving_s * 1e6) + (leaving_s == 0);
    bool sooner = power->deadline_us == 0 || deadline_us < power->deadline_us;
    struct event event = {.type = EVENT_POWER, .job = -1};
    if (power->state == POWER_STARTING) {
        event.power.state = POWER_STOPPING;
    } else if (power->state == POWER_UP || (power->state == POWER_DRAINING && sooner)) {
        event.power.state = POWER_DRAINING;
        event.power.deadline_us = deadline_us;
    } else if (power->state == POWER_STOPPING && power->deadline_us > deadline_us) {
        event.power.state = POWER_STOPPING; /* its jobs have been asked to stop */
        event.power.deadline_us = deadline_us;
    } else {
        show (api, request, index);
        return;
    }
    snprintf (event.power.node, sizeof (event.power.node), "%s", name);
    snprintf (event.power.detail, sizeof (event.power.detail), "it leaves in %.9g s", leaving_s);
    post_and_show (api, request, &event, name);
}

void api_drain (struct api *api, struct http_request *request)
{
    double leaving_s = -1;
    struct pollux_error err;
    int index = api_node (api, request);
    if (index < 0)
        return;
    if (http_body_type (request) != 0) {
        struct wire_document *document = api_body (api, request, "drain");
        if (!document)
            return;
        struct wire_place root = wire_root (document);
        int rc = read_leaving (&root, &leaving_s, &err);
        wire_document_free (document);
        if (rc < 0) {
            api_refuse (api, request, 400, "%s", err.text);
            return;
        }
    }
    const struct cluster *cluster = api->options.cluster;
    const char *name = cluster->nodes[index].name;
    if (leaving_s >= 0 && cluster->node_power[index].group >= 0)
        leave (api, request, index, leaving_s);
    else if (cluster->node_power[index].state == POWER_STARTING)
        api_refuse (
            api, request, 409,
            "node %s is starting: drain it when it is up, or return it now (pollux drain %s "
            "--leaving 0)",
            name, name);
    else
        set_available (api, request, index, false);
}

void api_resume (struct api *api, struct http_request *request)
{
    int index = api_node (api, request);
    if (index < 0)
        return;
    const struct cluster *cluster = api->options.cluster;
    const struct node_power *power = &cluster->node_power[index];
    if (power->group >= 0 && power->state != POWER_UP)
        api_refuse (api, request, 409,
                    "node %s is %s: its group %s decides when it takes replicas again",
                    cluster->nodes[index].name, power_names[power->state],
                    cluster->power.groups[power->group].name);
    else if (cluster->nodes[index].slots == 0)
        api_refuse (
            api, request, 409,
            "node %s has no slots: it takes replicas again when it has some (pollux nodes up, if "
            "it was gone)",
            cluster->nodes[index].name);
    else
        set_available (api, request, index, true);
}

/* ---- Up and gone -------------------------------------------------------------------------- */

/* {"slots": 4, "type": "a100"}; the type may be omitted, and is then "". */
static int read_up (const struct wire_place *object, struct node *ret, struct pollux_error *err)
{
    static const char *const keys[] = {"slots", "type", NULL};
    int64_t slots = 0;
    const char *type = "";
    int rc = wire_expect_object (object, err);
    bool typed = rc == 0 && wire_has (object, "type");
    if (rc == 0)
        rc = wire_expect_keys (object, keys, err);
    if (rc == 0)
        rc = wire_int64 (object, "slots", 1, SLOTS_LIMIT, &slots, err);
    if (rc == 0 && typed)
        rc = wire_text (object, "type", &type, err);
    if (rc == 0 && typed && !wire_is_job (type))
        rc = fail (err, -EINVAL,
                   "type: expected a name of letters, digits, '.', '_' and '-', such as a100");
    if (rc < 0)
        return rc;
    ret->slots = (int)slots;
    snprintf (ret->type, sizeof (ret->type), "%s", type);
    return 0;
}

/* Replicas on a node of jobs that may not be moved. */
static int pinned_replicas (const struct cluster *cluster, int node)
{
    int count = 0;
    for (int i = 0; i < cluster->live.count; i++)
        if (job_pinned (cluster->live.jobs[i]))
            count += placement_on (cluster->live.jobs[i]->placement, node);
    return count;
}

/* Can this node of a group be up?  The type is set. */
static int check_member (const struct cluster *cluster, int group, int known, struct node *node,
                         struct pollux_error *err)
{
    const struct node_group *of = &cluster->power.groups[group];
    if (known >= 0 && cluster->node_power[known].state == POWER_STOPPING)
        return fail (err, -EINVAL,
                     "node %s of group %s is being returned: it can come up when it is off, or "
                     "after its next order",
                     node->name, of->name);
    if (node->type[0] && strcmp (node->type, of->type) != 0)
        return fail (err, -EINVAL,
                     "node %s belongs to group %s, whose type is %s: omit the type %s, or correct "
                     "the group in the cluster file",
                     node->name, of->name, of->type[0] ? of->type : "not given", node->type);
    if (node->slots > of->slots_per_node)
        return fail (err, -EINVAL,
                     "node %s belongs to group %s, whose nodes have %d slots: %d are too many",
                     node->name, of->name, of->slots_per_node, node->slots);
    int pinned = known < 0 ? 0 : pinned_replicas (cluster, known);
    if (node->slots < pinned)
        return fail (
            err, -EINVAL,
            "node %s has %d replicas of jobs that may not be moved, so it keeps at least %d "
            "slots: %d are too few until these jobs end",
            node->name, pinned, pinned, node->slots);
    memcpy (node->type, of->type, sizeof (node->type));
    return 0;
}

/* Can this node, which belongs to no group, be up?  Only one that is configured and was gone: everything else about it
 * comes from where it is configured. */
static int check_ungrouped (const struct node *known, struct node *node, struct pollux_error *err)
{
    bool same = !node->type[0] || strcmp (node->type, known->type) == 0;
    if (same)
        memcpy (node->type, known->type, sizeof (node->type));
    if (same && (known->slots == 0 || known->slots == node->slots))
        return 0;
    return fail (err, -EINVAL,
                 "node %s has %d slots%s%s and belongs to no group: change it in the configuration "
                 "of polluxd",
                 node->name, known->slots, known->type[0] ? " of type " : "", known->type);
}

/* The body of the request.  False: it was refused. */
static bool parse_up (struct api *api, struct http_request *request, struct node *ret)
{
    struct pollux_error err;
    struct wire_document *document = api_body (api, request, "node");
    if (!document)
        return false;
    struct wire_place root = wire_root (document);
    int rc = read_up (&root, ret, &err);
    wire_document_free (document);
    if (rc < 0)
        api_refuse (api, request, 400, "%s", err.text);
    return rc == 0;
}

void api_node_up (struct api *api, struct http_request *request)
{
    const struct cluster *cluster = api->options.cluster;
    const char *name = http_param (request, "name");
    struct node node = {.available = true};
    struct pollux_error err;
    if (!parse_up (api, request, &node))
        return;
    int group = node_groups_find_node (cluster->power.groups, cluster->power.count, name);
    int known = cluster_find_node (cluster, name);
    if (group < 0 && known < 0) {
        api_refuse (api, request, 404,
                    "node %s is not configured and belongs to no group: add it to the nodes of "
                    "polluxd, or a group with nodes of such names to its cluster file",
                    name);
        return;
    }
    snprintf (node.name, sizeof (node.name), "%s", name);
    int rc = group >= 0 ? check_member (cluster, group, known, &node, &err)
                        : check_ungrouped (&cluster->nodes[known], &node, &err);
    if (rc < 0) {
        api_refuse (api, request, 409, "%s", err.text);
        return;
    }
    const struct node *before = known < 0 ? NULL : &cluster->nodes[known];
    bool there = before && before->slots > 0 &&
                 (group < 0 || cluster->node_power[known].state == POWER_UP ||
                  cluster->node_power[known].state == POWER_DRAINING);
    if (there && before->slots == node.slots && strcmp (before->type, node.type) == 0) {
        show (api, request, known);
        return;
    }
    node.available = !there || before->available; /* a person may have drained it */
    post_node (api, request, &node);
}

void api_node_gone (struct api *api, struct http_request *request)
{
    int index = api_node (api, request);
    if (index < 0)
        return;
    struct node node = api->options.cluster->nodes[index];
    if (node.slots == 0) {
        show (api, request, index);
        return;
    }
    node.slots = 0;
    node.available = false;
    post_node (api, request, &node);
}
