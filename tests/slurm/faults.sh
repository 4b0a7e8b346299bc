# SPDX-License-Identifier: Apache-2.0
# Daemons of Slurm are killed while a pilot runs, so that its Slurm commands fail: munged of polluxd's node and of a node of
# the job, slurmctld, slurmd.  The job goes on, and no generation runs twice.  (steps_crash.sh kills polluxd, steps.sh the rest.)
. tests/slurm/lib_pilot.sh
options=(-N3 --gpus-per-node=2 -- --interval 1 --restart-delay 0)
cluster_up 3 2

start_pilot "${options[@]}"

runs_all()
{
    is "$1" ".phase == \"running\" and .generation >= $2" &&
        [ "$(grep -c "^$1 $(of "$1" .generation) " "$starts")" = "$(of "$1" .replicas)" ]
}
submit job --min 4 --max 4 --preemptible --backoff 1 --max-failures 9 -- "$worker"
soon "a job runs" runs_all job 1
generation=$(of job .generation) node=$(of job '.placement | keys[-1]')

for victim in $(batch_node) "$node"; do
    munged_kill "$victim"
    pollux scale job --min 2 --max 2 >/dev/null
    sleep 3
    munged_start "$victim"
    soon "munged of $victim was dead for 3 s: the job goes on" eval "is job '.phase == \"running\" and .replicas == 2'"
    pollux scale job --min 4 --max 4 >/dev/null
    soon "munged of $victim: and with four replicas again" eval "is job '.phase == \"running\" and .replicas == 4'"
done
slurmctld_kill
pollux scale job --min 3 --max 3 >/dev/null
sleep 2
slurmctld_start
soon "slurmctld was dead for 2 s: the job goes on" eval "is job '.phase == \"running\" and .replicas == 3'"
# For some seconds Slurm refuses steps; a share that was submitted then is submitted again with the next generation.
steps_work() { on_login timeout 20 srun --jobid="$pilot" --overlap -N3 -n3 --mem=0 true; }
soon "steps start again" steps_work
soon "all replicas run" runs_all job 1
generation=$(of job .generation)
slurmd_kill "$node"
sleep 2
slurmd_start "$node"
soon "slurmd of $node was dead for 2 s: the node works" node_exec login timeout 20 srun --jobid="$pilot" --overlap -w "$node" -N1 -n1 --mem=0 true
holds "slurmd of $node: the same generation runs" is job ".phase == \"running\" and .generation == $generation"
end_jobs job
holds "the job finishes" is job '.phase == "finished"'
check_rest "at the end"
on_login scancel "$pilot"
soon "the allocation ends" nodes_are idle
