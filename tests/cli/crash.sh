# SPDX-License-Identifier: Apache-2.0
# Whatever dies, nothing is lost and nothing is done twice.  While jobs of all kinds are submitted,
# run, fail, finish and are cancelled,
#
#     polluxd is killed at random moments (20; 500 with POLLUX_SOAK=1),
#     polluxd and supervisors die at every named point (docs/architecture.md),
#     replicas, supervisors and mpiruns are killed at random, and polluxd with them.
#
# Afterwards every job that was acknowledged is there once, ended as it should; every start that was
# recorded by a replica is the only one of its generation and rank; no process is left; and the
# journal is decided again to the same plans.  POLLUX_SEED=N repeats the choices of a run.
. tests/cli/lib_daemon.sh
kills=20 visits="1 2 5"
[ -z "${POLLUX_BRIEF-}" ] || kills=5 visits="2"
[ -z "${POLLUX_SOAK-}" ] || kills=500 visits="1 2 3 4 5 6 7 8 9 10 12 15 20 25 30 40 50"
seed=${POLLUX_SEED-$RANDOM}
RANDOM=$seed
echo "# POLLUX_SEED=$seed"
ulimit -c 0
has_mpi=$(command -v mpirun)
peaceful= # only jobs that mean well
forgive=3 # failures of those
forgiving=false

echo "keep_events: 1000" >"$tmp/config.yaml"
options=(--config "$tmp/config.yaml" --node a:3 --node b:3)
usual=("${options[@]}" --interval 0.2)

# ---- Jobs ---------------------------------------------------------------------------------------

# Every start is recorded first of all; then each kind has its way.  All leave a process behind that
# tries to get away.
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

# How each kind is submitted.  Attempts are not the point here but for those that fail.
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

# insist NAME COMMAND...: until it is acknowledged, however often the daemon dies meanwhile: by a
# good answer, or because an earlier attempt is known (409).
insist()
{
    local name=$1 said
    shift
    while [ ! -e "$tmp/give-up" ]; do
        said=$("$@" 2>&1) && break
        grep -q -e 'there is a job' -e 'already' -e 'has ended' -e 'is cancel' -e 'was cancel' -e 'is called' <<<"$said" && break
        echo "$said" >>"$tmp/refused"
        sleep 0.05
    done
    echo "$name" >>"$tmp/acknowledged"
}

# feed FIRST: submit jobs of all kinds, one after the other, until told to stop.
feed()
{
    local i=$1 kind kinds=(ok two wide bad ok stop dead two wide) words
    [ -z "$peaceful" ] || kinds=(ok two wide two)
    [ -z "$has_mpi" ] || kinds+=(mpi)
    while [ ! -e "$tmp/enough" ]; do
        kind=${kinds[i % ${#kinds[@]}]}
        words_of "$kind"
        insist "$kind$i" $POLLUX submit --name "$kind$i" "${words[@]}" -- "$tmp/job"
        [ "$kind" != stop ] || insist "cancel $kind$i" $POLLUX cancel "$kind$i"
        i=$((i + 1))
        sleep 0.1
    done
}

feeder=
start_feeding()
{
    rm -f "$tmp/enough"
    feed "$1" &
    feeder=$!
}
stop_feeding()
{
    : >"$tmp/enough"
    until_gone "$feeder"
    : >"$tmp/give-up"
    wait "$feeder" 2>/dev/null
    rm -f "$tmp/give-up"
}

# ---- What must hold afterwards ------------------------------------------------------------------

all_jobs() { pollux list --all --json | jq -c '(.jobs // .)[]'; }
none_live() { all_jobs | jq -es 'length > 0 and all (.phase == "finished" or .phase == "failed" or .phase == "cancelled")'; }

# wrong: jobs that did not end as their kind does.
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

# idle: jobs that finished though not all replicas of their last generation were ever started.
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
    holds "$1: none is there twice" [ -z "$(double)" ]
    output=$(wrong)
    [ -z "$output" ] && ok "$1: all ended as they should" || not_ok "$1: all ended as they should" "$output" "$(tell)"
    output=$(twice)
    [ -z "$output" ] && ok "$1: no replica was started twice" || not_ok "$1: no replica was started twice" "$output" "$(tell)"
    output=$(idle)
    [ -z "$output" ] && ok "$1: none finished without having run" || not_ok "$1: none finished without having run" "$output"
    soon "$1: no process is left" nothing_left
    holds "$1: no node ever had more replicas than slots" [ -z "$(crowded "$state/journal.db")" ]
    check_replay "$1: the journal is decided again to the same plans"
}

sleep_random() { sleep "$(awk -v most="$1" -v chance=$RANDOM 'BEGIN { print most * chance / 32768 }')"; }

# fresh NUMBER: another state, for another part.
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
start_feeding 0
for ((kill = 0; kill < kills; kill++)); do
    launch_daemon "${usual[@]}"
    sleep_random "$([ $((RANDOM % 4)) = 0 ] && echo 0.1 || echo 0.8)"
    lives "$daemon" || not_ok "the daemon lives until it is killed" "$(tell)"
    stop_daemon KILL
done
start_daemon "${usual[@]}"
stop_feeding
check_all "after $kills random deaths"
holds "jobs were submitted meanwhile" [ "$(wc -l <"$tmp/acknowledged")" -ge $((kills / 4)) ]
holds "and were cut off" [ -s "$tmp/refused" ]

# ---- At every point -----------------------------------------------------------------------------

fresh points
start_feeding 0
reached=0 planned=0
# ended_by_itself: with SIGKILL, at the point that it was told.
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
# Rounds come fast, so that there is something to compact: no death before that commit keeps the
# next daemon from trying again.
for point in compact compact-commit compacted; do
    POLLUX_FAULT=$point:1 launch_daemon "${options[@]}" --interval 0.01
    if ended_by_itself; then
        ok "the daemon dies at $point"
    else
        not_ok "the daemon dies at $point" "$(tell)"
    fi
done
start_daemon "${usual[@]}"
stop_feeding
check_all "after deaths at points of commits"

# What was committed is done by the next daemon at once, though no round comes and nothing happens.
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
soon "is carried out by the next daemon" is stop1 '.phase == "cancelled"'

# A supervisor that dies is a failure of its run, which is tried again.
fresh supervisors
forgive=1000 forgiving=true
for point in run-publish run-start run-started run-status run-ended; do
    POLLUX_FAULT=$point:1 start_daemon "${usual[@]}"
    for job in "two-$point" "wide-$point"; do
        words_of "$job"
        submit "$job" "${words[@]}" -- "$tmp/job"
        echo "$job" >>"$tmp/acknowledged"
    done
    [ $point = run-ended ] || soon "supervisors that die at $point are noticed" is "two-$point" '.failures > 1'
    stop_daemon KILL
    start_daemon "${usual[@]}"
    soon "and the job goes on, after $point" has_ended "two-$point"
    stop_daemon
done
start_daemon "${usual[@]}"
check_all "after deaths of supervisors at points"

# ---- Everybody, at random -----------------------------------------------------------------------

fresh everybody
peaceful=1
start_feeding 0
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
stop_feeding
check_all "after deaths of everybody"
stop_daemon
