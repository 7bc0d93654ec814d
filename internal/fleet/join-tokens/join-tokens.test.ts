import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { type MemoryBucket, memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { seeded } from "../../../test/harness/seeded.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { defined } from "../../base/defined.ts";
import { systemRandom } from "../../base/id.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { Bucket } from "../../bus/storage/bucket.ts";
import { deriveCurveKey } from "../../identity/curve.ts";
import { joinProof, parseJoinToken } from "../../identity/join-token/mod.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { openSealed } from "../../identity/seal.ts";
import { attestationMessage, enrollmentMessage } from "../../wire/enrollment-messages.ts";
import { issueChallenge } from "../enrollment/joining/challenge.ts";
import type { EnrollDeps } from "../enrollment/joining/deps.ts";
import { takeSubmission } from "../enrollment/joining/enroll.ts";
import { createDirectory } from "../enrollment/store/directory.ts";
import { readEntry } from "../enrollment/store/store.ts";
import type { OperatorCaller } from "../operation/operation.ts";
import type { LacksForLabels } from "../roles/label-right.ts";
import { openEndedTokens } from "../tokens/ended.ts";
import type { JoinTokenDeps } from "./create.ts";
import { createJoinToken, listJoinTokens, revokeJoinToken, showJoinToken } from "./operations.ts";
import { keptMs, pruneTokens } from "./prune.ts";
import { sealContext } from "./seal-context.ts";
import { createTakings } from "./take.ts";
import { createJoinTokenView } from "./view.ts";
import { createJoinTokenWay } from "./way-in.ts";

const files = temporaryDirectory("join-tokens");
afterAll(() => files[Symbol.dispose]());

const minuteMs = 60_000;
const pin = `sha256:${"ab".repeat(32)}`;
const otherPin = `sha256:${"cd".repeat(32)}`;
const ann: OperatorCaller = { kind: "operator", name: "ann", door: "rest", roles: ["admin"] };
const mac = createRecordMac(newKeyPair("account", systemRandom));

let tokens: MemoryBucket;
let enrollments: MemoryBucket;
let challenges: MemoryBucket;
let clock: ReturnType<typeof manualClock>;
let log: ReturnType<typeof recordingLog>;
let masters = 0;
let lacks: LacksForLabels;

beforeEach(() => {
  [tokens, enrollments, challenges] = [memoryBucket(), memoryBucket(), memoryBucket()];
  [clock, log] = [manualClock(), recordingLog()];
  lacks = async () => undefined;
});

/** A master on the shared storage. After its end it writes nothing to the storage, whatever it was doing. */
function startMaster(options: { dies?: (write: string) => boolean; place?: string } = {}) {
  let isDead = false;
  const died = new Error("the master died");
  const mortal = <B extends Bucket>(bucket: B, name: string): B => {
    const wrap =
      <A extends unknown[], R>(what: string, run: (...args: A) => Promise<R>) =>
      async (...args: A) => {
        if (!isDead && options.dies?.(`${what} ${name}`) === true) isDead = true;
        if (isDead) throw died;
        return run(...args);
      };
    return {
      ...bucket,
      get: wrap("get", bucket.get),
      create: wrap("create", bucket.create),
      update: wrap("update", bucket.update),
      remove: wrap("remove", bucket.remove),
    };
  };
  const bucket = mortal(tokens, "tokens");
  const stored = mortal(enrollments, "enrollments");
  const path = join(files.path, options.place ?? `${masters++}`, "ended.json");
  const ended = openEndedTokens({ path, clock, log });
  const view = createJoinTokenView({ bucket, mac, ended, clock, log });
  const takings = createTakings({
    ...{ bucket, view, mac, clock, log, jitter: seeded(masters) },
    async resultOf(id) {
      const entry = await stored.get(id);
      const state = entry === undefined ? "pending" : readEntry({}, entry)?.record.state;
      if (state === "pending" || state === "rejected") return "none";
      return state === "revoked" ? "over" : "live";
    },
  });
  const operations: JoinTokenDeps = {
    ...{ tokens: bucket, view, ended, mac, clock, random: systemRandom },
    urls: () => ["https://svc.example.com:8443"],
    pins: () => [pin],
  };
  const deps: EnrollDeps = {
    ...{ enrollments: stored, challenges, clock, random: systemRandom, ownCaSpkis: [pin], log },
    rivals: createDirectory({ enrollments, log }),
    pending: { take: async () => ({ occupy: (_, store) => store(), giveBack: () => {} }) },
    metrics: { keyMismatch: () => {} },
    waysIn: [createJoinTokenWay({ view, takings, mac, lacks: (...given) => lacks(...given), clock, log })],
    begin: async () => async () => {},
  };
  return { deps, operations, view };
}

type Master = ReturnType<typeof startMaster>;
const call = (caller = ann) => ({ caller, log, clock });

async function create(
  { operations }: Pick<Master, "operations">,
  requested: Partial<Parameters<typeof createJoinToken.run>[1]> = {},
) {
  const input = { peel: "*", uses: 1, ttl: "24h", label: {}, url: [], hold: false, ...requested };
  const made = await createJoinToken.run(operations, input, call());
  return { ...made, ...parseJoinToken("test", made.token ?? "") };
}

const newHost = (peelId: string) => ({ peelId, key: newKeyPair("user", systemRandom) });

async function request(
  { deps }: Pick<Master, "deps">,
  { peelId, key }: ReturnType<typeof newHost>,
  token: { id: string; secret: Uint8Array } | undefined,
  root = pin,
) {
  const { publicKey } = key;
  const curvePublicKey = deriveCurveKey(key).publicKey;
  const challenge = await issueChallenge({ challenges, clock, random: systemRandom }, { peelId, publicKey });
  const submission = {
    ...{ peelId, publicKey, curvePublicKey, challengeId: challenge.id },
    signature: key.sign(enrollmentMessage(challenge.bytes, curvePublicKey)),
    attestation: {
      ...{ caSpki: root, signature: "" },
      signatureBytes: key.sign(attestationMessage(challenge.bytes, root)),
    },
    ...(token === undefined
      ? {}
      : { token: { id: token.id, proof: joinProof(token.secret, challenge.bytes, publicKey) } }),
  };
  return takeSubmission(deps, submission, "192.0.2.7");
}

/** How many hosts a token admitted, as the records say. */
async function countIn(id: string): Promise<number> {
  const records = (await enrollments.entries()).flatMap((entry) =>
    entry.key.startsWith("enr-") ? (readEntry({}, entry)?.record ?? []) : [],
  );
  return records.filter(({ state, decidedBy }) => state === "approved" && decidedBy === `token:${id}`).length;
}

describe("a token", () => {
  test("admits a host, with its labels, and is shown with the hosts that used it", async () => {
    const master = startMaster();
    const token = await create(master, { label: { env: "lab" }, note: "rack 7" });
    expect(token).toMatchObject({ urls: ["https://svc.example.com:8443"], pins: [pin], state: "open" });
    const { record, created } = await request(master, newHost("web-1_example_com"), token);
    expect({ record, created }).toMatchObject({
      record: { state: "approved", decidedBy: `token:${token.id}`, labels: { env: "lab" } },
      created: true,
    });
    const shown = await showJoinToken.run(master.operations, { id: token.id }, call());
    expect(shown).toMatchObject({
      ...{ state: "used up", uses_left: 0, note: "rack 7", created_by: "ann" },
      used_by: [{ peel_id: "web-1_example_com", enrollment: record.id }],
    });
    const stored = Buffer.from((await tokens.get(token.id))?.value ?? []);
    expect(stored.includes(Buffer.from(sha256Hex(token.secret), "hex"))).toBe(true);
    expect(stored.includes(token.secret)).toBe(false);
  });

  test.each<
    [string, { uses?: number; peel?: string; ttl?: string }, (m: Master, id: string) => unknown, string]
  >([
    ["used up", {}, (m, id) => request(m, newHost("web-2"), tokenOf.get(id)), "is used up: another host"],
    ["ended", { ttl: "1h" }, () => clock.advance(61 * minuteMs), "ended at 2026-01-01T01:00:00.000Z"],
    ["revoked", {}, (m, id) => revokeJoinToken.run(m.operations, { id }, call()), "join token was revoked"],
    ["for other hosts", { peel: "db-*" }, () => {}, "is for hosts that match db-*, and not for web-1"],
  ])("that is %s leaves no record", async (_, requested, happens, message) => {
    const [master, other] = [startMaster(), startMaster()];
    const token = await create(master, requested);
    tokenOf.set(token.id, token);
    await happens(master, token.id);
    const before = enrollments.keys.length;
    const requesting = request(other, newHost("web-1"), token);
    await expect(requesting).rejects.toMatchObject({
      kind: "forbidden",
      message: expect.stringContaining(message),
    });
    expect(enrollments.keys).toHaveLength(before);
  });

  test("of another secret, of another challenge and of another key is refused alike", async () => {
    const master = startMaster();
    const token = await create(master);
    const wrong = { id: token.id, secret: systemRandom(32) };
    const unknown = {
      id: token.id.replace(/.$/, (last) => (last === "a" ? "b" : "a")),
      secret: token.secret,
    };
    for (const one of [wrong, unknown]) {
      await expect(request(master, newHost("web-1"), one)).rejects.toMatchObject({
        ...{ kind: "unauthorized", message: "join token verification failed" },
      });
    }
    expect(master.view.used(token.id)).toBe(0);
  });

  test.each<[string, boolean, string]>([
    ["that holds", true, pin],
    ["of a host that trusts another root", false, otherPin],
  ])("%s leaves it pending with its labels, and takes no use", async (_, hold, root) => {
    const master = startMaster();
    const token = await create(master, { hold, label: { env: "lab" } });
    const { record } = await request(master, newHost("web-1"), token, root);
    expect(record).toMatchObject({ state: "pending", labels: { env: "lab" } });
    expect(master.view.used(token.id)).toBe(0);
  });

  test("admits a host that waits already", async () => {
    const master = startMaster();
    const token = await create(master);
    const host = newHost("web-1");
    const { record } = await request(master, host, undefined);
    expect(await request(master, host, token)).toMatchObject({
      ...{ record: { id: record.id, state: "approved" }, created: false },
    });
  });

  test("is sealed to the client that asks over the bus, and not sent otherwise", async () => {
    const master = startMaster();
    const bus = { ...ann, door: "bus" as const };
    const input = { peel: "*", uses: 1, ttl: "24h", label: {}, url: ["https://a:1"], hold: false };
    await expect(createJoinToken.run(master.operations, input, call(bus))).rejects.toThrow(
      "seal_to is required",
    );
    const key = deriveCurveKey(newKeyPair("user", systemRandom));
    const made = await createJoinToken.run(
      master.operations,
      { ...input, seal_to: key.publicKey },
      call(bus),
    );
    expect(made.token).toBeUndefined();
    const box = Buffer.from(made.sealed ?? "", "base64");
    const text = Buffer.from(openSealed(box, key, sealContext(made.id))).toString();
    expect(parseJoinToken("test", text)).toMatchObject({ id: made.id, urls: ["https://a:1"] });
    expect(JSON.stringify(log.records)).not.toContain(text.slice(20));
  });

  test("has the bus where masters advertise none, and says which hosts cannot reach it", async () => {
    const { operations } = startMaster();
    const made = async (busUrl?: string) => {
      const { warning, ...token } = await create({ operations: { ...operations, ...defined({ busUrl }) } });
      return { busUrl: token.busUrl, isWarned: warning !== undefined, warning };
    };
    expect(await made()).toMatchObject({ busUrl: undefined, isWarned: false });
    expect(await made("tls://bus.example.com:4222")).toMatchObject({
      ...{ busUrl: "tls://bus.example.com:4222", isWarned: false },
    });
    const local = await made("tls://localhost:4222");
    expect(local).toMatchObject({ busUrl: "tls://localhost:4222", isWarned: true });
    expect(local.warning).toContain("set bus_advertise_urls in the configuration of each master");
  });

  test.each([
    [{ ttl: "31d" }, "ttl must be 1m to 30d"],
    [{ ttl: "59s" }, "ttl must be 1m to 30d"],
    [{ ttl: "soon" }, "is not a duration"],
  ])("with %j is refused", async (requested, message) => {
    await expect(create(startMaster(), requested)).rejects.toThrow(message);
    expect(tokens.keys).toEqual([]);
  });

  test("counts against the uses of all tokens", async () => {
    const master = startMaster();
    for (let n = 0; n < 10; n++) await create(master, { uses: 10_000 });
    await expect(create(master)).rejects.toThrow("more than 100000 uses");
    const [first] = (await listJoinTokens.run(master.operations, {}, call())).tokens;
    await revokeJoinToken.run(master.operations, { id: first?.id ?? "" }, call());
    expect(await create(master)).toMatchObject({ state: "open" });
  });

  test("is removed with its uses a week after its end", async () => {
    const master = startMaster();
    const token = await create(master, { ttl: "1h", uses: 3 });
    await request(master, newHost("web-1"), token);
    clock.advance(60 * minuteMs + keptMs - 1);
    await pruneTokens(master.operations);
    expect(tokens.keys).toHaveLength(2);
    clock.advance(1);
    await pruneTokens(master.operations);
    expect(tokens.keys).toEqual([]);
    expect(master.view.all()).toEqual([]);
    expect(log.records.filter(({ level }) => level === "error")).toEqual([]);
  });
});

const tokenOf = new Map<string, { id: string; secret: Uint8Array }>();

describe("an attacker who controls the bus", () => {
  test("can neither make a token, nor change one, nor put an earlier one back", async () => {
    const master = startMaster({ place: "hostile" });
    const token = await create(master, { peel: "db-*" });
    const entry = await tokens.get(token.id);
    const stored = decode(entry?.value ?? new Uint8Array()) as Record<string, Plain>;
    for (const change of [{ peel: "*" }, { uses: 9 }, { hold: true }, { labels: { a: "b" } }, { v: 2 }]) {
      await tokens.put(token.id, encode({ ...stored, ...change }));
      expect([change, master.view.get(token.id)]).toEqual([change, undefined]);
    }
    await tokens.put(token.id, entry?.value ?? new Uint8Array());
    expect(master.view.get(token.id)).toBeDefined();
    await revokeJoinToken.run(master.operations, { id: token.id }, call());
    await tokens.put(token.id, entry?.value ?? new Uint8Array());
    expect(master.view.get(token.id)).toBeUndefined();
    // Also for a master that starts again.
    expect(startMaster({ place: "hostile" }).view.get(token.id)).toBeUndefined();
  });

  test("cannot free a use", async () => {
    const master = startMaster();
    const token = await create(master);
    await request(master, newHost("web-1"), token);
    const key = `${token.id}.0`;
    const used = await tokens.get(key);
    if (used === undefined) throw new Error("no use is stored");
    const { record } = await request(master, newHost("web-2"), await create(master, { uses: 2 }));
    expect(record.state).toBe("approved");
    const refused = () => expect(request(master, newHost("web-3"), token)).rejects.toThrow("is used up");
    const map = decode(used.value) as Record<string, Plain>;
    await tokens.put(key, encode({ ...map, free: true }));
    await refused();
    await tokens.put(key, used.value);
    const { revision } = (await tokens.get(key)) ?? { revision: 0 };
    await tokens.remove(key, revision);
    await refused();
    expect(log.records.filter(({ level }) => level === "error")).toHaveLength(2);
  });
});

describe("never more, and no use lost for good", () => {
  test("100 hosts with 50 uses on two masters: exactly 50", async () => {
    const pair = [startMaster(), startMaster()] as const;
    const token = await create(pair[0], { uses: 50 });
    const requested = Array.from({ length: 100 }, (_, n) => {
      return request(n % 2 === 0 ? pair[0] : pair[1], newHost(`web-${n}`), token);
    });
    const ended = await Promise.allSettled(requested);
    const refusals = ended.flatMap((one) => (one.status === "rejected" ? [String(one.reason.message)] : []));
    expect(await countIn(token.id)).toBe(50);
    expect(new Set(refusals)).toEqual(new Set(["join token is used up: 50 hosts have joined with it"]));
    expect(refusals).toHaveLength(50);
  });

  test("a use whose record cannot be stored is given back", async () => {
    const master = startMaster();
    const token = await create(master);
    enrollments.beforeWrite = () => {
      throw new Error("the bus is down");
    };
    await expect(request(master, newHost("web-1"), token)).rejects.toThrow("the bus is down");
    enrollments.beforeWrite = () => {};
    expect(master.view.used(token.id)).toBe(0);
    expect(await request(startMaster(), newHost("web-2"), token)).toMatchObject({
      record: { state: "approved" },
    });
  });

  test("a use of a master that died is the same host's, or after two minutes any other host's", async () => {
    const dying = startMaster({ dies: (write) => write === "create enrollments" });
    const master = startMaster();
    const token = await create(master);
    const host = newHost("web-1");
    await expect(request(dying, host, token)).rejects.toThrow("the master died");
    expect(master.view.used(token.id)).toBe(1);
    // The first master might still be at work.
    await expect(request(master, host, token)).rejects.toMatchObject({
      ...{ kind: "unavailable", retryAfterMs: 120_000 },
    });
    await expect(request(master, newHost("web-2"), token)).rejects.toThrow("is used up");
    clock.advance(120_000);
    const again = startMaster({ dies: (write) => write === "create enrollments" });
    await expect(request(again, host, token)).rejects.toThrow("the master died");
    clock.advance(120_000);
    expect(await request(master, newHost("web-2"), token)).toMatchObject({ record: { state: "approved" } });
    await expect(request(master, host, token)).rejects.toThrow("is used up");
  });

  test("a host whose record has no index yet is not refused, and takes no second use", async () => {
    let writes = 0;
    const dying = startMaster({ dies: (write) => write === "create enrollments" && ++writes === 2 });
    const master = startMaster();
    const token = await create(master, { uses: 2 });
    const host = newHost("web-1");
    await expect(request(dying, host, token)).rejects.toThrow("the master died");
    await expect(request(master, host, token)).rejects.toMatchObject({
      kind: "unavailable",
      retryAfterMs: 120_000,
    });
    expect(master.view.used(token.id)).toBe(1);
  });

  test("a master that was stopped for a while stores no record with a use that may be another one's", async () => {
    const master = startMaster();
    const token = await create(master);
    const begin = async () => {
      clock.advance(30_000);
      return async () => {};
    };
    const slow = { deps: { ...master.deps, begin } };
    await expect(request(slow, newHost("web-1"), token)).rejects.toMatchObject({ kind: "unavailable" });
    expect(enrollments.keys).toEqual([]);
    expect(await request(master, newHost("web-2"), token)).toMatchObject({ record: { state: "approved" } });
  });

  test("N uses and 2N hosts, with masters that die anywhere", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 }),
        async (uses, deaths) => {
          [tokens, enrollments, challenges] = [memoryBucket(), memoryBucket(), memoryBucket()];
          const steady = startMaster();
          const token = await create(steady, { uses });
          const mortals = deaths.map((after) => {
            let writes = 0;
            return startMaster({ dies: () => ++writes > after });
          });
          const hosts = Array.from({ length: 2 * uses }, (_, n) => newHost(`web-${n}`));
          const round = (all: readonly Master[]) =>
            Promise.allSettled(hosts.map((host, n) => request(all[n % all.length] ?? steady, host, token)));
          await round(mortals);
          expect(await countIn(token.id)).toBeLessThanOrEqual(uses);
          await round([steady, ...mortals]);
          expect(await countIn(token.id)).toBeLessThanOrEqual(uses);
          for (let n = 0; n < 2; n++) {
            clock.advance(120_000);
            await round([steady]);
          }
          expect(await countIn(token.id)).toBe(uses);
          for (const { view } of [steady, ...mortals]) {
            const counted = [...view.usesOf(token.id).values()].filter(({ free }) => !free).length;
            expect(view.used(token.id)).toBe(counted);
          }
        },
      ),
      { numRuns: 30 },
    );
  });
});

test("a host waits without labels when who created its token may no longer set them, and takes no use", async () => {
  const master = startMaster();
  const judged: unknown[] = [];
  lacks = async (...given) => {
    judged.push(given);
    return "enrollments label env=lab";
  };
  const token = await create(master, { label: { env: "lab" } });
  const host = newHost("web_1");
  const waiting = await request(master, host, token);
  expect(waiting.record).toMatchObject({ state: "pending" });
  expect(waiting.record).not.toHaveProperty("labels");
  expect(judged).toEqual([
    [
      { name: "ann", roles: ["admin"] },
      { own: { env: "lab" }, former: {} },
    ],
  ]);
  expect(master.view.used(token.id)).toBe(0);
  // Another root gives it no labels either.
  const other = await request(master, newHost("web_2"), token, otherPin);
  expect(other.record).toMatchObject({ state: "pending", trustMismatch: true });
  expect(other.record).not.toHaveProperty("labels");
  // Control: with the right again.
  lacks = async () => undefined;
  expect((await request(master, host, token)).record).toMatchObject({
    ...{ id: waiting.record.id, state: "approved", labels: { env: "lab" } },
  });
});
