# SPDX-License-Identifier: Apache-2.0
# For tests with a polluxd and real jobs: start and end it, wait for conditions, and end all processes, also
# when the test fails.
#
#     . tests/cli/lib_daemon.sh
#     start_daemon --node a:2 --interval 1      state in $state, log in $log, its pid in $daemon
#     submit ok --max 2 -- worker               a job, which the daemon accepts
#     soon "it runs" is ok '.replicas == 2'     one check, true within two minutes
#
# No function waits for a fixed time, and none checks how long something takes.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
POLLUXD=${POLLUXD-${POLLUX}d}
unset POLLUX_SERVER POLLUX_TOKEN_FILE POLLUX_FAULT
state=$tmp/state log=$tmp/polluxd.log daemon=
export POLLUX_STATE=$state
export TMPDIR=$tmp # jobs inherit it; a killed mpirun leaves files there
root=()
[ "$(id -u)" != 0 ] || root=(--allow-root)
# The daemon may run as another user.
chmod 711 "$tmp"
: >"$log"

# ---- Ending everything --------------------------------------------------------------------------

# The living supervisors and replicas of this test.
left_over()
{
    local pid
    {
        grep -lzs -e "^POLLUX_CHECKPOINT_DIR=$tmp/" -e "^POLLUX_SOCKET=$tmp/" /proc/[0-9]*/environ
        grep -lzs -e "^$tmp/.*/run/" /proc/[0-9]*/cmdline
    } | cut -d / -f 3 | sort -un | while read -r pid; do
        lives "$pid" && echo "$pid"
    done
}
nothing_left() { [ -z "$(left_over)" ]; }

sweep()
{
    local i pids
    for ((i = 0; i < 200; i++)); do
        pids=$(left_over)
        [ -n "$pids" ] || break
        # shellcheck disable=SC2086
        kill -KILL $pids 2>/dev/null
        sleep 0.05
    done
    while umount "$tmp/mount" 2>/dev/null; do :; done
}

# The daemon, its supervisors and their replicas may live until the end of a test; other processes may not
# (`finish` reports them), unless the test has failed before.
finish_daemon()
{
    local code=$?
    trap '' INT TERM HUP
    [ -z "$daemon" ] || { is_descendant "$daemon" && kill -KILL "$daemon" && wait "$daemon"; } 2>/dev/null
    sweep
    [ $code = 0 ] && [ $failures = 0 ] || end_descendants 1
    return $code
}
trap 'finish_daemon; finish' EXIT

# ---- Waiting ------------------------------------------------------------------------------------

# until_true COMMAND...: wait until it succeeds; fails after two minutes (PATIENCE seconds), or when
# the daemon has died.
until_true()
{
    local until=$((SECONDS + ${PATIENCE-120}))
    while [ $SECONDS -le $until ]; do
        "$@" >/dev/null 2>&1 && return 0
        [ -z "$daemon" ] || lives "$daemon" || { "$@" >/dev/null 2>&1; return; } # it may have waited for that
        sleep "${PAUSE-0.05}"
    done
    return 1
}

# The end of the daemon's log, for the report of a failure.
tell() { tail -n 25 "$log"; }

# soon NAME COMMAND...: one check that the command succeeds within the time of until_true.
soon()
{
    local name=$1
    shift
    if until_true "$@"; then
        ok "$name"
    else
        not_ok "$name" "did not become true: $*" "$("$@" 2>&1 | tail -n 5)" "${daemon:+$(pollux list 2>&1)}" "$(tell)"
    fi
}

# holds NAME COMMAND...: one check that the command succeeds now.
holds()
{
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        ok "$name"
    else
        not_ok "$name" "failed: $*" "$output" "$(tell)"
    fi
}

# ---- The daemon ---------------------------------------------------------------------------------

# launch_daemon OPTION...: start it in the background and do not wait until it answers; $listen is its address, by default
# a free port.
launch_daemon()
{
    # shellcheck disable=SC2086
    $POLLUXD --state "$state" --listen "${listen-127.0.0.1:0}" --restart-delay 0 "${root[@]}" "$@" 2>>"$log" >&2 </dev/null &
    daemon=$!
}

lives() { grep -qs '^State:.[^ZX]' "/proc/$1/status"; }
answers() { [ -e "$state/address" ] && pollux status; }

# start_daemon OPTION...: start it and wait until it answers; if it does not, the test ends.
start_daemon()
{
    rm -f "$state/address"
    launch_daemon "$@"
    until_true answers && return 0
    not_ok "the daemon starts" "polluxd $*" "$(tell)"
    exit 1
}

# until_gone PID: wait for the end of a process.
until_gone()
{
    local until=$((SECONDS + ${PATIENCE-120}))
    while lives "$1" && [ $SECONDS -le $until ]; do
        sleep 0.02
    done 2>/dev/null
    ! lives "$1"
}

# stop_daemon [SIGNAL]: stop it and wait for its end; sets $status.
stop_daemon()
{
    [ -n "$daemon" ] || return 0
    kill "-${1-TERM}" "$daemon"
    wait "$daemon" 2>/dev/null
    status=$?
    daemon=
}

# ---- Jobs ---------------------------------------------------------------------------------------

# submit NAME OPTION... -- COMMAND...: a job that the daemon must accept.
submit()
{
    local name=$1
    shift
    run pollux submit --name "$name" "$@"
    [ "$status" = 0 ] && [ "$out" = "$name" ] || expect "submit $name" status=0 out="$name"
}

# of JOB FILTER: apply a jq filter to its JSON.  is JOB FILTER: whether the result is true.
of() { pollux show "$1" --json | jq -r "$2"; }
is() { pollux show "$1" --json | jq -e "$2"; }
has_ended() { is "$1" '.phase == "finished" or .phase == "failed" or .phase == "cancelled"'; }

# $worker runs until the file $tmp/end/JOB exists; at SIGTERM it ends as a job that has saved.  Each start
# appends a line "JOB GENERATION RANK WORLD NODE PID RUN" to $starts.
starts=$tmp/starts
mkdir "$tmp/end"
chmod 755 "$tmp/end"
: >"$starts"
chmod 666 "$starts"
cat >"$tmp/worker" <<END
#!/bin/sh
trap 'exit 143' TERM
echo "\$POLLUX_JOB \$POLLUX_GENERATION \$RANK \$WORLD_SIZE \$POLLUX_NODE \$\$ \$POLLUX_RUN" >>"$starts"
while [ ! -e "$tmp/end/\$POLLUX_JOB" ]; do sleep 0.1; done
END
chmod 755 "$tmp/worker"
worker=$tmp/worker

# end JOB...: let them finish.
end()
{
    local job
    for job in "$@"; do
        : >"$tmp/end/$job"
    done
}

# end_jobs JOB...: let them finish, and wait for their end.
end_jobs()
{
    local job
    end "$@"
    for job in "$@"; do
        until_true has_ended "$job" || not_ok "$job ends" "$(pollux show "$job" 2>&1)" "$(tell)"
    done
}

# ---- Invariants ---------------------------------------------------------------------------------

# twice: replicas that were started two times; there must be none.
twice() { awk '{ print $1, $2, $3 }' "$starts" | sort | uniq -d; }

# crowded JOURNAL: START events after which more replicas ran on a node than it ever had slots, or two
# generations of a job.  Events that a snapshot has replaced are not examined.
crowded()
{
    sqlite3 -json "$1" "SELECT seq, type, job, body FROM events ORDER BY seq" | jq -c '
        reduce .[] as $e ({slots: {}, runs: {}, bad: []};
            ($e.body | fromjson) as $b |
            if $e.type == "NODE" then .slots[$b.name] = ([.slots[$b.name] // 0, $b.slots] | max)
            elif $e.type == "START" then
                if .runs[$e.job] then .bad += [$e] else . end |
                .runs[$e.job] = $b.placement |
                ([.runs[] | to_entries[]] | group_by (.key) | map ({key: .[0].key, value: (map (.value) | add)}) | from_entries) as $used |
                .slots as $slots |
                if any ($used | to_entries[]; .value > ($slots[.key] // 1e9)) then .bad += [$e] else . end
            elif $e.type == "EXIT" then .runs |= del (.[$e.job])
            else . end) | .bad[]'
}

# check_replay NAME: a replay of the journal, which may be in use, decides the same plans.
check_replay()
{
    run pollux replay "$state/journal.db"
    expect "$1" status=0 out~'All [0-9]+ plans are the same' err=
}

# check_rest NAME: no job runs, and no replica was started twice.
check_rest()
{
    soon "$1: no process is left" nothing_left
    holds "$1: no replica was started twice" [ -z "$(twice)" ]
}
