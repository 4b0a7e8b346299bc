/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jobs that have ended measured, by application.  A new job of an application that is in it does not start
 * without knowledge (policy/informed_view.h).  It is bounded: of an application the newest jobs are kept, and of all
 * applications those whose jobs ended last.
 */
#ifndef CLUSTER_EXPERIENCE_H
#define CLUSTER_EXPERIENCE_H

#include "cluster/job.h"

enum { EXPERIENCE_LIMIT = 256, EXPERIENCE_JOBS = 8 /* of one application */ };

/* One job that has ended. */
struct ended_job {
    uint64_t application; /* job.application, not 0 */
    struct hints hints;   /* with a model */
    struct noise_curve noise;
};

struct experience {
    struct ended_job *jobs; /* oldest first; NULL: none */
    int count;
};

/* The number of a job's application: of the name that its owner gave, or else of owner and command; 0: it takes no
 * part in experience.  launch may be NULL. */
uint64_t experience_application (const struct job_spec *spec, const struct launch *launch);

/* Add a job; forget the oldest one of its application if that has EXPERIENCE_JOBS, else the oldest of all if there is no room.  0 or -ENOMEM. */
int experience_add (struct experience *experience, const struct ended_job *job);

/* A copy, which the caller owns.  0 or -ENOMEM. */
int experience_copy (const struct experience *experience, struct experience *ret);

void experience_clear (struct experience *experience);

#endif
