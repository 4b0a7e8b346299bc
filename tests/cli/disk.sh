# SPDX-License-Identifier: Apache-2.0
# Full and read-only disks, and damaged journals: polluxd says what is wrong and how to repair it, loses
# no accepted job, and never starts with an empty journal instead.
#
# Full and read-only disks need a mount: in a mount namespace of this test, which ends with it.
if [ -z "${POLLUX_UNSHARED-}" ] && [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    export POLLUX_UNSHARED=1
    exec unshare -m --propagation private bash "$0" "$@"
fi
. tests/cli/lib_daemon.sh
usual=(--node a:2 --node b:2 --interval 0.4)

# refuses NAME REGEX...: the daemon exits with 1 and a message.
refuses()
{
    local name=$1 what wanted=()
    shift
    : >"$log"
    launch_daemon "${usual[@]}"
    until_gone "$daemon" || kill -KILL "$daemon"
    wait "$daemon" 2>/dev/null
    status=$? out='' err=$(cat "$log") ran=polluxd
    daemon=
    for what in "$@"; do
        wanted+=("err~$what")
    done
    expect "$name" status=1 "${wanted[@]}"
}

# ---- A full disk --------------------------------------------------------------------------------

mkdir "$tmp/mount"
if [ -n "${POLLUX_UNSHARED-}" ] && mount -t tmpfs -o size=8m,mode=711 pollux "$tmp/mount" 2>/dev/null; then
    state=$tmp/mount/state
    export POLLUX_STATE=$state
    start_daemon "${usual[@]}"
    submit before --max 2 --checkpoint-dir "$tmp/state/before" -- "$worker"
    submit ends --checkpoint-dir "$tmp/state/ends" -- "$worker"
    submit noisy --checkpoint-dir "$tmp/state/noisy" -- sh -c "while [ ! -e '$tmp/end/noisy' ]; do echo 'a line of text'; sleep 0.05; done"
    soon "a job that writes output runs" is noisy '.phase == "running"'
    soon "the other job runs" is before '.phase == "running"'
    until_true grep -q '^before ' "$starts"
    until_true grep -q '^ends ' "$starts"
    dd if=/dev/zero of="$tmp/mount/filler" bs=64k 2>/dev/null
    dd if=/dev/zero of="$tmp/mount/filler2" bs=512 2>/dev/null
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        run pollux submit --name "full$i" -- true
        [ "$status" = 0 ] || break
    done
    if [ "$status" = 3 ]; then # a round failed first, and the daemon has logged why
        holds "a submit that cannot be written is refused, with the reason" grep -q 'full' "$log"
    else
        expect "a submit that cannot be written is refused, with the reason" status=1 out= err~'full'
    fi
    until_gone "$daemon"
    wait "$daemon" 2>/dev/null
    status=$?
    daemon=
    holds "the daemon ends with 1" [ $status = 1 ]
    holds "the log says that the journal is full" grep -q 'polluxd: .*journal.*full' "$log"
    holds "jobs continue" [ "$(left_over | wc -l)" -ge 6 ]
    end ends
    soon "a job ends, and its status is written" grep -q . "$state/run/ends/1/0/status"
    refuses "a daemon does not start on a full disk, with the reason" 'full|No space left'
    rm -f "$tmp"/mount/filler*
    start_daemon "${usual[@]}"
    holds "with free space again, all jobs are known" is before '.phase == "running" and .failures == 0'
    soon "the job that ended without a daemon is finished" is ends '.phase == "finished" and .generation == 1'
    run pollux show "full$i"
    expect "the refused job is not known" status=1
    for ((j = 1; j < i; j++)); do
        soon "the accepted jobs have run" is "full$j" '.phase == "finished"'
    done
    submit after -- true
    soon "a new job runs" is after '.phase == "finished"'
    end_jobs before noisy
    holds "nothing was lost" is before '.phase == "finished" and .failures == 0'
    check_replay "a replay of the journal gives the same plans"
    stop_daemon

    # ---- A read-only disk -----------------------------------------------------------------------

    mount -o remount,ro "$tmp/mount"
    refuses "a read-only state is named" "$state" 'Read-only|read-only|write'
    run pollux replay "$state/journal.db"
    expect "its journal can be read" status=0 out~'same'
    mount -o remount,rw "$tmp/mount"
    start_daemon "${usual[@]}"
    holds "writable again, all jobs are known" is before '.phase == "finished"'
    stop_daemon
    check_rest "after full and read-only disks"
else
    skip "a full disk and a read-only one (only root can mount one)"
fi

# ---- A damaged journal --------------------------------------------------------------------------

state=$tmp/state
mkdir -p -m 700 "$state"
export POLLUX_STATE=$state
start_daemon "${usual[@]}"
for i in 1 2 3 4 5 6; do
    submit "job$i" --max 2 -- true
done
for i in 1 2 3 4 5 6; do
    until_true has_ended "job$i"
done
submit lives -- "$worker"
until_true grep -q '^lives ' "$starts"
stop_daemon
journal=$state/journal.db
cp "$journal" "$tmp/good.db"
size=$(stat -c %s "$journal")
count() { pollux list --all --quiet | wc -l; }

# damage_journal COMMAND...: restore the good journal, then run the command.
damage_journal()
{
    rm -f "$journal" "$journal"-*
    cp "$tmp/good.db" "$journal"
    "$@"
}
flip() { printf '%b' "$2" | dd of="$journal" bs=1 seek="$1" conv=notrunc 2>/dev/null; }
sql() { sqlite3 "$journal" "$1" >/dev/null; }

damage_journal truncate -s 0 "$journal"
refuses "an empty journal" 'journal\.db' 'restore' 'remove'
holds "an empty journal is not changed" [ ! -s "$journal" ]
damage_journal eval 'echo "This is no database, and was never one." >"$journal"'
refuses "a journal that is no database" 'journal\.db' 'restore|not a|no journal'
damage_journal truncate -s $((size / 2)) "$journal"
refuses "a truncated journal" 'journal\.db' 'damaged|malformed|restore'
damage_journal truncate -s $((size - 1)) "$journal"
refuses "one byte less" 'journal\.db' 'damaged|malformed|restore'
damage_journal sql 'DELETE FROM events WHERE seq = 7'
refuses "a missing event" 'journal\.db' 'event 7' 'restore'
damage_journal sql 'DELETE FROM events WHERE seq < 4'
refuses "the first ones are missing" 'journal\.db' 'restore'
damage_journal sql 'DELETE FROM events'
refuses "all of them are missing" 'journal\.db' 'restore'
damage_journal rm "$journal"
refuses "a missing journal, while run directories exist" 'journal\.db' 'restore'
damage_journal sql "UPDATE events SET body = 'x' || body WHERE type = 'SUBMIT' AND seq > 5"
refuses "events that cannot be read" 'journal\.db' 'event'
damage_journal sql 'DROP TABLE events'
refuses "no table" 'journal\.db' 'restore|no journal|table'
damage_journal sql "UPDATE meta SET value = 999 WHERE key = 'version'"
refuses "a newer version" 'journal\.db' 'version|newer'
damage_journal rm "$journal"
mkdir "$journal"
refuses "a directory" 'journal\.db'
rmdir "$journal"
ln -s "$tmp/good.db" "$journal"
launch_daemon "${usual[@]}"
until_true eval 'answers || ! lives "$daemon"'
lives "$daemon" && stop_daemon
daemon=
rm -f "$journal"

# Changed bytes.  SQLite has no checksums, so a change may stay unnoticed; but no job is lost, and the
# daemon does not crash.
bad=() refused=0 tries=6
[ -z "${POLLUX_SOAK-}" ] || tries=300
RANDOM=${POLLUX_SEED-7}
for ((i = 0; i < tries; i++)); do
    at=$(((RANDOM * 32768 + RANDOM) % size))
    damage_journal flip $at "\\x$(printf %02x $((RANDOM % 256)))\\x$(printf %02x $((RANDOM % 256)))\\x$(printf %02x $((RANDOM % 256)))"
    rm -f "$state/address"
    : >"$log"
    launch_daemon "${usual[@]}"
    until_true eval 'answers || ! lives "$daemon"'
    if lives "$daemon"; then
        [ "$(count)" = 7 ] || bad+=("byte $at: $(count) jobs instead of 7")
        stop_daemon KILL
    else
        wait "$daemon" 2>/dev/null
        status=$?
        daemon=
        { [ $status = 1 ] || [ $status = 2 ]; } && grep -q 'polluxd: .*journal.db' "$log" && refused=$((refused + 1)) ||
            bad+=("byte $at: status $status: $(tail -n 3 "$log")")
    fi
done
if [ ${#bad[@]} = 0 ]; then
    ok "changed bytes: refused, or harmless ($refused of $tries refused)"
else
    not_ok "changed bytes: refused, or harmless" "${bad[@]}"
fi

# With the good journal all jobs are known, and the job that ran then runs.
damage_journal true
start_daemon "${usual[@]}"
holds "the restored journal has all jobs" [ "$(count)" = 7 ]
soon "the running job was adopted or started again" is lives '.phase == "running"'
end_jobs lives
stop_daemon
check_rest "after damaged journals"

# ---- A log that cannot be written ---------------------------------------------------------------

# with_log REDIRECTION: start the daemon with its standard files redirected by bash.
with_log()
{
    rm -f "$state/address"
    bash -c "exec $POLLUXD --state '$state' --listen 127.0.0.1:0 ${root[*]} --node a:2 --log-level debug $1" &
    daemon=$!
    until_true answers
}
state=$tmp/unlogged
export POLLUX_STATE=$state
with_log '</dev/null >&2 2>/dev/full'
holds "a log on a full disk" answers
stop_daemon
with_log '<&- >&- 2>&-'
holds "closed standard files" answers
for i in 0 1 2; do
    holds "no other file gets descriptor $i" [ "$(readlink /proc/$daemon/fd/$i)" = /dev/null ]
done
stop_daemon
mkfifo "$tmp/pipe"
head -c 1 "$tmp/pipe" >/dev/null &
with_log "</dev/null >&2 2>'$tmp/pipe'"
holds "a pipe without a reader" answers
stop_daemon
holds "it still ends well" [ "$status" = 0 ]
