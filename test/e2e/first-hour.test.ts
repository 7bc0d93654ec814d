import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { identityOf } from "../../internal/base/process/process-stat.ts";
import { recordServer } from "../../internal/bus/server/orphan.ts";
import { natsServerPath } from "../harness/bus.ts";
import { logRecords } from "../harness/fleet.ts";
import { type Program, startProgram } from "../harness/process.ts";
import { initSingleHost, type SingleHost } from "../harness/single-host.ts";

// A fleet of one directory: svc init, a master that runs its bus, a peel; from the built binaries, by a
// user without rights.

/** As root the programs run as another user. Otherwise they run as the current user. */
const nobody =
  process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] : [];

let host: SingleHost;
let master: Program;
let peel: Program;

beforeAll(async () => {
  host = await initSingleHost({ as: nobody });
  master = await host.startMaster();
  peel = host.startPeel("web-1.example");
}, 60_000);
afterAll(async () => {
  await host?.[Symbol.asyncDispose]();
});

const busesOf = (program: Program) => logRecords(program).filter(({ msg }) => msg === "bus started");
const busOf = (program: Program) => Number(busesOf(program).at(-1)?.pid);

/** Waits for the nth record of an event. */
const logged = (program: Program, event: string, times: number) =>
  program.waitFor(new RegExp(`(?:"msg":"${event}"[^]*?){${times}}`));

async function ping() {
  const ran = await host.svc("run", "web-1.example", "test.ping", "--output", "json");
  return { code: ran.code, stderr: ran.stderr, counts: JSON.parse(ran.stdout || "{}").counts };
}
const answered = { code: 0, stderr: expect.any(String), counts: expect.objectContaining({ ok: 1 }) };

test("what init wrote runs a master and its bus; a peel enrolls and answers", async () => {
  await peel.waitFor("waiting for an operator's approval");
  const [{ id }] = JSON.parse((await host.svc("enroll", "list", "--output", "json")).stdout);
  expect((await host.svc("enroll", "approve", id)).code).toBe(0);
  await peel.waitFor("peel connected");
  expect(await ping()).toEqual(answered);
  const lines = logRecords(master).filter(({ component }) => component === "bus");
  expect(lines).toContainEqual(expect.objectContaining({ level: "info", msg: "Server is ready" }));
}, 60_000);

test("a bus that is killed is back, and jobs go on", async () => {
  const killed = busOf(master);
  process.kill(killed, "SIGKILL");
  await logged(master, "bus started", 2);
  // The bus is back. The master may need two seconds more, for which svc waits.
  await logged(peel, "bus reconnected", 1);
  expect(busOf(master)).not.toBe(killed);
  expect(await ping()).toEqual(answered);
  const health = logRecords(master).find(({ msg }) => msg === "master ready")?.health_port;
  const metrics = await (await fetch(`http://127.0.0.1:${health}/metrics`)).text();
  expect(metrics).toContain("\nsvc_embedded_bus_restarts_total 1\n");
}, 60_000);

test("a second master with the same bus is refused, and disturbs nothing", async () => {
  const second = host.launchMaster(["--enroll-addr", "127.0.0.1:0"]);
  expect(await second.exited).toBe(1);
  expect(second.output()).toContain(`another svc-master (process ${master.pid}) runs the bus`);
  expect(await ping()).toEqual(answered);
}, 60_000);

test("a master that is killed takes its bus along, or the next one ends it; the fleet is as it was", async () => {
  const left = busOf(master);
  master.kill("SIGKILL");
  await master.exited;
  master = await host.startMaster();
  expect(identityOf(left)).toBeUndefined();
  await logged(peel, "bus reconnected", 2);
  expect(await ping()).toEqual(answered);
}, 60_000);

test("SIGTERM ends the master, and its bus with it", async () => {
  const bus = busOf(master);
  master.kill("SIGTERM");
  expect(await master.exited).toBe(0);
  expect(identityOf(bus)).toBeUndefined();
  const events = logRecords(master).map(({ msg }) => msg);
  expect(events.filter((event) => event === "bus ended")).toEqual([]);
  expect(events.at(-1)).toBe("stopped");
}, 60_000);

test("an orphan that nobody could end is taken over by the next master", async () => {
  // The bus of a master on a system that cannot tie it to its parent: started by hand, with a note.
  const program = realpathSync(natsServerPath());
  const note = join(host.dir, "bus/nats-server.process");
  await using orphan = startProgram([...nobody, program, "-c", join(host.dir, "bus/nats-server.conf")]);
  await orphan.waitFor("Server is ready");
  recordServer(note, orphan.pid, program);
  const written = JSON.parse(readFileSync(note, "utf8"));
  writeFileSync(note, JSON.stringify({ ...written, master: { ...written.master, start: "1" } }));
  chmodSync(note, 0o644);
  await using next = await host.startMaster();
  expect(identityOf(orphan.pid)).toBeUndefined();
  expect(next.output()).toContain("ending the bus that a killed master left behind");
}, 60_000);

test("a port that is taken, and a program that is not there, are told in one line", async () => {
  // The peel comes here too.
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(host.busPort, "127.0.0.1", resolve));
  const taken = host.launchMaster();
  expect(await taken.exited).toBe(1);
  expect(taken.output()).toContain(
    `svc-master: embedded_bus: the bus cannot listen on 127.0.0.1:${host.busPort}: the address is already in use by another program`,
  );
  await new Promise((resolve) => server.close(resolve));

  const missing = host.launchMaster(["--embedded-bus-path", "/nowhere/nats-server"]);
  expect(await missing.exited).toBe(1);
  expect(missing.output()).toContain(
    "svc-master: embedded_bus_path: cannot run /nowhere/nats-server: no such file",
  );
}, 60_000);
