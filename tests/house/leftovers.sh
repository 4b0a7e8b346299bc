# SPDX-License-Identifier: Apache-2.0
# tools/test leaves nothing behind: a step that leaves a process, a listening port or a temporary file fails, and what it
# left is removed, also when the run is interrupted.  Here tools/test runs with steps of our own.
. tests/cli/lib.sh

tree=$tmp/tree folder=$tmp/temporary
mkdir -p "$tree/tools" "$tree/build/tools" "$folder"
cp tools/test tools/leftovers.sh "$tree/tools"
cp build/tools/subreaper "$tree/build/tools"
echo 'build/tools/subreaper: ;' >"$tree/Makefile"
listener='use IO::Socket::INET;
    my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => 0) or die;
    open(my $file, ">", $ARGV[0]); print $file $socket->sockport(); close($file); sleep 1000;'
cat >"$tree/tools/test-steps.sh" <<'END'
build_ahead() { :; }
step_good() { echo "ok good"; }
step_bad() { sleep 1000.5 & echo "not ok bad"; return 1; }
# An orphan in its own session, without an environment, that ignores SIGTERM.
step_orphan() { (setsid env -i bash -c 'trap "" TERM; while :; do sleep 1000.5; done' &) ; sleep 0.2; echo "ok orphan"; }
step_port() { perl -e "$LISTENER" "$PORT" & until [ -s "$PORT" ]; do sleep 0.05; done; echo "ok port"; }
step_file() { mkdir "$TMPDIR/folder" && touch "$TMPDIR/folder/inside" && echo "ok file"; }
step_long() { (setsid sleep 1000.5 &); mktemp >/dev/null; : >"$STARTED"; sleep 1000.5; }
steps="good bad orphan port file"
END

nothing_left()
{
    find_descendants
    [ ${#descendants[@]} = 0 ] && [ -z "$(ls -A "$folder")" ] && return 0
    for pid in "${descendants[@]}"; do describe_process "$pid"; done
    ls -A "$folder"
    return 1
}
export TMPDIR=$folder PORT=$tmp/port STARTED=$tmp/started LISTENER=$listener

run "$tree/tools/test" good
expect "a step that leaves nothing passes" status=0 out~'^3 passed, 0 failed$' \
    out~'^nothing is left behind by this run: no process, no port, no temporary file$'
run "$tree/tools/test" orphan
expect "an orphan is a failure, and is named" status=1 out~'^orphan +1 passed, [12] FAILED' \
    out~'not ok nothing is left behind by orphan: process [0-9]+ (bash -c trap|sleep 1000.5)'
check "it is ended" nothing_left
run "$tree/tools/test" port
expect "a listening port is a failure" status=1 \
    out~"not ok nothing is left behind by port: process [0-9]+ perl .*\(listens on port $(cat "$PORT")\)"
check "it is closed" nothing_left
run "$tree/tools/test" file
expect "a temporary file is a failure" status=1 out~"not ok nothing is left behind by file: $folder/.*/folder"
check "it is removed" nothing_left
run "$tree/tools/test" bad good
expect "a failing step is cleaned up, too, and the next one is not blamed" status=1 out~'^bad +0 passed, 2 FAILED' \
    out~'process [0-9]+ sleep 1000.5' out~'^good +2 passed  ' out~'^3 passed, 2 failed$'
check "nothing is left of it" nothing_left

for signal in INT TERM HUP; do
    rm -f "$STARTED"
    env --default-signal=INT,TERM,HUP "$tree/tools/test" long >"$tmp/out" 2>&1 </dev/null &
    pid=$!
    for ((i = 0; i < 600; i++)); do
        [ ! -e "$STARTED" ] || break
        sleep 0.05
    done
    kill -$signal $pid
    wait $pid
    status=$? out=$(cat "$tmp/out") err= ran="tools/test long, SIG$signal"
    expect "SIG$signal ends a run" status=$((128 + $(kill -l $signal))) out~'all processes are ended, all temporary files are removed'
    check "SIG$signal: nothing is left" nothing_left
done

# The functions of the scripts in tests/ find the same.
cat >"$tmp/script.sh" <<'END'
. tests/cli/lib.sh
(setsid sleep 1000.5 &)
until grep -qsz 1000.5 /proc/[0-9]*/cmdline; do sleep 0.05; done
ok "all checks passed"
END
run bash "$tmp/script.sh"
expect "a script that leaves a process behind fails" status=1 out~'^not ok script: no process is left behind' \
    out~'[0-9]+ sleep 1000.5'
check "it is ended" nothing_left

# A caller's process is not a leftover, also if it is a child of the same process: `server & exec tools/test`.
callers() { (sleep 1000.25 & echo $! >"$tmp/server"; exec "$tree/tools/test" bad); }
run callers
expect "a leftover beside a process of the caller" status=1 out~'process [0-9]+ sleep 1000.5' out!'sleep 1000.25'
check "the caller's process lives" kill -0 "$(cat "$tmp/server")"
kill "$(cat "$tmp/server")"

# Folders with file systems in them.
for folder in '' / . "$PWD/.."; do
    run remove_folder "$folder"
    expect "remove_folder refuses '$folder'" status=1 out= err~'^remove_folder: not '
done
folder="$tmp/a folder"
mkdir -p "$folder/mounted here" "$tmp/outside"
touch "$tmp/outside/file"
if [ "$(id -u)" = 0 ] && mount --bind "$tmp/outside" "$folder/mounted here" 2>/dev/null; then
    ln -s "$folder" "$tmp/link"
    run remove_folder "$tmp/link"
    expect "remove_folder unmounts below a name with blanks, behind a link" status=0 out= err=
    check "the folder is gone" [ ! -e "$folder" ]
    check "what was mounted there is not" [ -e "$tmp/outside/file" ]
else
    skip "remove_folder unmounts (only root can mount)"
fi
