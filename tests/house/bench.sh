# SPDX-License-Identifier: Apache-2.0
# tools/bench prints the measurements of programs and judges their targets; a program in Python is measured with
# every PyTorch.
. tests/cli/lib.sh
unset PYTHON
bench() { (cd "$tmp" && tools/bench "$@"); }

# A tree with two Pythons, which print a measurement instead of running a program.
mkdir -p "$tmp/tools" "$tmp/bench" "$tmp/build/torch/bin"
ln -s "$PWD/tools/bench" "$tmp/tools/bench"
fake_python()
{
    printf '#!/bin/bash\necho "torch-%s-ratio 1.2 times"; echo "target torch-%s-ratio 1.2 1.1 %s"\n' "$2" "$2" "$3" >"$1"
    chmod +x "$1"
}
fake_python "$tmp/old" 1.13 met
fake_python "$tmp/build/torch/bin/python" 2.13 missed
printf '#!/bin/bash\necho "${PYTHON-%s}"\n' "$tmp/old" >"$tmp/tools/find-python"
printf '#!/bin/bash\nexit 3\n' >"$tmp/bench/failing"
touch "$tmp/bench/overhead.py"
chmod +x "$tmp"/tools/find-python "$tmp"/bench/*

run bench bench/overhead.py
expect "a program in Python is measured with every PyTorch" status=0 err= \
    out~'^  torch-1\.13-ratio +1\.2 times +target 1\.1: met$' out~'^  torch-2\.13-ratio +1\.2 times +target 1\.1: missed$'
run bench --targets bench/overhead.py
expect "a missed target" status=1 out~'^ok torch-1\.13-ratio 1\.2 1\.1$' out~'^not ok torch-2\.13-ratio 1\.2 1\.1$'
PYTHON=$tmp/old run bench --targets bench/overhead.py
expect "PYTHON chooses one of them" status=0 out~1.13 out!2.13
run bench bench/failing
expect "a program that fails" status=1 out~'^not ok bench bench/failing ended with status 3$'
rm -r "$tmp/build" "$tmp/tools/find-python"
run bench --targets bench/overhead.py
expect "without torch it is skipped" status=0 out='ok bench bench/overhead.py: no Python with torch # SKIP'
