# SPDX-License-Identifier: Apache-2.0
# For tests with groups of nodes: commands grow and shrink whose nodes are files.
#
#     . tests/cli/lib_daemon.sh
#     . tests/cli/lib_scaling.sh
#     cluster "name: v, nodes: 2, max: 4"       write the cluster file, with one group of CPU nodes with two slots
#     start_daemon "${scaling[@]}"
#     soon "two nodes" up_are v-0 v-1
#
# A node exists while $tmp/nodes/NAME does.  Files in $tmp/hooks change what the commands do:
#
#     grow-waits, shrink-waits     they wait until the file is removed
#     grow-fails, shrink-fails     they end with exit code 3
#     grow-lies                    grow succeeds and makes no node
#     shrink-lies                  shrink succeeds and the node stays
#
# Each call appends its names to $tmp/calls, as "grow NAME" and "shrink NAME", when it begins, and "grow waits" once it waits.
mkdir "$tmp/nodes" "$tmp/hooks"
calls=$tmp/calls
: >"$calls"
for hook in grow shrink; do
    cat >"$tmp/$hook" <<END
#!/bin/bash
for name in "\$@"; do echo "$hook \$name"; done >>"$calls"
echo "$hook is called for \$# nodes of \$POLLUX_GROUP"
[ ! -e "$tmp/hooks/$hook-waits" ] || echo "$hook waits" >>"$calls"
while [ -e "$tmp/hooks/$hook-waits" ]; do sleep 0.05; done
[ ! -e "$tmp/hooks/$hook-fails" ] || { echo "$hook does not work today" >&2; exit 3; }
END
    chmod 755 "$tmp/$hook"
done
cat >>"$tmp/grow" <<END
[ ! -e "$tmp/hooks/grow-lies" ] || exit 0
for name in "\$@"; do
    : >"$tmp/nodes/\$name"
    pollux nodes up "\$name:\$POLLUX_SLOTS" >/dev/null || exit
done
END
cat >>"$tmp/shrink" <<END
[ ! -e "$tmp/hooks/shrink-lies" ] || exit 0
for name in "\$@"; do rm -f "$tmp/nodes/\$name"; done
END

# cluster GROUP...: write the cluster file; each argument has the fields of a group.
cluster()
{
    local group
    {
        echo "groups:"
        for group in "$@"; do
            echo "  - {type: cpu, gpus_per_node: 2, price_per_node_hour: 3.6, $group}"
        done
    } >"$tmp/cluster.yaml.new"
    mv "$tmp/cluster.yaml.new" "$tmp/cluster.yaml"
}

# regroup GROUP...: the same, and the daemon reads it.
regroup()
{
    cluster "$@"
    kill -HUP "$daemon"
}

echo "hook_timeout: 60" >"$tmp/hooks.yaml"
scaling=(--config "$tmp/hooks.yaml" --cluster "$tmp/cluster.yaml" --grow "$tmp/grow" --shrink "$tmp/shrink" --interval 0.2)

# hook NAME: the commands behave so from now on.  unhook NAME: not any more.
hook() { : >"$tmp/hooks/$1"; }
unhook() { rm "$tmp/hooks/$1"; }

# groups FILTER: apply a jq filter to what the daemon says about its groups.
groups()
{
    curl -sS -H "Authorization: Bearer $(cat "$state/admin.token")" "$(cat "$state/address")/v1/groups" | jq -er "$1"
}
# node_is NAME STATE: a node that the daemon does not list is off.
node_is() { [ "$(groups "[.groups[].nodes[] | select (.name == \"$1\") | .state] | first // \"off\"")" = "$2" ]; }
# in_state STATE: the nodes in a state, sorted, on one line.
in_state() { groups "[.groups[].nodes[] | select (.state == \"$1\") | .name] | sort | join (\" \")"; }
# up_are NAME...: exactly these nodes are up, and no others exist.
up_are() { [ "$(in_state up)" = "$*" ] && [ "$(existing)" = "$*" ] && is_quiet; }
# up_count N: so many are up, whatever their names, and no others exist.
up_count() { [ "$(in_state up)" = "$(existing)" ] && [ "$(wc -w <<<"$(existing)")" = "$1" ] && is_quiet; }
existing() { ls "$tmp/nodes" | sort | xargs; }
# is_quiet: no node is on its way.
is_quiet() { groups '[.groups[].states | .starting, .draining, .stopping, .failed] | add == 0' >/dev/null; }
called() { grep -qx "$*" "$calls"; }
count_calls() { grep -cx "$*" "$calls"; }

# accounted NAME: every node that exists is known to the daemon.
accounted()
{
    local node known
    known=" $(groups '[.groups[].nodes[].name] | join (" ")') "
    for node in $(existing); do
        [[ $known == *" $node "* ]] || echo "$node"
    done
}
