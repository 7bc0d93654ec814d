#!/usr/bin/env bash
# The main job of svc, for real: a CA, a TLS bus, a master, a peel without credentials, an approval,
# and a job that answers. Prints each command and its output; fails when any step does.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PATH="$PWD/dist:$PWD/.tools/bin:$PATH" NO_COLOR=1

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
listens() { node -e 'require("net").connect(+process.argv[1],"127.0.0.1").on("connect",()=>process.exit(0)).on("error",()=>process.exit(1))' "$1"; }
pending() { [ -n "$(pending_id)" ]; }
pending_id() { svc enroll list --config "$work/svc.yaml" --output json | node -e 'let t="";process.stdin.on("data",d=>t+=d).on("end",()=>console.log(JSON.parse(t)[0]?.id??""))'; }

bus_port=$(free_port) api_port=$(free_port) master_health=$(free_port) peel_health=$(free_port)

say "A certificate authority, and a certificate for the bus"
show svc ca init --dir "$work/auth/ca" --org Demo
show svc ca issue nats-server --dir "$work/auth/ca" --dns localhost --ip 127.0.0.1 --out "$work/bus"

say "The keys of the bus: two accounts, and the wall between them"
show svc nats-auth init --dir "$work/auth" --listen "127.0.0.1:$bus_port" --store-dir "$work/bus/store" \
  --tls-cert "$work/bus/nats-server.crt" --tls-key "$work/bus/nats-server.key"

say "The bus, over TLS 1.3"
start bus nats-server -c "$work/auth/nats-server.conf"
await "the bus" listens "$bus_port"

say "A master"
(umask 077 && head -c 32 /dev/urandom | base64 >"$work/token")
cat >"$work/master.yaml" <<YAML
bus_url: tls://localhost:$bus_port
bus_ca: $work/bus/nats-ca.crt
auth_dir: $work/auth
health_addr: 127.0.0.1:$master_health
enroll:
  addr: 127.0.0.1:$api_port
api:
  tokens:
    - username: demo
      token_file: $work/token
YAML
start master svc-master --config "$work/master.yaml"
await "the master" answers "http://127.0.0.1:$master_health/readyz"

say "A peel on the same host, with no credentials: it knows the pin of the CA, and asks to join"
mkdir -p "$work/peel"
pin=$(svc ca fingerprint --dir "$work/auth/ca")
cat >"$work/peel.yaml" <<YAML
id: web-1.example
bus_url: tls://localhost:$bus_port
bus_ca: $work/bus/nats-ca.crt
master_url: https://localhost:$api_port
enroll_ca_pin: ["$pin"]
health_addr: 127.0.0.1:$peel_health
YAML
export SVC_DATA_DIR="$work/peel"
start peel svc-peel --config "$work/peel.yaml"
unset SVC_DATA_DIR

say "The operator sees it, and lets it in"
cat >"$work/svc.yaml" <<YAML
master:
  urls: ["tls://localhost:$bus_port"]
  creds_file: $work/auth/admin.creds
  tls_ca: $work/bus/nats-ca.crt
YAML
await "the pending enrollment" pending
show svc enroll list --config "$work/svc.yaml"
show svc enroll approve "$(pending_id)" --config "$work/svc.yaml"

say "The peel fetches its credentials once, and connects"
await "the peel" answers "http://127.0.0.1:$peel_health/readyz"
show svc enroll list --state all --config "$work/svc.yaml"

say "A job"
show svc run 'web-*' test.ping --config "$work/svc.yaml"
