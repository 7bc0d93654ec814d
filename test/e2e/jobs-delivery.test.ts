import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { dispatchSubject } from "../../internal/bus/subjects/subjects.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary } from "../harness/fleet.ts";
import {
  dispatch,
  expectAnswer,
  fileHolds,
  linesOf,
  requestMaster,
  show,
  showOnce,
  startMember,
} from "../harness/jobs.ts";
import { isRunning } from "../harness/usage.ts";

// What happens to a job while peels and masters come and go: compiled binaries, a real bus.

const peelId = "web-1_example";

let bus: TestBus;
let masters: MasterDaemon[];
let peel: Daemon;

beforeAll(async () => {
  bus = await startBus();
  masters = [await startMasterBinary(bus), await startMasterBinary(bus)];
  peel = await startMember(bus, first(), "web-1.example");
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

function first(): MasterDaemon {
  const [master] = masters;
  if (master === undefined) throw new Error("no master is left");
  return master;
}

const at = (name: string) => join(bus.dir, name);
const run = (script: string, more: Record<string, unknown> = {}) =>
  dispatch(bus, first(), { targets: [peelId], function: "cmd.run", args: { command: script }, ...more });
const ended = (jid: string, master = first()) => showOnce(bus, master, jid, /^event: end$/m);
const ping = async () =>
  ended(await dispatch(bus, first(), { targets: [peelId], function: "test.ping", timeout: "20s" }));

async function stopPeel(signal: NodeJS.Signals): Promise<void> {
  peel.program.kill(signal);
  await peel.program.exited;
}

/** Starts the peel again on its data directory, and waits until it has answered a ping. */
async function startAgain(): Promise<void> {
  peel = startPeelBinary(bus, first().url, "web-1.example", { dir: peel.dir });
  await peel.program.waitFor("peel connected");
  expect((await ping()).outcomes).toEqual({ [peelId]: "ok" });
}

test("a peel that is away at the dispatch and back before the deadline runs the job", async () => {
  await stopPeel("SIGTERM");
  const jid = await run(`echo ran >> ${at("away")}`, { timeout: "60s" });
  await startAgain();
  expect((await ended(jid)).outcomes).toEqual({ [peelId]: "ok" });
  expect(linesOf(at("away"))).toEqual(["ran"]);
});

test("a peel that comes back after the deadline never does", async () => {
  await stopPeel("SIGTERM");
  const jid = await run(`echo ran >> ${at("late")}`, { timeout: "500ms" });
  // The deadline is real time: this is what is tested.
  await sleep(systemClock, 600);
  await startAgain();
  const job = await ended(jid);
  expect(job.status).toBe("failed");
  // Its last heartbeat may still be valid: then its absence is not visible.
  expect(["offline", "timeout"]).toContain(job.outcomes[peelId] ?? "");
  expect(linesOf(at("late"))).toEqual([]);
});

test("a master that is killed right after the dispatch is not missed", async () => {
  await stopPeel("SIGTERM");
  const jid = await run(`echo ran >> ${at("orphan")}`, { timeout: "60s" });
  const doomed = masters.shift();
  doomed?.program.kill("SIGKILL");
  await doomed?.program.exited;
  expect((await show(bus, first(), jid)).status).toBe("running");
  await startAgain();
  expect(await ended(jid)).toMatchObject({ status: "completed", counts: { ok: 1 } });
  expect(linesOf(at("orphan"))).toEqual(["ran"]);
});

test("a command that runs is cancelled by another master, with everything it started", async () => {
  const jid = await run(`sh -c 'echo $$ > ${at("pid")}; sleep 60'; echo after >> ${at("after")}`);
  await fileHolds(at("pid"), /^\d+\n/);
  const child = Number(readFileSync(at("pid"), "utf8"));
  expect(isRunning(child)).toBe(true);
  await expectAnswer(requestMaster(bus, first(), "POST", `/api/v1/jobs/${jid}/cancel`, {}));
  expect(await ended(jid)).toMatchObject({ status: "cancelled", outcomes: { [peelId]: "cancelled" } });
  expect(isRunning(child)).toBe(false);
  expect(linesOf(at("after"))).toEqual([]);
});

test("a job that was cancelled before its peel came back is not run", async () => {
  await stopPeel("SIGTERM");
  const jid = await run(`echo ran >> ${at("cancelled")}`, { timeout: "60s" });
  await expectAnswer(requestMaster(bus, first(), "POST", `/api/v1/jobs/${jid}/cancel`, {}));
  await startAgain();
  expect(await ended(jid)).toMatchObject({ status: "cancelled", outcomes: { [peelId]: "cancelled" } });
  expect(linesOf(at("cancelled"))).toEqual([]);
});

test("a job whose peel is killed while it runs is lost, said so, and not run again", async () => {
  const jid = await run(`echo began >> ${at("lost")}; sleep 60`, { timeout: "120s" });
  await fileHolds(at("lost"), /began/);
  await stopPeel("SIGKILL");
  await startAgain();
  expect(await ended(jid)).toMatchObject({ status: "failed", outcomes: { [peelId]: "lost" } });
  expect(linesOf(at("lost"))).toEqual(["began"]);
});

test("a return that the bus could not take outlives a restart of the peel", async () => {
  writeFileSync(at("go"), "");
  const jid = await run(
    `echo began >> ${at("kept")}; while [ -e ${at("go")} ]; do sleep 0.05; done; echo done >> ${at("kept")}`,
  );
  await fileHolds(at("kept"), /began/);
  await bus.stop("SIGKILL");
  await peel.program.waitFor("bus disconnected");
  await Bun.file(at("go")).delete();
  await peel.program.waitFor(new RegExp(`"job done".*${jid}`));
  await stopPeel("SIGKILL");
  await bus.start();
  await first().program.waitFor('"bus reconnected","connection":"svc-master"');
  await startAgain();
  expect(await ended(jid)).toMatchObject({ status: "completed", outcomes: { [peelId]: "ok" } });
  expect(linesOf(at("kept"))).toEqual(["began", "done"]);
});

test("a dispatch that comes again, even after a restart of the peel, runs nothing", async () => {
  const operator = await connectTo(bus, "master");
  let seen: Uint8Array | undefined;
  operator.nats.subscribe(dispatchSubject("*", peelId), {
    callback: (_, { data }) => {
      seen ??= data;
    },
  });
  await operator.nats.flush();
  const jid = await run(`echo ran >> ${at("twice")}`, { timeout: "60s" });
  expect((await ended(jid)).outcomes).toEqual({ [peelId]: "ok" });
  if (seen === undefined) throw new Error("the dispatch was not seen");
  for (const restart of [false, true]) {
    if (restart) {
      await stopPeel("SIGKILL");
      await startAgain();
    }
    operator.nats.publish(dispatchSubject(jid, peelId), seen);
    await operator.nats.flush();
    // A peel handles messages in order: a response now proves that the earlier message was handled.
    expect((await ended(await run("true"))).outcomes).toEqual({ [peelId]: "ok" });
  }
  expect(linesOf(at("twice"))).toEqual(["ran"]);
  expect(await show(bus, first(), jid)).toMatchObject({ status: "completed", counts: { ok: 1 } });
  await operator.nats.close();
});

test("a full queue answers at once, in the words of the specification", async () => {
  writeFileSync(at("wait"), "");
  const blocker = await run(`echo began > ${at("blocker")}; while [ -e ${at("wait")} ]; do sleep 0.05; done`);
  await fileHolds(at("blocker"), /began/);
  const waiting: string[] = [];
  for (let place = 1; place < 64; place++) waiting.push(await run("true"));
  for (const jid of waiting) await showOnce(bus, first(), jid, /^event: ack$/m);
  const refused = await ended(await run(`echo ran >> ${at("busy")}`));
  expect(refused).toMatchObject({
    status: "failed",
    outcomes: { [peelId]: "busy" },
    returns: { [peelId]: { success: false, error: "peel busy: execution queue full" } },
  });
  // A read-only function does not wait behind the others.
  expect((await ping()).outcomes).toEqual({ [peelId]: "ok" });
  await Bun.file(at("wait")).delete();
  for (const jid of [blocker, ...waiting]) {
    expect((await ended(jid)).outcomes).toEqual({ [peelId]: "ok" });
  }
  expect(linesOf(at("busy"))).toEqual([]);
}, 60_000);
