#!/bin/sh
# Installs programs of other products below .tools, for the tests of what they make of a fleet and for the rows next to
# them: install-peer-tools.sh PRODUCT... Nothing is installed as a service, and nothing outside .tools.
#
# prometheus, ansible and schemathesis go to .tools/bin: the machine's own, or else Debian's package, and ansible-core
# and schemathesis of PyPI.
#
# salt, cfengine, puppet, step and step-ca go to .tools/peers/bin, whatever the machine has; .tools/peers/versions says
# in which versions. Debian signs its packages, and Go compares modules with the database of their checksums.
# One that cannot be had is named; the others are installed, and the exit code is 1.
set -eu
cd "$(dirname "$0")/.."
. release/private-apt.sh

# Of Salt the newest one whose dependencies the registry has; Debian and the proxy of Go modules decide the others.
salt_version=3008.4
step_version=0.21.0
step_ca_version=0.30.2

tools=$PWD/.tools
bin=$tools/bin
peers=$tools/peers
log=$peers/log

say() { echo "install-peer-tools: $1" >&2; }

fail() {
  say "$1"
  exit 1
}

# Whether each of the named programs in directory $1 runs here.
usable() {
  directory=$1
  shift
  for name; do "$directory/$name" --version >/dev/null 2>&1 || return 1; done
}

# Links the machine's own programs, if it has all of them.
link_own() {
  for name; do command -v "$name" >/dev/null 2>&1 || return 1; done
  for name; do ln -sfn "$(command -v "$name")" "$bin/$name"; done
  usable "$bin" "$@"
}

install_prometheus() {
  if usable "$bin" prometheus promtool || link_own prometheus promtool; then return; fi
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
  usable "$bin" prometheus promtool || fail "Debian's prometheus does not run here; $advice"
}

# Installs the programs $3... of the package $2 of PyPI to .tools/$1, unless the machine has them.
install_python() {
  name=$1 package=$2
  shift 2
  if usable "$bin" "$@" || link_own "$@"; then return; fi
  advice="install $package"
  rm -rf "${tools:?}/$name"
  python3 -m venv "$tools/$name" >/dev/null || fail "no $name here, and no python3 with venv; $advice"
  "$tools/$name/bin/pip" install --quiet --disable-pip-version-check "$package" ||
    fail "no $name here, and pip could not install it; $advice"
  for program; do ln -sfn "$tools/$name/bin/$program" "$bin/$program"; done
  usable "$bin" "$@" || fail "$name does not run here; $advice"
}

# Whether .tools/peers has product $1 in the version that $2 says.
has() { [ "$(cat "$peers/versions/$1" 2>/dev/null)" = "$2" ]; }

# Says that .tools/peers has product $1 now, in the version that $2 says.
have() {
  mkdir -p "$peers/versions"
  echo "$2" >"$peers/versions/$1"
}

# Writes .tools/peers/bin/$1, which runs the words $3 with the libraries of the packages unpacked in $2.
wrap() {
  libraries=$2/usr/lib
  for place in "$2"/lib/*-linux-gnu "$2"/usr/lib/*-linux-gnu; do libraries=$libraries:$place; done
  {
    echo '#!/bin/sh'
    echo "export LD_LIBRARY_PATH='$libraries'"
    [ -z "${4:-}" ] || echo "$4"
    echo "exec $3 \"\$@\""
  } >"$peers/bin/$1"
  chmod 755 "$peers/bin/$1"
}

# Unpacks package $1 of this machine's release, and the packages that it needs and this machine lacks, to $2.
unpack() {
  command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1 || return 1
  open_private_apt
  private_apt install --no-install-recommends --reinstall --download-only "$1" >>"$log" 2>&1 || return 1
  rm -rf "$2"
  for package_file in "$apt"/cache/archives/*.deb; do dpkg -x "$package_file" "$2" >>"$log" 2>&1 || return 1; done
  unpacked_version=$(dpkg-deb -f "$(ls "$apt"/cache/archives/"$1"_*.deb)" Version)
  close_private_apt
}

install_salt() {
  says="Salt $salt_version (PyPI)"
  if has salt "$says"; then return; fi
  rm -rf "$peers/salt"
  # Its dependencies are whatever the registry has today; a C compiler may be needed for one of them.
  python3 -m venv "$peers/salt" && "$peers/salt/bin/pip" install --quiet --disable-pip-version-check \
    "salt==$salt_version" >>"$log" 2>&1 || return 1
  for name in salt salt-call salt-key salt-master salt-minion; do
    ln -sfn "$peers/salt/bin/$name" "$peers/bin/$name"
  done
  usable "$peers/bin" salt-call salt-master && have salt "$says"
}

install_cfengine() {
  if [ -e "$peers/versions/cfengine" ]; then return; fi
  unpack cfengine3 "$peers/cfengine" || return 1
  for name in cf-agent cf-execd cf-key cf-promises cf-serverd; do
    wrap "$name" "$peers/cfengine" "$peers/cfengine/usr/bin/$name"
  done
  usable "$peers/bin" cf-agent cf-execd cf-serverd && have cfengine "CFEngine $unpacked_version (Debian)"
}

install_puppet() {
  if [ -e "$peers/versions/puppet" ]; then return; fi
  root=$peers/puppet
  unpack puppet-agent "$root" || return 1
  # Ruby looks for its libraries below /usr; here each place is named.
  paths=
  for place in "$root"/usr/lib/ruby/vendor_ruby "$root"/usr/lib/ruby/[0-9]*.0 "$root"/usr/lib/*-linux-gnu/ruby/[0-9]*.0 \
    "$root"/usr/lib/*-linux-gnu/ruby/vendor_ruby/[0-9]*.0; do
    paths=$paths${paths:+:}$place
  done
  wrap puppet "$root" "'$root/usr/bin/ruby' '$root/usr/bin/puppet'" \
    "export RUBYLIB='$paths' GEM_PATH='$root/usr/share/rubygems-integration/all'"
  usable "$peers/bin" puppet && have puppet "Puppet $unpacked_version (Debian)"
}

# Builds command $2 of the Go module $1 in version $3, without cgo. The sources are removed afterwards.
build_go() {
  command -v go >/dev/null 2>&1 || return 1
  GOPATH=$peers/go GOCACHE=$peers/go/cache GOBIN=$peers/bin GOFLAGS="-trimpath -modcacherw" CGO_ENABLED=0 GOTOOLCHAIN=local \
    go install "$1/$2@v$3" >>"$log" 2>&1 || return 1
  rm -rf "$peers/go"
}

install_step() {
  says="step $step_version (Go module)"
  if has step "$says"; then return; fi
  build_go github.com/smallstep/cli cmd/step "$step_version" && have step "$says"
}

install_step_ca() {
  says="step-ca $step_ca_version (Go module)"
  if has step-ca "$says"; then return; fi
  build_go github.com/smallstep/certificates cmd/step-ca "$step_ca_version" && have step-ca "$says"
}

mkdir -p "$bin" "$peers/bin"
code=0
for product; do
  case $product in
  prometheus) install_prometheus ;;
  ansible) install_python ansible ansible-core ansible ansible-inventory ;;
  schemathesis) install_python schemathesis schemathesis schemathesis ;;
  salt) install_salt || absent="$product $salt_version" ;;
  cfengine) install_cfengine || absent=$product ;;
  puppet) install_puppet || absent=$product ;;
  step) install_step || absent="$product $step_version" ;;
  step-ca) install_step_ca || absent="$product $step_ca_version" ;;
  *) fail "there is no product $product" ;;
  esac
  [ -z "${absent:-}" ] || {
    say "$absent cannot be had here (see $log), so its rows are left out"
    code=1
    absent=
  }
done
exit "$code"
