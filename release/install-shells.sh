#!/bin/sh
# Installs .tools/shells with zsh and fish, for the test of completion: those of Debian's packages, unpacked here with
# the libraries that this machine lacks. A shell of the machine would read its configuration, so it is not used.
set -eu
cd "$(dirname "$0")/.."
. release/private-apt.sh

shells=$PWD/.tools/shells

fail() {
  echo "install-shells: $1" >&2
  exit 1
}

# Whether both shells run here.
usable() {
  "$shells/zsh" -dc 'zmodload zsh/zpty' 2>/dev/null && "$shells/fish" -Nc 'complete -C "cd "' >/dev/null 2>&1
}

if usable; then exit 0; fi
if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then
  fail "there is no apt here to fetch zsh and fish with; the test of completion needs a machine with Debian's packages"
fi
open_private_apt || fail "apt could not read the package lists (see $apt/log)"
private_apt install --reinstall --no-install-recommends --download-only zsh zsh-common fish fish-common libpcre2-32-0 \
  >>"$apt/log" 2>&1 || fail "apt could not download zsh and fish (see $apt/log)"

rm -rf "$shells"
mkdir -p "$shells/root"
for package_file in "$apt"/cache/archives/*.deb; do
  dpkg -x "$package_file" "$shells/root" >>"$apt/log" 2>&1 ||
    fail "$(basename "$package_file") could not be unpacked (see $apt/log)"
done
close_private_apt
root=$shells/root
libraries=$(find "$root" -name 'lib*.so*' -exec dirname {} + | sort -u | paste -sd: -)
modules=$(dirname "$(dirname "$(find "$root" -name zpty.so)")")
functions=$(find "$root/usr/share/zsh/functions" -type d | paste -sd: -)
# zsh takes the places of its modules and functions from its configuration alone.
mkdir -p "$shells/zdotdir"
echo "module_path=($modules) fpath=($(echo "$functions" | tr : ' '))" >"$shells/zdotdir/.zshenv"
for shell in zsh fish; do
  program=$(find "$root/bin" "$root/usr/bin" -name "$shell" -type f | head -n 1)
  cat >"$shells/$shell" <<WRAPPER
#!/bin/sh
ZDOTDIR='$shells/zdotdir' LD_LIBRARY_PATH='$libraries' exec '$program' "\$@"
WRAPPER
  chmod 0755 "$shells/$shell"
done
usable || fail "Debian's shells do not run here ($("$shells/zsh" --version 2>&1 | head -n 1))"
