#!/bin/sh
# Installs the npm packages of package-lock.json, without running any package's install script.
#
# `npm install --no-save` instead of `npm ci`: if a registry does not serve an optional package of another
# platform, the lock file does not contain it, and `npm ci` then rejects the whole lock file.
# The lock file pins every version and digest either way, and --no-save never rewrites it.
set -eu
cd "$(dirname "$0")/.."

fail() {
  echo "install-packages: $1" >&2
  exit 1
}

command -v node >/dev/null 2>&1 || fail "node is not installed; install Node.js 20 or newer with npm"
command -v npm >/dev/null 2>&1 || fail "npm is not installed; install Node.js 20 or newer with npm"

node -e '
  const [major] = process.versions.node.split(".");
  if (Number(major) < 20) {
    console.error(`install-packages: node ${process.versions.node} is too old; install Node.js 20 or newer`);
    process.exit(1);
  }
  const manifest = require("./package.json");
  const locked = require("./package-lock.json").packages[""];
  for (const group of ["dependencies", "devDependencies"]) {
    const wanted = Object.entries(manifest[group] ?? {});
    const pinned = locked[group] ?? {};
    const stray = wanted.find(([name, version]) => pinned[name] !== version);
    if (stray !== undefined || wanted.length !== Object.keys(pinned).length) {
      console.error("install-packages: package.json and package-lock.json disagree; run npm install and commit both");
      process.exit(1);
    }
  }
'

npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error ||
  fail "npm could not install the packages; its own message stands above"

# The package `bun` installs its binary with an install script. This runs that script explicitly.
if ! node_modules/.bin/bun --version >/dev/null 2>&1; then
  (cd node_modules/bun && node install.js) || fail "the bun package has no binary for this machine"
fi
wanted=$(node -p 'require("./node_modules/bun/package.json").version')
found=$(node_modules/.bin/bun --version) || fail "node_modules/.bin/bun does not run on this machine"
[ "$found" = "$wanted" ] || fail "node_modules/.bin/bun is $found, but package-lock.json pins $wanted"
