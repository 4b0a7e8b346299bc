# SPDX-License-Identifier: Apache-2.0
# tools/test with POLLUX_SOAK=1 goes on after an interruption: steps that have passed on this commit are not repeated, and
# their notes and skipped tests are shown again.  Here tools/test runs with steps of our own, in a repository of its own.
. tests/cli/lib.sh

tree=$tmp/tree
mkdir -p "$tree/tools" "$tree/build/tools"
cp tools/test tools/leftovers.sh "$tree/tools"
cp build/tools/subreaper "$tree/build/tools"
echo 'build/tools/subreaper: ;' >"$tree/Makefile"
echo build >"$tree/.gitignore"
cat >"$tree/tools/test-steps.sh" <<'END'
build_ahead() { :; }
step_first() { echo ran >>"$RUNS"; echo "ok one"; echo "ok two: no mpirun # SKIP"; echo "note: commit 123 passed"; }
step_second() { [ -e "$GOOD" ] && echo "ok three" || echo "not ok three"; }
steps="first second"
END
in_tree() { git -C "$tree" -c user.name=tester -c user.email=tester@localhost -c commit.gpgsign=false "$@" >/dev/null 2>&1; }
in_tree init && in_tree add . && in_tree commit -m one
export RUNS=$tmp/runs GOOD=$tmp/good

POLLUX_SOAK=1 run "$tree/tools/test"
expect "a run with a failure" status=1 out~'^first +2 passed, 1 skipped  ' out~'^    SKIPPED: two: no mpirun$' \
    out~'^    commit 123 passed$' out~'^second .*1 FAILED'
touch "$GOOD"
POLLUX_SOAK=1 run "$tree/tools/test"
expect "the next run repeats the remarks of what has passed" status=0 out~'^first +2 passed before ' \
    out~'^    SKIPPED: two: no mpirun$' out~'^    commit 123 passed$' out~'^second +2 passed  ' out~'^5 passed, 0 failed, 1 skipped$'
check "and not the step" [ "$(wc -l <"$RUNS")" = 1 ]
POLLUX_SOAK= run "$tree/tools/test" first
expect "without POLLUX_SOAK every step runs" status=0 out~'^first +2 passed, 1 skipped  '
echo >>"$tree/Makefile"
POLLUX_SOAK=1 run "$tree/tools/test" first
expect "with a changed file, too" status=0 out~'^first +2 passed, 1 skipped  '
