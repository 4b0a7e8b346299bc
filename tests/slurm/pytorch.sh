# SPDX-License-Identifier: Apache-2.0
# A PyTorch job under a pilot through 1, 8, unevenly 8 and 3 replicas on separate nodes: every sample is seen once per pass, and
# the loss does not jump.
. tests/slurm/lib_pilot.sh
. tests/cli/lib_torch.sh
if ! python=$(tools/find-python torch numpy 2>"$tmp/why"); then
    skip "$(cat "$tmp/why")"
    exit 0
fi
program=$PWD/tests/cli/pytorch_train.py
build=$(realpath "$(dirname "$POLLUX")")
mkdir "$tmp/job"
# trains REPLICAS: its last 10 updates had this number of replicas.
trains() { [ "$(tail -n 10 "$tmp/job/updates.0" | awk -v n="$1" '$3 == n' | wc -l)" = 10 ]; }
is_placed() { is job ".phase == \"running\" and .placement == $1"; }

cluster_up 4 4
start_pilot -N4 --gpus-per-node=4 -- --interval 1 --restart-delay 0 --node n0:4 --node n1:1 --node n2:3
soon "the nodes are known" eval "pollux nodes --json | jq -e '.nodes | map (.slots) == [4, 1, 3, 4]'"
PATIENCE=300
submit job --adaptive --max 1 --grace 60 --backoff 1 --launcher env --checkpoint-dir "$tmp/saved" \
    --env "PYTHONPATH=$PWD/bindings/python" --env OMP_NUM_THREADS=1 --env PYTHONDONTWRITEBYTECODE=1 \
    -- "$python" "$program" "$tmp/job" "$build"
soon "it trains with one replica" trains 1
pollux scale job --min 8 --max 8 >/dev/null
soon "it trains with eight" trains 8
holds "on two nodes" is_placed '{"n0": 4, "n3": 4}'
pollux drain n3 >/dev/null
soon "they are placed unevenly" is_placed '{"n0": 4, "n1": 1, "n2": 3}'
soon "and train" eval "[ \$(awk '\$2 == 3' '$tmp/job/updates.0' | wc -l) -ge 10 ]"
pollux scale job --min 3 --max 3 >/dev/null
soon "it trains with three" trains 3
touch "$tmp/job/end"
soon "it finishes" is job '.phase == "finished" and .failures == 0 and .restarts == 3'
check "1, 8, 8 and 3 replicas in turn" [ "$(awk '{ print $2 ":" $3 }' "$tmp/job/updates.0" | uniq | tr '\n' ' ')" = "1:1 2:8 3:8 4:3 " ]
check "every sample was seen once per pass" seen_once "$tmp/job" 1
check "the loss does not jump" loss_is_smooth "$tmp/job" 2 10 3
on_login scancel "$pilot"
soon "the allocation ends" nodes_are idle
