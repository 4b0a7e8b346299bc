# SPDX-License-Identifier: Apache-2.0
# pollux extract: a simulation is recorded, profiled and simulated again; journals that are wrong.
. tests/cli/lib.sh

pollux workload --jobs 6 --hours 0.2 --mix cifar10=1,ncf=1 --seed 3 >"$tmp/first.csv"
run pollux sim "$tmp/first.csv" --policy pollux --nodes 2 --interval 30 --record "$tmp/first.db" \
    --json "$tmp/first.json"
expect "a simulation is recorded" status=0
run pollux extract "$tmp/first.db" --workload="$tmp/again.csv"
expect "its journal becomes profiles, and the output says how to simulate them" status=0 out~'^  "version": 1,$' \
    err~'^pollux sim .*again.csv --profiles PROFILES --policy pollux --nodes 2 --gpus-per-node 4 --interval 30 --restart-delay 30 --p -1$'
printf '%s\n' "$out" >"$tmp/again.json"
check "a profile for every job, by its name" [ "$(jq -r '.applications | keys_unsorted[]' "$tmp/again.json" | sort)" = \
    "$(tail -n +2 "$tmp/first.csv" | cut -d, -f1 | sort)" ]
check "submissions are those of the recorded run" diff <(tail -n +2 "$tmp/first.csv" | cut -d, -f1,2 | sort) \
    <(tail -n +2 "$tmp/again.csv" | cut -d, -f1,2 | sort)
check "the total work is that of the application" jq -e --slurpfile built <(pollux profiles cifar10) '
    ($built[0].applications.cifar10 | .epochs * .epoch_iterations) as $total |
    [.applications | to_entries[] | select(.key | startswith("cifar10")) | .value |
        (.epochs * .epoch_iterations / $total - 1) | fabs < 1e-4] | length > 0 and all' "$tmp/again.json"
check "noise is known over the progress, and grows" jq -e '[.applications | to_entries[] | select(.key | startswith("cifar10")) |
    .value.noise | (.progress | length) > 3 and .ratio[0][0] < .ratio[0][-1]] | length > 0 and all' "$tmp/again.json"
# Not equal: an agent reports less about a job than the simulator knows, and only the noise of its own batches.
run pollux sim "$tmp/again.csv" --profiles "$tmp/again.json" --policy pollux --nodes 2 --interval 30 --json "$tmp/second.json"
expect "they are simulated" status=0
check "as long as they took, within 10 %" jq -n -e --slurpfile a "$tmp/first.json" --slurpfile b "$tmp/second.json" '
    $b[0].policies.pollux.mean_avg_jct / $a[0].policies.pollux.mean_avg_jct | . > 0.9 and . < 1.1'

# Several types of nodes.
run pollux sim "$tmp/first.csv" --policy pollux --node-group t4:2x4,a100:2x2 --interval 30 --record "$tmp/typed.db" --json "$tmp/x.json"
run pollux extract "$tmp/typed.db" --workload="$tmp/typed.csv"
expect "types become groups of the command" status=0 err~'--node-group t4:2x4,a100:2x2 --interval 30'
printf '%s\n' "$out" >"$tmp/typed.json"
check "every job has the types that it has trained on" jq -e '[.applications[].types | keys - ["a100", "t4"] == [] and length > 0] | all' "$tmp/typed.json"
run pollux sim "$tmp/typed.csv" --profiles "$tmp/typed.json" --policy pollux --node-group t4:2x4,a100:2x2 --json "$tmp/x.json"
expect "they are simulated" status=0

# ---- Missing data ------------------------------------------------------------------------------

run pollux sim "$tmp/first.csv" --policy tiresias --nodes 2 --record "$tmp/mute.db" --json "$tmp/x.json"
run pollux extract "$tmp/mute.db"
expect "jobs without an agent are left out" status=2 out= err~'job cifar10-[0-9] is left out: it reported no model' \
    err~'mute.db: no job reported how it trains'
run pollux extract
expect "no file" status=2 out= err~'expected FILE.db'
run pollux extract "$tmp/none.db"
expect "a missing file" status=2 out= err~'none.db'
echo no journal >"$tmp/no.db"
run pollux extract "$tmp/no.db"
expect "a file that is not a journal" status=2 out= err~'no.db'
run pollux extract "$tmp/first.db" --workload="$tmp/no/such.csv"
expect "a workload that cannot be written" status=2 out= err~'such.csv: cannot write: No such file'
