# Sourced by the scripts that take programs out of Debian's packages without installing them. Its
# state and cache are apt's own under .tools: it works without root and changes nothing outside.
apt=$PWD/.tools/apt

private_apt() {
  apt-get -q -y -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o Debug::NoLocking=1 \
    -o APT::Sandbox::User= -o APT::Update::Post-Invoke::= -o Acquire::Languages=none "$@"
}

# Reads the package lists. What apt says goes to .tools/apt/log.
open_private_apt() {
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  private_apt update >"$apt/log" 2>&1
}

close_private_apt() {
  rm -rf "$apt/lists" "$apt/cache"
}
