# SPDX-License-Identifier: Apache-2.0
# polluxd with the fake backend: the whole daemon, its API and its journal, without a process per
# replica.
. tests/cli/lib_daemon.sh

run $POLLUXD --backend nosuch --check
expect "an unknown backend" status=2 out= err~"no backend is called 'nosuch'; there are local, slurm-steps, slurm, fake"
run $POLLUXD --help
expect "--help lists all backends" status=0 out~'^  local  .* machine' out~'^  slurm-steps  ' out~'^  slurm  ' out~'^  fake  ' err=
printf 'backend: nosuch\n' >"$tmp/bad.yaml"
run $POLLUXD --config "$tmp/bad.yaml" --check
expect "an unknown backend in the configuration" status=2 out= err~'bad.yaml:1:10: backend: expected "local", "slurm-steps", "slurm" or "fake", got .nosuch'

start_daemon --backend fake --node a:2 --node b:2 --interval 0.4
run pollux status
expect "status names the backend" status=0 out~'backend fake$' out~'0 of 4 slots in use'
submit good -- true
soon "true finishes" is good '.phase == "finished"'
submit bad --max-failures 0 -- false
soon "false fails" is bad '.phase == "failed"'
submit long --max 3 -- anything
soon "another command runs" is long '.phase == "running" and .replicas == 3'
run pollux logs long
expect "it has a log" status=0 out='the fake backend runs no program'
stop_daemon
holds "the daemon ends" [ "$status" = 0 ]
start_daemon --backend fake --node a:2 --node b:2 --interval 0.4
soon "it still runs after a restart" is long '.phase == "running" and .generation == 1'
run pollux cancel long
soon "cancel ends it" is long '.phase == "cancelled"'
stop_daemon
holds "no process is left" nothing_left
