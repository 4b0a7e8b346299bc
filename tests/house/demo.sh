# SPDX-License-Identifier: Apache-2.0
# `make demo` tells its story to the end, with a quarter of the work, and leaves nothing running; nor does it
# when it is interrupted, as Ctrl-C does it: a signal to all of its process group.
. tests/cli/lib.sh
export TMPDIR=$tmp/demo POLLUX_DEMO_PERCENT=25
mkdir "$TMPDIR"

# Processes of the demo, by the folder that they work with; and the folder itself.
left()
{
    grep -lzs -e "^POLLUX_STATE=$TMPDIR/" -e "^POLLUX_CHECKPOINT_DIR=$TMPDIR/" /proc/[0-9]*/environ
    grep -lzs -e "^$TMPDIR/" /proc/[0-9]*/cmdline
    ls -A "$TMPDIR"
}
nothing_left() { [ -z "$(left)" ] || { left; return 1; }; }

run tools/demo
expect "the demo runs to its end" status=0 out~'^All done in [0-9]+ s' out~'alice +[0-9]+ s' out~'Mean JCT' err=
expect "it says that speed is paced" out~'paced to 1 ms'
expect "jobs come, grow, fail, resume and finish" out~'alice +1 -> 2 replicas' out~'dave +failed; it will go on' \
    out~'dave .*killed once and resumed' out~'carol .*never moved' out~'erin +finished'
check "it leaves nothing behind" nothing_left

# interrupted SIGNAL TEXT: when it has said that.
interrupted()
{
    local signal=$1 at=$2 demo i
    # Shells let what they start in the background ignore SIGINT.
    setsid env --default-signal=INT tools/demo >"$tmp/out" 2>&1 </dev/null &
    demo=$!
    for ((i = 0; i < 600; i++)); do
        grep -q "$at" "$tmp/out" 2>/dev/null && break
        sleep 0.1
    done
    kill "-$signal" -- "-$demo"
    wait $demo
    status=$? out=$(cat "$tmp/out") err=
}
interrupted TERM 'alice  *starts'
expect "SIGTERM while a job starts ends it" status=143
check "and nothing is left" nothing_left
interrupted INT 'bob  *1 -> '
expect "Ctrl-C while jobs are moved ends it" status=130 out~'Interrupted'
check "and leaves nothing" nothing_left
interrupted INT 'Two nodes'
expect "Ctrl-C at once ends it" status=130
check "leaving nothing" nothing_left
