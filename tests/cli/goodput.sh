# SPDX-License-Identifier: Apache-2.0
# pollux goodput: tables, plots and JSON of a good job, and messages about bad ones.
. tests/cli/lib.sh

job=examples/synthetic-resnet.json

# ---- A good job ------------------------------------------------------------------------------

run pollux goodput $job
expect "table, plot and summary" status=0 err= out~'^GPUs +nodes +batch +m +s +throughput' \
    out~'^ +1 +1 +256 ' out~'^ +2 +1 ' out~'^ +2 +2 ' out~'^ +64 +16 ' out~'goodput \(useful' \
    out~'\*' out~'many nodes +oooo one node' out~'^Most goodput: [0-9.]+ samples/s on [0-9]+ GPUs'
same=$out
run pollux goodput - <$job
expect "the standard input" status=0 out="$same" err=
check "plain text without a terminal" [ "$(tr -d '[:print:]\n' <<<"$same" | wc -c)" = 0 ]
check "lines fit into 80 columns" awk 'length > 80 { exit 1 }' <(echo "$same")
in_utf8() { LC_ALL=C.UTF-8 pollux "$@"; }
run in_utf8 goodput $job
expect "Braille in UTF-8" status=0 out~'┤.*' out~'└.*┬' out~'⠤⠤⠤⠤ many nodes'
narrow() { COLUMNS=50 pollux "$@"; }
run narrow goodput $job
check "a narrower plot" awk '/^(Best|GPUs| +[0-9]+ +[0-9]+ |Most|Up)/ { next } length > 50 { exit 1 }' <(echo "$out")

run pollux goodput --all $job
check "with --all a row for each" [ "$(sed -n '/^GPUs/,/^$/p' <<<"$out" | grep -c '^ *[0-9]')" = 67 ]
run pollux goodput --nodes 1 --gpus-per-node 8 $job
expect "only one node" status=0 err= out~'^ +8 +1 ' out!'^ +2 +2 ' out!'many nodes'
run pollux goodput --nodes 8 --gpus-per-node 1 $job
expect "nodes of one GPU" status=0 err= out~'^ +1 +1 ' out~'^ +8 +8 ' out!'^ +2 +1 '
run pollux goodput --max-replicas 1 $job
expect "one GPU" status=0 err= out~'^ +1 +1 +256 ' out~'on 1 GPU, 1.00 times'

# ---- JSON -------------------------------------------------------------------------------------

run pollux goodput --json $job
expect "JSON" status=0 err=
check "JSON has every point" jq -e '(.one_node | map(.replicas)) == [1, 2, 3, 4] and
    (.many_nodes | map(.replicas)) == [range(2; 65)] and .many_nodes[62].nodes == 16 and
    .search == "exact" and .cluster_nodes == 16 and .gpus_per_node == 4' <<<"$out"
check "goodput = throughput x efficiency" jq -e '[.one_node[], .many_nodes[] |
    (.goodput / (.throughput * .efficiency) - 1) | fabs < 1e-12] | all' <<<"$out"
check "batch = GPUs x m x (s+1), within the limits" jq -e '[.one_node[], .many_nodes[] |
    .batch == .replicas * .m * (.s + 1) and .batch >= 256 and .batch <= 16384 and .m >= 16 and .m <= 128] | all' <<<"$out"
check "speedup is over one GPU" jq -e '.one_node[0].goodput as $one | [.one_node[], .many_nodes[] |
    (.speedup * $one / .goodput - 1) | fabs < 1e-12] | all' <<<"$out"
# The model of the manual, computed again for four GPUs on two nodes.
check "the formulas of the manual" jq -e --slurpfile job $job '$job[0] as $j | $j.model as $p |
    (.many_nodes[] | select(.replicas == 4)) as $r |
    ($p.alpha_grad + $p.beta_grad * $r.m) as $grad | ($p.alpha_node + $p.beta_node * 2) as $sync |
    ($r.s * $grad + pow(pow($grad; $p.gamma) + pow($sync; $p.gamma); 1 / $p.gamma)) as $iter |
    ($j.init_batch * $j.grad.var / $j.grad.sqr) as $phi |
    (($phi + $j.init_batch) / ($phi + $r.batch)) as $efficiency |
    ($r.throughput / ($r.batch / $iter) - 1 | fabs < 1e-9) and ($r.efficiency / $efficiency - 1 | fabs < 1e-9)' <<<"$out"
exact=$out
run pollux goodput --json --search=reference $job
expect "the reference search" status=0 err= out~'"search": "reference"'
check "exact is no worse within max_batch" jq -en --argjson a "$exact" --argjson b "$out" '
    [[$a.many_nodes, $b.many_nodes] | transpose[] | .[1].batch > 16384 or .[0].goodput >= .[1].goodput * (1 - 1e-12)] | all'

# ---- Jobs with limits ------------------------------------------------------------------------

run pollux goodput --json --no-accumulation --max-local=100 $job
check "options override the file" jq -e '.one_node[0].goodput == 0 and .one_node[0].m == null and
    .one_node[2].m <= 100 and ([.many_nodes[].s // 0] | max) == 0' <<<"$out"
check "speedup is over the fewest legal GPUs" jq -e '.one_node[2].speedup == 1' <<<"$out"
run pollux goodput --no-accumulation --max-local=100 $job
expect "rows without a legal batch" status=0 out~'^ +1 +1 +- +- +- +- +- +- +-$' out~'times that of 3'
run pollux goodput --no-accumulation --max-local=100 --max-replicas=2 $job
expect "no legal batch at all" status=2 out= err~'no batch is legal on 1 to 2 GPUs'
run pollux goodput --noise-scale=0 $job
expect "no noise: a larger batch gains nothing" status=0 out~'^ +64 +16 +1024 +16 '

most_gain='[.one_node[], .many_nodes[] | select(.batch) | .efficiency * .batch / 256] | max'
run pollux goodput --json $job
check "without a limit the gain is large" jq -e "$most_gain > 8" <<<"$out"
run pollux goodput --json - < <(jq '.gain_max = 2' $job)
check "gain_max of the file limits the gain" jq -e "($most_gain) as \$g | \$g > 1.99 and \$g < 2.01" <<<"$out"
limited=$out
run pollux goodput --json --gain-max=2 $job
expect "--gain-max is the same" status=0 err= out="$limited"
run pollux goodput --json --gain-max=2 --search=reference $job
check "the reference search honours it, too" jq -e "$most_gain <= 2.0000001" <<<"$out"
run pollux goodput --json --noise-scale=9000 - < <(jq '.gain_max = 2' $job)
check "another noise scale leaves the limit" jq -e "$most_gain <= 2.0000001" <<<"$out"
for wrong in 0.5 0 x inf; do
    run pollux goodput --gain-max=$wrong $job
    expect "--gain-max=$wrong" status=2 out= err~"--gain-max: expected a number from 1 to 1e\+12, got '$wrong'"
done

jq '.model |= (map_values(0) | .alpha_grad = 1e-320 | .gamma = 1)' $job >"$tmp/job.json"
for json in "" --json; do
    run pollux goodput $json "$tmp/job.json"
    expect "steps that take no time $json" status=2 out= err~'model: expected steps that take time, got [0-9.e-]+ s'
done

# missing FIELD: a job without it is refused, with the repair.
missing()
{
    jq "del(.$1)" $job >"$tmp/job.json"
    run pollux goodput "$tmp/job.json"
    expect "without $1" status=2 out= err~"job.json:1:1: $1: expected .*$2.*, got nothing"
}
missing model 'pollux fit --json'
missing grad '--noise-scale'
missing init_batch '--init-batch'
missing max_batch '--max-batch'
missing min_local '--min-local'
missing max_local '--max-local'
jq '.model = null' $job >"$tmp/job.json"
run pollux goodput "$tmp/job.json"
expect "a model of null" status=2 err~'job.json:2:12: model: expected .*, got .null.'
jq '{model}' $job >"$tmp/job.json"
run pollux goodput "$tmp/job.json" --init-batch=256 --max-batch=16384 --min-local=16 --max-local=128 \
    --accumulation --noise-scale=3000
expect "options complete the object" status=0 out="$same" err=

# ---- Bad jobs ----------------------------------------------------------------------------------

# bad NAME TEXT MESSAGE: the beginning of the message, after the file's name.
bad()
{
    printf '%b' "$2" >"$tmp/bad.json"
    run pollux goodput "$tmp/bad.json"
    err=${err//"$tmp/"/}
    err=${err:0:${#3} + 25}
    expect "$1" status=2 out= err="pollux goodput: bad.json:$3"
}
bad "an empty file" '' '1:1: empty file: expected a JSON object'
bad "no JSON" 'model' "1:1: not well-formed JSON: '[' or '{' expected near 'model'"
bad "an array" '[]' '1:1: expected an object, got an array'
bad "cut short" '{"model": {\n  "alpha_grad": 0.1,' '2:20: not well-formed JSON: '
bad "a key twice" '{"grad": null,\n "grad": null}' '2:2: not well-formed JSON: duplicate object key'
bad "NaN" '{"init_batch": NaN}' '1:16: not well-formed JSON: invalid token'
bad "a number past a double's range" '{"init_batch": 1e999}' '1:16: not well-formed JSON: real number overflow'
bad "an integer past 64 bits" '{"init_batch": 99999999999999999999}' '1:16: not well-formed JSON: too big integer'
bad "binary garbage" '\177ELF\002\001\001\000' '1:1: not well-formed JSON: '
bad "a negative time" '{"model": {"alpha_grad": -1}}' \
    "1:26: model.alpha_grad: expected a number from 0 to 1e+12, got '-1'"
bad "a parameter missing" '{\r\n  "model": {"alpha_grad": 1}}' \
    '2:12: model.beta_grad: expected a number from 0 to 1e+12, got nothing'
bad "a batch of 0" '{"init_batch": 0}' \
    "1:16: init_batch: expected an integer from 1 to 1099511627776, got '0'"
bad "batches out of order" '{"init_batch": 64,\n "max_batch": 32}' \
    "2:15: max_batch: expected at least init_batch (64), got '32'"
bad "a byte-order mark is refused" '\xef\xbb\xbf{"accumulation": 1}' \
    "1:18: accumulation: expected true or false, got '1'"

run pollux goodput "$tmp/nosuch.json"
expect "a missing file" status=2 out= err~'nosuch.json: cannot read: No such file or directory$'
run pollux goodput "$tmp"
expect "a folder" status=2 out= err~'cannot read: Is a directory; expected a file$'
run pollux goodput /dev/zero
expect "an endless file" status=2 out= err~'too large: expected at most 1048576 bytes$'
run pollux goodput examples/synthetic-resnet.csv
expect "samples instead of a job" status=2 out= err~'1:1: not well-formed JSON'

# ---- Options -----------------------------------------------------------------------------------

run pollux goodput --nodes=0 $job
expect "no nodes" status=2 err="pollux goodput: --nodes: expected an integer from 1 to 1048576, got '0'"
run pollux goodput --gpus-per-node=four $job
expect "a word for a number" status=2 err~"--gpus-per-node: expected an integer from 1 to 1048576, got 'four'"
run pollux goodput --search=best $job
expect "an unknown search" status=2 err="pollux goodput: --search: expected exact or reference, got 'best'"
run pollux goodput --max-batch=100 $job
expect "an option that contradicts the file" status=2 err~'init_batch and max_batch: .*256 and 100'
run pollux goodput --nodes=1048576 --gpus-per-node=1048576 --max-replicas=1000 $job
expect "a very large cluster" status=0 err= out~'^1000 +2 |^ +1000 +'

# ---- Colours -----------------------------------------------------------------------------------

# on_terminal COMMAND...: its output on a terminal.
on_terminal() { script -qec "$*" /dev/null </dev/null | tr -d '\r'; }
if command -v script >/dev/null; then
    run on_terminal "TERM=xterm $POLLUX goodput $job"
    expect "colours on a terminal" out~$'\033''\[1mGPUs' out~$'\033''\[3[0-9]m\*'
    run on_terminal "TERM=xterm NO_COLOR=1 $POLLUX goodput $job"
    expect "no colours with NO_COLOR" out~'GPUs' out!$'\033'
    run on_terminal "TERM=dumb $POLLUX goodput $job"
    expect "no colours on a dumb terminal" out~'GPUs' out!$'\033'
else
    skip "colours: script(1) is not installed"
fi
