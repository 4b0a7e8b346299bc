/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of polluxd, in YAML; docs/polluxd.yaml has all fields with their defaults and
 * what they mean.  Options of the command line win over it, field by field.
 */
#ifndef WIRE_CONFIG_H
#define WIRE_CONFIG_H

#include "cluster/node.h"
#include "cluster/policy_settings.h"
#include "wire/json.h"

/* 1 MiB: thirty lines, and a node each for thousands of them. */
#define WIRE_CONFIG_LIMIT ((size_t)1 << 20)
enum { WIRE_CONFIG_NODES = 1024 }; /* of one machine */

/* In the order of graveness, and how lines are written: by what standard error is, or ... */
enum { WIRE_LOG_LEVELS = 4, WIRE_LOG_FORMATS = 4 };
extern const char *const wire_log_levels[WIRE_LOG_LEVELS];   /* error, warning, info, debug */
extern const char *const wire_log_formats[WIRE_LOG_FORMATS]; /* auto, plain, journald, json */

/* What slots are: GPUs where there are any, otherwise CPUs; or always CPUs. */
enum wire_slots { WIRE_SLOTS_AUTO, WIRE_SLOTS_CPU };

struct wire_config {
    char *state;       /* directory, absolute */
    char **listen;     /* 127.0.0.1:7467, [::1]:0, unix:/path; NULL at the end */
    char **host_names; /* that the Host header may have besides; NULL at the end */
    char backend[NAME_SIZE];
    struct node *nodes; /* none: this machine as it is */
    int node_count;
    enum wire_slots slots;
    char *checkpoints; /* directory, absolute, for jobs that say none; NULL: the state's */
    char policy[NAME_SIZE];
    double interval_s, restart_delay_s;
    double p;                        /* fairness, -inf to 1 */
    struct policy_settings settings; /* other options of the policy */
    char run_as[NAME_SIZE];          /* a user; "": stay who we are */
    bool allow_root;
    int log_level, log_format; /* index of the names above */
    bool access_log;           /* a line for each request */
    int64_t max_body;          /* bytes of a request's body */
    double rate, burst;        /* requests per second and identity, in the long run and at once */
    int connections, connections_per_address;
    int64_t keep_events; /* the journal is compacted when there are more since its snapshot */
};

/* All defaults.  0 or -ENOMEM.  The caller's (wire_config_clear). */
int wire_config_default (struct wire_config *ret, struct pollux_error *err);
void wire_config_clear (struct wire_config *config);

/* The names that exist, each list with NULL at the end; NULL: any name is accepted. */
struct wire_config_names {
    const char *const *policies, *const *backends;
};

/* The defaults under what a file says.  All problems are collected (NULL: to be forgotten); err has the first one's
 * sentence.  *ret is written on success only and is the caller's. */
int wire_config_read (const char *path, const struct wire_config_names *names,
                      struct wire_diagnostics *problems, struct wire_config *ret,
                      struct pollux_error *err);
int wire_config_parse (const char *name, const char *text, size_t length,
                       const struct wire_config_names *names, struct wire_diagnostics *problems,
                       struct wire_config *ret, struct pollux_error *err);

/* Why a text is no address to listen on; NULL if it is one. */
const char *wire_wrong_listen (const char *text);

/* Another node, as an option declares it.  -EEXIST if there is one of that name. */
int wire_config_add_node (struct wire_config *config, const struct node *node,
                          struct pollux_error *err);

/* All fields as an object, the caller's (json_decref): what a file would have to say.  NULL, and
 * why. */
json_t *wire_config_encode (const struct wire_config *config, struct pollux_error *err);

#endif
