#!/bin/sh
# Installs .tools/bin/nats-server, the server for the tests and the demo: the machine's own if it is new
# enough, or else the one from Debian's package, unpacked here. It does not install a service.
set -eu
cd "$(dirname "$0")/.."
. release/private-apt.sh

oldest=2.9.10
tools=$PWD/.tools
link=$tools/bin/nats-server

fail() {
  echo "install-nats-server: $1" >&2
  exit 1
}

# Whether $1 is a nats-server that runs here and is new enough.
usable() {
  [ -x "$1" ] || return 1
  found=$("$1" --version 2>/dev/null | sed -n 's/^nats-server: v//p') || return 1
  [ -n "$found" ] || return 1
  [ "$(printf '%s\n%s\n' "$oldest" "$found" | sort -V | head -n 1)" = "$oldest" ]
}

# Points the link at $1 and exits.
settle() {
  mkdir -p "$tools/bin"
  ln -sfn "$1" "$link"
  exit 0
}

if usable "$link"; then exit 0; fi

unpacked=$tools/nats-server/usr/sbin/nats-server
for candidate in "$(command -v nats-server || true)" /usr/sbin/nats-server /usr/local/bin/nats-server "$unpacked"; do
  if usable "$candidate"; then settle "$candidate"; fi
done

advice="install nats-server $oldest or newer and put it on the PATH"
if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then
  fail "no nats-server here, and no apt to fetch Debian's package with; $advice"
fi

open_private_apt || fail "no nats-server here, and apt could not read the package lists (see $apt/log); $advice"
(cd "$apt" && rm -f nats-server_*.deb && private_apt download nats-server) >>"$apt/log" 2>&1 ||
  fail "no nats-server here, and apt could not download the package (see $apt/log); $advice"
rm -rf "$tools/nats-server"
dpkg -x "$apt"/nats-server_*.deb "$tools/nats-server" >>"$apt/log" 2>&1 ||
  fail "Debian's nats-server package could not be unpacked (see $apt/log); $advice"
close_private_apt
usable "$unpacked" || fail "Debian's nats-server is older than $oldest or does not run here; $advice"
settle "$unpacked"
