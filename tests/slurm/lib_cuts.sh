# SPDX-License-Identifier: Apache-2.0
# For tests that cut a node off from all others.  After lib_pilot.sh or lib_service.sh, on two nodes with two slots each:
#
#     cut_during training both 5 job    for 5 s, while this job, which is new, trains; also during `stop` and `start`
#
# Ways: `both`, `in` (no packet reaches the node) and `out` (none leaves it).  In a short cut, below 20 s, the job waits for the node.
# In a longer one it may go on without it, and does so by the middle of the cut if Slurm has given the node up (SlurmdTimeout).  In
# the end it runs, all its old replicas have ended, no failure counts, and it finishes.

cut_off() { [ "$2" = both ] && node_cut "$1" || node_cut "$1" "$2"; }

# runs_all JOB [GENERATION]: it runs, in this generation, and all replicas of its generation have started.
runs_all()
{
    local generation=0 replicas=0
    read -r generation replicas < <(of "$1" 'select (.phase == "running") | "\(.generation) \(.replicas)"')
    [ "${generation:-0}" -gt 0 ] && [ "$generation" = "${2-$generation}" ] &&
        [ "$(grep -c "^$1 $generation " "$starts")" = "$replicas" ]
}
# runs_with JOB REPLICAS AFTER: the same, in a generation after this one and with this number of replicas.
runs_with() { is "$1" ".phase == \"running\" and .replicas == $2 and .generation > $3" && runs_all "$1"; }
runs_without() { is "$1" ".phase == \"running\" and (.placement | has (\"$2\") | not)" && runs_all "$1"; }
node_of() { of "$1" '.placement | keys[-1]'; }
# old_replicas JOB: replicas of earlier generations that live.
old_replicas()
{
    local generation node
    generation=$(of "$1" .generation)
    for node in "${nodes[@]}"; do
        node_pids "$node" "$worker" | while read -r pid; do
            grep -qzs "^POLLUX_JOB=$1\$" "/proc/$pid/environ" && ! grep -qzs "^POLLUX_GENERATION=$generation\$" "/proc/$pid/environ" && echo "$pid"
        done
    done
}

cut_during()
{
    local moment=$1 way=$2 seconds=$3 job=$4 name="$2, $3 s, $1" victim least=4 replicas=4 before=1
    [ "$seconds" -lt 20 ] || least=2
    [ "$moment" != start ] || replicas=2
    submit "$job" --min $((replicas < least ? replicas : least)) --max $replicas --preemptible --backoff 1 --grace 5 -- "$worker"
    soon "$name: a job runs" runs_with "$job" $replicas 0
    victim=$(node_of "$job")
    [ "$moment" != start ] || victim=$(other_node "$victim")
    cut_off "$victim" "$way"
    case $moment in
    training) before=0 ;;
    stop) replicas=2 ;;
    start) replicas=4 ;;
    esac
    [ "$moment" = training ] || pollux scale "$job" --min $((replicas < least ? replicas : least)) --max $replicas >/dev/null
    sleep $((seconds / 2))
    [ $((2 * slurmd_timeout_s)) -gt "$seconds" ] || soon "$name: it goes on without the node" runs_without "$job" "$victim"
    sleep $((seconds - seconds / 2))
    node_join "$victim"
    if [ "$least" = 4 ]; then
        soon "$name: the job runs with all its replicas" runs_with "$job" $replicas $before
        [ "$moment" != training ] || holds "$name: in the same generation" runs_all "$job" 1
    else
        soon "$name: the node comes back to Slurm" eval "node_is $victim idle || node_is $victim mixed || node_is $victim allocated"
        soon "$name: its old replicas end" eval "[ -z \"\$(old_replicas $job)\" ]"
        soon "$name: the job runs" runs_all "$job"
    fi
    holds "$name: no failure is the job's" is "$job" '.failures == 0'
    end_jobs "$job"
    holds "$name: the job finishes" is "$job" '.phase == "finished"'
}
