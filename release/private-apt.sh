# Sourced by the scripts that extract programs from Debian packages without installing them. The state and
# cache of apt are in .tools: it works without root and changes nothing outside.
apt=$PWD/.tools/apt

private_apt() {
  apt-get -q -y -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o Debug::NoLocking=1 \
    -o APT::Sandbox::User= -o APT::Update::Post-Invoke::= -o Acquire::Languages=none "$@"
}

# Updates the package lists. The output of apt goes to .tools/apt/log.
open_private_apt() {
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  private_apt update >"$apt/log" 2>&1
}

close_private_apt() {
  rm -rf "$apt/lists" "$apt/cache"
}
