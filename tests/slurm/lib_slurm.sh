# SPDX-License-Identifier: Apache-2.0
# For tests with a real Slurm: a private cluster on this machine.
#
#     . tests/slurm/lib_slurm.sh
#     cluster_up 4 2                      n0 to n3 with two GPUs each, `ctl` with slurmctld, `login` for commands
#     node_exec login sinfo               run a command on a node
#     node_cut n1 [in|out]; node_join n1  drop the packets to it, from it, or both
#     slurmd_kill n1; slurmd_start n1     also slurmctld_kill, munged_kill NODE, ... [SIGNAL]
#     node_crash n2; node_boot n2         all its processes die at once; it starts again
#     cluster_down                        also at the end of the script, whatever its reason
#
# It also has all of tests/cli/lib_daemon.sh (until_true, soon, holds, check, ...).
#
# As root every node has namespaces of its own for the network, the host name, processes and mounts, all below a
# process of this script; another one holds the router between them.  So nothing of the machine changes: no interface,
# address, port or mount is visible outside, several scripts can run at the same time, and all of it ends with these
# processes.  All nodes see the same files, except /proc, /run, /dev/shm and /etc/hosts: that is the shared file system.
# /etc/hosts of a node is $cluster/etc/hosts.NODE, which a test may write before.
# A Slurm or munged that this machine has is neither used nor disturbed.
#
#     10.77.0.1, .2, ...   n0, n1, ...         every packet goes to the router 10.77.0.254
#     10.77.0.201          ctl: slurmctld      "cut in":  the router has no route to the node
#     10.77.0.202          login               "cut out": the node knows a wrong hardware address of the router
#
# Where namespaces are not allowed, all daemons are on the loopback address, with free ports; then `separate` is false,
# node_exec runs the command as it is, and node_cut, node_crash do not work.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib_daemon.sh"
cluster=$tmp/cluster
PAUSE=0.2 # seconds between two looks of until_true
export SLURM_CONF=$cluster/etc/slurm.conf
PATH=$PATH:/usr/sbin:/sbin

if ! slurmctld -V >/dev/null 2>&1 || ! slurmd -V >/dev/null 2>&1 || ! munged --version >/dev/null 2>&1; then
    skip "no slurmctld, slurmd or munged: tools/setup test installs them"
    exit 0
fi
separate=false
[ "$(id -u)" != 0 ] || ! unshare --net --uts --pid --mount --fork --mount-proc ip link set lo up 2>/dev/null || separate=true
slurm_user=$(id -un)
[ "$slurm_user" != root ] || ! id slurm >/dev/null 2>&1 || slurm_user=slurm
router=                # the process that holds the router's namespace
declare -A holder=()   # by node: the process that holds its namespaces
nodes=()               # the names of the compute nodes
node_addresses=        # NodeAddr of all of them, if it is not their address

# ---- Nodes --------------------------------------------------------------------------------------

# number NAME: the last byte of its address.
number()
{
    case $1 in
    ctl) echo 201 ;;
    login) echo 202 ;;
    *) echo $((${1#n} + 1)) ;;
    esac
}
address() { echo "10.77.0.$(number "$1")"; }
hardware() { printf '02:00:00:00:00:%02x' "$1"; }

# node_exec NODE COMMAND...: run it there.  Its process id is another one there and here.
node_exec()
{
    local node=$1
    shift
    $separate || { "$@"; return; }
    nsenter -t "${holder[$node]}" --net --uts --mount --pid="/proc/${holder[$node]}/ns/pid_for_children" --wdns="$PWD" -- "$@"
}

# node_pids NODE REGEX: the living processes of a node whose command line matches, with their ids here.  A blank in the
# expression stands for the end of a word.
node_pids()
{
    local pid space
    $separate && space=$(readlink "/proc/${holder[$1]}/ns/uts")
    grep -lsaP -e "${2// /\\x00}" /proc/[0-9]*/cmdline | cut -d / -f 3 | while read -r pid; do
        [ "$pid" != "$BASHPID" ] && lives "$pid" || continue
        if $separate; then
            [ "$(readlink "/proc/$pid/ns/uts")" != "$space" ] || echo "$pid"
        else
            ! is_descendant "$pid" || echo "$pid"
        fi
    done 2>/dev/null
}

# The first process of a node: its end is the end of all others there.  It waits for orphans.
node_init()
{
    local name=$1 address=$2
    trap 'exit 0' TERM
    exec >>"$cluster/log/$name.init" 2>&1
    mount -t tmpfs tmpfs /run
    mount -t tmpfs tmpfs /dev/shm
    [ -e "$cluster/etc/hosts.$name" ] || cp "$cluster/etc/hosts" "$cluster/etc/hosts.$name"
    mount --bind "$cluster/etc/hosts.$name" /etc/hosts
    mkdir /run/munge
    hostname "$name"
    : >"$cluster/up/$name"
    [ ! -d /proc/sys/net/ipv6 ] || echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
    until ip link show eth0; do sleep 0.02; done >/dev/null 2>&1
    ip -batch - <<-END
	link set lo up
	link set eth0 address $4 up
	addr add $address/24 dev eth0 noprefixroute
	neigh add 10.77.0.254 lladdr $(hardware 254) nud permanent dev eth0
	route add default via 10.77.0.254 dev eth0 onlink
	END
    munged_command
    case $name in
    ctl) slurmctld ;;
    n*) slurmd -N "$name" ;;
    esac
    while :; do
        sleep 1000 &
        wait
    done
}

munged_command()
{
    local socket=/run/munge/munge.socket.2 name=${name-all}
    $separate || socket=$cluster/munge/socket
    munged --key-file="$cluster/munge/key" --socket="$socket" --pid-file="$cluster/run/munged.$name.pid" --num-threads=2 \
        --log-file="$cluster/log/munged.$name" --seed-file="$cluster/munge/seed.$name"
}

# node_boot NODE: start a node; its daemons may not be ready on return.  Not in a subshell: the node ends with the shell that
# has started it, also if that is killed.
node_boot()
{
    local node=$1 n
    n=$(number "$node")
    rm -f "$cluster/up/$node"
    setpriv --pdeathsig KILL unshare --net --uts --pid --mount --mount-proc --fork --kill-child bash -c "
        $(declare -f node_init munged_command hardware); cluster=$cluster separate=true
        node_init $node 10.77.0.$n $n $(hardware "$n")" </dev/null >/dev/null 2>&1 &
    holder[$node]=$!
    until_true [ -e "$cluster/up/$node" ] || { not_ok "node $node starts" "$(cat "$cluster/log/$node.init")"; exit 1; }
    in_router ip -batch - <<-END
	link add v$n address $(hardware 254) type veth peer name eth0 netns ${holder[$node]}
	link set v$n up
	neigh replace 10.77.0.$n lladdr $(hardware "$n") nud permanent dev v$n
	route replace 10.77.0.$n/32 dev v$n
	END
}
has_network() { [ "$(readlink /proc/$$/ns/net)" != "$(readlink "/proc/$1/ns/net")" ]; }
in_router() { nsenter -t "$router" --net -- "$@"; }

# node_crash NODE: as if its power failed.
node_crash()
{
    kill -KILL "${holder[$1]}"
    wait "${holder[$1]}" 2>/dev/null
    until_true gone_from_router "v$(number "$1")"
}
gone_from_router() { ! in_router ip link show "$1"; }

# node_cut NODE [in|out]: drop the packets to the node, those from it, or both.  The senders get no error.
node_cut()
{
    [ "${2-in}" != in ] || in_router ip route replace blackhole "$(address "$1")/32"
    [ "${2-out}" != out ] || node_exec "$1" ip neigh replace 10.77.0.254 lladdr "$(hardware 255)" nud permanent dev eth0
}
node_join()
{
    in_router ip route replace "$(address "$1")/32" dev "v$(number "$1")"
    node_exec "$1" ip neigh replace 10.77.0.254 lladdr "$(hardware 254)" nud permanent dev eth0
}

# ---- Daemons ------------------------------------------------------------------------------------

# daemon_signal NODE PIDFILE [SIGNAL=KILL]: the file has the process id that the node knows.
daemon_signal() { node_exec "$1" bash -c "kill -${3-KILL} \$(cat '$cluster/run/$2')"; }
slurmd_kill() { daemon_signal "$1" "slurmd.$1.pid" "${2-KILL}"; }
slurmd_start() { node_exec "$1" slurmd -N "$1"; }
slurmctld_kill() { daemon_signal ctl slurmctld.pid "${1-KILL}"; }
slurmctld_start() { node_exec ctl slurmctld; }
munged_kill() { daemon_signal "$1" "munged.$($separate && echo "$1" || echo all).pid" "${2-KILL}"; }
munged_start()
{
    local name=$1
    $separate || name=all
    node_exec "$1" bash -c "$(declare -f munged_command); cluster=$cluster separate=$separate name=$name; munged_command --force"
}

# node_is NODE STATE: whether its state in Slurm (idle, mixed, down, ...) begins with this word.  All nodes are asked
# for: `sinfo -n NODE` may give an old state.
node_is() { node_exec login sinfo -h -N -o '%N %T' | grep -q "^$1 $2"; }
# nodes_are STATE: whether all are.
nodes_are() { [ "$(node_exec login sinfo -h -N -o %T | grep -c "^$1\$")" = ${#nodes[@]} ]; }

# For the report of a failure: what Slurm says, and the ends of the logs.
tell()
{
    [ ! -s "$log" ] || tail -n 25 "$log"
    node_exec login timeout 5 sinfo -N -o '%N %T %E' 2>&1 | tail -n 8
    node_exec login timeout 5 squeue -o '%i %j %T %r %N' 2>&1 | head -n 8
    tail -n 4 "$cluster/log/slurmctld"
}

# ---- The cluster --------------------------------------------------------------------------------

# configure GPUS PORT [LINE...]: write slurm.conf and gres.conf.  A line KEY=VALUE replaces the line of the same key; lines
# NodeName=... and PartitionName=... are added.  gpu_types: the types of each node's GPUs, as a100:2,v100:2; without it all are a100.
configure()
{
    local gpus=$1 port=$2 last=$((${#nodes[@]} - 1)) line host i conf=$SLURM_CONF
    local types=${gpu_types:-a100:$gpus} type first=0
    local gres=gpu:${types//,/,gpu:}
    shift 2
    host=$(hostname -s)
    cat >"$conf" <<-END
	ClusterName=pollux
	SlurmUser=$slurm_user
	SlurmdUser=$(id -un)
	SlurmctldPort=$port
	SrunPortRange=$((port + 100))-$((port + 1999))
	AuthType=auth/munge
	CredType=cred/munge
	StateSaveLocation=$cluster/state
	SlurmdSpoolDir=$cluster/spool/%n
	TmpFS=$cluster/tmp/%n
	SlurmctldPidFile=$cluster/run/slurmctld.pid
	SlurmdPidFile=$cluster/run/slurmd.%n.pid
	SlurmctldLogFile=$cluster/log/slurmctld
	SlurmdLogFile=$cluster/log/slurmd.%n
	SlurmctldDebug=info
	SlurmdDebug=info
	SlurmdParameters=config_overrides
	ReturnToService=2
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	SwitchType=switch/none
	MpiDefault=none
	SelectType=select/cons_tres
	SelectTypeParameters=CR_Core
	SchedulerType=sched/backfill
	SchedulerParameters=sched_min_interval=50000,batch_sched_delay=0,sched_interval=5,bf_interval=2
	PriorityType=priority/basic
	AccountingStorageType=accounting_storage/none
	JobCompType=jobcomp/filetxt
	JobCompLoc=$cluster/log/jobs
	JobRequeue=0
	KillWait=${kill_wait_s-5}
	SlurmctldTimeout=6
	SlurmdTimeout=${slurmd_timeout_s-6}
	MessageTimeout=5
	# A step of a node that is cut off cannot report its end; after this time Slurm would drain the node.
	UnkillableStepTimeout=600
	InactiveLimit=0
	MinJobAge=300
	MaxJobCount=20000
	GresTypes=gpu
	END
    if $separate; then
        cat >>"$conf" <<-END
	SlurmctldHost=ctl($(address ctl))
	SlurmdPort=$((port + 1))
	NodeName=DEFAULT CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=4000 Gres=$gres
	NodeName=n[0-$last] NodeAddr=${node_addresses:-10.77.0.[1-$((last + 1))]} State=UNKNOWN
	END
    else
        cat >>"$conf" <<-END
	SlurmctldHost=$host(127.0.0.1)
	AuthInfo=socket=$cluster/munge/socket
	CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
	NodeName=DEFAULT CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=4000 Gres=$gres
	NodeName=n[0-$last] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 1 + last))] State=UNKNOWN
	END
    fi
    echo "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=NO State=UP" >>"$conf"
    for line; do
        [[ $line == @(NodeName|PartitionName)=* ]] || sed -i "/^${line%%=*}=/d" "$conf"
        echo "$line" >>"$conf"
    done
    # A GPU of Slurm is a device whose name ends with a number; any device will do.
    for ((i = 0; i < gpus; i++)); do ln -sf /dev/null "$cluster/dev/gpu$i"; done
    for type in ${types//,/ }; do
        echo "NodeName=n[0-$last] Name=gpu Type=${type%:*} File=$cluster/dev/gpu[$first-$((first + ${type#*:} - 1))]"
        first=$((first + ${type#*:}))
    done >"$cluster/etc/gres.conf"
    # Not used, but loaded.  That of v2 does not start where a hierarchy of v1 is mounted, too, or without systemd.
    echo "CgroupPlugin=cgroup/v1" >"$cluster/etc/cgroup.conf"
}

# cluster_up NODES GPUS [LINE...]: start a cluster of NODES nodes with GPUS GPUs each and wait until all nodes are idle.  The
# lines are for slurm.conf (see configure).  If it does not start, the script ends.
cluster_up()
{
    local count=$1 gpus=$2 port=6817 i
    shift 2
    mkdir -p "$cluster"/{etc,run,log,munge,state,spool,tmp,dev,up}
    chmod 755 "$cluster" "$cluster"/*
    chmod 1777 "$cluster/run"
    nodes=()
    for ((i = 0; i < count; i++)); do
        nodes+=("n$i")
        mkdir -p "$cluster/spool/n$i" "$cluster/tmp/n$i"
        chmod 1777 "$cluster/tmp/n$i"
    done
    head -c 128 /dev/urandom >"$cluster/munge/key"
    chmod 400 "$cluster/munge/key"
    touch "$cluster/log/slurmctld" "$cluster/log/jobs"
    [ "$slurm_user" = "$(id -un)" ] || chown "$slurm_user" "$cluster"/{state,log/slurmctld,log/jobs}
    if $separate; then
        configure "$gpus" $port "$@"
        { echo "127.0.0.1 localhost"; for i in ctl login "${nodes[@]}"; do echo "$(address "$i") $i"; done; } >"$cluster/etc/hosts"
        setpriv --pdeathsig KILL unshare --net sleep infinity &
        router=$!
        until_true has_network "$router" || { not_ok "the router starts"; exit 1; }
        in_router sh -c 'cd /proc/sys/net/ipv4; echo 1 >ip_forward; echo 0 >conf/all/send_redirects; echo 0 >conf/default/send_redirects'
        for i in ctl login "${nodes[@]}"; do node_boot "$i"; done
    else
        munged_command
        for i in 1 2 3 4 5 6 7 8 9; do
            port=$((20000 + RANDOM % 200 * 60))
            configure "$gpus" $port "SrunPortRange=$((port + 40))-$((port + 59))" "$@"
            slurmctld
            ! PATIENCE=5 until_true scontrol ping || break
        done
        for i in "${nodes[@]}"; do slurmd -N "$i"; done
    fi
    PATIENCE=60 until_true nodes_are idle && return 0
    not_ok "the cluster starts" "$(node_exec login sinfo -N -o '%N %T %E' 2>&1)" "$(tail -n 5 "$cluster"/log/*)"
    exit 1
}

# cluster_down: end all processes of the nodes and remove the cluster's files.
cluster_down()
{
    local pids=("${holder[@]}" ${router:+$router})
    if ! $separate; then
        pids=($(cat "$cluster"/run/*.pid 2>/dev/null) $(grep -lzs "^SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ | cut -d / -f 3))
    fi
    for i in "${!pids[@]}"; do is_descendant "${pids[i]}" || unset "pids[i]"; done
    [ ${#pids[@]} = 0 ] || kill -KILL "${pids[@]}" 2>/dev/null
    wait "${holder[@]}" ${router:+$router} 2>/dev/null
    holder=() router= nodes=()
    until_true cluster_is_gone
    rm -rf "$cluster"
}
# Daemons and what Slurm has started have the cluster's directory in their environment.
cluster_is_gone() { ! grep -qzs "^SLURM_CONF=$SLURM_CONF" $(find_descendants; printf '/proc/%s/environ ' "${descendants[@]}"); }
trap 'finish_daemon; code=$?; cluster_down; (exit $code); finish' EXIT
