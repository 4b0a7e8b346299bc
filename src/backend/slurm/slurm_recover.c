/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery: the journal says which generations run.  Their shares are UNSURE until a query that began
 * after this moment is answered; then they are adopted, submitted or judged (slurm_carrier.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "backend/slurm/slurm_carrier.h"
#include "base/error.h"

/* The slots that were written, so that all replicas keep theirs; false: none. */
static bool read_slots (struct slurm *slurm, int root, struct generation *generation)
{
    struct run_slot_map slot_map;
    if (run_read_slot_map (root, generation->name, generation->number, &slot_map, NULL) < 0)
        return false;
    bool fits = generation_hold_slots (&slurm->set, generation, &slot_map);
    free (slot_map.slots);
    return fits;
}

/* *ret: NULL, or the generation if it still needs slots. */
static int recover_job (struct slurm *slurm, const struct cluster *cluster, int index, int root,
                        struct generation **ret, struct pollux_error *err)
{
    const struct job *job = cluster->jobs[index];
    struct generation *generation = generation_add (&slurm->set, job->spec.name, job->generation,
                                                    job->placement, job->launch->launcher);
    if (!generation)
        return fail (err, -ENOMEM, "no memory for the runs of job %s", job->spec.name);
    generation->job = index;
    generation->recovered = true;
    if (run_stop_marked (root, generation->name, generation->number))
        generation->stop = STOP_ASKED;
    for (int i = 0; i < generation->share_count; i++) {
        struct carried_share *share = slurm_table_add (slurm, generation, i, CARRIED_UNSURE);
        if (!share)
            return fail (err, -ENOMEM, "no memory for the runs of job %s", job->spec.name);
        share->unsure = true;
        share->grace_s = job->launch->grace_s;
    }
    for (int i = 0; i < generation->runs; i++)
        generation->ranks[i].phase = RANK_STARTING;             /* until it is looked at */
    generation->started = read_slots (slurm, root, generation); /* STARTED may be in the journal */
    *ret = generation->started ? NULL : generation;
    return 0;
}

int slurm_recover (struct slurm *slurm, const struct cluster *cluster, int root,
                   struct pollux_error *err)
{
    size_t size = (size_t)cluster->live.count + 1;
    struct generation **without_slots = calloc (size, sizeof (without_slots[0]));
    int count = 0, code = 0;
    if (!without_slots)
        return fail (err, -ENOMEM, "no memory for %d jobs", cluster->live.count);
    for (int i = 0; code == 0 && i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        if (!job_runs (job) || !job->launch)
            continue;
        code = recover_job (slurm, cluster, cluster->live.indices[i], root, &without_slots[count],
                            err);
        count += code == 0 && without_slots[count];
    }
    for (int i = 0; code == 0 && i < count; i++)
        if (generation_take_slots (&slurm->set, cluster, without_slots[i]) < 0)
            generation_stop (&slurm->set, without_slots[i], STOP_ASKED);
    free (without_slots);
    return code;
}
