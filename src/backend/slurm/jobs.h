/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs and steps, as squeue lists them.
 *
 * Users may put any bytes, new lines too, into names and comments of their jobs.  Each line
 * begins with a key, random digits that the caller chose for this query, so users cannot forge a line.
 */
#ifndef BACKEND_SLURM_JOBS_H
#define BACKEND_SLURM_JOBS_H

#include <stdint.h>

#include "backend/slurm/states.h"
#include "backend/words.h"

enum { SLURM_KEY_SIZE = 17, SLURM_FORMAT_SIZE = 96 }; /* 16 hexadecimal digits */

/* A key for one query, from /dev/urandom. */
int slurm_key_make (char ret[SLURM_KEY_SIZE], struct pollux_error *err);

/* A job, or a step of a job.  The texts live as long as the table. */
struct slurm_job {
    int64_t id;             /* job id (of an array task, its own) */
    const char *step;       /* steps: "0", "batch", "extern", "interactive"; jobs: "" */
    const char *state;      /* "RUNNING"; steps: "" (squeue lists only live ones) */
    enum slurm_phase phase; /* of the state; steps: SLURM_HELD */
    int64_t uid;            /* of its owner; steps: -1 */
    const char *user;
    const char *reason; /* why it waits or has ended ("Resources", "None"); steps: "" */
    const char *nodes;  /* a list as "n[0-1]"; "" while it waits */
    const char *gres;   /* per node, as asked for ("gres:gpu:2"), or "N/A"; steps: "" */
    int64_t
        end_s; /* when its time limit ends it (or when it ended), seconds since 1970; -1: unknown; steps: -1 */
    int64_t begin_s; /* when it started; -1: not yet */
    const char *name;
    const char *comment; /* steps: "" */
};

struct slurm_jobs {
    struct slurm_job *list; /* as squeue ordered them */
    int count, capacity;
    char *text; /* what the pointers point into */
};

/* Which jobs: all of these that are not NULL or 0 must hold. */
struct slurm_jobs_query {
    const char *key;  /* of slurm_key_make; for steps */
    const char *user; /* name or uid */
    const char *name; /* exactly this one */
    const char *ids;  /* job ids with commas */
    const char *partition;
    bool ended; /* also those that ended recently (MinJobAge of Slurm), else only live ones */
};

/* The commands whose output slurm_jobs_parse and slurm_steps_parse read.  -ENOMEM */
int slurm_jobs_words (const struct slurm_jobs_query *query, struct words *ret);
int slurm_steps_words (const struct slurm_jobs_query *query, struct words *ret);

/* The format with the key, as a variable for the environment of the first command.  All users can read the
 * arguments of a process, and a user who knows the key in time can forge a line.  The second command has the
 * key among its arguments.  That is safe: it lists only steps of query.ids, an allocation of this user. */
void slurm_jobs_format (const char *key, char ret[SLURM_FORMAT_SIZE]);

/* Parse it.  On success *ret is the caller's (slurm_jobs_clear).  -EPROTO: the output is something else;
 * err names the line.  -ENOMEM */
int slurm_jobs_parse (const char *key, const char *text, size_t length, struct slurm_jobs *ret,
                      struct pollux_error *err);
int slurm_steps_parse (const char *key, const char *text, size_t length, struct slurm_jobs *ret,
                       struct pollux_error *err);
void slurm_jobs_clear (struct slurm_jobs *jobs);

/* The first job or step of that name, or of that id and step; NULL: there is none. */
const struct slurm_job *slurm_jobs_find (const struct slurm_jobs *jobs, const char *name);
const struct slurm_job *slurm_jobs_find_id (const struct slurm_jobs *jobs, int64_t id,
                                            const char *step);

/* The answer of `sbatch --parsable`: "123\n" or "123;cluster\n".  -EPROTO: it is something else. */
int slurm_submitted_parse (const char *text, size_t length, int64_t *ret_id,
                           struct pollux_error *err);

/* Does squeue say by this message (standard error, exit code 1) that it knows no such job id any more? */
bool slurm_unknown_job (const char *error);

#endif
