#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Signed requests with a real munged, which has its own key, socket and folder.  As root, other users are played by
# setpriv; without root there is one user.
# shellcheck disable=SC2086  # POLLUX and POLLUXD may have several words
. tests/cli/lib_daemon.sh

# ---- munged ---------------------------------------------------------------------------------------

munge_dir=$tmp/munge
socket=$munge_dir/socket
export POLLUX_MUNGE_SOCKET=$socket
mkdir -m 755 "$munge_dir"
(umask 077 && head -c 1024 /dev/urandom >"$munge_dir/key")
munged_command=$(command -v munged || echo /usr/sbin/munged)

# In the foreground: the test ends it by its pid.
start_munged()
{
    "$munged_command" --foreground --force --key-file="$munge_dir/key" --socket="$socket" --pid-file="$munge_dir/pid" \
        --log-file="$munge_dir/log" --seed-file="$munge_dir/seed" --num-threads=2 >>"$munge_dir/out" 2>&1 </dev/null &
    munged=$!
    until_true munge --socket "$socket" --no-input && return 0
    not_ok "munged starts" "$(cat "$munge_dir/out")"
    exit 1
}

stop_munged()
{
    kill -CONT "$munged" 2>/dev/null
    kill "$munged"
    wait "$munged" 2>/dev/null
    munged=
}
munged=
trap '[ -z "$munged" ] || stop_munged; finish_daemon; finish' EXIT
start_munged

# ---- Requests -------------------------------------------------------------------------------------

# as USER COMMAND...: by setpriv, or without root as this test's user.
as()
{
    local user=$1
    shift
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid="$user" --regid="$(id -g "$user" 2>/dev/null || echo "$user")" --clear-groups -- "$@"
    else
        "$@"
    fi
}

# claim METHOD TARGET BODY [TIME]
claim()
{
    printf '%s\n' 'pollux-request 1' "$1" "$2" "${4-$(date +%s)}" "$(openssl rand -hex 16)" \
        "$(printf %s "$3" | sha256sum | cut -c 1-64)"
}

# sign USER METHOD TARGET [BODY [TIME [OPTION...]]]: the value of the header; OPTION is munge's.
sign()
{
    local user=$1 method=$2 target=$3 body=${4-} time=${5-$(date +%s)}
    shift $(($# < 5 ? $# : 5))
    echo "Munge $(claim "$method" "$target" "$body" "$time" | as "$user" munge --socket "$socket" --restrict-uid "$(id -u)" "$@")"
}

# send HEADER METHOD TARGET [BODY]: sets $out to the answer with its status in the last line.
send()
{
    local header=$1 method=$2 target=$3
    shift 3
    [ $# = 0 ] || set -- -H 'Content-Type: application/json' --data-binary "$1"
    run curl -sS -m 60 -w '\n%{http_code}\n' -H "Authorization: $header" -X "$method" "$@" "$url$target"
}

# ask USER METHOD TARGET [BODY]: a signed request.
ask()
{
    local user=$1
    shift
    send "$(sign "$user" "$@")" "$@"
}

job() { echo "{\"name\": \"$1\", \"command\": \"$worker\", \"max_replicas\": 1}"; }

me=$(id -un)
ann=$me bob=
if [ "$(id -u)" = 0 ]; then
    ann=daemon bob=bin # users that every Debian has
fi

start_daemon --node a:4 --interval 1 --auth munge --log-level debug
url=$(cat "$state/address")

# ---- Who ------------------------------------------------------------------------------------------

run curl -sSi "$url/healthz"
expect "healthz tells how to sign" status=0 out~"^WWW-Authenticate: Munge uid=$(id -u)"
run curl -sSi "$url/v1/status"
expect "a 401 tells it, too" out~"^WWW-Authenticate: Munge uid=$(id -u)" out~'HTTP/1.1 401' out~'sign the request with munge'
ask "$me" GET /v1/tokens
expect "polluxd's user is an admin" out~'^200$'
ask "$ann" POST /v1/jobs "$(job mine)"
expect "a signed submit" out~'^201$' out~"\"owner\":\"$ann\""
ask "$ann" GET '/v1/jobs?limit=10&owner='"$ann"
expect "a query is signed" out~'^200$' out~'"name":"mine"'
soon "it runs" is mine '.phase == "running"'
if [ -n "$bob" ]; then
    ask "$bob" GET /v1/tokens
    expect "another user is no admin" out~'^403$'
    ask "$bob" POST /v1/jobs/mine/cancel
    expect "another user cannot cancel my job" out~'^403$' out~"belongs to $ann"
    ask "$bob" GET /v1/jobs/mine/logs
    expect "another user cannot read its logs" out~'^403$'
    ask "$bob" POST /v1/jobs/mine/hints '{"generation": 1}'
    expect "another user cannot report for it" out~'^403$'
    ask "$bob" GET /v1/jobs/mine
    expect "another user sees no environment" out~'^200$' out~'"environment":null'
    ask 54321 GET /v1/jobs
    expect "a uid without a name is refused" out~'^401$' out~'uid 54321 has no user name'
else
    skip "two users: this needs root"
fi
ask "$ann" GET /v1/jobs/mine/logs
expect "the owner reads its logs" out~'^200$'

# ---- The commands ---------------------------------------------------------------------------------

# Without a token that it can read, a command signs.
mkdir -m 777 "$tmp/home"
by() # USER ARGUMENT...: pollux, as that user on a login node
{
    local user=$1
    shift
    # shellcheck disable=SC2086
    as "$user" env HOME="$tmp/home" POLLUX_STATE="$tmp/home/none" POLLUX_SERVER="$url" $POLLUX "$@"
}
run by "$ann" submit --name signed --max 1 -- "$worker"
expect "a command without a token signs" status=0 out=signed
check "the user is the owner" [ "$(of signed .owner)" = "$ann" ]
run by "$ann" list --json
expect "reads are signed" status=0 out~'"signed"'
soon "it runs" is signed '.phase == "running"'
run by "$ann" logs signed
expect "its logs" status=0
run by "$ann" events --json
expect "a stream is signed" status=0 out~'SUBMIT'
run by "$ann" scale signed --max 2
expect "a body is signed" status=0
check "it has changed" [ "$(of signed .max_replicas)" = 2 ]
if [ -n "$bob" ]; then
    run by "$bob" cancel signed
    expect "another user cannot cancel it" status=1 err~"belongs to $ann"
    run by "$bob" logs signed
    expect "nor read its logs" status=1 err~"belongs to $ann"
fi
run env POLLUX_AUTH=munge POLLUX_SERVER="$url" $POLLUX token list
expect "POLLUX_AUTH=munge: signed, even if there is a token" status=0
check "by polluxd's user" grep -q "request who=$me role=admin.*route=/v1/tokens" "$log"
run env POLLUX_AUTH=token POLLUX_STATE="$tmp/home/none" POLLUX_SERVER="$url" $POLLUX list
expect "POLLUX_AUTH=token: not signed" status=1 err~'requires a token'
run env POLLUX_AUTH=magic $POLLUX list
expect "another way does not exist" status=2 err~'POLLUX_AUTH: expected auto, token or munge'
run env POLLUX_AUTH=munge POLLUX_MUNGE_SOCKET="$tmp/none" $POLLUX list
expect "a client without munged" status=1 err~'munged does not answer.*POLLUX_MUNGE_SOCKET'
run by "$ann" cancel signed
expect "the owner cancels it" status=0
soon "it ends" has_ended signed

# ---- Wrong credentials ----------------------------------------------------------------------------

header=$(sign "$ann" GET /v1/jobs)
send "$header" GET /v1/jobs
expect "used once" out~'^200$'
send "$header" GET /v1/jobs
expect "used twice" out~'^401$' out~'used before'
if [ -n "$bob" ]; then
    # Another user has captured credentials, one that was used and one that was not.
    header=$(sign "$ann" GET /v1/jobs/mine/logs) unused=$(sign "$ann" GET /v1/jobs)
    send "$header" GET /v1/jobs/mine/logs
    expect "the owner reads a log" out~'^200$'
    run as "$bob" curl -sS -w '\n%{http_code}\n' -H "Authorization: $header" "$url/v1/jobs/mine/logs"
    expect "another user replays it" out~'^401$' out~'used before'
    run as "$bob" curl -sS -w '\n%{http_code}\n' -H "Authorization: $unused" -X POST "$url/v1/jobs/mine/cancel"
    expect "another user sends another request with a credential that was not used" out~'^401$' out~'another request'
    run as "$bob" unmunge --socket "$socket" <<<"${unused#Munge }"
    expect "another user cannot decode it" out= err~'Unauthorized'
fi
header=$(sign "$ann" GET /v1/jobs)
send "$header" GET /v1/nodes
expect "another target" out~'^401$' out~'another request, GET /v1/jobs'
header=$(sign "$ann" GET /v1/jobs)
send "$header" GET '/v1/jobs?limit=1'
expect "another query" out~'^401$' out~'another request'
header=$(sign "$ann" GET /v1/jobs/mine/cancel)
send "$header" POST /v1/jobs/mine/cancel
expect "another method" out~'^401$' out~'another request'
header=$(sign "$ann" POST /v1/jobs "$(job other)")
send "$header" POST /v1/jobs "$(job altered)"
expect "another body" out~'^401$' out~'another body'
header=$(sign "$ann" GET /v1/jobs '' "$(date +%s)" --ttl=1)
until_true eval "[ \$(date +%s) -ge $(($(date +%s) + 3)) ]"
send "$header" GET /v1/jobs
expect "expired" out~'^401$' out~'expired'
send "$(sign "$ann" GET /v1/jobs '' $(($(date +%s) - 400)) --ttl=3600)" GET /v1/jobs
expect "an old claim with a long life" out~'^401$' out~'signed 40[0-9] seconds ago'
send "$(sign "$ann" GET /v1/jobs '' $(($(date +%s) + 400)))" GET /v1/jobs
expect "a claim of the future" out~'^401$' out~'in the future'
send "Munge $(echo hello | munge --socket "$socket")" GET /v1/jobs
expect "a credential that signs no request" out~'^401$' out~'does not name a request'
send "Munge $(claim GET /v1/jobs '' | munge --socket "$socket" --restrict-uid 54321)" GET /v1/jobs
expect "restricted to another user" out~'^401$' out~"another user than polluxd's"
send "Munge MUNGE:AAAA:" GET /v1/jobs
expect "a forged credential" out~'^401$'
send "Munge $(head -c 6000 /dev/zero | tr '\0' x)" GET /v1/jobs
expect "a long credential" out~'^401$' out~'too long'
holds "nothing has changed" is mine '.phase == "running"'
check "no other job was made" [ "$(pollux list --all --json | jq '.jobs | length')" = 2 ]

# ---- Without munged -------------------------------------------------------------------------------

header=$(sign "$ann" GET /v1/jobs) later=$(sign "$ann" GET /v1/nodes)
send "$later" GET /v1/nodes
expect "before a restart of munged" out~'^200$'
stop_munged
send "$header" GET /v1/jobs
expect "munged stopped: 503" out~'^503$' out~'munged does not answer'
run pollux status
expect "others are served" status=0
start_munged
send "$header" GET /v1/jobs
expect "munged is back" out~'^200$'
send "$later" GET /v1/nodes
expect "a new munged has forgotten a credential, polluxd has not" out~'^401$' out~'used before'

headers=()
for ((i = 0; i < 8; i++)); do
    headers+=("$(sign "$ann" GET /v1/jobs)")
done
kill -STOP "$munged"
pids=()
for ((i = 0; i < 8; i++)); do
    curl -sS -m 60 -o "$tmp/frozen.$i" -w '%{http_code}' -H "Authorization: ${headers[i]}" "$url/v1/jobs" >"$tmp/frozen.$i.status" &
    pids+=($!)
done
for ((i = 0; i < 20; i++)); do
    pollux status >/dev/null || break
done
check "munged frozen: others are served meanwhile" [ $i = 20 ]
wait "${pids[@]}"
check "the signed requests get 503" [ "$(cat "$tmp"/frozen.*.status)" = "$(printf '503%.0s' 1 2 3 4 5 6 7 8)" ]
kill -CONT "$munged"
ask "$ann" GET /v1/jobs
expect "munged goes on" out~'^200$'

ask "$ann" POST /v1/jobs/mine/cancel
expect "the owner cancels it" out~'^202$'
soon "it ends" is mine '.phase == "cancelled"'
stop_daemon
expect "the daemon ends" status=0

# ---- Supervisors ----------------------------------------------------------------------------------

# A supervisor signs as the user it runs as.  The fake backend starts no process, so this test's are the only ones.
cat >"$tmp/say" <<'END'
use Socket;
socket(my $agent, AF_UNIX, SOCK_DGRAM, 0) or die;
send($agent, $ARGV[0], 0, sockaddr_un($ENV{POLLUX_SOCKET})) or die "cannot send: $!";
END
chmod 644 "$tmp/say"
start_daemon --backend fake --node a:4 --interval 1 --auth munge --log-level debug
url=$(cat "$state/address")
run by "$ann" submit --name reported --max 1 -- sleep
expect "a job" status=0
soon "it runs" is reported '.generation == 1 and .phase == "running"'

# supervise USER PROGRESS [UID]: a supervisor of that user, whose replica reports the progress once; sets $report_log.
supervise()
{
    local run_root
    run_root=$(mktemp -d "$tmp/runs.XXXXXX")/reported/1
    mkdir -p "$run_root"
    chmod 711 "${run_root%/reported/1}" "${run_root%/1}"
    chown -R "$1" "${run_root%/reported/1}"
    report_log=$run_root/0/out.log
    # shellcheck disable=SC2016
    as "$1" $POLLUX exec --run "$run_root/0" <<<"{\"version\": 1, \"command\": [\"perl\", \"$tmp/say\",
        \"{\\\"version\\\": 1, \\\"generation\\\": 1, \\\"progress\\\": $2}\"], \"environment\": [\"PATH=$PATH\"], \"url\": \"$url\",
        \"news\": true, \"auth\": \"munge\", \"munge_uid\": ${3-$(id -u)}}"
}
supervise "$ann" 7
soon "the owner's supervisor reports" is reported '.progress == 7'
check "its news are taken, too" grep -q "request who=$ann .*route=/v1/jobs/{name}/runs .*status=202" "$log"
supervise "$ann" 8 54321
check "restricted to another uid: refused" grep -q 'the daemon refused.*401' "$report_log"
if [ -n "$bob" ]; then
    supervise "$bob" 9
    check "another user's supervisor is refused" grep -q 'the daemon refused.*403' "$report_log"
fi
check "and changes nothing" is reported '.progress == 7'
stop_daemon

# ---- Configuration --------------------------------------------------------------------------------

if [ -n "$bob" ]; then
    printf 'state: %s\nlisten: 127.0.0.1:0\nauth: munge\nadmin_users: [%s]\nallow_root: true\n' "$state" "$bob" >"$tmp/config.yaml"
    start_daemon --config "$tmp/config.yaml" --node a:4
    url=$(cat "$state/address")
    ask "$bob" GET /v1/tokens
    expect "admin_users are admins" out~'^200$'
    ask "$ann" GET /v1/tokens
    expect "others are not" out~'^403$'
    stop_daemon
fi
start_daemon --node a:4
url=$(cat "$state/address")
ask "$me" GET /v1/jobs
expect "without --auth munge, credentials are refused" out~'^401$' out!'munge'
run env POLLUX_AUTH=munge $POLLUX list
expect "and commands say so" status=1 err~'POLLUX_AUTH is munge, which it does not take'
run curl -sSi "$url/healthz"
expect "and healthz tells nothing" out!'WWW-Authenticate'
stop_daemon
stop_munged
start_daemon --node a:4 --auth munge
expect "polluxd starts without munged" status=0
check "and says so" grep -q 'signed requests are refused until munge works.*munged does not answer' "$log"
stop_daemon
run $POLLUXD --auth magic --check
expect "another way does not exist" status=2 err~'token.*munge'
