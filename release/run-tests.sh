#!/bin/bash
# Runs every test and ends with one line, "N passed, N failed", summed from Bun's own summary.
# The exit code is Bun's; a run that executed no test fails, and a failed run never says "0 failed".
set -u
cd "$(dirname "$0")/.." || exit 1

mkdir -p .tools
log=$(mktemp .tools/test-run.XXXXXX)
trap 'rm -f "$log"' EXIT

node_modules/.bin/bun test --timeout 60000 "$@" </dev/null 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

# Sums the lines " 12 pass" and " 1 fail" that close a run.
count() {
  awk -v word="$1" '$2 == word && NF == 2 && $1 ~ /^[0-9]+$/ { n += $1 } END { print n + 0 }' "$log"
}
passed=$(count pass)
failed=$(count fail)

if [ "$status" -eq 0 ] && [ "$failed" -gt 0 ]; then status=1; fi
if [ "$status" -eq 0 ] && [ "$passed" -eq 0 ]; then
  echo "run-tests: no test ran" >&2
  status=1
fi
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
echo "$passed passed, $failed failed"
exit "$status"
