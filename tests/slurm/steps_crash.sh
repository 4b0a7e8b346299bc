# SPDX-License-Identifier: Apache-2.0
# polluxd with the backend slurm-steps is killed at every fault point between the START of a generation, srun and its
# answer, and while a generation stops.  The next polluxd leads to exactly one generation, each rank of which is started once.
. tests/slurm/lib_slurm.sh
visits="1 2 3"
[ -z "${POLLUX_SOAK-}" ] || visits="1 2 3 4 5 6 7 8 9 10 12 14"
ulimit -c 0
cluster_up 3 4

pollux() { node_exec login "$POLLUX" "$@"; }
slurm() { node_exec login "$@"; }
slurm salloc --no-shell -N3 --gpus-per-node=4 -t 60 --no-kill -J pilot >"$tmp/salloc" 2>&1
allocation=$(slurm squeue -h -n pilot -o %i)
check "there is an allocation" [ -n "$allocation" ]
listen=127.0.0.1:0
tls=
if $separate; then listen=10.77.0.1:0 tls=--tls-self-signed; fi
# run_polluxd FAULT: start polluxd on the first node; FAULT is POINT:N or empty.
run_polluxd()
{
    rm -f "$state/address"
    node_exec n0 env SLURM_JOB_ID="$allocation" ${1:+POLLUX_FAULT="$1"} "$POLLUXD" --backend slurm-steps --state "$state" \
        --listen "$listen" $tls --restart-delay 0 --interval 1 "${root[@]}" </dev/null >>"$log" 2>&1 &
    polluxd=$!
}
dies() { ! lives "$polluxd"; }
# stop_polluxd: end it, as a node's process.
stop_polluxd()
{
    local pid
    for pid in $(node_pids n0 "slurm-steps"); do
        [ "$(readlink "/proc/$pid/exe")" != "$(readlink -f "$POLLUXD")" ] || kill -KILL "$pid"
    done
    wait "$polluxd" 2>/dev/null
}
runs_once() { [ "$(grep "^$1 " "$starts" | sort -u -k 2,3 | wc -l)" = "$2" ] && is "$1" '.phase == "running"'; }
one_generation() { [ "$(grep "^$1 " "$starts" | wc -l)" = 6 ] && [ "$(grep "^$1 " "$starts" | cut -d ' ' -f 2 | sort -u)" = 1 ]; }

number=0 hits=0
for point in append commit committed spawn spawned; do
    for visit in $visits; do
        number=$((number + 1)) job=job$((number + 1))
        run_polluxd "$point:$visit"
        # It may die before it answers: then the job is submitted to the next one.
        until_true eval 'answers || dies'
        PATIENCE=10 until_true eval "dies || pollux submit --name $job --min 6 --max 6 --backoff 1 -- $worker"
        if PATIENCE=5 until_true dies; then hits=$((hits + 1)); else stop_polluxd; fi
        wait "$polluxd" 2>/dev/null
        run_polluxd ""
        until_true answers || { not_ok "polluxd starts after $point:$visit" "$(tell)"; exit 1; }
        pollux submit --name $job --min 6 --max 6 --backoff 1 -- "$worker" >/dev/null 2>&1
        soon "$point:$visit: the job runs" runs_once $job 6
        holds "$point:$visit: one generation, each rank once" one_generation $job
        holds "$point:$visit: Slurm has two steps" [ "$(slurm squeue -h -s -o %j | grep -c "^$job\.")" = 2 ]
        end_jobs $job
        holds "$point:$visit: it finishes" is $job '.phase == "finished" and .failures == 0'
        stop_polluxd
    done
done

# ---- While a generation stops -------------------------------------------------------------------

for visit in $visits; do
    job=stop$visit
    run_polluxd ""
    until_true answers
    submit $job --min 6 --max 6 --backoff 1 -- "$worker"
    soon "$job runs" runs_once $job 6
    stop_polluxd
    run_polluxd "committed:$((visit + 1))"
    until_true eval 'answers || dies'
    PATIENCE=10 until_true eval "dies || pollux scale $job --min 3 --max 3"
    if PATIENCE=5 until_true dies; then hits=$((hits + 1)); else stop_polluxd; fi
    wait "$polluxd" 2>/dev/null
    run_polluxd ""
    until_true answers
    pollux scale $job --min 3 --max 3 >/dev/null
    smaller() { is $job '.phase == "running" and .generation == 2 and .replicas == 3'; }
    soon "$job: it continues with three replicas" smaller
    end_jobs $job
    holds "$job: it finishes" is $job '.phase == "finished" and .failures == 0'
    stop_polluxd
done
# ---- A step without its srun --------------------------------------------------------------------

# srun makes the step, but slurmd does not run and cannot start its processes; then polluxd and srun are killed.
run_polluxd ""
until_true answers
for node in n0 n1; do pollux drain $node >/dev/null; done
slurmd_kill n2
submit orphan --min 1 --max 1 --backoff 1 -- "$worker"
has_step() { slurm squeue -h -s -o %j | grep -q '^orphan\.1\.'; }
soon "orphan: Slurm has its step" has_step
stop_polluxd
node_pids n0 "^srun " | xargs -r kill -KILL 2>/dev/null
slurmd_start n2
run_polluxd ""
until_true answers
holds "orphan: Slurm still has the step" has_step
PATIENCE=180 soon "orphan: it starts again" is orphan '.phase == "running" and .generation == 2 and .failures == 0'
soon "orphan: its replica runs" grep -q '^orphan 2 ' "$starts"
end_jobs orphan
holds "orphan: it finishes" is orphan '.phase == "finished" and .failures == 0'
stop_polluxd
check "polluxd died at its fault points: $hits times" [ "$hits" -ge 12 ]
holds "no replica was started twice" [ -z "$(twice)" ]
slurm scancel "$allocation"
journal=$(printf '%s\n' "$state"/epochs/*/journal.db | tail -n 1)
holds "no node had more replicas than slots" [ -z "$(crowded "$journal")" ]
