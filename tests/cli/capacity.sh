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

# ---- Mixes of types -------------------------------------------------------------------------

types=(--node-group t4:4x4,a100:2x8)
run capacity "${types[@]}" --json
check "all mixes of 0, 1, 2, 4 and 0, 1, 2 nodes" jq -e '.mix == null and (.mixes | length) == 11 and
    ([.mixes[] | .gpus == 4 * .nodes.t4 + 8 * .nodes.a100 and .per_hour == .gpus and .cost > 0 and .enough] | all)' <<<"$out"
check "sorted by cost; the best are faster than all cheaper ones" jq -e '[.mixes[].cost] as $cost | $cost == ($cost | sort) and
    ([.mixes[] | select (.best) | .mean_jct] | length > 1 and . == (sort | reverse)) and .mixes[0].best' <<<"$out"
one=$(jq '[.mixes[] | select (.nodes == {"t4": 2, "a100": 1})][0].mean_jct' <<<"$out")
sim=$(pollux sim "$tmp/load.csv" --policy equal-share --node-group t4:2x4,a100:1x8 --json - | jq '.policies[].mean_avg_jct')
check "a mix is what pollux sim says of it: $one s" jq -en "$one == $sim"
run capacity "${types[@]}" --price t4=0.5,a100=3 --target-mean "$one"
expect "the cheapest mix that meets a target" status=0 err= out~'^t4 x4 +a100 x8 +GPUs' out~'missed' \
    out~'^The cheapest mix that meets the target: .*; [0-9.]+ per hour, under policy equal-share\.'
run capacity "${types[@]}" --price t4=0.5,a100=3 --target-mean "$one" --json
check "no mix that meets it is cheaper, and it costs what its GPUs cost" jq -e '.mix as $mix |
    [.mixes[] | select (.enough)] | (map (.cost) | min) as $least | map (select (.nodes == $mix))[0] |
    .cost == $least and .per_hour == 2 * .nodes.t4 + 24 * .nodes.a100' <<<"$out"
run capacity "${types[@]}" --target-p99 1
expect "a target that no mix meets" status=1 err= out~'not met by any mix'
run capacity "${types[@]}" --price t4=1
expect "a type without a price" status=2 err~'--price: none for type a100'
run capacity "${types[@]}" --price t4=1,a100=2,h100=3
expect "a price without a type" status=2 err~'--price: type h100, which --node-group or --cluster does not have'
run capacity --price t4=1
expect "prices of types without types" status=2 err~'prices of types need --node-group or --cluster'
# Groups of a file that are not called like their types; one of them is free.
cat >"$tmp/owned.yaml" <<END
groups:
  - {name: own, type: t4, nodes: 2, gpus_per_node: 4, price_per_node_hour: 0}
  - {name: cloud, type: a100, nodes: 1, gpus_per_node: 8, price_per_node_hour: 4}
END
# per_hour OPTION...: what one own and one cloud node cost per hour.
per_hour() { pollux capacity "$tmp/load.csv" --policy equal-share --cluster "$tmp/owned.yaml" "$@" --json |
    jq '[.mixes[] | select (.nodes == {"own": 1, "cloud": 1})][0].per_hour'; }
check "the prices of a file; a group without one is free" [ "$(per_hour)" = 4 ]
check "prices of types" [ "$(per_hour --price t4=0.5,a100=1)" = 10 ]
check "prices of groups" [ "$(per_hour --price own=0.25,cloud=1)" = 9 ]
check "that of a group's name counts before that of its type" [ "$(per_hour --price t4=0.5,a100=1,own=0)" = 8 ]
for wrong in =1 t4= t4=x t4=-1 t4=1,t4=2 t4=1, "$(printf 'x%.0s' {1..70})=1"; do
    run capacity "${types[@]}" "--price=$wrong"
    expect "--price '$wrong'" status=2 err~'--price: '
done
run capacity "${types[@]}" --max-nodes 4
expect "types and a range of nodes" status=2 err~'--min-nodes and --max-nodes exclude --node-group'
run capacity --node-group a:1024x1,b:1024x1,c:1024x1,t4:1x4
expect "too many mixes" status=2 err~'more than 1024 mixes'
run capacity --node-group h100:2x8
expect "no mix that the jobs can run on" status=2 err~'the jobs cannot run on any mix'
