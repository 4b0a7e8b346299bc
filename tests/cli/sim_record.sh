# SPDX-License-Identifier: Apache-2.0
# pollux sim --record: a journal, or a folder of journals, with the command that made them and the fairness of jobs.
. tests/cli/lib.sh

cat >"$tmp/small.csv" <<'END'
name,time,application,num_replicas,batch_size
a,0,cifar10,2,256
b,90,ncf,1,32768
c,600,cifar10,1,128
END
sed 's/600/30/' "$tmp/small.csv" >"$tmp/other day.csv"

recording()
{
    sqlite3 "$1" "SELECT value FROM meta WHERE key = 'recording'"
}

# ---- One journal -----------------------------------------------------------------------------

run pollux sim "$tmp/small.csv" --policy tiresias --nodes 2 --record "$tmp/one.db" --json "$tmp/one.json"
expect "one simulation" status=0 err= out~'^tiresias '
check "the recording has command, time, workload and rho of every job" jq -e --arg command \
    "pollux sim $tmp/small.csv --policy tiresias --nodes 2 --record $tmp/one.db --json $tmp/one.json" --slurpfile result "$tmp/one.json" '
    .version == 1 and .command == $command and .workload == "small" and (.made_at | now - . | fabs) < 600 and
    (.rho | keys) == ["a", "b", "c"] and
    ([.rho[]] | max) == $result[0].policies.tiresias.workloads.small.worst_rho' <<<"$(recording "$tmp/one.db")"
run pollux replay "$tmp/one.db"
expect "it is replayed" status=0 err= out~'plans are the same'
sqlite3 "$tmp/one.db" "DELETE FROM meta WHERE key = 'recording'"
run pollux replay "$tmp/one.db"
expect "a journal without a recording is read" status=0 err= out~'plans are the same'

# ---- A folder -----------------------------------------------------------------------------------

run pollux sim "$tmp/small.csv" "$tmp/other day.csv" --policy tiresias,fifo --nodes 2 --record "$tmp/runs" --json "$tmp/runs.json"
expect "several simulations" status=0 err= out~'^fifo '
check "a journal for each" [ "$(cd "$tmp/runs" && echo *)" = "fifo-other day.db fifo-small.db tiresias-other day.db tiresias-small.db" ]
for name in "fifo-other day" fifo-small "tiresias-other day" tiresias-small; do
    run pollux replay "$tmp/runs/$name.db"
    expect "$name is replayed" status=0 err= out~"decided by ${name%%-*}$"
    check "$name: the worst rho is that of the result" jq -e --arg policy "${name%%-*}" --arg workload "${name#*-}" --slurpfile result "$tmp/runs.json" \
        '([.rho[]] | max) == $result[0].policies[$policy].workloads[$workload].worst_rho and .workload == $workload' \
        <<<"$(recording "$tmp/runs/$name.db")"
done
check "words with blanks are quoted" jq -e --arg word "'$tmp/other day.csv'" '.command | contains($word)' <<<"$(recording "$tmp/runs/fifo-small.db")"
run pollux sim "$tmp/small.csv" --policy srtf --nodes 2 --record "$tmp/runs"
expect "another journal is added to a folder" status=0 err=
check "it is there" [ -f "$tmp/runs/srtf-small.db" ]
run pollux sim "$tmp/small.csv" --policy las,fifo --nodes 2 --record "$tmp/runs"
expect "an existing journal is not overwritten" status=2 err~'fifo-small\.db: there is a file of that name; choose another, or remove it$'
check "nothing was simulated before" [ ! -e "$tmp/runs/las-small.db" ]
mkdir "$tmp/folder.db"
run pollux sim "$tmp/small.csv" --policy fifo,las --nodes 2 --record "$tmp/folder.db"
expect "a folder with the name of a journal" status=0 err=
check "has journals" [ -f "$tmp/folder.db/las-small.db" ]

# ---- Refusals -----------------------------------------------------------------------------------

run pollux sim "$tmp/small.csv" --policy fifo,las --record "$tmp/two.db"
expect "a file for several simulations" status=2 err~'--record takes one workload and one policy with a file, not 2 simulations; name a folder$'
run pollux sim "$tmp/small.csv" --policy fifo,las --record "$tmp/no/where"
expect "a folder in a folder that is missing" status=2 err~'no/where: cannot make the folder: No such file or directory$'
run pollux sim "$tmp/small.csv" --policy fifo,las --record "$tmp/small.csv"
expect "a file that is no folder" status=2 err~'small\.csv: expected a folder, or the name of a journal, FILE\.db$'
