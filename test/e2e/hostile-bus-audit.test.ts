import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import { readRange } from "../../internal/bus/streams/read-range.ts";
import { beginning, readEntry, writeEntry } from "../../internal/fleet/audit/entry.ts";
import { enrollmentOperations } from "../../internal/fleet/enrollment/mod.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { type Intruder, type Message, startIntruder } from "../harness/intruder.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { newOperator, requestAs, signedBy, writeOperatorFile } from "../harness/operators.ts";
import { startPeel, type TestPeel } from "../harness/peel.ts";
import { submitPeel } from "../harness/peel-connection.ts";
import { listAdministrators } from "../harness/registered.ts";
import { operatorConfig, svc } from "../harness/svc.ts";
import { until } from "../harness/until.ts";

// An attacker who controls the bus hides what was decided, with the credentials of a master and without its keys. One of two
// masters starts again meanwhile, and a peel remembers what it was told.

setDefaultTimeout(120_000);

const root = newOperator("root");
const thief = newKeyPair("user", systemRandom);

let bus: TestBus;
let intruder: Intruder;
let masters: [TestMaster, TestMaster];
let restart: () => Promise<void>;
let peel: TestPeel;
let config: string;

const verify = async (...flags: string[]) => {
  const { exit, stdout, stderr } = await svc([
    "audit",
    "verify",
    ...flags,
    "--config",
    config,
    "--output",
    "json",
  ]);
  if (stdout === "") throw new Error(stderr);
  return {
    exit,
    ...(JSON.parse(stdout) as { problems: { problem: string }[]; witnesses?: Witness[]; last: number }),
  };
};
interface Witness {
  newest: number;
  problem?: string;
}
/** What verify has against the audit, in words. */
const against = async (...flags: string[]) => {
  const { problems, witnesses = [] } = await verify(...flags);
  return [
    ...problems.map(({ problem }) => problem),
    ...witnesses.flatMap(({ problem }) => problem ?? []),
  ].join("; ");
};

/** The newest entry that a master remembers. */
function rememberedIn(home: string): number {
  const [file] = [...new Bun.Glob("**/*.audit").scanSync({ cwd: home, dot: true })];
  return file === undefined ? 0 : JSON.parse(readFileSync(join(home, file), "utf8")).last.seq;
}

/** A decision, so that the audit grows. */
async function decide(name: string): Promise<void> {
  const { enrollmentId: id } = await submitPeel(masters[0], name);
  const { subject } = enrollmentOperations.rejectEnrollment.bus;
  const request = signedBy(root, subject, encode({ id, reason: "test" } as Record<string, Plain>));
  expect(decode(await requestAs(intruder.bus, root, subject, request))).toMatchObject({ ok: true });
}

beforeAll(async () => {
  bus = await startBus();
  listAdministrators(bus.authDir, root);
  const start = (dataDir: string) =>
    startMaster(bus, {
      config: { operators: { require_signed: true } },
      env: { SVC_DATA_DIR: dataDir },
    });
  const homes = [mkdtempSync(join(bus.dir, "a-")), mkdtempSync(join(bus.dir, "b-"))] as const;
  masters = [await start(homes[0]), await start(homes[1])];
  restart = async () => {
    await masters[1][Symbol.asyncDispose]();
    masters[1] = await start(homes[1]);
  };
  intruder = await startIntruder(bus);
  config = operatorConfig(bus, writeOperatorFile(bus, root));
  peel = startPeel(mkdtempSync(join(bus.dir, "peel-")), [
    ...["--id", "web-1", "--bus-url", bus.url, "--bus-ca", bus.caFile],
    ...["--master-url", masters[0].url, "--enroll-ca", bus.caFile],
  ]);
  const { fields } = await peel.log.logged("enrollment pending: waiting for an operator's approval");
  const { subject } = enrollmentOperations.approveEnrollment.bus;
  const approval = signedBy(root, subject, encode({ id: String(fields?.enrollment_id) }));
  await requestAs(intruder.bus, root, subject, approval);
  await peel.ready;
  for (const name of ["one", "two", "three"]) await decide(name);
  const { last } = await verify();
  await until(async () => {
    intruder.bus.publish("svc.peel.web-1.hint", new Uint8Array());
    const { witnesses = [] } = await verify("--witness", "*");
    // Asking the peel is a job, which has entries as well.
    return (witnesses[0]?.newest ?? 0) >= last;
  });
  expect(await against("--witness", "*")).toBe("");
  // Masters look every few seconds.
  const newest = (await verify()).last;
  await until(() => homes.every((home) => rememberedIn(home) === newest));
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await intruder?.[Symbol.asyncDispose]();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** The chain made again with another content of one entry, by a key that no master has. */
function rechained(all: readonly Message[], change: number): Message[] {
  let at = beginning();
  return all.map(({ subject, data }, index) => {
    const entry = readEntry(data);
    const content = index + 1 === change ? { ...entry, operator: "nobody" } : entry;
    const kept = index + 1 < change;
    const { bytes, link } = writeEntry(content, at, thief);
    const stored = kept ? data : bytes;
    at = kept
      ? { seq: index + 1, hash: new Uint8Array(new Bun.CryptoHasher("sha256").update(data).digest()) }
      : link;
    return { subject, data: stored };
  });
}

const removed = (all: readonly Message[], gone: number) => all.filter((_, index) => index + 1 !== gone);
const cases: [
  what: string,
  alter: (all: readonly Message[]) => { messages: readonly Message[]; first?: number },
  says: RegExp,
][] = [
  [
    "the newest entries are removed",
    (all) => ({ messages: all.slice(0, 4) }),
    /saw it, and the audit ends with 4/,
  ],
  [
    "the oldest entries are removed",
    (all) => ({ messages: all.slice(3), first: 4 }),
    /1 to 3 are missing, and had not expired/,
  ],
  ["the oldest are removed, and the rest is moved up", (all) => ({ messages: all.slice(3) }), /it was moved/],
  ["one in the middle is removed", (all) => ({ messages: removed(all, 3) }), /it was moved/],
  [
    "one in the middle is changed, and what follows is signed again",
    (all) => ({ messages: rechained(all, 3) }),
    /which no master of this fleet has/,
  ],
  ["all is signed again", (all) => ({ messages: rechained(all, 1) }), /which no master of this fleet has/],
  ["the stream is empty", () => ({ messages: [] }), /entries were removed/],
  [
    "the stream is longer, and says something else",
    (all) => ({ messages: [...rechained(all, 1), ...rechained(all, 1)] }),
    /which no master of this fleet has/,
  ],
];

test.each(cases)("%s: verify says it, with one master started again", async (_, alter, says) => {
  const restore = await intruder.snapshot("audit");
  const all = await readRange(intruder.bus, "audit", { from: 1, count: 100_000 });
  const { messages, first } = alter(all);
  await intruder.rewrite("audit", messages, first);
  expect(await against()).toMatch(says);
  await restart();
  // Whichever master is asked.
  for (let requested = 0; requested < 4; requested++) expect(await against()).toMatch(says);
  await restore();
  expect(await against()).toBe("");
});

test("entries that masters wrote after the end was removed do not hide that", async () => {
  const all = await readRange(intruder.bus, "audit", { from: 1, count: 100_000 });
  await intruder.rewrite("audit", all.slice(0, 4));
  await restart();
  for (let more = 0; (await verify()).last <= all.length + 2; more++) await decide(`more-${more}`);
  await restart();
  for (let requested = 0; requested < 4; requested++) {
    expect(await against()).toContain("a master saw another entry");
  }
  const witnessed = await verify("--witness", "*");
  expect([witnessed.exit, witnessed.witnesses?.[0]?.problem]).toEqual([
    1,
    expect.stringContaining("the audit was rewritten there or before"),
  ]);
});
