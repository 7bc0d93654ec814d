import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { loadInForce } from "../../internal/identity/ca/in-force.ts";
import { issueCertificate } from "../../internal/identity/ca/issue.ts";
import { activateRotation, finishRotation, startRotation } from "../../internal/identity/ca/rotate.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { spkiPin, splitPem } from "../../internal/identity/trust/pin.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { freePorts } from "../harness/free-ports.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { startPeel, type TestPeel } from "../harness/peel.ts";
import { observedLog, operate } from "../harness/peel-connection.ts";
import { operatorConfig, svc } from "../harness/svc.ts";

// Hosts that are switched off right after they enrolled, and on again a year later. Meanwhile the fleet replaced its
// root completely, and its command key twice. Clocks are moved; TLS and the bus go by the real time.

setDefaultTimeout(60_000);

const day = 24 * 3_600_000;
/** So many days from now. */
const on = (days: number): Clock => ({ ...systemClock, now: () => systemClock.now() + days * day });
/** A second in a fifth of one. */
const awake: Clock = {
  now: systemClock.now,
  monotonic: () => systemClock.monotonic() * 5,
  after: (ms, run) => systemClock.after(ms / 5, run),
  every: (ms, run) => systemClock.every(ms / 5, run),
};

let bus: TestBus;
let port: number;
let oldPin: string;
let newPin: string;
/** The names of the peels, and of the rung by which each verified its first master. */
const ids = ["pinned", "first-use", "late"] as const;
const enrollments: Record<string, string> = {};

const dataOf = (id: string) => join(bus.dir, `peel-${id}`);
const authOf = (id: string, name: string) => join(dataOf(id), "auth", name);
const read = (path: string) => readFileSync(path, "utf8");
const pinsIn = (path: string) => splitPem(read(path)).map(spkiPin);
const commandKey = (name = "command.seed") =>
  keyPairFromSeed("user", read(join(bus.authDir, name)).trim()).publicKey;
const ca = () => join(bus.authDir, "ca");

function master(clock: Clock, log = observedLog(), flags: readonly string[] = []): Promise<TestMaster> {
  return startMaster(bus, {
    clock,
    log,
    // A certificate of a year ago is valid at the real time too.
    flags: ["--enroll-addr", `127.0.0.1:${port}`, "--ca-enroll-cert-validity", "17520h", ...flags],
    config: { enroll: { networks: { test: { cidr: ["127.0.0.0/8"], capacity: 500, refill: "1s" } } } },
  });
}
const trustOf = (id: string, pin: string) => (id === "first-use" ? [] : ["--enroll-ca-pin", pin]);
function peel(id: string, clock: Clock, pin = oldPin): TestPeel {
  const config = join(dataOf(id), "peel.yaml");
  makeDirectory(join(dataOf(id), "auth"), 0o700);
  writeFileAtomic(config, "{}\n", secretMode);
  const found = ["--bus-url", bus.url, "--master-url", `https://localhost:${port}`];
  return startPeel(dataOf(id), ["--config", config, "--id", id, ...found, ...trustOf(id, pin)], { clock });
}
async function admit(door: Pick<TestMaster, "url" | "ca">, started: TestPeel): Promise<string> {
  const pending = await started.log.logged("enrollment pending: waiting for an operator's approval");
  const id = String(pending.fields.enrollment_id);
  expect((await operate(door, id, "approve")).status).toBe(200);
  await started.log.logged("enrolled");
  return id;
}
async function ping(target: string) {
  const ran = await svc(["--config", operatorConfig(bus), "run", target, "test.ping", "--output", "json"]);
  expect([ran.exit, ran.stderr]).toEqual([0, expect.stringContaining("1 peel: 1 ok")]);
}
/** `svc keys` on that day. */
const keys = (clock: Clock, ...words: string[]) =>
  svc(["--config", operatorConfig(bus), "keys", ...words, "--dir", bus.authDir], { clock });

async function rotateCommandKey(clock: Clock, log: ReturnType<typeof observedLog>) {
  const rotated = await keys(clock, "rotate", "command");
  expect(rotated.exit).toBe(0);
  await log.logged("commands are signed with the next command key");
  for (;;) {
    const finished = await keys(clock, "finish", "command");
    if (finished.exit === 0) return;
    expect(finished.stderr).toMatch(/try again soon/);
  }
}
async function rotateRoot(clock: Clock, log: ReturnType<typeof observedLog>) {
  const phase = (name: string) =>
    log.logged("the rotation of the root changed", ({ phase }) => phase === name);
  const dir = ca();
  const options = { dir, rootValidityMs: 3650 * day, withoutRootKey: false, clock, random: systemRandom };
  newPin = (await startRotation(options)).next.pin;
  await phase("start");
  await activateRotation(dir);
  await phase("activate");
  await finishRotation(dir);
  await phase("none");
}
/** The bus of these tests is one that no master runs: its operator issues its certificate. */
async function replaceBusCertificate() {
  const { authority, root } = await loadInForce(ca());
  const issued = await issueCertificate(authority, {
    ...{ commonName: "nats", names: ["localhost", "127.0.0.1"], usage: "nats-server", validityMs: 365 * day },
    ...{ clock: systemClock, random: systemRandom },
  });
  writeFileSync(join(bus.dir, "nats-server.key"), issued.keyPem, { mode: 0o600 });
  writeFileSync(join(bus.dir, "nats-server.crt"), issued.certPem);
  writeFileSync(bus.caFile, root.pem);
  await bus.restart();
}

beforeAll(async () => {
  bus = await startBus();
  [port = 0] = await freePorts(1);
  oldPin = spkiPin(bus.caPem);
  {
    await using first = await master(on(-365));
    for (const id of ids) {
      makeDirectory(join(dataOf(id), "auth"), 0o700);
      cpSync(bus.caFile, authOf(id, "bus-ca.crt"));
      await using started = peel(id, on(-365));
      enrollments[id] = await admit(first, started);
      expect(read(authOf(id, `${id}.command-keys`))).toBe(`${commandKey()}\n`);
    }
  }
  const firstKey = commandKey();
  {
    const log = observedLog();
    await using _ = await master(on(-200), log);
    await rotateCommandKey(on(-200), log);
    await rotateRoot(on(-200), log);
  }
  await replaceBusCertificate();
  {
    const log = observedLog();
    await using _ = await master(on(-20), log);
    await rotateCommandKey(on(-20), log);
  }
  expect(commandKey()).not.toBe(firstKey);
}, 120_000);
afterAll(() => bus?.[Symbol.asyncDispose]());

test("where nothing leads to the new root, or the recovery window is over, it says what to do, and that helps", async () => {
  // As after `svc ca rotate start --without-root-key`.
  const [retired, aside] = [join(ca(), "retired.crt"), join(bus.dir, "retired.crt")];
  renameSync(retired, aside);
  await using running = await master(systemClock, observedLog(), ["--enroll-recovery-window", "720h"]);
  const door = { ...running, ca: read(bus.caFile) };
  {
    await using started = peel("late", awake);
    const reported = await started.log.logged("the masters could not be asked for the root of the bus");
    const reason = String(reported.fields.reason);
    expect(reported.level).toBe("error");
    expect(reason).toContain(`It serves the root ${newPin}, and nothing leads there`);
    expect(reason).toContain("compare this pin with svc ca fingerprint on a master");
    expect(reason).toContain(
      `set enroll_ca_pin to it, replace ${authOf("late", "bus-ca.crt")} by nats-ca.crt`,
    );
    expect(pinsIn(authOf("late", "bus-ca.crt"))).toEqual([oldPin]);
  }
  cpSync(bus.caFile, authOf("late", "bus-ca.crt"));
  {
    await using started = peel("late", awake, newPin);
    const reported = await started.log.logged(/recover no credentials/);
    expect(reported.event).toMatch(/ended at 20\S+, longer ago than enroll\.recovery_window \(30d/);
    expect(reported.fields.next).toContain(`svc enroll revoke ${enrollments.late}`);
    expect(reported.fields.next).toContain(`delete ${authOf("late", "late.creds")}`);
  }
  expect((await operate(door, enrollments.late ?? "", "revoke")).status).toBe(200);
  for (const name of ["late.creds", "late.enrollment"]) rmSync(authOf("late", name));
  {
    await using started = peel("late", awake, newPin);
    await admit(door, started);
    await started.ready;
    await ping("late");
  }
  renameSync(aside, retired);
});

test.each(["pinned", "first-use"])("otherwise it comes back by itself: the peel %s", async (id) => {
  await using _ = await master(systemClock);
  {
    await using started = peel(id, awake);
    await started.ready;
    await started.log.logged("credentials recovered");
    expect(started.log.records.filter(({ event }) => event.includes("pending"))).toEqual([]);
    expect(pinsIn(authOf(id, "enroll-ca.crt"))).toEqual([newPin]);
    expect(pinsIn(authOf(id, "bus-ca.crt"))).toEqual([newPin]);
    expect(read(authOf(id, `${id}.command-keys`))).toBe(`${commandKey()}\n`);
    await ping(id);
  }
  // With the configuration of a year ago, again.
  await using again = peel(id, awake);
  await again.ready;
  await ping(id);
});
