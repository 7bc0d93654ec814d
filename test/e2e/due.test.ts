import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { systemClock } from "../../internal/base/clock.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { startMember } from "../harness/jobs.ts";

// A peel that is off keeps nobody waiting: compiled binaries, of whose two peels the first one is stopped.

setDefaultTimeout(120_000);

/** Far longer than the tests take: nobody waited for it. */
const long = ["--timeout", "15m"] as const;
const away = "web-1_example";
const there = "web-2_example";

let bus: TestBus;
let master: MasterDaemon;
let stopped: Daemon;
let running: Daemon;

beforeAll(async () => {
  bus = await startBus();
  master = await startMasterBinary(bus);
  stopped = await startMember(bus, master, "web-1.example");
  running = await startMember(bus, master, "web-2.example");
  stopped.program.kill("SIGTERM");
  await stopped.program.exited;
});
afterAll(async () => {
  await stopped?.[Symbol.asyncDispose]();
  await running?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const rest = (path: string) =>
  send(master.url, bus.caPem, {
    method: "GET",
    path: `/api/v1/jobs/${path}`,
    headers: { authorization: `Bearer ${master.token}` },
  });
const isDue = {
  ...{ status: "running", complete: false, counts: { ok: 1, pending: 1 } },
  outcomes: { [away]: "pending", [there]: "ok" },
  not_connected: { [away]: { since: expect.any(String) } },
};
const gets = "1 peel gets the job if it comes back before (?:\\d{4}-\\d\\d-\\d\\d )?\\d\\d:\\d\\d";
let jid = "";

test("svc run returns when the connected peel has answered, and says so as data", async () => {
  const startedAt = systemClock.now();
  const ran = await svc(bus, "run", "web-*", "test.ping", ...long, "--output", "json");
  const view = JSON.parse(ran.stdout);
  jid = view.jid;
  // The matchers put themselves in the place of what they match.
  const since = Date.parse(view.not_connected[away].since);
  expect(ran.code).toBe(3);
  expect(view).toMatchObject(isDue);
  expect(since).toBeLessThan(systemClock.now());
  expect(ran.stderr).toMatch(new RegExp(`\n2 peels: 1 ok, 1 waiting\n${gets}: svc job watch ${jid}\n$`));
  expect(systemClock.now() - startedAt).toBeLessThan(60_000);
});

test("a table shows since when the peel is away, and --ignore-offline makes it no failure", async () => {
  const ran = await svc(bus, "run", "web-*", "test.ping", ...long, "--ignore-offline");
  expect([ran.code, ran.stdout]).toEqual([
    0,
    expect.stringMatching(
      /^web-2\.example +ok +true\nweb-1\.example +pending \(not connected since (?:\d{4}-\d\d-\d\d )?\d\d:\d\d\)$/m,
    ),
  ]);
});

test("REST and svc job show say the same", async () => {
  expect((await rest(jid)).json).toMatchObject(isDue);
  const stream = (await rest(`${jid}/stream?until=due`)).text;
  const end = stream.slice(stream.lastIndexOf("event: end"));
  expect(JSON.parse(end.slice(end.indexOf("{"), end.lastIndexOf("}") + 1))).toMatchObject(isDue);
  expect(JSON.parse((await svc(bus, "job", "show", jid, "--output", "json")).stdout)).toMatchObject(isDue);
  const shown = await svc(bus, "job", "show", jid);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toMatch(new RegExp(`^Complete +no: ${gets}$`, "m"));
  expect(shown.stdout).toMatch(/^web-1\.example +pending \(not connected since /m);
});

test("a failure of a connected peel is one, whoever is away", async () => {
  for (const more of [[], ["--ignore-offline"]]) {
    const ran = await svc(bus, "run", "web-*", "file.read", "/nonexistent/file", ...long, ...more);
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining("1 failed, 1 waiting")]);
  }
});

test("a batch goes on when its connected peels have ended", async () => {
  const ran = await svc(bus, "run", "web-*", "test.ping", ...long, "--batch", "1", "--output", "json");
  expect(ran.code).toBe(3);
  expect(JSON.parse(ran.stdout)).toMatchObject([
    { targets: [away], complete: false, metadata: { batch: "1/2" } },
    { targets: [there], complete: true, metadata: { batch: "2/2" } },
  ]);
});

test("--wait-offline waits until the deadline, when the peel is offline", async () => {
  const wait = ["run", "web-*", "test.ping", "--timeout", "3s", "--wait-offline"] as const;
  const [waited, ignored] = await Promise.all([svc(bus, ...wait), svc(bus, ...wait, "--ignore-offline")]);
  for (const { stdout } of [waited, ignored]) expect(stdout).toMatch(/^web-1\.example +offline /m);
  expect([waited.code, ignored.code]).toEqual([1, 0]);
});

test("the job stays as it is: the peel that comes back runs it, and who watches it sees the end", async () => {
  const watching = svc(bus, "job", "watch", jid, "--output", "json");
  stopped = startPeelBinary(bus, master.url, "web-1.example", { dir: stopped.dir });
  const watched = await watching;
  expect([watched.code, JSON.parse(watched.stdout)]).toEqual([
    0,
    expect.objectContaining({ status: "completed", complete: true, counts: { ok: 2 } }),
  ]);
  const { json } = await rest(jid);
  expect(json).toMatchObject({ status: "completed", complete: true, outcomes: { [away]: "ok" } });
  expect(json).not.toHaveProperty("not_connected");
});
