import { expect, test } from "bun:test";
import { manualClock } from "../../../../test/harness/clock.ts";
import { systemRandom } from "../../../base/id.ts";
import type { ConnectedUser } from "../../../bus/servers/mod.ts";
import { encodeJwt } from "../../../identity/jwt.ts";
import { newKeyPair } from "../../../identity/nkey.ts";
import { endRefused } from "./end-refused.ts";
import type { Revocation } from "./revocations.ts";

const account = newKeyPair("account", systemRandom);
const [user, other] = [1, 2].map(() => newKeyPair("user", systemRandom).publicKey) as [string, string];
const hour = 3_600_000;
const issuedAt = 1_800_000_000;

function connection(fields: Partial<ConnectedUser> = {}): ConnectedUser {
  const jwt = encodeJwt({ type: "user", name: "web", subject: user, issuedAt, nats: {} }, account);
  return { id: "N 1", user, name: "web", jwt, reported: user, ...fields };
}

function world(entry?: Partial<Revocation>, takesLong = true) {
  const clock = manualClock(issuedAt * 1_000 + hour);
  const requested: string[][] = [];
  let answer = Promise.withResolvers<boolean>();
  let isMeant: (connection: ConnectedUser) => boolean = () => false;
  const now = clock.now();
  const revocation = {
    ...{ busPublicKey: user, peelId: "web", enrollmentId: "enr-1", revokedAt: now, expiresAt: now + hour },
    ...entry,
  };
  const refused = endRefused({
    system: {
      takesLong: () => takesLong,
      endConnections(_, reported, meant = () => true) {
        requested.push([...reported]);
        isMeant = meant;
        answer = Promise.withResolvers();
        return answer.promise;
      },
    },
    account: "A",
    revocations: { find: (key) => (entry !== undefined && key === user ? revocation : undefined) },
    clock,
  });
  return { refused, requested, answer: () => answer.resolve(true), isMeant: () => isMeant };
}

const past = issuedAt * 1_000 - hour;
test.each<[string, Partial<Revocation> | undefined, Partial<ConnectedUser>, boolean]>([
  ["of a member", undefined, {}, false],
  ["of a revoked key", {}, {}, true],
  ["of a revoked key, reported without its JWT", {}, { jwt: "" }, false],
  ["of a key whose suspension was lifted", { suspension: true, liftedAt: past }, {}, false],
  ["of a stray that has newer credentials", { stray: true, revokedAt: past }, {}, false],
  ["that names another key", undefined, { reported: other }, true],
  ["whose server tells no key", undefined, { reported: "" }, false],
])("a connection %s", (_, entry, fields, ends) => {
  const { refused, requested, isMeant } = world(entry);
  const one = connection(fields);
  expect(refused.connected(one)).toBe(fields.reported === other);
  expect(requested).toEqual(ends ? [[one.reported]] : []);
  // What is ended is judged again, as the servers report it.
  if (ends)
    expect([isMeant()(one), isMeant()(connection({ user: other, reported: other, jwt: "" }))]).toEqual([
      true,
      false,
    ]);
});

test("the connections of a key end when it is revoked; of many at once, those that can be asked for at once", async () => {
  const { refused, requested, answer } = world();
  const entry = (key: string, fields: Partial<Revocation> = {}): Revocation => ({
    ...{ busPublicKey: key, peelId: "web", enrollmentId: "enr-1", revokedAt: past, expiresAt: 9e12 },
    ...fields,
  });
  refused.revoked(entry("UX", { suspension: true, liftedAt: past }));
  refused.revoked(entry("UA"));
  expect(requested).toEqual([["UA"]]);
  for (let at = 0; at < 100; at++) refused.revoked(entry(`U${at}`));
  answer();
  await new Promise(setImmediate);
  answer();
  await new Promise(setImmediate);
  expect(requested.map((reported) => reported.length)).toEqual([1, 32]);
});

test("where servers have few connections, the claims end them, and tell the clients why", () => {
  const { refused, requested } = world({}, false);
  refused.revoked({
    busPublicKey: user,
    peelId: "web",
    enrollmentId: "enr-1",
    revokedAt: past,
    expiresAt: 9e12,
  });
  expect(requested).toEqual([]);
  // One that comes back before servers have the claims is ended everywhere.
  refused.connected(connection());
  expect(requested).toEqual([[user]]);
});

test("a peel that makes up keys is asked for in turns, and holds nobody up", async () => {
  const { refused, requested, answer } = world();
  // Nothing is certain before all connections were looked through, and after a gap.
  expect(await refused.ended()).toBe(false);
  refused.sure();
  expect(await refused.ended()).toBe(true);
  refused.unsure();
  expect(await refused.ended()).toBe(false);
  refused.sure();
  for (let at = 0; at < 3_000; at++) refused.connected(connection({ reported: `U${at}` }));
  const ended = refused.ended();
  // It continues meanwhile.
  for (let batch = 0; batch < 33; batch++) {
    refused.connected(connection({ reported: `V${batch}` }));
    answer();
    await new Promise(setImmediate);
  }
  // More than are remembered: some connections may be left.
  expect(await ended).toBe(false);
  expect(requested.slice(0, 3).map((reported) => reported.length)).toEqual([1, 32, 32]);
});
