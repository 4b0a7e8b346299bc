#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The service: jobs replace, open or remove their run directories and kill their supervisors.  Their generations end all the
# same, a job that does so all the time fails, and jobs of others never wait for it.
. tests/slurm/lib_service.sh
runs=$tmp/home/ann/.pollux/run
. tests/slurm/lib_damage.sh
cluster_up 2 4
start_daemon
: >"$tmp/go/always"
submit always --max 1 --backoff 1 --max-failures 0 -- "$tmp/damage" none always
damage_runs
soon "a job that kills its supervisor all the time fails" is always '.phase == "failed" and .generation == 6'
holds "after no start had to wait" eval '! pollux events --json | grep "not started"'
soon "nothing of ours is left in Slurm" eval '[ -z "$(slurm squeue -h -u ann)" ]'
check_rest "at the end"
stop_daemon
