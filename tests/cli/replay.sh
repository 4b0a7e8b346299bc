# SPDX-License-Identifier: Apache-2.0
# pollux sim --record and pollux replay: equal plans, reports of differences, and messages about files
# that are not journals.
. tests/cli/lib.sh

cat >"$tmp/small.csv" <<'END'
name,time,application,num_replicas,batch_size
a,0,cifar10,2,256
b,90,ncf,1,32768
c,600,cifar10,1,128
d,600,bert,4,48
END
journal=$tmp/run.db

# ---- Equal plans ---------------------------------------------------------------------------

for policy in tiresias optimus fifo srtf las equal-share pollux; do
    run pollux sim "$tmp/small.csv" --policy $policy --nodes 2 --record "$tmp/$policy.db"
    expect "$policy is recorded" status=0 err= out~"^$policy "
    run pollux replay "$tmp/$policy.db"
    expect "$policy: the replay gives the same plans" status=0 err= out~"decided by $policy$" \
        out~'^All [1-9][0-9]* plans are the same when decided again$'
done
run pollux sim "$tmp/small.csv" --policy tiresias --nodes 2 --record "$tmp/option.db" --policy-option quantum=60
expect "an option is recorded" status=0 err=
check "the option is in every round" [ "$(sqlite3 "$tmp/option.db" "SELECT DISTINCT json_extract(body, '\$.policy_options.quantum')
    FROM events WHERE type = 'ROUND'")" = 60.0 ]
run pollux replay "$tmp/option.db"
expect "the replay uses the option" status=0 err= out~'plans are the same'
# A journal of an older version, whose policy had options that are gone.
run pollux sim "$tmp/small.csv" --policy pollux-jct --nodes 2 --record "$tmp/retired.db"
sqlite3 "$tmp/retired.db" "UPDATE events SET body = json_set(body, '\$.policy_options', json('{\"ageing\": 5000, \"least_hold\": 300}')) WHERE type = 'ROUND'"
run pollux replay "$tmp/retired.db"
expect "former options are read and have no effect" status=0 err= out~'plans are the same'
check "other journals do not mention options" [ "$(sqlite3 "$tmp/tiresias.db" \
    "SELECT count(*) FROM events WHERE body LIKE '%policy_options%'")" = 0 ]
run pollux sim --policy tiresias --record "$journal"
expect "the built-in workload is recorded" status=0 err=
check "only the owner can read the journal" [ "$(stat -c %a "$journal")" = 600 ]
check "the journal is one file" [ "$(echo "$journal"*)" = "$journal" ]
run pollux replay "$journal"
expect "the built-in workload is replayed" status=0 err= out~'events: 16 nodes, 160 jobs and [0-9]+ rounds in '
check "a reader leaves nothing behind" [ "$(echo "$journal"*)" = "$journal" ]
run pollux replay "$journal" --json
expect "JSON" status=0 err=
rounds=$(sqlite3 "$journal" "SELECT count(*) FROM events WHERE type = 'ROUND'")
check "all rounds, no difference" jq -e --argjson rounds "$rounds" '.same and .difference == null and
    .rounds == $rounds and .jobs == 160 and .nodes == 16 and .rounds_without_plan == 0 and
    .rounds_of_other_software == 0 and .until > 3600' <<<"$out"
check "sqlite3 reads the journal" [ "$(sqlite3 "$journal" \
    "SELECT count(DISTINCT json_extract(body, '$.application')) FROM events WHERE type = 'SUBMIT'")" = 6 ]

# ---- Recording ---------------------------------------------------------------------------------

run pollux sim "$tmp/small.csv" --policy fifo --record "$journal"
expect "an existing journal is not overwritten" status=2 err~'run\.db: there is a file of that name; choose another'
check "the existing journal is still valid" pollux replay "$journal"
run pollux sim "$tmp/small.csv" --policy fifo,las --record "$tmp/two.db"
expect "one policy only" status=2 err~'^pollux sim: --record takes one workload and one policy'
check "no journal is left of it" [ ! -e "$tmp/two.db" ]
run pollux sim "$tmp/small.csv" --policy fifo --record "$tmp/no/run.db"
expect "a missing folder" status=2 err~'no/run\.db: cannot create it: No such file or directory'
limited() { (trap '' XFSZ && ulimit -f 64 && pollux "$@"); }
run limited sim --policy tiresias --record "$tmp/large.db"
expect "no free space" status=1 err~'large\.db: cannot .*: writing failed'

# ---- Killed while recording ----------------------------------------------------------------------

$POLLUX sim --policy equal-share --nodes 24 --record "$tmp/killed.db" >/dev/null 2>&1 &
child=$!
for _ in {1..2000}; do
    [ "$(stat -c %s "$tmp/killed.db-wal" 2>/dev/null || echo 0)" -gt 400000 ] && break
    kill -0 $child 2>/dev/null || break
    sleep 0.005
done
{ kill -9 $child && wait $child; } 2>/dev/null
run pollux replay "$tmp/killed.db"
expect "committed events are complete" status=0 err= out~'^All [1-9][0-9]* plans are the same'

# ---- Differences -------------------------------------------------------------------------------

# changed NAME SQL EXPECTATION...: a copy of the journal after some SQL, replayed.
changed()
{
    local name=$1 sql=$2
    shift 2
    cp "$journal" "$tmp/changed.db"
    sqlite3 "$tmp/changed.db" "$sql"
    run pollux replay "$tmp/changed.db"
    expect "$name" "$@"
}
plan=$(sqlite3 "$journal" "SELECT seq FROM events WHERE type = 'PLAN' LIMIT 1 OFFSET 99")
at=$(sqlite3 "$journal" "SELECT at_us / 1000000 FROM events WHERE seq = $plan")
changed "another plan" "UPDATE events SET body = '{\"placements\":{}}' WHERE seq = $plan" status=1 err= \
    out~"^Round 100, at $at s, differs: policy tiresias, placement of job " \
    out~'^  recorded  0 replicas$' out~'^  decided   [1-9][0-9]* replicas?: n[0-9]+ x [0-9]+' \
    out!'plans are the same'
run pollux replay "$tmp/changed.db" --json
expect "another plan, as JSON" status=1 err=
check "the difference in detail" jq -e --argjson at "$at" '(.same | not) and (.difference |
    .round == 100 and .at == $at and .policy == "tiresias" and .part == "placement" and
    .recorded == {} and (.decided | length > 0) and (.job | length > 0))' <<<"$out"
run pollux replay "$tmp/changed.db" --tolerance 1
expect "placements have no tolerance" status=1
changed "other ranks" "UPDATE events SET body = replace(body, '\"n0\":4,\"n1\":4', '\"n1\":4,\"n0\":4')
    WHERE type = 'PLAN'" status=1 out~'recorded .*n1 x 4, n0 x 4' out~'decided .*n0 x 4, n1 x 4'
changed "other earlier events" "UPDATE events SET body = replace(body, '\"slots\":4', '\"slots\":3')
    WHERE type = 'NODE'" status=1 out~'^Round '
changed "another version, the same plans" "UPDATE events SET body =
    replace(body, '\"software\":\"', '\"software\":\"0.0.') WHERE type = 'ROUND'" status=0 err= \
    out~'rounds were decided by pollux 0\.0\.[0-9.]+; this is pollux [0-9.]+, which may decide' \
    out~'plans are the same'
changed "the last events are missing" "DELETE FROM events WHERE seq >= $plan" status=0 err= \
    out~'^All 99 plans are the same' out~'^1 round has no plan: recording stopped there'
cp "$tmp/pollux.db" "$tmp/changed.db"
sqlite3 "$tmp/changed.db" "UPDATE events SET body = json_set(body, '$.fitness',
    json_extract(body, '$.fitness') * (1 + 1e-12)) WHERE type = 'PLAN' AND body LIKE '%fitness%'"
run pollux replay "$tmp/changed.db"
expect "a number" status=1 err= out~'differs: policy pollux, fitness$' out~'^  recorded  0?\.?[0-9.]+'
run pollux replay "$tmp/changed.db" --tolerance 1e-9
expect "a number within the tolerance" status=0 err=

# ---- Bad files -----------------------------------------------------------------------------------

changed "an unknown type" "UPDATE events SET type = 'MERGE' WHERE seq = 50" status=2 out= \
    err~"changed\.db, event 50: the type is 'MERGE', which this version does not know"
changed "an unknown policy" "UPDATE events SET body = replace(body, 'tiresias', 'oracle')" status=2 out= \
    err~"changed\.db, event [0-9]+: no policy is called 'oracle'; there are pollux, "
changed "an event out of order" "UPDATE events SET at_us = 1 WHERE seq = 100" status=2 out= \
    err~'changed\.db, event 100: damaged: it does not fit those before: [A-Z]+ at 1 us, after an event at '
changed "an event missing" "DELETE FROM events WHERE seq = 50" status=2 err~'damaged: event 50 is missing'
changed "a malformed body" "UPDATE events SET body = '{\"name\":4}' WHERE seq = 3" status=2 \
    err~"changed\.db, event 3:1:9: name: expected a name of 1 to 63 bytes, got '4'"
changed "a newer version" "UPDATE meta SET value = '7' WHERE key = 'version'" status=2 out= \
    err~'changed\.db: its version is 7, and this is pollux .*, which reads versions up to 4; use a newer'
changed "more tables" "CREATE TABLE more (x)" status=2 err~'its tables are not those of a journal'
run pollux replay "$tmp/none.db"
expect "no file" status=2 out= err~'none\.db: cannot open it: No such file or directory'
run pollux replay "$tmp"
expect "a folder" status=2 err~': expected a file'
run pollux replay "$tmp/small.csv"
expect "a CSV file" status=2 err~'small\.csv: no journal: expected an SQLite database'
: >"$tmp/empty.db"
run pollux replay "$tmp/empty.db"
expect "an empty file" status=2 err~'empty\.db: empty, which a journal never is'
sqlite3 "$tmp/other.db" 'CREATE TABLE friends (name)'
run pollux replay "$tmp/other.db"
expect "another database" status=2 err~'other\.db: an SQLite database, but no journal of pollux'
head -c 100000 "$journal" >"$tmp/cut.db"
run pollux replay "$tmp/cut.db"
expect "a truncated journal" status=2 err~"cut\.db: damaged: .*; restore a copy, save what is left"
run pollux replay "$journal" --tolerance 2
expect "a tolerance out of range" status=2 err~'--tolerance'
