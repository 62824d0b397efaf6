#!/bin/bash
# Boots a real systemd in temporary PID, mount, cgroup, UTS, IPC and network namespaces on a copy-on-write view of this
# machine's root file system, runs a command outside of the namespaces meanwhile, and removes everything.
#
#   boot-systemd.sh [--root DIRECTORY] [--copy SOURCE:DESTINATION]... [--setup SCRIPT] [--journal FILE] -- COMMAND [ARGUMENT]...
#
#   --root     view of this root file system instead, which does not change either
#   --copy     copy a file or directory into the tree
#   --setup    run shell commands in the tree (chroot) before the boot
#   --journal  write the whole journal to this file afterwards
#
# COMMAND uses $INSIDE to run commands inside: `$INSIDE systemctl status`. Requires root, a cgroup v2 mount and
# overlayfs; cgroup v1 hierarchies are not changed. Exits with the status of COMMAND, or 125 if the boot failed.
set -euo pipefail
die() { echo "boot-systemd: $*" >&2; exit 125; }

# --- second stage: inside the namespaces, before PID 1 starts --------------------------------

if [ "${1-}" = --second-stage ]; then
        work=$2
        # shellcheck source=/dev/null # written by the first stage
        . "$work/plan"
        mount --make-rprivate /
        mkdir "$work/t"
        mount -t tmpfs -o mode=755 tmpfs "$work/t"
        mkdir "$work"/t/{upper,work,root}
        root=$work/t/root
        mount -t overlay -o "lowerdir=$lower,upperdir=$work/t/upper,workdir=$work/t/work" overlay "$root"

        # Mount the kernel's file systems as in a container: /sys and /proc/sys are read-only, so that the
        # machine's settings cannot be changed; /dev is private.
        mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
        mount --bind "$root/proc/sys" "$root/proc/sys"
        mount -o remount,bind,ro "$root/proc/sys"
        [ ! -e "$root/proc/sysrq-trigger" ] || mount --bind /dev/null "$root/proc/sysrq-trigger"
        mount -t sysfs -o nosuid,nodev,noexec,ro sysfs "$root/sys"
        mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "$root/sys/fs/cgroup"
        mount -t tmpfs -o mode=755,nosuid tmpfs "$root/dev"
        for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
                IFS=: read -r name major minor <<<"$node"
                mknod -m 666 "$root/dev/$name" c "$major" "$minor"
        done
        mkdir "$root"/dev/{pts,shm,mqueue}
        mount -t devpts -o newinstance,mode=620,gid=5,ptmxmode=666 devpts "$root/dev/pts"
        mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/dev/shm"
        ln -s pts/ptmx "$root/dev/ptmx"
        ln -s /proc/self/fd "$root/dev/fd"
        mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$root/run"
        mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/tmp"

        # Remove the enabled units, mounts and logs of this machine.
        mkdir -p "$root"/etc/systemd/{system,journald.conf.d,system.conf.d}
        rm -rf "$root"/etc/systemd/system/*.wants "$root"/etc/systemd/system/*.requires "$root/var/log/journal"
        : >"$root/etc/fstab"
        tr -d - </proc/sys/kernel/random/uuid >"$root/etc/machine-id"
        hostname node
        echo node >"$root/etc/hostname"
        for unit in dev-hugepages.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount \
                    sys-fs-fuse-connections.mount systemd-remount-fs.service systemd-modules-load.service \
                    systemd-update-utmp.service systemd-journald-audit.socket; do
                ln -sf /dev/null "$root/etc/systemd/system/$unit"
        done
        printf '[Journal]\nStorage=volatile\nRateLimitIntervalSec=0\nReadKMsg=no\nAudit=no\n' \
                >"$root/etc/systemd/journald.conf.d/throwaway.conf"
        printf '[Manager]\nDefaultTimeoutStartSec=30s\nDefaultTimeoutStopSec=10s\n' \
                >"$root/etc/systemd/system.conf.d/throwaway.conf"
        printf '[Unit]\nDescription=Throwaway boot\nRequires=basic.target\nAfter=basic.target\n' \
                >"$root/etc/systemd/system/throwaway.target"
        for copy in "${copies[@]}"; do
                mkdir -p "$(dirname "$root${copy#*:}")"
                cp -aT "${copy%%:*}" "$root${copy#*:}"
        done
        [ -z "$setup" ] || chroot "$root" /bin/sh -euc "$setup"

        mkdir "$root/run/.old"
        cd "$root"
        pivot_root . run/.old
        umount -l /run/.old
        rmdir /run/.old
        mount --make-rshared /  # mount propagation that systemd expects from a container manager
        exec env -i container=throwaway PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
                /lib/systemd/systemd --system --unit=throwaway.target --show-status=no
fi

# --- first stage: on the machine -------------------------------------------------------------------

copies=() setup='' journal='' lower=/
while [ $# -gt 0 ]; do
        case $1 in
        --root)    lower=$(realpath "$2"); shift 2;;
        --copy)    copies+=("$(realpath "${2%%:*}"):${2#*:}"); shift 2;;
        --setup)   setup=$2; shift 2;;
        --journal) journal=$(realpath "$2"); shift 2;;
        --)        shift; break;;
        *)         die "unknown option $1";;
        esac
done
[ $# -gt 0 ] || die "no command"
[ "$(id -u)" = 0 ] || die "needs root"
[ -x "$lower/lib/systemd/systemd" ] || die "systemd is not installed in $lower"
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$cgroups" ] || die "no cgroup2 mount"

work=$(mktemp -d /tmp/boot-systemd.XXXXXX)
cgroup=$cgroups/${work##*/}
mkdir "$cgroup"
manager='' unshare=''
cleanup() {
        [ -z "$unshare" ] || kill -KILL "$unshare" 2>/dev/null || :  # --kill-child also kills PID 1
        [ -z "$manager" ] || kill -KILL "$manager" 2>/dev/null || :
        [ ! -e "$cgroup/cgroup.kill" ] || echo 1 >"$cgroup/cgroup.kill" 2>/dev/null || :
        [ -z "$unshare" ] || wait "$unshare" 2>/dev/null || :
        for _ in {1..50}; do  # a cgroup may remain for a short time after its last process
                find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || :
                [ -d "$cgroup" ] || break
                sleep 0.1
        done
        rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

declare -p copies setup lower >"$work/plan"
(
        echo "$BASHPID" >"$cgroup/cgroup.procs"
        exec setpriv --pdeathsig KILL unshare --mount --uts --ipc --pid --cgroup --net --fork --kill-child=KILL \
                bash "$(realpath "$0")" --second-stage "$work" </dev/null >&2
) &
unshare=$!

for ((i = 0; ; i++)); do
        kill -0 $unshare 2>/dev/null || die "systemd ended during the boot"
        [ $i -lt 600 ] || die "no boot in 30 s"
        manager=$(tr -d ' ' </proc/$unshare/task/$unshare/children 2>/dev/null) || :
        [ -z "$manager" ] || [ ! -S "/proc/$manager/root/run/systemd/private" ] || break
        sleep 0.05
done
export INSIDE="nsenter -t $manager -m -u -i -p -C -n --root --wd --"
for ((i = 0; ; i++)); do
        state=$($INSIDE systemctl is-system-running 2>/dev/null) || :
        case $state in
        running) break;;
        degraded) $INSIDE systemctl --no-pager --no-legend --failed >&2; break;;
        esac
        [ $i -lt 600 ] || die "the boot ended as '$state'"
        sleep 0.05
done

rc=0
"$@" || rc=$?
[ -z "$journal" ] || $INSIDE journalctl --no-pager -o short-precise -b >"$journal" || :
exit $rc
