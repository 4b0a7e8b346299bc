# SPDX-License-Identifier: Apache-2.0
# Times, on a quiet machine: the model that a job fits predicts the times of its steps, and a simulation of recorded
# jobs predicts their completion times.
. tests/cli/lib_daemon.sh
. tests/cli/lib_trainer.sh
adaptive=(--adaptive --launcher mpi --grace 60 --backoff 1 --env OMPI_MCA_mpi_yield_when_idle=1)

# ---- The fitted model ---------------------------------------------------------------------------

# A slow pace: the overhead of this machine is a small part of a step.
mkdir "$tmp/trace"
start_daemon --node left:2 --node right:2 --interval 1
submit job "${adaptive[@]}" --max 1 -- "$trainer" mlp --total 100000 --rate 0.05 --report 1 --samples 2048 \
    --trace "$tmp/trace" --pace 0.001 --pace-step 0.02 --pace-sync 0.01
trained() { [ "$(column "$tmp/trace" replicas | tail -n 200 | grep -c "^$1\$")" = 200 ]; }
for replicas in 1 2 4; do
    pollux scale job --min $replicas --max $replicas >/dev/null
    PATIENCE=600 soon "trained with $replicas replicas" trained $replicas
done
of job .hints.model >"$tmp/model.json"
pollux cancel job >/dev/null
soon "it is cancelled" has_ended job
stop_daemon
# Of every configuration with at least fifty updates: replicas, m, s, mean seconds of an update.
awk -F, 'NR > 1 { key = $3 "," $4 "," $5; if (key == last) { n[key]++; sum[key] += $11 } last = key }
    END { for (key in n) if (n[key] >= 50) print key "," sum[key] / n[key] }' "$tmp/trace/updates.csv" >"$tmp/means.csv"
check "there are three configurations at least" [ "$(wc -l <"$tmp/means.csv")" -ge 3 ]
# Two replicas are on one node, four on both.
predicted()
{
    jq -n -c --slurpfile model "$tmp/model.json" --rawfile rows "$tmp/means.csv" '
        $model[0] as $p | [$rows | split("\n")[] | select(. != "") | split(",") | map(tonumber) | . as [$k, $m, $s, $mean] |
            ($p.alpha_grad + $p.beta_grad * $m) as $grad |
            (if $k == 1 then 0 elif $k == 2 then $p.alpha_local else $p.alpha_node + $p.beta_node * ($k - 2) end) as $sync |
            {$k, $m, $s, $mean, ratio: (($s * $grad + pow(pow($grad; $p.gamma) + pow($sync; $p.gamma); 1 / $p.gamma)) / $mean)}]' |
        tee "$tmp/predicted.json" | jq -e 'all(.ratio > 0.85 and .ratio < 1.15)' || cat "$tmp/model.json"
}
predicted >/dev/null
check "the fitted model predicts every measured update within 15 %: $(jq -c 'map(.ratio * 100 | round / 100)' "$tmp/predicted.json")" \
    jq -e 'length >= 3 and all(.ratio > 0.85 and .ratio < 1.15)' "$tmp/predicted.json"

# ---- A mix of jobs, real and simulated ------------------------------------------------------------

rm -rf "$state"
start_daemon --node left:4 --node right:4 --interval 5 --restart-delay 2
number=0
for words in "mlp --total 4500" "cnn --total 2500" "mlp --total 3000" "cnn --total 2000"; do
    number=$((number + 1))
    # shellcheck disable=SC2086
    submit "mix$number" "${adaptive[@]}" -- "$trainer" $words --seed $number --report 2 --pace 0.001 --pace-step 0.01 \
        --pace-sync 0.005
    sleep 12
done
for number in 1 2 3 4; do
    PATIENCE=600 soon "job $number of the mix is done" is "mix$number" '.phase == "finished"'
done
real=$(pollux list --json | jq '[.jobs[] | .ended_at - .submitted_at] | add / length')
stop_daemon
run pollux extract "$state/journal.db" --workload "$tmp/mix.csv"
expect "their journal becomes profiles" status=0 err~'^pollux sim'
printf '%s\n' "$out" >"$tmp/mix.json"
words=$(sed -n 's|^pollux sim .* --profiles PROFILES ||p' <<<"$err")
# shellcheck disable=SC2086
simulated=$(pollux sim "$tmp/mix.csv" --profiles "$tmp/mix.json" $words --max-replicas 8 --json - |
    jq '.policies.pollux.mean_avg_jct')
check "mean JCT: real $real s, simulated $simulated s, within 15 %" \
    true_that "$simulated > 0.85 * $real && $simulated < 1.15 * $real"
[ -z "${POLLUX_KEEP-}" ] || cp "$state/journal.db" "$tmp/mix.csv" "$tmp/mix.json" "$POLLUX_KEEP"
check_rest "at the end"
