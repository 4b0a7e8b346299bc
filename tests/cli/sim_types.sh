# SPDX-License-Identifier: Apache-2.0
# pollux sim on clusters with several types of GPUs: a second implementation of the rules gives the same times, every
# policy runs, and wrong descriptions of clusters are refused.
. tests/cli/lib.sh

mixed=t4:6x4,a100:2x8,rtx2080ti:3x8

# reference CLUSTER WORKLOAD QUANTUM: a line per job, of the second implementation.
reference() { python3 tests/cli/sim_types_reference.py "$tmp/profiles.json" "$@"; }

# ---- One job alone --------------------------------------------------------------------------

run pollux profiles
printf '%s\n' "$out" >"$tmp/profiles.json"
for type in t4:4 a100:8 rtx2080ti:8; do
    for job in bert:1:24 bert:4:48 cifar10:1:128 cifar10:2:1024 cifar10:16:4096 deepspeech2:3:160 yolov3:12:64 ncf:1:32768; do
        IFS=: read -r name replicas batch <<<"$job"
        printf 'name,time,application,num_replicas,batch_size\na,0,%s,%s,%s\n' "$name" "$replicas" "$batch" >"$tmp/one.csv"
        run pollux sim "$tmp/one.csv" --node-group "${type%:*}:4x${type#*:}" --policy fifo --json - --no-times
        seconds=$(jq '.policies.fifo.workloads.one.jct.a' <<<"$out")
        expected=$(reference "${type%:*}:4x${type#*:}" "$tmp/one.csv" 1e9 | cut -d' ' -f2)
        check "$name on $replicas ${type%:*} with batch $batch: $seconds s, by the second implementation $expected s" \
            [ "${seconds%.*}" = "${expected%.*}" ]
    done
done

# ---- Jobs that share two types --------------------------------------------------------------

cat >"$tmp/mix.csv" <<'END'
name,time,application,num_replicas,batch_size
bert-0,0,bert,4,48
cifar10-1,30,cifar10,6,1024
ncf-2,130,ncf,2,32768
deepspeech2-3,300,deepspeech2,4,160
cifar10-4,400,cifar10,2,512
yolov3-5,900,yolov3,4,32
bert-6,1200,bert,8,96
deepspeech2-7,1500,deepspeech2,3,80
END
for quantum in 2000 10000 57600; do
    reference t4:2x4,a100:1x4 "$tmp/mix.csv" $quantum >"$tmp/expected-$quantum"
    run pollux sim "$tmp/mix.csv" --node-group t4:2x4,a100:1x4 --policy tiresias --policy-option quantum=$quantum --json "$tmp/mix.json" --no-times
    check "eight jobs under tiresias with a quantum of $quantum: the times of the second implementation" \
        diff <(cut -d' ' -f1,2 "$tmp/expected-$quantum") <(jq -r '.policies.tiresias.workloads.mix.jct | to_entries[] | "\(.key) \(.value | floor)"' "$tmp/mix.json")
done
check "some of them restart on another type" grep -Eq ' [1-9] .*(t4-a100|a100-t4)' "$tmp/expected-2000"

# ---- All policies ---------------------------------------------------------------------------

policies=pollux,pollux-jct,sia,gavel,tiresias,optimus,srtf,las,equal-share,fifo
workload=tests/data/types/workloads/philly-1.csv
head -n 25 $workload >"$tmp/short.csv"
run pollux sim "$tmp/short.csv" --node-group $mixed --policy $policies --json "$tmp/a.json" --no-times
expect "every policy but pollux-ga runs on three types" status=0 out~'^sia ' out~'^gavel '
check "every job ends" jq -e '[.policies[].workloads.short.jct | length == 24 and all (. > 0)] | all' "$tmp/a.json"
cat >"$tmp/cluster.yaml" <<'END'
groups:
  - {type: t4, nodes: 6, gpus_per_node: 4}
  - {type: a100, nodes: 2, gpus_per_node: 8}
  - {type: rtx2080ti, nodes: 3, gpus_per_node: 8}
END
run pollux sim "$tmp/short.csv" --cluster "$tmp/cluster.yaml" --policy $policies --json - --no-times --threads 1
expect "the same cluster from a file, with one thread: the same results" status=0 out="$(cat "$tmp/a.json")"
run pollux sim "$tmp/short.csv" --node-group $mixed --policy pollux-ga
expect "pollux-ga refuses" status=2 err~'pollux-ga: nodes .* it knows one type'
run pollux sim "$tmp/short.csv" --node-group $mixed --policy pollux --record "$tmp/r.db"
expect "a recorded simulation" status=0
run pollux replay "$tmp/r.db"
expect "it is replayed" status=0
run pollux sim "$tmp/short.csv" --node-group $mixed --policy sia --record "$tmp/s.db"
run pollux replay "$tmp/s.db"
expect "so is one of sia, which moves jobs to other nodes without a restart" status=0
check "such moves are recorded" [ "$(sqlite3 "$tmp/s.db" "select count (*) from events where type = 'START' and body like '%relocated%'")" != 0 ]
run pollux sim "$tmp/short.csv" --node-group $mixed --policy gavel --policy-option gavel_fair=1
expect "gavel with fairness" status=0 out~'^gavel '
run pollux sim $workload --node-group $mixed --policy gavel --policy-option gavel_fair=1 --policy-option gavel_round=0
expect "jobs that restart before they train: the simulation ends with a sentence" status=2 err~'with policy gavel none of [0-9]+ jobs has made progress for 10000 rounds'

# A type without which some jobs cannot run, and one that no application has.
run pollux sim "$tmp/short.csv" --node-group t4:2x4,h100:2x8 --policy pollux,sia
expect "jobs stay on types that they can run on, and a type that none has is named" status=0 out~'^sia ' \
    err~'warning: no application of the workloads has step times on type h100, so its GPUs are not used; there are .*t4'
run pollux sim "$tmp/short.csv" --node-group t4:1x4,h100:30x8 --policy optimus
expect "jobs have sizes of the types that they can use" status=0 out~'^optimus '
run pollux sim "$tmp/short.csv" --node-group h100:2x8 --policy pollux
expect "no type that they can run on" status=2 err~'has no step times on any type of nodes of this cluster'

# ---- Wrong clusters -------------------------------------------------------------------------

for wrong in '' t4 t4:6 t4:6x t4:0x4 t4:6x0 t4:6x4, 't4:6x4,,a100:1x8' t4:6x4x2 t4:6X4 :6x4 -t4:6x4 't 4:6x4' t4:70000x4 t4:6x2000 t4:-1x4; do
    run pollux sim "$tmp/short.csv" "--node-group=$wrong"
    expect "--node-group '$wrong'" status=2 out= err~'--node-group: expected TYPE:NODESxGPUS, such as t4:6x4'
done
run pollux sim "$tmp/short.csv" --node-group t4:6x4 --node-group a100:1x8
expect "two clusters" status=2 err~'--node-group and --cluster: expected one of them, once'
run pollux sim "$tmp/short.csv" --node-group t4:6x4,t4:1x4
expect "a type twice" status=2 err~'--node-group: type t4: expected one group of nodes, got two'
run pollux sim "$tmp/short.csv" --node-group "$(seq -f 't%g:1x1' -s, 17)"
expect "17 types" status=2 err~'more than 16 types of nodes'
for options in "--nodes 4 --node-group $mixed" "--node-group $mixed --gpus-per-node 4" "--cluster $tmp/cluster.yaml --nodes 2"; do
    # shellcheck disable=SC2086
    run pollux sim "$tmp/short.csv" $options
    expect "$options" status=2 err~'--nodes and --gpus-per-node exclude --node-group and --cluster'
done
wrong_file()
{
    printf '%s\n' "$2" >"$tmp/wrong.yaml"
    run pollux sim "$tmp/short.csv" --cluster "$tmp/wrong.yaml"
    expect "a cluster file: $1" status=2 out= "err~$3"
}
wrong_file "empty" "" 'wrong.yaml'
wrong_file "no groups" "{}" 'groups: expected'
wrong_file "an empty list" "groups: []" 'expected at least one group'
wrong_file "a type twice" "groups: [{type: a, nodes: 1, gpus_per_node: 1}, {type: a, nodes: 1, gpus_per_node: 1}]" 'expected one group for each name'
wrong_file "a negative number" "groups: [{type: a, nodes: -1, gpus_per_node: 1}]" 'nodes: expected'
wrong_file "an unknown field" "groups: [{type: a, nodes: 1, gpus_per_node: 1, speed: 3}]" 'speed: no such field'
jct() { pollux sim "$tmp/short.csv" --policy pollux --node-group $mixed "$@" --json - | jq '.policies[].mean_avg_jct'; }
check "--restart-delay holds for all applications if it is given" jq -en "$(jct --restart-delay 0) < $(jct) and $(jct) < $(jct --restart-delay 600)"
run pollux sim "$tmp/short.csv" --cluster "$tmp/missing.yaml"
expect "a missing file" status=2 err~'missing.yaml'
