# SPDX-License-Identifier: Apache-2.0
# The daemon's client commands, with a daemon and real jobs: output, refusals, and behaviour while
# the daemon is stopped.  Nothing here waits for a fixed time: `until_true` waits for a
# condition.
. tests/cli/lib_daemon.sh
export HOME=$tmp
esc=$(printf '\033')
usual=(--listen "unix:$tmp/sock" --node n0:2 --node n1:2 --interval 1 --stop-jobs)

# On a terminal of 80 columns.
on_terminal() { script -qec "stty cols 80 rows 24; $*" /dev/null </dev/null; }

start_daemon "${usual[@]}"
address=$(cat "$POLLUX_STATE/address")

# ---- The cluster -----------------------------------------------------------------------------

run pollux status
expect "status" status=0 out~'^polluxd [0-9.]+ at .*127\.0\.0\.1:' out~'^policy   pollux, p = -1.00, backend local$' \
    out~'^cluster  2 nodes, 0 of 4 slots in use$' err=
run pollux status --json
check "status as JSON" jq -e '.slots == 4 and .nodes == 2' <<<"$out"
run pollux nodes
expect "nodes" status=0 out~'^node +type +slots +used +state +jobs$' out~'^n0 .* 2 +0 +available +-$' out~'^n1 ' err=
run pollux nodes --quiet
expect "names of nodes" status=0 out="n0
n1"
run pollux list
expect "no jobs" status=0 out='No jobs.' err=
run pollux status --server "unix:$tmp/sock"
expect "over a Unix socket" status=0 out~'at unix:'
run pollux status --server "${address#http://}"
expect "an address without its scheme" status=0 out~'^polluxd'

# ---- Submit, wait, logs ------------------------------------------------------------------------

run pollux submit --wait --name hello -- sh -c 'echo hello; echo there >&2; sleep 0.1'
expect "submit --wait: a job that finishes" status=0 out=hello err~'^pollux submit: hello: finished'
run pollux logs hello
expect "logs" status=0 out="hello
there" err=
run pollux logs --tail 1 hello
expect "the last line" status=0 out=there
run pollux logs hello --generation 1 --rank 0 -f
expect "logs of a job that has ended, followed" status=0 out~'^hello' err=
run pollux logs hello --generation 2
expect "a run that does not exist" status=1 out= err~'^pollux logs: .*hello'
run pollux logs hello --rank 5
expect "a replica that does not exist" status=1 out= err~'^pollux logs: .*hello'
run pollux logs --all hello
expect "logs of all generations" status=0 out="==> job hello, generation 1, rank 0 <==
hello
there" err=
run pollux submit --name waits --min 5 --max 5 -- true
run pollux logs waits
expect "logs of a job that waits: why" status=1 out= \
    err='pollux logs: job waits has not started yet: it is pending, and too large: needs 5 slots, and the nodes that take replicas have 4'
check "a job that waits can be cancelled" pollux cancel waits
run pollux logs waits
expect "logs of a job that never started" status=1 out= err='pollux logs: job waits never started: it is cancelled'
run pollux logs nosuch
expect "logs of an unknown job" status=1 out= err~"^pollux logs: .*nosuch"

run pollux submit --wait --name sad --max-failures 0 -- sh -c 'echo oh dear; exit 7'
expect "submit --wait: a job that fails" out=sad err~'^pollux submit: sad: failed' status=7
run pollux show sad
expect "show: why it failed" status=0 out~'^phase +failed$' out~'^    oh dear$' out~' failures \(forgiven: [0-9]+\)$' out~'^command +sh -c .echo oh dear; exit 7.$'

run pollux submit -- sleep 1000
name=$out
expect "the daemon makes a name" status=0 out~'^sleep-[0-9]+$' err=
run pollux submit --name hello -- true
expect "a name that is taken" status=1 out= err~'^pollux submit: .*hello'
until_true is "$name" '.phase == "running"'
run pollux show "$name"
expect "show: a job that runs" status=0 out~'^phase +running$' out~'^placement +n[01]:1$' out~'^limits +0-?1? replicas' \
    out~'^directory +/' out~"^checkpoints +$POLLUX_STATE/checkpoints/$name\$" out~"^owner +admin$" out~'^stop +by signal 15, SIGTERM' err=
run pollux submit --name kept --checkpoint-dir "$tmp/own" -- true
run pollux show kept
expect "show: a checkpoint directory of its own" status=0 out~"^checkpoints +$tmp/own\$"
run pollux show nosuch
expect "show: an unknown job" status=1 out= err~'nosuch'
run pollux show helol
expect "show: a similar name is suggested" status=1 out= err='pollux show: there is no job helol; did you mean hello?'
run pollux drain n3
expect "drain: a similar name is suggested" status=1 out= err~'there is no node n3; did you mean n[01]\?$'
run pollux show ../status
expect "show: a name with a path is refused" status=2 out= err~'^pollux show: '

printf '%s\n' 'command: "printf \"\\033[31mred\\033[0m\\r50%%\\r100%%\\n\"; sleep 1000"' >"$tmp/evil.yaml"
run pollux submit "$tmp/evil.yaml" --name evil
expect "submit a file" status=0 out=evil err=
until_true sh -c "$POLLUX logs evil | grep -q 100"
run pollux logs evil
expect "logs: a pipe gets all bytes" status=0 out~"$esc\[31mred"
run on_terminal "$POLLUX logs evil"
expect "logs: no escape sequence reaches the terminal" status=0 out~'\?\[31mred\?\[0m' out!"$esc" out~'^50%'
run on_terminal "$POLLUX logs --raw evil"
expect "logs: the raw option passes them to the terminal" status=0 out~"$esc\[31mred"

run pollux submit --name vast --replicas 5 -- true
expect "more replicas than slots are accepted, with a note" status=0 out=vast err~'note: the job needs 5 slots, and all nodes together have 4'
run pollux submit --name lines --replicas 4 --env TEXT=$'one\ntwo' -- true
expect "as many replicas as slots, without a note" status=0 out=lines err=
run pollux events
expect "events: a line break in a text" status=0 out~'SUBMIT +lines .*one\\ntwo'
run pollux cancel vast lines
expect "cancel both" status=0

# --follow prints every line once.
pollux submit --name counter -- sh -c 'for i in 1 2 3 4 5; do echo line $i; sleep 0.1; done' >"$tmp/name"
run pollux logs -f counter
expect "logs --follow, to the end of the job" status=0 out="line 1
line 2
line 3
line 4
line 5" err=

# ---- Lists -------------------------------------------------------------------------------------

run pollux list
expect "list" status=0 out~'^job +phase +replicas +limits ' out~'^hello +finished +0 ' out~'^sad +failed ' \
    out~"^$name +running +1 " out~' admin$' err=
printf '%s\n' 'command: "exit 3"' 'max_failures: 5' 'backoff: 600' >"$tmp/again.yaml"
pollux submit "$tmp/again.yaml" --name again >/dev/null
until_true is again '.phase == "pending" and .failures == 1'
run pollux list
expect "list: a job that failed and waits has a count of failures" status=0 \
    out~'^job .* restarts +failures +age +owner' out~'^again +pending +0 .* 0 +1 +[0-9]+ s +admin$' out~"^$name +running .* 0 +0 +[0-9]+ s +admin$"
run pollux top --once
expect "top: failures, too" status=0 out~' rest +fail +age' out~'again +pending +0 .* 0 +1 +[0-9]+ s$'
check "a job that failed and waits can be cancelled" pollux cancel again

# ---- Generations -------------------------------------------------------------------------------

printf '%s\n' 'command: "echo run $POLLUX_GENERATION; echo \"==> no mark\"; [ $POLLUX_GENERATION = 5 ]"' 'max_failures: 9' 'backoff: 0' >"$tmp/five.yaml"
run pollux submit --wait "$tmp/five.yaml" --name five
expect "a job that needs five attempts" status=0 err~'^pollux submit: five: finished'
run pollux logs --all --tail 2 five
expect "the logs of all generations are kept, in order" status=0 err= \
    out="$(for i in 1 2 3 4 5; do printf '==> job five, generation %d, rank 0 <==\nrun %d\n ==> no mark\n' $i $i; done)"
run pollux logs --all -f five
expect "the same, followed to the end of the job" status=0 err= out~'^==> job five, generation 5, rank 0 <==$'
run pollux logs --generation 4 five
expect "one of them, unchanged" status=0 err= out="run 4
==> no mark"
rm -r "$POLLUX_STATE/run/five/1" "$POLLUX_STATE/run/five/2"
run pollux logs --generation 2 five
expect "a log that was removed: why" status=1 out= \
    err~'^pollux logs: job five, generation 2, rank 0: its logs were removed: those of a job may have 256 MiB \(job_log_limit\)'
run pollux logs --all --tail 0 five
expect "all that is left, and what was removed" status=0 err= \
    out~'^==> job five, generations 1 to 2: its logs were removed: .* <==$' out~'^==> job five, generation 3, rank 0 <==$' out!'generation 2, rank'
run pollux list --phase running --quiet
expect "list by phase" status=0 out="$name
evil"
run pollux list --owner nobody
expect "list by owner" status=0 out='No jobs.'
run pollux list --json --all
check "list as JSON" jq -e '[.jobs[].name] | index("hello") == 0' <<<"$out"
$POLLUX list --watch 0.1 >"$tmp/watch" 2>&1 & # without the function: $! is the command, not a shell around it
watch=$!
watched() { [ "$(grep -c '^hello ' "$tmp/watch")" -ge "$1" ]; }
check "list --watch prints repeatedly" until_true watched 3
kill $watch

# More than one page: 260 jobs that need more slots than exist.
many() { local i; for i in {1..260}; do pollux submit --name "many-$i" --min 5 --max 5 -- true || return 1; done >"$tmp/many"; }
if [ -z "${POLLUX_BRIEF-}" ]; then
    check "260 jobs are submitted" many
    check "a list has all pages, in order, each job once" diff "$tmp/many" <(pollux list --phase pending --quiet)
    # shellcheck disable=SC2046
    check "cancelled, all in one command" pollux cancel $(cat "$tmp/many")
fi

# ---- Limits, cancel, nodes ---------------------------------------------------------------------

run pollux scale "$name" --max 3 --weight 2
expect "scale" status=0 out~"^$name: 0-3 replicas, weight 2.00$" err=
check "scale: the limits have changed" is "$name" '.max_replicas == 3 and .weight == 2 and .min_replicas == 0'
run pollux scale "$name" --min 4
expect "scale: limits that cannot be met" status=2 out= err~'^pollux scale: '
run pollux scale hello --max 4
expect "scale: a job that has ended" status=1 out= err~'^pollux scale: .*hello'
run pollux drain n1
expect "drain" status=0 out~'^n1: drained' err=
run pollux nodes
expect "a drained node" out~'^n1 .* drained '
run pollux drain n7
expect "drain: no such node" status=1 out= err~'n7'
run pollux resume n1
expect "resume" status=0 out~'^n1: available' err=
run pollux cancel nosuch evil "$name"
expect "cancel several, one of them unknown" status=1 out~'^evil: ' out~"^$name: " err~'nosuch'
until_true is evil '.phase == "cancelled"'
check "cancelled" is "$name" '.phase == "cancelled" or .phase == "cancelling"'
run pollux cancel evil
expect "cancel: a job that has ended" status=1 out= err~'evil'

# ---- Tokens ------------------------------------------------------------------------------------

(umask 077 && pollux token new ann >"$tmp/ann" && pollux token new ben --role read-only >"$tmp/ben")
check "a token is one word" grep -Eqx '[^ ]{20,}' "$tmp/ann"
run pollux token list
expect "tokens" status=0 out~'^name +role +expires$' out~'^ann +user +never$' out~'^ben +read-only +never$' out!"$(cat "$tmp/ann")"
run pollux token new ann
expect "a second token of the same name" status=1 out= err~'ann'
as() { POLLUX_TOKEN_FILE=$tmp/$1 pollux "${@:2}"; }
run as ann submit --name hers --env SECRET=xyzzy -- sleep 1000
expect "a user submits" status=0 out=hers err=
check "the name is the owner" is hers '.owner == "ann"'
run as ann cancel counter
expect "a user cannot cancel another user's job" status=1 out= err~'counter'
run as ann show hers
expect "a user sees the environment of her job" status=0 out~'SECRET=xyzzy'
run as ben show hers
expect "other users do not see it" status=0 out!xyzzy
run as ben submit -- true
expect "a read-only token cannot submit" status=1 out= \
    err='pollux submit: the role of this token, read-only, does not permit POST /v1/jobs; it takes admin or user'
run as ann token list
expect "only admins can list tokens" status=1 out= err~'^pollux token: .*token, user, does not permit GET /v1/tokens; it takes admin$'
run pollux token revoke ann
expect "revoke" status=0 out~'ann is revoked' err=
run as ann list
expect "a revoked token" status=1 out= err~'refuses this token: the token is not known here' err!"$(cat "$tmp/ann")"
now=$(date +%s)
(umask 077 && pollux token new ann --expires 30d >"$tmp/ann" && pollux token new short --expires 1s >"$tmp/short")
run pollux token list
expect "a token with an expiry" status=0 out~'^ann +user +20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{8}$'
run pollux token list --json
check "an expiry in JSON" jq -e --argjson now "$now" '.tokens | map({key: .name, value: .}) | from_entries |
    .ben.expires_at == null and .ann.expires_at - $now >= 2592000 and .ann.expires_at - $now < 2678400 and .ann.expired == false' <<<"$out"
run as ann list
expect "it is valid until then" status=0
short_is_refused() { ! as short list >/dev/null 2>&1; }
until_true short_is_refused
run as short list
expect "an expired token" status=1 out= \
    err~'refuses this token: the token has expired \(20.* UTC\); ask an administrator to make a new one with pollux token new$' err!"$(cat "$tmp/short")"
run pollux token list
expect "the list says so" status=0 out~'^short +user +20.* \(expired\)$'
until_true pollux logs hers
(umask 077 && pollux token new short --expires 2s --role admin >"$tmp/short")
run as short logs --follow hers
expect "a log ends when the token of its reader expires" status=1 err~'^pollux logs: the daemon refuses this token: the token has expired'
run pollux token new short
expect "a new token replaces an expired one" status=0 out~'^[^ ]{20,}$'
POLLUX_STATE=$tmp/none run pollux list --server "$address"
expect "no token" status=1 out= err~'requires a token: POLLUX_TOKEN_FILE is not set, and .*/none/admin.token'

# ---- Explain -----------------------------------------------------------------------------------

# post PATH JSON: a request by hand; prints the status.
post()
{
    local host=${address#*://} body=$2
    exec 9<>"/dev/tcp/${host%:*}/${host##*:}" || return 1
    printf 'POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' \
        "$1" "$host" "$(cat "$POLLUX_STATE/admin.token")" ${#body} "$body" >&9
    head -n 1 <&9 | grep -o ' [0-9]* '
    exec 9<&-
}
run pollux explain hers
expect "explain a job without a model" status=0 out~'hers' err=
pollux submit --name trains --adaptive --max 4 -- sleep 1000 >"$tmp/name"
until_true is trains '.phase == "running"'
run pollux explain trains
expect "explain a job before its first report" status=0 out~'It cannot have more: it is not measured yet\.' out!'up to 0' err=
generation=$(pollux show trains --json | jq .generation)
strange() { post /v1/jobs/trains/hints "{\"version\": 1, \"generation\": $generation, \"type\": \"nosuch\"}"; }
check "reports of a type that no node has are accepted" [ "$(strange)$(strange)" = " 202  202 " ]
check "the log says so once" [ "$(grep -c 'a job reports a type that no node has job=trains type=nosuch' "$log")" = 1 ]
answer=$(post /v1/jobs/trains/hints "{\"version\": 1, \"generation\": $generation, \"max_profiled_replicas\": 4,
    \"progress\": 100, \"total\": 1000, \"m\": 128, \"s\": 1,
    $(jq -c '{model, grad, init_batch, max_batch, min_local, max_local, accumulation}' examples/synthetic-resnet.json | sed 's/^{\|}$//g')}")
check "the job reports" [ "$answer" = " 202 " ]
until_true is trains '.goodput > 0'
run pollux explain trains
expect "explain" status=0 out~'^goodput \(useful samples/s\)$' out~'replicas +batch +goodput' out~'^now ' err=
run pollux explain trains --json
check "explain as JSON" jq -e '(.curve | length) > 1 and (.sentences | length) > 0' <<<"$out"
run pollux show trains
expect "show: goodput and progress" out~'^goodput +[0-9.]+ useful samples/s = throughput ' out~'^progress +10.0 %, '

# ---- Top ---------------------------------------------------------------------------------------

run pollux top --once
expect "top --once" status=0 out~'^polluxd .* slots in use' out~'^n0 [a-z.]{2} +n1 [a-z.]{2}$' \
    out~'^[a-z] trains +running ' out~'^  job +phase +repl +batch +goodput +effic\. +ETA +rest +fail +age$' err=
check "top fits into 80 columns" awk 'length > 80 { exit 1 }' <<<"$out"
mkfifo "$tmp/keys"
TERM=xterm script -qefc "stty cols 80 rows 24; $POLLUX top --interval 0.2" "$tmp/screen" <"$tmp/keys" >/dev/null 2>&1 &
top=$!
exec 8>"$tmp/keys"
shows() { grep -aq -e "$1" "$tmp/screen"; }
check "top draws the jobs" until_true shows trains
kill -STOP $daemon
check "top does not wait for a halted daemon" until_true shows 'no answer since'
seen=$(stat -c %s "$tmp/screen")
kill -CONT $daemon
shows_again() { tail -c "+$((seen + 1))" "$tmp/screen" | grep -aq 'jobs:'; }
check "top continues when the daemon answers" until_true shows_again
printf q >&8
wait $top
check "top ends with q" [ $? = 0 ]
exec 8>&-

# ---- Completed names ---------------------------------------------------------------------------

. completion/pollux.bash
# completes WORDS...: prints the completions of the last word.
completes()
{
    COMP_WORDS=("$POLLUX" "$@")
    COMP_CWORD=$#
    _pollux
    echo "${COMPREPLY[*]}"
}
check "names of jobs are completed" [ "$(completes show tr)" = trains ]
check "names of nodes are completed" [ "$(completes drain n)" = "n0 n1" ]

# ---- Events, and a restart of the daemon -------------------------------------------------------

run pollux events
expect "events" status=0 out~'^ +[0-9]+  20[0-9-]+ [0-9:]+  SUBMIT +hello ' out~'  EXIT +sad ' err=
pollux events --json >"$tmp/events"
check "events as JSON" jq -es 'length > 10 and (map(.seq) == (map(.seq) | sort | unique))' "$tmp/events"
last=$(jq -s 'last.seq' "$tmp/events")
run pollux events --after "$((last - 1))" --json
check "events after a number" jq -es --argjson last "$last" 'first.seq == $last' <<<"$out"
$POLLUX events -f --json --after "$last" >"$tmp/followed" 2>"$tmp/followed.err" &
follower=$!
pollux submit --name before -- true >"$tmp/name"
followed() { jq -es --arg job "$1" 'any(.type == "SUBMIT" and .job == $job)' "$tmp/followed"; }
check "events --follow" until_true followed before
stop_daemon
run pollux list
expect "status while the daemon is stopped" status=3 out= err~'is polluxd running'
check "completion prints nothing while the daemon is stopped" [ -z "$(completes show tr 2>&1)" ]
listen=${address#http://} start_daemon "${usual[@]}"
pollux submit --name after -- true >"$tmp/name"
check "events --follow continues with the next daemon" until_true followed after
check "every event was received once" jq -es --argjson last "$last" \
    'map(.seq) == [range($last + 1; $last + 1 + length)]' "$tmp/followed"
kill $follower
