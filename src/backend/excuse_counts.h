/* SPDX-License-Identifier: Apache-2.0 */
/* How often in succession failures of a job were excused (carrier.h): only a few may be. */
#ifndef BACKEND_EXCUSE_COUNTS_H
#define BACKEND_EXCUSE_COUNTS_H

/* Zero it; excuse_counts_clear frees it. */
struct excuse_counts {
    struct excuse_count {
        int job;
        int count;
        int unexplained; /* of them: without a known reason */
    } * items;           /* in no order */
    int count;
};

/* The job's entry; NULL: it has none. */
struct excuse_count *excuse_counts_find (const struct excuse_counts *counts, int job);
/* The same, added as 0 if it is missing; valid until the next call.  NULL: no memory. */
struct excuse_count *excuse_counts_of (struct excuse_counts *counts, int job);
/* The job's excuses count from 0 again. */
void excuse_counts_forget (struct excuse_counts *counts, int job);
void excuse_counts_clear (struct excuse_counts *counts);

#endif
