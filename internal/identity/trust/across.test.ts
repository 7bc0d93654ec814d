import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { type Impostor, startImpostor } from "../../../test/harness/impostor.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { createAuthority } from "../ca/create.ts";
import { type AuthorityInForce, loadInForce } from "../ca/in-force.ts";
import { issueCertificate } from "../ca/issue.ts";
import { activateRotation, finishRotation, startRotation } from "../ca/rotate.ts";
import { createTrust } from "./anchor.ts";
import { exchange } from "./exchange.ts";

// A peel that slept through a whole rotation, and what it accepts from a master that has the next root alone, or
// that only claims so.

const [clock, random] = [systemClock, systemRandom];
const rootValidityMs = 1000 * 24 * 3_600_000;
const files = temporaryDirectory("across");
const running: Impostor[] = [];
let before: AuthorityInForce;
let after: AuthorityInForce;
let thief: AuthorityInForce;

/** A fleet, and the same after a rotation. */
async function rotated(name: string): Promise<[AuthorityInForce, AuthorityInForce]> {
  const dir = join(files.path, name);
  await createAuthority({ dir, organization: "Fleet", rootValidityMs, clock, random });
  const first = await loadInForce(dir);
  await startRotation({ dir, rootValidityMs, withoutRootKey: false, clock, random });
  await activateRotation(dir);
  await finishRotation(dir);
  return [first, await loadInForce(dir)];
}

beforeAll(async () => {
  [before, after] = await rotated("fleet");
  [, thief] = await rotated("thief");
});
afterAll(async () => {
  for (const server of running) await server[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

/** A master with a certificate of this authority, and what it says of roots. */
async function serve(from: AuthorityInForce, bundle = from.root.pem, crosses = from.crosses) {
  const issued = await issueCertificate(from.authority, {
    ...{ commonName: "m", names: ["localhost"], usage: "enroll", validityMs: 3_600_000, clock, random },
  });
  const server = startImpostor({
    tls: { cert: issued.certPem, key: issued.keyPem },
    answer: () => Response.json({ v: 1, ca_bundle_pem: bundle, ca_cross_pem: crosses.join("\n") }),
  });
  running.push(server);
  return server;
}

/** Asks as an enrolled peel that trusts the root before; as one that is new with `isNew`. */
async function request(url: string, { isNew = false, pinned = false, now = clock.now() } = {}) {
  const signal = new AbortController().signal;
  const peelClock = { ...clock, now: () => now };
  const trust = createTrust({
    rung: pinned
      ? { rung: 2, pins: [before.root.pin] }
      : { rung: 3, ca: { path: "enroll-ca.crt", pem: before.root.pem } },
    ...(isNew ? {} : { across: { trusted: () => [before.root.pem], remedy: "do THIS" } }),
    storeAnchor: () => {},
    clock: peelClock,
    log: recordingLog(),
    signal,
  });
  const limits = { timeoutMs: 5_000, maxBytes: 10_000, clock, signal };
  return trust.use(url, async ({ ca, spki }) => {
    await exchange({ url: `${url}/secret`, verify: { ca }, ...limits });
    return spki;
  });
}

test.each([false, true])("an enrolled peel follows what its root signed (pinned: %p)", async (pinned) => {
  const { url } = await serve(after);
  expect(await request(url, { pinned })).toBe(after.root.pin);
});

test.each([false, true])("a new peel does not (pinned: %p)", async (pinned) => {
  const { url, requests } = await serve(after);
  await expect(request(url, { pinned, isNew: true })).rejects.toThrow(/is not trusted by /);
  expect(requests.filter((each) => each.includes("secret"))).toEqual([]);
});

test.each([false, true])("another fleet is refused, whatever it serves (pinned: %p)", async (pinned) => {
  const masters = [
    await serve(thief),
    await serve(thief, thief.root.pem, after.crosses),
    await serve(thief, after.root.pem, after.crosses),
    await serve(thief, after.root.pem + thief.root.pem, [...after.crosses, ...thief.crosses]),
    await serve(thief, before.root.pem, after.crosses),
    await serve(thief, "", []),
  ];
  for (const { url, requests } of masters) {
    await expect(request(url, { pinned })).rejects.toThrow(/is not trusted by /);
    expect(requests.filter((each) => each.includes("secret"))).toEqual([]);
  }
});

test("what does not lead to the new root says what to do, with the pin to compare", async () => {
  const { url } = await serve(after, after.root.pem, []);
  await expect(request(url)).rejects.toThrow(
    `It serves the root ${after.root.pin}, and nothing leads there from the roots that this peel trusts: compare this pin with svc ca fingerprint on a master; if it is the same, do THIS`,
  );
  const whole = await serve(after);
  const late = clock.now() + rootValidityMs + 1000;
  await expect(request(whole.url, { now: late })).rejects.toThrow(
    /from trusted roots to it ended at 20\S+Z: compare/,
  );
});
