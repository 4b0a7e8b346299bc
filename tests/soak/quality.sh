# SPDX-License-Identifier: Apache-2.0
# Adaptive training is as good as plain training and faster: the criteria of examples/pytorch/quality.py, 20 seeds.
. tests/cli/lib.sh
python=$(tools/find-python torch) || exit 1
export PYTHONPATH=$PWD/bindings/python OMP_NUM_THREADS=1
POLLUX_BUILD=$PWD/$(dirname "$POLLUX")
export POLLUX_BUILD
run "$python" examples/pytorch/quality.py --check
printf '%s\n' "$out" | sed 's/^/    /'
expect "adaptive training meets all criteria" status=0 err=
