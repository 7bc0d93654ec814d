#!/bin/sh
# Downloads the Debian packages of the programs that `make host` runs in private roots, with the packages that they
# need and this machine lacks, to .tools/host-packages/GROUP. Nothing is installed on this machine.
set -eu
cd "$(dirname "$0")/.."
. release/private-apt.sh

target=$PWD/.tools/host-packages
groups="cron:cron
docker:docker.io,docker-registry,busybox-static
firewall:firewalld,ufw,nftables,iptables
lvm:lvm2,thin-provisioning-tools
mysql:mariadb-server
ruby:ruby
selinux:policycoreutils,policycoreutils-python-utils,selinux-policy-default
trace:strace"

fail() {
  echo "download-host-packages: $1" >&2
  exit 1
}

complete=yes
for group in $groups; do [ -e "$target/${group%%:*}/complete" ] || complete=no; done
if [ "$complete" = yes ]; then exit 0; fi

if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then
  fail "make host needs a Debian machine: the programs that states call come from its packages"
fi
open_private_apt || fail "apt could not read the package lists (see $apt/log)"
for group in $groups; do
  directory=$target/${group%%:*}
  rm -rf "$directory"
  mkdir -p "$directory/partial"
  # shellcheck disable=SC2046
  private_apt install --no-install-recommends --download-only -o "Dir::Cache::archives=$directory" \
    $(echo "${group#*:}" | tr , ' ') >>"$apt/log" 2>&1 ||
    fail "apt could not download ${group#*:} (see $apt/log)"
  rmdir "$directory/partial"
  touch "$directory/complete"
done
close_private_apt
