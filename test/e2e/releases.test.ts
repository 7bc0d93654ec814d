import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { type Bucket, openBucket } from "../../internal/bus/storage/bucket.ts";
import { type KeyPair, newKeyPair } from "../../internal/identity/nkey.ts";
import { readOperatorFile } from "../../internal/identity/operator-file.ts";
import { decodeOperator } from "../../internal/wire/operator-record.ts";
import { openRelease, type Release, signRelease } from "../../internal/wire/release.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { call } from "../harness/enrollee.ts";
import { makeRepository, type TestRepository } from "../harness/git.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { newOperator, requestAs, signedBy, writeOperatorFile } from "../harness/operators.ts";
import { newPerson, type Person } from "../harness/person.ts";
import { runProgram } from "../harness/process.ts";
import { listAdministrators } from "../harness/registered.ts";
import { until } from "../harness/until.ts";

// Releases from the checkout of an operator with the compiled svc, on two masters, and what an attacker who writes to
// the bus tries.

setDefaultTimeout(120_000);

const [root, thief] = [newOperator("root"), newOperator("anna")];
let bus: TestBus;
let remote: TestRepository;
let config: Readonly<Record<string, unknown>>;
/** Where the second master keeps its log of decisions. */
let second: Record<string, string>;
let masters: TestMaster[];
let [anna, bert]: Person[] = [];
let administrator: Person;
/** An attacker who controls the bus. */
let owner: Bus;
let bucket: Bucket;
let checkout: string;

beforeAll(async () => {
  bus = await startBus();
  remote = makeRepository(join(bus.dir, "git"));
  remote.commit("main", { "top.sls": "base: {'*': [web]}\n", "web.sls": "one: test.nop\n" });
  listAdministrators(bus.authDir, root);
  config = {
    operators: { require_signed: true },
    gitfs: { remotes: [remote.url], interval: "1s" },
  };
  second = { SVC_DATA_DIR: join(bus.dir, "second") };
  masters = [await startMaster(bus, { config }), await startMaster(bus, { config, env: second })];
  const file = writeOperatorFile(bus, root);
  anna = await newPerson(bus, file, "anna", ["admin"]);
  bert = await newPerson(bus, file, "bert", ["operator"]);
  administrator = await newPerson(bus, file, "carl", ["admin"]);
  owner = await connectTo(bus, "master");
  bucket = await openBucket(owner, "releases");
  checkout = join(anna.home, "states");
  await git("clone", "--quiet", remote.path, checkout);
});
afterAll(async () => {
  await owner?.drain();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function git(...args: string[]): Promise<string> {
  const name = ["-c", "user.name=t", "-c", "user.email=t@test"];
  const { code, stdout, stderr } = await runProgram(["git", ...name, ...args]);
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
}

const release = (...args: string[]) => anna?.svc("states", "release", ...args) ?? Promise.reject();
const own = (...args: string[]) => release("--tree", checkout, ...args);
async function released(...args: string[]) {
  const done = await own("--yes", ...args);
  if (done.code !== 0) throw new Error(done.stderr);
  return done;
}
async function inForce(): Promise<Release | undefined> {
  const entry = await bucket.get("base");
  return entry === undefined ? undefined : openRelease(entry.value);
}
async function listed(master: TestMaster | undefined) {
  const headers = { authorization: `Bearer ${testToken}` };
  const { json } = await call(master as TestMaster, { path: "/api/v1/states/releases", headers });
  return (json as { environments: Record<string, { version: number; snapshot: string }>[] }).environments[0];
}
const versionsOn = async () => (await Promise.all(masters.map(listed))).map((one) => one?.newest?.version);

test("an operator releases what the checkout has, and confirms the repositories that masters name", async () => {
  await until(async () => (await listed(masters[0]))?.content !== undefined);
  const unsure = await own();
  expect([unsure.code, unsure.stderr]).toEqual([2, expect.stringContaining("--accept-sources")]);
  expect(unsure.stderr).toContain(remote.url);
  const silent = await own("--accept-sources");
  expect([silent.code, silent.stderr]).toEqual([2, expect.stringContaining("add --yes")]);
  expect(silent.stderr).toContain("a release covers state files, not settings and labels");
  expect(await inForce()).toBeUndefined();
  const done = await released("--accept-sources");
  expect(done.stdout).toMatch(/^released [0-9a-f]{12} as version 1 of base\n$/);
  expect(await inForce()).toMatchObject({ version: 1, operator: "anna", environment: "base" });
  expect((await anna?.svc("states", "releases"))?.stdout).toMatch(/base +1 +\S+ +anna +[0-9a-f]{12} +yes/);
  expect(await versionsOn()).toEqual([1, 1]);
});

test("what is not committed, and what masters do not publish, is not released", async () => {
  appendFileSync(join(checkout, "web.sls"), "two: test.nop\n");
  writeFileSync(join(checkout, "new.sls"), "");
  const dirty = await own("--yes");
  expect([dirty.code, dirty.stderr]).toEqual([1, expect.stringContaining("not committed: web.sls, new.sls")]);
  await git("-C", checkout, "add", "--all");
  await git("-C", checkout, "commit", "--quiet", "-m", "two");
  const ahead = await own("--yes");
  expect([ahead.code, ahead.stderr]).toEqual([1, expect.stringContaining("push or pull")]);
  await git("-C", checkout, "push", "--quiet", "origin", "main");
  const head = await git("-C", checkout, "rev-parse", "HEAD");
  await until(async () => JSON.stringify(await listed(masters[0])).includes(head));
  const done = await released();
  for (const line of [
    "compared with release 1 by anna:",
    "+ new.sls",
    "~ web.sls",
    "1 added, 1 changed, 0 removed, 3 in all",
  ]) {
    expect(done.stderr).toContain(line);
  }
  expect(await inForce()).toMatchObject({ version: 2 });
});

test("an operator without the right releases nothing, and a rollback signs again what was released before", async () => {
  const first = openRelease((await bucket.history("base"))[0]?.value ?? new Uint8Array());
  const refused = await bert?.svc(
    "states",
    "release",
    "--on-the-word-of-a-master",
    "--accept-sources",
    "--yes",
  );
  expect([refused?.code, refused?.stderr]).toEqual([1, expect.stringMatching(/states release|bert/)]);
  const back = await release("--rollback", "--yes");
  expect([back.code, back.stderr]).toEqual([
    0,
    expect.stringContaining("release 1 in place of release 2: signed by anna"),
  ]);
  expect(await inForce()).toMatchObject({ version: 3, snapshot: first.snapshot });
  const audit = await call(masters[1] as TestMaster, {
    path: "/api/v1/audit?action=states.release",
    headers: { authorization: `Bearer ${testToken}` },
  });
  expect(audit.json).toContainEqual(
    expect.objectContaining({
      operator: "anna",
      subjects: expect.objectContaining({ environment: "base", version: 3, snapshot: first.snapshot }),
    }),
  );
});

test("an attacker who writes to the bus neither makes a release nor undoes one", async () => {
  const good = (await bucket.get("base"))?.value ?? new Uint8Array();
  const { key: _, signature: __, ...current } = openRelease(good);
  const next = { ...current, version: 4, releasedAt: systemClock.now(), snapshot: "66".repeat(32) };
  const old = (await bucket.history("base"))[0]?.value ?? new Uint8Array();
  for (const bytes of [old, signRelease(next, thief.key), new Uint8Array([1, 2, 3])]) {
    await bucket.put("base", bytes);
    expect(await versionsOn()).toEqual([3, 3]);
    await until(async () => Buffer.from((await bucket.get("base"))?.value ?? []).equals(good));
  }
  const there = await bucket.get("base");
  await bucket.remove("base", there?.revision ?? 0);
  await until(async () => Buffer.from((await bucket.get("base"))?.value ?? []).equals(good));
  // A master that starts later, without a log of its own, believes the signature alone.
  await using late = await startMaster(bus, { config: { operators: { require_signed: true } } });
  expect((await listed(late))?.newest).toMatchObject({ version: 3 });
});

/** What each master has of the environment: one that was away, and one that starts without a log of its own. */
async function onEveryMaster() {
  await using late = await startMaster(bus, { config: { operators: { require_signed: true } } });
  return [...(await versionsOn()), (await listed(late))?.newest?.version];
}
const recordAt = async (key: string) => {
  const entry = await (await openBucket(owner, "operators")).get(key);
  return entry && decodeOperator(entry.value);
};
/** The next release by this key, as a thief puts it on the bus. */
async function forge(key: KeyPair): Promise<void> {
  const good = (await bucket.get("base"))?.value ?? new Uint8Array();
  const { key: _, signature: __, ...current } = openRelease(good);
  const next = { ...current, version: current.version + 1, snapshot: "66".repeat(32) };
  await bucket.put("base", signRelease({ ...next, releasedAt: systemClock.now() }, key));
}
/** The key in the file that a person logged in with. */
function keyOf({ home, name }: Person): KeyPair {
  const { key } = readOperatorFile(join(home, `${name}.operator`));
  if (key === undefined) throw new Error(`the file of ${name} has no key`);
  return key;
}

test("what an operator released stays when it is disabled, and nothing new comes", async () => {
  // A master that is away meanwhile, and comes back with its log.
  const [, away] = masters;
  await away?.[Symbol.asyncDispose]();
  masters = masters.slice(0, 1);
  const disabled = await administrator.svc("operator", "disable", "anna");
  expect([disabled.code, disabled.stderr]).toEqual([0, ""]);
  masters.push(await startMaster(bus, { config, env: second }));
  expect(await recordAt("anna")).toMatchObject({ disabled: true, released: { base: 3 } });
  expect(await onEveryMaster()).toEqual([3, 3, 3]);
  const refused = await own("--yes");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("anna is disabled")]);
  await forge(keyOf(anna as Person));
  await until(async () => (await inForce())?.version === 3);
  expect(await onEveryMaster()).toEqual([3, 3, 3]);
});

test("what an operator released stays when it is removed, also when another one takes the name", async () => {
  const { publicKey = "" } = (await recordAt("anna")) ?? {};
  const removed = await administrator.svc("operator", "remove", "anna");
  expect([removed.code, removed.stderr]).toEqual([0, ""]);
  const last = { name: "anna", disabled: true, released: { base: 3 } };
  expect([await recordAt("anna"), await recordAt(`${publicKey}.anna`)]).toEqual([
    undefined,
    expect.objectContaining(last),
  ]);
  expect((await administrator.svc("operator", "list")).stdout).not.toContain("anna");
  expect((await administrator.svc("operator", "list", "--removed")).stdout).toMatch(/anna +removed +admin/);
  expect(await onEveryMaster()).toEqual([3, 3, 3]);
  await forge(keyOf(anna as Person));
  await until(async () => (await inForce())?.version === 3);
  // Her name and a new key.
  const thiefs = keyOf(anna as Person);
  anna = await newPerson(bus, writeOperatorFile(bus, root), "anna", ["admin"]);
  expect(await onEveryMaster()).toEqual([3, 3, 3]);
  expect((await own("--yes")).stdout).toMatch(/as version 4 of base\n$/);
  await forge(thiefs);
  await until(async () => (await inForce())?.version === 4);
  expect(await onEveryMaster()).toEqual([4, 4, 4]);
});

describe("a release that is refused says in one line what to do, and changes nothing", () => {
  /** Sends a release as a client of its own would, signed by whom it names. */
  async function offer(more: Partial<Omit<Release, "key">>): Promise<string> {
    const {
      key: _,
      signature: __,
      ...current
    } = openRelease((await bucket.get("base"))?.value ?? new Uint8Array());
    const next = { ...current, version: current.version + 1, releasedAt: systemClock.now() };
    const bytes = signRelease({ ...next, ...more }, keyOf(anna as Person));
    const carl = { name: "carl", key: keyOf(administrator), roles: [] };
    const subject = "svc.admin.states.release";
    const request = signedBy(carl, subject, encode({ release: bytes }));
    const { error } = decode(await requestAs(owner, carl, subject, request)) as {
      error?: { message: string };
    };
    return error?.message ?? "";
  }
  const state = async () => [
    await onEveryMaster(),
    Buffer.from((await bucket.get("base"))?.value ?? []).toString("hex"),
  ];

  test.each<
    [what: string, arrange: () => Promise<unknown>, more: Partial<Omit<Release, "key">>, reason: string]
  >([
    [
      "for another fleet",
      async () => {},
      { fleet: newKeyPair("account", systemRandom).publicKey },
      "and this is the fleet",
    ],
    ["of an older version", async () => {}, { version: 2 }, "and this one has 2"],
    [
      "by a disabled operator",
      () => administrator.svc("operator", "disable", "anna"),
      {},
      "anna is disabled",
    ],
  ])("%s", async (_, arrange, more, reason) => {
    await arrange();
    const before = await state();
    const message = await offer(more);
    expect(message).toContain(reason);
    expect(message).not.toContain("\n");
    expect(await state()).toEqual(before);
    // What it says to do is enough.
    const [, next = ""] = /\brun[s]? svc ((?:operator enable|states release)(?: anna)?)/.exec(message) ?? [];
    if (next.startsWith("operator")) {
      expect((await administrator.svc(...next.split(" "))).code).toBe(0);
    } else expect(next).toBe("states release");
    const { version } = (await inForce()) as Release;
    expect((await released()).stdout).toContain(`as version ${version + 1} of base`);
    expect(await onEveryMaster()).toEqual(Array(3).fill(version + 1));
  });
});
