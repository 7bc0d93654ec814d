import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { StreamConfig } from "nats";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { readRange } from "../../internal/bus/streams/read-range.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { startPeel, type TestPeel } from "../harness/peel.ts";
import { submitPeel } from "../harness/peel-connection.ts";
import { operatorConfig, svc } from "../harness/svc.ts";
import { until } from "../harness/until.ts";

// The audit of a whole fleet in this process: two masters, a peel, and an owner of the bus.

setDefaultTimeout(60_000);

let bus: TestBus;
let owner: Bus;
let masters: [TestMaster, TestMaster];
let peel: TestPeel;
let config: string;
let dataDir: string;

const requested = async (...argv: string[]) => svc([...argv, "--config", config], { env: {} });
const json = async (...argv: string[]) => {
  const ran = await requested(...argv, "--output", "json");
  if (ran.stdout === "") throw new Error(ran.stderr);
  return { ...ran, json: JSON.parse(ran.stdout) };
};
async function rest(master: TestMaster, method: string, path: string, body?: unknown) {
  const headers = { authorization: `Bearer ${testToken}`, "content-type": "application/json" };
  const from = freshAddress();
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  return send(master.url, master.ca, { method, path, headers, from, ...sent });
}
const remembered = (): { signed: string }[] => {
  try {
    return JSON.parse(readFileSync(join(dataDir, "audit-heads"), "utf8")).heads;
  } catch {
    return [];
  }
};

beforeAll(async () => {
  bus = await startBus();
  owner = await connectTo(bus, "master");
  masters = [await startMaster(bus), await startMaster(bus)];
  config = operatorConfig(bus);
  dataDir = mkdtempSync(join(bus.dir, "peel-"));
  peel = startPeel(dataDir, [
    ...["--id", "web-1", "--bus-url", bus.url, "--bus-ca", bus.caFile],
    ...["--master-url", masters[0].url, "--enroll-ca", bus.caFile],
  ]);
  const id: string = await until(async () => (await json("enroll", "list")).json[0]?.id);
  expect(await requested("enroll", "approve", id)).toMatchObject({ exit: 0 });
  await peel.ready;
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await owner?.drain();
  await bus?.[Symbol.asyncDispose]();
});

test("what each master decides is in one chain, with who, how and what", async () => {
  const pending = await submitPeel(masters[0], "web-9");
  const path = `/api/v1/enrollments/${pending.enrollmentId}/reject`;
  expect((await rest(masters[1], "POST", path, { reason: "unknown" })).status).toBe(200);
  expect((await rest(masters[0], "POST", path, { reason: "again" })).status).toBe(409);
  const ran = await json("run", "web-1", "cmd.run", "echo hunter2");
  expect(ran.json.returns["web-1"].success).toBe(true);
  const { json: entries } = await json("audit", "list", "--action", "*", "--limit", "6");
  expect(entries).toMatchObject([
    {
      outcome: "done",
      via: "bus",
      subjects: { job: ran.json.jid, peels: ["web-1"], begun: expect.any(Number) },
    },
    {
      outcome: "begun",
      via: "bus",
      action: "jobs.create",
      subjects: { target: "web-1", function: "cmd.run" },
    },
    { outcome: "failed", via: "rest", reason: expect.stringContaining("rejected"), operator: "tester" },
    { outcome: "begun", action: "enrollments.reject" },
    { outcome: "done", via: "rest", operator: "tester", subjects: { peel: "web-9" } },
    {
      outcome: "begun",
      via: "rest",
      action: "enrollments.reject",
      subjects: { enrollment: pending.enrollmentId },
    },
  ]);
  expect(entries.every(({ genuine }: { genuine: boolean }) => genuine)).toBe(true);
  expect(new Set(entries.map(({ master }: { master: string }) => master)).size).toBe(2);
  // Commands may contain secrets.
  const all = await requested("audit", "export", "--output", "jsonl");
  expect(all.stdout).not.toContain("hunter2");
  expect(
    all.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).seq)[0],
  ).toBe(entries[0].seq);
  expect(await requested("audit", "export", "--output", "yaml")).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining("lines of JSON"),
  });
  expect(await requested("audit", "verify")).toMatchObject({ exit: 0 });
});

test.each([
  [["--operator", "tester"], 4],
  [["--outcome", "failed"], 1],
  [["--peel", "web-9"], 1],
  [["--peel", "web-1"], 2],
  [["--action", "enrollments.*"], 6],
  [["--action", "jobs.create"], 2],
  [["--since", "1h", "--until", "2020-01-01"], 0],
  [["--until", "1h"], 0],
])("list takes filters: %p", async (flags, count) => {
  expect((await json("audit", "list", ...flags)).json).toHaveLength(count);
});

test("an entry is shown by its number, and a wrong word is explained in one line", async () => {
  expect((await json("audit", "show", "1")).json).toMatchObject({ seq: 1, action: "enrollments.approve" });
  expect((await requested("audit", "show", "99999")).stderr).toContain(
    "entry 99999 of the audit does not exist",
  );
  expect((await requested("audit", "show", "one")).stderr).toContain("must be the number of an entry");
  expect((await requested("audit", "list", "--since", "yesterday")).stderr).toContain("--since: ");
  expect((await requested("audit", "list", "--outcome", "don")).stderr).toContain("done");
});

test("REST pages it, and streams it", async () => {
  const seen: number[] = [];
  for (let path: string | undefined = "/api/v1/audit?limit=3"; path !== undefined; ) {
    const reply = await rest(masters[0], "GET", path);
    expect(reply.status).toBe(200);
    seen.push(...(reply.json as unknown as { seq: number }[]).map(({ seq }) => seq));
    path = /<(.+)>; rel="next"/.exec(String(reply.headers.link ?? ""))?.[1];
  }
  expect(seen).toEqual(Array.from({ length: seen.length }, (_, index) => seen.length - index));
  expect((await rest(masters[0], "GET", "/api/v1/audit/1")).json).toMatchObject({ seq: 1 });
  expect((await rest(masters[0], "GET", "/api/v1/audit/x")).status).toBe(400);
});

test("a master verifies it over REST step by step, and afterwards only what is new", async () => {
  const verified = async (query = "") => (await rest(masters[0], "GET", `/api/v1/audit/chain${query}`)).json;
  const before = (await verified()) as { entries: number; last: number; began_at: string };
  expect(before).toEqual({
    ...{ entries: before.last, first: 1, verified: before.last, last: before.last, done: true },
    ...{ found: 0, problems: [], began_at: expect.any(String) },
  });
  const pending = await submitPeel(masters[1], "web-8");
  await rest(masters[1], "POST", `/api/v1/enrollments/${pending.enrollmentId}/reject`, {});
  expect(await verified()).toMatchObject({
    ...{ entries: before.entries + 2, verified: before.last + 2, done: true, found: 0 },
    began_at: before.began_at,
  });
  const again = (await verified("?again=yes")) as { entries: number; began_at: string };
  expect(again.entries).toBe(before.entries + 2);
  expect(again.began_at > before.began_at).toBe(true);
});

describe("the owner of the bus", () => {
  const problems = async (master = masters[0]) => {
    const { json } = await rest(master, "GET", "/api/v1/audit/chain?again=yes");
    return json as { done: boolean; found: number; problems: { seq: number; problem: string }[] };
  };

  /**
   * Makes the stream again. A deletion can leave the directory of the stream, when the server writes there at the same
   * moment; then the next stream of the name begins with the old messages. Seen on 2.10.27 and 2.15.1.
   */
  async function empty(stream: StreamConfig): Promise<void> {
    const manager = await owner.nats.jetstreamManager();
    await until(async () => {
      await manager.streams.delete("audit");
      await manager.streams.add(stream);
      return (await manager.streams.info("audit")).state.messages === 0;
    });
  }

  /** Replaces the stream as who owns the bus can: nothing in it stops the deletion of the whole. */
  async function rewrite(
    filter: (bytes: Uint8Array, seq: number) => Uint8Array | undefined,
    changed: Partial<StreamConfig> = {},
  ) {
    const manager = await owner.nats.jetstreamManager();
    const { config: stream } = await manager.streams.info("audit");
    const before = await readRange(owner, "audit", { from: 1, count: 100_000 });
    await empty({ ...stream, ...changed });
    for (const { subject, data, sequence } of before) {
      const bytes = filter(data, sequence);
      if (bytes !== undefined) await owner.nats.jetstream().publish(subject, bytes);
    }
    return async () => {
      await empty(stream);
      for (const { subject, data } of before) await owner.nats.jetstream().publish(subject, data);
    };
  }

  test("the peel remembers the newest entry that a master named, and agrees", async () => {
    await owner.nats.flush();
    const { json: entries } = await json("audit", "list", "--limit", "1");
    const newest = entries[0].seq;
    await until(async () => {
      owner.publish("svc.peel.web-1.hint", new Uint8Array());
      const { json: verified } = await json("audit", "verify", "--witness", "*");
      return verified.witnesses[0].newest >= newest;
    });
    expect(remembered().length).toBeGreaterThan(0);
    expect(await requested("audit", "verify", "--witness", "*")).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining("agrees"),
    });
  });

  test("who removes or changes an entry within is found by the chain", async () => {
    for (const forged of [
      (bytes: Uint8Array, seq: number) => (seq === 3 ? undefined : bytes),
      (bytes: Uint8Array, seq: number) => {
        const copy = Buffer.from(bytes);
        if (seq === 3) copy.write("bob", copy.indexOf("operator") + 10);
        return copy;
      },
    ]) {
      const restore = await rewrite(forged);
      const verified = await json("audit", "verify");
      expect(verified.exit).toBe(1);
      expect(verified.json.problems[0].seq).toBe(3);
      // What masters remember of its end differs between them.
      const { done, problems: found } = await problems();
      expect([done, found[0]]).toEqual([true, verified.json.problems[0]]);
      await restore();
    }
  });
  test("who removes the end of a stream that goes on counting is found by the chain", async () => {
    // Masters repair a stream, unless a later version of them made it.
    const later = { metadata: { "svc.version": "1000" } };
    const restore = await rewrite((bytes) => bytes, { deny_delete: false, ...later });
    const manager = await owner.nats.jetstreamManager();
    const { state } = await manager.streams.info("audit");
    for (let seq = state.last_seq; seq > state.last_seq - 2; seq--)
      await manager.streams.deleteMessage("audit", seq);
    expect(await json("audit", "verify")).toMatchObject({
      exit: 1,
      json: {
        problems: [
          { seq: state.last_seq - 1, problem: `the entries from here to ${state.last_seq} are missing` },
        ],
      },
    });
    expect(await problems()).toMatchObject({
      ...{ done: true, found: 1 },
      problems: [
        { seq: state.last_seq - 1, problem: `the entries from here to ${state.last_seq} are missing` },
      ],
    });
    await restore();
    expect(await problems()).toMatchObject({ done: true, found: 0 });
  });

  test("who cuts the end off is found by a master that remembers it, and by the witness", async () => {
    await rewrite((bytes, seq) => (seq <= 4 ? bytes : undefined));
    const alone = await json("audit", "verify");
    expect(alone).toMatchObject({
      exit: 1,
      json: { last: 4, found: 1, problems: [{ problem: expect.stringContaining("a master saw it") }] },
    });
    expect(await problems()).toMatchObject({
      ...{ done: true, found: 1 },
      problems: [{ problem: expect.stringContaining("a master saw it, and the audit ends with 4") }],
    });
    const witnessed = await json("audit", "verify", "--witness", "*");
    expect([witnessed.exit, witnessed.json.witnesses[0].problem]).toEqual([
      1,
      expect.stringMatching(/it saw (another )?entry \d+/),
    ]);
  });
});
