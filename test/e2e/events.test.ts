import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { encode } from "../../internal/base/msgpack.ts";
import { eventSubject } from "../../internal/bus/subjects/subjects.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { cli, type RunningCli, startCli } from "../harness/cli.ts";
import { openWire, type Wire } from "../harness/enrollee.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { enrollPeel, operate } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// What happened in a fleet with two masters, at the terminal and over REST.

setDefaultTimeout(60_000);

interface Event {
  id: string;
  at: string;
  tag: string;
  source: string;
  origin: string;
  data: Record<string, unknown>;
  position: string;
}

let bus: TestBus;
let one: TestMaster;
let two: TestMaster;
let web: ManualPeel;
let following: RunningCli;

const events = async (...words: string[]): Promise<Event[]> => {
  const { exit, stdout, stderr } = await cli(bus, "events", "--output", "jsonl", ...words);
  expect([exit, stderr]).toEqual([0, expect.stringMatching(/^(no events\n)?$/)]);
  return linesOf(stdout);
};
const linesOf = (text: string): Event[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Event);
const tagsOf = (found: readonly Event[]) => found.map(({ tag }) => tag);

beforeAll(async () => {
  bus = await startBus();
  [one, two] = await Promise.all([startMaster(bus), startMaster(bus)]);
  following = startCli(bus, ["events", "--follow", "--output", "jsonl"]);
  web = await connectManualPeel(bus, await enrollPeel(one, "web-1_example"));
});
afterAll(async () => {
  await web?.[Symbol.asyncDispose]();
  await one?.[Symbol.asyncDispose]();
  await two?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function send(peel: ManualPeel, tag: string, data: unknown): Promise<void> {
  const { nats } = peel.connection;
  await nats.request(eventSubject(peel.peelId, tag), encode({ data }), { timeout: 30_000 });
}

test("everything that happens is told once, in its order, however many masters there are", async () => {
  await web.hello();
  await send(web, "disk.full", { percent: 93, note: "\u001b[2J<b>&\u202e" });
  // In the name of the service: it is left out.
  await send(web, "svc.peel.db-1.lost", {});
  const run = startCli(bus, ["run", "web-1.example", "test.ping"]);
  const { jid } = await web.next("dispatch");
  await web.answer(jid, { return: "a secret of the job" });
  await run.exit;

  const rollout = startCli(bus, ["rollout", "start", "web-*", "test.ping", "--wave-wait", "1h"]);
  const id = (await rollout.wrote(/(rol-\w+)/))[1] ?? "";
  const wave = await web.next("dispatch");
  expect((await cli(bus, "rollout", "pause", id)).exit).toBe(0);
  await until(async () => (await events("--tag", "svc/rollout/**")).length === 3);
  expect((await cli(bus, "rollout", "resume", id)).exit).toBe(0);
  await web.answer(wave.jid);
  await rollout.exit;
  const [issued] = await until(
    () => events("--tag", "svc/enrollment/issued"),
    (found) => found.length > 0,
  );
  const enrollment = String(issued?.data.id);
  // Another version of the same state is not an event.
  expect((await cli(bus, "enroll", "label", enrollment, "env=lab")).exit).toBe(0);
  expect((await operate(two, enrollment, "revoke", { reason: "sold" })).status).toBe(200);

  const wanted = [
    ...["created", "approved", "issued"].map((what) => `svc/enrollment/${what}`),
    "disk/full",
    ...[`svc/job/${jid}/created`, `svc/job/${jid}/return/web-1_example`, `svc/job/${jid}/ended`],
    ...Array.from({ length: 5 }, () => `svc/rollout/${id}/changed`),
    `svc/job/${wave.jid}/created`,
    ...[`svc/job/${wave.jid}/return/web-1_example`, `svc/job/${wave.jid}/ended`],
    "svc/enrollment/revoked",
  ];
  const found = await until(
    () => events(),
    (all) => tagsOf(all).includes("svc/enrollment/revoked") && all.length >= wanted.length,
  );
  const rest = tagsOf(found).filter((tag) => tag !== "svc/enrollment/active");
  expect(rest.toSorted()).toEqual(wanted.toSorted());
  const place = (tag: string) => tagsOf(found).indexOf(tag);
  expect(place(`svc/job/${jid}/created`)).toBeLessThan(place(`svc/job/${jid}/ended`));
  expect(found.map(({ at }) => at)).toEqual(found.map(({ at }) => at).toSorted());
  expect(new Set(found.map((event) => event.id)).size).toBe(found.length);
  const of = (tag: string) => found.filter((event) => event.tag === tag);
  expect(of(`svc/rollout/${id}/changed`).map(({ data: { status, wave } }) => `${status} ${wave}`)).toEqual([
    ...["running 0", "running 1", "paused 1", "running 1", "completed 1"],
  ]);
  expect(of(`svc/job/${jid}/return/web-1_example`)[0]).toMatchObject({
    ...{ source: "web-1.example", origin: "service" },
    data: { jid, function: "test.ping", success: true },
  });
  expect(JSON.stringify(found)).not.toContain("a secret of the job");
  expect(of("svc/enrollment/revoked")[0]?.data).toMatchObject({ decided_by: "tester", reason: "sold" });

  // Who follows sees the same.
  await until(() => linesOf(following.stdout).length >= found.length);
  following.interrupt();
  expect(await following.exit).toBe(130);
  expect(
    linesOf(following.stdout)
      .map((event) => event.id)
      .toSorted(),
  ).toEqual(found.map((event) => event.id).toSorted());
});

test("filters choose, and nothing that a peel sends acts on the terminal", async () => {
  expect(tagsOf(await events("--tag", "disk/*", "--source", "web*"))).toEqual(["disk/full"]);
  expect(await events("--tag", "disk/*", "--source", "db-1")).toEqual([]);
  expect(await events("--since", "0")).toEqual([]);
  const table = await cli(bus, "events", "--tag", "disk/**");
  expect(table.stdout).toMatch(
    /^\S+Z {2}web-1\.example {2}disk\/full {2}percent=93 note="\\u001b\[2J<b>&\\u202e"\n$/,
  );
});

test.each([
  [["--tag", "disk full"], 2, "--tag: must be a glob on tags"],
  [["--tag", "a/["], 2, "column 3: expected a ] for this ["],
  [["--since", "soon"], 2, '--since: "soon" is not a time'],
  [["--source", "web 1"], 2, "--source: must be a peel id"],
  [["--follow", "--output", "yaml"], 2, "use --output jsonl with --follow"],
])("svc events %p is refused", async (words, exit, message) => {
  const ran = await cli(bus, "events", ...words);
  expect([ran.exit, ran.stderr]).toEqual([exit, expect.stringContaining(message)]);
  // No master was asked.
  expect(ran.stderr).not.toContain("[request ");
});

const open = (master: TestMaster, query: string, more = ""): Promise<Wire> =>
  openWire(
    { url: master.url, ca: bus.caPem },
    `GET /api/v1/events${query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${testToken}\r\n${more}\r\n`,
  );
const sentOn = (wire: Wire) =>
  [...wire.received().matchAll(/^id: (\S+)\nevent: event\ndata: (.+)$/gm)].map(([, id, data = ""]) => ({
    position: id ?? "",
    event: JSON.parse(data) as Event,
  }));

test("a stream ends cleanly with its master, and continues at another one where it was", async () => {
  const all = await events();
  const last = all.at(-1)?.id ?? "";
  using first = await open(one, "?since=10m");
  await first.waitFor(`"id":"${last}"`);
  expect(first.received()).toMatch(/retry: 1000\n\n\r\n\w+\r\nid: 0-0-0\n\n/);
  const sent = sentOn(first);
  expect(sent.map(({ event }) => event.id)).toEqual(all.map(({ id }) => id));
  expect(sent.every(({ position, event }) => position === event.position)).toBe(true);

  const middle = Math.floor(sent.length / 2);
  using rest = await open(two, "?since=10m", `Last-Event-ID: ${sent[middle]?.position}\r\n`);
  await rest.waitFor(`"id":"${last}"`);
  expect(sentOn(rest).map(({ event }) => event.id)).toEqual(all.slice(middle + 1).map(({ id }) => id));

  await one[Symbol.asyncDispose]();
  await first.waitFor("\r\n0\r\n\r\n");
});

test("what is not a position is refused", async () => {
  using wire = await open(two, "", "Last-Event-ID: 1-2\r\n");
  await wire.waitFor("must be the position of an event");
  expect(wire.received()).toStartWith("HTTP/1.1 400");
});
