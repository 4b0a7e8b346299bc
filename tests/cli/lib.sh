# SPDX-License-Identifier: Apache-2.0
# Functions for tests that run programs.  A test is a bash script tests/*/NAME.sh:
#
#     . tests/cli/lib.sh
#     run pollux fit nosuch.csv
#     expect "a missing file is named" status=2 out= err~'nosuch\.csv.*No such file'
#     check "the file is there" [ -f "$tmp/x" ]
#
# Scripts run from the root of the repository.  Each has its own folder $tmp, which is removed at the end.  Every
# check prints one line, `ok NAME` or `not ok NAME`, which tools/test counts; a script that ends early, or that
# leaves a process behind, has failed.  `bash tests/cli/NAME.sh` runs one script; POLLUX=build/asan/pollux
# selects the command to test.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tools/leftovers.sh
under_subreaper "$0" "$@"
POLLUX=${POLLUX-build/pollux}
export LC_ALL=C

script=$(basename "$0" .sh)
failures=0
tmp=$(mktemp -d "${TMPDIR:-/tmp}/XXXXXX") || exit 1
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

finish()
{
    local code=$? pid
    trap '' INT TERM HUP
    [ $code -lt 128 ] || end_descendants 5 # interrupted
    if ! settled 3; then
        for pid in "${descendants[@]}"; do
            not_ok "no process is left behind" "$(describe_process "$pid")"
        done
        end_descendants 2
    fi
    remove_folder "$tmp"
    [ $code = 0 ] || not_ok "ended early with status $code"
    [ $failures = 0 ] || exit 1
    exit 0
}

ok()
{
    echo "ok $script: $1"
}

# not_ok NAME [DETAIL...]: each detail is shown, indented.
not_ok()
{
    failures=$((failures + 1))
    echo "not ok $script: $1"
    shift
    [ $# = 0 ] || printf '%s\n' "$@" | head -n 40 | sed 's/^/    /'
}

# skip TEXT: what is not tested, and why.
skip()
{
    echo "ok $script: $1 # SKIP"
}

# check NAME COMMAND...: the command succeeds.
check()
{
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        ok "$name"
    else
        not_ok "$name" "failed: $*" "$output"
    fi
}

# The command under test.  POLLUX may have several words (valgrind in front).
pollux()
{
    # shellcheck disable=SC2086
    $POLLUX "$@"
}

# run COMMAND...: sets $status, $out and $err.
run()
{
    ran="$*"
    "$@" >"$tmp/.out" 2>"$tmp/.err"
    status=$?
    out=$(cat "$tmp/.out")
    err=$(cat "$tmp/.err")
}

# expect NAME WHAT...: one check of the last run.  WHAT is status=N, or for out and err:
# out=TEXT (all of it), out~REGEX (found in it), out!REGEX (not found in it).
expect()
{
    local name=$1 what value text wrong=()
    shift
    for what in "$@"; do
        value=${what#*[=~!]}
        case $what in
        status*) text=$status ;;
        out*) text=$out ;;
        err*) text=$err ;;
        esac
        case ${what%"$value"} in
        status= | out= | err=) [ "$text" = "$value" ] || wrong+=("expected $what") ;;
        out~ | err~) grep -Eq -e "$value" <<<"$text" || wrong+=("expected $what") ;;
        out! | err!) ! grep -Eq -e "$value" <<<"$text" || wrong+=("unexpected $what") ;;
        *) wrong+=("bad expectation: $what") ;;
        esac
    done
    if [ ${#wrong[@]} = 0 ]; then
        ok "$name"
    else
        not_ok "$name" "${wrong[@]}" "ran: $ran" "status: $status" "out: $out" "err: $err"
    fi
}
