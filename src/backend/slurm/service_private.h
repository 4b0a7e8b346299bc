/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the backend `slurm` share.
 *
 *     service.c         the ops; making and freeing
 *     service_way.c     submitting, signalling and judging shares (struct slurm_way)
 *     service_owners.c  accounts of owners; requests to the root process and their answers
 *     service_files.c   status files and logs, read through the root process
 *     service_nodes.c   nodes, and the slots that other Slurm jobs leave
 */
#ifndef BACKEND_SLURM_SERVICE_PRIVATE_H
#define BACKEND_SLURM_SERVICE_PRIVATE_H

#include "backend/slurm/as_owner.h"
#include "backend/slurm/nodes.h"
#include "backend/slurm/reservations.h"
#include "backend/slurm/service.h"
#include "backend/slurm/slurm_carrier.h"
#include "wire/slurm_config.h"

struct service_account {
    char name[NAME_SIZE];
    uint64_t request; /* the lookup under way; 0: none */
    bool answered;    /* what follows is known */
    int64_t due_us;   /* of the next lookup */
    int64_t
        gone_us; /* since when there is no such user, and the account is used nevertheless; 0: not */
    int code;    /* 0, or why the owner is not served */
    struct pollux_error why;
    struct owner_account account;
    char **environment; /* of this owner's replicas; NULL at the end */
    char *checkpoints;  /* DIRECTORY/checkpoints */
};

/* What is known of a run's files. */
struct service_read {
    struct run_name name;
    uint64_t request; /* 0: done */
    bool info;        /* the request asks whether there is a run directory; else for the status */
    enum run_state state;
    bool has_status;
    struct run_status status;
    int64_t at_us;    /* when the status was asked for that is known; 0: never */
    int64_t sent_us;  /* of the last request for the status */
    int64_t asked_us; /* since when an answer is wanted */
    int failures;     /* of requests since then */
};

/* A piece of a log, kept for a moment: readers ask for it again and again. */
struct service_log {
    struct run_name name; /* rank -1: the file OWNER_OLDEST */
    int64_t lines;        /* as in struct owner_request */
    struct log_position from;
    uint64_t request; /* 0: done */
    int code, file;   /* file: -1 if code < 0, or it was given out and had no bytes */
    struct pollux_error why;
    int64_t at_us; /* of the answer */
};

struct service_failure {
    char job[NAME_SIZE];
    int generation, rank, code;
};

struct service_node {
    bool usable;         /* as Slurm said last */
    bool there;          /* Slurm lists it, and not as lost */
    int64_t asked_us;    /* when it was asked for that */
    int64_t returned_us; /* when its group was last seen to return it; 0: never */
    char address[SLURM_ADDRESS_SIZE];
    char gres_type[NAME_SIZE]; /* that its slots are counted by; "": none */
    bool told_unused;          /* the log has that it has GPUs of other types */
    int foreign;               /* slots that other Slurm jobs use */
    /* A share waited here too long: before this time at most `limit` slots, or those of our shares, if these are more. */
    int64_t limited_us;
    int limit;
    int64_t lost_us; /* since when it does not answer; 0: it does */
    int64_t
        failed_us; /* when a share of ours failed with it, and Slurm has not confirmed it since; 0: not */
    int64_t changed_us; /* when a share of ours left the table that had been here */
    int reported;       /* the availability that was reported last; -1: none */
};

struct service {
    struct slurm slurm;
    struct wire_slurm_config config;
    char id[17]; /* of this state directory, in the comments of Slurm jobs */
    char *program, *url, *ca;
    bool munge; /* supervisors sign their reports */
    int (*token) (void *self, const char *job, int generation, char *ret, size_t size);
    void *self; /* of token */
    char token_text[1025];
    int epoll;

    struct owner_client *client;
    bool client_ended;
    struct service_account **accounts;
    int account_count;
    struct service_submit {
        uint64_t number;
        struct carried_share *share;
    } * submits; /* under way */
    int submit_count;
    struct service_stop {
        uint64_t number;
        int64_t id; /* of the Slurm job */
        int signal; /* 0: it is cancelled */
    } * stops;      /* under way */
    int stop_count;
    struct service_read **reads;
    int read_count;
    struct service_log **logs;
    int log_count;
    /* Ended jobs, by their numbers in the cluster, whose files are removed one after the other. */
    struct {
        int keep;          /* jobs that ended last */
        int exits;         /* of generations so far */
        int next, end;     /* the next job to look at, and the first that is not */
        int64_t before_us; /* files of jobs that ended before this time are removed */
        uint64_t request;  /* for job next - 1; 0: none is under way */
        uint8_t *removals; /* by job: due, failed or done */
        int removal_count;
        /* Jobs of this round whose files did not answer: other jobs of their owners wait for the next one. */
        int *silent;
        int silent_count, silent_capacity;
    } old;
    struct service_failure failures[256]; /* of generations that ended last; a ring */
    int failure_count;

    struct service_node *details;           /* by node */
    struct slurm_nodes asked;               /* of sinfo, while scontrol is asked */
    struct slurm_nodes found;               /* taken with the next list of jobs */
    struct slurm_reservations reservations; /* of the same time */
    bool has_found;
    bool hidden_logged; /* it was logged that Slurm does not show our jobs */
    bool types_full;    /* nodes of more types than there may be were found, and that was said */
    bool reservation_missing; /* it was logged that our reservation has no nodes */
    int64_t found_began_us;
};

extern const struct slurm_way service_way;

/* Numbers of requests, as commands of shares: no command of command_set.h has such a number. */
#define SERVICE_COMMAND (UINT64_C (1) << 63)

/* ---- service_owners.c ---- */

/* The owner's account: 0; -EAGAIN: it is being looked up; else why the owner is not served. */
int service_account (struct service *service, const char *owner, const struct service_account **ret,
                     struct pollux_error *err);
/* Look owners up again of whom nothing is known because a lookup failed: starts wait for them. */
void service_retry_accounts (struct service *service);
/* The owner of a job of the cluster; "": there is no such job. */
const char *service_owner_of (const struct service *service, const char *job);
int service_submit (struct service *service, const char *owner, struct carried_share *share,
                    struct owner_request *request, const struct owner_file *files, int count,
                    struct pollux_error *err);
/* Signal a Slurm job, or cancel it (signal 0). */
int service_stop (struct service *service, const char *owner, int64_t id, int signal);
/* Take all answers of the root process. */
void service_take_answers (struct service *service);
void service_owners_clear (struct service *service);

/* ---- service_files.c ---- */

/* The state of a run's files, asked for at newer_us or later: 0; -EAGAIN: it is being read.  If they cannot be read for minutes, the
 * run has begun and has no status, and ret->why says so. */
int service_read (struct service *service, const struct run_name *name, int64_t newer_us,
                  struct run_view *ret);
bool service_read_answer (struct service *service, const struct owner_answer *answer);
void service_forget_reads (struct service *service, const char *job, int generation);
int service_read_log (void *self, const char *job, int generation, int rank, int64_t lines,
                      const struct log_position *from, struct log_piece *ret,
                      struct pollux_error *err);
int service_oldest_log (void *self, const char *job, int last, int *ret);
bool service_log_answer (struct service *service, const struct owner_answer *answer, int file);
/* Begin to remove the files of all ended jobs but the newest (old.keep); send the next request, if none is
 * under way; take its answer. */
void service_begin_removal (struct service *service);
void service_remove_next (struct service *service);
bool service_removal_answer (struct service *service, const struct owner_answer *answer);
void service_files_clear (struct service *service);

/* ---- service_nodes.c ---- */

const struct service_node *service_find_node (const struct service *service, const char *name,
                                              const struct node **ret);
void service_query_nodes (struct service *service);
/* Jobs were listed: count the slots that others use. */
void service_nodes_listed (struct service *service);
/* A share of ours left the table. */
void service_share_left (struct service *service, int node);
/* A share has waited too long on a node: for two minutes the node has only the slots that our other shares hold. */
void service_limit_node (struct service *service, int node);
/* node_failed of struct slurm_way: the node is not available until a query that begins later finds it usable. */
void service_node_failed (void *self, int node);
int service_next_node (struct service *service, const struct cluster *cluster, struct event *ret);
void service_nodes_clear (struct service *service);

#endif
