# SPDX-License-Identifier: Apache-2.0
# pollux decide: plans as text and JSON, explanations, and messages about bad problems.
. tests/cli/lib.sh

problem=examples/synthetic-cluster.json

# ---- A good problem --------------------------------------------------------------------------

run pollux decide $problem
expect "a table, the changes, and the proof" status=0 err= out~'^ +job +GPUs +before +speedup' \
    out~'^= +speech +4 +4 ' out~'^\+ +new +1 +0 ' out~'of 16 GPUs$' \
    out~'^Fitness 0\.[0-9]+; no plan has more than 0\.[0-9]+ \(gap [0-9.]+ %\)\.$' out~'^Decided by pollux in '
run pollux decide - --explain --policy pollux-jct <<<'{"nodes": [], "jobs": [{"name": "a", "max_replicas": 2}]}'
expect "no slot, no fitness, no gap" status=0 err= out~'^Fitness 0\.0+; no plan has more\.$' out!'nan|inf'
run pollux decide $problem
check "lines fit into 80 columns" awk 'length > 80 { exit 1 }' <(echo "$out")
without_time() { sed '/^Decided/d'; }
same=$(without_time <<<"$out")
jq '.version = 1' $problem >"$tmp/version.json"
run pollux decide "$tmp/version.json"
check "version 1 may be named" [ "$(without_time <<<"$out")" = "$same" ]
run pollux decide - <$problem
check "the standard input" [ "$(without_time <<<"$out")" = "$same" ]

run pollux decide --json $problem
expect "JSON" status=0 err=
check "JSON has all fields" jq -e '.policy == "pollux" and (.allocations | length) == 5 and
    .bound >= .fitness and .gap == (.bound - .fitness) / .bound and .price >= 0 and .seconds > 0 and
    (.jobs.new | .m == null and .replicas == 1 and .change == "start") and
    (.jobs.vision | .speedup > 0 and .m > 0 and .s >= 0)' <<<"$out"
check "no node is overfull" jq -e --slurpfile p $problem '[.allocations[] | to_entries[]] |
    group_by(.key) | map({key: .[0].key, value: (map(.value) | add)}) | from_entries as $used |
    [$p[0].nodes[] | ($used[.name] // 0) <= .gpus] | all' <<<"$out"
check "all counts of replicas are allowed" jq -e '.allocations.language | add | . == 1 or . == 2 or . == 4 or . == 8' <<<"$out"
# The fitness of a plan computed from its speedups, as in the manual.
check "the formula of the manual" jq -e --slurpfile p $problem '. as $plan | $p[0] as $p |
    ([$p.nodes[].gpus] | add) as $gpus | ($p.nodes | length) as $nodes |
    [$p.jobs[] | (.weight // 1) as $w | ($plan.jobs[.name].speedup * $nodes / $gpus) as $x |
        (if $plan.allocations[.name] == .allocation then $x
         else $x * ([.age - .restarts * 30, 0] | max) / (.age + 30) end) as $x |
        {w: $w, term: ($w / ($x + 0.001))}] |
    (([.[].w] | add) / ([.[].term] | add)) as $fitness |
    ($plan.fitness / $fitness - 1 | fabs) < 1e-9' <<<"$out"
plan=$(jq -S 'del(.seconds)' <<<"$out")
run pollux decide --json --seed=0 $problem
check "the same problem, the same plan" [ "$(jq -S 'del(.seconds)' <<<"$out")" = "$plan" ]

# Two types of nodes: every job is on one of them.
jq '.nodes |= [to_entries[] | .value + {type: (if .key % 2 == 0 then "a" else "b" end)}]' $problem >"$tmp/mixed.json"
for policy in pollux pollux-jct equal-share fifo; do
    run pollux decide --json --policy=$policy "$tmp/mixed.json"
    expect "$policy: two types of nodes" status=0 err=
    check "$policy: every job is on nodes of one type" jq -e --slurpfile p "$tmp/mixed.json" '
        ($p[0].nodes | map ({(.name): .type}) | add) as $type | (.allocations | length) > 1 and
        all (.allocations[]; [keys[] | $type[.]] | unique | length <= 1)' <<<"$out"
done
# typed JOBS: a problem with nodes `slow` and `fast` of four GPUs each, and these jobs.
typed()
{
    jq -n --argjson jobs "[$1]" '{nodes: [{name: "n0", gpus: 4, type: "slow"}, {name: "n1", gpus: 4, type: "fast"}], jobs: $jobs}' |
        jq '
        def model(f): {alpha_grad: (0.1 / f), beta_grad: (0.01 / f), alpha_node: (0.2 / f), beta_node: 0, alpha_local: (0.05 / f), beta_local: 0, gamma: 1.5};
        .jobs[] |= {name, age: 1000, max_replicas: 4, grad: {sqr: 1, var: 50}, init_batch: 32, max_batch: 1024, min_local: 8,
            max_local: 64, accumulation: true, type: "slow", model: model (1)} +
            if .both then {models: [{type: "fast", model: model (4), max_local: 64, max_profiled_replicas: 4}]} else {} end'
}
typed '{"name": "a", "both": true}' >"$tmp/typed.json"
run pollux decide --json "$tmp/typed.json"
check "a job goes to the type on which it is faster" jq -e '.allocations.a == {"n1": 4}' <<<"$out"
typed '{"name": "a", "both": true}, {"name": "b"}' | jq '.jobs[0] += {preemptible: false, allocation: {"n0": 1}}' >"$tmp/typed.json"
run pollux decide --json "$tmp/typed.json"
check "another job follows, by the ratio of the first" jq -e '.allocations.b == {"n1": 4}' <<<"$out"
typed '{"name": "b"}' >"$tmp/typed.json"
run pollux decide --json "$tmp/typed.json"
check "without a ratio it stays where it was measured" jq -e '.allocations.b == {"n0": 4}' <<<"$out"
jq '.jobs[0] += {allocation: {n0: 4}, max_replicas: 64, remaining: 100000, max_profiled_replicas: 4} | .nodes[1].gpus = 64' "$tmp/typed.json" >"$tmp/many.json"
for policy in pollux pollux-jct; do
    run pollux decide --json --policy=$policy "$tmp/many.json"
    check "$policy: it does not leave for one slot of a type of unknown speed" jq -e '.allocations.b == {"n0": 4}' <<<"$out"
done
jq '.jobs[0] += {allocation: {n1: 1}, preemptible: false}' "$tmp/typed.json" >"$tmp/guess.json"
run pollux decide --explain "$tmp/guess.json"
expect "explain says that its own speed is not known" status=0 out~'^b: How fast it would be on slow is not known' out!'useful samples per second'
for speeds in '{"slow": 1, "fast": 4}:n1' '{"slow": 1, "fast": 0.25}:n0' '{"fast": 4}:n0'; do
    jq ".jobs[0].speeds = ${speeds%:*}" "$tmp/typed.json" >"$tmp/speeds.json"
    run pollux decide --json "$tmp/speeds.json"
    check "with the owner's speeds ${speeds%:*} it is on ${speeds##*:}" jq -e --arg node "${speeds##*:}" '.allocations.b == {($node): 4}' <<<"$out"
done
jq '.jobs[0] |= {name, age, max_replicas, speeds: {slow: 1, fast: 2}}' "$tmp/typed.json" >"$tmp/speeds.json"
run pollux decide --json "$tmp/speeds.json"
check "before it is measured, the owner's speeds decide" jq -e '.allocations.b == {"n1": 4}' <<<"$out"
typed '{"name": "a", "both": true}, {"name": "b"}' | jq '.jobs[0].allocation = {"n0": 4} | .jobs[1] += {allocation: {"n1": 1}, preemptible: false} | .jobs[0].preemptible = false' >"$tmp/typed2.json"
run pollux decide --explain --json "$tmp/typed2.json"
check "explain compares types: measured, and predicted by another job" jq -e '
    .explain.a.types.fast | .known and (.predicted | not) and .replicas == 4 and (.goodput_factor - 4 | fabs) < 0.01' <<<"$out"
check "explain compares types: back to the slower one" jq -e '.explain.b.types.slow | .known and .replicas == 1 and .goodput_factor < 0.3' <<<"$out"
run pollux decide --explain "$tmp/typed2.json"
expect "the same in sentences" status=0 out~'^a: On 4 fast it would train 4 times as fast as on its 4 slow\.$' out~'^b: On 1 slow it would train 75 % slower than on its 1 fast'
jq '.jobs[0].types = ["other"]' "$tmp/typed.json" >"$tmp/speeds.json"
run pollux decide --explain --json "$tmp/speeds.json"
check "explain offers no slots of a type that the job may not use" jq -e '.explain.b.more == null' <<<"$out"
jq '.jobs[0].type = "gone" | .jobs[0].speeds = {"gone": 1, "slow": 1, "fast": 4}' "$tmp/typed.json" >"$tmp/speeds.json"
run pollux decide --json "$tmp/speeds.json"
check "the owner's speeds count for a measured type that no node has" jq -e '.allocations.b == {"n1": 4}' <<<"$out"
for policy in pollux pollux-jct equal-share fifo; do
    for types in '["fast"]:n1' '{"except": ["slow"]}:n1' '["slow", "other"]:n0'; do
        jq ".jobs[0].types = ${types%:n?}" "$tmp/typed.json" >"$tmp/types.json"
        run pollux decide --json --policy=$policy "$tmp/types.json"
        check "$policy: with types ${types%:n?} it is on ${types##*:}" jq -e --arg node "${types##*:}" '.allocations.b | keys == [$node]' <<<"$out"
    done
    jq '.jobs[0].types = ["other"]' "$tmp/typed.json" >"$tmp/types.json"
    run pollux decide --json --policy=$policy "$tmp/types.json"
    check "$policy: a type that no node has: no slots" jq -e '.allocations.b // {} == {}' <<<"$out"
done
jq '.nodes |= map (.type = "slow") | .jobs[0].types = ["fast"]' "$tmp/typed.json" >"$tmp/types.json"
run pollux decide --json --policy=pollux-ga "$tmp/types.json"
check "pollux-ga: the same" jq -e '.allocations.b // {} == {}' <<<"$out"
# sia and gavel on odd clusters: a drained type, a node that has shrunk, no slots at all, types that a job may not use.
jq '.nodes[0].available = false' "$tmp/typed.json" >"$tmp/odd.json"
for options in --policy=sia "--policy=gavel --policy-option=gavel_fair=0" "--policy=gavel --policy-option=gavel_fair=1"; do
    # shellcheck disable=SC2086
    run pollux decide --json $options "$tmp/odd.json"
    check "$options: its type is drained, the other is used" jq -e '.allocations.b | keys == ["n1"]' <<<"$out"
    for change in '.nodes |= map (.available = false)' '.nodes = [] | .jobs |= map (del (.allocation))' '.jobs[0].allocation = {n0: 4} | .nodes[0].gpus = 4' \
        '.jobs[0] += {allocation: {n0: 4}, preemptible: false, types: ["fast"]}' '.jobs[0] += {min_replicas: 3, allowed: [3]}'; do
        jq "$change" "$tmp/typed.json" >"$tmp/odd2.json"
        # shellcheck disable=SC2086
        run pollux decide --json $options "$tmp/odd2.json"
        expect "$options: $change" status=0 err=
    done
done
jq '.nodes = [range (20) | {name: "n\(.)", gpus: 4, type: "t\(.)"}] | .jobs |= map (del (.allocation)) | .jobs[0].types = ["t19"]' "$tmp/typed.json" >"$tmp/odd.json"
run pollux decide --json --policy=gavel "$tmp/odd.json"
jq '.jobs[0] |= del (.types) + {allocation: {n0: 1}, type: "t0"}' "$tmp/odd.json" >"$tmp/twenty.json"
run pollux decide --explain --policy=equal-share "$tmp/twenty.json"
expect "explain compares eight types, and says so" status=0 out~'^b: 11 more types are not compared here\.$'
run pollux decide --json --policy=gavel "$tmp/odd.json"
check "gavel: the last of 20 types" jq -e '.allocations.b | keys == ["n19"]' <<<"$out"
jq '.jobs[0] += {min_replicas: 2} | del (.jobs[0].model, .jobs[0].grad)' "$tmp/typed.json" >"$tmp/odd.json"
run pollux decide --json --policy=sia "$tmp/odd.json"
check "sia: a job without a model gets its minimum" jq -e '[.allocations.b[]] == [2]' <<<"$out"
jq '.jobs[0].types = "slow"' "$tmp/typed.json" >"$tmp/types.json"
run pollux decide "$tmp/types.json"
expect "a wrong value of types" status=2 err~'jobs\[0\].types: expected "any", a list of types or'
jq '.jobs[0].models = [range (8) | {type: "t\(.)", model: {alpha_grad: 1, beta_grad: 1, alpha_node: 0, beta_node: 0, alpha_local: 0, beta_local: 0, gamma: 1},
    max_local: 64, max_profiled_replicas: 1}]' "$tmp/typed.json" >"$tmp/eight.json"
run pollux decide "$tmp/eight.json"
expect "too many types are refused" status=2 err~'models: expected at most 7'

run pollux decide --policy=pollux-ga "$tmp/mixed.json"
expect "pollux-ga is for one type" status=2 err~"nodes [a-z0-9-]+ \(type 'a'\) and [a-z0-9-]+ \(type 'b'\): it knows one type"

run pollux decide --json --policy=fifo $problem
expect "another policy" status=0 err= out~'"policy": "fifo"' out~'"fitness": null'
run pollux decide --policy=equal-share $problem
expect "another policy, as text" status=0 err= out~'^Decided by equal-share' out!'Fitness'
for p in 1 0.5 0 -0.5 -5 -1000 '"-inf"'; do
    run pollux decide --json - < <(jq ".p = $p" $problem)
    expect "p = $p" status=0 err= out~'"fitness": 0\.[0-9]'
done
for p in -1e300 -1.7e308 1e-300; do
    for policy in pollux pollux-ga pollux-jct; do
        run pollux decide --explain --policy=$policy - < <(jq ".p = $p" $problem)
        expect "p = $p, $policy" status=0 err= out!'nan|inf'
    done
done
# A limit of the gain: one more replica brings less, and batches stay small.
run pollux decide --explain=vision --json $problem
free=$out
run pollux decide --explain=vision --json - < <(jq '.jobs |= map(if .name == "vision" then .gain_max = 1 else . end)' $problem)
check "gain_max limits the batch" jq -en --argjson a "$free" --argjson b "$out" '
    [$a, $b | .jobs.vision | .replicas * .m * (.s + 1)] | .[0] > 256 and .[1] == 256'
check "gain_max makes explanations promise less" jq -en --argjson a "$free" --argjson b "$out" '
    [$a, $b | .explain.vision.more.speedup_change] | .[1] > 0 and .[1] < .[0] / 3'
run pollux decide - < <(jq '.jobs[0].gain_max = 0.5' $problem)
expect "an impossible limit" status=2 out= err~'gain_max: expected a number from 1 to 1e\+12'
run pollux decide - < <(jq '.jobs = []' $problem)
expect "nothing to do" status=0 err= out~'0 of 16 GPUs'
run pollux decide - < <(jq '.nodes[].available = false' $problem)
expect "no node is available" status=0 err= out~'0 of 0 GPUs' out~'4 stop'

# ---- Explanations ----------------------------------------------------------------------------

run pollux decide --explain $problem
expect "all jobs explained" status=0 err= out~'^job +GPUs +more +speedup +fitness +fewer' out~'^vision +4 +5 ' \
    out~'^language +4 +8 .* 2 ' out~'^new +1 +- +- +- +0 '
run pollux decide --explain=ranking --json $problem
check "one job explained" jq -e '(.explain | keys) == ["ranking"] and .explain.ranking.more.replicas == 4 and
    .explain.ranking.fewer.replicas == 2 and .explain.ranking.fewer.speedup_change < 0 and
    .explain.ranking.fewer.fitness <= .bound and .explain.ranking.fewer.gap >= 0' <<<"$out"
run pollux decide --explain=rankin $problem
expect "a mistyped name: a suggestion" status=2 out= err="pollux decide: --explain: no job is called 'rankin'; did you mean 'ranking'?"
run pollux decide --explain --policy=fifo $problem
expect "a policy without an objective" status=0 err= out~'^vision +[0-9]+ ' out!'nan'
run pollux decide --explain --json --policy=fifo $problem
check "its fitness is not known" jq -e '[.explain[][] | select(.) | .replicas >= 0 and .fitness == null] | length > 0 and all' <<<"$out"

run pollux decide --explain --json --policy=pollux-jct $problem
check "another objective" jq -e '.explain.speech.fewer.fitness < .fitness and .explain.speech.fewer.bound == .bound' <<<"$out"
run pollux decide --explain --policy=pollux-ga $problem
expect "a policy without a bound, for people" status=0 err= out~'^Fitness 0\.[0-9]+\.$' out!'nan' out!'One GPU more'
run pollux decide --explain --json --policy=pollux-ga $problem
check "a policy without a bound has no gap" jq -e '.bound == null and .gap == null and .price == null and
    ([.explain[][] | select(.) | .fitness > 0 and .bound == null and .gap == null] | all)' <<<"$out"
run pollux decide --explain - < <(jq '.jobs[] |= (.allowed = "pow2" | .allocation = {}) | .nodes[].gpus = 1' $problem)
expect "waiting jobs that run with powers of two" status=0 err= out~'^vision '

# ---- Options of policies ---------------------------------------------------------------------

for p in 0.5 -inf; do
    run pollux decide --json --policy-option p=$p $problem
    plan=$(jq -S 'del(.seconds)' <<<"$out")
    run pollux decide --json - < <(jq --arg p $p '.p = ($p | tonumber? // $p)' $problem)
    check "p = $p as an option and as a field" [ "$(jq -S 'del(.seconds)' <<<"$out")" = "$plan" ]
done
run pollux decide --policy tiresias --policy-option quantum=3600 $problem
expect "an option" status=0 err=
run pollux decide --policy tiresias - < <(jq '.policy_options = {quantum: 3600}' $problem)
expect "an option of the problem" status=0 err=
run pollux decide --policy tiresias --policy-option quantm=3600 $problem
expect "a mistyped option" status=2 out= err="pollux decide: policy tiresias has no option 'quantm'; did you mean 'quantum'?"
run pollux decide --policy tiresias --policy-option quantum=0 $problem
expect "an option out of range" status=2 out= err~'option quantum of policy tiresias: expected a number from 1 to 1e\+12, got 0$'
run pollux decide --policy tiresias - < <(jq '.policy_options = {quantum: 0}' $problem)
expect "a problem's option out of range" status=2 out= err~'option quantum of policy tiresias: expected'
run pollux decide --policy fifo --policy-option quantum=1 $problem
expect "a policy without options" status=2 out= err~"policy fifo has no options, but 'quantum' is set"
run pollux decide --policy-option p $problem
expect "no value" status=2 out= err~'--policy-option: expected NAME=NUMBER'
run pollux sim --policy fifo,las --policy-option quantum=1
expect "none of several policies has it" status=2 out= err~"policy fifo, las have no option 'quantum'; known options: slice"

# The table of each policy is what --help lists: the manual and docs/policies.md have the same.
listed=$(pollux sim --help | sed -n '/^Policies:/,/^$/s/^  \([a-z]\)/\1/p')
known=$(sed -n 's/^| `\([a-z-]*\)`.* | .* | .* | .* | .* |$/\1/p' docs/policies.md)
check "the help lists the policies of docs/policies.md" [ -n "$known" -a "$(sort <<<"$listed")" = "$(sort -u <<<"$known")" ]
list=$(pollux decide --help | sed '1,/^Options of policies/d')
check "the help lists options" [ "$(wc -l <<<"$list")" -ge 16 ]
manual=$(sed -n '/^# POLICY OPTIONS/,/^# EXIT/p' docs/man/pollux-sim.1.scd | sed -n 's/^\*\([^*]*\)\*=/  \1=/p; s/^\t/      /p')
check "the manual lists the same, with defaults and ranges" [ "$manual" = "$list" ]
while read -r policy option; do
    check "docs/policies.md has $policy $option" grep -q "^| .*\`$policy\`.* | \`${option%=*}\` | ${option#*=} |" docs/policies.md
done < <(sed -n 's/^  \([a-z]\)/\1/p' <<<"$list")

# ---- Bad problems ----------------------------------------------------------------------------

bad() { # NAME FILTER PATTERN
    jq "$2" $problem >"$tmp/bad.json"
    run pollux decide "$tmp/bad.json"
    expect "$1" status=2 out= err~"bad\.json:[0-9]+:[0-9]+: $3"
}
bad "no nodes" 'del(.nodes)' 'nodes: expected'
bad "no jobs" 'del(.jobs)' 'jobs: expected'
bad "a version of the future" '.version = 9' "version: expected version 1, got '9'\$"
bad "a version that is none" '.version = "1"' 'version: expected an integer of at least 1'
bad "p above 1" '.p = 1.5' 'p: expected'
bad "p is a word" '.p = "low"' 'p: expected a number up to 1, or "-inf"'
bad "an unknown search" '.batch_search = "all"' 'batch_search: expected "exact" or "reference"'
bad "a node without name" 'del(.nodes[1].name)' 'nodes\[1\]\.name: expected'
bad "a node twice" '.nodes[2].name = "n0"' 'nodes\[2\]\.name: expected a name that no other node has'
bad "GPUs below 0" '.nodes[0].gpus = -1' 'nodes\[0\]\.gpus: expected'
bad "a fraction of a GPU" '.nodes[0].gpus = 0.5' 'nodes\[0\]\.gpus: expected'
bad "too many GPUs" '.nodes[].gpus = 1000000' 'nodes\[1\]: expected at most'
bad "too many types" '.nodes = [range (65) | {name: "n\(.)", gpus: 1, type: "t\(.)"}]' 'nodes\[64\]\.type: expected at most 64 types of nodes'
bad "a job twice" '.jobs[3].name = "vision"' 'jobs\[3\]\.name: expected a name that no other job has'
bad "a name too long" '.jobs[3].name = "x" * 64' 'jobs\[3\]\.name: expected a name of 1 to 63 bytes'
bad "no maximum" 'del(.jobs[0].max_replicas)' 'jobs\[0\]\.max_replicas: expected'
bad "minimum above maximum" '.jobs[0].min_replicas = 17' 'jobs\[0\]\.min_replicas: expected'
bad "gamma below 1" '.jobs[3].model.gamma = 0.5' 'jobs\[3\]\.model\.gamma: expected'
bad "a step that no machine takes" '.jobs[1].model |= (map_values(0) | .alpha_grad = 1e-310 | .gamma = 1)' \
    'jobs\[1\]\.model: expected a step of max_local \([0-9]+\) samples to take at least 1e-09 s, got an object'
bad "a model without statistics" 'del(.jobs[1].grad)' 'jobs\[1\]\.grad: expected a value, because there is a model'
bad "a model without limits" 'del(.jobs[1].max_local)' 'jobs\[1\]\.max_local: expected'
bad "no weight" '.jobs[1].weight = 0' 'jobs\[1\]\.weight: expected'
bad "allowed: an unknown word" '.jobs[1].allowed = "odd"' 'jobs\[1\]\.allowed: expected "any"'
bad "allowed: an empty list" '.jobs[1].allowed = []' 'jobs\[1\]\.allowed: expected 1 to'
bad "allowed: a count twice" '.jobs[1].allowed = [1, 2, 1]' 'jobs\[1\]\.allowed\[2\]: expected every count once'
bad "allowed: multiples of 0" '.jobs[1].allowed = {"multiple_of": 0}' 'jobs\[1\]\.allowed\.multiple_of: expected'
bad "an unknown node" '.jobs[1].allocation.n9 = 1' 'jobs\[1\]\.allocation\.n9: expected the name of a node'
bad "a fraction of a replica" '.jobs[1].allocation.n2 = 1.5' 'jobs\[1\]\.allocation\.n2: expected'
bad "pinned beyond a node" '.jobs[1] |= (.preemptible = false | .allocation.n2 = 5)' \
    'jobs\[1\]\.allocation\.n2: infeasible: job speech is not preemptible'
bad "pinned to a node that is not available" '.nodes[2].available = false | .jobs[1].preemptible = false' \
    'jobs\[1\]\.allocation\.n2: infeasible'
bad "two pinned beyond a node" '.jobs[2].allocation.n3 = 3 | .jobs[2].preemptible = false | .jobs[3].preemptible = false' \
    'jobs\[3\]\.allocation\.n3: infeasible'
echo '{"nodes": [' >"$tmp/bad.json"
run pollux decide "$tmp/bad.json"
expect "a truncated document" status=2 out= err~'bad\.json:'
run pollux decide "$tmp/nosuch.json"
expect "no file" status=2 out= err~'nosuch\.json'
run pollux decide --policy=nosuch $problem
expect "no such policy" status=2 out= err~"no policy is called 'nosuch'; there are pollux, "
run pollux decide --policy=optimus $problem
expect "a policy that needs an oracle" status=2 out= err~'policy optimus needs the true remaining times'
run pollux decide --seed=-1 $problem
expect "a seed below 0" status=2 out= err~'--seed: expected an integer'
