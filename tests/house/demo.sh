# SPDX-License-Identifier: Apache-2.0
# `make demo` runs to its end, here with a quarter of the work, and leaves no process and no file behind, also when it
# is interrupted as by Ctrl-C: a signal to its process group.
. tests/cli/lib.sh
export TMPDIR=$tmp/demo POLLUX_DEMO_PERCENT=25
mkdir "$TMPDIR"

nothing_left()
{
    find_descendants
    [ ${#descendants[@]} = 0 ] && [ -z "$(ls -A "$TMPDIR")" ] && return 0
    for pid in "${descendants[@]}"; do describe_process "$pid"; done
    ls -A "$TMPDIR"
    return 1
}

rm -f build/demo/report.html
run tools/demo
expect "the demo runs to its end" status=0 out~'^All done in [0-9]+ s' out~'alice +[0-9]+ s' out~'Mean JCT' err=
expect "it says that speed is paced" out~'paced to 1 ms'
expect "jobs arrive, grow, fail, resume and finish" out~'alice +1 -> 2 replicas' out~'dave +failed; it will resume' \
    out~'dave .*killed once and resumed' out~'carol .*never moved' out~'erin +finished'
check "it leaves nothing behind" nothing_left
expect "it names the page, and the file of its token, but no token" out~'Watch it in a browser: http://127\.0\.0\.1:[0-9]+/$' \
    out~'token once: cat .*/admin\.token$' out!'[0-9A-Za-z_-]{32}'
expect "it names what it leaves behind" out~'pollux view build/demo/journal\.db' out~'report is build/demo/report\.html'
check "its report has the jobs" grep -q -a 'alice' build/demo/report.html
check "its journal is played" env POLLUX="$POLLUX" bash -c 'timeout -s TERM 20 $POLLUX view build/demo/journal.db >"$0/view" &
    for i in {1..100}; do grep -q "http://.*#token=" "$0/view" && kill $! && wait $! && exit 0; sleep 0.1; done; exit 1' "$tmp"

# interrupted SIGNAL TEXT: send it when the demo has printed TEXT.
interrupted()
{
    local signal=$1 at=$2 demo i
    : >"$tmp/out" # the text of the demo before must not be found
    # A shell starts background commands with SIGINT ignored.
    setsid env --default-signal=INT tools/demo >"$tmp/out" 2>&1 </dev/null &
    demo=$!
    for ((i = 0; i < 600; i++)); do
        grep -q "$at" "$tmp/out" 2>/dev/null && break
        sleep 0.1
    done
    page=$(curl -s --compressed "$(sed -n 's/^.*Watch it in a browser: \(http[^ ]*\/\).*/\1/p' "$tmp/out")")
    kill "-$signal" -- "-$demo"
    wait $demo
    status=$? out=$(cat "$tmp/out") err=
}
interrupted TERM 'alice  *starts'
check "the page was there while it ran" grep -q '^<!doctype html>' <<<"$page"
expect "SIGTERM while a job starts ends it" status=143
check "SIGTERM: nothing is left behind" nothing_left
interrupted INT 'bob  *1 -> '
expect "Ctrl-C while jobs are moved ends it" status=130 out~'Interrupted'
check "Ctrl-C while jobs are moved: nothing is left behind" nothing_left
interrupted INT 'Two nodes'
expect "Ctrl-C at once ends it" status=130
check "Ctrl-C at once: nothing is left behind" nothing_left
