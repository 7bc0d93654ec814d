# Sourced by the scripts that extract programs from Debian packages without installing them. The state and
# cache of apt are in .tools: it works without root and changes nothing outside.
apt=$PWD/.tools/apt
apt_sources=

private_apt() {
  # shellcheck disable=SC2086
  apt-get -q -y -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o Debug::NoLocking=1 \
    -o APT::Sandbox::User= -o APT::Update::Post-Invoke::= -o Acquire::Languages=none \
    -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 $apt_sources "$@"
}

# Updates the package lists. The output of apt goes to .tools/apt/log.
open_private_apt() {
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  # A list that cannot be fetched is only a warning for apt, and the program may be in another one.
  private_apt update >"$apt/log" 2>&1
}

# Takes packages from suite $1 of the mirror $2 alone. Debian's key ring verifies them.
use_suite() {
  key_ring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -r "$key_ring" ] || return 1
  mkdir -p "$apt"
  echo "deb [signed-by=$key_ring] $2 $1 main" >"$apt/sources.list"
  apt_sources="-o Dir::Etc::SourceList=$apt/sources.list -o Dir::Etc::SourceParts=/dev/null"
}

# Takes packages from the sources of this machine.
use_own_sources() {
  apt_sources=
}

close_private_apt() {
  rm -rf "$apt/lists" "$apt/cache"
}
