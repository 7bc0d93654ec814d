#!/bin/bash
# Installs, runs, upgrades, removes and purges the Debian packages of dist/packages/deb on a Debian that
# debootstrap makes in a directory of /tmp, started with its own systemd in namespaces of its own: no
# package, user or service of this machine is touched. It needs root and Debian's archive.
set -euo pipefail
cd "$(dirname "$0")/../.."


fail() {
  echo "packages: $1" >&2
  exit 1
}

[ "$(id -u)" = 0 ] || fail "it takes root to make a Debian in a directory"
groups=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
[ -n "$groups" ] || fail "no cgroup2 is mounted here, which systemd needs"

# The first archive and suite that this machine takes packages from, unless others are given.
read -r first_mirror first_suite < <(
  apt-get indextargets --format '$(SITE) $(RELEASE) $(CREATED_BY)' | sed -n 's/ Packages$//p'
) || true
mirror=${DEBIAN_MIRROR:-$first_mirror}
suite=${DEBIAN_SUITE:-$first_suite}
[ -n "$mirror" ] && [ -n "$suite" ] || fail "no archive of Debian is known here; name one in DEBIAN_MIRROR and DEBIAN_SUITE"

work=$(mktemp -d /tmp/svc-packages.XXXXXX)
debian=$work/debian
group=$groups/${work#/tmp/}
system=
finish() {
  if [ -n "$system" ]; then
    kill -KILL "$system" 2>/dev/null || true
    wait 2>/dev/null || true
  fi
  if [ -d "$group" ]; then find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true; fi
  rm -rf --one-file-system "$work"
}
trap finish EXIT

# The machine's debootstrap, else Debian's package unpacked.
if command -v debootstrap >/dev/null; then
  bootstrap=(debootstrap)
else
  . release/private-apt.sh
  apt=$work/apt
  open_private_apt && private_apt install --no-install-recommends --download-only debootstrap >>"$apt/log" 2>&1 ||
    { tail -n 5 "$apt/log" >&2; fail "no debootstrap here, and apt could not download it"; }
  dpkg -x "$apt"/cache/archives/debootstrap_*.deb "$work/tools"
  close_private_apt
  bootstrap=(env "DEBOOTSTRAP_DIR=$work/tools/usr/share/debootstrap" sh "$work/tools/usr/sbin/debootstrap")
fi
unshare --mount "${bootstrap[@]}" --variant=minbase --include=systemd,dbus,procps,nats-server,man-db,mandoc,bash-completion,zsh,fish "$suite" "$debian" "$mirror" \
  >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "debootstrap failed"; }
echo "127.0.0.1 localhost svc.example.com" >"$debian/etc/hosts"
echo svc-test-host >"$debian/etc/hostname"

mkdir "$debian/packages"
cp dist/packages/deb/*_"$(dpkg --print-architecture)".deb "$debian/packages/"
# The next version: the same files under a higher number.
for package in "$debian"/packages/*.deb; do
  name=$(dpkg-deb -f "$package" Package)
  dpkg-deb -R "$package" "$work/next"
  sed -i 's/^Version: .*/Version: 99.0.0/' "$work/next/DEBIAN/control"
  dpkg-deb -Zgzip -z1 -b "$work/next" "$debian/packages/next-$name.deb" >/dev/null
  rm -rf "$work/next"
  mv "$package" "$debian/packages/first-$name.deb"
done

# Its own processes, mounts, network and name. What the kernel shares, /proc/sys and /sys, is read-only.
start='
set -e
echo $$ >"$2/cgroup.procs"
exec unshare --cgroup bash -c '\''
set -e
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount --bind -o ro proc/sys proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs dev
for device in null zero full random urandom tty; do
  : >dev/$device
  mount --bind /dev/$device dev/$device
done
mkdir dev/pts dev/shm
ln -s /proc/self/fd dev/fd
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ip link set lo up
pivot_root . mnt
cd /
umount -l /mnt
exec env -i container=svc-test /lib/systemd/systemd --log-target=journal
'\'' bash "$1"
'
mkdir "$group"
unshare --mount --pid --fork --uts --ipc --net --kill-child bash -c "$start" bash "$debian" "$group" \
  >"$work/system.log" 2>&1 </dev/null &
for _ in $(seq 100); do
  system=$(cat "/proc/$!/task/$!/children" 2>/dev/null | tr -d ' ')
  if [ -n "$system" ] && [ "$(cat "/proc/$system/comm")" = systemd ]; then break; fi
  sleep 0.1
done
[ -n "$system" ] || { cat "$work/system.log" >&2; fail "systemd did not start"; }

inside() {
  nsenter -t "$system" --all --root --wd \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}

# What each shell offers for the last word of a command line, with what the packages brought.
config="--config /var/lib/svc/svc.yaml"
mkdir "$debian/shells"
cat >"$debian/shells/bash" <<'END'
source /usr/share/bash-completion/bash_completion
_completion_loader svc
COMP_WORDS=(svc "$@" "") COMP_CWORD=$(($# + 1))
_svc
printf '%s\n' "${COMPREPLY[@]}"
END
cat >"$debian/shells/zsh" <<'END'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -U compinit && compinit -u -D; PS1=; echo READY$((1))'
zpty -r shell seen '*READY1*'
zpty -w -n shell "svc $* "$'\t'
# What it inserts, and nothing else, has the shape of an id that was not typed.
zpty -r shell seen '*(enr-|svc-test-)[A-Za-z0-9-]## *'
print -r -- "$seen"
END
cat >"$debian/shells/fish" <<'END'
complete -C "svc $argv "
END
offers() {
  echo "cd / && runuser -u svc-master -- env HOME=/tmp TERM=dumb timeout 15 $1 /shells/${1%% *} $config $2"
}

checks=0
# One thing that must hold, within 20 seconds: what it is, and the command line that tells.
holds() {
  local what=$1 try
  for try in $(seq 100); do
    if inside sh -c "$2" >"$work/output" 2>&1; then
      checks=$((checks + 1))
      echo "ok $checks: $what"
      return
    fi
    sleep 0.2
  done
  cat "$work/output" >&2
  inside journalctl --no-pager -n 30 -u svc-master -u svc-peel >&2 || true
  fail "does not hold: $what"
}
does() {
  inside sh -c "$2" >"$work/output" 2>&1 || { cat "$work/output" >&2; fail "failed: $1"; }
  echo "did: $1"
}
# Every file of both daemons but the bus's store, with owner, mode and content.
remember='for f in $(find /var/lib/svc /var/lib/svc-peel -type f \( -name "*.seed" -o -name "*.key" -o -name "*.creds" -o -name "*.crt" -o -name "*.jwt" -o -name "*.token" \) | sort); do stat -c "%n %U %a" $f; sha256sum <$f; done'
svc="runuser -u svc-master -- svc"
run="$svc run '*' --config /var/lib/svc/svc.yaml --output json"

holds "the system is up" 'systemctl is-active multi-user.target'

does "install" 'dpkg -i /packages/first-*.deb'
holds "the programs run" 'svc --version && svc-master --version && svc-peel --version'
holds "the units are sound" 'systemd-analyze verify svc-master.service svc-peel.service 2>&1 | (! grep .)'
holds "the master has a user without a shell" 'getent passwd svc-master | grep -q ":/usr/sbin/nologin$"'
holds "its directory is its own" '[ "$(stat -c "%U %a" /var/lib/svc)" = "svc-master 700" ]'
holds "the peel's directory is root's" '[ "$(stat -c "%U %a" /var/lib/svc-peel)" = "root 700" ]'
holds "there is no configuration" '[ -z "$(ls -A /etc/svc)" ]'
holds "the peel will start with the system" 'systemctl is-enabled svc-peel'
holds "the master is left to the operator" '[ "$(systemctl is-enabled svc-master)" = disabled ]'
holds "without a configuration neither runs" '! systemctl is-active svc-peel && ! systemctl is-active svc-master'
holds "nor fails" '! systemctl start svc-peel svc-master 2>&1 | grep . && ! systemctl is-failed svc-peel svc-master'

# The page's commands, but for the first, which installs what is installed already, the one that looks at
# what takes a moment, and the line for further hosts, which runs below with a real token.
section=$(sed -n '/^## A master and a peel on one host/,/^## /p' docs/packages.md | sed -n '/^```sh/,/^```$/p')
grep -v -e '^```' -e '^apt install' -e ' enroll list ' -e 'svc-peel join' <<<"$section" >"$debian/packages/commands"
does "set up a fleet as docs/packages.md says" 'sh -e /packages/commands'
holds "the master runs in its sandbox, with its bus" '[ "$(ps -o user= -C svc-master,nats-server | sort -u)" = svc-master ] && [ "$(ps -C nats-server -o pid= | wc -l)" = 1 ] && grep -q "^Seccomp:.2" /proc/$(systemctl show -P MainPID svc-master)/status && grep -q "^CapBnd:.0*$" /proc/$(systemctl show -P MainPID svc-master)/status'
holds "the pages of the manual are found and shown" 'for page in svc svc-run svc-enroll svc-master svc-peel svc-master.yaml svc-peel.yaml svc.yaml; do man "$page" 2>&1 | grep -q "^SEE ALSO" || { echo "$page"; exit 1; }; done'
holds "mandoc has nothing to say about them" 'for page in $(dpkg -L svc svc-master svc-peel | grep "/man/.*gz$"); do mandoc -T lint -W warning "$page" || exit 1; done'
holds "the peel asks to join" "$svc enroll list --config /var/lib/svc/svc.yaml | grep pending"
for shell in bash "zsh -o extendedglob" fish; do
  holds "${shell%% *} offers the pending enrollment" "$(offers "$shell" "enroll approve") | grep svc-test-host"
done
does "approve it" "$svc enroll approve --config /var/lib/svc/svc.yaml \$($svc enroll list --config /var/lib/svc/svc.yaml | awk '/pending/ { print \$1 }')"
holds "it runs a job" "$run test.ping"
for shell in bash "zsh -o extendedglob" fish; do
  holds "${shell%% *} offers the peel to run on" "$(offers "$shell" run) | grep svc-test-host"
done
# The line for a further host, as the page has it, with a real token. This host has a peel already: the further
# one gets a directory and a name of its own, and its unit is not started a second time.
join=$(grep 'svc-peel join' <<<"$section") || fail "docs/packages.md has no line for a further host"
[[ $join == *"'svcjoin1.…'"* && $join == *" && systemctl start svc-peel" ]] || fail "the line for a further host is another one: $join"
join=${join%" && systemctl start svc-peel"}
token="\"\$($svc enroll token create $config | grep -o 'svcjoin1[^ ]*')\""
join=${join/"'svcjoin1.…'"/"$token"}
join=${join/svc-peel/SVC_DATA_DIR=/further svc-peel}
does "a further host joins with the line of the page" "install -d -m 0700 /further; $join --id further --config /further/peel.yaml"
holds "it is a member, with credentials" "$svc enroll list --state issued --output json $config | grep '\"further\"' && find /further -name \"*.creds\" | grep ."
does "revoke it" "$svc enroll revoke --peel further $config"
holds "a job is root and free of the sandbox" "$run cmd.run 'id -u; touch /etc/svc-test-made' && [ -f /etc/svc-test-made ]"

inside sh -c "$remember" >"$work/keys"
[ "$(wc -l <"$work/keys")" -ge 40 ] || fail "the keys were not found"
unchanged() {
  inside sh -c "$remember" | cmp -s - "$work/keys" || fail "keys changed: $1"
  checks=$((checks + 1))
  echo "ok $checks: every key, owner and mode is as it was after the $1"
}

echo "# mine" >>"$debian/etc/svc/peel.yaml"
master=$(inside systemctl show -P MainPID svc-master)
peel=$(inside systemctl show -P MainPID svc-peel)
does "upgrade master and command" 'dpkg -i /packages/next-svc-master.deb /packages/next-svc.deb'
holds "the master is another process" "[ \$(systemctl show -P MainPID svc-master) != $master ] && systemctl is-active svc-master"
holds "the peel comes back to it" "$run test.ping"
holds "a job upgrades the peel, to its end" "$run cmd.run 'dpkg -i /packages/next-svc-peel.deb' && dpkg-query -W svc-peel | grep 99.0.0"
holds "the peel that ran it goes on" "[ \$(systemctl show -P MainPID svc-peel) = $peel ]"
later=$(sed -n "s/^svc run '\\*' cmd.run '\\(.*\\)'$/\\1/p" docs/packages.md)
holds "a job restarts it after its end" "$run cmd.run '$later'"
holds "then it is another process" "[ \$(systemctl show -P MainPID svc-peel) != $peel ] && systemctl is-active svc-peel"
holds "which runs jobs" "$run test.ping"
holds "the configuration is the edited one" 'tail -n 1 /etc/svc/peel.yaml | grep -q "^# mine$"'
unchanged upgrade

does "remove" 'dpkg -r svc svc-peel svc-master'
holds "no program is left, and none runs" '! command -v svc svc-peel svc-master && ! ps -C svc-master,svc-peel,nats-server'
holds "the configuration stays" '[ -f /etc/svc/master.yaml ] && [ -f /etc/svc/peel.yaml ]'
unchanged removal

does "install again" 'dpkg -i /packages/first-*.deb && systemctl start svc-master svc-peel'
holds "the same fleet runs on" "$run test.ping"
unchanged "second installation"

does "purge" 'dpkg -P svc svc-peel svc-master'
holds "the configuration is gone" '[ ! -e /etc/svc ] && ! ls /etc/systemd/system/multi-user.target.wants | grep svc-peel'
holds "the user stays, as owner of the keys" 'getent passwd svc-master'
unchanged purge

echo "packages: $checks checks passed on Debian $suite"
