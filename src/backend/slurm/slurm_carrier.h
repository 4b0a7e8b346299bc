/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Slurm carrier: shares of generations are steps of an allocation (slurm_steps.c) or jobs of
 * their own (the backend `slurm`).  A struct slurm_way has what differs; the rest is common.
 *
 *     slurm_carrier.c   starting, looking, stopping, judging: the functions of struct carrier
 *     slurm_table.c     the table of shares, and what squeue says of them
 *     slurm_recover.c   what an earlier daemon left
 *
 * A share in Slurm is called JOB.GENERATION.SHARE.  Its states:
 *
 *     UNSURE --listed--> LISTED --srun ended, or not listed--> GONE
 *        |                  ^                                   |
 *        |       SENT ------+   <---------- listed again -------+
 *        +--- not listed, no run directory: it is submitted (SENT)
 *
 * That a replica lives is said by Slurm and by its supervisor's news, never by a pid or a lock.  A
 * run ends when its status is known: from news, or from the file.  If its share is GONE, a query that
 * began a second later does not list it, and there is no status, the run is lost.  It is also lost if
 * its node has failed: Slurm may list the step for ever, and its replica may live; later generations
 * fence it.
 */
#ifndef BACKEND_SLURM_SLURM_CARRIER_H
#define BACKEND_SLURM_SLURM_CARRIER_H

#include "backend/backend.h"
#include "backend/excuse_counts.h"
#include "backend/generation.h"
#include "backend/run.h"
#include "backend/run_spec.h"
#include "backend/command_set.h"
#include "backend/slurm/jobs.h"
#include "backend/slurm/submission.h"

struct slurm;

/* From the end of a share to the moment when its status must be visible to this host. */
#define SLURM_FILES_US INT64_C (1000000)

enum carried_state { CARRIED_UNSURE, CARRIED_SENT, CARRIED_LISTED, CARRIED_GONE };

enum {
    SHARE_NAME_SIZE = NAME_SIZE + 24,
    SHARE_STEPS = 4, /* of one name: after a crash, a late second one */
    STEP_SIZE = 16,
};

/* A share in Slurm.  It stays in the table until Slurm does not have it any more. */
struct carried_share {
    struct slurm *slurm;
    struct generation *generation; /* NULL: dropped; only its end in Slurm is awaited */
    int share;
    char name[SHARE_NAME_SIZE];
    enum carried_state state;
    int64_t since_us; /* of the state; of dropped ones: when they were dropped */
    struct {
        int64_t id; /* of the job */
        char step[STEP_SIZE];
    } listed[SHARE_STEPS]; /* in the last query */
    int listed_count;
    int64_t id;             /* of the job, as sbatch gave it; 0: not known */
    int64_t id_us;          /* when */
    bool seen;              /* a query has listed it, or how it ended */
    bool hidden;            /* a query after sbatch has not: it is cancelled by its id */
    enum slurm_phase phase; /* as last listed; jobs only */
    int64_t phase_us;       /* since when */
    int node, count;        /* of its runs; they stay known when the generation is dropped */
    bool many_nodes;        /* a step of MPI: node is the first of its nodes */
    uint64_t command;       /* srun, or the way's own; 0: none */
    double grace_s;
    int64_t stop_us;   /* when it was asked to stop; 0: never */
    int64_t signal_us; /* of the last signal */
    int64_t kill_us;   /* of the last cancel; 0: none */
    int64_t cancel_us; /* of the first cancel; 0: none */
    int64_t watch_us;  /* until then it is looked for every second; 0: no */
    bool unsure;       /* an earlier daemon may have submitted it */
    bool abandoned;    /* dropped, and Slurm may list it for ever: its node has failed, or
                        * cancelling it has no effect */
    bool unanswered;   /* sbatch did not answer, and no list has the share so far */
    bool excused;      /* it was ended from outside; why has the reason */
    bool limited; /* excused: by a limit, a hold or a closed partition of Slurm, which may last */
    bool refused; /* Slurm does not take or start it: the job's own fault */
    bool no_process; /* no process could be started to submit it: the same for all jobs */
    char why[RUN_WHY_SIZE];
};

/* The files that a share needs on its nodes besides what is there: descriptions, RANK.json. */
struct slurm_file {
    char name[32];
    char *text;
    size_t length;
};

/* How shares are carried out.  self is slurm->way_self.  No function waits. */
struct slurm_way {
    bool steps; /* squeue lists steps, not jobs */
    /* Slurm may list shares of a node for ever that has failed or is not ours any more: they count as ended. */
    bool lists_dead_shares;
    bool many_owners; /* what becomes of the share of one owner delays no start of others */

    /* Submit a share: write its files, then start the command.  share->command may be set; then its
     * end is reported with slurm_share_ended, or slurm_share_sent.  -EINVAL: the job's own fault; -EAGAIN, with
     * many_owners: the job cannot be started now, and others can. */
    int (*submit) (void *self, const struct cluster *cluster, struct carried_share *share,
                   const struct slurm_file *files, int count, struct pollux_error *err);
    /* SIGURG to the supervisors of a listed share; ending it with SIGKILL.  < 0: try again soon. */
    int (*signal) (void *self, struct carried_share *share);
    int (*cancel) (void *self, struct carried_share *share);
    /* Which jobs or steps to list. */
    void (*query) (void *self, struct slurm_jobs_query *ret);
    /* Is a listed job or step this share?  NULL: if its name is the same. */
    bool (*owns) (void *self, const struct carried_share *share, const struct slurm_job *job);
    /* A query has succeeded. */
    void (*listed) (void *self, const struct slurm_jobs *jobs);
    /* Slurm says that a node has failed, by its number in the cluster: nothing starts there before a query that
     * began later has found it usable.  NULL: no callback. */
    void (*node_failed) (void *self, int node);
    /* A share leaves the table.  NULL: no callback. */
    void (*left) (void *self, const struct carried_share *share);

    /* Read the state of a run: 0; -EAGAIN: it is being read, look again. */
    int (*read) (void *self, const struct run_name *name, struct run_view *ret,
                 struct pollux_error *err);
    /* As run_refuse; -EAGAIN: not done yet. */
    int (*refuse) (void *self, const struct run_name *name, const struct run_status *status,
                   struct pollux_error *err);
    void (*mark_stop) (void *self, const struct generation *generation);
    void (*clean_up) (void *self, const struct cluster *cluster,
                      const struct generation *generation);
    void (*remove) (void *self, const char *job, int number);
    /* Fill in what all descriptions of a generation have in common. */
    void (*spec) (void *self, const struct cluster *cluster, const struct generation *generation,
                  struct run_spec *ret);
};

struct slurm {
    struct generation_set set;
    const struct slurm_way *way;
    void *way_self;
    struct command_set *commands;
    struct carried_share **shares; /* in no order */
    int count, capacity;

    uint64_t poll;         /* the query under way; 0: none */
    int64_t poll_began_us; /* of that query */
    int64_t poll_us;       /* when the next one is due */
    int64_t listed_us;     /* when the last successful query began; 0: none so far */
    char poll_key[SLURM_KEY_SIZE];
    int poll_failures; /* in succession */

    struct run_view *view;        /* of the last look */
    struct excuse_counts excuses; /* ends from outside, in succession */

    const struct cluster *cluster; /* of the last call; NULL: none so far */
    /* The nodes that Slurm has, by the backend's queries.  One that is lost has 0 slots. */
    struct node *nodes;
    int node_count;   /* -1: not known yet */
    uint64_t query;   /* the query of nodes under way; 0: none */
    int64_t query_us; /* when the next one is due */
    int64_t query_began_us;
    int query_failures;
    /* When a share of many nodes failed with one of them: nothing starts before a query of nodes that began later has
     * an answer.  0: it has one. */
    int64_t unnamed_failure_us;
};

/* The pause, in seconds, before a job starts again after so many ends from outside in succession. */
int slurm_pause_s (int count);

extern const struct carrier slurm_carrier;

/* Fill set, way and commands.  slurm_clear undoes it, also half-built. */
int slurm_init (struct slurm *slurm, const struct slurm_way *way, void *way_self,
                const struct backend_options *options, struct pollux_error *err);
void slurm_clear (struct slurm *slurm);

/* For the ops of backends.  self: a backend whose first member is its struct slurm. */
int slurm_nodes_later (void *self, const struct node **ret, struct pollux_error *err);
int64_t slurm_due_us (const void *self);
int slurm_reconcile (void *self, struct loop *loop, struct pollux_error *err);
/* Rows for their tables. */
#define SLURM_OPS                                                                                  \
    .remote = true, .nodes = slurm_nodes_later, .due_us = slurm_due_us, .reconcile = slurm_reconcile
void slurm_step (struct slurm *slurm, const struct cluster *cluster);
int slurm_recover (struct slurm *slurm, const struct cluster *cluster, int root,
                   struct pollux_error *err);

/* ---- For ways ---- */

/* The command of a share has ended.  result: srun's, or NULL. */
void slurm_share_ended (struct slurm *slurm, struct carried_share *share,
                        const struct command_result *result);
/* Ask Slurm soon. */
void slurm_poll_soon (struct slurm *slurm);
void slurm_log (const struct slurm *slurm, int level, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Is a node of the cluster missing among those that Slurm has, or without slots?  Before they are known: no. */
bool slurm_lacks_node (const struct slurm *slurm, int node);

/* ---- slurm_table.c ---- */

struct carried_share *slurm_table_add (struct slurm *slurm, struct generation *generation,
                                       int share, enum carried_state state);
void slurm_table_drop (struct slurm *slurm, struct carried_share *share);
void slurm_table_poll (struct slurm *slurm);
/* The answer to a query that began at slurm->poll_began_us. */
void slurm_table_take (struct slurm *slurm, const struct slurm_jobs *jobs);
void slurm_set_state (struct slurm *slurm, struct carried_share *share, enum carried_state state);
/* Slurm says that a node of the share has failed: nodes are asked for at once, and nothing starts on it before there is
 * an answer. */
void slurm_share_failed (struct slurm *slurm, const struct carried_share *share);
/* True if Slurm does not have the share any more, and had a second to show its files. */
bool slurm_share_is_gone (const struct slurm *slurm, const struct carried_share *share);

#endif
