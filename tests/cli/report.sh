# SPDX-License-Identifier: Apache-2.0
# pollux report and pollux sim --report: one HTML file with the numbers of the simulation.  (How it looks in a browser: tests/web.)
. tests/cli/lib.sh

cat >"$tmp/small.csv" <<'END'
name,time,application,num_replicas,batch_size
a,0,cifar10,2,256
b,90,ncf,1,32768
</script><b>c,600,cifar10,1,128
d,600,bert,4,48
END
run pollux sim "$tmp/small.csv" --policy fifo --nodes 2 --report "$tmp/first.html"
if [ "$status" = 2 ] && grep -q 'built without npm' <<<"$err"; then
    run pollux report "$tmp/small.csv"
    expect "a build without the page says so" status=2 err~'^pollux report: this pollux was built without npm and has no reports; install npm'
    skip "reports: this build has no page"
    exit 0
fi
expect "a report in one step" status=0 err= out~'^fifo '

# data FILE: the document in a report.
data()
{
    sed -n 's:.*<script type="application/json" id="data">\(.*\)</script>.*:\1:p' "$1"
}

# ---- Numbers ---------------------------------------------------------------------------------

run pollux sim "$tmp/small.csv" --policy pollux,tiresias --nodes 2 --record "$tmp/runs" --json "$tmp/result.json" --report "$tmp/direct.html"
expect "several policies: journals, results and a report" status=0 err= out~'^pollux '
run pollux report "$tmp/runs/pollux-small.db" "$tmp/runs/tiresias-small.db" "$tmp/result.json" -o "$tmp/report.html"
expect "a report of journals and results" status=0 err= out=
data "$tmp/report.html" >"$tmp/report.json"
data "$tmp/direct.html" >"$tmp/direct.json"
check "four outcomes" jq -e '[.outcomes[] | [.policy, .workload, .has_events]] ==
    [["pollux", "small", true], ["tiresias", "small", true], ["pollux", "small", false], ["tiresias", "small", false]]' "$tmp/report.json"
for from in report direct; do
    check "$from: the numbers are those of pollux sim --json" jq -e --slurpfile result "$tmp/result.json" '
        def near($x; $y): ($x - $y | fabs) <= 1e-9 * ($y | fabs);
        all(.outcomes[]; .numbers as $is | $result[0].policies[.policy].workloads.small as $was |
            near($is.mean_jct; $was.avg_jct) and near($is.median_jct; $was.p50_jct) and near($is.p99_jct; $was.p99_jct) and
            near($is.makespan; $was.makespan) and near($is.utilisation; $was.utilisation) and
            near($is.restarts_per_job; $was.restarts_per_job) and near($is.worst_rho; $was.worst_rho) and
            near($is.unfair; $was.unfair_fraction) and near($is.slot_hours_per_job; $was.gpu_hours_per_job) and
            $is.rounds == $was.rounds and $is.jobs == 4 and $is.finished == 4)' "$tmp/$from.json"
    check "$from: completion times of every job" jq -e --slurpfile result "$tmp/result.json" '
        all(.outcomes[]; ([.jobs.name, .jobs.jct] | transpose | map({(.[0]): .[1]}) | add) as $is |
            $result[0].policies[.policy].workloads.small.jct as $was |
            ($is | keys) == ($was | keys) and all($is | keys[]; ($is[.] - $was[.] | fabs) <= 0.05))' "$tmp/$from.json"
done
check "the usage over time has the utilisation as mean" jq -e '.outcomes[0] |
    ((.usage.used | add) / (.usage.slots | add) - .numbers.utilisation | fabs) < 0.02' "$tmp/report.json"
check "timelines begin and end with the job" jq -e '.outcomes[0].jobs |
    [.changes, .jct] | transpose | all(.[]; .[0][0] >= 0 and .[0][-1] == 0 and (.[0][-2] - .[1] | fabs) <= 0.1)' "$tmp/report.json"
check "the commands that made them" jq -e '(.command | startswith("pollux report ")) and
    (.outcomes[0].command | startswith("pollux sim ")) and .outcomes[2].command == null' "$tmp/report.json"
check "results have completion times only" jq -e '.outcomes[2] | .usage == null and .jobs.rho == null and (.jobs | has("changes") | not)' "$tmp/report.json"
check "journals have rho of every job" jq -e '.outcomes[0].jobs.rho | length == 4 and all(.[]; . > 0)' "$tmp/report.json"

# ---- One file ----------------------------------------------------------------------------------

check "names of jobs cannot end the script" [ "$(grep -c '</script><b>' "$tmp/report.html")" = 0 ]
check "and are whole" jq -e '.outcomes[0].jobs.name | index("</script><b>c")' "$tmp/report.json"
check "nothing is loaded" [ "$(grep -Eci '<link|<script[^>]* src=|<img|@import|url\(.?http' "$tmp/report.html")" = 0 ]
run pollux report "$tmp/result.json" -o -
expect "to the standard output" status=0 err= out~'^<!doctype html>'
run pollux sim "$tmp/small.csv" --policy fifo --nodes 2 --report -
expect "pollux sim: the report only" status=0 err= out~'^<!doctype html>' out!'^fifo '

# here COMMAND...: in the folder of this test.
case $POLLUX in /*) ;; *) POLLUX=$PWD/$POLLUX ;; esac
here() { (cd "$tmp" && "$@"); }
run here pollux report result.json
expect "report.html by default" status=0 err= out=
check "is there, readable for others as the umask says" [ "$(stat -c %a "$tmp/report.html")" = "$(printf %o $((0666 & ~$(umask))))" ]
check "no draft is left" [ "$(echo "$tmp"/report.html*)" = "$tmp/report.html" ]

# ---- Old, damaged and foreign files ---------------------------------------------------------------

here sqlite3 runs/pollux-small.db "DELETE FROM meta WHERE key = 'recording'"
run here pollux report runs/pollux-small.db -o plain.html
expect "a journal without a recording" status=0 err=
check "has no rho" jq -e '.outcomes[0] | .jobs.rho == null and .numbers.worst_rho == null and .command == null and .numbers.mean_jct > 0' <<<"$(data "$tmp/plain.html")"
here sqlite3 runs/pollux-small.db "INSERT INTO meta VALUES ('recording', '{\"version\": 1, \"rho\": {\"a\": -1}}')"
run here pollux report runs/pollux-small.db -o damaged.html
expect "a damaged recording" status=2 err~'runs/pollux-small\.db, recording:1:[0-9]+: rho\.a: expected a number from 0'
here sqlite3 runs/pollux-small.db "UPDATE meta SET value = '{\"version\": 2}' WHERE key = 'recording'"
run here pollux report runs/pollux-small.db -o damaged.html
expect "a newer recording" status=2 err~'recording:1:[0-9]+: version: '
here sqlite3 runs/tiresias-small.db "UPDATE meta SET value = '99' WHERE key = 'version'"
run here pollux report runs/tiresias-small.db -o damaged.html
expect "a journal of a newer version" status=2 err~'its version is 99'
check "no report of damaged files" [ ! -e "$tmp/damaged.html" ]
run here pollux report
expect "no operands" status=2 err='pollux report: expected journals (FILE.db) or results (RESULT.json)'
run here pollux report nosuch.db
expect "a missing file" status=2 err~'nosuch\.db: cannot open it: No such file or directory'
run here pollux report small.csv
expect "not a journal" status=2 err~'small\.csv: '
echo '{"policies": {"x": {"workloads": {"y": {"jct": {"a": "b"}}}}}}' >"$tmp/wrong.json"
run here pollux report wrong.json
expect "not a result" status=2 err~'wrong\.json:1:[0-9]+: policies\.x\.workloads\.y\.jct\.a: expected a number'
run here pollux report result.json -o no/where.html
expect "a folder that is missing" status=2 err~'no/where\.html: cannot write: No such file or directory'
run here pollux report result.json -o /dev/full
expect "a full disk" status=1 err~'/dev/full: cannot write: No space left on device'

# ---- What is not overwritten -------------------------------------------------------------------

cp "$tmp/runs/pollux-small.db" "$tmp/kept.db"
run pollux report "$tmp/result.json" -o "$tmp/kept.db"
expect "not a journal" status=2 err~'kept.db: it is a database, perhaps a journal: give the output another name'
run pollux report "$tmp/kept.db" -o "$tmp/kept.db"
expect "not an input" status=2 err~'kept.db: it is an input'
run pollux extract "$tmp/kept.db" --workload "$tmp/kept.db"
expect "nor by extract" status=2 err~'it is a database'
cp "$tmp/small.csv" "$tmp/kept.csv"
run pollux sim "$tmp/kept.csv" --policy fifo --json "$tmp/kept.csv"
expect "nor a workload" status=2 err~'kept.csv: it is an input'
run pollux sim "$tmp/kept.csv" --policy fifo --json "$tmp/both" --report "$tmp/both"
expect "one name for two outputs" status=2 err~'--report: expected another name than that of --json'
check "they are as they were" cmp "$tmp/kept.csv" "$tmp/small.csv"
check "the journal, too" cmp "$tmp/kept.db" "$tmp/runs/pollux-small.db"
