#!/bin/sh
# Installs .tools/bin/swtpm, swtpm_setup and the commands of tpm2-tools, for the test of evidence by TPM: the
# machine's own, or else those of Debian's packages, unpacked here with the libraries that this machine lacks.
# Nothing is installed as a service, and no device is used.
set -eu
cd "$(dirname "$0")/.."
. release/private-apt.sh

tools=$PWD/.tools
bin=$tools/bin
programs="swtpm swtpm_setup swtpm_localca swtpm_cert"
commands="tpm2_getcap tpm2_nvread tpm2_createek tpm2_createak tpm2_quote tpm2_startauthsession tpm2_policysecret
  tpm2_activatecredential tpm2_flushcontext"

fail() {
  echo "install-tpm-tools: $1" >&2
  exit 1
}

# Whether the programs run here.
usable() {
  for name in $programs $commands; do [ -x "$bin/$name" ] || return 1; done
  "$bin/swtpm" --version 2>/dev/null | grep -q 'TPM emulator' &&
    "$bin/tpm2_quote" --version 2>/dev/null | grep -q 'tool='
}

if usable; then exit 0; fi

mkdir -p "$bin"
own=yes
for name in $programs $commands; do command -v "$name" >/dev/null 2>&1 || own=no; done
if [ "$own" = yes ]; then
  for name in $programs $commands; do ln -sfn "$(command -v "$name")" "$bin/$name"; done
  if usable; then exit 0; fi
fi

advice="install swtpm, swtpm-tools and tpm2-tools"
if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then
  fail "no swtpm here, and no apt to fetch Debian's package with; $advice"
fi
open_private_apt || fail "no swtpm here, and apt could not read the package lists (see $apt/log); $advice"
private_apt install --no-install-recommends --download-only swtpm swtpm-tools tpm2-tools >>"$apt/log" 2>&1 ||
  fail "no swtpm here, and apt could not download it (see $apt/log); $advice"

unpacked=$tools/tpm
rm -rf "$unpacked"
for package_file in "$apt"/cache/archives/*.deb; do
  dpkg -x "$package_file" "$unpacked" >>"$apt/log" 2>&1 ||
    fail "$(basename "$package_file") could not be unpacked (see $apt/log); $advice"
done
close_private_apt
libraries=$(find "$unpacked" -name 'lib*.so*' -exec dirname {} + | sort -u | paste -sd: -)
for name in $programs $commands; do
  program=$(find "$unpacked/usr/bin" -name "$name" | head -n 1)
  [ -n "$program" ] || fail "Debian's packages have no $name; $advice"
  rm -f "$bin/$name"
  cat >"$bin/$name" <<WRAPPER
#!/bin/sh
PATH='$bin':\$PATH LD_LIBRARY_PATH='$libraries' exec '$program' "\$@"
WRAPPER
  chmod 0755 "$bin/$name"
done
usable || fail "Debian's swtpm does not run here ($("$bin/swtpm" --version 2>&1 | head -n 1)); $advice"
