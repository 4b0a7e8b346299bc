# SPDX-License-Identifier: Apache-2.0
# The promises of docs/security.md, against a real daemon with real jobs: tokens and roles, bodies,
# paths, pages of other sites, slow clients, replaced or readable files, and other users of this machine.
. tests/cli/lib.sh
POLLUXD=${POLLUXD-${POLLUX%/*}/polluxd}
unset POLLUX_SERVER POLLUX_TOKEN_FILE
chmod 755 "$tmp" # so that others get as far as STATE
root=()
[ "$(id -u)" != 0 ] || root=(--allow-root)
secret=hidden-$RANDOM$RANDOM # in a job's environment

# ---- A daemon and its clients --------------------------------------------------------------------

daemons=()
secrets=("$secret") # that no log may contain
ended_badly=

# daemon NAME [OPTION...]: start one in $tmp/NAME; sets $state, $url and $admin.
daemon()
{
    state=$tmp/$1
    export POLLUX_STATE=$state
    shift
    $POLLUXD --state "$state" --listen 127.0.0.1:0 --node n0:4 --stop-jobs --log-level debug "$@" \
        2>>"$tmp/log" </dev/null &
    daemons+=($!)
    for _ in {1..200}; do
        pollux status >"$tmp/.up" 2>&1 && break
        kill -0 ${daemons[-1]} 2>/dev/null || break
        sleep 0.05
    done
    url=$(cat "$state/address")
    admin=$(cat "$state/admin.token")
    secrets+=("$admin")
}

# End the last daemon with its jobs, then supervisors that it has left.
stop()
{
    local pid=${daemons[-1]} info
    kill $pid 2>/dev/null
    wait $pid 2>/dev/null || ended_badly+=" $?"
    unset 'daemons[-1]'
    for info in "$tmp"/*/run/*/*/*/info; do
        [ -f "$info" ] || continue
        pid=$(jq -r .pid "$info")
        grep -qsF "$tmp" "/proc/$pid/cmdline" && kill -KILL "$pid"
    done
    return 0
}
trap 'code=$?; while [ ${#daemons[@]} -gt 0 ]; do stop; done; (exit $code); finish' EXIT

# ask TOKEN METHOD PATH [CURL OPTION...]: sets $status (of HTTP), $out (the body) and $err (the headers).
ask()
{
    local token=$1 method=$2 path=$3 auth=()
    shift 3
    [ -z "$token" ] || auth=(-H "Authorization: Bearer $token")
    ran="$method $path $*"
    [ "$method" != HEAD ] || auth+=(-I)
    status=$(curl -sg --path-as-is --max-time 60 -X "$method" "${auth[@]}" -D "$tmp/.err" \
        -o "$tmp/.out" -w '%{http_code}' "$@" "$url$path")
    out=$(tr -d '\0' <"$tmp/.out")
    err=$(tr -d '\r' <"$tmp/.err")
}
json=(-H 'Content-Type: application/json')
yaml=(-H 'Content-Type: application/yaml')

# until COMMAND...: wait for it to succeed, up to a minute.
until_true()
{
    for _ in {1..600}; do
        "$@" >"$tmp/.until" 2>&1 && return 0
        sleep 0.1
    done
    return 1
}
phase()
{
    [ "$(pollux show --json "$1" | jq -r .phase)" = "$2" ]
}

daemon main "${root[@]}"
check "the daemon has started" [ -s "$state/address" ]
pollux submit --name adams --env SECRET="$secret" -- sleep 1000 >/dev/null
ann=$(pollux token new ann)
eve=$(pollux token new --role read-only eve)
secrets+=("$ann" "$eve")
until_true phase adams running
check "a job runs" phase adams running

# ---- Tokens --------------------------------------------------------------------------------------

ask "" GET /healthz
expect "healthz needs no token" status=200
while read -r method path; do
    ask "" "$method" "$path"
    expect "no token: $method $path" status=401 out~'^{"error": ".*token.*"}' err~'^WWW-Authenticate: Bearer'
    ask "${admin%?}" "$method" "$path"
    expect "part of a token: $method $path" status=401 out!"$secret"
done <<'END'
GET /readyz
GET /metrics
GET /v1/status
GET /v1/jobs
POST /v1/jobs
GET /v1/jobs/adams
POST /v1/jobs/adams/cancel
POST /v1/jobs/adams/limits
GET /v1/jobs/adams/explain
GET /v1/jobs/adams/logs
POST /v1/jobs/adams/hints
GET /v1/nodes
POST /v1/nodes/n0/drain
POST /v1/nodes/n0/resume
GET /v1/plan
GET /v1/rounds
GET /v1/events
GET /v1/tokens
POST /v1/tokens
DELETE /v1/tokens/ann
END
for token in x " " "$(printf 'a%.0s' {1..5000})" "$(sha256sum <<<"$admin" | cut -d' ' -f1)" \
    "adams.$(printf '0%.0s' {1..64})" ".$admin" "../admin.token"; do
    ask "$token" GET /v1/jobs/nosuch
    expect "a wrong token: ${token:0:20}" status=401
done
ask "" GET /v1/jobs -H "Authorization: Basic $(printf 'admin:%s' "$admin" | base64 -w0)"
expect "another kind of authorization" status=401
ask "" GET "/v1/jobs?token=$admin"
expect "a token in the query does not count" status=401

# ---- The access log ------------------------------------------------------------------------------

# logged REGEX: a line of the log of requests matches.
logged()
{
    grep -Eq "info request $1 seconds=[0-9.e-]+\$" "$tmp/log"
}
from='from=127\.0\.0\.1'
ask "" GET "/v1/jobs/logged?token=$admin"
check "a request without a token leaves a line" logged \
    "who=- role=- $from method=GET route=/v1/jobs/\{name\} path=/v1/jobs/logged status=401"
ask "$admin-" GET /v1/jobs/logged2
check "a request with a wrong token leaves a line" logged \
    "who=- role=- $from method=GET route=/v1/jobs/\{name\} path=/v1/jobs/logged2 status=401"
ask "$eve" DELETE "/v1/tokens/$ann"
check "a token in a path is not written" logged \
    "who=eve role=read-only $from method=DELETE route=/v1/tokens/\{name\} path=/v1/tokens/\.\.\. status=403"
ask "$ann" POST /v1/nodes/n0/drain
check "a refused change names its client" logged \
    "who=ann role=user $from method=POST route=/v1/nodes/\{name\}/drain path=/v1/nodes/n0/drain status=403"
ask "$ann" GET '/v1/jobs/x%0a2026%20error'
check "an encoded line break stays encoded" logged \
    "who=- role=- $from method=GET route=- path=/v1/jobs/x%0a2026%20error status=400"
check "a read is a debug line" grep -q \
    "debug request who=admin role=admin $from method=GET route=/v1/status" "$tmp/log"

# ---- Roles ---------------------------------------------------------------------------------------

ask "$admin" GET /v1/jobs/adams
expect "an admin sees an environment" status=200 out~"$secret"
for who in ann eve; do
    ask "${!who}" GET /v1/jobs/adams
    expect "$who sees the job, but not its environment" status=200 out~'"adams"' out!"$secret"
    ask "${!who}" GET '/v1/events?follow=0&after=0'
    expect "$who sees its events, but not its environment" status=200 out~adams out!"$secret"
    ask "${!who}" GET /v1/jobs/adams/logs
    expect "$who cannot read its log" status=403
    ask "${!who}" POST /v1/jobs/adams/cancel
    expect "$who cannot cancel it" status=403
    ask "${!who}" POST /v1/jobs/adams/limits "${json[@]}" -d '{"max_replicas": 2}'
    expect "$who cannot scale it" status=403
    ask "${!who}" POST /v1/jobs/adams/hints "${json[@]}" -d '{"version": 1, "generation": 1}'
    expect "$who cannot report for it" status=403
    ask "${!who}" POST /v1/nodes/n0/drain
    expect "$who cannot drain a node" status=403
    ask "${!who}" GET /v1/tokens
    expect "$who cannot list tokens" status=403
    ask "${!who}" POST /v1/tokens "${json[@]}" -d '{"name": "mallory", "role": "admin"}'
    expect "$who cannot make tokens" status=403 out!'"token"'
    ask "${!who}" DELETE /v1/tokens/eve
    expect "$who cannot revoke tokens" status=403
done
ask "$eve" POST /v1/jobs "${json[@]}" -d '{"command": "true"}'
expect "read-only cannot submit" status=403
ask "$ann" POST /v1/jobs "${json[@]}" -d '{"name": "anns", "command": "echo from ann; sleep 1000", "environment": {"KEY": "of-ann"}}'
expect "a user can submit" status=201 out~'"owner": *"ann"'
until_true phase anns running
ask "$ann" GET /v1/jobs/anns
expect "a user sees the environment of the own job" status=200 out~of-ann
ask "$eve" GET /v1/jobs/anns
expect "other users do not see it" status=200 out!of-ann
logs_have()
{
    ask "$ann" GET /v1/jobs/anns/logs
    grep -q 'from ann' <<<"$out"
}
until_true logs_have
check "an owner reads the log" logs_have
ask "$ann" POST /v1/jobs "${json[@]}" -d '{"name": "forged", "owner": "admin", "command": "true"}'
expect "a user cannot choose another owner" status=400 out~owner
ask "$ann" GET /v1/tokens
expect "an admin lists tokens" status=403
ask "$admin" GET /v1/tokens
expect "the list has no secrets" status=200 out~'"ann"' out!"$ann" out!"$(printf %s "$ann" | sha256sum | cut -c1-64)"
check "the file of tokens has no secrets" sh -c '! grep -q "$1" "$2"' - "$ann" "$state/tokens"

# The token of a generation of a job, computed with openssl.
token_of()
{
    printf '%s.%s.%s' "$1" "$2" "$(printf %s "$1/$2" | openssl dgst -sha256 -mac HMAC \
        -macopt "hexkey:$(od -An -v -tx1 "$state/job.key" | tr -d ' \n')" | sed 's/.*[ =]//')"
}
job=$(token_of adams 1)
report='{"version": 1, "generation": 1, "progress": 5, "total": 10}'
ask "$job" POST /v1/jobs/adams/hints "${json[@]}" -d "$report"
expect "a job reports for itself" status=202
ask "$job" POST /v1/jobs/anns/hints "${json[@]}" -d "$report"
expect "a job cannot report for another job" status=403
ask "$job" POST /v1/jobs/nosuch/hints "${json[@]}" -d "$report"
expect "a job cannot find out which jobs exist" status=403
ask "$(token_of adams 2)" POST /v1/jobs/adams/hints "${json[@]}" -d "$report"
expect "the token of another generation cannot report for this one" status=403 out~'generation 2, not 1'
ask "$(token_of adams 2)" POST /v1/jobs/adams/hints "${json[@]}" -d "${report/generation\": 1/generation\": 2}"
expect "a generation that does not run cannot report" status=409
ask "adams.2.${job##*.}" POST /v1/jobs/adams/hints "${json[@]}" -d "$report"
expect "a signature is not valid for another generation" status=401
ask "anns.${job#*.}" POST /v1/jobs/anns/hints "${json[@]}" -d "$report"
expect "a job's signature is not valid for another job" status=401
for path in /v1/jobs /v1/jobs/adams /v1/jobs/adams/logs /v1/status /v1/nodes /v1/events /metrics /v1/tokens; do
    ask "$job" GET $path
    expect "a job's token cannot GET $path" status=403
done
ask "$job" POST /v1/jobs/adams/cancel
expect "a job's token cannot cancel" status=403
ask "$admin" POST /v1/tokens "${json[@]}" -d '{"name": "x", "role": "job"}'
expect "no token of role job is made" status=400
ask "$admin" DELETE /v1/tokens/eve
expect "a token is revoked" status=200
ask "$eve" GET /v1/jobs
expect "a revoked token is refused" status=401

# Streams of a token that expires end then.  On a slow machine it may expire before they begin: with a longer time, again.
# follow PATH: prints the status of HTTP and curl's, 28 if nobody has ended the stream.
follow()
{
    curl -sgN --max-time 120 -H "Authorization: Bearer $sue" -o "$tmp/.followed" -w '%{http_code}' "$url$1"
    echo " $?"
}
for seconds in 2 10 60; do
    sue=$(pollux token new --role admin --expires ${seconds}s sue)
    secrets+=("$sue")
    ran="streams of a token that expires after $seconds s"
    err=
    follow /v1/watch >"$tmp/watched" &
    watching=$!
    out="$(follow '/v1/jobs/adams/logs?follow=1')"
    wait $watching
    out+=" $(cat "$tmp/watched")"
    [[ $out == *401* ]] || break
done
check "a log that is followed and the page's stream end when the token expires ($out)" grep -Eqx '200 (18|56) 200 (18|56)' <<<"$out"
ask "$sue" GET /v1/jobs
expect "an expired token is refused" status=401 out~'^{"error": ".*has expired \(20.* UTC\).*new one.*"}' err~'^WWW-Authenticate: Bearer'

# ---- Bodies --------------------------------------------------------------------------------------

head -c 1100000 /dev/zero | tr '\0' ' ' >"$tmp/large"
head -c 60000000 /dev/zero | tr '\0' ' ' >"$tmp/huge"
ask "$admin" POST /v1/jobs "${json[@]}" --data-binary "@$tmp/large" -H Expect:
expect "a body over the limit" status=413 out~error
ask "$admin" POST /v1/jobs "${json[@]}" --data-binary "@$tmp/huge"
expect "a body far over the limit" status=413
ask "$admin" POST /v1/jobs "${json[@]}" -H 'Transfer-Encoding: chunked' --data-binary "@$tmp/large"
expect "a body over the limit, without a length" status=413
ask "" POST /v1/jobs "${json[@]}" --data-binary "@$tmp/huge"
expect "without a token the body is not read" status=401
for body in '' '{' '[]' 'null' '"x"' '{"command": }' '{"command": "a", "command": "b"}' \
    "$(printf '[%.0s' {1..5000})" '{"command": "\u0000"}' "$(printf '{"command": "\377"}')"; do
    ask "$admin" POST /v1/jobs "${json[@]}" --data-binary "$body"
    expect "malformed JSON: ${body:0:20}" status=400 out~error
    ask "$job" POST /v1/jobs/adams/hints "${json[@]}" --data-binary "$body"
    expect "malformed hints: ${body:0:20}" status=400 out~error
done
bomb='a: &a [x,x,x,x,x,x,x,x,x]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]
e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]
f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]
g: [*f,*f,*f,*f,*f,*f,*f,*f,*f]
command: *g'
for body in ': :' 'command: [' "$bomb" "$(printf '[%.0s' {1..5000})" 'a: &a [*a]' \
    'command: !!python/object/apply:os.system ["true"]'; do
    ask "$admin" POST /v1/jobs "${yaml[@]}" --data-binary "$body"
    expect "malformed YAML: ${body:0:20}" status=400 out~error
done
ask "$admin" POST /v1/jobs -d '{"command": "true"}'
expect "the form of a web page is refused" status=415
ask "$admin" POST /v1/jobs -H 'Content-Type: text/plain' -d '{"command": "true"}'
expect "plain text is refused" status=415
ask "$admin" POST /v1/jobs -H 'Content-Type:' -d '{"command": "true"}'
expect "a body without a type is refused" status=415
ask "$admin" POST /v1/jobs "${json[@]}" -H 'Content-Encoding: gzip' -d '{"command": "true"}'
expect "a compressed body is refused" status=415
ask "$admin" GET /v1/jobs -H "X-Large: $(printf 'x%.0s' {1..40000})"
check "a head that is too large is refused" [ "$status" = 431 -o "$status" = 413 -o "$status" = 000 ]

# ---- Paths ---------------------------------------------------------------------------------------

echo "not for you: $secret" >"$state/outside.log"
for path in /v1/jobs/../../etc/passwd /v1/jobs/..%2f..%2fadmin.token /v1/jobs/%2e%2e/logs \
    /v1/jobs/adams/../adams /v1/jobs/adams%2flogs /v1/jobs/adams%00 /v1/jobs//adams /v1/jobs/adams/ \
    /v1/jobs/%zz /v1/jobs/%ff /v1/jobs/a%0d%0ab /../admin.token \
    "/v1/jobs/$(printf 'x%.0s' {1..500})" /admin.token /v1/jobs/..; do
    ask "$admin" GET "$path"
    check "refused path: ${path:0:40}" grep -Eq '^(400|404|405)$' <<<"$status"
done
while read -r query; do
    ask "$admin" GET "/v1/jobs/adams/logs?$query"
    check "no log at $query" grep -Eq '^(400|404)$' <<<"$status"
    expect "no secret in the answer to $query" out!"$secret"
done <<'END'
generation=..
generation=../../..
generation=1/../../..
generation=-1
generation=99999999999999999999
rank=-1
rank=../0
rank=0%2f..%2f..
rank=99
generation=1&rank=..%2f..%2foutside.log
tail=-1
tail=99999999999999999999
follow=2
nosuch=1
rank=0&rank=1
END
for name in ../x a/b .hidden -x .. . 'a b' $'a\nb' "$(printf 'x%.0s' {1..64})" 'é' '' 'a%2fb'; do
    ask "$admin" POST /v1/jobs "${json[@]}" \
        -d "$(jq -cn --arg name "$name" '{name: $name, command: "true"}')"
    expect "refused as a job's name: '${name:0:20}'" status=400 out~name
done
check "no file was made outside of the state directory" [ -z "$(find "$tmp" -mindepth 1 -maxdepth 1 -name 'x*')" ]

# ---- Pages of other sites --------------------------------------------------------------------------

for host in evil.example evil.example:7467 localhost.evil.example 169.254.169.254 127.0.0.1.evil.example; do
    ask "$admin" GET /v1/jobs -H "Host: $host"
    expect "another host's name: $host" status=421 out!adams
    ask "" GET /healthz -H "Host: $host"
    expect "another host's name, healthz: $host" status=421
done
ask "$admin" GET /v1/jobs -H 'Host: localhost:1'
expect "loopback names are accepted" status=200
for header in 'Origin: http://evil.example' 'Origin: null' 'Origin: http://localhost:1' \
    'Sec-Fetch-Site: cross-site' 'Sec-Fetch-Site: same-site'; do
    ask "$admin" POST /v1/jobs/adams/cancel -H "$header"
    expect "cross-site: $header" status=403
done
page=$(curl -s -o /dev/null -w '%{http_code}' "$url/") # 404: it was built without one
link=(-H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: navigate')
ask "" GET / "${link[@]}" -H 'Sec-Fetch-Dest: document'
expect "a link of another site opens the page" status="$page"
ask "" GET / "${link[@]}" -H 'Sec-Fetch-Dest: iframe'
expect "a frame of another site does not" status=403
ask "$admin" GET /v1/jobs "${link[@]}" -H 'Sec-Fetch-Dest: document'
expect "a link does not open the API" status=403 out!adams
ask "" GET /
expect "the page is closed to other origins" status="$page"
[ "$page" != 200 ] || expect "by its Content-Security-Policy" err~"default-src 'none'; script-src 'self'" err~"frame-ancestors 'none'"
ask "" OPTIONS /v1/jobs -H 'Origin: http://evil.example' -H 'Access-Control-Request-Method: POST'
expect "a preflight request gives no permission" status=403 err!Access-Control
ask "$admin" GET /v1/jobs
expect "answers have no Access-Control headers" status=200 err!Access-Control err~'nosniff' err~'no-store'
check "the job still runs" phase adams running

# ---- Slow clients ----------------------------------------------------------------------------------

port=${url##*:}
# Send a head slowly, until the server closes the connection.
send_slowly()
{
    exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ' >&3
    while printf x >&3; do
        read -r -t 0.5 -u 3
        [ $? != 1 ] || return 0 # the end, not a pause
    done
}
export -f send_slowly
export port
slow_clients=()
for _ in {1..20}; do
    timeout 120 bash -c send_slowly 2>/dev/null &
    slow_clients+=($!)
done
for _ in {1..10}; do
    ask "$admin" GET /v1/jobs
    [ "$status" = 200 ] || break
done
expect "slow clients do not keep others waiting" status=200
cut=0
for pid in "${slow_clients[@]}"; do
    wait $pid && cut=$((cut + 1))
done
check "each slow client is disconnected" [ $cut = ${#slow_clients[@]} ]

# ---- Other users of this machine -------------------------------------------------------------------

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    other_user()
    {
        setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
    }
    check "the other user can reach the state directory" other_user test -x "$tmp"
    for file in . admin.token tokens job.key journal.db address run run/adams/1/0/out.log run/adams/1/0/info; do
        check "$file exists" test -e "$state/$file"
        check "another user cannot read $file" sh -c '! "$@" >/dev/null 2>&1' - \
            setpriv --reuid=65534 --regid=65534 --clear-groups -- cat "$state/$file"
    done
    chmod 711 "$state" # even if the state directory were open
    for file in admin.token tokens job.key journal.db address pollux.sock; do
        check "$file has no permissions for others" sh -c '! "$@" >/dev/null 2>&1' - \
            setpriv --reuid=65534 --regid=65534 --clear-groups -- cat "$state/$file"
    done
    run other_user curl -sS --unix-socket "$state/pollux.sock" http://localhost/healthz
    expect "another user cannot use the socket" out= err~'.'
    chmod 700 "$state"
    run other_user curl -s "$url/v1/jobs"
    expect "over TCP another user needs a token" out~token out!adams
    replica=$(jq .pid "$state/run/adams/1/0/replica")
    supervisor=$(jq .pid "$state/run/adams/1/0/info")
    check "the replica has the secret in its environment" grep -q "$secret" "/proc/$replica/environ"
    check "the other process is the supervisor" grep -qzF "$state/run/adams" "/proc/$supervisor/cmdline"
    for pid in "$replica" "$supervisor" "${daemons[-1]}"; do
        check "another user cannot read the environment of $(cat "/proc/$pid/comm")" sh -c '! "$@" >/dev/null 2>&1' - \
            setpriv --reuid=65534 --regid=65534 --clear-groups -- cat "/proc/$pid/environ"
        run other_user tr '\0' ' ' <"/proc/$pid/cmdline"
        expect "its arguments contain no secret" out!"$secret" out!"$admin" out!"${job#*.}"
        run tr '\0' ' ' <"/proc/$pid/environ"
        expect "its environment contains no token" out!"$admin" out!"${job#*.}"
    done
else
    skip "other users: this needs root"
fi

# ---- Replaced and readable files -----------------------------------------------------------------------

# A job replaces its log.
mkdir "$tmp/elsewhere"
echo "not for you: $secret" >"$tmp/elsewhere/file"
pollux submit --name linker -- sh -c "cd $state/run/linker/1/0 && rm out.log && ln -s $tmp/elsewhere/file out.log; sleep 1000" >/dev/null
linked()
{
    [ -L "$state/run/linker/1/0/out.log" ]
}
until_true linked
check "a job has replaced its log by a link" linked
run timeout 20 "${POLLUX%% *}" logs linker
expect "the link is not followed" out!"$secret"
pollux submit --name piper -- sh -c "cd $state/run/piper/1/0 && rm out.log && mkfifo out.log; sleep 1000" >/dev/null
piped()
{
    [ -p "$state/run/piper/1/0/out.log" ]
}
until_true piped
ask "$admin" GET /v1/jobs/piper/logs
expect "a pipe does not block the daemon" out!"$secret"
ask "" GET /healthz
expect "the daemon still answers" status=200
check "the target of the link is unchanged" [ "$(cat "$tmp/elsewhere/file")" = "not for you: $secret" ]
for name in adams anns linker piper; do
    pollux cancel $name >/dev/null
done
stop

# refuses NAME REGEX: a daemon does not start; the message matches.
refuses()
{
    run timeout 60 $POLLUXD --state "$state" --listen 127.0.0.1:0 --node n0:1 "${root[@]}"
    check "$1: it does not start" [ "$status" = 1 -o "$status" = 2 ]
    expect "$1: the message says why" err~"$2" err!"$admin"
}
for file in admin.token tokens job.key journal.db run; do
    mv "$state/$file" "$tmp/elsewhere/$file"
    ln -s "$tmp/elsewhere/$file" "$state/$file"
    refuses "$file is a link" "$file.*link"
    rm "$state/$file"
    mv "$tmp/elsewhere/$file" "$state/$file"
done
for file in admin.token tokens job.key; do
    chmod 644 "$state/$file"
    refuses "$file can be read by others" "$file.*0644.*chmod 600"
    chmod 600 "$state/$file"
done
mv "$state" "$tmp/real"
ln -s "$tmp/real" "$state"
refuses "STATE is a link" "$(basename "$state")"
rm "$state"
mv "$tmp/real" "$state"
chmod 777 "$state"
daemon main "${root[@]}"
check "a state directory open to others is closed" [ "$(stat -c %a "$state")" = 700 ]
ask "$ann" GET /v1/jobs
expect "tokens are valid after a restart" status=200
ask "$sue" GET /v1/jobs
expect "an expired token is refused after a restart" status=401 out~'has expired'
rm "$state/admin.token"
kill -HUP ${daemons[-1]}
renewed()
{
    ask "$admin" GET /v1/jobs
    [ "$status" = 401 ] && [ -s "$state/admin.token" ]
}
until_true renewed
check "a lost admin token is replaced at SIGHUP" renewed
ask "$(cat "$state/admin.token")" GET /v1/tokens
expect "the new admin token is valid" status=200
stop

# ---- Few connections ---------------------------------------------------------------------------------

printf 'connections: 20\nconnections_per_address: 20\nrate: 1\nburst: 10\n' >"$tmp/few.yaml"
daemon few --config "$tmp/few.yaml" "${root[@]}"
port=${url##*:}
fds=()
for _ in {1..60}; do
    exec {fd}<>"/dev/tcp/127.0.0.1/$port" && fds+=($fd)
done
ask "" GET /healthz
expect "sixty silent connections do not block a limit of twenty" status=200
for fd in "${fds[@]}"; do
    exec {fd}>&-
done
for _ in {1..40}; do
    printf 'url = "%s/v1/status"\noutput = "/dev/null"\n' "$url"
done >"$tmp/many"
run curl -s --max-time 60 -K "$tmp/many" -w '%{http_code}\n' -H "Authorization: Bearer $admin"
expect "too many requests at once get 429" out~429
stop

# ---- Root --------------------------------------------------------------------------------------------

if [ "$(id -u)" = 0 ]; then
    run timeout 60 $POLLUXD --state "$tmp/never" --listen 127.0.0.1:0 --node n0:1
    check "root is refused" [ "$status" = 1 -o "$status" = 2 ]
    expect "the message names the options to use" err~'--run-as' err~'--allow-root'
    # The folder of this build may be closed to other users, as /root is.
    install -D -m 755 -t "$tmp/bin" "$POLLUX" "$POLLUXD"
    POLLUXD=$tmp/bin/polluxd daemon nobodys --run-as nobody
    pollux submit --name who --directory / -- id -u >/dev/null
    until_true phase who finished
    check "with --run-as jobs run as that user" [ "$(pollux logs who)" = "$(id -u nobody)" ]
    check "with --run-as the state directory belongs to that user" [ "$(stat -c '%U %a' "$state")" = "nobody 700" ]
    stop
else
    skip "root: this needs root"
fi

for hidden in "${secrets[@]}"; do
    check "a secret is not in the log" sh -c '! grep -qF "$1" "$2"' - "$hidden" "$tmp/log"
done
check "each daemon has ended with 0" [ -z "$ended_badly" ]
check "no sanitizer reported an error" sh -c '! grep -E "Sanitizer|runtime error" "$1"' - "$tmp/log"
