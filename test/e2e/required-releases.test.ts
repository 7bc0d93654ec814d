import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { type Bucket, openBucket } from "../../internal/bus/storage/bucket.ts";
import { openRelease, signRelease } from "../../internal/wire/release.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { makeRepository, type TestRepository } from "../harness/git.ts";
import { newOperator, writeOperatorFile } from "../harness/operators.ts";
import { newPerson, type Person } from "../harness/person.ts";
import { runProgram } from "../harness/process.ts";
import { listAdministrators } from "../harness/registered.ts";
import { until } from "../harness/until.ts";

// Two compiled masters that let only released state files come into force, and a peel that obeys them.

setDefaultTimeout(120_000);

const [root, thief] = [newOperator("root"), newOperator("anna")];
let bus: TestBus;
let remote: TestRepository;
const masters: MasterDaemon[] = [];
let peel: Daemon;
let anna: Person;
/** An attacker who controls the bus. */
let owner: Bus;
let bucket: Bucket;
let checkout: string | undefined;
const commits = new Map<string, string>();

beforeAll(async () => {
  bus = await startBus();
  remote = makeRepository(join(bus.dir, "git"));
  listAdministrators(bus.authDir, root);
  await push("one");
  masters.push(await start(), await start());
  peel = startPeelBinary(bus, masters[0]?.url ?? "", "web-1");
  anna = await newPerson(bus, writeOperatorFile(bus, root), "anna", ["admin"]);
  owner = await connectTo(bus, "master");
  bucket = await openBucket(owner, "releases");
  const clone = join(anna.home, "states");
  await git("clone", "--quiet", remote.path, clone);
  checkout = clone;
  await peel.program.waitFor("waiting for an operator's approval");
  const [{ id }] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
  await svc(bus, "enroll", "approve", id);
  // States do not run before.
  await peel.program.waitFor("settings in force");
});
afterAll(async () => {
  await owner?.drain();
  await peel?.[Symbol.asyncDispose]();
  for (const master of masters) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** @param dir of a master that ran before */
const start = (dir?: string) =>
  startMasterBinary(
    bus,
    ["--states-require-release", "--gitfs-remotes", remote.url, "--gitfs-interval", "1s"],
    dir === undefined ? {} : { SVC_DATA_DIR: dir },
  );

/** Commits files that leave this text on the peel, with a file more for each commit. */
async function push(text: string): Promise<void> {
  const mark = { name: join(bus.dir, "mark"), contents: text };
  const state = { mark: { "file.managed": Object.entries(mark).map(([key, value]) => ({ [key]: value })) } };
  const others = Object.fromEntries([...commits.keys()].map((name) => [`of-${name}.sls`, ""]));
  const files = { "top.sls": "base: {'*': [web]}\n", "web.sls": JSON.stringify(state), ...others };
  commits.set(text, remote.commit("main", files));
  // Each commit replaces the branch, and its remote does not give away what it no longer names.
  if (checkout !== undefined) await git("-C", checkout, "fetch", "--quiet", "origin", "main");
}

async function git(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(["git", ...args]);
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
}

async function release(text: string, ...args: string[]) {
  const tree = checkout ?? "";
  await git("-C", tree, "reset", "--quiet", "--hard", commits.get(text) ?? "");
  const words = ["states", "release", "--tree", tree, "--accept-sources", "--yes", ...args];
  const { code, stderr } = await anna.svc(...words);
  if (code !== 0) throw new Error(stderr);
}

interface Listed {
  content?: { commit: string; snapshot: string };
  candidate?: { content: { commit: string; snapshot: string }; changes?: Record<string, number> };
}
const request = (master: MasterDaemon, method: "GET" | "POST", path: string, body?: unknown) =>
  send(master.url, bus.caPem, {
    ...{ method, path },
    headers: { authorization: `Bearer ${master.token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
async function listed(master: MasterDaemon): Promise<Listed> {
  const { json } = await request(master, "GET", "/api/v1/states/releases");
  return (json as { environments?: Listed[] }).environments?.[0] ?? {};
}

/** Waits until every master has these commits in force and as the candidate. */
async function become(inForce: string | undefined, candidate?: string): Promise<void> {
  const wanted = [inForce, candidate].map((text) => (text === undefined ? undefined : commits.get(text)));
  const seen = async () => {
    const all = await Promise.all(masters.map(listed));
    return all.map((one) => [one.content?.commit, one.candidate?.content.commit]);
  };
  await until(seen, (found) =>
    Bun.deepEquals(
      found,
      masters.map(() => wanted),
    ),
  );
}

const run = (...args: string[]) => anna.svc("run", "web-1", "state.highstate", ...args);
async function marks(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  if (code !== 0) throw new Error(`${stdout}${stderr}`);
  return readFileSync(join(bus.dir, "mark"), "utf8").trim();
}

test("in a new fleet nothing runs before a release, on any master", async () => {
  await become(undefined, "one");
  for (const master of masters) {
    const job = { target: "web-1", function: "state.highstate" };
    const refused = await request(master, "POST", "/api/v1/jobs", job);
    expect([refused.status, JSON.stringify(refused.json)]).toEqual([
      ...[404, expect.stringContaining("no state files are released")],
    ]);
  }
  const refused = await run();
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("no state files are released")]);
  const { stdout } = await anna.svc("states", "releases", "--wide");
  expect(stdout).toContain("2 added, 0 changed, 0 removed");
});

test("a release brings what waits into force on all masters, and a push waits again", async () => {
  await release("one");
  await become("one");
  expect(await marks()).toBe("one");
  await push("two");
  await become("one", "two");
  expect((await listed(masters[1] as MasterDaemon)).candidate?.changes).toEqual({
    ...{ added: 1, changed: 1, removed: 0 },
  });
  const { stdout } = await anna.svc("status", "--wide");
  expect(stdout).not.toContain("REFUSED FILES");
  expect(stdout).toMatch(/WAITS FOR A RELEASE.*\nbase .*: 1 added, 1 changed, 0 removed/);
  expect(await marks()).toBe("one");
  // Who may run any commit tries it before the release.
  expect(await marks(`commit=${commits.get("two")}`)).toBe("two");
  expect(await marks()).toBe("one");
});

test("an older candidate can be released, and the newer one waits on", async () => {
  await push("three");
  await become("one", "three");
  await release("three", "--commit", commits.get("two") ?? "");
  await become("two", "three");
  expect(await marks()).toBe("two");
});

test("a release that does not count brings nothing into force", async () => {
  const good = (await bucket.get("base"))?.value ?? new Uint8Array();
  const { key: _, signature: __, ...current } = openRelease(good);
  const [master] = masters;
  const wanted = (master && (await listed(master)))?.candidate?.content.snapshot ?? "";
  const forged = signRelease({ ...current, version: 90, snapshot: wanted }, thief.key);
  const altered = Buffer.from(good);
  altered[altered.indexOf(Buffer.from(current.snapshot, "hex"))] = 1;
  for (const bytes of [forged, altered]) {
    await bucket.put("base", bytes);
    await until(async () => Buffer.from((await bucket.get("base"))?.value ?? []).equals(good));
  }
  // A later publication would have brought it into force.
  await push("four");
  await become("two", "four");
});

test("a release is in force although the master that publishes is killed before it published", async () => {
  const holder = await until(() =>
    masters.find(({ program }) => program.output().includes('"lease":"publisher"')),
  );
  const snapshot = (await listed(holder as MasterDaemon)).candidate?.content.snapshot ?? "";
  const good = openRelease((await bucket.get("base"))?.value ?? new Uint8Array());
  const { fleet, environment, version } = good;
  holder?.program.kill("SIGSTOP");
  const next = { fleet, environment, snapshot, version: version + 1, releasedAt: systemClock.now() };
  await bucket.put("base", signRelease({ ...next, operator: root.name }, root.key));
  holder?.program.kill("SIGKILL");
  await holder?.program.exited;
  masters.splice(masters.indexOf(holder as MasterDaemon), 1);
  await become("four");
  masters.push(await start(holder?.dir));
  await become("four");
});

test("a rollback brings back what was released before, and a restart changes nothing", async () => {
  const { code, stderr } = await anna.svc("states", "release", "--rollback", "--yes");
  expect([code, stderr]).toEqual([0, expect.stringContaining("signed by anna")]);
  await become("two", "four");
  expect(await marks()).toBe("two");
  for (const master of masters.splice(0)) {
    await master[Symbol.asyncDispose]();
    masters.push(await start(master.dir));
  }
  await become("two", "four");
});

test("masters that lost their logs and the bucket of releases keep what is in force", async () => {
  const dirs: string[] = [];
  for (const master of masters.splice(0)) {
    await master[Symbol.asyncDispose]();
    dirs.push(master.dir);
  }
  for (const dir of dirs) rmSync(join(dir, "decisions.log"), { force: true });
  const manager = await owner.nats.jetstreamManager({ checkAPI: false });
  await manager.streams.purge("KV_releases");
  await push("five");
  for (const dir of dirs) masters.push(await start(dir));
  await become("two", "five");
  expect(await marks()).toBe("two");
  await release("five");
  await become("five");
});
