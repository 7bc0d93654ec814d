#!/bin/sh
# Installs .tools/bin/prometheus, promtool, ansible and ansible-inventory, for the tests of what other tools make of
# a fleet: the machine's own, or else Debian's package and ansible-core in an environment of its own, both below
# .tools. Nothing is installed as a service.
set -eu
cd "$(dirname "$0")/.."
. release/private-apt.sh

tools=$PWD/.tools
bin=$tools/bin

fail() {
  echo "install-peer-tools: $1" >&2
  exit 1
}

# Whether each of the named programs runs here.
usable() {
  for name; do "$bin/$name" --version >/dev/null 2>&1 || return 1; done
}

# Links the machine's own programs, if it has all of them.
link_own() {
  for name; do command -v "$name" >/dev/null 2>&1 || return 1; done
  for name; do ln -sfn "$(command -v "$name")" "$bin/$name"; done
  usable "$@"
}

mkdir -p "$bin"
if ! usable prometheus promtool && ! link_own prometheus promtool; then
  advice="install prometheus"
  command -v apt-get >/dev/null 2>&1 || fail "no prometheus here, and no apt to fetch Debian's package with; $advice"
  open_private_apt || fail "no prometheus here, and apt could not read the package lists (see $apt/log); $advice"
  private_apt install --no-install-recommends --download-only prometheus >>"$apt/log" 2>&1 ||
    fail "no prometheus here, and apt could not download it (see $apt/log); $advice"
  rm -rf "$tools/prometheus"
  for package_file in "$apt"/cache/archives/prometheus_*.deb; do
    dpkg -x "$package_file" "$tools/prometheus" || fail "Debian's prometheus could not be unpacked; $advice"
  done
  close_private_apt
  for name in prometheus promtool; do ln -sfn "$tools/prometheus/usr/bin/$name" "$bin/$name"; done
  usable prometheus promtool || fail "Debian's prometheus does not run here; $advice"
fi

if ! usable ansible ansible-inventory && ! link_own ansible ansible-inventory; then
  advice="install ansible-core"
  rm -rf "$tools/ansible"
  python3 -m venv "$tools/ansible" >/dev/null || fail "no ansible here, and no python3 with venv; $advice"
  "$tools/ansible/bin/pip" install --quiet --disable-pip-version-check ansible-core ||
    fail "no ansible here, and pip could not install it; $advice"
  for name in ansible ansible-inventory; do ln -sfn "$tools/ansible/bin/$name" "$bin/$name"; done
  usable ansible ansible-inventory || fail "ansible does not run here; $advice"
fi
