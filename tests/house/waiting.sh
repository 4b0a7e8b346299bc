# SPDX-License-Identifier: Apache-2.0
# tools/test runs the waiting steps at the same time as the others, and counts and shows both.  Here it runs with steps of
# our own, in a folder of its own.
. tests/cli/lib.sh

tree=$tmp/tree
mkdir -p "$tree/tools" "$tree/build/tools" "$tmp/temporary"
cp tools/test tools/leftovers.sh "$tree/tools"
cp build/tools/subreaper "$tree/build/tools"
echo 'build/tools/subreaper: ;' >"$tree/Makefile"
export TMPDIR=$tmp/temporary BEGUN=$tmp/begun GO=$tmp/go ENDED=$tmp/ended
cat >"$tree/tools/test-steps.sh" <<'END_OF_STEPS'
build_ahead() { :; }
until_there() { local i; for ((i = 0; i < 600; i++)); do [ ! -e "$1" ] || return 0; sleep 0.05; done; return 1; }
# It ends only after the other step has seen it.
step_slow() { touch "$BEGUN"; until_there "$GO" && echo "ok slow" && touch "$ENDED"; }
step_red() { echo "not ok red"; echo "ok green # SKIP"; }
step_first() { until_there "$BEGUN" && echo "ok it sees a waiting step" && touch "$GO"; }
step_quiet() { [ -e "$ENDED" ] && echo "ok it begins after the waiting steps"; }
step_killed() { kill -KILL $$; }
waiting_steps=${WAITING-slow}
steps=${STEPS-first quiet}
quiet_step=quiet
END_OF_STEPS
clear_marks() { rm -f "$BEGUN" "$GO" "$ENDED"; }

run "$tree/tools/test"
expect "waiting steps run at the same time, and end before the quiet step" status=0 out~'^slow +2 passed  ' \
    out~'^first +2 passed  ' out~'^quiet +2 passed  ' out~'^8 passed, 0 failed$'
check "the line that nothing is left is shown once" [ "$(grep -c '^nothing is left' <<<"$out")" = 1 ]
clear_marks
WAITING="slow red" run "$tree/tools/test"
expect "a failure in them is shown and counted" status=1 out~'^ +not ok red$' out~'^ +SKIPPED: green$' \
    out~'^9 passed, 1 failed, 1 skipped$'
clear_marks
touch "$GO"
run "$tree/tools/test" slow
expect "with arguments only those steps run" status=0 out~'^slow +2 passed' out~'^3 passed, 0 failed$'
clear_marks
WAITING=nosuch run "$tree/tools/test"
expect "an unknown waiting step is an error" status=2 err~'no step nosuch'
WAITING=killed STEPS=red run "$tree/tools/test"
expect "waiting steps that end without a total are a failure" status=1 out~'^not ok the run of the steps killed: it ended early$' \
    out~' [23] failed, 1 skipped$'

WAITING=slow STEPS=slow env --default-signal=TERM "$tree/tools/test" >"$tmp/out" 2>&1 </dev/null &
pid=$!
for ((i = 0; i < 600; i++)); do
    [ ! -e "$BEGUN" ] || break
    sleep 0.05
done
check "both runs have begun" [ -e "$BEGUN" ]
kill -TERM $pid
wait $pid
status=$?
check "an interrupted run ends with the status of the signal" [ $status = 143 ]
find_descendants
check "and ends the waiting steps" [ ${#descendants[@]} = 0 ]
