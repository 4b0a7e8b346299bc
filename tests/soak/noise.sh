# SPDX-License-Identifier: Apache-2.0
# The noise that a training measures agrees with a direct measurement, for SGD and Adam, with one replica and with two.
. tests/cli/lib.sh
python=$(tools/find-python torch) || exit 1
export POLLUX_BUILD=$PWD/$(dirname "$POLLUX")
for replicas in 1 2; do
    for tasks in "cnn image" "digits clusters wrong regression"; do
        # shellcheck disable=SC2086
        run "$python" tests/soak/noise.py $replicas $tasks
        printf '%s\n' "$out" | sed 's/^/note: /'
        expect "the noise of $tasks, with $replicas replicas, is within a factor of 2 in 95 % of the checkpoints" status=0 err=
    done
done
