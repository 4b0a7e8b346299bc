/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what squeue and sbatch write; the first byte selects which.  A refusal has a message; an
 * accepted table has whole entries, and none without the key.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/slurm/jobs.h"

#define KEY "00000000deadbeef"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (bool holds)
{
    if (!holds)
        abort ();
}

static int count_keys (const char *text, size_t length)
{
    int count = 0;
    for (size_t i = 0; i + strlen (KEY) < length; i++)
        count +=
            (i == 0 || text[i - 1] == '\n') && memcmp (text + i, KEY "|", strlen (KEY) + 1) == 0;
    return count;
}

static void try_jobs (const char *text, size_t length, bool steps)
{
    struct slurm_jobs jobs;
    struct pollux_error err = {.text = ""};
    int code = steps ? slurm_steps_parse (KEY, text, length, &jobs, &err)
                     : slurm_jobs_parse (KEY, text, length, &jobs, &err);
    if (code < 0) {
        must (code == -EPROTO && strncmp (err.text, "squeue", 6) == 0);
        return;
    }
    must (jobs.count == count_keys (text, length));
    for (int i = 0; i < jobs.count; i++) {
        const struct slurm_job *job = &jobs.list[i];
        must (job->id > 0 && (job->step[0] != '\0') == steps && job->uid >= -1);
        must (job->phase < SLURM_PHASE_COUNT && job->begin_s != 0 && job->end_s != 0);
        must (strlen (job->state) + strlen (job->user) + strlen (job->reason) +
                  strlen (job->nodes) + strlen (job->gres) + strlen (job->name) +
                  strlen (job->comment) <=
              length);
        must (slurm_jobs_find_id (&jobs, job->id, job->step) && slurm_jobs_find (&jobs, job->name));
    }
    slurm_jobs_clear (&jobs);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct pollux_error err = {.text = ""};
    int64_t id;
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    switch (data[0] % 3) {
    case 0:
        try_jobs (text, size - 1, false);
        break;
    case 1:
        try_jobs (text, size - 1, true);
        break;
    default:
        if (slurm_submitted_parse (text, size - 1, &id, &err) == 0)
            must (id > 0);
        else
            must (strncmp (err.text, "sbatch", 6) == 0);
    }
    return 0;
}
