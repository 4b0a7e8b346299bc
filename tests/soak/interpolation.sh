# SPDX-License-Identifier: Apache-2.0
# Interpolated step times equal scipy's LinearNDInterpolator to 1e-13, over a dense lattice for every application
# of the published traces.
. tests/cli/lib.sh
traces=tests/data/osdi21/traces
python=$(tools/find-python numpy scipy) || exit 1
check "the program that prints step times is built" cc -O2 -Iinclude -Isrc tests/soak/steps.c \
    "$(dirname "$POLLUX")/rooms.a" -ljansson -lyaml -lqhull_r -lm -o "$tmp/steps"
run "$python" tests/soak/interpolation.py "$tmp/steps" $traces
printf '%s\n' "$out" | sed 's/^/    /'
expect "step times on a lattice equal scipy's" status=0 err=
