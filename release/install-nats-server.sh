#!/bin/sh
# Installs .tools/bin/nats-server, the server for the tests, the demo and the release: the newest one that
# Debian has, or else the machine's own. Nothing is installed as a service.
#
# The packages of Debian's suites are unpacked to .tools/nats-servers/<version>, where the tests find the other
# versions that they try. A suite that cannot be reached, or whose program does not run here, is left out.
set -eu
cd "$(dirname "$0")/.."
. release/private-apt.sh

# The oldest server that is supported, and the oldest one that may store replicas.
oldest=2.9.10
oldest_for_replicas=2.10.27
tools=${SVC_TOOLS:-$PWD/.tools}
apt=$tools/apt
link=$tools/bin/nats-server
servers=$tools/nats-servers

say() { echo "install-nats-server: $1" >&2; }

fail() {
  say "$1"
  exit 1
}

# The version of the nats-server $1; fails if it does not run here.
version_of() {
  [ -x "$1" ] || return 1
  found=$("$1" --version 2>/dev/null | sed -n 's/^nats-server: v//p') || return 1
  [ -n "$found" ] && echo "$found"
}

# Whether version $1 is at least $2.
at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# Unpacks the nats-server that apt finds now. $1 names its source in messages.
take() {
  (cd "$apt" && rm -f nats-server_*.deb && private_apt download nats-server) >>"$apt/log" 2>&1 || return 1
  rm -rf "$servers/new"
  dpkg -x "$apt"/nats-server_*.deb "$servers/new" >>"$apt/log" 2>&1 || return 1
  version=$(version_of "$servers/new/usr/sbin/nats-server") || {
    say "the nats-server of $1 does not run on this machine"
    return 1
  }
  mkdir -p "$servers/$version"
  mv -f "$servers/new/usr/sbin/nats-server" "$servers/$version/nats-server"
  rm -rf "$servers/new"
}

# The mirror of Debian from which this machine installs its own packages.
mirror() {
  . /etc/os-release
  [ "${ID:-}" = debian ] || return 1
  apt-get indextargets --no-release-info --format '$(CODENAME) $(RELEASE) $(REPO_URI)' 'Identifier: Packages' 2>/dev/null |
    awk -v name="${VERSION_CODENAME:-none}" '$(NF - 1) == name { print $NF; exit }' | grep .
}

fetch() {
  command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1 || {
    say "no apt to fetch Debian's packages with"
    return 0
  }
  mkdir -p "$servers"
  if found=$(mirror); then
    for suite in sid trixie; do
      use_suite "$suite" "$found" && open_private_apt && take "Debian $suite" ||
        say "the nats-server of Debian $suite is not available (see $apt/log)"
      close_private_apt
    done
  else
    say "no mirror of Debian in the sources of apt"
  fi
  use_own_sources
  open_private_apt && take "this machine's release" ||
    say "the nats-server of this machine's release is not available (see $apt/log)"
  close_private_apt
}

if current=$(version_of "$link") && at_least "$current" "$oldest_for_replicas"; then exit 0; fi

fetch
best=
best_version=
for candidate in "$servers"/*/nats-server "$(command -v nats-server || true)" /usr/sbin/nats-server /usr/local/bin/nats-server; do
  version=$(version_of "$candidate") || continue
  if at_least "$version" "$oldest" && { [ -z "$best" ] || ! at_least "$best_version" "$version"; }; then
    best=$candidate
    best_version=$version
  fi
done
[ -n "$best" ] || fail "no nats-server $oldest or newer here; install one and put it on the PATH"
mkdir -p "$tools/bin"
ln -sfn "$best" "$link"
say "the tests use nats-server $best_version ($best)"
at_least "$best_version" "$oldest_for_replicas" ||
  say "it is older than $oldest_for_replicas: tests that need a cluster fail on it"
