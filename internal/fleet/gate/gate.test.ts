import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import { sha256, sha256Hex } from "../../base/sha256.ts";
import { WaitingRequest } from "../../base/waiting.ts";
import type { Content } from "../audit/entry.ts";
import { createRecorder } from "../audit/recorder.ts";
import type { OnceRequest } from "../audit/repeats.ts";
import { describeSubjects } from "../audit/subjects.ts";
import { type Agreement, type Caller, invoke, operation, type Scope } from "../operation/mod.ts";
import { createGate } from "./gate.ts";

const clock = manualClock();
type Written = Omit<Content, "at" | "master">;

function gated(
  options: {
    refuses?: SvcError;
    /** A snapshot that nobody can fetch any more. */
    gone?: string;
    park?: (...waiting: unknown[]) => Promise<WaitingRequest>;
    /** A peel that runs released files alone. */
    insists?: string;
    fails?: (entry: Written) => boolean;
  } = {},
) {
  const written: Written[] = [];
  /** The nonces that were looked for. */
  const requested: string[] = [];
  const log = recordingLog();
  const audit = {
    async append(entry: Written) {
      if (options.fails?.(entry) === true) throw new SvcError("unavailable", "the audit cannot be written");
      written.push(entry);
      return { seq: written.length, hash: new Uint8Array(32) };
    },
  };
  const repeats = {
    async isRepeated({ nonce }: OnceRequest) {
      requested.push(nonce);
      return requested.indexOf(nonce) < requested.length - 1;
    },
  };
  const recorder = createRecorder({ audit, repeats, clock, log });
  const { park } = options;
  const gate = createGate({
    roles: {
      async authorize() {
        if (options.refuses !== undefined) throw options.refuses;
        return { approvals: park === undefined ? 0 : 1 };
      },
    },
    approvals: () => (park === undefined ? undefined : { takes: () => true, park }),
    administrators: () => [],
    resolve: async () => ["web-1"],
    async resolveFiles({ wanted: { environment }, peels, isSigned }) {
      const content = { environment, commit: "local", snapshot: "ab".repeat(32), sources: [] };
      if (options.insists === undefined || !(await peels()).includes(options.insists)) return { content };
      const released = { environment, commit: "c1", snapshot: "cd".repeat(32) };
      return isSigned ? { content: released } : { content, released };
    },
    async assertPublished({ snapshot }) {
      if (options.gone === snapshot) throw new SvcError("not_found", "no longer published");
    },
    ...{ audit, recorder, isSafe: (name) => name === "service.restart", clock, log },
  });
  return { written, requested, gate, log, recorder };
}

let ran = 0;
const run = operation({
  name: "jobs.create",
  kind: "change",
  summary: "Run",
  admits: ["operator", "reactor"],
  scope: { kind: "jobs", action: "run" },
  input: v.strictObject({ target: v.string(), function: v.string(), args: v.record(v.string(), v.any()) }),
  output: v.object({ jid: v.string(), targets: v.array(v.string()) }),
  touches: ({ target }) => ({ peels: { expression: target } }),
  async run({ failure }: { failure?: Error }) {
    ran++;
    if (failure !== undefined) throw failure;
    return { jid: "job-1", targets: ["web-1", "web-2"] };
  },
});
const read = operation({ ...run, name: "jobs.list", kind: "read" });

const ann: Caller = { kind: "operator", name: "ann", door: "bus", key: "UANN" };
const fields = { target: "web-*", function: "cmd.run", args: { password: "hunter2" } };
const request = (
  { gate, log }: ReturnType<typeof gated>,
  {
    caller = ann,
    failure,
    requested = fields,
    does = run,
  }: { caller?: Caller; failure?: Error; requested?: typeof fields; does?: typeof run } = {},
) => {
  const deps = failure === undefined ? {} : { failure };
  return invoke(does, deps, { fields: requested }, { caller, requestId: "r-1", log, clock, gate });
};

const begun = {
  ...{ operator: "ann", key: "UANN", via: "bus", action: "jobs.create", outcome: "begun", requestId: "r-1" },
  subjects: { target: "web-*", function: "cmd.run", args_digest: sha256Hex(encode(fields.args)) },
  requestDigest: sha256(encode(fields)),
};

test("what changes something has an entry before and after it, and no secret is in them", async () => {
  const one = gated();
  await request(one);
  expect(one.written as unknown[]).toEqual([
    begun,
    {
      ...begun,
      outcome: "done",
      subjects: { ...begun.subjects, job: "job-1", peels: ["web-1", "web-2"], peel_count: 2, begun: 1 },
    },
  ]);
  expect(JSON.stringify(one.written)).not.toContain("hunter2");
});

test("the state files that a request runs are in it, by name, commit and digest", async () => {
  const one = gated();
  const files = { environment: "feature/a", commit: "local", snapshot: "ab".repeat(32) };
  const requested = { target: "web-1", function: "state.apply", args: { environment: "feature/a" } };
  await request(one, { requested: requested as never });
  expect(one.written.map(({ subjects }) => subjects)).toMatchObject([files, files]);
  expect(begun.subjects).not.toHaveProperty("snapshot");
  const parking = gated({ park: async () => new WaitingRequest("apr-1", 1) });
  await expect(request(parking, { requested: requested as never })).rejects.toThrow();
  expect(parking.written[0]).toMatchObject({ action: "approvals.park", subjects: files });
});

test("arguments of functions that take no secrets are in it", async () => {
  const one = gated();
  await request(one, {
    requested: { ...fields, function: "service.restart", args: { name: "nginx" } as never },
  });
  expect(one.written[0]?.subjects).toMatchObject({ function: "service.restart", args: { name: "nginx" } });
  // Of what would not be read as it was written, only the digest is there.
  const input = { function: "service.restart", args: JSON.parse('{"__proto__": {"a": 1}}') };
  const odd = describeSubjects({ touched: { fleet: true }, input, scope: run.scope as Scope }, () => true);
  expect(Object.keys(odd)).toEqual(["function", "args_digest"]);
});

test("what fails is recorded with its reason; of a bug no details", async () => {
  const one = gated();
  await expect(request(one, { failure: new SvcError("not_found", "no such thing") })).rejects.toThrow();
  await expect(request(one, { failure: new Error("secret of a bug") })).rejects.toThrow();
  expect(one.written.map(({ outcome, reason }) => [outcome, reason])).toEqual([
    ["begun", undefined],
    ["failed", "no such thing"],
    ["begun", undefined],
    ["failed", "internal error"],
  ]);
});

test("nothing happens without its entry", async () => {
  const before = ran;
  await expect(request(gated({ fails: () => true }))).rejects.toMatchObject({ kind: "unavailable" });
  expect(ran).toBe(before);
});

test("a refusal is recorded, also of a read; a read that is allowed is not", async () => {
  const refuses = new SvcError("forbidden", "ann may not");
  for (const does of [run, read]) {
    const one = gated({ refuses });
    const before = ran;
    await expect(request(one, { does })).rejects.toBe(refuses);
    expect(ran).toBe(before);
    expect(one.written).toMatchObject([{ outcome: "refused", reason: "ann may not", action: does.name }]);
  }
  const allowed = gated();
  await request(allowed, { does: read });
  expect(allowed.written).toEqual([]);
  // A refusal stays one where the audit cannot be written.
  await expect(request(gated({ refuses, fails: () => true }))).rejects.toBe(refuses);
});

test("a client in a loop does not fill the audit with refusals", async () => {
  const one = gated({ refuses: new SvcError("forbidden", "no") });
  for (let at = 0; at < 100; at++) await request(one).catch(() => {});
  expect(one.written).toHaveLength(60);
  await request(one, { caller: { ...ann, name: "bob" } }).catch(() => {});
  expect(one.written).toHaveLength(61);
  clock.advance(60_000);
  await request(one).catch(() => {});
  expect(one.written).toHaveLength(62);
});

/** A request whose sender nobody could establish. */
const stranger = (user: string, claimed: object = {}) => ({
  ...{ operation: "jobs.create", user, claimed, bytes: new Uint8Array([7]), requestId: "req-1" },
});

test("a request of nobody known is recorded with what it claims, and with no key", async () => {
  const one = gated();
  const claimed = { operator: "ann", key: "UANN" };
  await one.gate.refuse?.(stranger("UEVE", claimed), new SvcError("unauthorized", "it was taken before"));
  await one.gate.refuse?.(stranger("UEVE", { operator: 7, key: "x".repeat(1_000) }), new Error("bug"));
  expect(one.written).toEqual([
    {
      ...{ operator: "ann", key: "", via: "bus", action: "jobs.create", outcome: "refused" },
      subjects: { unproven: true, user: "UEVE", claimed_key: "UANN" },
      ...{ reason: "it was taken before", requestId: "req-1", requestDigest: sha256(new Uint8Array([7])) },
    },
    expect.objectContaining({
      operator: "unknown",
      subjects: { unproven: true, user: "UEVE", claimed_key: "x".repeat(256) },
    }),
  ]);
  // It stays a refusal where the audit cannot be written.
  await gated({ fails: () => true }).gate.refuse?.(stranger("UEVE"), new Error("no"));
});

test("a flood of them does not fill the audit, whatever names they claim and however many send it", async () => {
  const one = gated();
  const refuse = (user: string, operator: string) =>
    one.gate.refuse?.(stranger(user, { operator }), new SvcError("unauthorized", "no"));
  for (let at = 0; at < 500; at++) await refuse("UEVE", `name-${at}`);
  expect(one.written).toHaveLength(60);
  for (let at = 0; at < 500; at++) await refuse(`U${at}`, "ann");
  expect(one.written).toHaveLength(120);
  // Operators that the roles refuse are counted apart.
  const two = gated({ refuses: new SvcError("forbidden", "no") });
  for (let at = 0; at < 200; at++) await two.gate.refuse?.(stranger(`U${at}`), new Error("no"));
  await request(two).catch(() => {});
  expect(two.written).toHaveLength(121);
  clock.advance(60_000);
  await refuse("UEVE", "ann");
  expect(one.written).toHaveLength(121);
});

test.each<[Caller, Partial<Content>]>([
  [
    { kind: "operator", name: "ann", door: "rest" },
    { via: "rest", operator: "ann", key: "" },
  ],
  [
    { kind: "operator", name: "ann", door: "direct" },
    { via: "direct", operator: "ann" },
  ],
  [
    { kind: "reactor", rule: "web", door: "reactor" },
    { via: "reactor", operator: "reactor:web" },
  ],
])("the caller and the door: %j", async (caller, expected) => {
  const one = gated();
  await request(one, { caller });
  expect(one.written[0]).toMatchObject(expected);
});

test("of a signed request the digest is that of its envelope", async () => {
  const envelope = Buffer.from("the envelope");
  const one = gated();
  await request(one, { caller: { ...ann, signed: { envelope, subject: "svc.job.request" } } as Caller });
  expect(one.written[0]?.requestDigest).toEqual(sha256(envelope));
});

test("a signed request that is sent again does not happen again, unless it makes the same job", async () => {
  const nonce = Buffer.alloc(16, 7);
  const signed = { envelope: Buffer.from("e"), subject: "svc.rollout.start", nonce };
  const caller = { ...ann, signed } as Caller;
  const start = operation({ ...run, name: "rollouts.start" });
  const one = gated();
  const before = ran;
  await request(one, { caller, does: start });
  await expect(request(one, { caller, does: start })).rejects.toMatchObject({ kind: "unauthorized" });
  expect(ran).toBe(before + 1);
  const hex = nonce.toString("hex");
  expect(one.requested).toEqual([hex, hex]);
  expect(one.written.map(({ outcome, subjects }) => [outcome, subjects.nonce])).toEqual([
    ["begun", hex],
    ["done", undefined],
    ["begun", hex],
    ["failed", undefined],
  ]);
  // Its id follows from the request, and peels run each job once.
  await request(one, { caller });
  await request(one, { caller });
  expect(one.requested).toHaveLength(2);
  // What others agreed to is started until it has begun.
  const agreement: Agreement = { approval: "apr-1", by: ["ben"], startedAt: 0, idFor: () => "rol-1" };
  const call = { caller, agreement, requestId: "r-1", log: one.log, clock, gate: one.gate };
  for (let at = 0; at < 2; at++) await invoke(start, {}, { fields }, call);
  expect(one.requested).toHaveLength(2);
});

test("what others agreed to does not run when its files are no longer published", async () => {
  const snapshot = "cd".repeat(32);
  const one = gated({ gone: snapshot });
  const before = ran;
  const agreed = (digest: string) => {
    const content = { environment: "base", commit: "local", snapshot: digest };
    const agreement: Agreement = {
      ...{ approval: "apr-1", by: ["ben"], startedAt: 0, idFor: () => "job-1" as const, content },
    };
    const call = { caller: ann, agreement, requestId: "r-1", log: one.log, clock, gate: one.gate };
    return invoke(run, {}, { fields }, call);
  };
  await expect(agreed(snapshot)).rejects.toThrow("no longer published");
  expect(ran).toBe(before);
  await agreed("ef".repeat(32));
  expect(ran).toBe(before + 1);
});

test("an end that the bus does not take is written later", async () => {
  let isDown = true;
  const one = gated({ fails: ({ outcome }) => isDown && outcome === "done" });
  await request(one);
  expect(one.written.map(({ outcome }) => outcome)).toEqual(["begun"]);
  await clock.pass(1_500);
  isDown = false;
  await clock.pass(5_000);
  expect(one.written.map(({ outcome, subjects }) => [outcome, subjects.begun])).toEqual([
    ["begun", undefined],
    ["done", 1],
  ]);
  one.recorder.stop();
});

describe("state files", () => {
  const files = (digest: string) => ({ environment: "base", commit: "local", snapshot: digest.repeat(32) });
  const bytes = (digest: string) => Buffer.from(digest.repeat(32), "hex");
  const apply = operation({
    ...run,
    input: v.strictObject({ ...run.input.entries, snapshot: v.instance(Uint8Array) }),
    async run(_, __, { content }) {
      return { jid: content?.snapshot.slice(0, 2) ?? "", targets: [] };
    },
  });
  const start = (snapshot: string, agreement?: Agreement) => {
    const { gate, log } = gated();
    const fields = { target: "*", function: "state.apply", args: {}, snapshot: bytes(snapshot) };
    return invoke(apply, {}, { fields }, { caller: ann, log, clock, gate, ...defined({ agreement }) });
  };
  const agreedTo = (digest: string): Agreement => ({
    ...{ approval: "apr-1", by: ["ben"], startedAt: 0, idFor: () => "job-1" },
    content: files(digest),
  });

  test("are those that were requested, or nothing starts", async () => {
    expect(await start("ab")).toMatchObject({ jid: "ab" });
    await expect(start("cd")).rejects.toMatchObject({
      kind: "conflict",
      message:
        "the state files of base are abababababab now, not cdcdcdcdcdcd: nothing was started; ask again",
    });
  });

  test("for peels that run released files alone are recorded, and go with the request", async () => {
    const kept: unknown[] = [];
    const given: unknown[] = [];
    const does = operation({
      ...run,
      async run(_, __, { content, released, peels }) {
        given.push([content?.snapshot.slice(0, 2), released?.snapshot.slice(0, 2), peels]);
        return { jid: "job-1", targets: [] };
      },
    });
    const fields = { target: "*", function: "state.apply", args: {} };
    const requestIt = async (
      options: Parameters<typeof gated>[0],
      caller: Caller = ann,
      agreement?: Agreement,
    ) => {
      const { gate, log, written } = gated(options);
      const call = { caller, log, clock, gate, ...defined({ agreement }) };
      await invoke(does, {}, { fields }, call).catch(() => {});
      return written[0]?.subjects;
    };
    const insists = "web-1";
    const released = { commit: "c1", snapshot: "cd".repeat(32) };
    expect(await requestIt({ insists })).toMatchObject({ snapshot: "ab".repeat(32), released });
    // It runs on exactly the peels for which this was decided.
    expect(given.pop()).toEqual(["ab", "cd", ["web-1"]]);
    const signed = { envelope: Buffer.from("e"), subject: "svc.job.request" };
    const whole = await requestIt({ insists }, { ...ann, signed } as Caller);
    expect(whole).toMatchObject(released);
    expect(whole).not.toHaveProperty("released");
    expect(given.pop()).toEqual(["cd", undefined, ["web-1"]]);
    // The control.
    expect(await requestIt({ insists: "db-1" })).not.toHaveProperty("released");
    expect(given.pop()).toEqual(["ab", undefined, ["web-1"]]);
    // A request that waits keeps both, and starts with both.
    const park = async (...waiting: unknown[]) => {
      kept.push(waiting[1]);
      return new WaitingRequest("apr-1", 1);
    };
    await requestIt({ insists, park });
    expect(kept).toMatchObject([{ content: files("ab"), released: { environment: "base", ...released } }]);
    await requestIt({ insists }, ann, { ...agreedTo("ab"), released: files("ef") });
    expect(given.pop()).toEqual(["ab", "ef", undefined]);
  });

  test("that others agreed to are those that were signed, whatever is published now", async () => {
    expect(await start("cd", agreedTo("cd"))).toMatchObject({ jid: "cd" });
    await expect(start("cd", agreedTo("ab"))).rejects.toMatchObject({ kind: "conflict" });
  });
});

test("a request that waits for others does not run; that it was kept is recorded before it is", async () => {
  const before = ran;
  const waiting = new WaitingRequest(`apr-${"a".repeat(27)}`, 1);
  let kept = 0;
  const park = async () => {
    kept++;
    return waiting;
  };
  const one = gated({ park });
  await expect(request(one)).rejects.toBe(waiting);
  expect(one.written.map(({ action, outcome }) => [action, outcome])).toEqual([
    ["approvals.park", "begun"],
    ["approvals.park", "done"],
  ]);
  expect(one.written[1]?.subjects).toMatchObject({ approval: waiting.approval, request: "jobs.create" });
  await expect(request(gated({ park, fails: () => true }))).rejects.toMatchObject({ kind: "unavailable" });
  expect([ran, kept]).toEqual([before, 1]);
});

test("what shows secrets is recorded before it shows any, though it only reads; what hides them is not", async () => {
  const reveal = operation({
    name: "settings.reveal",
    kind: "read",
    summary: "Reveal",
    admits: ["operator"],
    scope: { kind: "settings", action: "reveal" },
    input: v.strictObject({ id: v.string(), name: v.optional(v.string()) }),
    output: v.object({ value: v.string() }),
    touches: ({ id }) => ({ peel: id }),
    async run() {
      ran++;
      return { value: "hunter2" };
    },
  });
  const check = ({ gate, log }: ReturnType<typeof gated>, does: typeof reveal) =>
    invoke(does, {}, { fields: { id: "web-1", name: "db:password" } }, { caller: ann, log, clock, gate });
  const one = gated();
  expect(await check(one, reveal)).toEqual({ value: "hunter2" });
  const subjects = { peel: "web-1", setting: "db:password" };
  expect(one.written).toMatchObject([
    { operator: "ann", action: "settings.reveal", outcome: "begun", subjects },
    { operator: "ann", action: "settings.reveal", outcome: "done" },
  ]);
  expect(JSON.stringify(one.written)).not.toContain("hunter2");
  const before = ran;
  await expect(check(gated({ fails: () => true }), reveal)).rejects.toMatchObject({ kind: "unavailable" });
  expect(ran).toBe(before);
  const other = gated();
  await check(other, { ...reveal, name: "settings.show", scope: { kind: "settings", action: "render" } });
  expect(other.written).toEqual([]);
});
