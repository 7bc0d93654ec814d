import { expect, test } from "bun:test";
import { manualClock } from "../../../../test/harness/clock.ts";
import { systemRandom } from "../../../base/id.ts";
import { readUser } from "../../../bus/servers/connected-users.ts";
import type { ConnectionListener } from "../../../bus/servers/system.ts";
import { encodeJwt } from "../../../identity/jwt.ts";
import { type KeyPair, newKeyPair } from "../../../identity/nkey.ts";
import { provenConnections } from "./proven-connections.ts";

const account = newKeyPair("account", systemRandom);
const key = () => newKeyPair("user", systemRandom).publicKey;
const jwtOf = (name: string, subject: string, signer: KeyPair) =>
  encodeJwt({ type: "user", name, subject, issuedAt: 1, nats: {} }, signer);

function setup(hasSites = true) {
  const clock = manualClock();
  const given = new Map<string, ConnectionListener>();
  const received: string[] = [];
  const known = key();
  const proven = provenConnections({
    system: {
      followConnections(of, listener) {
        given.set(of, listener);
        return () => given.delete(of);
      },
    },
    account: "A",
    hasSites: () => hasSites,
    directory: { holds: (peel, user) => peel === "web-1" && user === known },
    issuers: () => [account.publicKey],
    clock,
  });
  const listener: ConnectionListener = {
    began: ({ name }) => received.push(`began ${name}`),
    ended: ({ name }) => received.push(`ended ${name}`),
    unsure: () => received.push("unsure"),
  };
  const stop = proven.followConnections("A", listener);
  const report = (name: string, reported: string, jwt = "") => {
    const connection = { id: "s 1", ...readUser(reported, jwt, name) };
    given.get("A")?.began(connection);
    given.get("A")?.ended(connection);
    return received.splice(0);
  };
  return { proven, listener, stop, given, received, known, report, clock };
}

const both = (name: string) => [`began ${name}`, `ended ${name}`];

test("a report counts with a key of the peel, or with a JWT that a master signed for that key", () => {
  const { report, known } = setup();
  const [user, other] = [key(), key()];
  const stranger = newKeyPair("account", systemRandom);
  const genuine = jwtOf("web-2", user, account);
  const [head, , signature] = genuine.split(".");
  const [, body] = jwtOf("web-2", user, stranger).split(".");
  const renamed = `${head}.${encodeAgain(genuine, { name: "web-1" })}.${signature}`;
  expect(report("web-1", known)).toEqual(both("web-1"));
  expect(report("web-2", user, genuine)).toEqual(both("web-2"));
  for (const jwt of [
    "",
    "x",
    "a.b.c",
    `${head}.${body}.${signature}`,
    jwtOf("web-2", user, stranger),
    renamed,
  ]) {
    expect(report("web-2", user, jwt)).toEqual([]);
  }
  // Its client told another key than that of its JWT: who hears of it ends it.
  expect(report("web-2", other, genuine)).toEqual(both("web-2"));
  expect(report("web-2", known)).toEqual([]);
});

test("where no site is, all reports come from servers of the bus", () => {
  expect(setup(false).report("web-9", key())).toEqual(both("web-9"));
});

test("a flood of unknown users is not verified without end: known ones are received meanwhile, and a reader that missed some is notified", () => {
  const { report, known, clock } = setup();
  const user = key();
  const genuine = jwtOf("web-2", user, account);
  const floods = Array.from({ length: 5_000 }, () => report("web-2", user, "x"));
  expect(floods.flat()).toEqual(["unsure"]);
  expect([report("web-2", user, genuine), report("web-1", known)]).toEqual([[], both("web-1")]);
  clock.advance(1_000);
  expect(report("web-2", user, genuine)).toEqual(both("web-2"));
});

test("gaps are passed on, other accounts are followed as they are, and a reader that left gets nothing", () => {
  const { proven, listener, stop, given, received, report, known } = setup();
  given.get("A")?.unsure();
  proven.followConnections("B", listener);
  expect([received.splice(0), given.get("B")]).toEqual([["unsure"], listener]);
  stop();
  expect(report("web-1", known)).toEqual([]);
  proven.stop();
  expect([...given.keys()]).toEqual(["B"]);
});

function encodeAgain(jwt: string, changes: Record<string, unknown>): string {
  const claims = JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString());
  return Buffer.from(JSON.stringify({ ...claims, ...changes })).toString("base64url");
}
