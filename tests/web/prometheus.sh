# SPDX-License-Identifier: Apache-2.0
# /metrics is what Prometheus expects: promtool finds nothing wrong, a real Prometheus scrapes a real polluxd with a token
# from a file, and every query of docs/grafana-dashboard.json has an answer there.
. tests/cli/lib_daemon.sh
dashboard=docs/grafana-dashboard.json

# ---- polluxd with jobs of all kinds -------------------------------------------------------------

echo 'groups: [{name: spot, nodes: 1, gpus_per_node: 2, price_per_node_hour: 3.6}]' >"$tmp/cluster.yaml"
start_daemon --node a:2:fast --node b:2 --cluster "$tmp/cluster.yaml" --interval 0.5
pollux nodes up spot-0:2 >/dev/null
submit runs --max 2 -- "$worker"
submit waits --replicas 100 -- "$worker"
submit fails --max-failures 0 -- false
submit done -- true
soon "a job runs" is runs '.phase == "running"'
soon "a job has failed" is fails '.phase == "failed"'
soon "a job is done" is done '.phase == "finished"'
address=$(cat "$state/address")
(umask 077; pollux token new prometheus --role read-only | tail -n 1 >"$tmp/token"; echo wrong >"$tmp/wrong")

# ---- promtool -----------------------------------------------------------------------------------

printf 'header = "Authorization: Bearer %s"\n' "$(cat "$tmp/token")" >"$tmp/curlrc"
run curl -sf -K "$tmp/curlrc" "$address/metrics"
printf '%s\n' "$out" >"$tmp/metrics"
expect "a read-only token reads the metrics" status=0 out~'^pollux_info\{version='
run promtool check metrics <"$tmp/metrics"
expect "promtool finds nothing wrong" status=0 out= err=
sed 's/^# TYPE pollux_submits_total counter/# TYPE pollux_submits_total gauge/' "$tmp/metrics" >"$tmp/bad"
run promtool check metrics <"$tmp/bad"
expect "it would find a counter that is called a gauge" err~'pollux_submits_total'
for name in $(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$tmp/metrics"); do
    grep -q -E "(^\| |, )$name[{, ]" docs/api.md || not_ok "docs/api.md describes $name"
done

# ---- Prometheus ---------------------------------------------------------------------------------

cat >"$tmp/prometheus.yml" <<END
global: {scrape_interval: 500ms}
scrape_configs:
  - job_name: pollux
    authorization: {credentials_file: $tmp/token}
    static_configs: [{targets: ['${address#*://}']}]
  - job_name: wrong
    authorization: {credentials_file: $tmp/wrong}
    static_configs: [{targets: ['${address#*://}']}]
END
run promtool check config "$tmp/prometheus.yml"
expect "its configuration is right" status=0
prometheus --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/data" --web.listen-address=127.0.0.1:0 \
    >"$tmp/prometheus.log" 2>&1 </dev/null &
prometheus=$!
trap 'kill $prometheus 2>/dev/null; wait $prometheus 2>/dev/null; finish_daemon; finish' EXIT
# Port 0 is a free one; its log says which.
port=
listens() { port=$(sed -n 's/.*Listening on" address=\([0-9.:]*\).*/\1/p' "$tmp/prometheus.log") && [ -n "$port" ]; }
tell() { tail -n 15 "$tmp/prometheus.log"; }
if ! until_true listens; then
    not_ok "Prometheus starts" "$(tell)"
    exit 1
fi

# ask QUERY: the values of the answer, one per line, without NaN.
ask()
{
    curl -s --get "http://$port/api/v1/query" --data-urlencode "query=$1" >"$tmp/answer" &&
        jq -r 'if .status != "success" then error(.error) else .data.result[] | .value[1] | select(. != "NaN") end' "$tmp/answer"
}
value_is() { [ "$(ask "$1")" = "$2" ]; }
soon "Prometheus scrapes polluxd with a token from a file" value_is 'up{job="pollux"}' 1
soon "with a wrong token it cannot" value_is 'up{job="wrong"}' 0
soon "it has the jobs that wait" value_is 'sum(pollux_jobs{phase="pending"})' 1
soon "it has the slots in use" value_is 'sum(pollux_slots_used)' 2
soon "it has the failures" value_is 'pollux_failures_total' 1

# A node that is drained while its job runs: all slots count, and no more than all are used.
submit stays --replicas 2 --no-preemptible -- "$worker"
soon "a job that may not be moved runs" is stays '.phase == "running"'
pollux drain "$(pollux list --json | jq -r '.jobs[] | select(.name == "stays") | .placement | keys[0]')" >/dev/null
queries=$(jq -r '.panels[].targets[]?.expr | select (test ("slots_used.*/")) | gsub ("\\$instance"; ".*")' $dashboard)
drained() { value_is 'sum(pollux_slots{available="false"})' 2 && value_is 'sum(pollux_slots_used)' 4; }
soon "its node is drained, and it runs" drained
check "the dashboard has two queries of utilisation" [ "$(wc -l <<<"$queries")" = 2 ]
utilisation()
{
    local all
    all=$(ask "$(sed -n 1p <<<"$queries")") && [ "${all:0:5}" = 0.666 ] &&
        ask "$(sed -n 2p <<<"$queries")" | jq -s -e 'max == 1 and min >= 0' >/dev/null
}
soon "utilisation is that of all slots, 4 of 6, and 1 at most" utilisation

# ---- The dashboard ------------------------------------------------------------------------------

# Grafana puts these values in the place of its variables.
mapfile -t queries < <(jq -r '.panels[].targets[]?.expr' $dashboard)
check "the dashboard has queries" [ ${#queries[@]} -ge 30 ]
answered() { [ -n "$(ask "$1")" ]; }
good=0
for query in "${queries[@]}"; do
    query=${query//\$__rate_interval/10s}
    query=${query//\$instance/.*}
    # A name that does not exist, or a label that no value has, gives nothing.
    if until_true answered "$query"; then
        good=$((good + 1))
    else
        not_ok "a query of the dashboard has an answer" "$query" "$(cat "$tmp/answer")"
    fi
done
check "every query of the dashboard has an answer ($good)" [ $good = ${#queries[@]} ]
check "its menu of daemons has one" [ "$(curl -s --get "http://$port/api/v1/label/instance/values" --data-urlencode 'match[]=pollux_info' | jq -r '.data[0]')" = "${address#*://}" ]
check "panels have different numbers and places" jq -e '[.panels[].id] as $i | ([.panels[].gridPos | [.x, .y]]) as $p |
    ($i | length) == ($i | unique | length) and ($p | length) == ($p | unique | length)' $dashboard

kill $prometheus
wait $prometheus 2>/dev/null
end_jobs runs stays
stop_daemon
