import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { approvalOperations } from "../../internal/fleet/approvals/mod.ts";
import { enrollmentOperations } from "../../internal/fleet/enrollment/mod.ts";
import { operatorOperations } from "../../internal/fleet/operators/mod.ts";
import { rolloutOperations } from "../../internal/fleet/rollout/mod.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import type { Reply } from "../harness/client.ts";
import { bearer, call, decide, enrollNew, getStatus, newEnrollee, postJson } from "../harness/enrollee.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { newOperator, registryOf, requestAs, signedBy, type TestOperator } from "../harness/operators.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { listAdministrators, recordOf, signedRecord } from "../harness/registered.ts";
import { countExecutions } from "../harness/rollout-fleet.ts";
import { runRecord } from "../harness/run-record.ts";
import { until } from "../harness/until.ts";

// Everything that can wait for others, over the bus and over REST, on two masters: who asked, who may not do the
// same, who was removed, what was denied and what expired start nothing; the agreement of another one starts it.

setDefaultTimeout(60_000);

const roles = `roles:
  asker:
    jobs: [{functions: ["*"], targets: "*"}]
    rollouts: [list, show, {do: start, approvals: 1}]
    upgrades: [{do: start, approvals: 1}]
    binaries: [put]
    enrollments: [list, {do: approve, approvals: 1}, {do: revoke, approvals: 1}]
    operators: [list, show, {do: add, approvals: 1}, {do: roles, approvals: 1}, {do: remove, approvals: 1}]
    approvals: [list, show, approve, deny]
  watcher:
    approvals: [list, show, approve]
persons:
  eve: [token:eve]
  fay: [token:fay]
  gus: [token:gus]
  ann: [operator:ann]
  ben: [operator:ben]
  cho: [operator:cho]
  dan: [operator:dan]
`;
const root = newOperator("root");
const ann = newOperator("ann", ["asker"]);
const ben = newOperator("ben", ["asker"]);
const cho = newOperator("cho", ["watcher"]);
const dan = newOperator("dan", ["asker"]);
const known = [ann, ben, cho, dan];
const newToken = () => Buffer.from(systemRandom(24)).toString("base64url");
/** Of eve and fay, who ask and agree, and of gus, who may do neither. */
const tokens = { eve: newToken(), fay: newToken(), gus: newToken() };

let bus: TestBus;
let admin: Bus;
let masters: TestMaster[];
let peel: ManualPeel;
/** What the peel could not tell the bus. */
let failures: readonly unknown[] = [];
/** How far the clocks of the masters are ahead, milliseconds. */
let ahead = 0;
const clock = { ...systemClock, now: () => systemClock.now() + ahead };

beforeAll(async () => {
  bus = await startBus();
  listAdministrators(bus.authDir, root);
  const file = join(bus.dir, "roles.yaml");
  writeFileSync(file, roles);
  const named = { tester: testToken, ...tokens };
  const has = { tester: ["admin"], eve: ["asker"], fay: ["asker"], gus: ["watcher"] };
  const configured = Object.entries(named).map(([username, token]) => {
    runRecord.register("token", token);
    const token_file = join(bus.dir, `${username}.token`);
    writeFileAtomic(token_file, token, secretMode);
    return { username, token_file, roles: has[username as keyof typeof has] };
  });
  const operators = {
    judge: (...requested: Parameters<ReturnType<typeof registryOf>["judge"]>) =>
      registryOf(...known).judge(...requested),
  };
  const options = { tokens: configured, operators, clock, flags: ["--roles-file", file] };
  masters = [await startMaster(bus, options), await startMaster(bus, options)];
  admin = await connectTo(bus, "master");
  peel = await connectManualPeel(bus, await enrollPeel(first(), "web-1"));
  await peel.beat();
  failures = countExecutions([peel]).failures;
});
afterAll(async () => {
  // A job that the peel could not answer is why a rollout does not end.
  expect(failures).toEqual([]);
  await peel?.[Symbol.asyncDispose]();
  await admin?.nats.close();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const first = () => masters[0] as TestMaster;
const second = () => masters[1] as TestMaster;
const read = async (path: string): Promise<Reply> =>
  call(first(), { path: `/api/v1${path}`, headers: bearer });

/** One request, as each door takes it, and what it does. */
interface Wish {
  subject: string;
  fields: Record<string, Plain>;
  rest: { method: string; path: string; body: unknown };
  /** How often it has happened. */
  times(): Promise<number>;
}

let made = 0;
async function rollout(fields: Record<string, Plain>): Promise<Wish> {
  const count = async () => (await read("/rollouts?limit=100")).json as { status: string }[];
  // One of the same function on the same peels must have ended.
  await until(count, (list) => list.every(({ status }) => status !== "running"), 30_000);
  // A command that is lost while others are revoked is sent again to a peel that is alive.
  await peel.beat();
  const before = (await count()).length;
  return {
    ...{ subject: rolloutOperations.startRollout.bus.subject, fields },
    rest: { method: "POST", path: "/rollouts", body: fields },
    times: async () => (await count()).length - before,
  };
}
async function enrollment(verb: "approve" | "revoke"): Promise<Wish> {
  const id = await enrollNew(first(), newEnrollee());
  if (verb === "revoke") await decide(first(), "approve", id);
  const wanted = verb === "revoke" ? "revoked" : "approved";
  return {
    ...{ subject: enrollmentOperations[`${verb}Enrollment`].bus.subject, fields: { id } },
    rest: { method: "POST", path: `/enrollments/${id}/${verb}`, body: {} },
    times: async () => (((await getStatus(first(), id)).json as { state: string }).state === wanted ? 1 : 0),
  };
}
const changes = { add: "addOperator", roles: "setOperatorRoles", remove: "removeOperator" } as const;
async function operator(verb: keyof typeof changes): Promise<Wish> {
  const name = `op-${++made}`;
  const start = recordOf(newOperator(name, ["viewer"]));
  const shown = async () =>
    (await read(`/operators/${name}`)).json as { operator?: { version?: number; state: string } };
  if (verb !== "add") {
    const added = await postJson(
      first(),
      "/api/v1/operators",
      { record: signedRecord(start, root) },
      {
        headers: bearer,
      },
    );
    expect(added.status).toBe(201);
  }
  const changed = {
    add: start,
    roles: { ...start, version: 2, roles: ["auditor"] },
    remove: { ...start, version: 2, disabled: true as const },
  }[verb];
  const record = signedRecord(changed, root);
  const at = verb === "add" ? "" : verb === "roles" ? `/${name}/roles` : `/${name}`;
  return {
    subject: operatorOperations[changes[verb]].bus.subject,
    fields: verb === "add" ? { record } : { name, record },
    rest: { method: verb === "remove" ? "DELETE" : "POST", path: `/operators${at}`, body: { record } },
    async times() {
      const { operator: now } = await shown();
      if (verb === "remove") return now === undefined ? 1 : 0;
      return now?.version === changed.version ? 1 : 0;
    },
  };
}
const digest = "ab".repeat(32);
const binary = { manifest: digest, sha256: digest, size: 1_000, version: "9.9.9" };
const kinds: Readonly<Record<string, () => Promise<Wish>>> = {
  "a rollout": () => rollout({ target: "web-1", function: "test.ping" }),
  "an upgrade": () => rollout({ target: "web-1", function: "upgrade.apply", args: binary }),
  "the approval of an enrollment": () => enrollment("approve"),
  "the revocation of an enrollment": () => enrollment("revoke"),
  "a new operator": () => operator("add"),
  "other roles of an operator": () => operator("roles"),
  "the removal of an operator": () => operator("remove"),
};

interface Answer {
  ok: boolean;
  error?: { code: string; message: string };
  approval?: unknown;
}
/** What a door answers, in one form for both. */
interface Said {
  status: "ok" | "waits" | "forbidden" | "conflict" | "other";
  text: string;
  approval?: { state: string; outcome?: string; reason?: string };
}

const byCode: Readonly<Record<string, Said["status"]>> = {
  forbidden: "forbidden",
  conflict: "conflict",
  invalid_transition: "conflict",
};
async function send(who: TestOperator, subject: string, fields: Record<string, Plain>): Promise<Answer> {
  const request = signedBy(who, subject, encode(fields), ahead);
  return decode(await requestAs(admin, who, subject, request)) as unknown as Answer;
}
async function decideOverBus(who: TestOperator, verb: "approve" | "deny", id: string): Promise<Said> {
  const answer = await send(who, approvalOperations[`${verb}Request`].bus.subject, { id });
  const { error, approval } = answer;
  if (error !== undefined) return { status: byCode[error.code] ?? "other", text: error.message };
  return { status: "ok", text: "", approval: approval as NonNullable<Said["approval"]> };
}
const byStatus: Readonly<Record<number, Said["status"]>> = { 200: "ok", 403: "forbidden", 409: "conflict" };
/** Another master decides than the one that was asked. */
async function decideOverRest(token: string, verb: "approve" | "deny", id: string): Promise<Said> {
  const headers = { authorization: `Bearer ${token}` };
  const { status, json } = await postJson(second(), `/api/v1/approvals/${id}/${verb}`, {}, { headers });
  const known = byStatus[status] ?? "other";
  if (known !== "ok") return { status: known, text: (json as { error: string }).error };
  return { status: known, text: "", approval: json as NonNullable<Said["approval"]> };
}

const doors = {
  "over the bus": {
    async request({ subject, fields }: Wish, who: TestOperator = ann): Promise<string> {
      const answer = await send(who, subject, fields);
      expect(answer).toEqual({
        ok: true,
        approval: expect.stringMatching(/^apr-\w{27}$/),
        needs: 1,
      } as never);
      return String(answer.approval);
    },
    approve: (who: "asker" | "other" | "watcher", id: string) =>
      decideOverBus({ asker: ann, other: ben, watcher: cho }[who], "approve", id),
    deny: (id: string) => decideOverBus(ben, "deny", id),
    /** Asks as someone who is gone when others agree. */
    async requestAndRun(wish: Wish): Promise<string> {
      const id = await this.request(wish, dan);
      known.splice(known.indexOf(dan), 1);
      return id;
    },
    comeBack: () => void known.push(dan),
    gone: "the operator dan does not exist",
  },
  "over REST": {
    async request({ rest }: Wish, token: string = tokens.eve): Promise<string> {
      const headers = { authorization: `Bearer ${token}` };
      const path = `/api/v1${rest.path}`;
      const reply = await postJson(first(), path, rest.body, { headers, method: rest.method });
      const { approval } = reply.json as { approval: string };
      expect([reply.status, reply.json]).toEqual([202, { ok: true, approval, needs: 1 } as never]);
      expect(reply.headers.location).toBe(`/api/v1/approvals/${approval}`);
      return approval;
    },
    approve: (who: "asker" | "other" | "watcher", id: string) =>
      decideOverRest({ asker: tokens.eve, other: tokens.fay, watcher: tokens.gus }[who], "approve", id),
    deny: (id: string) => decideOverRest(tokens.fay, "deny", id),
    async requestAndRun(wish: Wish): Promise<string> {
      const name = `token-${++made}`;
      const body = { name, roles: ["asker"], expires: "1h" };
      const created = await postJson(first(), "/api/v1/tokens", body, { headers: bearer });
      const { id: tokenId, token } = created.json as { id: string; token: string };
      runRecord.register("token", token);
      const id = await this.request(wish, token);
      const at = { method: "DELETE", path: `/api/v1/tokens/${tokenId}`, headers: bearer };
      expect((await call(first(), at)).status).toBe(200);
      return id;
    },
    comeBack: () => {},
    gone: "the token has ended",
  },
};

describe.each(Object.entries(doors))("%s", (_, door) => {
  test.each(Object.entries(kinds))("%s happens once, when another operator agrees", async (_name, make) => {
    const wish = await make();
    const id = await door.request(wish);
    const own = await door.approve("asker", id);
    expect(own).toMatchObject({
      status: "forbidden",
      text: expect.stringContaining("another operator must agree"),
    });
    const unable = await door.approve("watcher", id);
    expect(unable.status).toBe("forbidden");
    expect(unable.text).toMatch(
      /\(role watcher\) cannot agree, .* no rule allows .*; ask an operator with role admin/,
    );
    expect(await wish.times()).toBe(0);
    expect(await door.approve("other", id)).toMatchObject({
      approval: { state: "started", outcome: "done" },
    });
    await until(wish.times, (times) => times === 1);
    expect(await door.approve("other", id)).toMatchObject({
      status: "conflict",
      text: expect.stringContaining("was started"),
    });
    expect(await wish.times()).toBe(1);
  });

  test.each(Object.entries(kinds))("%s that was denied does not happen", async (_name, make) => {
    const wish = await make();
    const id = await door.request(wish);
    expect(await door.deny(id)).toMatchObject({ approval: { state: "denied" } });
    expect(await door.approve("other", id)).toMatchObject({
      status: "conflict",
      text: expect.stringContaining("was denied by"),
    });
    expect(await wish.times()).toBe(0);
  });

  test.each(Object.entries(kinds))("%s of who was removed meanwhile does not happen", async (_name, make) => {
    const wish = await make();
    const id = await door.requestAndRun(wish);
    try {
      const ended = await door.approve("other", id);
      expect(ended.approval).toMatchObject({ outcome: "failed", reason: expect.stringContaining(door.gone) });
    } finally {
      door.comeBack();
    }
    expect(await wish.times()).toBe(0);
  });
});

test.each([
  ["over the bus", "ben"],
  ["over REST", "fay"],
] as const)("a rollout and each of its jobs name who agreed %s", async (name, agreed) => {
  const door = doors[name];
  const wish = await rollout({ target: "web-1", function: "test.ping", check: { function: "test.ping" } });
  await door.approve("other", await door.request(wish));
  const newest = async () => {
    const { id } = ((await read("/rollouts?limit=1")).json as { id: string }[])[0] ?? { id: "" };
    return (await read(`/rollouts/${id}`)).json as {
      status: string;
      approved_by?: string[];
      waves: { jid: string; check_jid: string }[];
    };
  };
  const { waves, approved_by } = await until(newest, ({ status }) => status === "completed");
  expect(approved_by).toEqual([agreed]);
  const jobs = waves.flatMap(({ jid, check_jid }) => [jid, check_jid]);
  expect(jobs).toHaveLength(2);
  for (const jid of jobs) expect((await read(`/jobs/${jid}`)).json).toMatchObject({ approved_by: [agreed] });
});

test("what waited longer than approvals.ttl does not happen, whatever it is", async () => {
  const waiting: { wish: Wish; id: string; door: (typeof doors)[keyof typeof doors] }[] = [];
  for (const door of Object.values(doors)) {
    for (const make of Object.values(kinds)) {
      const wish = await make();
      waiting.push({ wish, id: await door.request(wish), door });
    }
  }
  // The default is a day.
  ahead = 24 * 3_600_000 + 1_000;
  try {
    for (const { id, door } of waiting) {
      const late = { status: "conflict", text: expect.stringContaining("expired at") };
      expect(await door.approve("other", id)).toMatchObject(late);
      expect(await door.deny(id)).toMatchObject(late);
    }
  } finally {
    ahead = 0;
  }
  for (const { wish } of waiting) expect(await wish.times()).toBe(0);
});
