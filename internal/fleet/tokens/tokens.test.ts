import { afterAll, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import type { Change } from "../../bus/storage/entry.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import type { Caller, OperatorCaller } from "../operation/operation.ts";
import { covers } from "../roles/covers.ts";
import { readRoles } from "../roles/read-roles.ts";
import { digestOf, newTokenText, type TokenDeps } from "./create.ts";
import { openEndedTokens } from "./ended.ts";
import { createToken, listTokens, revokeToken } from "./operations.ts";
import { decodeToken, encodeToken } from "./record.ts";
import { createTokenSignIn } from "./sign-in.ts";
import { createTokenView } from "./view.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const files = temporaryDirectory("tokens");
afterAll(() => files[Symbol.dispose]());
let count = 0;
const { book } = readRoles(
  `roles:
  web-team: {jobs: [{functions: [service.restart], targets: 'web-*'}]}
  maker: {tokens: [create]}
  careful-maker: {tokens: [{do: create, approvals: 1}]}
`,
  "roles.yaml",
);

function setUp(options: { registry?: Record<string, readonly string[]> } = {}) {
  const registry: Record<string, readonly string[]> = options.registry ?? { ann: ["admin"] };
  const memory = memoryBucket();
  const watchers = new Set<(change: Change) => void>();
  const bucket = Object.assign(memory, {
    watch: ((watch) => (onChange: (change: Change) => void) => {
      watchers.add(onChange);
      return watch(onChange);
    })(memory.watch),
    /** A change that comes from elsewhere. */
    report(change: Change) {
      for (const onChange of watchers) onChange(change);
    },
  });
  const clock = manualClock();
  const log = recordingLog();
  const mac = createRecordMac(newKeyPair("account", systemRandom));
  const path = join(files.path, `${count++}`, "ended.json");
  const restarted = () => {
    const ended = openEndedTokens({ path, clock, log });
    return { ended, view: createTokenView({ bucket, mac, ended, clock, log }) };
  };
  const { ended, view } = restarted();
  const deps: TokenDeps = {
    ...{ tokens: bucket, view, ended, mac, clock, random: systemRandom },
    creatorRoles: (creator, name) => (creator === "unregistered" ? ["admin"] : registry[name]),
    knownRoles: () => [...book.keys()],
    covers: (has, role) => covers(book, has, role),
  };
  const signIn = createTokenSignIn({ ...deps, log });
  const call = (caller: Caller) => ({ caller, log, clock });
  const create = async (input: Partial<Parameters<typeof createToken.run>[1]> = {}, caller = ann) => {
    const text = newTokenText(systemRandom);
    const requested = { name: "ci", roles: ["viewer"], expires: "90d", digest: digestOf(text), ...input };
    const made = await createToken.run(deps, requested, call(caller));
    return { ...made, text };
  };
  const revoke = (id: string) => revokeToken.run(deps, { id }, call(ann));
  const list = async () => (await listTokens.run(deps, {}, call(ann))).tokens;
  return { bucket, clock, log, mac, path, restarted, deps, signIn, create, revoke, list, registry };
}

const ann: OperatorCaller = { kind: "operator", name: "ann", door: "bus", roles: ["admin"], key: "UANN" };

test("a token admits its holder, with its roles and under its name", async () => {
  const { signIn, create, log, bucket } = setUp();
  const { text, id } = await create({ roles: ["viewer", "auditor"] });
  expect(text).toMatch(/^svct_[A-Za-z0-9_-]{43}$/);
  expect(await signIn.find(text)).toEqual({
    name: "token:ci",
    roles: ["viewer", "auditor"],
    bearer: { kind: "token", id, creator: "ann" },
  });
  for (const other of [
    newTokenText(systemRandom),
    `${text}x`,
    text.slice(0, -1),
    text.toLowerCase(),
    "svct_",
    "",
  ]) {
    expect(await signIn.find(other)).toBeUndefined();
  }
  const stored = Buffer.from((await bucket.get("ci"))?.value ?? []).toString("latin1");
  expect(stored + JSON.stringify(log.records)).not.toContain(text);
});

test("over REST the master makes the token; over the bus only its SHA-256 may be sent", async () => {
  const { deps, log, clock, signIn } = setUp();
  const input = { name: "ci", roles: ["viewer"], expires: "1h" };
  const call = (door: "rest" | "bus") => ({ caller: { ...ann, door }, log, clock });
  const { token } = await createToken.run(deps, input, call("rest"));
  expect(await signIn.find(token ?? "")).toMatchObject({ name: "token:ci" });
  expect(createToken.run(deps, { ...input, name: "b" }, call("bus"))).rejects.toThrow("digest is required");
  expect(JSON.stringify(log.records)).not.toContain(token);
});

test("a token ends at its time, and its holder learns that", async () => {
  const { signIn, create, clock, list } = setUp();
  const { text } = await create({ expires: "2h" });
  clock.advance(2 * hourMs - 1);
  expect(await signIn.find(text)).toMatchObject({ name: "token:ci" });
  clock.advance(1);
  expect(signIn.find(text)).rejects.toMatchObject({
    kind: "unauthorized",
    message:
      "the token ci expired at 2026-01-01T02:00:00.000Z: an operator can make another with svc token create",
  });
  expect((await list())[0]).toMatchObject({ name: "ci", state: "expired" });
});

test("a token that was revoked is refused, and its name is free again", async () => {
  const { signIn, create, revoke, list } = setUp();
  const first = await create();
  expect(create()).rejects.toThrow("a token with the name ci is in use until 2026-04-01T00:00:00.000Z");
  await revoke(first.id);
  expect(signIn.find(first.text)).rejects.toThrow("was revoked by ann at 2026-01-01T00:00:00.000Z");
  expect((await revoke("ci")).token).toMatchObject({ state: "revoked", revoked_by: "ann" });
  const second = await create();
  expect(await signIn.find(second.text)).toMatchObject({ name: "token:ci" });
  expect(await signIn.find(first.text)).toBeUndefined();
  expect(revoke(first.id)).rejects.toThrow(/the token .* does not exist/);
  expect(revoke("cj")).rejects.toThrow('the token "cj" does not exist (did you mean ci?)');
  expect((await list()).map(({ state }) => state)).toEqual(["live"]);
});

test("a token never has more than its creator has now", async () => {
  const { signIn, create, registry, list } = setUp();
  registry.bob = ["operator", "web-team"];
  const bob = { ...ann, name: "bob", roles: ["operator", "web-team"] };
  expect(create({ roles: ["admin"] }, bob)).rejects.toMatchObject({
    kind: "forbidden",
    message: "bob has the roles operator, web-team and cannot give admin to a token: who has admin can",
  });
  expect(create({ roles: ["viewer"] }, { ...bob, roles: [] })).rejects.toThrow("bob has no role");
  const { text } = await create({ roles: ["viewer", "web-team"] }, bob);
  expect(await signIn.find(text)).toMatchObject({ roles: ["viewer", "web-team"] });
  registry.bob = ["approver"];
  expect(await signIn.find(text)).toMatchObject({ roles: ["viewer"] });
  registry.bob = [];
  expect(signIn.find(text)).rejects.toThrow(
    "the token ci has ended: bob, who created it, has no longer viewer, web-team; an operator can make another",
  );
  delete registry.bob;
  expect(signIn.find(text)).rejects.toMatchObject({ kind: "unauthorized" });
  expect((await list())[0]).toMatchObject({ state: "orphaned" });
  // Enabled again.
  registry.bob = ["admin"];
  expect(await signIn.find(text)).toMatchObject({ roles: ["viewer", "web-team"] });
});

test.each<[creator: string[], requested: string[], made: boolean]>([
  [["maker"], ["maker"], true],
  // Who may create tokens may do nothing more with them.
  [["maker"], ["viewer"], false],
  [["maker"], ["web-team"], false],
  [["maker"], ["admin"], false],
  [["maker"], ["maker", "viewer"], false],
  [["maker", "viewer"], ["viewer"], true],
  [["maker", "web-team"], ["web-team", "maker"], true],
  // Others must agree to what this one does, so its token may not do it without them.
  [["careful-maker"], ["maker"], false],
  [["maker"], ["careful-maker"], true],
  [["operator"], ["maker"], false],
  [["operator"], ["auditor"], true],
])("%j makes a token with %j: %j", async (roles, requested, made) => {
  const { create, signIn, registry } = setUp();
  registry.bob = roles;
  const creating = create({ roles: requested }, { ...ann, name: "bob", roles });
  if (!made) {
    expect(creating).rejects.toMatchObject({
      kind: "forbidden",
      message: expect.stringMatching(
        /^bob has the roles? .* and cannot give \S+ to a token: who has \S+ can$/,
      ),
    });
    return;
  }
  const { text } = await creating;
  expect(await signIn.find(text)).toMatchObject({ roles: requested });
  // The same rule counts with each use: a role that the creator lost is lost to the token.
  registry.bob = ["viewer"];
  const left = requested.filter((role) => role === "viewer");
  if (left.length === 0) expect(signIn.find(text)).rejects.toMatchObject({ kind: "unauthorized" });
  else expect(await signIn.find(text)).toMatchObject({ roles: left });
});

test("the audit and the log name the token that a request is about", () => {
  const requested = { name: "ci", roles: ["viewer"], expires: "90d" };
  expect(createToken.touches(requested)).toEqual({ token: "ci" });
  expect(revokeToken.touches({ id: "tok-1" })).toEqual({ token: "tok-1" });
});

test("neither a token nor a person of an identity provider creates tokens", async () => {
  const { create } = setUp();
  const door = "rest" as const;
  for (const bearer of [
    { kind: "token", id: "tok-1", creator: "ann" } as const,
    { kind: "oidc", issuer: "https://idp", subject: "1" } as const,
  ]) {
    expect(create({}, { ...ann, door, bearer })).rejects.toMatchObject({ kind: "forbidden" });
  }
  expect(await create({}, { ...ann, door, bearer: { kind: "file" } })).toMatchObject({ created_by: "ann" });
});

test.each([
  [{ name: "CI" }, "name must be 1 to 63 small letters"],
  [{ name: "" }, "name must be"],
  [{ name: "ci." }, "name must be"],
  [{ name: "a/b" }, "name must be"],
  [{ name: "*" }, "name must be"],
  [{ roles: ["viewr"] }, 'the role "viewr" does not exist (did you mean viewer?)'],
  [{ expires: "forever" }, '"forever" is not a duration'],
  [{ expires: "367d" }, "expires must be 1m to 366d"],
  [{ expires: "59s" }, "expires must be 1m to 366d"],
])("%j is refused: %s", async (input, message) => {
  const { create, bucket } = setUp();
  expect(create(input)).rejects.toThrow(message);
  expect(bucket.keys).toEqual([]);
});

test("an attacker who controls the bus can neither plant a token, nor change one, nor put an earlier one back", async () => {
  const { bucket, signIn, create, revoke, log, mac } = setUp();
  const { text } = await create({ roles: ["viewer"] });
  const entry = await bucket.get("ci");
  const record = decode(entry?.value ?? new Uint8Array()) as Record<string, Plain>;
  const planted = newTokenText(systemRandom);
  for (const [key, change] of [
    ["other", {}],
    ["ci", { roles: ["admin"] }],
    ["ci", { sha256: Buffer.from(digestOf(planted), "hex") }],
    ["ci", { expires_at: "2030-01-01T00:00:00.000Z" }],
    ["ci", { created_by: "bob" }],
    ["ci", { creator: "unregistered" }],
    ["ci", { voucher: Buffer.alloc(32) }],
    ["ci", { v: 2 }],
    ["ci", { roles: null }],
  ] as const) {
    await bucket.put(key, encode({ ...record, ...change }));
    for (const one of key === "ci" ? [planted, text] : [planted]) {
      expect([change, await signIn.find(one)]).toEqual([change, undefined]);
    }
    await bucket.put("ci", entry?.value ?? new Uint8Array());
    expect(await signIn.find(text)).toMatchObject({ roles: ["viewer"] });
  }
  expect(log.records.filter(({ level }) => level === "error").length).toBeGreaterThanOrEqual(9);
  await revoke("ci");
  await bucket.put("ci", entry?.value ?? new Uint8Array());
  await expect(signIn.find(text)).rejects.toThrow("was revoked by ann");
  const latest = await bucket.get("ci");
  await bucket.remove("ci", latest?.revision ?? 0);
  expect(await signIn.find(text)).toBeUndefined();
  await bucket.put("ci", entry?.value ?? new Uint8Array());
  expect(await signIn.find(text)).toBeUndefined();
  expect(decodeToken(mac, "ci", entry?.value ?? new Uint8Array())).toMatchObject({ name: "ci" });
});

test("every byte of a record counts", async () => {
  const { bucket, create, mac } = setUp();
  await create();
  const value = (await bucket.get("ci"))?.value ?? new Uint8Array();
  const read = (bytes: Uint8Array) => {
    try {
      return decodeToken(mac, "ci", bytes);
    } catch {
      return undefined;
    }
  };
  const same = read(value);
  expect(same).toBeDefined();
  fc.assert(
    fc.property(fc.nat(value.length - 1), fc.integer({ min: 1, max: 255 }), (at, xor) => {
      const found = read(value.map((byte, n) => (n === at ? byte ^ xor : byte)));
      // The order of keys, and other forms of the same value, are not what counts.
      expect(found === undefined || Bun.deepEquals(found, same)).toBe(true);
    }),
  );
});

test("the last use is stored by the hour, once, and never brings a revoked token back", async () => {
  const { bucket, signIn, create, clock, list, revoke } = setUp();
  const { text } = await create();
  let writes = 0;
  bucket.beforeWrite = () => void writes++;
  clock.advance(90 * 60_000);
  await Promise.all(Array.from({ length: 20 }, () => signIn.find(text)));
  await settle();
  expect((await list())[0]).toMatchObject({ last_used_at: "2026-01-01T01:00:00.000Z" });
  await signIn.find(text);
  await settle();
  expect(writes).toBe(1);
  clock.advance(hourMs);
  // The token is revoked while its use is being stored.
  let revoking: Promise<unknown> | undefined;
  bucket.beforeWrite = async () => {
    bucket.beforeWrite = () => {};
    revoking = revoke("ci");
    await revoking;
  };
  await signIn.find(text);
  await settle();
  await revoking;
  expect((await list())[0]).toMatchObject({ state: "revoked", last_used_at: "2026-01-01T01:00:00.000Z" });
});

test("a token that was used within its first hour was not used before it was made", async () => {
  const { signIn, create, clock, list } = setUp();
  clock.advance(50 * 60_000);
  const { text } = await create();
  clock.advance(1_000);
  await signIn.find(text);
  await settle();
  const [token] = await list();
  expect(token?.last_used_at).toBe("2026-01-01T00:50:00.000Z");
  expect(token?.created_at).toBe("2026-01-01T00:50:00.000Z");
});

test("records of tokens that ended long ago are removed", async () => {
  const { create, clock, bucket } = setUp();
  await create({ name: "old", expires: "1d" });
  clock.advance(31 * dayMs - 1);
  await create({ name: "b" });
  expect(bucket.keys).toEqual(["b", "old"]);
  clock.advance(1);
  await create({ name: "c" });
  expect(bucket.keys).toEqual(["b", "c"]);
});

test("a token is not judged with a part of what is stored", async () => {
  const { bucket, deps, log, clock, restarted } = setUp();
  const never = {
    ...bucket,
    watch: () => ({ ready: new Promise<void>(() => {}), caughtUp: async () => {}, stop() {} }),
  };
  const view = createTokenView({ bucket: never, mac: deps.mac, ended: restarted().ended, clock, log });
  const found = createTokenSignIn({ ...deps, view, log }).find(newTokenText(systemRandom));
  expect(clock.until(found, 6_000)).rejects.toMatchObject({ kind: "unavailable" });
});

test("a master that was restarted knows which tokens ended before their time", async () => {
  const { bucket, create, revoke, clock, deps, log, path, restarted } = setUp();
  const first = await create();
  const [before] = [await bucket.get("ci")];
  await revoke("ci");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  // Its name is free, and its first record is put back while no master runs.
  const second = await create();
  await bucket.put("ci", before?.value ?? new Uint8Array());
  const again = () => {
    const { view } = restarted();
    return createTokenSignIn({ ...deps, view, log });
  };
  expect(await again().find(first.text)).toBeUndefined();
  expect(await again().find(second.text)).toBeUndefined();
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ [first.id]: "2026-04-01T00:00:00.000Z" });
  // Those whose time is over are dropped.
  clock.advance(92 * dayMs);
  const third = await create({ name: "third" });
  await revoke("third");
  expect(Object.keys(JSON.parse(readFileSync(path, "utf8")))).toEqual([third.id]);
  writeFileSync(path, "{");
  expect(again().open()).toBe(true);
  expect(log.records.at(-1)?.event).toBe("the list of ended tokens cannot be read");
});

test("a token that ended elsewhere is refused, whatever the bus shows, and its name is free", async () => {
  const { create, deps, signIn } = setUp();
  const first = await create();
  expect(await signIn.find(first.text)).toBeDefined();
  // The audit reports it, and an attacker who controls the bus keeps the record of the revocation away.
  deps.ended.add({ id: first.id, expiresAt: Date.parse(first.expires_at) });
  expect(await signIn.find(first.text)).toBeUndefined();
  expect(await signIn.find((await create()).text)).toBeDefined();
});

test("an orphaned token whose name went to another one does not come back", async () => {
  const { bucket, create, registry, signIn, revoke } = setUp();
  registry.bob = ["viewer"];
  const bobs = await create({}, { ...ann, name: "bob", roles: ["viewer"] });
  const before = await bucket.get("ci");
  delete registry.bob;
  const anns = await create();
  registry.bob = ["viewer"];
  await bucket.put("ci", before?.value ?? new Uint8Array());
  expect(await signIn.find(bobs.text)).toBeUndefined();
  expect(await signIn.find(anns.text)).toMatchObject({ name: "token:ci" });
  // Whatever took its place on the bus, a token can be revoked.
  await revoke("ci");
  await expect(signIn.find(anns.text)).rejects.toThrow("was revoked by ann");
  expect(await signIn.find(bobs.text)).toBeUndefined();
});

test("a revocation counts on a stream that was made again", async () => {
  const { bucket, create, signIn, mac, deps } = setUp();
  for (let n = 0; n < 5; n++) await bucket.put("other", new Uint8Array());
  const { text } = await create();
  const entry = await bucket.get("ci");
  const token = decodeToken(mac, "ci", entry?.value ?? new Uint8Array());
  if (token === undefined) throw new Error("the token is not stored");
  bucket.report({
    ...{ key: "ci", revision: 1, storedAt: 0 },
    value: encodeToken(deps.mac, { ...token, revokedAt: 1, revokedBy: "ann" }),
  });
  await expect(signIn.find(text)).rejects.toThrow("was revoked by ann");
});
