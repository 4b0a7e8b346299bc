# SPDX-License-Identifier: Apache-2.0
# Adaptive training is as good as plain training, and faster: the table of docs/pytorch.md, 20 seeds of seven tasks.
. tests/cli/lib.sh
python=$(tools/find-python torch) || exit 1
export POLLUX_BUILD=$PWD/$(dirname "$POLLUX") PYTHONPATH=$PWD/bindings/python
run "$python" examples/pytorch/quality.py --check
printf '%s\n' "$out" | sed 's/^/note: /'
expect "no task misses a criterion" status=0 err=
