import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { natsServerVersions, startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import {
  logRecords,
  type MasterDaemon,
  startMasterBinary,
  startMasterProgram,
  svc,
} from "../harness/fleet.ts";
import { freePorts } from "../harness/free-ports.ts";
import { enrollPeel, operate, submitPeel } from "../harness/peel-connection.ts";

// Blocks of streams that are damaged while the bus is down, with the compiled programs. Servers notice that
// late, send nothing more, and answer for single messages as if they had never been stored.

setDefaultTimeout(90_000);

const newest = natsServerVersions().slice(-1);
const doorOf = (bus: TestBus, { url, token }: MasterDaemon) => ({ url, token, ca: bus.caPem });
const envOf = (bus: TestBus) => ({ SVC_DATA_DIR: join(bus.dir, "data") });

/** The directory of a stream below the store of the bus. */
function streamDirectory(bus: TestBus, stream: string): string {
  const root = join(bus.dir, "store", "jetstream");
  const found = readdirSync(root, { recursive: true, encoding: "utf8" }).find((path) =>
    path.endsWith(`/streams/${stream}`),
  );
  if (found === undefined) throw new Error(`the store has no ${stream}`);
  return join(root, found);
}

function blocksOf(bus: TestBus, stream: string): string[] {
  const messages = join(streamDirectory(bus, stream), "msgs");
  return readdirSync(messages)
    .filter((name) => name.endsWith(".blk"))
    .map((name) => join(messages, name))
    .filter((path) => statSync(path).size > 0);
}

/** Flips one bit in the value of the last message that contains this text. */
function flipBit(bus: TestBus, stream: string, text: string): void {
  const hit = blocksOf(bus, stream)
    .map((path) => ({ path, bytes: readFileSync(path) }))
    .find(({ bytes }) => bytes.includes(text));
  if (hit === undefined) throw new Error(`no block of ${stream} contains ${text}`);
  const at = hit.bytes.lastIndexOf(text) + 3;
  hit.bytes[at] = (hit.bytes[at] ?? 0) ^ 1;
  writeFileSync(hit.path, hit.bytes);
}

const put = "a decision that the bus had lost was put back";

/** Enrolls, revokes and rejects; then nothing of the fleet runs. @returns the expected states by enrollment */
async function decideAndStop(bus: TestBus): Promise<{ states: Map<string, string>; last: string }> {
  const states = new Map<string, string>();
  {
    await using master = await startMasterBinary(bus, [], envOf(bus));
    const door = doorOf(bus, master);
    const kept = await enrollPeel(door, "kept");
    const gone = await enrollPeel(door, "gone");
    expect((await operate(door, gone.enrollmentId, "revoke")).status).toBe(200);
    const refused = await submitPeel(door, "refused");
    expect((await operate(door, refused.enrollmentId, "reject")).status).toBe(200);
    states.set(kept.enrollmentId, "issued").set(gone.enrollmentId, "revoked");
    states.set(refused.enrollmentId, "rejected");
  }
  await bus.stop("SIGTERM");
  return { states, last: [...states.keys()].at(-1) ?? "" };
}

async function expectStates(bus: TestBus, states: ReadonlyMap<string, string>): Promise<void> {
  const { stdout } = await svc(bus, "enroll", "list", "--state", "all", "--output", "json");
  const listed = (JSON.parse(stdout) as { id: string; state: string }[]).map(
    ({ id, state }) => [id, state] as const,
  );
  expect(new Map(listed)).toEqual(new Map(states));
}

test.each(natsServerVersions())(
  "one flipped bit in the records of $version: the master starts, and puts back what cannot be read",
  async ({ path }) => {
    await using bus = await startBus({ server: path });
    const { states, last } = await decideAndStop(bus);
    flipBit(bus, "KV_enrollments", last);
    await bus.start();
    await using master = await startMasterBinary(bus, [], envOf(bus));
    await expectStates(bus, states);
    const reported = logRecords(master.program).filter(({ msg }) => msg === put);
    expect(reported.map(({ key }) => key)).toContain(last);
  },
);

test.each(natsServerVersions())(
  "a missing block in $version: the master starts with every record, and reports each",
  async ({ path }) => {
    await using bus = await startBus({ server: path });
    const { states } = await decideAndStop(bus);
    for (const block of blocksOf(bus, "KV_enrollments")) rmSync(block);
    for (const block of blocksOf(bus, "KV_revocations")) rmSync(block);
    await bus.start();
    await using master = await startMasterBinary(bus, [], envOf(bus));
    await expectStates(bus, states);
    const reported = logRecords(master.program);
    expect(reported.filter(({ msg }) => msg === "the bus has lost decisions").length).toBeGreaterThan(0);
    expect(reported.filter(({ msg, was }) => msg === put && was === "missing")).toHaveLength(states.size + 1);
    const verified = await svc(bus, "bus", "verify");
    expect([verified.code, verified.stderr]).toEqual([0, ""]);
  },
);

test.each(newest)(
  "a stream that masters cannot restore stops the start, which says why",
  async ({ path }) => {
    await using bus = await startBus({ server: path });
    let jid = "";
    {
      await using master = await startMasterBinary(bus, [], envOf(bus));
      const door = doorOf(bus, master);
      await enrollPeel(door, "kept");
      const answer = await send(door.url, door.ca, {
        method: "POST",
        path: "/api/v1/jobs",
        headers: { authorization: `Bearer ${door.token}`, "content-type": "application/json" },
        body: JSON.stringify({ target: "kept", function: "test.ping" }),
      });
      expect(answer.status).toBe(202);
      jid = String((answer.json as { jid: string }).jid);
    }
    await bus.stop("SIGTERM");
    flipBit(bus, "KV_jobs", jid);
    await bus.start();
    const [port = 0] = await freePorts(1);
    const flags = ["--health-addr", `127.0.0.1:${port}`];
    {
      await using program = startMasterProgram(bus, flags, envOf(bus)).program;
      await program.waitFor("a stream stopped sending what it holds");
      const [reported] = logRecords(program).filter(
        ({ msg }) => msg === "a stream stopped sending what it holds",
      );
      expect(reported).toMatchObject({ level: "error", stream: "KV_jobs" });
      expect(reported?.next).toMatch(/stop this bus server, move the directory of the stream/);
      const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
      const { checks } = (await ready.json()) as { checks: Record<string, { message?: string }> };
      expect([ready.status, checks.start?.message]).toEqual([
        503,
        expect.stringMatching(/^waits for the contents of jobs for \d+ s/),
      ]);
      const requested = systemClock.monotonic();
      program.kill("SIGTERM");
      await program.exited;
      expect(systemClock.monotonic() - requested).toBeLessThan(10_000);
    }
    await bus.stop("SIGTERM");
    renameSync(streamDirectory(bus, "KV_jobs"), join(bus.dir, "damaged"));
    await bus.start();
    await using _ = await startMasterBinary(bus, [], envOf(bus));
  },
);
