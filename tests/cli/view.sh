# SPDX-License-Identifier: Apache-2.0
# pollux view: the page and the API from a journal, read-only, behind a token, at any time of the journal.  (In a browser: tests/web.)
. tests/cli/lib.sh

cat >"$tmp/small.csv" <<'END'
name,time,application,num_replicas,batch_size
a,0,cifar10,2,256
b,90,ncf,1,32768
c,600,cifar10,1,128
d,600,bert,4,48
END
journal=$tmp/run.db
run pollux sim "$tmp/small.csv" --policy pollux --nodes 2 --record "$journal" --json "$tmp/result.json"
expect "a simulation is recorded" status=0 err=

# until_true COMMAND...: wait until it succeeds; fails after a minute.
until_true()
{
    local until=$((SECONDS + 60))
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -le $until ] || return 1
        sleep 0.02
    done
}
. tests/cli/lib_view.sh
has_ended() { [ "$(ask "$url/v1/playback" | jq .ended)" = true ]; }

start "$journal" --paused
if grep -q 'built without npm' "$tmp/view.err"; then
    wait $view
    check "a build without the page says so" [ $? = 2 ]
    skip "pollux view: this build has no page"
    exit 0
fi
check "it prints one address on loopback with a token" grep -Eqx 'http://127\.0\.0\.1:[0-9]+/#token=[0-9a-f]{64}' "$tmp/view"
first=$token

# ---- Access ------------------------------------------------------------------------------------

check "the page needs no token" [ "$(code "$url/")" = 200 ]
check "data need one" [ "$(code "$url/v1/jobs")" = 401 ]
check "a wrong one is refused" [ "$(code -H "Authorization: Bearer ${token//[0-9]/0}" "$url/v1/jobs")" = 401 ]
check "the right one is taken" [ "$(code -H "Authorization: Bearer $token" "$url/v1/jobs")" = 200 ]
check "another host name is refused" [ "$(code -H "Authorization: Bearer $token" -H 'Host: evil.example' "$url/v1/jobs")" = 421 ]
check "a page of another site is refused" [ "$(code -H "Authorization: Bearer $token" -H 'Origin: http://evil.example' "$url/v1/jobs")" = 403 ]
for what in 'POST jobs' 'POST jobs/a/cancel' 'POST nodes/n0/drain' 'GET tokens' 'GET jobs/a/logs'; do
    check "$what is refused" [ "$(code -X "${what% *}" -H "Authorization: Bearer $token" "$url/v1/${what#* }")" = 403 ]
done
check "the sentence names the role" jq -e '.error | test("read-only")' <<<"$(ask -X POST "$url/v1/jobs/a/cancel")"

# ---- Times ------------------------------------------------------------------------------------

until_at=$(ask "$url/v1/playback" | jq .until_at)
last=$(sqlite3 "$journal" 'SELECT max(at_us) / 1e6 FROM events')
check "the journal's times" jq -e --argjson last "$last" '.from_at == 0 and .until_at == $last and .at == 0 and .playing == false and
    .ended == false and .name == "run.db" and .history_until_at == null' <<<"$(ask "$url/v1/playback")"
check "at the beginning there are nodes and no finished job" jq -e '.nodes == 2 and .jobs.finished == 0' <<<"$(ask "$url/v1/status")"
for time in 300 "$until_at" 700 61; do
    check "jump to $time" at "$time"
    jobs=$(sqlite3 "$journal" "SELECT count(*) FROM events WHERE type = 'SUBMIT' AND at_us <= $time * 1000000")
    done=$(sqlite3 "$journal" "SELECT count(*) FROM events WHERE type = 'EXIT' AND json_extract(body, '\$.kind') = 'finished' AND at_us <= $time * 1000000")
    check "at $time s: submitted and finished jobs as in the journal" jq -e --argjson jobs "$jobs" --argjson done "$done" \
        '([.jobs[]] | add) == $jobs and .jobs.finished == $done' <<<"$(ask "$url/v1/status")"
done
check "jump into the run" at 400
check "explain" jq -e '.sentences | length > 0' <<<"$(ask "$url/v1/jobs/a/explain")"
check "the history of a job ends at the moment" jq -e '(.points.at | max) <= 400 and .points.replicas[-1] > 0' <<<"$(ask "$url/v1/jobs/a/history")"
check "the history of the cluster" jq -e '(.minutes.at | length) >= 6 and (.minutes.at | max) <= 400 and .minutes.slots[3] == 8' <<<"$(ask "$url/v1/history")"
round=$(ask "$url/v1/rounds" | jq '.rounds[0].round')
check "the last round is at or before the moment" jq -e '.rounds[0].at <= 400' <<<"$(ask "$url/v1/rounds")"
check "a round shows its plan" jq -e '.after != null' <<<"$(ask "$url/v1/rounds/$round")"
run ask -m 1 "$url/v1/watch"
expect "the stream begins with a snapshot" out~'^event: snapshot' out~'"playback":\{"from_at"' out~'"role":"read-only"'

# ---- Playing -----------------------------------------------------------------------------------

play '{"at": 0, "speed": 100000, "playing": true}' >/dev/null
until_true has_ended
check "it is played to the end" jq -e '.ended and (.playing | not) and .at == .until_at' <<<"$(ask "$url/v1/playback")"
check "the mean completion time is that of pollux sim --json" jq -e --slurpfile result "$tmp/result.json" '
    [.jobs[] | .ended_at - (.submitted_at // 0)] | length == 4 and
    ((add / length) - $result[0].policies.pollux.workloads.small.avg_jct | fabs) < 1e-6' <<<"$(ask "$url/v1/jobs")"
check "a wrong speed is refused" jq -e '.error | test("speed: expected")' <<<"$(play '{"speed": 0}')"
check "an empty request is refused" jq -e '.error | test("expected at, speed or playing")' <<<"$(play '{}')"
before=$(sha256sum <"$journal")
stop
check "Ctrl-C ends it with 0" [ "$status" = 0 ]
check "nothing is printed but the address" [ ! -s "$tmp/view.err" ]
check "the journal has not changed" [ "$(sha256sum <"$journal")" = "$before" ]
check "nothing is left beside it" [ "$(echo "$journal"*)" = "$journal" ]

# ---- Options ------------------------------------------------------------------------------------

start "$journal" --paused
check "by default it plays the whole in two and a half minutes at most" jq -e --argjson until "$until_at" \
    '.speed == (first(1, 10, 60, 300, 1000, 3600, 10000, 100000 | select($until / . <= 150)))' <<<"$(ask "$url/v1/playback")"
stop
start "$journal" --at end --speed 7.5
check "start at the end, with a speed" jq -e '.at == .until_at and .speed == 7.5' <<<"$(ask "$url/v1/playback")"
check "each start has its own token" [ "$token" != "$first" ]
port=${url##*:}
run pollux view "$journal" --port "$port"
expect "a port in use" status=2 err~"127\.0\.0\.1:$port"
stop TERM
check "SIGTERM ends it with 0" [ "$status" = 0 ]

# ---- Old, read-only and damaged files ---------------------------------------------------------------

sqlite3 "$tmp/old.db" <tests/unit/journal-2.sql
before=$(sha256sum <"$tmp/old.db")
start "$tmp/old.db" --at end
check "a journal of version 2 is shown" jq -e '.jobs | length > 0' <<<"$(ask "$url/v1/jobs")"
stop
check "and is not migrated" [ "$(sha256sum <"$tmp/old.db")" = "$before" ]
cp "$journal" "$tmp/damaged.db"
sqlite3 "$tmp/damaged.db" "UPDATE events SET body = '{}' WHERE seq = (SELECT max(seq) FROM events WHERE type = 'START')"
start "$tmp/damaged.db" --at end
until_true [ -s "$tmp/view.err" ]
check "a damaged event is named" grep -Eq '^pollux view: .*damaged\.db, event [0-9]+:.*; it is shown up to there$' "$tmp/view.err"
check "the journal is shown up to there" jq -e '.until_at > 0 and .until_at < '"$until_at" <<<"$(ask "$url/v1/playback")"
stop
run pollux view "$tmp/nosuch.db"
expect "a missing file" status=2 out= err~'nosuch\.db: cannot open it: No such file or directory'
run pollux view "$tmp/small.csv"
expect "not a journal" status=2 out= err~'small\.csv: '
cp "$journal" "$tmp/new.db"
sqlite3 "$tmp/new.db" "UPDATE meta SET value = '99' WHERE key = 'version'"
run pollux view "$tmp/new.db"
expect "a journal of a newer version" status=2 out= err~'new\.db: its version is 99'
run pollux view
expect "no operand" status=2 err~'expected FILE\.db'
