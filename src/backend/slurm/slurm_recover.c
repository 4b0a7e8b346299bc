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

/* What adopt needs. */
struct recovery {
    struct slurm *slurm;
    const struct cluster *cluster;
    int root;
};

static int adopt (void *self, struct generation *generation, struct pollux_error *err)
{
    const struct recovery *recovery = self;
    const struct job *job = recovery->cluster->jobs[generation->job];
    if (run_stop_marked (recovery->root, generation->name, generation->number))
        generation->stop = STOP_ASKED;
    for (int i = 0; i < generation->share_count; i++) {
        struct carried_share *share =
            slurm_table_add (recovery->slurm, generation, i, CARRIED_UNSURE);
        if (!share)
            return fail (err, -ENOMEM, "no memory for the runs of job %s", job->spec.name);
        share->unsure = true;
        share->grace_s = job->launch->grace_s;
    }
    for (int i = 0; i < generation->runs; i++)
        generation->ranks[i].phase = RANK_STARTING; /* until it is looked at */
    bool has_slots = read_slots (recovery->slurm, recovery->root, generation);
    generation->started = has_slots; /* STARTED may be in the journal */
    return has_slots;
}

int slurm_recover (struct slurm *slurm, const struct cluster *cluster, int root,
                   struct pollux_error *err)
{
    struct recovery recovery = {slurm, cluster, root};
    return generation_set_recover (&slurm->set, cluster, adopt, &recovery, err);
}
