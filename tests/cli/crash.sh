# SPDX-License-Identifier: Apache-2.0
# After any crash no job is lost and none is started twice.  While jobs of all kinds are submitted,
# run, fail, finish and are cancelled,
#
#     polluxd is killed at random moments (20; 500 with POLLUX_SOAK=1),
#     polluxd and supervisors are killed at every fault point (docs/architecture.md),
#     replicas, supervisors and mpiruns are killed at random, and polluxd with them.
#
# Afterwards every acknowledged job exists once and has ended as expected of its kind; no replica of a
# generation was started twice; no process is left; and a replay of the journal gives the same
# plans.  POLLUX_SEED=N repeats the random choices of a run.
. tests/cli/lib_daemon.sh
kills=20 visits="1 2 5"
[ -z "${POLLUX_BRIEF-}" ] || kills=5 visits="2"
[ -z "${POLLUX_SOAK-}" ] || kills=500 visits="1 2 3 4 5 6 7 8 9 10 12 15 20 25 30 40 50"
seed=${POLLUX_SEED-$RANDOM}
RANDOM=$seed
echo "# POLLUX_SEED=$seed"
ulimit -c 0
has_mpi=$(command -v mpirun)
healthy_only= # only kinds that succeed
forgive=3 # failures allowed for these
forgiving=false

echo "keep_events: 1000" >"$tmp/config.yaml"
options=(--config "$tmp/config.yaml" --node a:3 --node b:3)
usual=("${options[@]}" --interval 0.2)

# ---- Jobs ---------------------------------------------------------------------------------------

# Every start is recorded first; then the job behaves as its kind.  All leave a process behind, in
# another session.
cat >"$tmp/job" <<END
#!/bin/sh
trap 'exit 143' TERM
echo "\$POLLUX_JOB \$POLLUX_GENERATION \$RANK \$WORLD_SIZE \$POLLUX_NODE \$\$ \$POLLUX_RUN" >>"$starts"
setsid sleep 1000 &
case \$POLLUX_JOB in
ok*) sleep 0.1 ;;
two*) sleep 0.2 ;;
wide*) sleep 0.5 ;;
mpi*) sleep 0.3 ;;
bad*) exit 3 ;;
dead*) kill -9 \$\$ ;;
stop*) while :; do sleep 0.2; done ;;
esac
END
chmod 755 "$tmp/job"

# The options of each kind.
words_of()
{
    local many=(--max-failures $forgive --backoff 0.05)
    case $1 in
    ok*) words=("${many[@]}") ;;
    two*) words=(--replicas 2 --no-preemptible "${many[@]}") ;;
    wide*) words=(--max 4 "${many[@]}") ;;
    mpi*) words=(--replicas 2 --no-preemptible --launcher mpi "${many[@]}") ;;
    bad*) words=(--max-failures 1 --backoff 0.05) ;;
    dead*) words=(--max-failures 0) ;;
    stop*) words=(--max 2 "${many[@]}") ;;
    esac
}

# until_acknowledged NAME COMMAND...: repeat the command until the daemon acknowledges it: by success, or
# because an earlier attempt is known (409).
until_acknowledged()
{
    local name=$1 answer
    shift
    while [ ! -e "$tmp/give-up" ]; do
        answer=$("$@" 2>&1) && break
        grep -q -e 'there is a job' -e 'already' -e 'has ended' -e 'is cancel' -e 'was cancel' -e 'is called' <<<"$answer" && break
        echo "$answer" >>"$tmp/refused"
        sleep 0.05
    done
    echo "$name" >>"$tmp/acknowledged"
}

# submit_jobs FIRST: submit jobs of all kinds, one after the other, until $tmp/enough exists.
submit_jobs()
{
    local i=$1 kind kinds=(ok two wide bad ok stop dead two wide) words
    [ -z "$healthy_only" ] || kinds=(ok two wide two)
    [ -z "$has_mpi" ] || kinds+=(mpi)
    while [ ! -e "$tmp/enough" ]; do
        kind=${kinds[i % ${#kinds[@]}]}
        words_of "$kind"
        until_acknowledged "$kind$i" $POLLUX submit --name "$kind$i" "${words[@]}" -- "$tmp/job"
        [ "$kind" != stop ] || until_acknowledged "cancel $kind$i" $POLLUX cancel "$kind$i"
        i=$((i + 1))
        sleep 0.1
    done
}

submitter=
start_submitting()
{
    rm -f "$tmp/enough"
    submit_jobs "$1" &
    submitter=$!
}
stop_submitting()
{
    : >"$tmp/enough"
    until_gone "$submitter"
    : >"$tmp/give-up"
    wait "$submitter" 2>/dev/null
    rm -f "$tmp/give-up"
}

# ---- Checks afterwards --------------------------------------------------------------------------

all_jobs() { pollux list --all --json | jq -c '(.jobs // .)[]'; }
none_live() { all_jobs | jq -es 'length > 0 and all (.phase == "finished" or .phase == "failed" or .phase == "cancelled")'; }

# wrong: jobs that did not end as expected of their kind.
wrong()
{
    all_jobs | jq -c --argjson forgiving $forgiving '
        select (
            ( (.name | test ("^(ok|two|mpi)")) and (.phase == "finished" and
                ($forgiving or (.generation == 1 and .failures == 0 and .restarts == 0))) ) or
            ( (.name | test ("^wide")) and .phase == "finished" and ($forgiving or .failures == 0) ) or
            ( (.name | test ("^bad")) and .phase == "failed" and .failures == 2 and .generation == 2 ) or
            ( (.name | test ("^dead")) and .phase == "failed" and .failures == 1 and .generation == 1 ) or
            ( (.name | test ("^stop")) and .phase == "cancelled" ) | not) |
        {name, phase, generation, failures, restarts, detail}'
}

# missing: jobs that were acknowledged and are not known.
missing() { grep -v ' ' "$tmp/acknowledged" | sort | comm -23 - <(all_jobs | jq -r .name | sort); }
double() { all_jobs | jq -r .name | sort | uniq -d; }

# idle: jobs that finished although a replica of their last generation was never started.
idle()
{
    all_jobs | jq -r 'select (.phase == "finished") | "\(.name) \(.generation)"' | while read -r name generation; do
        awk -v name="$name" -v generation="$generation" '
            $1 == name && $2 == generation { count++; world = $4 }
            END { if (count == 0 || count != world) print name, generation, count + 0, world }' "$starts"
    done
}

check_all()
{
    soon "$1: all jobs end" none_live
    holds "$1: no job that was acknowledged is lost" [ -z "$(missing)" ]
    holds "$1: no job exists twice" [ -z "$(double)" ]
    output=$(wrong)
    [ -z "$output" ] && ok "$1: every job ended as expected of its kind" || not_ok "$1: every job ended as expected of its kind" "$output" "$(tell)"
    output=$(twice)
    [ -z "$output" ] && ok "$1: no replica was started twice" || not_ok "$1: no replica was started twice" "$output" "$(tell)"
    output=$(idle)
    [ -z "$output" ] && ok "$1: no job finished without running" || not_ok "$1: no job finished without running" "$output"
    soon "$1: no process is left" nothing_left
    holds "$1: no node ever had more replicas than slots" [ -z "$(crowded "$state/journal.db")" ]
    check_replay "$1: a replay of the journal gives the same plans"
}

sleep_random() { sleep "$(awk -v most="$1" -v chance=$RANDOM 'BEGIN { print most * chance / 32768 }')"; }

# fresh NAME: a new state directory for the next part.
fresh()
{
    stop_daemon
    sweep
    state=$tmp/state/$1
    mkdir -p -m 700 "$tmp/state" "$state"
    export POLLUX_STATE=$state
    : >"$starts"
    : >"$tmp/acknowledged"
}

# ---- polluxd, at random moments -----------------------------------------------------------------

fresh random
start_submitting 0
for ((kill = 0; kill < kills; kill++)); do
    launch_daemon "${usual[@]}"
    sleep_random "$([ $((RANDOM % 4)) = 0 ] && echo 0.1 || echo 0.8)"
    lives "$daemon" || not_ok "the daemon lives until it is killed" "$(tell)"
    stop_daemon KILL
done
start_daemon "${usual[@]}"
stop_submitting
check_all "after $kills random kills"
holds "jobs were submitted between the kills" [ "$(wc -l <"$tmp/acknowledged")" -ge $((kills / 4)) ]
holds "some requests were interrupted" [ -s "$tmp/refused" ]

# ---- At every point -----------------------------------------------------------------------------

fresh points
start_submitting 0
reached=0 planned=0
# ended_by_itself: the daemon died of SIGKILL at its fault point.
ended_by_itself()
{
    local gone=false
    until_gone "$daemon" && gone=true
    [ $gone = true ] || kill -KILL "$daemon"
    wait "$daemon" 2>/dev/null
    status=$?
    daemon=
    [ $gone = true ] && [ $status = 137 ]
}
for point in append commit committed spawn spawned; do
    for visit in $visits; do
        POLLUX_FAULT=$point:$visit launch_daemon "${usual[@]}"
        if ended_by_itself; then
            reached=$((reached + 1))
        else
            not_ok "the daemon dies at $point:$visit" "$(tell)"
        fi
        planned=$((planned + 1))
    done
done
holds "the daemon died at every point of a commit" [ $reached = $planned ]
# Short rounds, so that there are events to compact.  After a crash before the commit, the next daemon
# compacts again.
for point in compact compact-commit compacted; do
    POLLUX_FAULT=$point:1 launch_daemon "${options[@]}" --interval 0.01
    if ended_by_itself; then
        ok "the daemon dies at $point"
    else
        not_ok "the daemon dies at $point" "$(tell)"
    fi
done
start_daemon "${usual[@]}"
stop_submitting
check_all "after kills at fault points of commits"

# The next daemon carries out committed events at once, without a round.
fresh undone
start_daemon "${options[@]}" --interval 3600
submit stop1 -- "$tmp/job"
until_true grep -q '^stop1 ' "$starts"
stop_daemon
POLLUX_FAULT=committed:1 start_daemon "${options[@]}" --interval 3600
run pollux cancel stop1
expect "a cancel whose answer was lost" status=3 err~'no answer'
ended_by_itself || not_ok "the daemon dies when the cancel is committed" "$(tell)"
start_daemon "${options[@]}" --interval 3600
soon "the next daemon carries out the cancel" is stop1 '.phase == "cancelled"'

# A killed supervisor is a failure of its run, which is retried.
fresh supervisors
forgive=1000 forgiving=true
for point in run-publish run-start run-started run-status run-ended; do
    POLLUX_FAULT=$point:1 start_daemon "${usual[@]}"
    for job in "two-$point" "wide-$point"; do
        words_of "$job"
        submit "$job" "${words[@]}" -- "$tmp/job"
        echo "$job" >>"$tmp/acknowledged"
    done
    [ $point = run-ended ] || soon "after $point: the daemon notices the killed supervisor" is "two-$point" '.failures > 1'
    stop_daemon KILL
    start_daemon "${usual[@]}"
    soon "after $point: the job ends" has_ended "two-$point"
    stop_daemon
done
start_daemon "${usual[@]}"
check_all "after kills of supervisors at fault points"

# ---- All processes, at random moments -----------------------------------------------------------

fresh everybody
healthy_only=1
start_submitting 0
start_daemon "${usual[@]}"
for ((kill = 0; kill < kills + kills / 2; kill++)); do
    if [ $((RANDOM % 6)) = 0 ]; then
        stop_daemon KILL
        launch_daemon "${usual[@]}"
    else
        victim=$(left_over | shuf -n 1 --random-source=<(yes $RANDOM))
        [ -z "$victim" ] || kill -KILL "$victim" 2>/dev/null
    fi
    sleep_random 0.2
done
until_true answers
stop_submitting
check_all "after random kills of all processes"
stop_daemon
