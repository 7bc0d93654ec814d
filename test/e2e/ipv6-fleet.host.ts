import { expect, setDefaultTimeout, test } from "bun:test";
import { dirname } from "node:path";
import { natsServerDirectory } from "../harness/bus.ts";
import { binaries } from "../harness/fleet.ts";
import { hostTimeoutMs, openPrivateRoot } from "../harness/private-root.ts";
import { output } from "../harness/state-trips.ts";

setDefaultTimeout(hostTimeoutMs);

const address = "fd00:5::1";

/** Starts a program, and waits until its log has a text or it has ended. */
function starting(command: string, log: string, text: string): string {
  return `${command} >${log} 2>&1 & pid=$!; until grep -q '${text}' ${log}; do kill -0 $pid || exit; sleep 0.1; done`;
}

test("a fleet on a host with IPv6 alone, where localhost is an address of IPv4", async () => {
  await using root = await openPrivateRoot();
  // The loopback keeps 127.0.0.1: without it, programs in Go listen on IPv4 alone, whatever address they are given.
  const prepare = `ip link set lo up; ip -6 addr add ${address}/64 dev lo nodad; hostname six.test
    printf '127.0.0.1 localhost\\n' >/etc/hosts`;
  expect(await output(root, prepare)).toBe("");
  const path = [dirname(binaries.cli), natsServerDirectory(), "$PATH"].join(":");
  const run = (line: string) => output(root, `export HOME=/root PATH=${path}; cd /tmp; ${line}`);
  const svc = (line: string) => run(`svc --config fleet/svc.yaml ${line}`);

  await run(`svc init fleet --host ${address}`);
  expect(await run("grep -h '^[^#]*://' fleet/master.yaml fleet/svc.yaml fleet/peel.yaml")).toBe(
    [
      "bus_url: tls://localhost:4222",
      `  - tls://[${address}]:4222`,
      `    - https://[${address}]:8443`,
      "    - tls://localhost:4222",
      `master_url: https://[${address}]:8443`,
    ].join("\n"),
  );
  await run(starting("svc-master --config fleet/master.yaml", "master.log", '"master ready"'));
  const token = await svc("enroll token create --peel 'web-*' >token");
  expect(token).toContain("admits one host");
  const join = "svc-peel join --token-file token --id web-1 --config peel.yaml --health-addr '[::1]:0'";
  await run(`mkdir peel; export SVC_DATA_DIR=/tmp/peel; ${starting(join, "peel.log", '"peel connected"')}`);
  expect(await run("grep -A1 master_urls peel.yaml")).toBe(`master_urls:\n  - https://[${address}]:8443`);

  const { counts } = JSON.parse(await svc("run web-1 test.ping --output json 2>/dev/null"));
  expect(counts).toMatchObject({ ok: 1 });
  const peels = JSON.parse(await svc("peels list --output json"));
  expect(peels).toMatchObject([{ peel_id: "web-1", state: "active" }]);
  expect(await svc("console --no-open 2>/dev/null")).toStartWith(`https://[${address}]:8443/console/#link=`);
  const doctor = await svc("doctor");
  expect(doctor).toContain(`tls://[${address}]:4222: nats-server`);
  expect(doctor).not.toContain("FAIL");
  const check = await run("SVC_DATA_DIR=/tmp/peel svc-peel check --config peel.yaml");
  expect(check).toContain(`[${address}]`);
  expect(check).not.toContain("FAIL");
});
