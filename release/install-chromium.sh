#!/bin/sh
# Installs .tools/bin/chromium, the browser for the test of the documentation page: the machine's own, or
# else the one from Debian's packages, unpacked here with the libraries that this machine lacks.
set -eu
cd "$(dirname "$0")/.."
. release/private-apt.sh

tools=$PWD/.tools
link=$tools/bin/chromium

fail() {
  echo "install-chromium: $1" >&2
  exit 1
}

# Whether $1 is a Chromium that runs here and supports the mode of the headless shell.
usable() {
  [ -x "$1" ] && "$1" --version 2>/dev/null | grep -Eq '^(Chromium|Google Chrome)|HeadlessChrome'
}

if usable "$link"; then exit 0; fi

mkdir -p "$tools/bin"
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
  candidate=$(command -v "$name" || true)
  if [ -n "$candidate" ] && usable "$candidate"; then
    ln -sfn "$candidate" "$link"
    exit 0
  fi
done

advice="install chromium-headless-shell or chromium and put it on the PATH"
if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then
  fail "no chromium here, and no apt to fetch Debian's package with; $advice"
fi
open_private_apt || fail "no chromium here, and apt could not read the package lists (see $apt/log); $advice"
for package in chromium-headless-shell chromium none; do
  [ "$package" != none ] ||
    fail "no chromium here, and apt could not download one (see $apt/log); $advice"
  if private_apt install --no-install-recommends --download-only "$package" >>"$apt/log" 2>&1; then break; fi
done

unpacked=$tools/chromium
rm -rf "$unpacked"
for package_file in "$apt"/cache/archives/*.deb; do
  dpkg -x "$package_file" "$unpacked" >>"$apt/log" 2>&1 ||
    fail "$(basename "$package_file") could not be unpacked (see $apt/log); $advice"
done
close_private_apt
program=$unpacked/usr/lib/chromium/chromium-headless-shell
[ -x "$program" ] || program=$unpacked/usr/lib/chromium/chromium
# Some packages, such as pulseaudio, have their own library directory.
libraries=$(find "$unpacked/usr/lib" -name 'lib*.so*' ! -path "$unpacked/usr/lib/chromium/*" -exec dirname {} + |
  sort -u | paste -sd: -)
rm -f "$link"
cat >"$link" <<EOF
#!/bin/sh
LD_LIBRARY_PATH='$libraries' exec '$program' "\$@"
EOF
chmod 0755 "$link"
usable "$link" || fail "Debian's chromium does not run here ($("$link" --version 2>&1 | head -n 1)); $advice"
