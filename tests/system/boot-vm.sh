#!/bin/bash
# Boots the distribution's own kernel and systemd in a virtual machine (QEMU without hardware virtualization, so that
# it runs anywhere), runs a command on the host while the machine runs, and leaves only the image behind. The kernel
# of the machine has no other user: all controllers of cgroup v2 are available, limits apply, and devices are counted.
#   boot-vm.sh [--packages WORDS] [--copy SOURCE:DESTINATION]... [--kernel WORDS] [--cpus N] [--memory MIB]
#              [--modules] [--resets] [--image-only] [--console FILE] -- COMMAND [ARGUMENT]...
#   --packages    packages of the image in addition to systemd
#   --modules     boot the distribution's kernel for all machines with its modules, which takes longer, instead of the one for
#                 virtual machines without
#   --copy        copy a file or directory into the tree before the command runs
#   --kernel      additional words for the kernel's command line
#   --resets      allow '$INSIDE --reset', as a power failure: nothing is written back, and it returns when the machine has
#                 booted again; without this, a machine that resets ends
#   --console     write the output of the kernel and of systemd to this file
#   --image-only  make the image if it does not exist, print its path, and do not boot
# COMMAND uses $INSIDE to run commands in the machine: `$INSIDE systemctl status` prints both outputs as one and exits
# with the status of the command. One command runs at a time; use systemd-run or setsid for background processes.
# Requires root, qemu-system-x86_64, mmdebstrap and mke2fs. Exits with the status of COMMAND, or 125 if the boot
# failed.
#
# The image is made once for a list of packages and a version of this file, in $PERFD_VM_CACHE (build/interop/vm); a
# boot does not change it. Disks: the image, and the copied tree. Commands are sent over the second serial port: a
# command is a line of base64, its answer a line with the exit status, lines of base64 and a line with a dot.
set -euo pipefail
SILENCE_S=300
die() { echo "boot-vm: $*" >&2; exit 125; }

# --- $INSIDE -----------------------------------------------------------------------------------------

if [ "${1-}" = --inside ]; then
        way=$2
        shift 2
        words=$(printf '%q ' "$@")
        [ "${1-}" != --reset ] || words='echo b >/proc/sysrq-trigger'
        exec 9<"$way.lock"
        flock 9
        base64 -w 0 <<<"$words" >"$way.in.line"
        { cat "$way.in.line"; echo; } >"$way.in"
        exec 8<>"$way.out"  # read and write: QEMU keeps its end open after this script has ended
        read -r status <&8
        [ "${1-}" != --reset ] || [ "$status" != ready ] || exit 0
        while read -r line <&8 && [ "$line" != . ]; do
                echo "$line"
        done | base64 -d
        exit "$status"
fi

# --- arguments -----------------------------------------------------------------------------------------

packages='' copies=() kernel='' modules='' cpus=2 memory=1024 resets='-no-reboot' image_only='' console=''
while [ $# -gt 0 ]; do
        case $1 in
        --packages)   packages=$2; shift 2;;
        --copy)       copies+=("$(realpath "${2%%:*}"):${2#*:}"); shift 2;;
        --kernel)     kernel=$2; shift 2;;
        --cpus)       cpus=$2; shift 2;;
        --memory)     memory=$2; shift 2;;
        --modules)    modules=linux-image-amd64; shift;;
        --resets)     resets=''; shift;;
        --image-only) image_only=yes; shift;;
        --console)    console=$(realpath "$2"); shift 2;;
        --)           shift; break;;
        *)            die "unknown option $1";;
        esac
done
[ $# -gt 0 ] || [ -n "$image_only" ] || die "no command"
[ "$(id -u)" = 0 ] || die "needs root"
PATH=$PATH:/usr/sbin:/sbin
for program in qemu-system-x86_64 mmdebstrap mke2fs; do
        command -v $program >/dev/null || die "$program is not there (make interop-deps)"
done

# --- the image -----------------------------------------------------------------------------------------

# The agent executes commands from the second serial port one at a time.
write_agent() {
        cat >"$1/usr/local/sbin/agent" <<'AGENT'
#!/bin/bash
export HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
if ! [ -e /etc/tree.copied ]; then
        mkdir -p /run/tree
        mount -o ro /dev/nvme1n1 /run/tree && cp -a /run/tree/. / && umount /run/tree
        rm -rf /lost+found
        ldconfig
        systemctl daemon-reload
        touch /etc/tree.copied
        sync
fi
stty -F /dev/ttyS1 raw -echo
exec 3<>/dev/ttyS1
echo ready >&3
cd /root
while read -r -u 3 line; do
        base64 -d <<<"$line" >/run/agent.command
        bash /run/agent.command </dev/null >/run/agent.output 2>&1 3>&-
        status=$?
        { echo $status; base64 /run/agent.output; echo .; } >&3
done
AGENT
        chmod 755 "$1/usr/local/sbin/agent"
        cat >"$1/etc/systemd/system/agent.service" <<'UNIT'
[Unit]
Description=Runs what comes in by the serial port
After=multi-user.target dbus.service

[Service]
Type=exec
ExecStart=/usr/local/sbin/agent
StandardOutput=journal+console
UNIT
}

# Disables all units but the agent, prompts on the console, and the persistent log.
write_settings() {
        local unit
        rm -rf "$1"/etc/systemd/system/*.wants "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*
        : >"$1/etc/machine-id"
        : >"$1/etc/fstab"
        echo node >"$1/etc/hostname"
        mkdir -p "$1"/etc/systemd/{journald,system}.conf.d "$1/etc/systemd/system/multi-user.target.wants"
        ln -s ../agent.service "$1/etc/systemd/system/multi-user.target.wants/agent.service"
        printf '[Journal]\nStorage=volatile\nRateLimitIntervalSec=0\nAudit=no\n' >"$1/etc/systemd/journald.conf.d/throwaway.conf"
        printf '[Manager]\nDefaultTimeoutStopSec=10s\n' >"$1/etc/systemd/system.conf.d/throwaway.conf"
        for unit in getty.target serial-getty@ttyS0.service systemd-update-utmp.service systemd-update-utmp-runlevel.service \
                    systemd-rfkill.socket systemd-random-seed.service systemd-journald-audit.socket; do
                ln -sf /dev/null "$1/etc/systemd/system/$unit"
        done
}

# The kernel has all drivers for the boot built in: it needs no initial RAM disk and no modules.
fetch_kernel() {
        local package
        package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '/Depends: linux-image-/ { print $2; exit }')
        if [ -z "$package" ]; then
                apt-get -qq update
                package=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image-/ { print $2; exit }')
        fi
        [ -n "$package" ] || die "no package linux-image-cloud-amd64"
        ( cd "$1" && apt-get -qq -o APT::Sandbox::User=root download "$package" && dpkg-deb --fsys-tarfile linux-image-*.deb |
                tar -x --wildcards './boot/vmlinuz-*' && mv boot/vmlinuz-* vmlinuz && rm -rf boot linux-image-*.deb ) >&2
}

# With modules, those of the disks are in an initial RAM disk.
make_image() {
        local work=$1 suite options=() path
        suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
        [ -n "$suite" ] || die "this is no Debian: no image can be made"
        for path in /usr/share/{man,locale,doc} '/lib/modules/*/kernel/'{sound,drivers/{gpu,media,net/wireless}}; do
                options+=(--dpkgopt="path-exclude=$path/*")
        done
        if [ -n "$modules" ]; then
                options+=(--essential-hook='cd "$1/etc"; mkdir -p initramfs-tools/conf.d; echo MODULES=list >initramfs-tools/conf.d/list;
                                            printf "nvme\next4\n" >initramfs-tools/modules')
        else
                fetch_kernel "$work"
        fi
        mmdebstrap --quiet --variant=minbase --include="${all_packages// /,}" "${options[@]}" "$suite" "$work/root" >&2
        if [ -n "$modules" ]; then
                mv "$work"/root/boot/vmlinuz-* "$work/vmlinuz"
                mv "$work"/root/boot/initrd.img-* "$work/initrd"
        fi
        write_settings "$work/root"
        write_agent "$work/root"
        truncate -s 2G "$work/root.img"
        mke2fs -q -F -t ext4 -E lazy_itable_init=1,lazy_journal_init=1,nodiscard -d "$work/root" "$work/root.img"
        rm -rf --one-file-system "$work/root"
}

here=$(dirname "$(realpath "$0")")
# shellcheck disable=SC2086 # words
all_packages=$(printf '%s\n' systemd systemd-sysv dbus libpam-systemd libnss-systemd procps $packages \
        ${modules:+initramfs-tools kmod $modules} | sort -u | tr '\n' ' ')
all_packages=${all_packages% }
cache=${PERFD_VM_CACHE:-$here/../../build/interop/vm}
image=$cache/$({ echo "$all_packages"; cat "$(realpath "$0")"; } | sha256sum | cut -c 1-16)
if [ ! -e "$image" ]; then
        mkdir -p "$cache"
        exec 9>"$cache/lock"
        flock 9
        if [ ! -e "$image" ]; then
                rm -rf --one-file-system "$cache"/making.*
                making=$(mktemp -d "$cache/making.XXXXXX")
                make_image "$making" || die "the image could not be made"
                mv "$making" "$image"
        fi
        exec 9>&-
fi
if [ -n "$image_only" ]; then
        echo "$image"
        exit 0
fi

# --- the boot ------------------------------------------------------------------------------------------

# A killed run could not remove its directory.
for left in /tmp/boot-vm.*.*; do
        left_pid=${left#/tmp/boot-vm.}
        kill -0 "${left_pid%%.*}" 2>/dev/null || rm -rf --one-file-system "$left"
done
work=$(mktemp -d "/tmp/boot-vm.$$.XXXXXX")
qemu=''
cleanup() {
        [ -z "$qemu" ] || kill -KILL "$qemu" 2>/dev/null || :
        [ -z "$qemu" ] || wait "$qemu" 2>/dev/null || :
        rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

mkdir "$work/tree"
for copy in "${copies[@]}"; do
        mkdir -p "$(dirname "$work/tree${copy#*:}")"
        cp -aT "${copy%%:*}" "$work/tree${copy#*:}"
done
truncate -s $(($(du -sm "$work/tree" | cut -f 1) * 5 / 4 + 16))M "$work/tree.img"
mke2fs -q -F -t ext4 -O ^has_journal -d "$work/tree" "$work/tree.img"
rm -rf "$work/tree"

way=$work/way
mkfifo "$way.in" "$way.out"
touch "$way.lock" "$work/console"
disk() { echo "-drive if=none,id=$1,format=raw,file=$2,$3 -device nvme,serial=$1,drive=$1"; }
# Calibration of the delay loop and of clock sources is useless for an emulated processor.
words="root=/dev/nvme0n1 rw console=ttyS0 quiet panic=-1 psi=1 mitigations=off audit=0 apparmor=0 random.trust_cpu=1
       net.ifnames=0 tsc=reliable clocksource=tsc lpj=10000000 no_timer_check systemd.show_status=yes TERM=dumb $kernel"
exec 5<>"$way.in" 6<>"$way.out"  # read and write, so that QEMU never sees the end of either
# shellcheck disable=SC2046,SC2086 # words
setpriv --pdeathsig KILL qemu-system-x86_64 -machine q35,hpet=off -accel tcg,thread=multi,tb-size=256 -cpu max \
        -smp "$cpus" -m "$memory" -nodefaults -no-user-config -display none $resets \
        -serial "file:$work/console" -serial "pipe:$way" \
        $(disk image "$image/root.img" snapshot=on) $(disk tree "$work/tree.img" readonly=on) \
        -kernel "$image/vmlinuz" $([ ! -e "$image/initrd" ] || echo "-initrd $image/initrd") \
        -append "$(echo $words)" </dev/null >&2 5>&- 6>&- &
qemu=$!

# Emulated on a busy machine, a boot takes as long as it takes: the limit is on the time without anything new on the console.
ready='' why='' size=0 silent_s=0
while [ -z "$why" ] && [ "$ready" != ready ]; do
        if ! kill -0 $qemu 2>/dev/null; then
                why='has ended'
                wait $qemu || why+=" with status $?"
                qemu=''
                break
        fi
        # At a time-out, read has taken the part of the line that was there.
        read -r -t 1 part <&6 || silent_s=$((silent_s + 1))
        ready+=$part
        size_before=$size size=$(stat -c %s "$work/console")
        [ "$size" = "$size_before" ] || silent_s=0
        [ $silent_s -lt $SILENCE_S ] || why="has said nothing for $SILENCE_S s"
done
if [ -n "$why" ]; then
        tail -n 40 "$work/console" >&2
        die "no boot: the machine $why; on its console, above, at last: $(grep -a . "$work/console" | tail -n 1 | tr -d '\r')"
fi

export INSIDE="$(realpath "$0") --inside $way"
rc=0
"$@" || rc=$?
[ -z "$console" ] || cp "$work/console" "$console"
exit $rc
