# SPDX-License-Identifier: Apache-2.0
# The steps of tools/test, which sources this file and has set soak, jobs and log.
#
# A step is a function step_NAME.  It prints `ok NAME`, `not ok NAME` and `ok NAME # SKIP` lines, which
# tools/test counts; lines `note: TEXT` are shown; all output is in build/log/NAME.log.  A step that fails without
# a `not ok` line counts as one failure.  TMPDIR is a folder for each step that must be empty at its end.

# Only one make at a time in each flavour's folder.
quiet_make()
{
    local flavour=plain word
    for word; do [[ $word != FLAVOUR=* ]] || flavour=${word#*=}; done
    flock -o "$log/$flavour.lock" make --no-print-directory -s -k -O -j "$jobs" "$@"
}

# Runs the unit tests of a flavour: one more at a time than processors, since some of them mostly wait.
quiet_unit()
{
    jobs=$((jobs + 1)) quiet_make unit "$@"
}

# ---- Builds of the steps ------------------------------------------------------------------------

build_unit_gcc() { quiet_make FLAVOUR=gcc all tests benches examples; }
build_unit_clang() { quiet_make FLAVOUR=clang all tests benches examples; }
build_unit_asan() { quiet_make FLAVOUR=asan all tests; }
build_unit_tsan() { quiet_make FLAVOUR=tsan tests; }
build_house() { quiet_make all examples; }
build_fuzz() { quiet_make FLAVOUR=fuzz fuzzers; }

# Builds for later steps, at low priority, while the tests of processes mostly wait.  A step repeats its own
# build: it waits for this one and shows its errors again.
build_ahead()
{
    local step
    renice -n 5 $BASHPID
    for step in $steps; do
        ! declare -F "build_$step" || "build_$step"
    done
}

# ---- The steps: quick ones first ----------------------------------------------------------------

step_includes()
{
    tools/check-includes && echo "ok every #include points down"
}

step_format()
{
    make -s check-format && echo "ok clang-format changes nothing"
}

step_header()
{
    local header flags="-Wall -Wextra -Werror -pedantic -fsyntax-only -Iinclude"
    # shellcheck disable=SC2086
    for header in pollux agent checkpoint; do
        gcc -std=c11 $flags -x c include/pollux/$header.h && echo "ok $header.h is C11 by itself"
        g++ -std=c++11 $flags -x c++ include/pollux/$header.h && echo "ok $header.h is C++11 by itself"
    done
}

step_unit_gcc()
{
    build_unit_gcc && quiet_unit FLAVOUR=gcc
}

step_unit_clang()
{
    build_unit_clang && quiet_unit FLAVOUR=clang
}

# POLLUX_BRIEF reduces the numbers of cases; gcc and clang run them in full.
step_unit_asan()
{
    build_unit_asan && POLLUX_BRIEF=some quiet_unit FLAVOUR=asan
}

# Races between threads.
step_unit_tsan()
{
    build_unit_tsan && POLLUX_BRIEF=1 quiet_unit FLAVOUR=tsan
}

# Uninitialised values, which the sanitizers do not find.  Not run: test_number and test_goal, because valgrind computes long
# doubles with 53 bits; test_supervisor, test_backend, test_local, test_local_hostile, test_storm, test_mpirun,
# test_command_set, test_power_hooks and test_as_owner, because valgrind has no pidfds; test_epoch, whose processes suspend themselves; test_csv and test_sim,
# which take long.
step_valgrind()
{
    local without="test_number|test_supervisor|test_backend|test_local|test_local_hostile|test_storm" programs
    without+="|test_goal|test_mpirun|test_command_set|test_power_hooks|test_hook_record|test_as_owner|test_epoch|test_csv|test_sim"
    programs=$(printf '%s\n' tests/unit/test_*.c | grep -v -E "/($without)\.c" |
        sed 's|tests/unit/\(.*\)\.c|build/gcc/tests/\1|')
    build_unit_gcc &&
        POLLUX_BRIEF=1 quiet_make FLAVOUR=gcc unit TESTS="$(echo $programs)" \
            RUN="valgrind -q --leak-check=full --error-exitcode=99"
}

step_cppcheck()
{
    make -s cppcheck && echo "ok cppcheck finds nothing"
}

# scripts COUNT COMMAND SCRIPT...: run the scripts (lib*.sh are no tests), COUNT at a time, with the command of one
# flavour.
scripts()
{
    local count=$1 command=$2 script name outputs status=0 running=0
    shift 2
    outputs=$(mktemp -d) || return 1
    for script; do
        [[ $script != */lib?(_*).sh ]] || continue
        [ $running -lt "$count" ] || { wait -n; running=$((running - 1)); }
        name=$(basename "$script")
        { POLLUX=$command bash "$script" </dev/null >"$outputs/$name" 2>&1 || touch "$outputs/failed"; } &
        running=$((running + 1))
    done
    wait
    cat "$outputs"/*.sh
    [ ! -e "$outputs/failed" ] || status=1
    rm -r "$outputs"
    return $status
}

# Several at a time: they mostly wait for processes.  Each has its own folder, ports and processes.  In a soak only.
step_cli()
{
    scripts $((2 * jobs)) build/gcc/pollux tests/cli/*.sh
}

# The same with the sanitizers, in `make test`.  With POLLUX_BRIEF the scripts omit long searches, which step_cli runs.
step_cli_asan()
{
    POLLUX_BRIEF=1 scripts $((2 * jobs)) build/asan/pollux tests/cli/*.sh
}

# With a real Slurm, a private cluster for each script (tests/slurm/lib_slurm.sh).  They mostly wait; the longest, whose
# names are at the end of the alphabet, begin.
step_slurm()
{
    # shellcheck disable=SC2046
    quiet_make FLAVOUR=gcc all examples && scripts $((3 * jobs)) build/gcc/pollux $(ls -r tests/slurm/*.sh)
}

# run_pytest PYTHON: the tests of the Python package.  Some of their replicas end with os._exit(): Python then does not
# remove its temporary files, hence a folder for them.
run_pytest()
{
    local status=1
    mkdir "$TMPDIR/pytest"
    quiet_make FLAVOUR=gcc all &&
        POLLUX_BUILD=$PWD/build/gcc TMPDIR=$TMPDIR/pytest "$1" -m pytest -q -p no:cacheprovider --no-summary \
            --basetemp="$TMPDIR/pytest/base" tests/python && status=0
    rm -rf "$TMPDIR/pytest"
    return $status
}

# With a Python that has torch: Debian's, or that of the user.
step_python()
{
    local python shape="flake8 finds nothing"
    flake8 --max-line-length 100 bindings/python tests/python bench examples && echo "ok $shape" || echo "not ok $shape"
    python=$(tools/find-python torch numpy pytest) && run_pytest "$python"
}

# Tools, installation, packages, man pages, documents.  The demo mostly waits, so it runs at the same time as the others;
# these build, so they run one by one and at low priority.
step_house()
{
    local demo others status
    build_house || return 1
    demo=$(mktemp) || return 1
    scripts 1 build/pollux tests/house/demo.sh >"$demo" &
    others=$(printf '%s\n' tests/house/*.sh | grep -v /demo.sh)
    # shellcheck disable=SC2086
    (renice -n 5 $BASHPID >/dev/null; scripts 1 build/pollux $others)
    status=$?
    wait $! || status=1
    cat "$demo"
    rm "$demo"
    return $status
}

build_web() { quiet_make FLAVOUR=gcc all examples; }

# The page in a browser, and /metrics with a Prometheus.
step_web()
{
    build_web && scripts 2 build/gcc/pollux tests/web/*.sh
}

step_fuzz()
{
    local seconds=5 seed=1
    [ -z "$soak" ] || seconds=60 seed=0
    build_fuzz && FUZZ_SECONDS=$seconds FUZZ_SEED=$seed tools/fuzz
}

# The steps that need PyPI are run with POLLUX_PYPI=1 only, as .ci/run does.

# docs/openapi.json against a daemon, by schemathesis.
step_api()
{
    build_unit_gcc && scripts 1 build/gcc/pollux tests/api/*.sh
}

# The tests of the Python package with PyTorch 2.x.
step_torch()
{
    tools/venv build/torch tests/python/requirements.txt && run_pytest build/torch/bin/python
}

# The wheel of the Python package.
step_wheel()
{
    build_unit_gcc && scripts 1 build/gcc/pollux tests/wheel/*.sh
}

# Long tests that need a quiet machine, each a step of its own; only with POLLUX_SOAK.
long_tests=$(printf 'long_%s ' $(basename -s .sh tests/soak/*.sh))
run_long() { quiet_make FLAVOUR=gcc all examples && scripts 1 build/gcc/pollux "tests/soak/$1.sh"; }
for name in $long_tests; do
    eval "step_$name() { run_long ${name#long_}; }"
done

step_bench()
{
    quiet_make all benches && tools/bench --targets build/bench/* bench/*.py bench/*.sh
}

# `make test` runs a test with the sanitizers or without, not both, where one of them would find what the other finds.
# A soak has the other half (unit_clang, cli, valgrind) and the steps whose counts it raises.  All of `make test` is run on the
# same commit by tests/soak/fresh.sh, on a fresh Debian.
#
# The waiting steps run at the same time as the others, which mostly compute.  At quiet_step, the first that measures
# times, they have ended.
steps="includes format header unit_gcc web unit_asan cli_asan python unit_tsan cppcheck house fuzz"
waiting_steps=slurm
if [ -n "$soak" ]; then
    quiet_step=long_jct
    waiting_steps="slurm long_slurm_cuts long_slurm_storm unit_gcc cli fuzz"
    steps="long_fresh unit_clang valgrind python long_quality long_noise long_interpolation long_repeats $quiet_step"
    for name in $long_tests; do
        [[ " $steps $waiting_steps " == *" $name "* ]] || steps+=" $name"
    done
    steps+=" bench"
fi
[ -z "${POLLUX_PYPI-}" ] || steps+=" api torch wheel"
