# SPDX-License-Identifier: Apache-2.0
# Two polluxd on one state directory (--shared-state), as on two hosts of a shared file system.  The one in
# charge is suspended at random moments and at every fault point around a commit while clients submit jobs;
# another one takes over; then the first one continues.  Afterwards it has ended with exit code 4, it
# has touched nothing of the new one, and every job whose submit was acknowledged exists.
# POLLUX_SEED=N repeats the random choices of a run.
. tests/cli/lib_daemon.sh
takeovers=12
[ -z "${POLLUX_BRIEF-}" ] || takeovers=3
[ -z "${POLLUX_SOAK-}" ] || takeovers=200
seed=${POLLUX_SEED-$RANDOM}
RANDOM=$seed
echo "# POLLUX_SEED=$seed"
options=(--shared-state --backend fake --node a:2 --node b:2 --interval 0.2)

journal() { ls -d "$state"/epochs/*/journal.db | tail -n 1; }

# ---- Alone ----------------------------------------------------------------------------------------

start_daemon --backend fake --node a:2
submit before -- true
stop_daemon
start_daemon "${options[@]}"
holds "the journal of a daemon without epochs is taken over" is before '.phase == "finished"'
holds "there is one journal" [ ! -e "$state/journal.db" ]
holds "no shared memory is used" [ -z "$(find "$state" -name '*-shm')" ]
run pollux events --json
expect "events are read" status=0 out~'"type":"SUBMIT","job":"before"'
stop_daemon
holds "it ends with 0" [ "$status" = 0 ]
run pollux replay "$(journal)"
expect "its journal can be read afterwards" status=0 out~'plans? (is|are) the same'
run $POLLUXD --state "$state" --listen 127.0.0.1:0 "${root[@]}" --backend fake --node a:2
expect "without --shared-state it is refused" status=1 err~'was used with --shared-state'

# ---- Takeovers ------------------------------------------------------------------------------------

# Submit jobs until $tmp/enough exists; each acknowledged name is noted.
submit_jobs()
{
    local i
    for ((i = 0; ; i++)); do
        [ ! -e "$tmp/enough" ] || return 0
        pollux submit --name "$1$i" -- true >>"$tmp/answers" 2>>"$tmp/refused" && echo "$1$i" >>"$tmp/acknowledged"
    done
}

# take_over: the daemon is suspended; start another, then let the first go on and wait for its end.
take_over()
{
    local old=$daemon
    rm -f "$state/address"
    launch_daemon "${options[@]}"
    until_true answers || { not_ok "$1: the next daemon starts" "$(tell)"; exit 1; }
    kill -CONT "$old"
    wait "$old"
    status=$?
    holds "$1: the old one ends with 4" [ $status = 4 ]
}

# suspend_at POINT: start a daemon that suspends itself there.
suspended() { grep -q '^State:.T' "/proc/$daemon/status"; }
suspend_at()
{
    local visit=1
    case $1 in append | commit*) visit=$((RANDOM % 5 + 1)) ;; esac
    POLLUX_FAULT=$1:$visit:stop launch_daemon "${options[@]}"
    until_true suspended || not_ok "$1: it is suspended" "$(tell)"
}

: >"$tmp/acknowledged"
start_daemon "${options[@]}"
submit_jobs x & submitters=($!)
submit_jobs y & submitters+=($!)
for ((i = 0; i < takeovers; i++)); do
    sleep "0.0$((RANDOM % 90 + 10))"
    kill -STOP "$daemon"
    take_over "takeover $i"
done
for point in append commit committed epoch-rename epoch-renamed epoch-copied; do
    stop_daemon KILL
    suspend_at $point
    take_over "suspended at $point"
done
enough() { [ "$(wc -l <"$tmp/acknowledged")" -gt 10 ]; }
soon "jobs are acknowledged" enough
touch "$tmp/enough"
wait "${submitters[@]}"

count=$(sort -u "$tmp/acknowledged" | wc -l)
missing=$(pollux list --all --quiet | sort -u | comm -13 - <(sort -u "$tmp/acknowledged"))
holds "each acknowledged job exists ($count)" [ -z "$missing" ]
holds "the address is that of the daemon in charge" pollux status
holds "old epochs are removed" [ "$(ls "$state/epochs" | wc -l)" -le 2 ]
stop_daemon
run pollux replay "$(journal)"
expect "the journal is whole" status=0 out~'plans are the same'
holds "no claim is left" [ -z "$(ls -A "$state" | grep claim)" ]

# ---- Jobs of the local backend run on -----------------------------------------------------------------

state=$tmp/local
export POLLUX_STATE=$state
options=(--shared-state --node a:2 --interval 0.2)
start_daemon "${options[@]}"
submit long -- "$worker"
soon "a job runs" is long '.phase == "running"'
kill -STOP "$daemon"
take_over "with a running job"
holds "the job runs on in the same generation" is long '.phase == "running" and .generation == 1 and .restarts == 0'
end_jobs long
stop_daemon
check_rest "at the end"
