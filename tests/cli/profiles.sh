# SPDX-License-Identifier: Apache-2.0
# pollux profiles: the built-in ones, those made from traces, and bad files.
. tests/cli/lib.sh

run pollux profiles
expect "the built-in profiles" status=0 err= out~'^  "version": 1,$'
echo "$out" >"$tmp/all.json"
check "they are JSON, of six applications" jq -e '.version == 1 and
    (.applications | keys == ["bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"])' "$tmp/all.json"
check "they have all fields of docs/formats.md" jq -e '[.applications[] | .epochs > 0 and
    .epoch_iterations > 0 and .init_batch <= .max_batch and .min_local <= .max_local and
    (.model | length == 7) and (.noise | (.ratio | length) == (.batches | length) and
    (.progress | length) as $n | ([.ratio[] | length == $n] | all))] | all' "$tmp/all.json"
check "the source is what the command prints" diff "$tmp/all.json" src/sim/profiles.json

run pollux profiles ncf bert
expect "some of them, in this order" status=0 err= out~'"ncf"'
check "only these are printed" [ "$(jq -r '.applications | keys_unsorted | join(" ")' <<<"$out")" = "ncf bert" ]
run pollux profiles --profiles "$tmp/all.json"
expect "read and printed again" status=0 out="$(cat "$tmp/all.json")"
run pollux profiles nosuch
expect "no such application" status=2 out= err="pollux profiles: application 'nosuch' does not exist, or is named twice"
run pollux profiles ncf ncf
expect "an application named twice" status=2 out=
run pollux profiles --traces x --profiles y
expect "both sources" status=2 out= err~'exclude each other'

jq '.applications |= {mine: .cifar10}' "$tmp/all.json" >"$tmp/mine.json"
run pollux workload --profiles "$tmp/mine.json" --jobs 5
expect "a workload of a new application" status=0 err= out~'^mine-4,[0-9]*,mine,'
echo "$out" >"$tmp/mine.csv"
run pollux sim "$tmp/mine.csv" --profiles "$tmp/mine.json" --policy equal-share
expect "the new application is simulated" status=0 err= out~'^equal-share '
run pollux sim "$tmp/mine.csv" --policy equal-share
expect "an application that the built-in profiles lack" status=2 out= err~"mine.csv:2:[0-9]+: column 'application': expected one of bert, "

# wrong NAME WHAT PATH FILTER: a change of the profiles, and the place in the message.
wrong()
{
    jq "$3" "$tmp/all.json" >"$tmp/wrong.json"
    run pollux sim --profiles "$tmp/wrong.json"
    expect "$1" status=2 out= err~"wrong\.json:[0-9]+:[0-9]+: .*$2"
}
wrong "another version" 'version' '.version = 2'
wrong "no model" 'applications\.bert\.model: expected a model' 'del(.applications.bert.model)'
wrong "a limit missing" 'applications\.ncf\.max_local' 'del(.applications.ncf.max_local)'
wrong "limits in the wrong order" 'applications\.ncf\.max_batch' '.applications.ncf.max_batch = 1'
wrong "no epochs" 'applications\.ncf\.epochs' '.applications.ncf.epochs = 0'
wrong "knots out of order" 'noise\.progress\[1\]' '.applications.bert.noise.progress = [0.5, 0.2]'
wrong "a row of noise too short" 'noise\.ratio\[2\]' '.applications.bert.noise.ratio[2] = [1]'
wrong "negative noise" 'noise\.ratio\[0\]\[1\]' '.applications.bert.noise.ratio[0][1] = -1'
wrong "a pin out of range" 'pinned\.batch' '.applications.ncf.pinned.batch = 5'
echo '{"version": 1, "applications": {' >"$tmp/wrong.json"
run pollux profiles --profiles "$tmp/wrong.json"
expect "a truncated file" status=2 out= err~'wrong\.json:[0-9]+'

run pollux profiles --traces tests/data/osdi21/traces
expect "profiles of the published traces" status=0 err=
check "the built-in profiles are these, and types" jq -en --argjson made "$out" --slurpfile built src/sim/profiles.json '
    ($built[0] | del(.applications[] | .types, .restart_delay, .slowdown)) == $made and
    ([$built[0].applications[].types | keys] | unique) == [["a100", "rtx2080ti", "t4"]]'
