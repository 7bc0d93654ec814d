import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import { encodeSystemAccount } from "../../bus/accounts/mod.ts";
import { type Claims, readClaims } from "../../identity/jwt.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { followSites } from "./follow.ts";
import { maintainSiteAccounts } from "./maintain-accounts.ts";
import { encodeSite, type SiteRecord } from "./record.ts";

// Which accounts the bus has for which sites, on servers in memory that keep the newest claims that they got.

const mac = createRecordMac(newKeyPair("account", systemRandom));
const signer = newKeyPair("operator", systemRandom);
const account = () => newKeyPair("account", systemRandom).publicKey;
const user = () => newKeyPair("user", systemRandom).publicKey;
const accounts = { masters: account(), system: account() };

function bus() {
  const servers = [new Map<string, string>(), new Map<string, string>()];
  /** Servers that take no claims. */
  const deaf = new Set<Map<string, string>>();
  const pushed: Claims[] = [];
  const clock = manualClock();
  const log = recordingLog();
  const bucket = memoryBucket();
  const sites = followSites({ bucket, mac, log });
  const push = (jwt: string) => {
    const claims = readClaims(jwt);
    for (const server of servers) {
      const held = server.get(claims.sub);
      const isNewer = held === undefined || readClaims(held).iat < claims.iat;
      if (!deaf.has(server) && isNewer) server.set(claims.sub, jwt);
    }
    return claims;
  };
  push(encodeSystemAccount(accounts.system, 1, signer));
  const reconciler = maintainSiteAccounts({
    ...{ sites, accounts, signer, clock, log },
    system: {
      servers: () => ({ total: servers.length, jetstream: servers.length }),
      async pushClaims(jwt) {
        pushed.push(push(jwt));
        return deaf.size === 0;
      },
      lookupClaims: async (key) => servers.map((server) => ({ jwt: server.get(key) ?? "" })),
      onServerJoin: () => () => {},
    },
  });
  const add = async (name: string, changes: Partial<SiteRecord> = {}) => {
    const site: SiteRecord = {
      ...{ name, urls: ["tls://leaf.example.com:4222"], account: account() },
      ...{ users: { link: user(), system: user() }, systemSigner: account() },
      ...{ jwts: { link: "a", system: "b" }, createdAt: 1_000, createdBy: "ann", former: [] },
      ...changes,
    };
    await bucket.put(name, encodeSite(mac, site));
    return site;
  };
  const claimsOf = (key: string) => servers.map((server) => readClaims(server.get(key) ?? "").nats);
  return { reconciler, add, claimsOf, pushed, deaf, servers };
}

test("a fleet without sites pushes nothing", async () => {
  const { reconciler, pushed } = bus();
  expect(await reconciler.enforce()).toBe(true);
  expect(pushed).toEqual([]);
});

test("a site has its account on each server, with its own subjects alone, and the system account takes its user", async () => {
  const { reconciler, add, claimsOf, pushed } = bus();
  const [berlin, munich] = [await add("berlin"), await add("munich")];
  expect(await reconciler.enforce()).toBe(true);
  for (const { imports, revocations } of claimsOf(berlin.account)) {
    const subjects = (imports as { subject: string }[]).map(({ subject }) => subject);
    expect(subjects).toContain("svc.site.berlin.dispatch.*");
    expect(subjects.filter((subject) => subject.includes("munich") || subject.startsWith("$KV"))).toEqual([]);
    expect(revocations).toBeUndefined();
  }
  const signers = [berlin.systemSigner, munich.systemSigner].sort();
  for (const { signing_keys } of claimsOf(accounts.system)) expect(signing_keys).toEqual(signers);
  // What agrees is not pushed again.
  const before = pushed.length;
  expect(await reconciler.enforce()).toBe(true);
  expect(pushed.length).toBe(before);
});

test("a site that was removed has nothing, and neither has what had its name before", async () => {
  const { reconciler, add, claimsOf, servers } = bus();
  const first = await add("berlin");
  await reconciler.enforce();
  await add("berlin", { ...first, removedAt: 2_000 });
  expect(await reconciler.enforce()).toBe(true);
  for (const nats of claimsOf(first.account)) {
    expect(nats).toMatchObject({ revocations: { "*": expect.any(Number) }, limits: { leaf: 0 } });
    expect(nats.imports).toBeUndefined();
  }
  for (const nats of claimsOf(accounts.system)) {
    expect(nats.signing_keys).toBeUndefined();
    expect(Object.keys(nats.revocations as object)).toEqual([first.users.system]);
  }
  const former = [{ account: first.account, system: first.users.system }];
  const second = await add("berlin", { former });
  // As after a backup of the bus was restored: what closed it is lost.
  for (const server of servers) server.delete(first.account);
  expect(await reconciler.enforce()).toBe(true);
  for (const { signing_keys, revocations } of claimsOf(accounts.system)) {
    expect([signing_keys, Object.keys(revocations as object)]).toEqual([
      [second.systemSigner],
      [first.users.system],
    ]);
  }
  for (const { revocations } of claimsOf(first.account)) expect(revocations).toBeDefined();
});

test("claims of another time are replaced by newer ones, on the server that lacks them as well", async () => {
  const { reconciler, add, claimsOf, servers } = bus();
  const berlin = await add("berlin");
  await reconciler.enforce();
  const [first] = servers;
  first?.delete(berlin.account);
  expect(await reconciler.enforce()).toBe(true);
  expect(claimsOf(berlin.account).length).toBe(2);
});

test("a server that takes nothing leaves it unconfirmed, and it is not asked for ever", async () => {
  const { reconciler, add, pushed, deaf, servers } = bus();
  await add("berlin");
  for (const server of servers.slice(1)) deaf.add(server);
  expect(await reconciler.enforce()).toBe(false);
  // Three for each of the two accounts.
  expect(pushed.length).toBe(6);
  deaf.clear();
  expect(await reconciler.enforce()).toBe(true);
});
