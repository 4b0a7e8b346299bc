/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what ended jobs have measured, in a bounded list: adds, finds and removes jobs. */
#include "cluster/experience.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a.  The 0 at the end of a word counts: "ab", "c" differs from "a", "bc". */
static uint64_t hash_word (uint64_t hash, const char *word)
{
    size_t length = strlen (word) + 1;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)word[i]) * 0x100000001b3u;
    return hash;
}

uint64_t experience_application (const struct job_spec *spec, const struct launch *launch)
{
    uint64_t hash = 0xcbf29ce484222325u;
    if (spec->ignore_experience || (!spec->application[0] && !launch))
        return 0;
    if (spec->application[0])
        return hash_word (hash, spec->application);
    hash = hash_word (hash_word (hash, ""), launch->owner);
    for (char **word = launch->command; *word; word++)
        hash = hash_word (hash, *word);
    return hash;
}

static void forget (struct experience *experience, int index)
{
    size_t after = (size_t)(--experience->count - index);
    memmove (&experience->jobs[index], &experience->jobs[index + 1],
             after * sizeof (experience->jobs[0]));
}

int experience_add (struct experience *experience, const struct ended_job *job)
{
    int same = 0, oldest = -1;
    if (!experience->jobs &&
        !(experience->jobs = calloc (EXPERIENCE_LIMIT, sizeof (experience->jobs[0]))))
        return -ENOMEM;
    for (int i = experience->count - 1; i >= 0; i--)
        if (experience->jobs[i].application == job->application) {
            same++;
            oldest = i;
        }
    if (same >= EXPERIENCE_JOBS)
        forget (experience, oldest);
    else if (experience->count == EXPERIENCE_LIMIT)
        forget (experience, 0);
    experience->jobs[experience->count++] = *job;
    return 0;
}

int experience_copy (const struct experience *experience, struct experience *ret)
{
    struct experience copy = {.count = experience->count};
    size_t size = (size_t)experience->count * sizeof (copy.jobs[0]);
    if (size > 0) {
        copy.jobs = malloc (size);
        if (!copy.jobs)
            return -ENOMEM;
        memcpy (copy.jobs, experience->jobs, size);
    }
    *ret = copy;
    return 0;
}

void experience_clear (struct experience *experience)
{
    free (experience->jobs);
    *experience = (struct experience){0};
}
