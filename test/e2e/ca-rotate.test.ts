import { afterAll, beforeAll, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { spkiPin, splitPem } from "../../internal/identity/trust/pin.ts";
import { natsServerDirectory } from "../harness/bus.ts";
import { binaries, logRecords } from "../harness/fleet.ts";
import { type Program, startProgram } from "../harness/process.ts";
import { initSingleHost, type SingleHost } from "../harness/single-host.ts";

// A fleet replaces its root, with built binaries: two peels that run, one that is off until the next authority
// issues, and one whose operator named the file for the bus. Nothing is restarted, and jobs run in each phase.

let host: SingleHost;
let master: Program;
let oldPin: string;
let newPin: string;
const peels = new Map<string, Program>();

const ca = () => join(host.dir, "auth", "ca");
const dataOf = (id: string) => join(host.dir, `data-${id}`);

/** Starts a peel with a directory of its own, and the peel.yaml that was installed on it. */
function startPeel(id: string, flags: readonly string[] = []): Program {
  const auth = join(dataOf(id), "auth");
  mkdirSync(auth, { recursive: true });
  const config = join(dataOf(id), "peel.yaml");
  if (!peels.has(id)) {
    cpSync(join(host.dir, "peel.yaml"), config);
    cpSync(join(host.dir, "bus", "nats-ca.crt"), join(auth, "bus-ca.crt"));
  }
  const program = startProgram(
    [binaries.peel, "--config", config, "--id", id, "--health-addr", "127.0.0.1:0", ...flags],
    { cwd: host.dir, env: { SVC_DATA_DIR: dataOf(id), PATH: process.env.PATH ?? "" } },
  );
  peels.set(id, program);
  return program;
}
async function stopPeel(id: string): Promise<void> {
  const program = peels.get(id);
  program?.kill("SIGTERM");
  await program?.exited;
}
async function enroll(id: string, flags: readonly string[] = []): Promise<void> {
  const peel = startPeel(id, flags);
  await says(peel, "waiting for an operator's approval");
  const listed = JSON.parse((await host.svc("enroll", "list", "--output", "json")).stdout);
  const found = listed.find(({ peel_id }: { peel_id: string }) => peel_id === id);
  expect((await host.svc("enroll", "approve", found.id)).code).toBe(0);
  await says(peel, "peel connected");
}
const rotate = (...args: string[]) => host.svc("ca", "rotate", ...args, "--dir", ca(), "--output", "json");

/** Asks until the answer is as wanted: what is waited for crosses files, masters, peels and the bus. */
async function until<T>(
  request: () => Promise<T>,
  isWanted: (answer: T) => boolean,
  ms = 60_000,
): Promise<T> {
  const end = systemClock.now() + ms;
  for (;;) {
    const answer = await request();
    if (isWanted(answer)) return answer;
    if (systemClock.now() > end) throw new Error(`not in time: ${JSON.stringify(answer)}`);
    await sleep(systemClock, 300);
  }
}
/** A master asks the peels of one address to come later, which takes longer than a program has elsewhere. */
const says = (program: Program, text: string) =>
  until(
    async () => program.output(),
    (output) => output.includes(text),
    60_000,
  );
const status = async () => JSON.parse((await rotate("status")).stdout);
const lacking = (answer: { lacking: { peel_id: string }[] }) => answer.lacking.map(({ peel_id }) => peel_id);
const pinsIn = (path: string) => splitPem(readFileSync(path, "utf8")).map(spkiPin);
const anchorOf = (id: string) => join(dataOf(id), "auth", "enroll-ca.crt");

async function ping(target: string, count: number) {
  const ran = await host.svc("run", target, "test.ping", "--output", "json");
  expect(JSON.parse(ran.stdout || "{}").counts).toEqual({ ok: count });
}
const events = (id: string, event: string) => {
  const program = peels.get(id);
  return program === undefined ? [] : logRecords(program).filter(({ msg }) => msg === event);
};

/** The pins of the authorities in the chain that a server presents, after its leaf. */
function chainOf(port: number, ca: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "localhost", port, ca, servername: "localhost" }, () => {
      const pins: string[] = [];
      const seen = new Set<string>();
      for (let at = socket.getPeerCertificate(true); at !== undefined; at = at.issuerCertificate) {
        if (seen.has(at.fingerprint256)) break;
        seen.add(at.fingerprint256);
        pins.push(spkiPin(new X509Certificate(at.raw).toString()));
      }
      socket.end();
      resolve(pins.slice(1));
    });
    socket.on("error", reject);
  });
}
const issuerOfApi = () => chainOf(host.apiPort, readFileSync(join(host.dir, "bus", "nats-ca.crt"), "utf8"));

beforeAll(async () => {
  host = await initSingleHost({ env: { PATH: `${natsServerDirectory()}:${process.env.PATH}` } });
  // All peels have one address, which may ask ten times and then every ten seconds.
  const config = join(host.dir, "master.yaml");
  const networks = "  networks: { here: { cidr: [127.0.0.0/8], capacity: 1000, refill: 1ms } }";
  writeFileSync(config, readFileSync(config, "utf8").replace(/^enroll:$/m, `enroll:\n${networks}`));
  master = await host.startMaster();
  oldPin = (await host.svc("ca", "fingerprint", "--dir", ca())).stdout.trim();
  for (const id of ["one", "two", "off"]) await enroll(id);
  cpSync(join(host.dir, "bus", "nats-ca.crt"), join(host.dir, "named.crt"));
  await enroll("named", ["--bus-ca", join(host.dir, "named.crt")]);
  await stopPeel("off");
}, 180_000);
afterAll(async () => {
  for (const program of peels.values()) await program[Symbol.asyncDispose]();
  await host?.[Symbol.asyncDispose]();
});

test("start: running peels learn the next root; who is off, and who named a file, lacks it", async () => {
  expect(await status()).toMatchObject({ phase: "none", current: oldPin });
  const started = await rotate("start");
  expect(started).toMatchObject({ code: 0 });
  newPin = JSON.parse(started.stdout).next;
  expect((await rotate("activate")).code).toBe(1);
  // A peel counts as running until its last heartbeat has expired, and a master tells its phase with its next one.
  await until(
    status,
    ({ lacking, masters }) =>
      lacking.map((one: { peel_id: string; alive: boolean }) => `${one.peel_id} ${one.alive}`).join() ===
        "named true,off false" && masters.every(({ phase }: { phase: string }) => phase === "start"),
  );
  expect(await status()).toMatchObject({
    phase: "start",
    current: oldPin,
    next: newPin,
    masters: [{ phase: "start", knows_next: true }],
    peels: { both: 2, current_only: 2, next_only: 0, unknown: 0 },
    lacking: [
      { peel_id: "named", alive: true, reason: expect.stringContaining("named.crt") },
      { peel_id: "off", reason: expect.any(String) },
    ],
  });
  const both = ["one", "two"].flatMap((id) => [anchorOf(id), join(dataOf(id), "auth", "bus-ca.crt")]);
  await until(
    async () => both.map((path) => pinsIn(path).join()),
    (found) => found.every((pins) => pins === `${oldPin},${newPin}`),
  );
  expect(pinsIn(join(host.dir, "named.crt"))).toEqual([oldPin]);
  expect(readFileSync(join(host.dir, "peel.yaml"), "utf8")).toContain(newPin);
  expect((await host.svc("ca", "fingerprint", "--dir", ca())).stdout).toBe(`${oldPin}\n${newPin}\n`);
  await ping("L@one,two,named", 3);
}, 180_000);

test("activate is refused while a running peel lacks the next root, and names it", async () => {
  const refused = await rotate("activate");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/^svc: 1 running peel without the next root: named; .*--force.*\n$/);
  await stopPeel("named");
  writeFileSync(join(host.dir, "named.crt"), readFileSync(join(host.dir, "bus", "nats-ca.crt"), "utf8"));
  await says(startPeel("named", ["--bus-ca", join(host.dir, "named.crt")]), "peel connected");
  await until(status, (answer) => lacking(answer).join() === "off");
}, 180_000);

test("activate: listener and bus show what the next authority issued, and no connection ends", async () => {
  const before = await issuerOfApi();
  expect(await rotate("activate")).toMatchObject({ code: 0 });
  await until(issuerOfApi, (chain) => chain[0] !== before[0]);
  await master.waitFor("the certificate of the bus was issued again");
  await master.waitFor("Reloaded server configuration");
  await until(status, ({ masters }) => masters[0]?.phase === "activate");
  await ping("L@one,two,named", 3);
  for (const id of ["one", "two", "named"]) expect(events(id, "bus disconnected")).toEqual([]);
  expect(await rotate("activate")).toMatchObject({ code: 0 });
}, 180_000);

test("a peel that was off meanwhile still gets in with the root before, and learns the next one", async () => {
  await says(startPeel("off"), "peel connected");
  await until(status, (answer) => lacking(answer).length === 0);
  await until(
    async () => pinsIn(anchorOf("off")).join(),
    (pins) => pins === `${oldPin},${newPin}`,
  );
  await ping("*", 4);
}, 180_000);

test("finish: the old root leaves documents, anchors and the bus, and peels come back after a restart", async () => {
  expect(await rotate("finish")).toMatchObject({ code: 0 });
  expect(await rotate("finish")).toMatchObject({ code: 0 });
  const busCa = join(dataOf("one"), "auth", "bus-ca.crt");
  await until(
    async () => [...["one", "two", "off"].map(anchorOf), busCa].map((path) => pinsIn(path).join()),
    (found) => found.every((pins) => pins === newPin),
  );
  await until(
    async () => pinsIn(join(host.dir, "bus", "nats-ca.crt")),
    (pins) => pins.join() === newPin,
  );
  await ping("*", 4);
  for (const id of ["one", "two", "named"]) expect(events(id, "bus disconnected")).toEqual([]);
  // Its peel.yaml still has the pin of the root before.
  expect(readFileSync(join(dataOf("one"), "peel.yaml"), "utf8")).toContain(oldPin);
  await stopPeel("one");
  await says(startPeel("one"), "peel connected");
  await ping("one", 1);
}, 180_000);

test("a new peel with the old pin is refused and told what to compare; one with the new pin enrolls", async () => {
  mkdirSync(dataOf("late"), { recursive: true });
  cpSync(join(dataOf("one"), "peel.yaml"), join(dataOf("late"), "peel.yaml"));
  const late = startProgram(
    [
      binaries.peel,
      "--config",
      join(dataOf("late"), "peel.yaml"),
      "--id",
      "late",
      "--health-addr",
      "127.0.0.1:0",
    ],
    { cwd: host.dir, env: { SVC_DATA_DIR: dataOf("late"), PATH: process.env.PATH ?? "" } },
  );
  peels.set("late", late);
  expect(await late.exited).toBe(1);
  expect(late.output()).toMatch(/does not match any pin.*peel\.yaml.*svc ca fingerprint/);
  await enroll("fresh");
  await ping("fresh", 1);
}, 180_000);

test("a master that starts again serves the same, and the bus has one certificate for one key", async () => {
  master.kill("SIGTERM");
  await master.exited;
  master = await host.startMaster();
  expect(await status()).toMatchObject({ phase: "none", current: newPin });
  await until(
    () => host.svc("run", "*", "test.ping", "--output", "json"),
    ({ stdout }) => JSON.parse(stdout || "{}").counts?.ok === 5,
  );
}, 180_000);
