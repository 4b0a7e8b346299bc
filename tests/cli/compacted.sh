# SPDX-License-Identifier: Apache-2.0
# A journal that polluxd has compacted: pollux view plays it from its snapshot on, pollux report says so and has all jobs.
. tests/cli/lib_daemon.sh
. tests/cli/lib_view.sh

echo "keep_events: 1000" >"$tmp/config.yaml"
journal=$state/journal.db
events() { sqlite3 "$journal" "SELECT $1 FROM events"; }
compacted() { [ "$(events 'min(seq)')" -gt 1 ]; }
# Short rounds, so that there are many events.
start_daemon --config "$tmp/config.yaml" --node a:2 --node b:2 --interval 0.01
submit early -- true
soon "a job ends before the snapshot" has_ended early
submit long --max 2 -- "$worker"
soon "the journal is compacted" compacted
stop_daemon
start_daemon --node a:2 --node b:2 --interval 1 # it compacts no more
submit late -- true
soon "a job ends after it" has_ended late
end_jobs long
stop_daemon
check "the first job is in the snapshot only" [ "$(events "count(*) FILTER (WHERE type = 'SUBMIT')")" -lt 3 ]

start "$journal" --paused
if grep -q 'built without npm' "$tmp/view.err"; then
    wait $view
    skip "a compacted journal: this build has no page"
    exit 0
fi
now() { ask "$url/v1/playback" | jq ".$1"; }
from=$(now from_at)
check "it begins between the first two ends of jobs" [ "$(events 'min(at_us)')" -ge "$(jq -n "$from * 1000000 | floor")" ]
check "at its beginning the first job has ended, the last one is not there" jq -e '
    [.jobs[] | {(.name): .phase}] | add | .early == "finished" and (.long | . == "running" or . == "pending") and .late == null' <<<"$(ask "$url/v1/jobs")"
check "the charts show what was before" jq -e --argjson from "$from" '.minutes.at | length > 0 and min < $from' <<<"$(ask "$url/v1/history")"
check "the job's past begins before it, too" jq -e --argjson from "$from" '.points.at | min < $from' <<<"$(ask "$url/v1/jobs/long/history")"
play '{"speed": 100000, "playing": true}' >/dev/null
is_over() { [ "$(now ended)" = true ]; }
soon "it is played to the end" is_over
check "then all jobs have ended" jq -e '[.jobs[].phase] == ["finished", "finished", "finished"]' <<<"$(ask "$url/v1/jobs")"
check "back to the beginning" at "$from"
stop
check "the journal is shown without a complaint" [ ! -s "$tmp/view.err" ]

run pollux report "$journal" -o "$tmp/report.html"
expect "a report" status=0 out= err=
sed -n 's:.*<script type="application/json" id="data">\(.*\)</script>.*:\1:p' "$tmp/report.html" >"$tmp/report.json"
check "it says that the journal begins with a snapshot, and when" jq -e --argjson from "$from" '
    .outcomes[0] | .compacted and (.from - $from | fabs) < 1e-3 and .numbers.slot_hours_per_job == null' "$tmp/report.json"
check "it has all jobs with their completion times" jq -e '
    .outcomes[0] | .numbers.jobs == 3 and .numbers.finished == 3 and (.jobs.name | sort) == ["early", "late", "long"] and all(.jobs.jct[]; . > 0)' "$tmp/report.json"
