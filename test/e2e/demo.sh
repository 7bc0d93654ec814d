#!/usr/bin/env bash
# The main job of svc, for real: a fleet in one directory, a master that runs its bus, a peel without
# credentials, an approval, and a job that answers. Prints each command and its output; fails when any
# step does.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PATH="$PWD/dist:$(dirname "${TEST_NATS_SERVER:-$PWD/.tools/bin/nats-server}"):$PATH" NO_COLOR=1

work=$(mktemp -d "${TMPDIR:-/tmp}/svc-demo.XXXXXX")
pids=()

finish() {
  code=$?
  trap - EXIT INT TERM
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do kill "${pids[i]}" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  if [ "$code" -ne 0 ]; then
    for log in "$work"/*.log; do
      [ -s "$log" ] && { printf '\n--- last lines of %s\n' "$(basename "$log")"; tail -n 15 "$log"; }
    done
    printf '\ndemo failed (exit %s)\n' "$code"
  else
    rm -rf "$work"
    printf '\nEverything was stopped and removed. The demo passed.\n'
  fi
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '\n# %s\n' "$*"; }

# Prints a command as one would type it, then runs it.
show() {
  printf '$ %s\n' "$(printf '%s ' "$@" | sed "s#$work#~/demo#g; s/ \$//")"
  "$@" 2>&1 | sed "s#$work#~/demo#g"
}

# Starts a daemon; its log goes to a file that is shown if the demo fails.
start() {
  local name=$1
  shift
  printf '$ %s &\n' "$(printf '%s ' "$@" | sed "s#$work#~/demo#g; s/ \$//")"
  "$@" >"$work/$name.log" 2>&1 &
  pids+=("$!")
}

# Waits until a command succeeds, for at most 30 seconds, and only while every daemon is alive.
await() {
  local what=$1
  shift
  for _ in $(seq 300); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    for pid in "${pids[@]}"; do
      kill -0 "$pid" 2>/dev/null || { echo "a daemon ended while waiting for $what"; return 1; }
    done
    sleep 0.1
  done
  echo "waited 30 s in vain for $what"
  return 1
}

free_port() { node -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})'; }
answers() { node -e 'fetch(process.argv[1]).then(r=>process.exit(r.ok?0:1),()=>process.exit(1))' "$1"; }
pending() { [ -n "$(pending_id)" ]; }
pending_id() { svc enroll list --config "$work/fleet/svc.yaml" --output json | node -e 'let t="";process.stdin.on("data",d=>t+=d).on("end",()=>console.log(JSON.parse(t)[0]?.id??""))'; }

bus_port=$(free_port) api_port=$(free_port) master_health=$(free_port) peel_health=$(free_port)
fleet=$work/fleet

say "A fleet: CA, bus, and every configuration, for this host"
show svc init "$fleet" --org Demo --bus-port "$bus_port" --api-port "$api_port"

say "A master, which runs its bus itself"
start master svc-master --config "$fleet/master.yaml" --health-addr "127.0.0.1:$master_health"
await "the master" answers "http://127.0.0.1:$master_health/readyz"

say "A peel with no credentials: it knows the pin of the CA, and asks to join"
start peel env "SVC_DATA_DIR=$fleet/peel" svc-peel --config "$fleet/peel.yaml" --id web-1.example \
  --health-addr "127.0.0.1:$peel_health"

say "The operator sees it, and lets it in"
await "the pending enrollment" pending
show svc enroll list --config "$fleet/svc.yaml"
show svc enroll approve "$(pending_id)" --config "$fleet/svc.yaml"

say "The peel fetches its credentials once, and connects"
await "the peel" answers "http://127.0.0.1:$peel_health/readyz"
show svc enroll list --state all --config "$fleet/svc.yaml"

say "A job"
show svc run 'web-*' test.ping --config "$fleet/svc.yaml"
