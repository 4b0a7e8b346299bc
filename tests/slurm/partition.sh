# SPDX-License-Identifier: Apache-2.0
# A node is cut off from all others: for 5 s, during which Slurm keeps the node, and until Slurm declares it down; both ways,
# only to it and only from it; during training, during a stop and during a start.  Every job goes on, and no generation runs twice.
. tests/slurm/lib_pilot.sh
. tests/slurm/lib_cuts.sh
if ! $separate; then
    skip "no namespaces: a node cannot be cut off"
    exit 0
fi
ways="both"
[ -z "${POLLUX_SOAK-}" ] || ways="both in out"

# Slurm must not give the node up because of three cuts of 5 s in a row, between which it may not have asked the node.
slurmd_timeout_s=20
cluster_up 3 2
start_pilot -N3 --gpus-per-node=2 -- --interval 1 --restart-delay 0
soon "the nodes are known" eval "pollux nodes --json | jq -e '.nodes | length == 3'"
batch=$(batch_node)
pollux drain "$batch" >/dev/null # jobs run on the two other nodes
victim=$([ "$batch" = n2 ] && echo n1 || echo n2)
other=$([ "$batch" = n0 ] && echo n1 || echo n0)

other_node() { [ "$1" = "$victim" ] && echo "$other" || echo "$victim"; }

# ---- 5 s ----------------------------------------------------------------------------------------

for way in both in out; do
    for moment in training stop start; do cut_during $moment $way 5 "short-$way-$moment"; done
done
check_rest "after 5 s"

# ---- Until Slurm gives the node up --------------------------------------------------------------

# An allocation does not get a failed node back: each time a new one, which goes on with the state directory.
for way in $ways; do
    job=long-$way
    submit "$job" --min 2 --max 4 --preemptible --backoff 1 --grace 5 -- "$worker"
    soon "$way: a job runs on both nodes" runs_with "$job" 4 0
    cut_off "$victim" $way
    soon "$way: Slurm gives the node up" node_is "$victim" down
    soon "$way: the job goes on without it" eval "is $job '.phase == \"running\" and .generation > 1 and (.placement | has (\"$victim\") | not)'"
    holds "$way: that is not the job's failure" is "$job" '.failures == 0'
    node_join "$victim"
    soon "$way: the node comes back to Slurm" node_is "$victim" idle
    soon "$way: its old replicas end" eval "[ -z \"\$(node_pids $victim '$worker')\" ]"
    end_jobs "$job"
    holds "$way: the job finishes" is "$job" '.phase == "finished"'
    on_login scancel "$pilot"
    soon "$way: the allocation ends" nodes_are idle
    rm -f "$state/address"
    [ "$way" = "${ways##* }" ] || start_pilot -N3 --gpus-per-node=2 -- --interval 1 --restart-delay 0
done
check_rest "after long cuts"
