# SPDX-License-Identifier: Apache-2.0
# A disk that is full or read-only, and journals that are damaged: polluxd says what is wrong and how
# to repair it, loses nothing that it has accepted, and never begins anew in silence.
#
# Full and read-only disks need a mount, in a namespace of this test's own: it goes with the test.
if [ -z "${POLLUX_UNSHARED-}" ] && [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    export POLLUX_UNSHARED=1
    exec unshare -m --propagation private bash "$0" "$@"
fi
. tests/cli/lib_daemon.sh
usual=(--node a:2 --node b:2 --interval 0.4)

# refuses NAME REGEX...: the daemon does not start, with 1 and a sentence.
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
    soon "jobs run" is noisy '.phase == "running"'
    soon "all of them" is before '.phase == "running"'
    until_true grep -q '^before ' "$starts"
    until_true grep -q '^ends ' "$starts"
    dd if=/dev/zero of="$tmp/mount/filler" bs=64k 2>/dev/null
    dd if=/dev/zero of="$tmp/mount/filler2" bs=512 2>/dev/null
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        run pollux submit --name "full$i" -- true
        [ "$status" = 0 ] || break
    done
    if [ "$status" = 3 ]; then # a round found out first, and the daemon has told its operator
        holds "a submit that cannot be written is refused, and why is said" grep -q 'full' "$log"
    else
        expect "a submit that cannot be written is refused, and why is said" status=1 out= err~'full'
    fi
    until_gone "$daemon"
    wait "$daemon" 2>/dev/null
    status=$?
    daemon=
    holds "the daemon ends with 1" [ $status = 1 ]
    holds "and has said why" grep -q 'polluxd: .*journal.*full' "$log"
    holds "jobs go on" [ "$(left_over | wc -l)" -ge 6 ]
    end ends
    soon "one of them even ends, and its status is told" grep -q . "$state/run/ends/1/0/status"
    refuses "a daemon does not start on a full disk, and says so" 'full|No space left'
    rm -f "$tmp"/mount/filler*
    start_daemon "${usual[@]}"
    holds "with room again all jobs are there" is before '.phase == "running" and .failures == 0'
    soon "also the one that ended meanwhile" is ends '.phase == "finished" and .generation == 1'
    run pollux show "full$i"
    expect "the one that was refused is not" status=1
    for ((j = 1; j < i; j++)); do
        soon "those that were accepted have run" is "full$j" '.phase == "finished"'
    done
    submit after -- true
    soon "and new ones are taken" is after '.phase == "finished"'
    end_jobs before noisy
    holds "nothing was lost" is before '.phase == "finished" and .failures == 0'
    check_replay "the journal is decided again to the same plans"
    stop_daemon

    # ---- A read-only disk -----------------------------------------------------------------------

    mount -o remount,ro "$tmp/mount"
    refuses "a read-only state is named" "$state" 'Read-only|read-only|write'
    run pollux replay "$state/journal.db"
    expect "its journal can be read" status=0 out~'same'
    mount -o remount,rw "$tmp/mount"
    start_daemon "${usual[@]}"
    holds "writable again, all is there" is before '.phase == "finished"'
    stop_daemon
    check_rest "after trouble with disks"
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

# spoil COMMAND...: the good journal, and then that done to it.
spoil()
{
    rm -f "$journal" "$journal"-*
    cp "$tmp/good.db" "$journal"
    "$@"
}
flip() { printf '%b' "$2" | dd of="$journal" bs=1 seek="$1" conv=notrunc 2>/dev/null; }
sql() { sqlite3 "$journal" "$1" >/dev/null; }

spoil truncate -s 0 "$journal"
refuses "an empty journal" 'journal\.db' 'restore' 'remove'
holds "is left as it is" [ ! -s "$journal" ]
spoil eval 'echo "This is no database, and was never one." >"$journal"'
refuses "a journal that is no database" 'journal\.db' 'restore|not a|no journal'
spoil truncate -s $((size / 2)) "$journal"
refuses "half a journal" 'journal\.db' 'damaged|malformed|restore'
spoil truncate -s $((size - 1)) "$journal"
refuses "one byte less" 'journal\.db' 'damaged|malformed|restore'
spoil sql 'DELETE FROM events WHERE seq = 7'
refuses "an event that is missing" 'journal\.db' 'event 7' 'restore'
spoil sql 'DELETE FROM events WHERE seq < 4'
refuses "the first ones are missing" 'journal\.db' 'restore'
spoil sql 'DELETE FROM events'
refuses "all of them are missing" 'journal\.db' 'restore'
spoil rm "$journal"
refuses "a journal that is gone, while there are runs" 'journal\.db' 'restore'
spoil sql "UPDATE events SET body = 'x' || body WHERE type = 'SUBMIT' AND seq > 5"
refuses "events that cannot be read" 'journal\.db' 'event'
spoil sql 'DROP TABLE events'
refuses "no table" 'journal\.db' 'restore|no journal|table'
spoil sql "UPDATE meta SET value = 999 WHERE key = 'version'"
refuses "a version from the future" 'journal\.db' 'version|newer'
spoil rm "$journal"
mkdir "$journal"
refuses "a directory" 'journal\.db'
rmdir "$journal"
ln -s "$tmp/good.db" "$journal"
launch_daemon "${usual[@]}"
until_true eval 'answers || ! lives "$daemon"'
lives "$daemon" && stop_daemon
daemon=
rm -f "$journal"

# Bytes that are something else.  SQLite has no checksums: what cannot be told from the truth
# is believed, but no job is forgotten, and nothing crashes.
bad=() told=0 tries=6
[ -z "${POLLUX_SOAK-}" ] || tries=300
RANDOM=${POLLUX_SEED-7}
for ((i = 0; i < tries; i++)); do
    at=$(((RANDOM * 32768 + RANDOM) % size))
    spoil flip $at "\\x$(printf %02x $((RANDOM % 256)))\\x$(printf %02x $((RANDOM % 256)))\\x$(printf %02x $((RANDOM % 256)))"
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
        { [ $status = 1 ] || [ $status = 2 ]; } && grep -q 'polluxd: .*journal.db' "$log" && told=$((told + 1)) ||
            bad+=("byte $at: status $status: $(tail -n 3 "$log")")
    fi
done
if [ ${#bad[@]} = 0 ]; then
    ok "bytes that are something else: told, or harmless ($told of $tries told)"
else
    not_ok "bytes that are something else" "${bad[@]}"
fi

# With the good one, all is there.  What ran when the journal was good, runs.
spoil true
start_daemon "${usual[@]}"
holds "the good one, restored, knows all jobs" [ "$(count)" = 7 ]
soon "and what runs, was adopted, or tried again" is lives '.phase == "running"'
end_jobs lives
stop_daemon
check_rest "after damaged journals"
