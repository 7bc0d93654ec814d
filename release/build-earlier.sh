#!/bin/sh
# Builds the three binaries of an earlier commit of this repository, for the tests of upgrades, and prints the
# directory that contains them: .tools/earlier/<commit>. A commit that is already built is not built again.
#
# The packages are those of the lock file of that commit. They are this checkout's own if the lock files are
# equal, and are otherwise installed in the directory of the build, which is removed afterwards.
set -eu
cd "$(dirname "$0")/.."

fail() {
  echo "build-earlier: $1" >&2
  exit 1
}

[ $# -eq 1 ] || fail "usage: release/build-earlier.sh COMMIT"
commit=$(git rev-parse --verify --quiet "$1^{commit}") ||
  fail "this repository has no commit $1; fetch its history (git fetch --unshallow), or name another with EARLIER="
built=$PWD/.tools/earlier/$commit
if [ -d "$built" ]; then
  echo "$built"
  exit 0
fi

mkdir -p .tools/earlier
source=$(mktemp -d "$PWD/.tools/earlier/source.XXXXXX")
trap 'rm -rf "$source"' EXIT
git archive "$commit" | tar -x -C "$source" || fail "cannot unpack commit $commit"
if cmp -s package-lock.json "$source/package-lock.json"; then
  ln -s "$PWD/node_modules" "$source/node_modules"
else
  "$source/release/install-packages.sh" >&2
fi
(cd "$source" && node_modules/.bin/bun release/build.ts) >&2 || fail "cannot build commit $commit"
# The rename comes last: a directory of this name is always complete. Another run may have been faster.
mv -T "$source/dist" "$built" 2>/dev/null || [ -d "$built" ] || fail "cannot move the binaries to $built"
echo "$built"
