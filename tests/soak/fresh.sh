# SPDX-License-Identifier: Apache-2.0
# The two commands of README.md on a fresh Debian 12 that has git and make only, from a clone of HEAD:
#
#   root   as root: `make demo` and `make test`
#   user   as an ordinary user with sudo, with <cblas.h> of libblas-dev but without OpenBLAS, and with a Python
#          without Debian's packages first on PATH: `make demo`, and some of the steps of `make test`, since all of
#          them would take twice the time
#
#   bash tests/soak/fresh.sh [root] [user]       only these; about an hour for both on two processors
#
# There is no display.  debootstrap makes the system in a folder; packages come from the apt sources of this machine.
# It runs in namespaces of its own (processes, mounts): they end with this script, however it ends.  Needs root or sudo.
. tests/cli/lib.sh
suite=bookworm
steps="includes header unit_gcc cli python house" # of the user
variants=${*:-root user}

as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo -n)
# Not skipped: `make soak` leaves some steps of `make test` to this script.
if ! "${as_root[@]}" true 2>/dev/null; then
    not_ok "a fresh Debian: it needs root, or sudo without a password"
    exit 1
fi
# The first source of this release in the configuration of apt.
mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 2>/dev/null |
    awk -v suite=$suite '$1 == suite && $2 == "main" { print $3; exit }')
if [ -z "$mirror" ]; then
    not_ok "a fresh Debian: apt has no source of $suite here"
    exit 1
fi
trap 'code=$?; end_descendants 1; "${as_root[@]}" rm -rf "$tmp/root" "$tmp/user"; (exit $code); finish' EXIT
mkdir -p build/log

# ---- The system ---------------------------------------------------------------------------------

proxies=()
for name in http https; do
    eval "$(apt-config shell proxy "Acquire::$name::Proxy")"
    [ -z "${proxy-}" ] || proxies+=("${name}_proxy=$proxy")
    proxy=
done
for name in http_proxy https_proxy no_proxy; do
    [ -z "${!name-}" ] || proxies+=("$name=${!name}")
done

# make_system FOLDER: a Debian with git and make, the apt configuration and certificates of this machine, and HEAD.
make_system()
{
    env "${proxies[@]}" debootstrap --variant=minbase --include=git,make $suite "$1" "$mirror" || return 1
    rm -rf "$1/etc/apt"
    cp -rL /etc/apt "$1/etc/apt"
    mkdir -p "$1/usr/share/keyrings" "$1/etc/ssl/certs" "$1/usr/local/share/ca-certificates"
    cp -rL /usr/share/keyrings/. "$1/usr/share/keyrings"
    # Some links in there are broken.
    cp -rL /etc/ssl/certs/. "$1/etc/ssl/certs" 2>/dev/null
    cp -rL /usr/local/share/ca-certificates/. "$1/usr/local/share/ca-certificates" 2>/dev/null
    cp -L /etc/resolv.conf /etc/hosts "$1/etc"
    cp "$tmp/pollux.bundle" "$1/srv/pollux.bundle"
}

# enter FOLDER USER COMMAND: run it there with its own processes, devices and mounts, and an almost empty environment.
enter()
{
    local folder=$1 user=$2 command=$3 home=/root path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    [ "$user" = root ] || home=/home/$user path=$home/python:/usr/local/bin:/usr/bin:/bin
    "${as_root[@]}" unshare --mount --pid --fork --kill-child -- bash -c '
        folder=$1 user=$2
        shift 2
        # A mount point of its own, which becomes /, as on a real machine: with chroot, nsenter would find another /.
        mount --bind "$folder" "$folder" &&
            mount -t proc proc "$folder/proc" && mount -t sysfs sysfs "$folder/sys" &&
            mount -t tmpfs -o mode=755 tmpfs "$folder/dev" &&
            mkdir "$folder/dev/pts" "$folder/dev/shm" &&
            mount -t devpts -o newinstance,ptmxmode=666 devpts "$folder/dev/pts" &&
            mount -t tmpfs -o mode=1777 tmpfs "$folder/dev/shm" || exit 1
        for device in null zero full random urandom tty; do
            touch "$folder/dev/$device" && mount --bind "/dev/$device" "$folder/dev/$device" || exit 1
        done
        mount -t cgroup2 cgroup2 "$folder/sys/fs/cgroup" # one test needs it, and is skipped without
        ln -s pts/ptmx "$folder/dev/ptmx"
        ln -s /proc/self/fd "$folder/dev/fd"
        mkdir -p "$folder/mnt/before" && cd "$folder" && pivot_root . mnt/before && umount -l /mnt/before || exit 1
        # Not with exec: this shell, process 1 here, collects the orphans.
        chroot --userspec="$user" / "$@" </dev/null &
        wait $!' enter "$folder" "$user" \
        env -i "${proxies[@]}" HOME="$home" USER="$user" PATH="$path" LC_ALL=C.UTF-8 bash -c "cd && $command"
}

# Run after a command, in the same shell: fail if a process (other than 1 and this shell) or a temporary file is left.
nothing_left='status=$?
for process in /proc/[0-9]*; do
    case ${process#/proc/} in 1 | $$) continue ;; esac
    mapfile -d "" words <"$process/cmdline"
    [ ${#words[@]} = 0 ] || { echo "left behind: ${words[*]}"; status=9; }
done 2>/dev/null
files=$(find /tmp /var/tmp /dev/shm -mindepth 1)
[ -z "$files" ] || { echo "left behind: $files"; status=9; }
exit $status'

# ---- Running it ---------------------------------------------------------------------------------

# passes NAME COMMAND: one check that it ends with status 0 and leaves nothing behind.
passes()
{
    local name="$variant: $1" began=$SECONDS
    enter "$folder" $user "{ $2; }; $nothing_left" >>"$log" 2>&1 &
    if wait $!; then # signals interrupt it at once
        ok "$name ($(((SECONDS - began) / 60)) min)"
    else
        not_ok "$name" "$(tail -n 40 "$log")"
    fi
}

git bundle create --quiet "$tmp/pollux.bundle" HEAD || exit 1
commit=$(git rev-parse HEAD)
[ -z "$(git status --porcelain)" ] || echo "note: the fresh clone is HEAD, without the changes in this folder"

for variant in $variants; do
    log=$PWD/build/log/fresh-$variant.log
    folder=$tmp/$variant
    : >"$log"
    before=$failures
    if ! "${as_root[@]}" bash -c "$(declare -p proxies suite mirror tmp; declare -f make_system); make_system '$folder'" >>"$log" 2>&1; then
        not_ok "$variant: debootstrap" "$(tail -n 20 "$log")"
        continue
    fi
    user=root
    if [ "$variant" = user ]; then
        user=tester
        # python3 without site-packages; before Debian's is installed it cannot run at all.
        enter "$folder" root "apt-get -q update && apt-get -q -y install --no-install-recommends sudo libblas-dev &&
            useradd --create-home --shell /bin/bash tester && echo 'tester ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/tester &&
            mkdir /home/tester/python && printf '#!/bin/sh\nexec /usr/bin/python3 -I -S \"\$@\"\n' >/home/tester/python/python3 &&
            chmod 755 /home/tester/python/python3" >>"$log" 2>&1 || not_ok "$variant: a user with sudo" "$(tail -n 20 "$log")"
    fi
    passes "git clone" "git clone --quiet --config advice.detachedHead=false /srv/pollux.bundle pollux"
    passes "make demo" "cd pollux && make demo"
    if [ "$variant" = root ]; then
        passes "make test" "cd pollux && make test"
    else
        passes "make test, steps $steps" "cd pollux && tools/setup test && tools/test $steps"
    fi
    result=$(grep -E '^[0-9]+ passed, ' "$log" | tail -n 1)
    check "$variant: no test failed: $result" grep -q -E '^[0-9]+ passed, 0 failed' <<<"$result"
    sed -n 's/^ *SKIPPED: /note:   skipped: /p' "$log"
    [ $failures != "$before" ] ||
        echo "note: fresh Debian 12, $variant: $result; commit $commit, $(date -u +%Y-%m-%dT%H:%M:%SZ)"
    "${as_root[@]}" rm -rf "$folder"
done
