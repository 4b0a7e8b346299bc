#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which nodes the service uses, and what it asks of Slurm: a list of nodes, a reservation, reservations of others, use by others
# beside a busy node; and the account, time limit, CPUs, memory and GPUs of its Slurm jobs.
. tests/slurm/lib_service.sh
nodes_are() { [ "$(node_exec login sinfo -h -N -p main -o %T | grep -c "^$1\$")" = ${#nodes[@]} ]; } # there are two partitions
cluster_up 4 4 "PartitionName=short Nodes=ALL MaxTime=100 State=UP"
# names: the nodes that have slots.
names() { pollux nodes --json | jq -r '[.nodes[] | select (.available and .slots > 0) | .name] | sort | join (" ")'; }
names_are() { [ "$(names)" = "$1" ]; }
reserve() { slurm scontrol create "ReservationName=$1" StartTime=now Duration=60 Users="$2" Nodes="$3" "${@:4}" >/dev/null; }
unreserve() { slurm scontrol delete "ReservationName=$1"; }
is_placed() { is "$1" ".phase == \"running\" and (.placement | keys) == $2"; }

# ---- A list of nodes ------------------------------------------------------------------------------

start_daemon --slurm-nodes 'n[1-2]'
soon "with --slurm-nodes, only these nodes are divided" names_are "n1 n2"
check "others are not known at all" [ "$(pollux nodes --json | jq '.nodes | length')" = 2 ]
submit listed --min 8 --max 8 -- "$worker"
soon "a job has all their slots" is_placed listed '["n1", "n2"]'
slurm scontrol update NodeName=n2 State=drain Reason=test
soon "a drained node of the list is left" names_are "n1"
slurm scontrol update NodeName=n2 State=resume
soon "it comes back" names_are "n1 n2"
end_jobs listed
stop_daemon
rm -rf "$state"
install -d -m 700 -o pollux -g pollux "$state"

# ---- A reservation of ours ------------------------------------------------------------------------

reserve ours ann n1
reserve theirs root n3
start_daemon --reservation ours
soon "with --reservation, only its nodes are divided" names_are n1
submit inside --min 4 --max 4 -- "$worker"
soon "a job runs there" all_started inside 0
check "in that reservation" [ "$(slurm squeue -h -n "inside.1.0" -O Reservation:20 | tr -d ' ')" = ours ]
submit large --min 8 --max 8 -- "$worker"
sleep 3
check "one that needs more waits" is large '.phase == "pending" and .failures == 0'
slurm scontrol update ReservationName=ours Nodes=n1,n2
soon "a node that joins the reservation is used" names_are "n1 n2"
slurm scontrol update ReservationName=ours Nodes=n1
soon "one that leaves it is not" names_are n1
end_jobs inside
pollux cancel large >/dev/null
soon "nothing is left in the reservation" eval '[ -z "$(slurm squeue -h -u ann)" ]'
unreserve ours
soon "without the reservation there are no nodes" names_are ""
check "the log says why" grep -q 'reservation ours has no nodes for us' "$log"
stop_daemon
rm -rf "$state"
install -d -m 700 -o pollux -g pollux "$state"

# ---- Reservations of others -----------------------------------------------------------------------

# n3 is partly used inside the reservation, so that its state is "mixed".
inside=$(foreign --reservation=theirs -w n3 --gres=gpu:1)
until_true node_is n3 mixed
start_daemon
soon "a node that others have reserved is not ours, although it is only partly used" names_are "n0 n1 n2"
submit around --min 12 --max 16 --preemptible -- "$worker"
soon "a job runs beside it" is_placed around '["n0", "n1", "n2"]'
slurm scancel "$inside"
unreserve theirs
soon "the node comes back when the reservation ends" names_are "n0 n1 n2 n3"
soon "and is used" is_placed around '["n0", "n1", "n2", "n3"]'
reserve theirs root n0 Flags=IGNORE_JOBS
soon "a node is left when others reserve it" is_placed around '["n1", "n2", "n3"]'
unreserve theirs
end_jobs around
holds "none of this is the job's failure" is around '.failures == 0'
soon "all nodes are ours again" names_are "n0 n1 n2 n3"

# ---- What is asked of Slurm -----------------------------------------------------------------------

cat >"$tmp/asks.yaml" <<END
name: asks
command: ["$worker"]
directory: /
min_replicas: 2
max_replicas: 2
slurm: {account: physics, time_limit: "1:10:00", cpus_per_replica: 3, memory_per_replica: 50M, partition: short}
END
chmod 644 "$tmp/asks.yaml"
pollux submit "$tmp/asks.yaml" >/dev/null
soon "a job with a section slurm runs" all_started asks 0
slurm scontrol -o show job "$(share asks 0)" | tr ' ' '\n' >"$tmp/job"
# says KEY=VALUE: Slurm's description of the job has this word.
says() { check "Slurm's job has $1" eval "grep -Fqx '$1' '$tmp/job' || { grep '^${1%%=*}=' '$tmp/job'; false; }"; }
says Account=physics
says TimeLimit=01:10:00
says Partition=short
says NumCPUs=6
says MinMemoryNode=100M
says JobName=asks.1.0
says "UserId=ann($(id -u ann))"
check "and two GPUs of the type that its node has" grep -q '^TresPerNode=gres:gpu:a100:2$\|^TresPerNode=gres/gpu:a100:2$' "$tmp/job"
end_jobs asks
cat >"$tmp/late.yaml" <<END
name: late
command: ["$worker"]
directory: /
max_failures: 0
slurm: {time_limit: 200, partition: short}
END
chmod 644 "$tmp/late.yaml"
pollux submit "$tmp/late.yaml" >/dev/null
soon "a time that the partition does not allow fails the job" is late '.phase == "failed"'
check "with Slurm's reason" eval "pollux show late | grep -qi 'Slurm d.*time'"

# ---- Use by others, beside a busy node ------------------------------------------------------------

# Others have n1 to n3, so that jobs end one after the other on n0.  What others give back is seen meanwhile.
others=("$(foreign -w n1 --exclusive)" "$(foreign -w n2 --exclusive)" "$(foreign -w n3 --exclusive)")
soon "others have three nodes" names_are n0
busy=true
while $busy; do
    for i in 1 2 3 4; do pollux submit --max 1 -- sleep 0.1; done
    [ ! -e "$tmp/quiet" ] || busy=false
    sleep 1
done >/dev/null 2>&1 &
busy_pid=$!
soon "jobs end on the fourth one" eval 'pollux list --all --json | jq -e "[.jobs[] | select (.phase == \"finished\")] | length > 10"'
slurm scancel "${others[0]}"
PATIENCE=45 soon "a node that others gave back is seen meanwhile" eval 'names | grep -qw n1'
touch "$tmp/quiet"
wait $busy_pid
slurm scancel "${others[@]}"
stop_daemon
check "no generation ran twice, no node had more replicas than slots" [ -z "$(crowded "$state/journal.db")" ]
