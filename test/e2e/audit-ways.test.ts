import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { startBus, type TestBus } from "../harness/bus.ts";
import { bearer, call, openWire, postJson } from "../harness/enrollee.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { type RulesDirectory, rulesDirectory, sendEvent } from "../harness/reactor.ts";
import { countExecutions } from "../harness/rollout-fleet.ts";
import { until } from "../harness/until.ts";

// What masters start by themselves has entries in the audit, with the way by which it came; and the stream has the
// same entries as the list.

setDefaultTimeout(60_000);

let bus: TestBus;
let rules: RulesDirectory;
let master: TestMaster;
let peel: ManualPeel;

beforeAll(async () => {
  bus = await startBus();
  rules = rulesDirectory(`
rules:
  - name: clean-disk
    match: disk/full
    do:
      - job: { target: "web-1", function: test.echo, args: { text: "of the reactor" } }
`);
  master = await startMaster(bus, { config: rules.config({ enabled: true }) });
  peel = await connectManualPeel(bus, await enrollPeel(master, "web-1"));
  await peel.beat();
  countExecutions([peel]);
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  rules?.[Symbol.dispose]();
  await bus?.[Symbol.asyncDispose]();
});

interface Entry {
  seq: number;
  via: string;
  operator: string;
  outcome: string;
  subjects: Record<string, unknown>;
}
const list = async (query: string) =>
  (await call(master, { path: `/api/v1/audit?limit=200&${query}`, headers: bearer })).json as Entry[];
/** Oldest first. */
const jobsVia = async (via: string) =>
  (await list("action=jobs.create")).filter((entry) => entry.via === via).reverse();

test("a rollout, and the job of each of its waves, are recorded when they begin and when they end", async () => {
  const body = {
    target: "web-1",
    function: "test.ping",
    check: { function: "test.echo", args: { text: "x" } },
  };
  const started = await postJson(master, "/api/v1/rollouts", body, { headers: bearer });
  const { id } = started.json as { id: string };
  const requested = (await list("action=rollouts.start")).reverse();
  expect(requested).toMatchObject([
    {
      via: "rest",
      operator: "tester",
      outcome: "begun",
      subjects: { target: "web-1", function: "test.ping" },
    },
    {
      via: "rest",
      operator: "tester",
      outcome: "done",
      subjects: { rollout: id, begun: requested[0]?.seq ?? 0 },
    },
  ]);
  const entries = await until(
    () => jobsVia("rollout"),
    (found) => found.length >= 4,
  );
  const named = { rollout: id, peels: ["web-1"], peel_count: 1 };
  expect(entries).toMatchObject(
    ["test.ping", "test.ping", "test.echo", "test.echo"].map((called, at) => ({
      operator: "tester",
      outcome: at % 2 === 0 ? "begun" : "done",
      subjects: { ...named, function: called, job: expect.stringMatching(/^job-/) },
    })) as never,
  );
});

test("a job of the reactor is recorded under its rule", async () => {
  await sendEvent(peel.connection, "web-1", "disk/full");
  const entries = await until(
    () => jobsVia("reactor"),
    (found) => found.length === 2,
  );
  expect(entries).toMatchObject([
    {
      operator: "reactor:clean-disk",
      outcome: "begun",
      subjects: { target: "web-1", function: "test.echo" },
    },
    { operator: "reactor:clean-disk", outcome: "done", subjects: { job: expect.stringMatching(/^job-/) } },
  ] as never);
});

test("who accepts server-sent events gets the entries from now on, as they are listed", async () => {
  const open = (path: string, accept: string) =>
    openWire(
      master,
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${testToken}\r\nAccept: ${accept}\r\n\r\n`,
    );
  const wires = [
    await open("/api/v1/audit", "application/json;q=0.1, text/event-stream"),
    await open("/api/v1/audit/stream", "*/*"),
  ];
  for (const wire of wires) {
    await wire.waitFor("text/event-stream");
    // The head does not wait for the first comment.
    expect(wire.received()).not.toContain("heartbeat");
  }
  const last = (await list(""))[0]?.seq ?? 0;
  const refused = await postJson(master, "/api/v1/enrollments/enr-x/approve", {}, { headers: bearer });
  expect(refused.status).toBe(404);
  const [end, begin] = await list("action=enrollments.approve");
  expect([begin?.seq, end?.seq]).toEqual([last + 1, last + 2]);
  for (const wire of wires) {
    await wire.waitFor(`"seq":${last + 2}`);
    const sent = [...wire.received().matchAll(/^event: entry\ndata: (.+)$/gm)].map(
      ([, data = ""]) => JSON.parse(data) as Entry,
    );
    expect(sent.slice(-2)).toEqual([begin, end] as never);
    wire[Symbol.dispose]();
  }
  // All others get a page.
  const page = await call(master, { path: "/api/v1/audit", headers: { ...bearer, accept: "*/*" } });
  expect(Array.isArray(page.json)).toBe(true);
  const paged = await call(master, {
    path: "/api/v1/audit?limit=5",
    headers: { ...bearer, accept: "text/event-stream" },
  });
  expect([paged.status, JSON.stringify(paged.json)]).toEqual([
    400,
    expect.stringContaining('unknown key \\"limit\\"'),
  ]);
});

test("a stream has a filter and a beginning, and continues behind the last entry that was received", async () => {
  const open = (query: string, more = "") =>
    openWire(
      master,
      `GET /api/v1/audit/stream${query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${testToken}\r\n${more}\r\n`,
    );
  const sentOn = (text: string) =>
    [...text.matchAll(/^id: (\d+)\nevent: entry\ndata: (.+)$/gm)].map(([, id, data = ""]) => {
      const entry = JSON.parse(data) as Entry;
      expect(entry.seq).toBe(Number(id));
      return entry;
    });
  const jobs = (await list("action=jobs.create")).toReversed();
  const last = jobs.at(-1)?.seq ?? 0;
  using all = await open("?action=jobs.create&since=2026-01-01T00:00:00Z");
  await all.waitFor(`"seq":${last}`);
  expect(sentOn(all.received())).toEqual(jobs);
  using begun = await open("?action=jobs.*&outcome=begun&after=0");
  await begun.waitFor(`"seq":${last - 1}`);
  expect(sentOn(begun.received())).toEqual(jobs.filter(({ outcome }) => outcome === "begun"));
  const middle = jobs.at(Math.floor(jobs.length / 2))?.seq ?? 0;
  using rest = await open("?action=jobs.create&after=0", `Last-Event-ID: ${middle}\r\n`);
  await rest.waitFor(`"seq":${last}`);
  expect(sentOn(rest.received())).toEqual(jobs.filter(({ seq }) => seq > middle));
  using wrong = await open("?after=-1");
  await wrong.waitFor("must be the number of an entry");
});
