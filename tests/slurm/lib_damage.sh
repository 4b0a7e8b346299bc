# SPDX-License-Identifier: Apache-2.0
# For tests of jobs that damage their run directories and kill their supervisors.
#
#     runs=DIRECTORY; . tests/slurm/lib_damage.sh     DIRECTORY has the run directories, JOB/GENERATION/RANK
#     damage_runs                                     one job of each kind in $damages; all of them go on
mkdir -m 755 "$tmp/go"
damages="link file mode none parent"
# damage KIND [always]: a job that waits for $tmp/go/JOB, damages its files and kills its supervisor; in later generations it is
# as $worker, unless `always` is given.
cat >"$tmp/damage" <<END
#!/bin/sh
trap 'exit 143' TERM
echo "\$POLLUX_JOB \$POLLUX_GENERATION \$RANK \$WORLD_SIZE \$POLLUX_NODE \$\$ \$POLLUX_RUN" >>"$starts"
while [ ! -e "$tmp/go/\$POLLUX_JOB" ]; do sleep 0.1; done
if [ "\$POLLUX_GENERATION" != 1 ] && [ -z "\$2" ]; then
    while [ ! -e "$tmp/end/\$POLLUX_JOB" ]; do sleep 0.1; done
    exit
fi
generation=$runs/\$POLLUX_JOB/\$POLLUX_GENERATION
cd /
case \$1 in
link) mv "\$generation/\$RANK" "\$generation/away" && ln -s /tmp "\$generation/\$RANK" ;;
file) mv "\$generation/\$RANK" "\$generation/away" && : >"\$generation/\$RANK" ;;
mode) chmod 777 "\$generation/\$RANK" ;;
none) while [ -e "\$generation" ]; do rm -rf "\$generation"; done ;; # again if the supervisor has just written there
parent) mv "\$generation" "\$generation.away" && ln -s /tmp "\$generation" ;;
esac || exit 9
kill -KILL \$PPID
exec sleep 1000
END
chmod 755 "$tmp/damage"

damage_runs()
{
    local kind
    for kind in $damages; do submit $kind --max 1 --backoff 1 --max-failures 0 -- "$tmp/damage" $kind; done
    for kind in $damages; do soon "$kind: a job runs" is $kind '.phase == "running" and .generation == 1'; done
    for kind in $damages; do : >"$tmp/go/$kind"; done
    for kind in $damages; do soon "$kind: its damaged run is lost, and the job goes on" is $kind '.phase == "running" and .generation == 2'; done
    end_jobs $damages
    for kind in $damages; do holds "$kind: it finishes" is $kind '.phase == "finished" and .failures == 0'; done
    holds "no start had to wait" eval '! pollux events --json | grep "not started"'
    check_rest "after damage"
}
