# SPDX-License-Identifier: Apache-2.0
# Several types of GPUs: pollux-jct against sia, and sia and gavel against the published code.  docs/policies.md has the figures.
#
#     POLLUX=build/gcc/pollux bash tests/soak/types.sh
#
# SEEDS: seeds of the simulations, which only break ties; 0 to 4 by default.
. tests/cli/lib.sh
read -ra seeds <<<"${SEEDS-0 1 2 3 4}"
data=${POLLUX_TYPE_DATA-../shared/types}
cluster=t4:6x4,a100:2x8,rtx2080ti:3x8

# simulate NAME POLICIES ARGUMENT...: the results of all seeds, as the files NAME-SEED.json.
simulate()
{
    local name=$1 policies=$2 seed
    shift 2
    for seed in "${seeds[@]}"; do
        pollux sim --node-group "$cluster" "$@" --policy "$policies" --seed "$seed" --no-times --json "$tmp/$name-$seed.json" >"$tmp/.out" ||
            not_ok "$name, seed $seed: the simulation ends" "$(<"$tmp/.out")"
    done
}

# ---- pollux-jct against sia, on the built-in profiles ----

simulate built-in pollux-jct,sia tests/data/types/workloads
jq -rs 'def mean: add / length;
    def p99: sort | (0.99 * (length - 1)) as $at | ($at | floor) as $i | .[$i] + (.[$i + 1] - .[$i]) * ($at - $i);
    def student: [12.706, 4.303, 3.182, 2.776, 2.571][length - 2]; # 95 %, of two to six values
    def interval: mean as $mean | student * (map((. - $mean) * (. - $mean)) | add / (length - 1) / length | sqrt);
    map(.policies | {jct: .["pollux-jct"].workloads, sia: .sia.workloads}) |
    (map(.jct | keys[]) | unique) as $names |
    [$names[] as $name | map(100 * (1 - .jct[$name].avg_jct / .sia[$name].avg_jct)) | mean] as $below |
    def both(f): [map(.jct[]) | f] + [map(.sia[]) | f];
    both(map(.jct[]) | p99) as $p99 | both(map(.worst_rho) | mean) as $rho |
    "\($below | mean) \($below | interval) \($p99[0]) \($p99[1]) \($rho[0]) \($rho[1])"' "$tmp"/built-in-*.json >"$tmp/figures"
read -r below interval p99 sia_p99 rho sia_rho <"$tmp/figures"
printf 'note: mean JCT of pollux-jct %.1f +- %.1f %% below sia; p99 of all jobs %.0f s, sia %.0f s; mean of the worst rhos %.3f, sia %.3f\n' \
    "$below" "$interval" "$p99" "$sia_p99" "$rho" "$sia_rho"
check "the mean JCT of pollux-jct is at least 13 % below sia" jq -en "$below >= 13"
check "the p99 of all jobs is at most 1.05 of sia" jq -en "$p99 <= 1.05 * $sia_p99"
check "the mean of the worst rhos is at most 1.05 of sia" jq -en "$rho <= 1.05 * $sia_rho"

# ---- The published code, on measured step times ----

if [ ! -d "$data" ]; then
    skip "no $data: measurements of GPU types, which are not distributed"
    exit
fi

# compare POLICY WORKLOAD PER-CENT: mean JCT, mean of all seeds, against the published code's.
compare()
{
    local name=$1-$2 ours published
    simulate "$name" "$1" --traces "$data/traces" "$data/workloads/$2.csv"
    ours=$(jq -s "map(.policies[].mean_avg_jct) | add / length" "$tmp/$name"-*.json)
    published=$(jq .avg_jct "$data/golden/sia/$name.json")
    printf 'note: %s: %.0f s, published %.0f s\n' "$name" "$ours" "$published"
    check "$name: the mean JCT is within $3 % of the published code" jq -en "($ours / $published - 1 | fabs) <= $3 / 100"
}

compare sia philly-1 5
compare sia saturn-1 5
compare gavel philly-1 10
