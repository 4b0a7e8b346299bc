# SPDX-License-Identifier: Apache-2.0
# pollux sim and pollux capacity with groups of nodes that are ordered, paid, returned and taken away.
. tests/cli/lib.sh

for i in $(seq 0 15); do
    echo "job-$i,$((i * 300 + (i > 11) * 40000)),cifar10,2,256"
done | cat <(echo name,time,application,num_replicas,batch_size) - >"$tmp/load.csv"
sim() { pollux sim "$tmp/load.csv" --policy pollux "$@"; }
cluster() # NAME GROUP...
{
    local name=$1 group
    shift
    { echo groups: && for group; do echo "  - {$group}"; done; } >"$tmp/$name.yaml"
}

cluster one 'name: gpu, gpus_per_node: 4, min: 0, max: 8, boot_s: 180, price_per_node_hour: 2'
cluster free 'name: gpu, gpus_per_node: 4, min: 1, max: 4'
cluster two 'name: gpu, gpus_per_node: 4, min: 1, max: 4, price_per_node_hour: 2' \
    'name: spot, gpus_per_node: 4, max: 4, boot_s: 60, price_per_node_hour: 0.5, revocable: true, notice_s: 30, revocations_per_day: 100'
cluster mixed 'name: a, gpus_per_node: 4, nodes: 1' 'type: t4, gpus_per_node: 4, nodes: 1'
cluster types 'name: a, type: t4, gpus_per_node: 4, nodes: 1, max: 2' 'name: b, type: t4, gpus_per_node: 4, nodes: 1'

# ---- Bad input --------------------------------------------------------------------------------

run sim --cluster "$tmp/one.yaml" --goal fast
expect "an unknown goal" status=2 out= err~'--goal: goal .*fast.*expected .*band:LOW,HIGH'
run sim --cluster "$tmp/one.yaml" --goal fixed
expect "fixed is no goal to compare" status=2 out= err~'--goal: fixed sizes are simulated beside every goal'
run sim --goal cost:2
expect "a goal without groups" status=2 out= err~'--goal needs groups.*--cluster'
run sim --node-group t4:2x4 --goal cost:2
expect "a goal with types but without a file" status=2 out= err~'--goal needs groups.*--cluster'
run sim --cluster "$tmp/free.yaml" --goal budget:3
expect "a budget without a price" status=2 out= err~'group gpu has no price: a budget needs price_per_node_hour'
run sim --cluster "$tmp/mixed.yaml"
expect "groups with and without types" status=2 out= err~'group a has no type and group t4 one: expected a type for all groups'
run pollux capacity "$tmp/load.csv" --cluster "$tmp/one.yaml" --goal cost:2 --target-mean 100
expect "a goal and a target" status=2 out= err~'--goal excludes --target-mean'

# ---- Results ----------------------------------------------------------------------------------

goals=(--goal band:0.35,0.65 --goal budget:6 --goal cost:1.5)
run sim --cluster "$tmp/one.yaml" "${goals[@]}"
expect "goals and fixed sizes in one table" status=0 err= out~'^policy +mean JCT +p99 +cost +cost/job +node-h +boots' \
    out~'^pollux band:0.35,0.65 ' out~'^pollux budget:6 ' out~'^pollux cost:1.5 ' out~'^pollux 1 node ' out~'^pollux 8 nodes '
json() { sim --no-times --json - "$@" | jq -c '.policies'; }
json --cluster "$tmp/one.yaml" "${goals[@]}" --threads 1 >"$tmp/a.json"
json --cluster "$tmp/one.yaml" "${goals[@]}" --threads 2 >"$tmp/b.json"
check "equal inputs, equal results" cmp "$tmp/a.json" "$tmp/b.json"
check "the cost is the hours of all nodes times their price" jq -e '[.[].workloads.load |
    (.cost - 2 * .node_hours | fabs < 1e-6) and .node_hours == .group_node_hours.gpu and
    (.cost_per_job * 16 - .cost | fabs < 1e-6)] | all' "$tmp/a.json"
check "jobs cost no more than the nodes" jq -e '[.[].workloads.load | ([.job_cost[]] | add) as $jobs |
    $jobs > 0 and $jobs <= .cost + 1e-6] | all' "$tmp/a.json"
check "a fixed size is paid from the start to the last end, and boots nothing" jq -e '."pollux 4 nodes".workloads.load |
    .boots == 0 and .node_hours >= 4 * .makespan / 3600 and .node_hours < 4 * .makespan / 3600 + 0.1' "$tmp/a.json"
check "goals boot nodes, and do not pay for the hours without jobs" jq -e '."pollux 4 nodes".workloads.load.node_hours as $four |
    [to_entries[] | select (.key | test (":")) | .value.workloads.load | .boots > 1 and .node_hours < $four] | all' "$tmp/a.json"
check "a budget of three nodes is not exceeded" jq -e '."pollux budget:6".workloads.load |
    .node_hours <= 3 * (.makespan / 3600 + 0.2)' "$tmp/a.json"

plain=$(pollux sim "$tmp/load.csv" --policy pollux --nodes 4 --json - | jq '.policies[].mean_avg_jct')
check "a fixed size trains as a cluster without groups" jq -e ".\"pollux 4 nodes\".mean_avg_jct == $plain" "$tmp/a.json"
check "the same without prices: no cost is shown" jq -e --argjson plain "$plain" '.pollux.mean_avg_jct == $plain and
    (.pollux.workloads.load | has ("cost") | not)' <(cluster plain 'name: gpu, gpus_per_node: 4, nodes: 4' &&
    json --cluster "$tmp/plain.yaml")
json --cluster "$tmp/free.yaml" --goal cost:2 >"$tmp/free.json"
check "without prices a goal costs nothing but hours" jq -e '."pollux cost:2".workloads.load | .cost == 0 and .node_hours > 0' \
    "$tmp/free.json"
check "two groups of one type are one pool" jq -e --argjson two "$(pollux sim "$tmp/load.csv" --policy pollux \
    --node-group t4:2x4 --json - | jq '.policies[].mean_avg_jct')" '.pollux.mean_avg_jct == $two' <(json --cluster "$tmp/types.yaml")

# ---- Nodes that a provider takes away ---------------------------------------------------------

json --cluster "$tmp/two.yaml" --goal band:0.3,0.6 >"$tmp/spot.json"
check "cheap nodes are used, and cost their price" jq -e '."pollux band:0.3,0.6".workloads.load |
    .group_node_hours.spot > 0 and (.cost - 2 * .group_node_hours.gpu - 0.5 * .group_node_hours.spot | fabs < 1e-6)' "$tmp/spot.json"
check "nodes that are taken away are ordered again, also of a fixed size" jq -e '."pollux 8 nodes".workloads.load |
    .boots > 5 and (.jct | length) == 16' "$tmp/spot.json"
json --cluster "$tmp/two.yaml" --goal band:0.3,0.6 --seed 1 >"$tmp/spot1.json"
check "another seed, other revocations" jq -en --slurpfile a "$tmp/spot.json" --slurpfile b "$tmp/spot1.json" \
    '$a[0]."pollux 8 nodes" != $b[0]."pollux 8 nodes"'
sim --cluster "$tmp/two.yaml" --goal band:0.3,0.6 --record "$tmp/journals" >"$tmp/out" 2>&1
for journal in "$tmp/journals/pollux-band-0.3-0.6-load.db" "$tmp/journals/pollux-8-nodes-load.db"; do
    run pollux replay "$journal"
    expect "the journal of a run decides again: $(basename "$journal")" status=0 out~'All .* plans are the same'
done
# With 32 nodes a node is taken away every 27 s, so some node is always starting in its place.  Nobody waits for that: when the jobs
# have ended, all nodes are returned until the next job comes, 15 hours later.
cluster taken 'name: spot, gpus_per_node: 4, min: 0, max: 32, boot_s: 300, price_per_node_hour: 1, revocable: true, notice_s: 120, revocations_per_day: 100'
{
    echo name,time,application,num_replicas,batch_size
    for job in {1..30}; do echo "early-$job,0,cifar10,2,256"; done
    echo late,60000,cifar10,2,256
} >"$tmp/early.csv"
pollux sim "$tmp/early.csv" --policy pollux --cluster "$tmp/taken.yaml" --goal band:0.35,0.65 --json "$tmp/taken.json" >/dev/null
check "an idle cluster is not paid for, although nodes are always starting" jq -e '[.policies[].workloads.early.cost] | .[0] < 25' "$tmp/taken.json"
check "orders that were cancelled count for nothing" jq -e '[.policies[].workloads.early] | .[0] | .cost - .node_hours | fabs < 1e-6' "$tmp/taken.json"
for word in GROUPS SIZE POWER 'the provider takes it back' 'there is no job'; do
    check "the journal says: $word" grep -aq "$word" "$tmp/journals/pollux-band-0.3-0.6-load.db"
done

# ---- The frontier -----------------------------------------------------------------------------

capacity() { pollux capacity "$tmp/load.csv" --cluster "$tmp/one.yaml" "$@"; }
run capacity --goal band:0.35,0.65 --goal cost:2
expect "goals beside fixed sizes" status=0 err= out~'^size +mean JCT +p99 JCT +cost +node-h +boots' out~'^band:0.35,0.65 ' \
    out~'^1 node ' out~'^6 nodes ' out~'^8 nodes ' out~'fixed sizes' out~'interpolated at equal mean JCT'
run capacity --goal band:0.35,0.65 --goal cost:2 --json
check "the same numbers as in pollux sim" jq -e --slurpfile sim "$tmp/a.json" '.goals[0].goal == "band:0.35,0.65" and
    .goals[0].cost == $sim[0]."pollux band:0.35,0.65".workloads.load.cost and [.fixed[].nodes] == [1, 2, 3, 4, 6, 8]' <<<"$out"
check "the cost at equal mean JCT is between those of two sizes" jq -e '.fixed as $fixed | [.goals[] | .mean_jct as $jct |
    .relative_cost == null or (.cost / .relative_cost) as $cost |
    ([$fixed[] | select (.mean_jct >= $jct).cost] | length > 0) and $cost >= ([$fixed[].cost] | min) and
    $cost <= ([$fixed[].cost] | max)] | all' <<<"$out"
run capacity --goal cost:2 --min-nodes 4 --json
check "from a smallest fixed size" jq -e '[.fixed[].nodes] == [4, 6, 8]' <<<"$out"
