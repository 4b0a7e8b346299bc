/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of the service.  sinfo tells their states and how many slots all Slurm jobs use; scontrol tells which are
 * reserved; the list of jobs tells how many slots are ours; the rest belongs to others:
 *
 *     sinfo     n0: 8 GPUs, 5 used            slots of n0 = 8 - (5 - 3) = 6
 *     squeue    our shares on n0: 3 GPUs
 *
 * They are asked one after the other, so they agree only on a node where nothing of ours has changed in
 * the meantime.  On other nodes the last known number stays until the next time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "backend/gpu_type.h"
#include "backend/slurm/service_private.h"
#include "base/clock.h"
#include "base/error.h"

#define SECOND_US INT64_C (1000000)
#define QUERY_US (15 * SECOND_US)
/* While a share waits in Slurm: others may have taken its node. */
#define QUERY_WAITING_US (3 * SECOND_US)
#define QUERY_AGAIN_US SECOND_US
#define QUERY_DEADLINE_US (30 * SECOND_US)
/* Nothing of ours has changed on a node for this time. */
#define QUIET_US (2 * SECOND_US)
/* A node that does not answer is lost after this time: all of them seem lost while slurmctld starts. */
#define LOST_US (20 * SECOND_US)
/* How long a node has fewer slots on which a share waited too long. */
#define LIMITED_US (120 * SECOND_US)

static int find_index (const struct service *service, const char *name)
{
    for (int i = 0; i < service->slurm.node_count; i++)
        if (strcmp (service->slurm.nodes[i].name, name) == 0)
            return i;
    return -1;
}

const struct service_node *service_find_node (const struct service *service, const char *name,
                                              const struct node **ret)
{
    int index = find_index (service, name);
    if (index < 0)
        return NULL;
    *ret = &service->slurm.nodes[index];
    return &service->details[index];
}

/* Of a node by its number in the cluster; NULL: Slurm does not have it. */
static struct service_node *details_of (struct service *service, int node)
{
    const struct cluster *cluster = service->slurm.cluster;
    int index = cluster ? find_index (service, cluster->nodes[node].name) : -1;
    return index >= 0 ? &service->details[index] : NULL;
}

/* Slots of our shares on a node, with or without those that are being ended. */
static int count_slots (const struct service *service, int node, bool ending)
{
    int count = 0;
    for (int i = 0; i < service->slurm.count; i++) {
        const struct carried_share *share = service->slurm.shares[i];
        if (share->node == node && share->generation &&
            (ending || !(share->excused || share->refused)))
            count += share->count;
    }
    return count;
}

void service_limit_node (struct service *service, int node)
{
    struct service_node *details = details_of (service, node);
    if (!details)
        return;
    details->limit = count_slots (service, node, false);
    details->limited_us = clock_monotonic_us () + LIMITED_US;
    slurm_log (&service->slurm, LOG_WARNING,
               "node %s: Slurm does not start our job there; for two minutes it has %d slots",
               service->slurm.cluster->nodes[node].name, details->limit);
    service->slurm.query_us = 0;
}

/* The slots of a node for the cluster.  Where no room was left for a share nothing more starts for some time, and what
 * runs stays.  That share counts until it has ended: otherwise its job would keep its slot, and another one leave. */
static int limited_slots (const struct service *service, int index, int node)
{
    const struct service_node *details = &service->details[index];
    int slots = service->slurm.nodes[index].slots;
    if (node < 0 || clock_monotonic_us () >= details->limited_us)
        return slots;
    int ours = count_slots (service, node, true);
    int limit = ours > details->limit ? ours : details->limit;
    return slots < limit ? slots : limit;
}

void service_node_failed (void *self, int node)
{
    struct service *service = self;
    struct service_node *details = details_of (service, node);
    if (!details)
        return;
    details->failed_us = clock_monotonic_us ();
    service->slurm.nodes[details - service->details].available = false;
}

void service_share_left (struct service *service, int node)
{
    struct service_node *details = details_of (service, node);
    if (details)
        details->changed_us = clock_monotonic_us ();
}

/* ---- Slots -------------------------------------------------------------------------------- */

/* Slots that our shares hold on a node; -1: something has changed after since_us. */
static int held_slots (const struct service *service, const char *name, int64_t since_us)
{
    int held = 0;
    for (int i = 0; i < service->slurm.count; i++) {
        const struct carried_share *share = service->slurm.shares[i];
        if (!service->slurm.cluster ||
            strcmp (service->slurm.cluster->nodes[share->node].name, name) != 0)
            continue;
        if (share->state != CARRIED_LISTED || share->since_us > since_us ||
            share->phase_us > since_us)
            return -1;
        if (share->phase != SLURM_COMING)
            held += share->count;
    }
    return held;
}

/* Replicas for which free CPUs and memory are left, by what a replica asks for by default. */
static int count_room (const struct wire_slurm_config *config, const struct slurm_node *found)
{
    struct slurm_request request = wire_slurm_complete (config, &(struct slurm_request){0});
    int64_t room = (found->cpus - found->cpus_used) / (request.cpus > 0 ? request.cpus : 1);
    if (request.memory_mb > 0) {
        int64_t in_memory = (found->memory_mb - found->memory_used_mb) / request.memory_mb;
        room = in_memory < room ? in_memory : room;
    }
    return room < 0 ? 0 : room > SLOTS_LIMIT ? SLOTS_LIMIT : (int)room;
}

/* Slots that are not ours: others use them, or no CPUs or no memory are left for them. */
static int count_foreign (const struct wire_slurm_config *config, const struct slurm_node *found,
                          int total, int used, int held)
{
    int foreign = used > held ? used - held : 0,
        without_room = total - held - count_room (config, found);
    return foreign > without_room ? foreign : without_room;
}

/* Say once that a node has GPUs that nobody chose to leave out. */
static void tell_unused (const struct service *service, const struct slurm_node *found,
                         struct service_node *details)
{
    if (found->gres.others == 0 || details->told_unused || service->config.gres_type[0])
        return;
    slurm_log (
        &service->slurm, LOG_WARNING,
        "node %s has %s of several types: %d %s are used, %d of other types %s not (gres_type "
        "selects the type)",
        found->name, service->config.gres, found->gres.count,
        *found->gres.type ? found->gres.type : "without a type", found->gres.others,
        found->gres.others == 1 ? "is" : "are");
    details->told_unused = true;
}

static void set_node (const struct service *service, const struct slurm_node *found,
                      struct node *node, struct service_node *details)
{
    const struct wire_slurm_config *config = &service->config;
    int64_t now_us = clock_monotonic_us ();
    int old = find_index (service, found->name);
    bool gres = config->gres[0] != '\0';
    int total = gres ? found->gres.count : found->cpus;
    int used = gres ? found->gres_used : found->cpus_used;
    int held = held_slots (service, found->name, service->found_began_us - QUIET_US);
    enum slurm_reserved reserved =
        slurm_reservations_find (&service->reservations, config->reservation, found->name);
    enum slurm_node_use use = slurm_node_use (found->state, reserved == SLURM_RESERVED_FOR_US);
    if ((reserved == SLURM_RESERVED_FOR_OTHERS || found->closed) && use == SLURM_NODE_USABLE)
        use = SLURM_NODE_CLOSED;
    *details = (struct service_node){.reported = -1};
    if (old >= 0)
        *details = service->details[old];
    details->usable = use == SLURM_NODE_USABLE;
    details->there = use != SLURM_NODE_LOST;
    details->asked_us = service->found_began_us;
    /* Shares that ended here a moment ago may still be counted as used. */
    bool quiet = held >= 0 && details->changed_us < service->found_began_us - QUIET_US;
    if (quiet || (old < 0 && held >= 0))
        details->foreign = count_foreign (config, found, total, used, held);
    if (use != SLURM_NODE_LOST)
        details->lost_us = 0;
    else if (details->lost_us == 0)
        details->lost_us = now_us;
    if (use != SLURM_NODE_LOST && service->found_began_us > details->failed_us)
        details->failed_us = 0;
    memcpy (details->address, found->address, SLURM_ADDRESS_SIZE);
    memcpy (details->gres_type, found->gres.type, NAME_SIZE);
    tell_unused (service, found, details);
    if (use == SLURM_NODE_LOST && old >= 0 && details->failed_us == 0 &&
        now_us < details->lost_us + LOST_US) {
        *node = service->slurm.nodes[old];
        return;
    }
    *node = (struct node){.slots = total - details->foreign};
    memcpy (node->name, found->name, NAME_SIZE);
    if (node->slots < 0 || use == SLURM_NODE_LOST)
        node->slots = 0;
    if (node->slots > SLOTS_LIMIT)
        node->slots = SLOTS_LIMIT;
    gpu_type_of_gres (!gres               ? "cpu"
                      : *found->gres.type ? found->gres.type
                                          : config->gres,
                      node->type);
    node->available = use == SLURM_NODE_USABLE && node->slots > 0 && details->failed_us == 0;
}

/* Nodes that sinfo does not list any more stay, with no slots. */
static int count_gone (const struct service *service)
{
    int count = 0;
    for (int i = 0; i < service->slurm.node_count; i++)
        count += !slurm_nodes_find (&service->found, service->slurm.nodes[i].name);
    return count;
}

static void take_nodes (struct service *service)
{
    int count = service->found.count, gone = count_gone (service);
    struct node *nodes = calloc ((size_t)(count + gone) + 1, sizeof (nodes[0]));
    struct service_node *details = calloc ((size_t)(count + gone) + 1, sizeof (details[0]));
    if (!nodes || !details) {
        free (nodes);
        free (details);
        return;
    }
    for (int i = 0; i < count; i++)
        set_node (service, &service->found.list[i], &nodes[i], &details[i]);
    for (int i = 0, at = count; i < service->slurm.node_count; i++)
        if (!slurm_nodes_find (&service->found, service->slurm.nodes[i].name)) {
            nodes[at] = service->slurm.nodes[i];
            details[at] = service->details[i];
            details[at].there = false;
            nodes[at].slots = 0;
            nodes[at++].available = false;
        }
    service->slurm.set.wants_settle |= service->slurm.node_count < 0;
    free (service->slurm.nodes);
    free (service->details);
    service->slurm.nodes = nodes;
    service->details = details;
    service->slurm.node_count = count + gone;
    slurm_nodes_clear (&service->found);
    service->has_found = false;
}

void service_nodes_listed (struct service *service)
{
    if (service->has_found && service->slurm.listed_us >= service->found_began_us)
        take_nodes (service);
    bool soon = false;
    for (int i = 0; i < service->slurm.count; i++)
        soon |= service->slurm.shares[i]->phase == SLURM_COMING;
    for (int i = 0; i < service->slurm.node_count; i++)
        soon |= (service->details[i].lost_us > 0 || service->details[i].failed_us > 0) &&
                service->slurm.nodes[i].slots > 0;
    if (soon && service->slurm.query_us > service->slurm.query_began_us + QUERY_WAITING_US)
        service->slurm.query_us = service->slurm.query_began_us + QUERY_WAITING_US;
}

/* ---- Asking ------------------------------------------------------------------------------- */

static struct slurm_nodes_query query_of (const struct service *service)
{
    const struct wire_slurm_config *config = &service->config;
    return (struct slurm_nodes_query){
        .partition = config->partition[0] ? config->partition : NULL,
        .nodes = config->nodes[0] ? config->nodes : NULL,
        .gres = config->gres[0] ? config->gres : NULL,
        .type = config->gres_type[0] ? config->gres_type : NULL,
    };
}

static void query_failed (struct service *service, const char *why)
{
    if (service->slurm.query_failures++ == 0)
        slurm_log (&service->slurm, LOG_WARNING,
                   "the nodes of Slurm are not known: %s; asking again", why);
    service->slurm.query_us = clock_monotonic_us () + QUERY_AGAIN_US;
}

/* Start one of the two commands. */
static int ask (struct service *service, const struct words *words,
                void (*done) (void *user, const struct command_result *result),
                struct pollux_error *err)
{
    int64_t now_us = clock_monotonic_us ();
    struct command_request request = {.words = words_list (words),
                                      .deadline_us = now_us + QUERY_DEADLINE_US,
                                      .done = done,
                                      .user = service};
    return command_set_start (service->slurm.commands, &request, now_us, &service->slurm.query,
                              err);
}

/* Only nodes of our reservation stay in the list, if we have one. */
static void drop_others (struct service *service, struct slurm_nodes *nodes)
{
    const char *ours = service->config.reservation;
    int kept = 0;
    if (!*ours)
        return;
    for (int i = 0; i < nodes->count; i++)
        if (slurm_reservations_find (&service->reservations, ours, nodes->list[i].name) ==
            SLURM_RESERVED_FOR_US)
            nodes->list[kept++] = nodes->list[i];
    nodes->count = kept;
    if (kept == 0 && !service->reservation_missing)
        slurm_log (&service->slurm, LOG_WARNING,
                   "reservation %s has no nodes for us now: it is not active, its nodes are not in "
                   "the partition, or "
                   "polluxd's user may not see it (PrivateData in slurm.conf)",
                   ours);
    service->reservation_missing = kept == 0;
}

static void reservations_done (void *user, const struct command_result *result)
{
    struct service *service = user;
    struct slurm_reservations reservations;
    struct pollux_error err = result->why;
    int code = result->code;
    service->slurm.query = 0;
    if (code == 0)
        code =
            slurm_reservations_parse (result->output, result->output_length, &reservations, &err);
    if (code < 0) {
        slurm_nodes_clear (&service->asked);
        query_failed (service, err.text);
        return;
    }
    service->slurm.query_failures = 0;
    slurm_nodes_clear (&service->found);
    slurm_reservations_clear (&service->reservations);
    service->reservations = reservations;
    service->found = service->asked;
    service->asked = (struct slurm_nodes){0};
    drop_others (service, &service->found);
    service->found_began_us = service->slurm.query_began_us;
    service->has_found = true;
    if (service->slurm.count == 0 && service->slurm.listed_us > 0)
        take_nodes (service); /* nothing is ours */
    else
        slurm_poll_soon (&service->slurm);
}

static void nodes_done (void *user, const struct command_result *result)
{
    struct service *service = user;
    struct slurm_nodes_query query = query_of (service);
    struct pollux_error err = result->why;
    struct words words = {0};
    int code = result->code;
    service->slurm.query = 0;
    if (code == 0)
        code = slurm_nodes_parse (&query, result->output, result->output_length, &service->asked,
                                  &err);
    if (code == 0)
        code = slurm_reservations_words (&words) < 0
                   ? fail (&err, -ENOMEM, "not enough memory")
                   : ask (service, &words, reservations_done, &err);
    words_clear (&words);
    if (code < 0) {
        slurm_nodes_clear (&service->asked);
        query_failed (service, err.text);
    }
}

void service_query_nodes (struct service *service)
{
    struct slurm_nodes_query query = query_of (service);
    struct pollux_error err = {.text = "not enough memory"};
    struct words words = {0};
    int64_t now_us = clock_monotonic_us ();
    if (service->slurm.query != 0 || now_us < service->slurm.query_us)
        return;
    service->slurm.query_began_us = now_us;
    service->slurm.query_us = now_us + QUERY_US;
    int code = slurm_nodes_words (&query, &words);
    if (code == 0)
        code = ask (service, &words, nodes_done, &err);
    words_clear (&words);
    if (code < 0)
        query_failed (service, err.text);
}

/* ---- Events ------------------------------------------------------------------------------- */

/* A node of a group comes when Slurm calls it usable, and not before it was returned: a state that was asked for earlier
 * says nothing.  One that is there is reported as any other.  *ret_comes: it was not there before. */
static bool may_report (const struct cluster *cluster, const struct node *node, int index,
                        struct service_node *details, bool *ret_comes)
{
    const struct power *power = &cluster->power;
    enum power_state state = index >= 0 ? cluster->node_power[index].state
                             : node_groups_find_node (power->groups, power->count, node->name) >= 0
                                 ? POWER_OFF
                                 : POWER_NONE;
    if (state == POWER_STOPPING)
        details->returned_us = clock_monotonic_us ();
    bool absent = state == POWER_OFF || state == POWER_STARTING || state == POWER_FAILED;
    *ret_comes = absent && details->usable && details->asked_us > details->returned_us;
    return absent ? *ret_comes : state != POWER_STOPPING;
}

/* A node of a group that is there, although others use all of its slots: it is closed, not gone.  A node without slots would be
 * returned. */
static bool is_paid (const struct cluster *cluster, const struct service_node *details, int index)
{
    return details->there && cluster->node_power[index].group >= 0 &&
           cluster->nodes[index].slots > 0;
}

/* A node that the cluster knows with other slots, or whose availability in Slurm has changed.  A node
 * that an admin drained in Pollux stays so until Slurm closes and opens it. */
int service_next_node (struct service *service, const struct cluster *cluster, struct event *ret)
{
    for (int i = 0; i < service->slurm.node_count; i++) {
        struct service_node *details = &service->details[i];
        const struct node *node = &service->slurm.nodes[i];
        int index = cluster_find_node (cluster, node->name);
        int slots = limited_slots (service, i, index);
        bool comes;
        if (!may_report (cluster, node, index, details, &comes))
            continue;
        const struct node *known = index >= 0 ? &cluster->nodes[index] : NULL;
        bool full = known && slots == 0 && is_paid (cluster, details, index);
        bool available = node->available && !full;
        if (full)
            slots = known->slots;
        bool same =
            known ? known->slots == slots && (slots == 0 || strcmp (known->type, node->type) == 0)
                  : slots == 0;
        bool reported = details->reported == (int)available;
        if (known && !reported && known->available == available) {
            details->reported = available;
            reported = true;
        }
        if (same && (reported || !known))
            continue;
        if (slots > 0 && !node_type_fits (cluster->nodes, cluster->node_count, node->type)) {
            if (!service->types_full)
                slurm_log (&service->slurm, LOG_WARNING,
                           "node %s, type %s, is not used, nor are nodes of further types: Pollux "
                           "takes at most %d types of nodes",
                           node->name, node->type, NODE_TYPES_LIMIT);
            service->types_full = true;
            continue;
        }
        *ret = (struct event){.type = EVENT_NODE, .job = -1, .node = *node};
        ret->node.slots = slots;
        ret->node.available = available;
        if (reported && known && !comes)
            ret->node.available &= known->available;
        details->reported = available;
        return 1;
    }
    return 0;
}

void service_nodes_clear (struct service *service)
{
    free (service->details);
    slurm_nodes_clear (&service->asked);
    slurm_nodes_clear (&service->found);
    slurm_reservations_clear (&service->reservations);
}
