/* SPDX-License-Identifier: Apache-2.0 */
/* Which ended jobs count as old. */
#include "unit.h"

#include "backend/old_jobs.h"

static void the_last_ones_are_kept (void **state)
{
    (void)state;
    struct job jobs[5] = {{.phase = JOB_FINISHED, .end_us = 30},
                          {.phase = JOB_FAILED, .end_us = 10},
                          {.phase = JOB_RUNNING, .end_us = 0},
                          {.phase = JOB_CANCELLED, .end_us = 20},
                          {.phase = JOB_PENDING, .end_us = 0}};
    struct job *list[] = {&jobs[0], &jobs[1], &jobs[2], &jobs[3], &jobs[4]};
    struct cluster cluster = {.jobs = list, .job_count = 5};
    static const struct {
        int keep;
        int64_t before_us;
    } rows[] = {{1, 30}, {2, 20}, {3, INT64_MIN}, {100, INT64_MIN}};
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        assert_true (old_jobs_before_us (&cluster, rows[i].keep) == rows[i].before_us);
    cluster.job_count = 0;
    assert_true (old_jobs_before_us (&cluster, 1) == INT64_MIN);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (the_last_ones_are_kept)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
