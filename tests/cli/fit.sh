# SPDX-License-Identifier: Apache-2.0
# pollux fit: output for good samples, and messages about bad ones.
. tests/cli/lib.sh

samples=examples/synthetic-resnet.csv
header=nodes,replicas,local_bsz,grad_s,step_s

# ---- Good samples ----------------------------------------------------------------------------

check "the shipped samples come from their awk script" diff <(awk -f examples/synthetic-resnet.awk) $samples

run pollux fit $samples
expect "tables as text" status=0 err= out~'fitted to 30 samples' out~'^alpha_grad +0\.02' \
    out~'^gamma ' out~'^ +2 +1 +1 +24 ' out~'^ +31 +8 +32 +96 ' out~'^Quality: .*%.*loss' \
    out~'^Farthest: line [0-9]+,' out!assumed
same=$out
run pollux fit - <$samples
expect "the standard input" status=0 out="$same" err=
run pollux fit <(cat $samples)
expect "a pipe" status=0 out="$same" err=

# The fit recovers the parameters of the samples (examples/synthetic-resnet.awk), within their noise.
run pollux fit --json $samples
expect "a job object" status=0 err=
near() { jq -e --argjson want "$2" --argjson part "$3" "($1 / \$want - 1) | fabs < \$part" <<<"$out"; }
check "alpha_grad is found" near .model.alpha_grad 0.028 0.1
check "beta_grad is found" near .model.beta_grad 0.0026 0.05
check "alpha_node is found" near .model.alpha_node 0.095 0.15
check "beta_node is found" near .model.beta_node 0.0035 0.15
check "the fit is as good as the noise" jq -e '.fit.grad_error < 0.025 and .fit.step_error < 0.025' <<<"$out"
check "the fit's samples are counted" jq -e '.fit.samples == 30 and .fit.largest_replicas == 32' <<<"$out"
check "unknown fields are left out" jq -e 'keys == ["fit", "model"]' <<<"$out"

run pollux fit $samples --json --init-batch=256 --max-batch=16384 --min-local=16 --max-local=128 \
    --accumulation --noise-scale=3000
expect "a whole job object" status=0 err=
check "the object has the given values" jq -e '.init_batch == 256 and .max_batch == 16384 and .min_local == 16 and
    .max_local == 128 and .accumulation and 256 * .grad.var / .grad.sqr == 3000' <<<"$out"
check "the shipped object is this one" jq -e --slurpfile shipped examples/synthetic-resnet.json '
    $shipped[0] as $s | (del(.model, .fit) == ($s | del(.model, .fit))) and
    ([.model, $s.model] | [map(to_entries) | transpose[] | (.[0].value / .[1].value - 1) | fabs < 0.01] | all)' <<<"$out"
pollux fit $samples --json --init-batch=256 --max-batch=16384 --min-local=16 --max-local=128 \
    --grad-sqr=2 --grad-var=8 --gain-max=4 --no-accumulation >"$tmp/job.json"
check "the limit of the gain is in the object" jq -e '.gain_max == 4 and .grad == {sqr: 2, var: 8}' "$tmp/job.json"
run pollux fit $samples --json --init-batch=256 --gain-max=4
expect "a limit of the gain needs gradient statistics" status=2 out= \
    err~"--gain-max needs --noise-scale, or --grad-sqr and --grad-var"
run pollux goodput "$tmp/job.json"
expect "pollux goodput accepts the object" status=0 err= out~'^Most goodput'

# The same samples in another format.
{ printf '\xef\xbb\xbf'; awk -F, '{ printf " \"%s\" ,%s,,%s,%s,%s\r\n\r\n", $5, $4, $3, $2, $1 }' $samples |
    sed 's/,,/,note,/;t;' ; } >"$tmp/dressed.csv"
sed -i '2,$s/,note,/,"a ""b"", c",/' "$tmp/dressed.csv"
run pollux fit --json "$tmp/dressed.csv"
dressed=$out
run pollux fit --json $samples
expect "BOM, CRLF, quotes, blank lines, other order, other columns" status=0 out="$dressed"

# A weight counts like equal rows.
awk -F, 'NR == 1 { print $0 ",weight" } NR > 1 { print $0 "," NR % 3 + 1 }' $samples >"$tmp/weights.csv"
awk -F, 'NR == 1 { print } NR > 1 { for (i = 0; i < NR % 3 + 1; i++) print }' $samples >"$tmp/repeated.csv"
run pollux fit --json "$tmp/weights.csv"
weighted=$(jq .fit.loss <<<"$out")
run pollux fit --json "$tmp/repeated.csv"
check "weights count like equal rows" jq -en "($weighted / $(jq .fit.loss <<<"$out") - 1) | fabs < 1e-8"

# Few samples: assumed parameters are named.
printf '%s\n1,1,32,0.05,0.05\n' $header >"$tmp/one.csv"
run pollux fit "$tmp/one.csv"
expect "one sample" status=0 err= out~'fitted to 1 sample:' out~'^alpha_grad .*assumed: all samples have one local_bsz' \
    out~'^alpha_node .*assumed: no sample on several nodes' out~'^gamma .*assumed'
printf '%s\n1,1,32,0.05,0.05\n1,2,64,0.09,0.1\n' $header >"$tmp/two.csv"
run pollux fit "$tmp/two.csv"
expect "two samples" status=0 out~'^alpha_grad .*samples$' out~'^alpha_local .*samples$' \
    out~'^beta_local .*assumed: no sample with more than two replicas'

# Many samples: those with the largest errors, or all.
awk 'NR == 1 { print } NR > 1 { for (i = 0; i < 4; i++) print }' $samples >"$tmp/many.csv"
run pollux fit "$tmp/many.csv"
check "of many samples 50 are listed" [ "$(grep -c '^ *[0-9]\+ .*%$' <<<"$out")" = 50 ]
run pollux fit --all "$tmp/many.csv"
check "with --all every sample is listed" [ "$(grep -c '^ *[0-9]\+ .*%$' <<<"$out")" = 120 ]

# ---- Bad samples -----------------------------------------------------------------------------

# bad NAME TEXT MESSAGE: the whole message, after the file's name.
bad()
{
    printf '%b' "$2" >"$tmp/bad.csv"
    run pollux fit "$tmp/bad.csv"
    err=${err//"$tmp/"/}
    expect "$1" status=2 out= err="pollux fit: bad.csv:$3"
}
good='1,1,32,0.05,0.05\n'
bad "an empty file" '' '1:1: empty file: expected a line that names the columns'
bad "only blank lines" '\n \r\n' '1:1: empty file: expected a line that names the columns'
bad "only a header" "$header\n" '2:1: no data: expected at least one row below the header'
bad "a missing column" "nodes,replicas,local_bsz,grad_s\n1,1,32,1\n" \
    "1:1: column 'step_s' is missing: expected it in the header, which has 'nodes', 'replicas', 'local_bsz', 'grad_s'"
bad "no header" "$good" \
    "1:3: column '1' appears twice: expected different names"
bad "a duplicate column" "$header,nodes\n1,1,32,1,1,1\n" \
    "1:40: column 'nodes' appears twice: expected different names"
bad "a short row" "$header\n${good}1,1,32,0.05\n" '3:1: too few fields: expected 5 as in the header, got 4'
bad "a long row" "$header\n1,1,32,0.05,0.05,7\n" '2:18: too many fields: expected 5'
bad "a word" "$header\n1,1,32,fast,0.05\n" \
    "2:8: column 'grad_s': expected a number from 1e-09 to 1e+09, got 'fast'"
bad "NaN" "$header\n${good}1,1,32,nan,0.05\n" \
    "3:8: column 'grad_s': expected a number from 1e-09 to 1e+09, got 'nan'"
bad "infinity" "$header\n1,1,32,0.05,inf\n" \
    "2:13: column 'step_s': expected a number from 1e-09 to 1e+09, got 'inf'"
bad "a negative time" "$header\n1,1,32,-0.05,0.05\n" \
    "2:8: column 'grad_s': expected a number from 1e-09 to 1e+09, got '-0.05'"
bad "a time of zero" "$header\n1,1,32,0.05,0\n" \
    "2:13: column 'step_s': expected a number from 1e-09 to 1e+09, got '0'"
bad "a number past a double's range" "$header\n1,1,32,1e999,0.05\n" \
    "2:8: column 'grad_s': expected a number from 1e-09 to 1e+09, got '1e999'"
bad "no nodes" "$header\n0,1,32,0.05,0.05\n" "2:1: column 'nodes': expected an integer from 1 to 1048576, got '0'"
bad "a fraction of a replica" "$header\n1,1.5,32,0.05,0.05\n" \
    "2:3: column 'replicas': expected an integer from 1 to 1048576, got '1.5'"
bad "an integer past 64 bits" "$header\n1,99999999999999999999,32,0.05,0.05\n" \
    "2:3: column 'replicas': expected an integer from 1 to 1048576, got '99999999999999999999'"
bad "fewer replicas than nodes" "$header\n4,2,32,0.05,0.05\n" \
    "2:3: column 'replicas': expected at least one replica on each of 4 nodes, got '2'"
bad "an empty field" "$header\n1,1,,0.05,0.05\n" \
    "2:5: column 'local_bsz': expected an integer from 1 to 1099511627776, got nothing"
for weight in 0 -1 1e-10 1e10; do
    bad "a weight of $weight" "$header,weight\n1,1,32,0.05,0.05,$weight\n" \
        "2:18: column 'weight': expected a number from 1e-09 to 1e+09, got '$weight'"
done
bad "an open quote" "$header\n\"1,1,32,0.05,0.05\n" \
    '2:1: quote is never closed: expected another one in the same line'
bad "binary garbage" '\177ELF\002\001\001\000\000' '1:1: control character 0x7f: expected a text file'
bad "not UTF-8" "$header\n1,1,32,0.05,\377\n" '2:13: byte 0xff: expected text in UTF-8'
bad "CRLF counts no line twice" "$header\r\n1,1,32,0.05,0.05\r\n1,x,32,0.05,0.05\r\n" \
    "3:3: column 'replicas': expected an integer from 1 to 1048576, got 'x'"

run pollux fit "$tmp/nosuch.csv"
expect "a missing file" status=2 out= err~'nosuch.csv: cannot read: No such file or directory$'
run pollux fit "$tmp"
expect "a folder" status=2 out= err~'cannot read: Is a directory; expected a file$'
run pollux fit /dev/null
expect "an empty standard input" status=2 err~'empty file'
head -c 300000 /dev/urandom >"$tmp/random"
run pollux fit "$tmp/random"
expect "random bytes" status=2 out= err~'^pollux fit: .*random:[0-9]+:[0-9]+: .*expected'
printf '%s\n' $header >"$tmp/secret.csv"
chmod 0 "$tmp/secret.csv"
if [ -r "$tmp/secret.csv" ]; then
    skip "an unreadable file: this user may read every file"
else
    run pollux fit "$tmp/secret.csv"
    expect "an unreadable file" status=2 out= err~'secret.csv: cannot read: Permission denied'
fi

# A million rows; the last is wrong, so that all are read and none fitted.
{ echo $header; yes 4,16,32,0.0534,0.0987 | head -n 1000000; echo 4,16,32,0.05,x; } >"$tmp/million.csv"
run pollux fit "$tmp/million.csv"
expect "a million rows are read" status=2 out= \
    err~"million.csv:1000002:14: column 'step_s': expected a number from 1e-09 to 1e\+09, got 'x'"

# ---- Options ---------------------------------------------------------------------------------

run pollux fit $samples --init-batch=256
expect "a job's options need --json" status=2 out= err~'add --json'
run pollux fit $samples --json --init-batch=0
expect "a batch of 0" status=2 err="pollux fit: --init-batch: expected an integer from 1 to 1099511627776, got '0'"
run pollux fit $samples --json --init-batch=64 --max-batch=32
expect "batches out of order" status=2 err~'init_batch and max_batch: .*64 and 32'
run pollux fit $samples --json --min-local=64 --max-local=32
expect "local batches out of order" status=2 err~'min_local and max_local: .*64 and 32'
run pollux fit $samples --json --grad-sqr=1
expect "only one of the two statistics" status=2 err~'add --grad-var'
run pollux fit $samples --json --grad-var=nan --grad-sqr=1
expect "invalid statistics" status=2 err~"--grad-var: expected a number from 0 to 1e\+300, got 'nan'"
run pollux fit $samples --json --noise-scale=10
expect "a noise scale without M0" status=2 err~'add --init-batch'
run pollux fit $samples --json --init-batch=8 --noise-scale=10 --grad-sqr=1
expect "statistics given twice" status=2 err~'give either it or them'
