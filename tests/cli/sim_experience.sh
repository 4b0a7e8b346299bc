# SPDX-License-Identifier: Apache-2.0
# pollux sim --experience: jobs learn from earlier ones of their application; --job-spread: jobs of one application differ.
. tests/cli/lib.sh

workload=tests/data/osdi21/workloads/workload-1.csv
head -n 61 $workload >"$tmp/w.csv"
jct() { # the mean JCT with these options
    run pollux sim "$tmp/w.csv" --policy pollux-jct --json - --no-times --nodes 4 "$@"
    jq '.policies["pollux-jct"].workloads.w.avg_jct' <<<"$out"
}

off=$(jct) on=$(jct --experience on) wrong=$(jct --experience wrong)
check "off is the default" [ "$(jct --experience off)" = "$off" ]
check "with experience jobs end earlier: $on instead of $off s" [ "$(jq -n "$on < $off")" = true ]
check "wrong experience helps less: $wrong s" [ "$(jq -n "$on < $wrong")" = true ]
check "and costs at most 2 %" [ "$(jq -n "$wrong < 1.02 * $off")" = true ]

spread=$(jct --job-spread 0.3)
check "jobs that differ take other times: $spread s" [ "$spread" != "$off" ]
check "the same with the same seed" [ "$(jct --job-spread 0.3)" = "$spread" ]
check "others with another" [ "$(jct --job-spread 0.3 --seed 1)" != "$spread" ]
# On a cluster of the size that it asks for, rho compares a job with itself, not with a typical one of its application.
sed -n '1p;2p' "$tmp/w.csv" >"$tmp/one.csv"
alone() { # FIELD OPTION...: of a workload of one job
    local field=$1
    shift
    run pollux sim "$tmp/one.csv" --policy fifo --nodes 2 --json - --no-times "$@"
    jq ".policies.fifo.workloads.one.$field" <<<"$out"
}
times="$(alone avg_jct) and $(alone avg_jct --job-spread 1)" rho=$(alone worst_rho --job-spread 1)
check "a job alone takes another time: $times s" [ "${times% and *}" != "${times#* and }" ]
check "and is compared with itself: rho is $rho" [ "$(jq -n "$rho > 0.95 and $rho < 1.2")" = true ]

for options in "" "--node-group t4:3x4,a100:1x8"; do
    # shellcheck disable=SC2086
    run pollux sim "$tmp/w.csv" --policy pollux --experience on --job-spread 0.2 --record "$tmp/r.db" $options
    expect "a simulation with experience is recorded${options:+, with types}" status=0
    run pollux replay "$tmp/r.db"
    expect "and replayed" status=0
    check "its rounds say so" [ "$(sqlite3 "$tmp/r.db" "select count (*) from events where type = 'ROUND' and body not like '%\"experience\":true%'")" = 0 ]
    rm -f "$tmp"/r.db*
done
run pollux sim "$tmp/w.csv" --policy pollux,pollux-jct,sia --experience wrong --job-spread 1 --node-group t4:3x4,a100:1x8,rtx2080ti:1x8
expect "very different jobs that name wrong applications, on three types" status=0

for wrong in --experience=maybe --job-spread=-1 --job-spread=4; do
    run pollux sim "$tmp/w.csv" "$wrong"
    expect "refused: $wrong" status=2 err~"${wrong%%=*}"
done
