# SPDX-License-Identifier: Apache-2.0
# pollux sim: tables and JSON, equal with any number of threads, and messages about bad workloads.
. tests/cli/lib.sh

cat >"$tmp/small.csv" <<'END'
name,time,application,num_replicas,batch_size
a,0,cifar10,2,256
b,90,ncf,1,32768
c,600,cifar10,1,128
d,600,bert,4,48
END

# ---- Tables ---------------------------------------------------------------------------------

run pollux sim "$tmp/small.csv" --policy fifo,equal-share --nodes 2
expect "a table and a plot" status=0 err= out~'^policy +mean JCT +ratio' out~'^fifo .* 1\.000 ' \
    out~'^equal-share ' out~'% of jobs done within' out!'^mean JCT of'
cp "$tmp/small.csv" "$tmp/other.csv"
run pollux sim "$tmp" --policy fifo --nodes 2
expect "a folder: all of its workloads" status=0 out~'^other +4 ' out~'^small +4 '
run pollux sim --policy tiresias,optimus,equal-share
expect "the built-in workload on built-in profiles" status=0 err= out~'^optimus ' out~'^tiresias '

# ---- Agents ---------------------------------------------------------------------------------

run pollux sim "$tmp/small.csv" --policy equal-share --nodes 2 --json "$tmp/published.json" --no-times
expect "the table names the agent" status=0 err= out~'^agent of the jobs: published$'
run pollux sim "$tmp/small.csv" --policy equal-share --nodes 2 --json - --no-times --agent published
expect "published is the default" status=0 err= out="$(cat "$tmp/published.json")"
run pollux sim "$tmp/small.csv" --policy equal-share --nodes 2 --json "$tmp/real.json" --no-times --agent=real
expect "the real agent" status=0 err= out~'^agent of the jobs: real$'
check "JSON names the agent" jq -en --slurpfile a "$tmp/published.json" --slurpfile b "$tmp/real.json" \
    '$a[0].agent == "published" and $b[0].agent == "real"'
check "a real agent takes a little longer; a fixed batch does not" jq -en --slurpfile a "$tmp/published.json" \
    --slurpfile b "$tmp/real.json" '[$a[0], $b[0]] | map(.policies["equal-share"].workloads.small.jct) |
    .[1].b == .[0].b and ([.[1].a / .[0].a, .[1].c / .[0].c, .[1].d / .[0].d] | all(. > 0.98 and . < 1.25))'
run pollux sim "$tmp/small.csv" --policy fifo --nodes 2 --json - --no-times
fixed=$(jq .policies <<<"$out")
run pollux sim "$tmp/small.csv" --policy fifo --nodes 2 --json - --no-times --agent real
check "policies with fixed batches do not depend on the agent" [ "$(jq .policies <<<"$out")" = "$fixed" ]
run pollux capacity "$tmp/small.csv" --policy equal-share --max-nodes 4 --agent real --json
expect "pollux capacity takes an agent, too" status=0 err= out~'"agent": *"real"'
for wrong in x '' Real published,real; do
    run pollux sim "$tmp/small.csv" --policy fifo "--agent=$wrong"
    expect "--agent '$wrong'" status=2 out= err~"--agent: expected published or real, got '$wrong'"
done

# ---- JSON -----------------------------------------------------------------------------------

run pollux sim "$tmp/small.csv" --policy fifo,srtf --nodes 2 --json -
expect "only JSON" status=0 err= out~'^\{' out!'mean JCT'
check "JSON has all documented fields" jq -e '.policies | keys == ["fifo", "srtf"] and
    ([.[] | .mean_avg_jct > 0 and (.workloads.small |
        has("avg_jct") and has("p50_jct") and has("p99_jct") and has("makespan") and
        has("gpu_hours_per_job") and has("restarts_per_job") and has("utilisation") and
        has("worst_rho") and has("unfair_fraction") and has("rounds") and
        (.decide_seconds | has("mean") and has("p50") and has("p99") and has("max")) and
        (.jct | keys == ["a", "b", "c", "d"]))] | all)' <<<"$out"
check "the mean is the jobs' mean" jq -e '.policies.fifo.workloads.small |
    (.avg_jct - ([.jct[]] | add / 4)) | fabs < 1e-9' <<<"$out"
check "percentiles interpolate" jq -e '.policies.fifo.workloads.small | ([.jct[]] | sort) as $j |
    (.p50_jct - ($j[1] + $j[2]) / 2 | fabs < 1e-9) and
    (.p99_jct - ($j[2] + 0.97 * ($j[3] - $j[2])) | fabs < 1e-9)' <<<"$out"
run pollux sim "$tmp/small.csv" --policy fifo --nodes 2 --json "$tmp/result.json"
expect "JSON to a file, and the table" status=0 out~'^fifo ' err=
check "the file is JSON" jq -e '.policies.fifo' "$tmp/result.json"
(umask 027 && pollux sim "$tmp/small.csv" --policy fifo --nodes 2 --json "$tmp/private.json" >"$tmp/.out")
check "the file's mode follows the umask" [ "$(stat -c %a "$tmp/private.json")" = 640 ]

# Only regular files are replaced by rename, so that /dev/null stays a device.
mkfifo "$tmp/pipe"
timeout 60 cat "$tmp/pipe" >"$tmp/piped.json" &
run pollux sim "$tmp/small.csv" --policy fifo --nodes 2 --json "$tmp/pipe"
expect "JSON to a named pipe" status=0
check "the pipe stays a pipe" [ -p "$tmp/pipe" ]
[ ! -p "$tmp/pipe" ] || wait $!
check "the pipe got all of the JSON" jq -e '.policies.fifo' "$tmp/piped.json"
ln -s result.json "$tmp/link.json"
run pollux sim "$tmp/small.csv" --policy srtf --nodes 2 --json "$tmp/link.json"
check "a link stays a link" [ -L "$tmp/link.json" ]
check "the target of the link is written" jq -e '.policies.srtf' "$tmp/result.json"

policies=fifo,srtf,las,tiresias,optimus,equal-share
run pollux sim "$tmp" --policy $policies --threads 1 --json - --no-times
one=$out
run pollux sim "$tmp" --policy $policies --threads 4 --json - --no-times
expect "the same bytes with more threads" status=0 out="$one" err=

data=tests/data/osdi21
run pollux sim $data/workloads --traces $data/traces --policy tiresias,optimus --json "$tmp/published.json"
expect "the published workloads and traces" status=0 err=
for policy in tiresias optimus; do
    check "$policy: every job as published" jq -en --slurpfile ours "$tmp/published.json" \
        --slurpfile theirs $data/published/$policy.json \
        '[$theirs[0].jct | to_entries[] | .key as $w | .value | to_entries[] |
          .value == $ours[0].policies.'$policy'.workloads[$w].jct[.key]] | length == 960 and all'
done
# The genetic search is random: compare the mean over workloads and seeds.
if [ "${POLLUX_SOAK-}" = 1 ]; then
    files=$data/workloads seeds="0 1 2" tolerance=0.05
else
    files=$data/workloads/workload-3.csv seeds=0 tolerance=0.12
fi
[ "${POLLUX_BRIEF-}" != 1 ] || seeds=
for seed in $seeds; do
    pollux sim "$files" --traces $data/traces --policy pollux-ga --seed "$seed" --json "$tmp/ga-$seed.json" >"$tmp/.out"
done
[ -z "$seeds" ] ||
    check "pollux-ga: mean JCT as published, within $tolerance" jq -en --slurpfile theirs $data/published/pollux.json \
        --argjson tolerance $tolerance '[inputs.policies[].workloads | to_entries[] |
            [.value.avg_jct, $theirs[0].avg_jct[.key]]] | transpose | map(add) | .[0] / .[1] - 1 |
            fabs < $tolerance' "$tmp"/ga-*.json

# Careful agents cost little.
if [ "${POLLUX_SOAK-}" = 1 ]; then files=$data/workloads; else files=$data/workloads/workload-4.csv; fi
if [ "${POLLUX_BRIEF-}" != 1 ]; then
    for agent in published real; do
        pollux sim "$files" --traces $data/traces --policy pollux,pollux-jct --agent $agent --json "$tmp/$agent.json" >"$tmp/.out"
    done
    for policy in pollux pollux-jct; do
        check "$policy: the mean JCT with real agents is at most 2 % above" jq -en --slurpfile a "$tmp/published.json" \
            --slurpfile b "$tmp/real.json" '[$a[0], $b[0]] | map(.policies["'$policy'"].mean_avg_jct) | .[1] < 1.02 * .[0]'
    done
fi

# ---- Bad workloads ---------------------------------------------------------------------------

header=name,time,application,num_replicas,batch_size
bad()
{
    printf '%b' "$3" >"$tmp/bad.csv"
    run pollux sim "$tmp/bad.csv" --policy fifo
    expect "$1" status=2 out= err~"$2"
}
bad "an unknown application" 'bad\.csv:2.*lenet' "$header\na,0,lenet,1,128\n"
bad "a negative time" 'bad\.csv:3.*time' "$header\na,0,cifar10,1,128\nb,-1,cifar10,1,128\n"
bad "a name twice" 'bad\.csv:3.*a' "$header\na,0,cifar10,1,128\na,1,cifar10,1,128\n"
bad "no replicas" 'bad\.csv:2.*num_replicas' "$header\na,0,cifar10,0,128\n"
bad "a batch out of range" 'bad\.csv:2.*batch' "$header\na,0,cifar10,1,1\n"
bad "a truncated row" 'bad\.csv:3' "$header\na,0,cifar10,1,128\nb,5,cif"
bad "a missing column" 'bad\.csv:1.*num_replicas' "name,time,application,batch_size\na,0,cifar10,128\n"
bad "no jobs" 'bad\.csv' "$header\n"
bad "an empty file" 'bad\.csv' ""
bad "more GPUs than there are" 'a asks for 128 GPUs' "$header\na,0,cifar10,128,4096\n"

# ---- Bad usage -------------------------------------------------------------------------------

run pollux sim nosuch.csv
expect "a missing file" status=2 out= err~'nosuch\.csv.*No such file'
run pollux sim --policy best
expect "an unknown policy lists the known" status=2 err~"no policy is called 'best'; there are .*tiresias"
run pollux sim --policy fifo,fifo
expect "a policy twice" status=2 err~'fifo is named twice'
run pollux sim "$tmp/small.csv" "$tmp/small.csv" --policy fifo
expect "a workload twice" status=2 err~"'small' is named twice"
mkdir "$tmp/empty"
run pollux sim "$tmp/empty" --policy fifo
expect "a folder without workloads" status=2 err~'no workload'
run pollux sim --traces "$tmp/empty" --policy fifo
expect "a folder without traces" status=2 err~'empty'
run pollux sim --traces x --profiles y
expect "traces and profiles" status=2 err~'exclude each other'
for wrong in --nodes=0 --gpus-per-node=-1 --interval=0 --restart-delay=x --interference=1 --remaining-error=-1 --p=2 --seed=-1; do
    run pollux sim "$tmp/small.csv" --policy fifo $wrong
    expect "$wrong" status=2 out= err~"${wrong%%=*}: expected"
done
run pollux sim "$tmp/small.csv" --policy fifo --nodes 2 --json /dev/full/x
expect "a file that cannot be written" status=2 err~'/dev/full/x'
