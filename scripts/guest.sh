#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boot a guest, run one program in it, and return that program's exit status. The
# guest is a virtual machine of QEMU, or User-Mode Linux.
#
#   scripts/guest.sh [options] -- PROGRAM [ARG...]
#
#   --debug-kernel     boot the kernel that scripts/debug-kernel.sh builds
#                      (built now when it is not in the cache yet) instead of
#                      the newest stock Debian 6.1 kernel
#   --uml              run the kernel that scripts/uml-kernel.sh builds: at this
#                      machine's own speed, without QEMU
#   --kernel DIR       boot the kernel that scripts/stock-kernel.sh or
#                      scripts/clang-kernel.sh left there; one for arm64 or
#                      powerpc64le runs on an emulated machine of that architecture
#   --module M         the module to install under updates/ in the guest: the path
#                      of a .ko file, which must have been built for the
#                      guest's kernel, or "in-tree" for none, so that the
#                      in-tree rpcrdma.ko is loaded. May be repeated.
#                      Default: rpcrdma.ko as "make" built it here.
#   --timeout S        give up after S seconds (default 300)
#   --run-dir DIR      keep console.log, output.log, dmesg.txt and whatever
#                      the program writes to $RUN there (default: a temporary
#                      folder, removed after success)
#   --share DIR        the guest sees this folder, too; may be repeated
#   --mem SIZE         default 2G (3G with --debug-kernel or --uml)
#   --smp N            default 2
#   --append ARGS      more kernel parameters
#                      The following are for QEMU only:
#   --qemu-arg ARG     one more argument for QEMU; may be repeated
#   --cpu MODEL        QEMU's name of the processor (default: the cheapest to emulate)
#   --icount           one instruction is one guest nanosecond: slow, with
#                      one processor, and times repeat to a tenth of a percent
#   --allow-complaints do not fail on complaints in the kernel log
#   --quiet            do not copy the program's output to stdout
#
# The guest sees the programs of scripts/guest-root.sh, and at the same paths as on this
# machine the checkout, the cache, the folders of runs, and the current one. Its changes are
# lost when it ends, except those in the folder $RUN, which is the run's folder on the host.
# PROGRAM is best given by an absolute path, e.g.
#
#   scripts/guest.sh --module in-tree -- bash -c 'modprobe rpcrdma && lsmod'
#   scripts/guest.sh -- $PWD/scripts/guest/try.sh    (rxe, nfsd and a mount)
#
# The environment in the guest: RUN, KIND (stock|debug|uml), MODULE_KIND
# (ours|in-tree), MODULES (names of the installed .ko files).
#
# GUEST_ROOT=DIR   the root file system for the guest; "/" is all of this machine's
#
# Exit status: the program's; 124 when time ran out, or a processor of the guest
# stopped; 125 when the guest could not be started or ended by itself, e.g. by a
# panic; 126 when the program succeeded but the kernel complained.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$here/scripts/lib.sh"
# shellcheck source=scripts/guest/complaints.sh
. "$here/scripts/guest/complaints.sh"

kind=stock
stock=
modules=()
timeout=300
run=
shares=()
mem=
smp=
cpu=
append=
qemu_args=()
icount=no
allow=no
quiet=no

while [ $# -gt 0 ]; do
	case $1 in
	--debug-kernel) kind=debug ;;
	--uml) kind=uml ;;
	--kernel) stock=$2; shift ;;
	--module) modules+=("$2"); shift ;;
	--timeout) timeout=$2; shift ;;
	--run-dir) run=$2; shift ;;
	--share) shares+=("$(realpath "$2")"); shift ;;
	--mem) mem=$2; shift ;;
	--smp) smp=$2; shift ;;
	--append) append=$2; shift ;;
	--qemu-arg) qemu_args+=("$2"); shift ;;
	--cpu) cpu=$2; shift ;;
	--icount) icount=yes ;;
	--allow-complaints) allow=yes ;;
	--quiet) quiet=yes ;;
	-h|--help) sed -n '3,/^set /{/^#/{s/^# \{0,1\}//;p}}' "$0"; exit 0 ;;
	--) shift; break ;;
	*) die "unknown option $1; --help lists all" ;;
	esac
	shift
done
[ $# -gt 0 ] || die "no program given; --help has the usage"

fail() { echo "guest.sh: $*" >&2; exit 125; }

# A kernel of another architecture needs a machine and programs of its own.
arch=amd64
[ -z "$stock" ] || arch=$(sed -n 's/^ARCH=//p' "$stock/make-args" 2>/dev/null) || true
emulator=qemu-system-x86_64 busybox=busybox strip=strip output=ttyS1
case ${arch:=amd64} in
amd64) ;;
arm64) emulator=qemu-system-aarch64 strip=aarch64-linux-gnu-strip output=ttyS0 ;;
powerpc) emulator=qemu-system-ppc64 strip=powerpc64le-linux-gnu-strip output=hvc1 ;;
*) fail "no machine for $arch" ;;
esac
# Another architecture is emulated in full, at about a third of the speed.
[ "$arch" = amd64 ] || TIMEOUT_SCALE=$((TIMEOUT_SCALE * 3))
[ $kind != uml ] || emulator=
for tool in $emulator $strip busybox cpio depmod; do
	PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null ||
		fail "$tool is missing: run scripts/setup.sh"
done
PATH=$PATH:/usr/sbin:/sbin

# Find the kernel and its modules.
if [ $kind = debug ]; then
	tree=$("$here/scripts/debug-kernel.sh") || fail "no debug kernel"
	kernel=$tree/arch/x86/boot/bzImage
	kver=$(make -s -C "$tree" kernelrelease)
	modroot=$tree/modroot
	mem=${mem:-3G}
	append="kmemleak=${KML:-on} $append"
elif [ $kind = uml ]; then
	tree=$("$here/scripts/uml-kernel.sh") || fail "no kernel for User-Mode Linux"
	kernel=$tree/linux
	kver=$(make -s -C "$tree" ARCH=um kernelrelease)
	modroot=$tree/modroot
	mem=${mem:-3G}
	append="kmemleak=${KML:-off} $append"
elif [ -n "$stock" ]; then
	kver=$(cat "$stock/version") || fail "$stock has no kernel of scripts/stock-kernel.sh"
	kernel=$stock/vmlinuz
	modroot=$stock/root
	mem=${mem:-2G}
else
	kver=${KVER:-$(stock_kernel_version)}
	[ -n "$kver" ] || fail "no stock Debian 6.1 kernel with headers is installed: run scripts/setup.sh"
	kernel=/boot/vmlinuz-$kver
	modroot=
	mem=${mem:-2G}
fi
smp=${smp:-2}
[ -r "$kernel" ] || fail "cannot read $kernel: install linux-image-$kver"
[ -d "$modroot/lib/modules/$kver" ] || fail "$modroot/lib/modules/$kver is missing"

if [ "$arch" = amd64 ]; then
	root=${GUEST_ROOT:-$("$here/scripts/guest-root.sh")} || fail "no root file system for a guest"
else
	root=$("$here/scripts/guest-root.sh" "${arch/powerpc/ppc64el}") || fail "no root file system for a guest of $arch"
	busybox=$root/bin/busybox
fi

if [ -n "$run" ]; then
	mkdir -p "$run"
	run=$(cd "$run" && pwd)
	keep=yes
else
	run=$(mktemp -d "${TMPDIR:-/tmp}/rpcrdma-guest.XXXXXX")
	keep=no
fi
rm -rf "$run/status" "$run/booted" "$run"/alive.* "$run/modules" "$run/console-first-boot.log"
: >"$run/console.log"
: >"$run/machine.log"
: >"$run/output.log"

# The modules under test and the index that makes modprobe prefer them.
if [ ${#modules[@]} -eq 0 ]; then
	[ -f "$here/rpcrdma.ko" ] ||
		fail "rpcrdma.ko is not built: run make, or give --module in-tree"
	modules=("$here/rpcrdma.ko")
fi
module_kind=in-tree
names=()
mkdir -p "$run/modules/updates"
for m in "${modules[@]}"; do
	[ "$m" = in-tree ] && continue
	[ -f "$m" ] || fail "$m does not exist"
	vermagic=$(modinfo -F vermagic "$m")
	[ "${vermagic%% *}" = "$kver" ] ||
		fail "$m was built for ${vermagic%% *}, and the guest runs $kver"
	"$strip" --strip-debug -o "$run/modules/updates/$(basename "$m")" "$m"
	names+=("$(basename "$m" .ko)")
	[ "$(basename "$m")" = rpcrdma.ko ] && module_kind=ours
done
index=$run/index
rm -rf "$index"
mkdir -p "$index/lib/modules/$kver"
ln -s "$modroot/lib/modules/$kver/kernel" "$index/lib/modules/$kver/kernel"
for f in modules.order modules.builtin modules.builtin.modinfo; do
	[ -f "$modroot/lib/modules/$kver/$f" ] && ln -s "$modroot/lib/modules/$kver/$f" "$index/lib/modules/$kver/$f"
done
cp -r "$run/modules/updates" "$index/lib/modules/$kver/"
depmod -b "$index" "$kver" || fail "depmod failed"
find "$index/lib/modules/$kver" -maxdepth 1 -type f -exec cp {} "$run/modules/" \;
case $kind$stock in
debug|uml) cp -r "$modroot/lib/modules/$kver/kernel" "$run/modules/" ;;
# The guest sees them at the same paths.
stock?*) ln -s "$modroot/lib/modules/$kver/kernel" "$run/modules/kernel" ;;
esac
rm -rf "$index"

# The smallest initramfs that reaches the host's file system.
initrd=$run/initrd
rm -rf "$initrd"
mkdir -p "$initrd"/{bin,dev,proc,sys,host,rw,root,modules}
cp "$(command -v "$busybox")" "$initrd/bin/busybox"
cp "$here/scripts/guest/initramfs-init" "$initrd/init"
chmod +x "$initrd/init"
[ $kind = uml ] || for m in virtio_pci 9pnet_virtio 9p overlay; do
	modprobe -d "$modroot/" -S "$kver" --show-depends "$m" || fail "the kernel has no module $m"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r ko; do
	case $ko in
	*.xz) xz -dc "$ko" >"$initrd/modules/$(basename "$ko" .xz)" ;;
	*.zst) zstd -qdc "$ko" >"$initrd/modules/$(basename "$ko" .zst)" ;;
	*) cp "$ko" "$initrd/modules/" ;;
	esac
	basename "$ko" | sed 's/\.\(xz\|zst\)$//' >>"$initrd/modules/order"
done
touch "$initrd/modules/order"
echo "$root" >"$initrd/root-folder"
: >"$initrd/shared-folders"
# None of them inside another
[ "$root" = / ] || printf '%s\n' "$here" "$PWD" "$(realpath "$CACHE")" "$(realpath -m "$RUNS")" "$(realpath "$run")" "${shares[@]}" | sort -u |
	while read -r f; do [ ! -d "$f" ] || echo "$f"; done |
	awk '$0 != "/" && (!last || index($0, last "/") != 1) { print; last = $0 }' >"$initrd/shared-folders"
(cd "$initrd" && find . | cpio --quiet -o -H newc) >"$run/initrd.img"
rm -rf "$initrd"

cp "$here/scripts/guest/init.sh" "$run/init.sh"
limit=$((timeout * TIMEOUT_SCALE))
# With --icount, guest time does not show how much of the timeout is left.
[ $icount = no ] && guest_limit=$limit || guest_limit=0
{
	printf 'export KIND=%q MODULE_KIND=%q MODULES=%q TIMEOUT=%q TIMEOUT_SCALE=%q\n' \
		"$kind" "$module_kind" "${names[*]:-}" "$guest_limit" "$TIMEOUT_SCALE"
	printf 'GUEST_CWD=%q OUTPUT=%q\n' "$PWD" /dev/$output
	printf 'GUEST_ARGV=('; printf '%q ' "$@"; printf ')\n'
} >"$run/env"

# With one thread for each processor, QEMU 7.2 can miss a write to code that another
# processor is just translating. That processor then keeps the breakpoint with which the kernel
# replaces its code, and never leaves it. With one thread for all processors this cannot happen,
# and a guest with two processors needs a quarter less of the host's time.
accel=tcg,thread=single
if [ $icount = yes ]; then
	# Let time continue while the processor waits for the host. Otherwise it jumps to
	# the next timer, and every time limit expires.
	qemu_args+=(-icount "shift=0,sleep=on")
	smp=1
# With a /dev/kvm that has no processor feature to support it, a guest hangs.
elif [ "$arch" = amd64 ] && grep -qwE 'vmx|svm' /proc/cpuinfo && [ -w /dev/kvm ] &&
     echo quit | timeout 10 qemu-system-x86_64 -accel kvm -nodefaults -display none -S -monitor stdio >/dev/null 2>&1; then
	accel=kvm
fi

# An emulated processor needs the same time for each round of "rep movsb" as for one of
# "rep movsq". If the time stamp counter is not trusted, it reads the time from a device,
# under one lock for all processors. And it needs no mitigations. Without these three a guest
# needs a third less of the host's time. The counts of instructions do not change.
if [ "$arch" != amd64 ]; then
	# Pointer authentication as specified is slow to emulate.
	[ "$arch" != arm64 ] || cpu=${cpu:-max,pauth-impdef=on}
	[ "$arch" != powerpc ] || cpu=${cpu:-power9}
	append="mitigations=off $append"
elif [ $kind != uml ] && [ $icount = no ] && [ "$accel" != kvm ]; then
	cpu=${cpu:-max,erms=off,fsrm=off,la57=off}
	append="tsc=reliable mitigations=off $append"
fi
cpu=${cpu:-max}

# Parameters of every kernel. Panic on an Oops, because programs may hang after it.
append="loglevel=7 log_buf_len=8M panic=-1 oops=panic net.ifnames=0 rcupdate.rcu_cpu_stall_timeout=120 $append"

# Become the guest's process: its kernel log goes to console.log, what its
# program prints to output.log.
boot_qemu()
{
	local hardware=(-machine q35 -serial "file:$run/console.log" -serial "file:$run/output.log")
	local console="ttyS0 no_timer_check"
	if [ "$arch" = arm64 ]; then
		# This machine has one serial line, which is not a 16550.
		hardware=(-machine virt -serial "file:$run/console.log"
			  -chardev "file,id=output,path=$run/output.log" -device "pci-serial,chardev=output")
		console=ttyAMA0
	elif [ "$arch" = powerpc ]; then
		# The emulator has none of the mitigations that this machine offers by default.
		hardware[1]=pseries,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken,cap-ccf-assist=off
		console=hvc0
	fi
	exec "$emulator" "${hardware[@]}" \
		-accel "$accel" -cpu "$cpu" -smp "$smp" -m "$mem" \
		-nodefaults -no-user-config -no-reboot -display none -nic none \
		-kernel "$kernel" -initrd "$run/initrd.img" \
		-append "console=$console random.trust_cpu=on $append" \
		-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
		-virtfs local,path="$run",mount_tag=run,security_model=none,multidevs=remap \
		"${qemu_args[@]}" </dev/null >"$run/machine.log" 2>&1
}

boot_uml()
{
	# The second serial line is file descriptor 3. Several processors require seccomp,
	# which also makes system calls cheaper than ptrace does.
	# shellcheck disable=SC2086
	exec "$kernel" "mem=$mem" seccomp=on "ncpus=$smp" "initrd=$run/initrd.img" "uml_dir=$run/uml" umid=guest \
		noreboot con=null con0=null,fd:1 ssl=null ssl1=null,fd:3 "run=$run" $append \
		</dev/null 3>>"$run/output.log" >"$run/console.log" 2>&1
}

machine=
follower=
# The guest ends with this script, however the script ends.
# shellcheck disable=SC2317
cleanup()
{
	[ -z "$machine" ] || kill -KILL "$machine" 2>/dev/null || true
	[ -z "$follower" ] || kill "$follower" 2>/dev/null || true
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# A processor of the guest that shows no sign of life for so long never will again.
life_limit=$((60 * TIMEOUT_SCALE))
declare -A life=() life_since=()

# Return 0 if a processor of the guest has stopped, and set stopped to its number, or to
# nothing.
processor_stopped()
{
	local f sign
	for f in "$run"/alive.*; do
		# None yet, or no longer
		sign=$(cat "$f" 2>/dev/null) && [ -n "$sign" ] || continue
		stopped=${f##*.}
		if [ "${life[$stopped]:-}" != "$sign" ]; then
			life[$stopped]=$sign
			life_since[$stopped]=$SECONDS
		elif [ $((SECONDS - life_since[$stopped])) -ge $life_limit ]; then
			return 0
		fi
	done
	stopped=
	return 1
}

# Return 0 if the program has begun.
booted() { [ -s "$run/booted" ]; }

# Return 0 if a processor has been stuck for a minute. The kernel reports it for the first time
# after half a minute, as also happens to a guest that the host does not schedule.
stuck() { grep -qE 'soft lockup - CPU#[0-9]+ stuck for ([5-9][0-9]|[0-9]{3,})s' "$run/console.log"; }

# Return 0 if the kernel has done all that it does: its program has ended, and devices and
# processors are off. Of User-Mode Linux only the process remains then, which once in some
# hundred runs does not exit.
powered_off() { [ -s "$run/status" ] && grep -q 'reboot: Power down' "$run/console.log"; }

# Return 0 if the guest is to be ended.
given_up()
{
	[ $((SECONDS - started)) -lt $limit ] || return 0
	[ $((++rounds % 10)) -eq 0 ] || return 1
	processor_stopped ||
		{ [ $attempt -eq 1 ] && ! booted && { [ $((SECONDS - started)) -ge $boot_limit ] || stuck; }; }
}

# A kernel that hangs or panics before its program has begun is tried once more.
[ $icount = no ] && boot_limit=$((240 * TIMEOUT_SCALE)) || boot_limit=$limit
for attempt in 1 2; do
	started=$SECONDS
	if [ $kind = uml ]; then
		boot_uml &
	else
		boot_qemu &
	fi
	machine=$!

	if [ $quiet = no ] && [ -z "$follower" ]; then
		tail -n +1 -s 0.5 -F "$run/output.log" 2>/dev/null &
		follower=$!
	fi

	timed_out=no
	stopped=
	rounds=0
	off=0
	while kill -0 $machine 2>/dev/null; do
		if powered_off; then
			if [ $((++off)) -ge 20 ]; then
				say "the guest is off, but its process does not exit: killed"
				kill -KILL $machine
				break
			fi
		elif given_up; then
			timed_out=yes
			kill -KILL $machine
			break
		fi
		sleep 0.5
	done
	wait $machine 2>/dev/null && machine_status=0 || machine_status=$?
	! booted && [ $attempt -eq 1 ] || break
	mv "$run/console.log" "$run/console-first-boot.log"
	say "the guest did not boot ($run/console-first-boot.log): once more"
done
machine=
if [ -n "$follower" ]; then
	# The rest of its output
	sleep 1
	kill $follower 2>/dev/null || true
	wait $follower 2>/dev/null || true
	follower=
fi
rm -f "$run/initrd.img"
rm -rf "$run/modules"

# Show the most useful parts of the console after a failure: how the guest began,
# the processes shortly before the timeout, and the end. Long lists are cut.
show_console()
{
	{
		if found=$(complaints <"$run/console.log"); then
			echo "guest.sh: the first complaints in the kernel log ($run/console.log):"
			head -n 1 <<<"$found" | cut -c1-80 |
				grep -aF -m1 -A 60 -f - "$run/console.log" | cut -c1-160 || true
			echo "guest.sh: ... and their sort:"
			sed 's/^\[[^]]*\]//' <<<"$found" | cut -c1-120 | sort | uniq -c | sort -rn | head -n 10
		fi
		echo "guest.sh: what ran and what waited:"
		grep -aE -A 120 'running CPUs( and blocked tasks)? follow' "$run/console.log" |
			grep -avE 'cm_work_handler, cm_work_handler|pwq |pending:|inactive:' | cut -c1-160 | head -n 150 || true
		echo "guest.sh: the end of the kernel log ($run/console.log):"
		tail -n 40 "$run/console.log" | cut -c1-160
	} >&2
}

if [ $timed_out = yes ]; then
	show_console
	if [ -n "$stopped" ]; then
		echo "guest.sh: processor $stopped of the guest has not run for $life_limit seconds" >&2
	else
		echo "guest.sh: the guest did not finish within $limit seconds" >&2
	fi
	exit 124
fi
if [ ! -s "$run/status" ]; then
	cat "$run/machine.log" >&2
	show_console
	echo "guest.sh: the guest ended by itself (its machine's status $machine_status) before its program did" >&2
	exit 125
fi
status=$(cat "$run/status")
! grep -q '^# giving up' "$run/output.log" || show_console
if [ $allow = no ] && found=$(complaints <"$run/console.log"); then
	{
		echo "guest.sh: the kernel complained; its whole log is $run/console.log:"
		head -n 40 <<<"$found"
	} >&2
	[ "$status" -ne 0 ] || status=126
	exit "$status"
fi
[ "$status" -ne 0 ] || [ $keep = yes ] || rm -rf "$run"
exit "$status"
