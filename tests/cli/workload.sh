# SPDX-License-Identifier: Apache-2.0
# pollux workload: generated workloads match the options and can be simulated; wrong options; and messages of
# pollux sim about bad workloads.
. tests/cli/lib.sh

# ---- Generation ------------------------------------------------------------------------------

# made FILE: the jobs of a workload, without the header.
made() { tail -n +2 "$1"; }
# column N FILE: the different values of a column.
column() { made "$2" | cut -d, -f"$1" | sort -u; }

run pollux workload
expect "without options: the default workload" status=0 err= out~'^name,time,application,num_replicas,batch_size'
echo "$out" >"$tmp/default.csv"
check "160 jobs" [ "$(made "$tmp/default.csv" | wc -l)" = 160 ]
check "all six applications" [ "$(column 3 "$tmp/default.csv" | wc -l)" = 6 ]
check "in the order of time, within 8 hours, at whole seconds" awk -F, \
    'NR > 1 { if ($2 < last || $2 >= 28800 || $2 != int($2)) exit 1; last = $2 }' "$tmp/default.csv"
run pollux workload
expect "the same again" status=0 out="$(cat "$tmp/default.csv")"
run pollux workload --seed 1
check "another seed, other jobs" [ "$out" != "$(cat "$tmp/default.csv")" ]

pollux sim --policy fifo --json "$tmp/built-in.json" --no-times >"$tmp/out"
pollux sim "$tmp/default.csv" --policy fifo --json "$tmp/made.json" --no-times >"$tmp/out"
check "the built-in workload of pollux sim is this one" diff \
    <(jq '.policies.fifo.workloads[].jct' "$tmp/built-in.json") \
    <(jq '.policies.fifo.workloads[].jct' "$tmp/made.json")

pollux workload --jobs 1000 --hours 2.5 --mix ncf=3,cifar10 --max-replicas 8 --seed 5 >"$tmp/mix.csv"
check "the number of jobs" [ "$(made "$tmp/mix.csv" | wc -l)" = 1000 ]
check "only these applications" [ "$(column 3 "$tmp/mix.csv" | xargs)" = "cifar10 ncf" ]
check "shares close to the mix" awk -F, '$3 == "ncf" { n++ } END { exit !(n > 680 && n < 820) }' "$tmp/mix.csv"
check "all within these hours" awk -F, 'NR > 1 && $2 >= 9000 { exit 1 }' "$tmp/mix.csv"
check "no job is larger than the limit" awk -F, 'NR > 1 && $4 > 8 { exit 1 }' "$tmp/mix.csv"
run pollux workload --rate 50 --hours 48 --start 0
expect "jobs at a rate" status=0 err=
check "about as many as expected" [ $(($(wc -l <<<"$out") / 100)) -ge 21 -a $(($(wc -l <<<"$out") / 100)) -le 26 ]

for words in "--jobs 30 --hours 1" "--mix yolov3,bert --jobs 5" "--max-replicas 1 --jobs 20"; do
    # shellcheck disable=SC2086
    pollux workload $words >"$tmp/w.csv"
    run pollux sim "$tmp/w.csv" --policy tiresias,optimus,equal-share
    expect "it can be simulated: $words" status=0 err=
done

# ---- From a history --------------------------------------------------------------------------

{
    echo timestamp,duration,num_gpus,gpu_time,cluster
    for i in $(seq 10 59); do
        echo "2017-10-0$((i % 3 + 1)) 05:$i:00,600,1,$((i * 20)),x"
        echo "2017-10-0$((i % 3 + 1)) 20:$i:00,30,1,30,x"
    done
} >"$tmp/history.csv"
run pollux workload --from "$tmp/history.csv" --jobs 50 --hours 1
expect "all jobs of a busy hour" status=0 err= out~'^ncf-0,600,ncf,1,32768$'
run pollux workload --from "$tmp/history.csv" --jobs 51 --hours 1
expect "more jobs than the history has" status=2 out= err~'the history has 50 jobs in these hours, fewer than 51'
run pollux workload --from "$tmp/history.csv" --jobs 1 --hours 1 --start 20
expect "jobs of less than a minute do not count" status=2 err~'the history has 0 jobs'
echo "2017-10-01 5:00,1,1,1,x" >>"$tmp/history.csv"
run pollux workload --from "$tmp/history.csv"
expect "a bad line of a history" status=2 out= err~"history.csv:102:1: column 'timestamp': expected a time like"
traces=tests/data/osdi21/traces
run pollux workload --from $traces/philly.csv --traces $traces --seed 3
expect "sampled from a public trace, sized by the published measurements" status=0 err= out~'^cifar10-'
echo "$out" >"$tmp/philly.csv"
run pollux sim "$tmp/philly.csv" --traces $traces --policy tiresias
expect "the sampled workload is simulated" status=0 err=

# ---- Bad usage -------------------------------------------------------------------------------

wrong()
{
    local says=$1
    shift
    run pollux workload "$@"
    expect "refused: $*" status=2 out= err~"^pollux workload: .*$says"
}
wrong "jobs" --jobs 0
wrong "jobs" --jobs many
wrong "hours" --hours 0
wrong "day-night" --day-night 0.5
wrong "start" --start 25
wrong "rate" --rate -1
wrong "exclude each other" --jobs 3 --rate 3
wrong "exclude each other" --mix ncf --from x.csv
wrong "exclude each other" --traces x --profiles y
wrong "did you mean cifar10" --mix cifar1=2
wrong "a weight" --mix ncf=x
wrong "a weight" --mix ncf=-1
wrong "twice" --mix ncf,ncf
wrong "no application ''" --mix ncf,
wrong "weight above 0" --mix ncf=0
wrong "no job arrived" --rate 0.000001
wrong "unexpected argument 'x'" x
wrong "No such file" --from "$tmp/nosuch.csv"
wrong "nosuch" --traces "$tmp/nosuch"

# ---- Bad workloads in pollux sim -------------------------------------------------------------

header=name,time,application,num_replicas,batch_size
bad()
{
    printf "$header\nfirst,0,bert,1,12\n$3" >"$tmp/bad.csv"
    run pollux sim "$tmp/bad.csv" --policy fifo
    expect "$1" status=2 out= err~"bad\.csv:$2"
}
bad "an unknown application" "3:5: column 'application': expected one of bert, .*, got 'resnet'" 'a,0,resnet,1,12\n'
bad "a negative time" "3:3: column 'time'" 'a,-1,bert,1,12\n'
bad "a name used before" "3:1: column 'name': expected a name that no other job has" 'first,5,bert,1,12\n'
bad "no replicas" "3:10: column 'num_replicas': expected an integer from 1" 'a,0,bert,0,12\n'
bad "a batch too small" "3:12: column 'batch_size': expected an integer from 12 to 384" 'a,0,bert,1,11\n'
bad "a batch too large" "3:12: column 'batch_size': expected an integer from 12 to 384" 'a,0,bert,1,385\n'
bad "a batch too small for the replicas" "3:12: column 'batch_size': expected at least 32 for 8 replicas" 'a,0,bert,8,24\n'
bad "a file cut off within a row" "3" 'a,0,be'
bad "a file cut off within a number" "3:12: column 'batch_size': expected a line break" 'a,0,bert,1,38'
printf "$header\n" >"$tmp/bad.csv"
run pollux sim "$tmp/bad.csv"
expect "a workload without jobs" status=2 out= err~'bad\.csv: no jobs'
