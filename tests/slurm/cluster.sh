# SPDX-License-Identifier: Apache-2.0
# The cluster of these tests (lib_slurm.sh): nodes with host names, addresses and GPUs of their own that are cut off,
# join again, crash and boot; and nothing is left of it, also after an interrupted test.
. tests/slurm/lib_slurm.sh

# What is to be the same before and after: interfaces, mounts, System V memory and names of namespaces.
machine() { ip -o link | sed 's/^[0-9]*: //'; cat /proc/mounts; ipcs -m; ls /run/netns /var/run/netns 2>/dev/null; }
machine >"$tmp/before"
nothing_changed() { find_descendants; [ ${#descendants[@]} = 0 ] && [ ! -e "$cluster" ] && diff "$tmp/before" <(machine); }
on_login() { node_exec login "$@"; }

# ---- Nodes --------------------------------------------------------------------------------------

cluster_up 4 4
check "four nodes are idle" nodes_are idle
run on_login srun -N4 sh -c 'echo $SLURMD_NODENAME $(hostname) $(hostname -i) $CUDA_VISIBLE_DEVICES.'
if $separate; then
    check "each has its name and its address" [ "$(sort <<<"$out")" = "n0 n0 10.77.0.1 .
n1 n1 10.77.0.2 .
n2 n2 10.77.0.3 .
n3 n3 10.77.0.4 ." ]
else
    check "each runs a task" [ "$(sort <<<"$out" | cut -d ' ' -f 1 | tr '\n' ' ')" = "n0 n1 n2 n3 " ]
fi
# Two jobs at the same time on one node: each waits for the other's file.
devices='echo $CUDA_VISIBLE_DEVICES | tr , "\n" >$0; while [ ! -e $1 ]; do sleep 0.05; done'
on_login srun -w n1 --gres=gpu:a100:3 sh -c "$devices" "$tmp/three" "$tmp/one" &
on_login srun -w n1 --gres=gpu:1 sh -c "$devices" "$tmp/one" "$tmp/three"
wait $!
check "two jobs on a node have its four GPUs" [ "$(sort "$tmp/one" "$tmp/three" | tr '\n' ' ')" = "0 1 2 3 " ]

# ---- Daemons ------------------------------------------------------------------------------------

slurmctld_kill
run on_login timeout 1 scontrol ping
expect "slurmctld is gone" out!'is UP'
slurmctld_start
soon "slurmctld answers again" on_login srun -w n3 true
slurmd_kill n2
soon "the node of a killed slurmd is down" node_is n2 down
slurmd_start n2
soon "it is idle again" node_is n2 idle
munged_kill login
run on_login timeout 3 squeue
check "without munged no request passes" [ "$status" != 0 ]
munged_start login
soon "with munged requests pass" on_login srun true

# ---- Separation ---------------------------------------------------------------------------------

# passes FROM TO: whether one of several datagrams arrives.
passes()
{
    node_exec "$2" python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7777))
s.settimeout(6)
try: s.recv(9)
except TimeoutError: sys.exit(1)' &
    node_exec "$1" bash -c "for i in {1..25}; do echo hello >/dev/udp/$(address "$2")/7777; sleep 0.2; done" 2>/dev/null
    wait $!
}
blocked() { ! passes "$@"; }

if $separate; then
    check "a datagram passes to a node" passes n0 n1
    node_cut n1 in
    check "cut in: none passes to the node" blocked n0 n1
    check "cut in: one passes from it" passes n1 n0
    node_join n1
    node_cut n1 out
    check "cut out: one passes to the node" passes n0 n1
    check "cut out: none passes from it" blocked n1 n0
    node_join n1
    check "joined: both pass" eval "passes n0 n1 && passes n1 n0"
    node_cut n1
    check "cut: none passes" eval "blocked n0 n1 && blocked n1 n0"
    soon "a node that is cut off becomes down" node_is n1 down
    node_join n1
    soon "it comes back by itself" node_is n1 idle
    check "and works" on_login srun -w n1 true
    on_login sbatch -Q --no-requeue -w n3 --wrap "exec sleep 1000" -o /dev/null
    soon "a task runs" eval '[ -n "$(node_pids n3 "^sleep 1000")" ]'
    task=$(node_pids n3 "^sleep 1000")
    node_crash n3
    check "it dies when its node crashes" eval '! lives $task'
    soon "the crashed node is down" node_is n3 down
    node_boot n3
    soon "it boots" node_is n3 '\(idle\|mixed\)'
fi
cluster_down
check "the end leaves nothing behind" nothing_changed

# ---- Others at the same time, and interruption --------------------------------------------------

cat >"$tmp/other.sh" <<END
. $PWD/tests/slurm/lib_slurm.sh
cluster_up 2 1
node_exec login srun -N2 sleep 1000 &
until_true eval '[ -n "\$(node_pids n1 "^sleep 1000")" ]'
touch "$tmp/\$1"
wait
END
mkdir "$tmp/files"
TMPDIR=$tmp/files env --default-signal=TERM,HUP bash "$tmp/other.sh" a >"$tmp/a.out" 2>&1 &
a=$!
TMPDIR=$tmp/files env --default-signal=TERM,HUP bash "$tmp/other.sh" b >"$tmp/b.out" 2>&1 &
b=$!
soon "two clusters run at the same time" [ -e "$tmp/a" -a -e "$tmp/b" ]
kill -TERM $a
kill -HUP $b
wait $a $b
check "interrupted scripts leave no process and no interface behind" nothing_changed
check "and no file" [ -z "$(ls "$tmp/files")" ]
