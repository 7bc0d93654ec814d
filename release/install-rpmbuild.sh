#!/bin/sh
# Provides an rpmbuild: the machine's own, or else the one from Debian's package, unpacked in .tools/rpm.
set -eu
cd "$(dirname "$0")/.."
. release/private-apt.sh

fail() {
  echo "install-rpmbuild: $1; install rpm-build (on Debian: rpm) to build RPM packages" >&2
  exit 1
}

if command -v rpmbuild >/dev/null 2>&1 || [ -x .tools/rpm/usr/bin/rpmbuild ]; then exit 0; fi
if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then
  fail "no rpmbuild here, and no apt to fetch Debian's package with"
fi
open_private_apt || fail "no rpmbuild here, and apt could not read the package lists (see $apt/log)"
private_apt install --no-install-recommends --download-only rpm >>"$apt/log" 2>&1 ||
  fail "no rpmbuild here, and apt could not download it (see $apt/log)"
rm -rf .tools/rpm.new
for package_file in "$apt"/cache/archives/*.deb; do
  dpkg -x "$package_file" .tools/rpm.new
done
close_private_apt
rm -rf .tools/rpm
mv .tools/rpm.new .tools/rpm
