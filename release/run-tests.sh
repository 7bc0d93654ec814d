#!/bin/bash
# Runs the given tests one after the other, or all of them in four processes, as the
# tests wait most of the time.
# Prints one final line, "N passed, N failed", summed from Bun's own summaries.
# The exit code is Bun's. The last test searches the logs of the run for its secrets. A run without tests
# fails, and a failed run never prints "0 failed".
set -u
cd "$(dirname "$0")/.." || exit 1

mkdir -p .tools
run=$(mktemp -d "$PWD/.tools/test-run.XXXXXX")
trap 'rm -rf "$run"' EXIT
log=$run/output

# The harness stores all logs and secrets of the run in this directory (test/harness/run-record.ts).
export TEST_RUN_DIR=$run
run_tests() {
  node_modules/.bin/bun test --timeout 60000 "$@" </dev/null 2>&1 | tee -a "$log"
  return "${PIPESTATUS[0]}"
}

# Sums the lines " 12 pass" and " 1 fail" at the end of a run.
count() {
  awk -v word="$1" '$2 == word && NF == 2 && $1 ~ /^[0-9]+$/ { n += $1 } END { print n + 0 }' "$log"
}

# The errors of a failed run in short: a log of CI is often read, or kept, only from its end.
say_why() {
  grep '^(fail)' "$log" | sort -u
  grep '^  \^ this test timed out' "$log"
  awk '
    /^[A-Za-z]*[Ee]rror: / { shown = 0; open = 1; print substr($0, 1, 300); next }
    open && /^[ ]+at .*\.ts:[0-9]/ { print substr($0, 1, 200); open = 0; next }
    open && /^[-+]/ && shown++ < 16 { print substr($0, 1, 200) }
  ' "$log"
}

if [ $# -eq 0 ]; then
  # The files that take longest begin first, so that no process is left alone with one at the end.
  run_tests --parallel=4 --no-isolate --timings=release/test-timings.json ${SVC_WRITE_TIMINGS:+--update-timings}
else
  run_tests "$@"
fi
status=$?
if [ "$status" -eq 0 ] && [ "$(count pass)" -eq 0 ]; then
  echo "run-tests: no test ran" >&2
  status=1
fi
# The last test: no log contains a secret. Otherwise the logs are kept, without the list of secrets.
if ! run_tests ./test/e2e/run-secrets.after.ts; then
  status=1
  rm -f "$run/secrets"
  trap - EXIT
  echo "run-tests: the logs of this run are in $run/logs" >&2
fi

passed=$(count pass)
failed=$(count fail)

if [ "$status" -eq 0 ] && [ "$failed" -gt 0 ]; then status=1; fi
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
if [ "$status" -ne 0 ]; then say_why; fi
echo "$passed passed, $failed failed"
exit "$status"
