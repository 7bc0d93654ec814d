import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../test/harness/temporary.ts";
import { systemClock } from "../base/clock.ts";
import { secretMode, writeFileAtomic } from "../base/files/file.ts";
import { systemRandom } from "../base/id.ts";
import { encode } from "../base/msgpack.ts";
import type { Bus } from "../bus/connection/mod.ts";
import { createAuthority } from "../identity/ca/create.ts";
import { type AuthorityInForce, loadInForce } from "../identity/ca/in-force.ts";
import { activateRotation, startRotation } from "../identity/ca/rotate.ts";
import { encodeJwt } from "../identity/jwt.ts";
import { newKeyPair } from "../identity/nkey.ts";
import { formatOperatorFile, type OperatorFile, readOperatorFile } from "../identity/operator-file.ts";
import { renewOperatorFile } from "./renew.ts";
import { isRenewalDue } from "./renewal-due.ts";

const day = 24 * 3_600_000;
const now = systemClock.now();
const account = newKeyPair("account", systemRandom);
const key = newKeyPair("user", systemRandom);
const fleet = account.publicKey;
const jwtAt = (issuedAt: number, subject = key.publicKey) =>
  encodeJwt(
    { type: "user", name: "anna", subject, issuedAt: Math.floor(issuedAt / 1000), nats: {} },
    account,
  );
const directory = temporaryDirectory("renew");
let current: AuthorityInForce;
beforeAll(async () => {
  const dir = join(directory.path, "ca");
  const rootValidityMs = 1000 * day;
  const [clock, random] = [systemClock, systemRandom];
  await createAuthority({ dir, organization: "Fleet", rootValidityMs, clock, random });
  await startRotation({ dir, rootValidityMs, withoutRootKey: false, clock, random });
  await activateRotation(dir);
  current = await loadInForce(dir);
});
afterAll(() => directory[Symbol.dispose]());

const next = () => current.root.pem + (current.rotation?.next.pem ?? "");
function installed(name: string, issuedAt = now - 2 * day): string {
  const path = join(directory.path, `${name}.operator`);
  const file = {
    ...{ fleet, busUrls: ["tls://old:4222"], caPem: current.root.pem, name: "anna" },
    ...{ publicKey: key.publicKey, jwt: jwtAt(issuedAt), key },
  };
  writeFileAtomic(path, formatOperatorFile(file), secretMode);
  return path;
}
/** A bus whose masters answer this. */
function answering(change: object = {}): { bus: Bus; requested: string[] } {
  const requested: string[] = [];
  const answer = {
    ...{ ok: true, fleet, jwt: jwtAt(now), jwt_expires_at: "2026-01-01T00:00:00.000Z" },
    ...{ bus_urls: ["tls://new:4222"], ca_pem: next(), ca_cross_pem: current.authority.crossPem ?? "" },
    ...change,
  };
  const request = async (subject: string) => {
    requested.push(subject);
    return { data: encode(answer) };
  };
  return { bus: { nats: { request } } as unknown as Bus, requested };
}
const works = async () => {};

test("once a day a file gets a new JWT, and follows its fleet to other addresses and roots", async () => {
  const path = installed("whole");
  const tried: OperatorFile[] = [];
  await renewOperatorFile(answering().bus, path, now, async (file) => void tried.push(file));
  const file = readOperatorFile(path);
  expect(file).toMatchObject({ jwt: jwtAt(now), busUrls: ["tls://new:4222"], key: { seed: key.seed } });
  expect(file.caPem.match(/BEGIN/g)).toHaveLength(2);
  // It was tried with what is stored.
  expect(tried).toMatchObject([{ jwt: file.jwt, busUrls: file.busUrls }]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(isRenewalDue(file, now + day - 1_000)).toBe(false);
  expect(isRenewalDue(file, now + day)).toBe(true);
});

test("an address that does not lead to the fleet from here changes nothing but the JWT", async () => {
  const path = installed("away");
  await renewOperatorFile(answering().bus, path, now, async () => {
    throw new Error("nobody answers");
  });
  expect(readOperatorFile(path)).toMatchObject({ jwt: jwtAt(now), busUrls: ["tls://old:4222"] });
});

test.each([
  ["another fleet", () => ({ fleet: newKeyPair("account", systemRandom).publicKey })],
  ["a JWT for another key", () => ({ jwt: jwtAt(now, newKeyPair("user", systemRandom).publicKey) })],
  ["an error", () => ({ ok: false, error: { code: "forbidden", message: "no" } })],
  ["nothing that can be read", () => ({ bus_urls: 5 })],
])("an answer with %s leaves the file as it is", async (_, change) => {
  const path = installed("bad");
  const before = readFileSync(path, "utf8");
  await renewOperatorFile(answering(change()).bus, path, now, works);
  expect(readFileSync(path, "utf8")).toBe(before);
});

test("two programs at the same time leave a whole file, and nothing else", async () => {
  const path = installed("twice");
  const wait = Promise.withResolvers<void>();
  const both = [1, 2].map(() => renewOperatorFile(answering().bus, path, now, () => wait.promise));
  wait.resolve();
  await Promise.all(both);
  expect(readOperatorFile(path)).toMatchObject({ jwt: jwtAt(now), busUrls: ["tls://new:4222"] });
  expect(readdirSync(directory.path).filter((name) => name.includes("twice"))).toEqual(["twice.operator"]);
});
