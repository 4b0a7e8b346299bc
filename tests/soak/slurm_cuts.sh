#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Nodes of Slurm are cut off for minutes: both ways, only to the node and only from it; during training, during a stop and during a
# start; with the pilot (slurm-steps) and with the service (slurm).  Slurm gives the node up after 20 s, or not at all (`kept`).  tests/slurm/partition.sh and service_cuts.sh have short cuts.
#
# All cases run at the same time, each on a cluster of its own; one of them:
#
#     POLLUX=build/gcc/pollux bash tests/soak/slurm_cuts.sh service stop      CUT_SECONDS=140: the length of a cut
CUT_SECONDS=${CUT_SECONDS-140}

if [ $# = 0 ]; then
    outputs=$(mktemp -d "${TMPDIR:-/tmp}/cuts.XXXXXX") || exit 1
    trap 'rm -rf "$outputs"' EXIT
    for backend in pilot service; do
        for moment in training stop start kept; do
            bash "$0" $backend $moment </dev/null >"$outputs/$backend-$moment" 2>&1 || touch "$outputs/failed" &
        done
    done
    wait
    cat "$outputs"/*-*
    [ ! -e "$outputs/failed" ]
    exit
fi

backend=$1 moment=$2
slurmd_timeout_s=20
ways="both in out" moments=$moment
[ "$moment" != kept ] || slurmd_timeout_s=300 ways=both moments="training stop start"
. "tests/slurm/lib_$backend.sh"
. tests/slurm/lib_cuts.sh
if ! $separate; then
    skip "no namespaces: a node cannot be cut off"
    exit 0
fi

if [ "$backend" = pilot ]; then
    cluster_up 3 2
else
    cluster_up 2 2
    start_daemon
fi
# start_allocation: polluxd's own node is not used by jobs.
start_allocation()
{
    local batch
    start_pilot -N3 --gpus-per-node=2 -- --interval 1 --restart-delay 0
    soon "$1: the nodes are known" eval "pollux nodes --json | jq -e '.nodes | length == 3'"
    batch=$(batch_node)
    for node in "${nodes[@]}"; do
        [ "$node" = "$batch" ] && pollux drain "$node" >/dev/null || pollux resume "$node" >/dev/null
    done
    candidates=("${nodes[@]/$batch/}")
}
candidates=("${nodes[@]}")
other_node()
{
    local node
    for node in "${candidates[@]}"; do [ -z "$node" ] || [ "$node" = "$1" ] || echo "$node"; done | head -n 1
}

for way in $ways; do
    for moment in $moments; do
        # An allocation does not get a failed node back: each time a new one, which goes on with the state directory.
        [ "$backend" != pilot ] || start_allocation "$way, $moment"
        cut_during "$moment" "$way" "$CUT_SECONDS" "$moment-$way"
        [ "$backend" = pilot ] || continue
        on_login scancel "$pilot"
        soon "$way, $moment: the allocation ends" nodes_are idle
        rm -f "$state/address"
    done
done
check_rest "after cuts of $CUT_SECONDS s, $2"
