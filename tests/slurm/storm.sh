# SPDX-License-Identifier: Apache-2.0
# Random faults while jobs of all sizes run under a pilot: 12 jobs on 4 nodes x 4 GPUs and 12 faults.  (More of both, also for the
# service: tests/soak/slurm_storm.sh.)  Nothing is lost: every job finishes, no replica of a generation was started twice, no
# node had more replicas than slots.  POLLUX_SEED=N repeats the random choices of a run.
. tests/slurm/lib_pilot.sh
jobs=12 faults=12 count=4 gpus=4
seed=${POLLUX_SEED-$RANDOM}
RANDOM=$seed
echo "# POLLUX_SEED=$seed"

cluster_up $count $gpus
start_pilot -N$count --gpus-per-node=$gpus -- --interval 1 --restart-delay 0
until_true eval "pollux nodes --json | jq -e '.nodes | length == $count'"

# Every start is recorded; then a job runs for a few seconds.
cat >"$tmp/job" <<END
#!/bin/sh
trap 'exit 143' TERM
echo "\$POLLUX_JOB \$POLLUX_GENERATION \$RANK \$WORLD_SIZE \$POLLUX_NODE \$\$ \$POLLUX_RUN" >>"$starts"
for i in 1 2 3 4 5 6; do sleep 0.5; done
END
chmod 755 "$tmp/job"
submit_jobs()
{
    local i size=$((count * gpus / 2))
    for ((i = 0; i < jobs; i++)); do
        until_true eval "pollux submit --name job$i --min 1 --max $((1 + i % size)) --preemptible --grace 5 --backoff 0.5 \
            --max-failures 1000 -- '$tmp/job' || pollux show job$i"
    done
}
all_finished() { pollux list --all --json | jq -e "(.jobs // .) | length == $jobs and all (.phase == \"finished\")"; }
one() { shuf -n 1 --random-source=<(yes $RANDOM); }

# fault: one of them, at random.  What is killed is started again; a cut is shorter than SlurmdTimeout.
fault()
{
    local node=${nodes[RANDOM % count]} pid
    case $((RANDOM % 8)) in
    0) pid=$(polluxd_pid) && [ -n "$pid" ] && kill -KILL "$pid" ;;
    1) pid=$(node_pids "$node" "exec --share" | one) && [ -n "$pid" ] && kill -KILL "$pid" ;;
    2) pid=$(node_pids "$node" "$tmp/job" | one) && [ -n "$pid" ] && kill -KILL "$pid" ;;
    3) pid=$(node_pids "$(batch_node)" "^srun " | one) && [ -n "$pid" ] && kill -KILL "$pid" ;;
    4) slurmd_kill "$node"; sleep 1; slurmd_start "$node" ;;
    5) slurmctld_kill; sleep 1; slurmctld_start ;;
    6) ! $separate || { node_cut "$node"; sleep 2; node_join "$node"; } ;;
    7) on_login scancel "$(on_login squeue -h -s -o '%i %j' | awk '$2 ~ /^job/ { print $1 }' | one)" ;;
    esac 2>/dev/null
}

submit_jobs &
submitter=$!
for ((i = 0; i < faults; i++)); do
    fault
    sleep "0.$((RANDOM % 10))"
done
wait $submitter
PATIENCE=300 soon "after $faults faults: all $jobs jobs finish" all_finished
output=$(twice)
holds "after $faults faults: no replica was started twice" [ -z "$output" ]
journal=$(printf '%s\n' "$state"/epochs/*/journal.db | tail -n 1)
output=$(crowded "$journal")
holds "after $faults faults: no node had more replicas than slots" [ -z "$output" ]
soon "after $faults faults: no process is left" nothing_left
on_login scancel "$pilot"
soon "the allocation ends" nodes_are idle
