# SPDX-License-Identifier: Apache-2.0
# A new job starts with what an earlier one of its application has measured, also after a restart of the daemon; unless one of
# both does not want that.
. tests/cli/lib_daemon.sh
. tests/cli/lib_trainer.sh

pace=(--pace 0.0004 --pace-step 0.008 --pace-sync 0.0001)
adaptive=(--adaptive --launcher mpi --grace 60 --backoff 1 --max 4 --env OMPI_MCA_mpi_yield_when_idle=1)
trains() { # NAME OPTION...: submit a job
    local name=$1
    shift
    submit "$name" "${adaptive[@]}" "$@" -- "$trainer" mlp --total 100000 --rate 0.05 --report 1 "${pace[@]}"
}
# first_replicas NAME: of its first generation.
first_replicas() {
    sqlite3 "$state/journal.db" "select json_extract (body, '\$.placement.n0') from events where type = 'START' and job = '$1' order by seq limit 1"
}
runs() { is "$1" '.phase == "running"'; }

start_daemon --node n0:4 --interval 1
trains first --application mlp
soon "the first job of an application has four replicas and a model of them" \
    is first '.replicas == 4 and .hints.max_profiled_replicas == 4'
check "it began with one" [ "$(first_replicas first)" = 1 ]
pollux cancel first >/dev/null
soon "it ends" has_ended first
stop_daemon KILL
daemon=
start_daemon --node n0:4 --interval 1
trains second --application mlp
soon "after a restart of the daemon, the second one runs" runs second
check "it began with more than one: $(first_replicas second)" [ "$(first_replicas second)" -gt 1 ]
run pollux show second
expect "its application is shown" status=0 out~'^application +mlp$'
pollux cancel second >/dev/null
soon "it ends" has_ended second
trains alone --application mlp --ignore-experience
soon "one that ignores experience runs" runs alone
run pollux show alone
expect "show says so" status=0 out~'^application +mlp, ignores experience$'
check "it began with one" [ "$(first_replicas alone)" = 1 ]
pollux cancel alone >/dev/null
soon "it ends" has_ended alone

# Without a name, the owner and the command tell.
trains third
soon "a job without a name has a model of four replicas" is third '.replicas == 4 and .hints.max_profiled_replicas == 4'
run pollux show third
check "no line of an application that it has not" [ "$(grep -c '^application' <<<"$out")" = 0 ]
pollux cancel third >/dev/null
soon "it ends" has_ended third
trains fourth
soon "the same command again" runs fourth
check "it began with more than one: $(first_replicas fourth)" [ "$(first_replicas fourth)" -gt 1 ]
run pollux explain fourth
expect "explain says what it is based on" status=0 out~'other job of its application counts too'
pollux cancel fourth >/dev/null
soon "it ends" has_ended fourth
stop_daemon

# What a job reports after the last full round, or all that it reports if it ends before the first one, counts, too.
start_daemon --node n0:4 --interval 600
trains short --application brief
soon "a job reports before a full round" is short '.hints.model != null'
check "which is not in the journal yet" [ "$(sqlite3 "$state/journal.db" "select count (*) from events where type = 'HINTS' and json_extract (body, '\$.short') is not null")" = 0 ]
pollux cancel short >/dev/null
soon "it ends" has_ended short
trains next --application brief
soon "the next one of its application runs" runs next
check "it began with two: $(first_replicas next)" [ "$(first_replicas next)" = 2 ]
stop_daemon
check_replay "a replay decides the same plans"

start_daemon --node n0:4 --interval 1 --no-experience
trains fifth --application mlp
soon "a daemon without experience" runs fifth
check "it began with one" [ "$(first_replicas fifth)" = 1 ]

run pollux submit --application 'a b' -- true
expect "a name that cannot be one" status=2 err~'application: expected a name'
