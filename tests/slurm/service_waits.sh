#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Jobs of the service that Slurm does not take or does not start: because a partition is closed, or because no memory is left on a
# node.  They wait, which is no failure, and other jobs go on.
. tests/slurm/lib_service.sh
nodes_are() { [ "$(node_exec login sinfo -h -N -p main -o %T | grep -c "^$1\$")" = ${#nodes[@]} ]; } # there are two partitions
cluster_up 2 4 SelectTypeParameters=CR_Core_Memory DefMemPerCPU=10 "PartitionName=other Nodes=ALL State=INACTIVE"
set_partition() { slurm scontrol update "PartitionName=$1" "State=$2"; }
# ask JOB LINE...: submit a job of one replica with these lines in its file.
ask()
{
    local name=$1
    shift
    printf '%s\n' "name: $name" "command: [\"$worker\"]" 'directory: /' 'max_replicas: 1' "$@" >"$tmp/$name.yaml"
    chmod 644 "$tmp/$name.yaml"
    pollux submit "$tmp/$name.yaml" >/dev/null
}
waits() { is "$1" ".phase == \"pending\" and .failures == 0 and (.detail | test (\"$2\"))"; }
start_daemon
soon "the nodes are known" slots_are '[4, 4]'

# ---- Closed partitions ----------------------------------------------------------------------------

ask stays 'preemptible: false'
soon "a job runs" all_started stays 0
for closed in DRAIN DOWN; do
    set_partition main $closed
    soon "a partition that is $closed has no slots" slots_are '[0, 0]'
    ask "late$closed"
    until_true is "late$closed" '.waits_for != ""'
    holds "a job waits for it, which is no failure" is "late$closed" '.phase == "pending" and .failures == 0'
    set_partition main UP
    soon "it is open again" slots_are '[4, 4]'
    soon "the job runs" all_started "late$closed" 0
done
check "a job that may not be moved went on meanwhile" is stays '.phase == "running" and .generation == 1'

ask elsewhere 'slurm: {partition: other}'
soon "sbatch refuses a job whose own partition is closed: it waits, with Slurm's words" waits elsewhere 'Required partition not available'
check "it is said until when" is elsewhere '.waits_for | test ("^waits until ")'
set_partition other UP
PATIENCE=120 soon "it runs after the partition was opened" all_started elsewhere 0
check "none of this was a failure" is elsewhere '.failures == 0'
end_jobs stays lateDRAIN lateDOWN elsewhere

# ---- No memory on a node --------------------------------------------------------------------------

# One node has too little memory for the large job because of another user, the other one because of the small job.
ask small 'preemptible: true' 'slurm: {memory_per_replica: 200M}'
soon "a small job runs" all_started small 0
node=$(of small '.placement | keys[0]')
other=$(foreign -w "$([ "$node" = n0 ] && echo n1 || echo n0)" --mem=3000)
ask large 'preemptible: false' 'slurm: {memory_per_replica: 3900M}'
soon "a large one is sent to Slurm" is large '.phase == "running"'
first=$(of large '.placement | keys[0]')
moved() { is large ".generation >= 2 and .failures == 0 and .placement != {\"$first\": 1}"; }
PATIENCE=150 soon "Slurm does not start it on $first: it leaves the node, although it may not be moved" moved
check "the reason is known" is large '.detail | test ("Slurm does not start it: ")'
check "$node is available, with the slots that the small job has at least" \
    eval "pollux nodes --json | jq -e '.nodes[] | select (.name == \"$node\") | .available and .slots >= 1'"
slurm scancel "$other"
PATIENCE=200 soon "it runs where memory is left" all_started large 1
check "and waiting was no failure" is large '.failures == 0'
check "the small job was not stopped for it" is small '.phase == "running" and .generation == 1'
end_jobs small large
stop_daemon
check "no generation ran twice, no node had more replicas than slots" [ -z "$(crowded "$state/journal.db")" ]
