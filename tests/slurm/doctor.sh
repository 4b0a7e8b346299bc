# SPDX-License-Identifier: Apache-2.0
# pollux doctor with a real Slurm: from a login node, through a job on a compute node.  (Broken commands:
# tests/cli/doctor.sh.)
. tests/slurm/lib_slurm.sh
unset POLLUX_SERVER POLLUX_TOKEN_FILE
export POLLUX_STATE=$tmp/state
mkdir -p -m 700 "$POLLUX_STATE"
program=$(realpath "$POLLUX")
finding() { jq -r --arg check "$1" '[.checks[] | select(.check == $check) | .finding] | join(" ")' <<<"$out"; }
text() { jq -r --arg check "$1" '.checks[] | select(.check == $check) | .text' <<<"$out"; }
doctor() { run node_exec login "$program" doctor --json "$@"; }

cluster_up 3 2
doctor
expect "a good cluster" status=0 err=
for name in slurm-commands slurm-controller slurm-select munge slurm-partition clock shared locks; do
    check "$name is ok" [ "$(finding $name)" = ok ]
done
check "GPUs are counted" grep -q 'nodes 3 (usable 3, closed 0, lost 0), GPUs 6' <<<"$(text slurm-partition)"
check "the time until a job runs" grep -Eq '^a job ran on n[0-2] [0-9.]+ s after sbatch$' <<<"$(text start)"
doctor --node n1 --partition main
expect "on one node" status=0 out~'a job ran on n1 '
check "no file is left" [ -z "$(ls -A "$POLLUX_STATE")" ]
check "no job is left" [ -z "$(node_exec login squeue -h -n pollux-doctor)" ]

doctor --node n9
expect "a node that is not there" status=1 out~'Slurm takes no job of yours'
node_exec login scontrol update nodename=n2 state=drain reason=test
doctor --node n2 --wait 3
expect "a drained node" status=0 out~'nodes 3 \(usable 2, closed 1, lost 0\)'
check "is a warning, not a problem" [ "$(finding node-job)" = warning ]

if $separate; then
    # A daemon on the login node, and one that listens for its own machine only.
    node_exec login "$(realpath "$POLLUXD")" --state "$state" --listen 10.77.0.202:7467 --tls-self-signed --backend fake \
        --node a:1 "${root[@]}" >>"$log" 2>&1 </dev/null &
    daemon=$!
    until_true node_exec login "$program" status
    doctor
    expect "a node reaches the daemon" status=0
    check "and says so" [ "$(finding node-daemon)" = ok ]
    address=$(cat "$state/address")
    run node_exec login env POLLUX_SERVER="$address" POLLUX_CA="$state/tls.pem" POLLUX_TOKEN_FILE="$state/admin.token" \
        POLLUX_STATE="$tmp/other" "$program" doctor --json --shared "$state"
    expect "with the address in the environment" status=0
    check "it is reached, too" [ "$(finding node-daemon)" = ok ]
    # A node that has no way to it.
    node_exec n1 ip route add blackhole 10.77.0.202/32
    doctor --node n1
    expect "a node does not reach the daemon" status=1
    check "a problem, with the node" [ "$(finding node-daemon)" = problem ]
    check "and its reason" grep -q '^polluxd is not reached from n1: ' <<<"$(text node-daemon)"
    node_exec n1 ip route del blackhole 10.77.0.202/32
    stop_daemon
    # A daemon that serves replicas on nodes and listens for its own machine only.
    node_exec login env SLURM_JOB_ID=1 "$(realpath "$POLLUXD")" --state "$tmp/steps" --listen 127.0.0.1:0 --backend slurm-steps \
        "${root[@]}" >>"$log" 2>&1 </dev/null &
    daemon=$!
    until_true node_exec login env POLLUX_STATE="$tmp/steps" "$program" status
    run node_exec login env POLLUX_STATE="$tmp/steps" "$program" doctor --json --node n1
    expect "a daemon that listens on loopback" status=1
    check "nodes cannot report to it" grep -q 'listens for this machine only' <<<"$(text node-daemon)"
    stop_daemon

    # A node whose clock differs, and that sees no lock: a stub answers there instead of pollux.
    cat >"$tmp/stub" <<-'END'
	#!/bin/bash
	directory=${2#--probe=}
	now() { echo $(($(date +%s%N) / 1000 + $(cat "${0%/*}/skew") * 1000000)); }
	put() { cat >"$directory/.$1" && mv "$directory/.$1" "$directory/$1"; }
	printf 'host = n1\nsent_us = %s\n' "$(now)" | put started
	until [ -e "$directory/reply" ]; do sleep 0.02; done
	printf 'reply = seen\nreceived_us = %s\nlock = free\ndaemon =\n' "$(now)" | put answer
	END
    chmod 755 "$tmp/stub"
    sed -i "s,\${0%/\*},$tmp," "$tmp/stub"
    node_exec n1 mount --bind "$tmp/stub" "$program"
    for skew in 0:ok 30:warning -30:warning 3600:problem -3600:problem; do
        echo "${skew%:*}" >"$tmp/skew"
        doctor --node n1
        check "a clock that differs by ${skew%:*} s: ${skew#*:}" [ "$(finding clock)" = "${skew#*:}" ]
    done
    expect "a problem is the exit status" status=1 out~'differs by -3[56][0-9][0-9]\.'
    check "a lock that is not seen is a warning" [ "$(finding locks)" = warning ]
    node_exec n1 umount "$program"
    # A directory of the login node only.
    node_exec login sh -c 'mkdir -m 700 /run/here && "$0" doctor --json --shared /run/here' "$program" >"$tmp/out"
    check "a directory that nodes do not see: exit status" [ $? = 1 ]
    check "a directory that nodes do not see" grep -q 'the node does not see /run/here' "$tmp/out"
    munged_kill login
    doctor --timeout 5
    expect "munged is dead" status=1
    check "the controller does not take requests without munge" [ "$(finding slurm-controller)" = problem ]
fi
