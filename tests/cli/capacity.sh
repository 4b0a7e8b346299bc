# SPDX-License-Identifier: Apache-2.0
# pollux capacity: finds the smallest cluster that meets a target, or reports that none does.
. tests/cli/lib.sh

for i in $(seq 0 11); do
    echo "job-$i,$((i * 60)),cifar10,2,256"
done | cat <(echo name,time,application,num_replicas,batch_size) - >"$tmp/load.csv"
capacity() { pollux capacity "$tmp/load.csv" --policy equal-share "$@"; }

run capacity --max-nodes 8
expect "sizes without a target" status=0 err= out~'^nodes +GPUs +mean JCT' out~'^ +1 +4 ' out~'^ +8 +32 ' \
    out!'target' out~'JCT, hours'
run capacity --max-nodes 8 --json
check "one row per doubling" jq -e '.nodes == null and [.sizes[].nodes] == [1, 2, 4, 8]' <<<"$out"
mean3=$(pollux sim "$tmp/load.csv" --policy equal-share --nodes 3 --json - | jq '.policies[].mean_avg_jct')

run capacity --max-nodes 8 --target-mean "$mean3"
expect "the answer" status=0 err= out~'missed' out~'^3 nodes of 4 GPUs are enough under policy equal-share\.'
run capacity --max-nodes 8 --target-mean "$mean3" --json
check "the smallest size that meets the target" jq -e '.nodes == 3 and
    ([.sizes[] | .enough == (.nodes >= 3)] | all) and ([.sizes[].nodes] == [1, 2, 3, 4, 8])' <<<"$out"
check "the cost is that of all GPUs" jq -e '[.sizes[] | .cost > 0 and .gpus == 4 * .nodes] | all' <<<"$out"
one=$(jq '.sizes[0].cost' <<<"$out")
run capacity --max-nodes 1 --price 2 --json
check "twice the price, twice the cost" jq -e ".sizes[0].cost == 2 * $one" <<<"$out"

run capacity --max-nodes 2 --target-p99 1
expect "a target out of reach" status=1 err= out~'target is not met with up to 2 nodes'
run capacity --min-nodes 3 --max-nodes 2
expect "an empty range" status=2 err~'--max-nodes 2 is below --min-nodes 3'
run capacity --nodes 3
expect "--nodes is not an option: it is the result" status=2 err~"--nodes"
run capacity --target-mean 0
expect "a target of 0" status=2 err~'--target-mean: expected'
