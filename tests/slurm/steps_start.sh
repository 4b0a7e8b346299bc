# SPDX-License-Identifier: Apache-2.0
# The start of a pilot: if polluxd cannot start, the pilot and its chain end; its address is one that other machines reach,
# also where the node calls itself 127.0.1.1.
. tests/slurm/lib_pilot.sh
hosts() { echo "127.0.0.1 localhost"; for i in ctl login n0 n1; do echo "$(address $i) $i"; done; }
mkdir -p "$cluster/etc"
{ echo "127.0.1.1 n0"; hosts; } >"$cluster/etc/hosts.n0"
node_addresses='n[0-1]'
cluster_up 2 2

queue_is_empty() { [ -z "$(on_login squeue -h)" ]; }
# ends NAME LOGS REGEX: after the submission of a pilot, no allocation is left, LOGS of them have run, and the log says why.
ends()
{
    PATIENCE=60 soon "$1: the chain ends" queue_is_empty
    check "$1: $2 allocation has run" [ "$(find "$state" -name 'pilot-*.log' | wc -l)" = "$2" ]
    run bash -c "cat '$state'/pilot-*.log | tr '\n' ' '"
    expect "$1: the log says why" out~"$3"
    on_login scancel -n pollux
    until_true queue_is_empty
    rm -f "$state"/pilot-*.log
}

# ---- polluxd cannot start -----------------------------------------------------------------------

run pollux slurm-pilot --state "$state" -N2 --gpus-per-node=2 -t 60 --chain -- --no-such-option
ends "a wrong option" 1 'no-such-option.*does not take its options'

mkdir "$tmp/bin"
cp "$POLLUX" "$tmp/bin/pollux"
printf '#!/bin/sh\necho it cannot start\nexit 1\n' >"$tmp/bin/polluxd"
chmod 755 "$tmp/bin/polluxd"
run on_login "$tmp/bin/pollux" slurm-pilot --state "$state" -N2 --gpus-per-node=2 -t 60 --chain
ends "a polluxd that ends before it answers" 1 'it cannot start.*ended 5 times before it answered'

# ---- The address --------------------------------------------------------------------------------

$separate || { skip "no namespaces"; exit 0; }

# works NAME ADDRESS: polluxd answers there, and a replica on the other node reaches it.
works()
{
    check "$1" grep -q "^https://$2\$" "$state/address"
    submit "$3" --min 4 --max 4 -- "$worker"
    soon "$1: all replicas run" is "$3" '.phase == "running"'
    end_jobs "$3"
    on_login scancel "$pilot"
    soon "$1: the pilot ends" queue_is_empty
    rm -f "$state"/pilot-*.log "$state/address"
}
start_pilot -N2 --gpus-per-node=2 -t 60 -- --interval 1 --restart-delay 0
works "an address that others reach comes before 127.0.1.1" '10.77.0.1:[0-9]*' first

# Only one name: nothing is known that others reach.
{ echo "127.0.1.1 n0"; hosts | grep -v ' n0$'; } >"$cluster/etc/hosts.n0"
run pollux slurm-pilot --state "$state" -N2 --gpus-per-node=2 -t 60 --chain
ends "only 127.0.1.1 is known" 1 'reach no known address of n0 .n0 is 127.0.1.1.*--listen ADDRESS:PORT'
start_pilot -N2 --gpus-per-node=2 -t 60 -- --interval 1 --restart-delay 0 --listen 10.77.0.1:7777
works "--listen names the address" 10.77.0.1:7777 second
