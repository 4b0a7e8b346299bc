# SPDX-License-Identifier: Apache-2.0
# A PyTorch script on nodes of two types: it keeps what it measured on each across a move and restarts of job and daemon.
. tests/cli/lib_daemon.sh
# The flavour of the command makes no difference here: POLLUX_BRIEF skips this test, another run has it.
[ -z "${POLLUX_BRIEF-}" ] || exit 0
if ! python=$(tools/find-python torch numpy 2>"$tmp/why"); then
    skip "$(cat "$tmp/why")"
    exit 0
fi
program=$PWD/tests/cli/pytorch_train.py
build=$(realpath "$(dirname "$POLLUX")")
nodes=(--node tortoise:1:slow --node hare:1:quick --interval 1)
mkdir "$tmp/job"

# trained_on TYPE: it runs there, and its newest report has a model of that type.
trained_on() { is job '.replicas == 1 and .hints.type == "'"$1"'" and .hints.model != null'; }
# has_model TYPE: its newest report has a model of another type.
has_model() { is job '[.hints.models[]? | select (.type == "'"$1"'" and .max_profiled_replicas == 1)] | length == 1'; }
on() { is job '.placement | keys == ["'"$1"'"]'; }
# Seconds that a step of the model of a type takes, with a batch of 12.
step_s() { of job '([{type: .hints.type, model: .hints.model}] + .hints.models)[] | select (.type == "'"$1"'") | .model.alpha_grad + 12 * .model.beta_grad'; }

start_daemon "${nodes[@]}"
pollux drain hare >/dev/null
PATH=$(dirname "$python"):$PATH submit job --adaptive --max 1 --grace 60 --backoff 1 --speeds slow=1,quick=3 --env "PYTHONPATH=$PWD/bindings/python" \
    --env OMP_NUM_THREADS=1 --env PYTHONDONTWRITEBYTECODE=1 --env WORKERS=0 --env FAST_TYPE=quick --checkpoint-dir "$tmp/saved" "$program" -- "$tmp/job" "$build"
soon "it trains on the slow node" trained_on slow
pollux resume hare >/dev/null
soon "it moves to the fast node, by its owner's speeds" trained_on quick
holds "it is there" on hare
holds "the model of the slow node is kept" has_model slow
slow=$(step_s slow) quick=$(step_s quick)
check "a step is shorter there: $quick s instead of $slow s" jq -en "$quick < $slow"

stop_daemon KILL
daemon=
start_daemon "${nodes[@]}"
soon "after a restart of the daemon, both models are known" is job '.hints.type == "quick" and .hints.models[0].type == "slow"'
pollux drain hare >/dev/null
soon "restarted on the slow node, it reports from there" trained_on slow
holds "with the model of the fast node" has_model quick
pollux resume hare >/dev/null
soon "it returns to the fast node, by what it measured" trained_on quick
holds "with the model of the slow node" has_model slow
touch "$tmp/job/end"
soon "it finishes" is job '.phase == "finished"'
stop_daemon
check_rest "at the end"
