/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of polluxd, in YAML.  docs/polluxd.yaml explains all fields and their defaults.
 * An option on the command line replaces the field of the same name.
 */
#ifndef WIRE_CONFIG_H
#define WIRE_CONFIG_H

#include "cluster/node_group.h"
#include "cluster/policy_settings.h"
#include "wire/json.h"
#include "wire/slurm_config.h"

/* 1 MiB: enough for thirty lines and thousands of nodes. */
#define WIRE_CONFIG_LIMIT ((size_t)1 << 20)
enum { WIRE_CONFIG_NODES = 1024 }; /* of one machine */

/* Log levels by decreasing severity; log formats (auto: depends on what standard error is). */
enum { WIRE_LOG_LEVELS = 4, WIRE_LOG_FORMATS = 4 };
extern const char *const wire_log_levels[WIRE_LOG_LEVELS];   /* error, warning, info, debug */
extern const char *const wire_log_formats[WIRE_LOG_FORMATS]; /* auto, plain, journald, json */

/* What a slot is.  auto: a GPU if the machine has any, else a CPU core. */
enum wire_slots { WIRE_SLOTS_AUTO, WIRE_SLOTS_CPU };

/* How clients prove who they are.  munge: besides tokens, by credentials of munge. */
enum wire_auth { WIRE_AUTH_TOKEN, WIRE_AUTH_MUNGE, WIRE_AUTHS };
extern const char *const wire_auths[WIRE_AUTHS]; /* token, munge */

struct wire_config {
    char *state;              /* directory, absolute */
    char **listen;            /* 127.0.0.1:7467, [::1]:0, unix:/path; NULL at the end */
    char *tls_cert, *tls_key; /* files, absolute; NULL: no TLS with them */
    bool tls_self_signed;     /* make a certificate in the state directory */
    bool insecure;            /* listen and take tokens on the network without TLS */
    char **host_names;        /* that the Host header may have besides; NULL at the end */
    char backend[NAME_SIZE];
    struct node *nodes; /* none: this machine as it is */
    int node_count;
    enum wire_slots slots;
    char *cluster;         /* absolute path of a file with groups of nodes; NULL: there are none */
    struct goal goal;      /* of their size */
    char **grow, **shrink; /* words before the names of nodes; NULL: those of the backend */
    double hook_timeout_s; /* of grow and shrink */
    /* The groups of the file `cluster`, which the program reads: not a field of the configuration. */
    struct node_group *groups;
    int group_count;
    char *checkpoints; /* absolute directory for jobs without checkpoint_dir; NULL: under state */
    char policy[NAME_SIZE];
    double interval_s, restart_delay_s;
    double p;                        /* fairness, -inf to 1 */
    struct policy_settings settings; /* other options of the policy */
    bool experience;                 /* jobs learn from earlier ones of their application */
    char run_as[NAME_SIZE];          /* user that polluxd switches to; "": no switch */
    bool allow_root;
    int auth;                  /* enum wire_auth */
    char **admin_users;        /* users of munge with the role admin; NULL at the end */
    int log_level, log_format; /* index of the names above */
    bool access_log;           /* a line for each request */
    int64_t max_body;          /* bytes of a request's body */
    double rate, burst;        /* rate limit per identity: requests per second, and at once */
    int connections, connections_per_address;
    struct wire_slurm_config slurm;
    int64_t job_log_limit; /* bytes that the files of all generations of a job may have */
    int64_t keep_events;   /* more events than this since the snapshot: compact the journal */
};

/* Set all defaults.  0 or -ENOMEM.  The caller owns *ret (wire_config_clear). */
int wire_config_default (struct wire_config *ret, struct pollux_error *err);
void wire_config_clear (struct wire_config *config);

/* The names that exist, each list with NULL at the end; NULL: any name is accepted. */
struct wire_config_names {
    const char *const *policies, *const *backends;
};

/* Read a configuration from a file, or from a text with that name; absent fields get their defaults.
 * All diagnostics are collected (NULL: not wanted); err has the first one's sentence.  On success the
 * caller owns *ret (wire_config_clear). */
int wire_config_read (const char *path, const struct wire_config_names *names,
                      struct wire_diagnostics *diagnostics, struct wire_config *ret,
                      struct pollux_error *err);
int wire_config_parse (const char *name, const char *text, size_t length,
                       const struct wire_config_names *names, struct wire_diagnostics *diagnostics,
                       struct wire_config *ret, struct pollux_error *err);

/* The reason why a text is not an address to listen on; NULL: it is one. */
const char *wire_wrong_listen (const char *text);

/* Add a node that an option declares.  -EEXIST: the name is taken. */
int wire_config_add_node (struct wire_config *config, const struct node *node,
                          struct pollux_error *err);

/* All fields as an object, as in a file.  The caller owns it (json_decref).  NULL on failure, with
 * err. */
json_t *wire_config_encode (const struct wire_config *config, struct pollux_error *err);

/* Call differs for each field whose values are not the same, by its name in a file; the fields of the
 * section slurm are "slurm.NAME".  0 or -Exxx; then differs was not called. */
int wire_config_compare (const struct wire_config *a, const struct wire_config *b,
                         void (*differs) (void *self, const char *field), void *self,
                         struct pollux_error *err);

#endif
