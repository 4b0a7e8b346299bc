# SPDX-License-Identifier: Apache-2.0
# docs/openapi.json against a real daemon: every path and method is requested, with success and with
# refusals, and every answer has the status, the type and the schema that are documented there.
. tests/cli/lib_daemon.sh
start_daemon --node n0:2 --node n1:2:cpu --interval 1 --stop-jobs
url=$(cat "$state/address")
admin=$(cat "$state/admin.token")

# ---- Requests --------------------------------------------------------------------------------

# ask STATUS METHOD PATH [TARGET [BODY [TYPE]]]: PATH as in openapi.json, TARGET the path that is
# requested.  The answer is in $tmp/answer.  A stream that does not end is read for so many seconds: $most.
token=$admin
most=60
ask()
{
    local wanted=$1 method=$2 path=$3 target=${4:-$3} body=${5-} type=${6:-application/json} answer got name data
    local curl=(curl -sS -m "$most" -X "$method" -o "$tmp/answer" -w '%{http_code} %{content_type}')
    name="$method $target gives $wanted"
    [ -z "$token" ] || curl+=(-H "Authorization: Bearer $token")
    [ -z "$body" ] || curl+=(-H "Content-Type: $type" --data-binary "$body")
    : >"$tmp/answer"
    answer=$("${curl[@]}" "$url$target" 2>"$tmp/err") || [ "$most" != 60 ] || {
        not_ok "$name" "curl failed: $answer" "$(cat "$tmp/err")"
        return
    }
    got=${answer%% *}
    type=${answer#* }
    type=${type%%;*}
    case $type in
    application/json) cp "$tmp/answer" "$tmp/values" ;;
    text/event-stream) sed -n 's/^data: //p' "$tmp/answer" >"$tmp/values" ;;
    *) jq -Rs . "$tmp/answer" >"$tmp/values" ;;
    esac
    data=$(jq -r --slurpfile api docs/openapi.json --arg path "$path" --arg method "${method,,}" --arg status "$got" \
        --arg type "$type" -f tests/cli/openapi.jq "$tmp/values" 2>&1)
    if [ "$got" = "$wanted" ] && [ -z "$data" ]; then
        ok "$name"
        [ "${got:0:1}" != 2 ] || echo "$method $path" >>"$tmp/seen"
    else
        not_ok "$name" "got $got as $type" "$data" "$(head -c 600 "$tmp/answer")"
    fi
}
field() { jq -r "$1" "$tmp/answer"; }
phase_is() { [ "$(curl -sS -H "Authorization: Bearer $admin" "$url/v1/jobs/$1" | jq -r .phase)" = "$2" ]; }

# ---- All routes ------------------------------------------------------------------------------

ask 200 GET /healthz
token=
ask 401 GET /v1/jobs
ask 200 GET /healthz
if [ "$(curl -s -o /dev/null -w '%{http_code}' "$url/")" = 200 ]; then
    ask 200 GET /
    for file in page.js page.css favicon.svg; do ask 200 GET '/assets/{name}' "/assets/$file"; done
else # it was built without the page
    ask 404 GET /
    printf '%s\n' 'GET /' 'GET /assets/{name}' >>"$tmp/seen"
fi
ask 404 GET '/assets/{name}' /assets/nothing
token=$admin
ask 200 GET /readyz
ask 200 GET /metrics
ask 200 GET /v1/status
ask 200 GET /v1/plan
ask 200 GET /v1/rounds
ask 200 GET /v1/nodes
ask 200 GET /v1/jobs
ask 201 POST /v1/tokens '' '{"name": "ann", "role": "user"}'
ann=$(field .token)
ask 409 POST /v1/tokens '' '{"name": "ann", "role": "user"}'
ask 400 POST /v1/tokens '' '{"name": "ann", "role": "king"}'
ask 400 POST /v1/tokens '' '{"name": "bob", "role": "user", "expires_s": 0}'
ask 201 POST /v1/tokens '' '{"name": "bob", "role": "user", "expires_s": 3600}'
check "a token expires" jq -e '.expires_at > now and .expired == false' "$tmp/answer"
ask 200 GET /v1/tokens

token=$ann
ask 201 POST /v1/jobs '' $'name: runner\ncommand: echo hello; sleep 1000\nenvironment: {KEY: value}\nallowed: pow2\nmax_replicas: 2\n' application/yaml
ask 201 POST /v1/jobs '' '{"name": "failing", "command": "echo broken; exit 3", "max_failures": 0}'
ask 201 POST /v1/jobs '' '{"name": "large", "command": ["true"], "min_replicas": 8, "max_replicas": 8, "allowed": [8]}'
ask 409 POST /v1/jobs '' '{"name": "large", "command": ["true"]}'
ask 400 POST /v1/jobs '' $'name: ../x\ncomand: true\nweight: -1\n' application/yaml
check "all errors are reported with their lines" jq -e '.problems | length >= 3 and all(.line > 0)' "$tmp/answer"
ask 415 POST /v1/jobs '' 'command: true' text/plain
ask 200 POST /v1/jobs '/v1/jobs?check=1' '{"name": "checked", "command": ["true"]}'
ask 400 POST /v1/jobs '/v1/jobs?check=1' $'comand: true\n' application/yaml
until_true phase_is runner running
until_true phase_is failing failed

ask 200 GET /v1/jobs
check "a list has the jobs in order of submission" jq -e '[.jobs[].name] == ["runner", "failing", "large"]' "$tmp/answer"
ask 200 GET /v1/jobs '/v1/jobs?phase=live&owner=ann&limit=1'
check "the next page follows the last job of a page" jq -e '.next == "runner"' "$tmp/answer"
ask 200 GET /v1/jobs "/v1/jobs?ended_after=$(($(date +%s) + 3600))"
check "jobs that ended long ago can be omitted" jq -e '[.jobs[].name] == ["runner", "large"]' "$tmp/answer"
ask 400 GET /v1/jobs '/v1/jobs?limit=0'
ask 400 GET /v1/jobs '/v1/jobs?colour=red'
ask 200 GET '/v1/jobs/{name}' /v1/jobs/runner
check "an owner sees the environment" jq -e '.environment == {"KEY": "value"}' "$tmp/answer"
ask 200 GET '/v1/jobs/{name}' /v1/jobs/failing
check "a failed job shows its last lines" jq -e '.last_lines == ["broken"]' "$tmp/answer"
check "a failed job shows its exit code" jq -e '.exit_code > 0' "$tmp/answer"
ask 200 GET '/v1/jobs/{name}' /v1/jobs/large
check "a waiting job has a reason" jq -e '.waits_for | contains("needs 8 slots")' "$tmp/answer"
ask 404 GET '/v1/jobs/{name}' /v1/jobs/nobody

hints='"init_batch": 128, "max_batch": 8192, "min_local": 16, "max_local": 512, "accumulation": true,
    "grad": {"sqr": 0.01, "var": 0.2}, "max_profiled_replicas": 2, "progress": 100, "total": 1e6, "m": 64, "s": 0,
    "model": {"alpha_grad": 0.05, "beta_grad": 0.001, "alpha_node": 0.05, "beta_node": 0.001,
    "alpha_local": 0.02, "beta_local": 0.001, "gamma": 2}'
ask 200 GET '/v1/jobs/{name}' /v1/jobs/runner
generation=$(field .generation)
ask 202 POST '/v1/jobs/{name}/hints' /v1/jobs/runner/hints "{\"version\": 1, \"generation\": $generation, $hints}"
ask 409 POST '/v1/jobs/{name}/hints' /v1/jobs/runner/hints "{\"version\": 1, \"generation\": 1000, $hints}"
ask 400 POST '/v1/jobs/{name}/hints' /v1/jobs/runner/hints '{"version": 1, "generation": 1, "progress": -5}'
ask 200 GET '/v1/jobs/{name}' /v1/jobs/runner
check "a report is seen at once" jq -e '.goodput > 0 and .progress == 100 and .eta_s > 0' "$tmp/answer"
check "the reason of a refused report is seen at once" jq -e '.refused_report | contains("progress")' "$tmp/answer"
news="{\"generation\": $generation, \"rank\": 0, \"state\": \"running\"}"
ask 202 POST '/v1/jobs/{name}/runs' /v1/jobs/runner/runs "$news"
ask 400 POST '/v1/jobs/{name}/runs' /v1/jobs/runner/runs "${news/\"rank\": 0/\"rank\": 1000}"
ask 400 POST '/v1/jobs/{name}/runs' /v1/jobs/runner/runs '{"generation": 1, "rank": 0, "state": "ended"}'
ask 409 POST '/v1/jobs/{name}/runs' /v1/jobs/failing/runs "$news"
ask 200 GET '/v1/jobs/{name}/explain' /v1/jobs/runner/explain
ask 200 GET '/v1/jobs/{name}/explain' /v1/jobs/large/explain
ask 409 GET '/v1/jobs/{name}/explain' /v1/jobs/failing/explain
ask 200 GET '/v1/jobs/{name}/logs' '/v1/jobs/failing/logs?generation=1&rank=0&tail=5&follow=1'
check "a log is what the program wrote" grep -qx broken "$tmp/answer"
ask 404 GET '/v1/jobs/{name}/logs' /v1/jobs/large/logs
ask 400 GET '/v1/jobs/{name}/logs' '/v1/jobs/failing/logs?rank=x'
ask 200 POST '/v1/jobs/{name}/limits' /v1/jobs/runner/limits '{"max_replicas": 4, "weight": 2}'
ask 400 POST '/v1/jobs/{name}/limits' /v1/jobs/runner/limits '{"min_replicas": 9}'
ask 409 POST '/v1/jobs/{name}/limits' /v1/jobs/failing/limits '{"weight": 2}'
ask 403 POST '/v1/nodes/{name}/drain' /v1/nodes/n0/drain
ask 403 GET /v1/tokens
token=$admin
ask 200 POST '/v1/nodes/{name}/drain' /v1/nodes/n1/drain
ask 404 POST '/v1/nodes/{name}/drain' /v1/nodes/n7/drain
ask 200 GET /v1/nodes
ask 200 POST '/v1/nodes/{name}/resume' /v1/nodes/n1/resume
ask 404 POST '/v1/nodes/{name}/resume' /v1/nodes/n7/resume
ask 202 POST '/v1/jobs/{name}/cancel' /v1/jobs/large/cancel
ask 409 POST '/v1/jobs/{name}/cancel' /v1/jobs/large/cancel
ask 404 POST '/v1/jobs/{name}/cancel' /v1/jobs/nobody/cancel
ask 200 GET /v1/plan
ask 200 GET /v1/rounds '/v1/rounds?limit=3'
last=$(field .rounds[0].round)
ask 400 GET /v1/rounds '/v1/rounds?limit=x'
ask 200 GET '/v1/rounds/{number}' "/v1/rounds/$last"
check "a round shows its plan and the one before" jq -e '.after.runner and .before.runner and .changes != null' "$tmp/answer"
ask 404 GET '/v1/rounds/{number}' /v1/rounds/1
ask 200 GET /v1/history
check "the history of the cluster has its slots" jq -e '.minutes.slots[-1] > 3.99 and (.minutes.at | length) > 0' "$tmp/answer"
ask 200 GET /v1/history "/v1/history?since=$(($(date +%s) / 60 * 60))"
check "its last minute alone" jq -e '(.minutes.at | length) <= 2 and (.hours.at | length) <= 1 and (.minutes.at | length) == (.minutes.price | length)' "$tmp/answer"
ask 200 GET /v1/history '/v1/history?since=9000000000'
check "nothing of the future" jq -e '.minutes.at == [] and .hours.goodput == []' "$tmp/answer"
ask 400 GET /v1/history '/v1/history?since=now'
ask 200 GET '/v1/jobs/{name}/history' /v1/jobs/runner/history
check "the history of a job has its values" jq -e '.points.replicas[-1] > 0 and .points.goodput[-1] > 0' "$tmp/answer"
ask 200 GET '/v1/jobs/{name}/history' /v1/jobs/failing/history
check "the history of a job has its exits" jq -e '.generations[0] | .kind == "gave up" and .ended_at > .started_at' "$tmp/answer"
ask 404 GET '/v1/jobs/{name}/history' /v1/jobs/nobody/history
ask 200 GET /v1/events '/v1/events?follow=0&after=0'
check "events have numbers without gaps" jq -se 'map(.seq) == [range(1; length + 1)]' "$tmp/values"
ask 400 GET /v1/events '/v1/events?after=x'
most=2
ask 200 GET /v1/watch
check "a watch begins with a snapshot" jq -se '.[0] | (.jobs | length) == 3 and (.nodes | length) == 2 and .you.role == "admin"' "$tmp/values"
ask 200 GET /v1/watch '/v1/watch?after=0'
most=60
ask 400 GET /v1/watch '/v1/watch?after=x'
ask 200 GET /v1/status
ask 200 POST '/v1/nodes/{name}/drain' /v1/nodes/n1/drain '{"leaving_s": 60}'
ask 400 POST '/v1/nodes/{name}/drain' /v1/nodes/n1/drain '{"leaving_s": -1}'
ask 415 POST '/v1/nodes/{name}/drain' /v1/nodes/n1/drain 'leaving_s: 60' text/plain
ask 200 POST '/v1/nodes/{name}/gone' /v1/nodes/n1/gone
ask 404 POST '/v1/nodes/{name}/gone' /v1/nodes/n7/gone
ask 200 POST '/v1/nodes/{name}/up' /v1/nodes/n1/up '{"slots": 2, "type": "cpu"}'
ask 409 POST '/v1/nodes/{name}/up' /v1/nodes/n1/up '{"slots": 3}'
ask 404 POST '/v1/nodes/{name}/up' /v1/nodes/n7/up '{"slots": 2}'
ask 400 POST '/v1/nodes/{name}/up' /v1/nodes/n1/up '{}'
ask 200 GET /v1/groups
ask 200 GET /v1/cost '/v1/cost?by=month,owner'
ask 400 GET /v1/cost '/v1/cost?by=day'
ask 200 DELETE '/v1/tokens/{name}' /v1/tokens/ann
ask 404 DELETE '/v1/tokens/{name}' /v1/tokens/ann
ask 200 GET /metrics

ask 404 GET /v1/playback

# ---- A recorded cluster -----------------------------------------------------------------------

pollux sim --policy fifo --record "$tmp/run.db" >/dev/null
$POLLUX view "$tmp/run.db" --paused >"$tmp/view" 2>"$tmp/view.err" &
view=$!
for _ in {1..200}; do
    [ ! -s "$tmp/view" ] && [ ! -s "$tmp/view.err" ] || break
    sleep 0.05
done
if [ -s "$tmp/view" ]; then
    live=$url url=$(sed 's:/#token=.*::' "$tmp/view") token=$(sed 's/.*#token=//' "$tmp/view")
    ask 200 GET /v1/playback
    ask 200 POST /v1/playback '' '{"at": 3600}'
    ask 400 POST /v1/playback '' '{"speed": 0}'
    ask 403 POST /v1/jobs '' '{}'
    kill $view
    url=$live token=$admin
else
    check "a build without the page says so" grep -q 'built without npm' "$tmp/view.err"
    printf '%s /v1/playback\n' GET POST >>"$tmp/seen"
fi
wait $view

# ---- Coverage --------------------------------------------------------------------------------

jq -r '.paths | to_entries[] | .key as $p | .value | keys[] | select(. != "parameters") | "\(ascii_upcase) \($p)"' \
    docs/openapi.json | sort >"$tmp/promised"
sort -u "$tmp/seen" >"$tmp/kept"
check "every path and method was requested with success" diff "$tmp/promised" "$tmp/kept"
stop_daemon
check "the daemon ends with 0" [ "$status" = 0 ]
