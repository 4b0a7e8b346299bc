# SPDX-License-Identifier: Apache-2.0
# GET /v1/watch of a real daemon: plain and compressed, for fifty pages of one token, and after a kill -9 of the daemon by
# number.  tests/unit/test_watch.c compares the rows with GET /v1/jobs.
. tests/cli/lib_daemon.sh
start_daemon --backend fake --node n0:4 --node n1:4 --interval 1
submit first --max 4 -- worker
soon "a job runs" is first '.phase == "running"'
token=$(cat "$state/admin.token")

# watch FILE [TARGET [OPTION...]]: follow in the background; its pid is in $pid.
watch()
{
    local file=$1 target=${2-/v1/watch}
    curl -sSN "${@:3}" -H "Authorization: Bearer $token" "$(cat "$state/address")$target" >"$file" 2>"$file.err" &
    pid=$!
}
# The messages of a file, one JSON object per line; the last line may be incomplete.
messages() { sed -n 's/^data: \(.*}\)$/\1/p' "$1"; }
kinds() { sed -n 's/^event: //p' "$1" | tr '\n' ' '; }
has() { messages "$1" | jq -se "$2"; }

# ---- Plain and compressed -------------------------------------------------------------------------

watch "$tmp/plain"
plain=$pid
watch "$tmp/packed" /v1/watch --compressed
packed=$pid
for file in plain packed; do
    soon "$file: a snapshot comes first" has "$tmp/$file" '.[0] | .you.role == "admin" and .jobs[0][1] == "first" and (.nodes | length) == 2'
done
submit second --max 2 -- worker
for file in plain packed; do
    soon "$file: a new job is a change" has "$tmp/$file" 'any(.[1:][]; any(.jobs[]?; .[1] == "second"))'
    soon "$file: rounds come" has "$tmp/$file" 'any(.[1:][]; .rounds)'
    soon "$file: what a round has changed" has "$tmp/$file" 'any(.[]; .changes.text? // "" | contains("second starts with"))'
done

# ---- Fifty pages ----------------------------------------------------------------------------------

pages=()
for i in {1..50}; do
    watch "$tmp/page$i" /v1/watch --compressed
    pages+=("$pid")
done
all_have() { local i; for i in {1..50}; do has "$tmp/page$i" "$1" >/dev/null || return 1; done; }
soon "fifty pages of one token get their snapshots" all_have '.[0].you and ([.[].jobs[]?[1]] | unique == ["first", "second"])'
pollux cancel second >/dev/null
soon "and their changes" all_have 'any(.[1:][]; any(.jobs[]?; .[1] == "second" and .[3] == 5))'
check "a log can be followed beside them" pollux logs first
kill "${pages[@]}"
wait "${pages[@]}" 2>/dev/null

# ---- A crash --------------------------------------------------------------------------------------

number() { sed -n 's/^id: //p' "$1" | tail -n 1; }
kill -KILL "$daemon"
wait "$daemon" "$plain" "$packed" 2>/dev/null
last=$(number "$tmp/packed")
start_daemon --backend fake --node n0:4 --node n1:4 --interval 1
submit third --max 2 -- worker
watch "$tmp/again" "/v1/watch?after=$last" --compressed
again=$pid
soon "after a crash it goes on by number" has "$tmp/again" 'any(.[]; any(.jobs[]?; .[1] == "third"))'
check "without a snapshot" [ "$(kinds "$tmp/again" | cut -d ' ' -f 1)" = change ]
watch "$tmp/future" /v1/watch?after=1000000000
future=$pid
soon "an unknown number gets a snapshot" has "$tmp/future" '.[0].jobs | length == 3'
kill "$again" "$future"
wait "$again" "$future" 2>/dev/null
stop_daemon
check "the daemon ends with 0" [ "$status" = 0 ]
