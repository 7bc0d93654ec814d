import { afterAll, beforeAll, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { createAuthority } from "../../identity/ca/create.ts";
import { issueCertificate } from "../../identity/ca/issue.ts";
import { loadAuthority } from "../../identity/ca/load.ts";
import { spkiPin } from "../../identity/trust/mod.ts";
import { certificateFiles, loadNextKey, replaceFiles, settleFiles } from "./certificate-files.ts";
import { causeToRenew, readHeldCertificate } from "./held-certificate.ts";
import { judgeBusCertificate } from "./judge.ts";

const day = 24 * 3_600_000;
const now = systemClock.now();
const files = temporaryDirectory("held-certificate");
type Authority = Awaited<ReturnType<typeof loadAuthority>>;
let fleet: Authority;
let next: Authority;
let other: Authority;

async function authority(name: string, organization: string) {
  const dir = `${files.path}/${name}`;
  await createAuthority({
    ...{ dir, organization, rootValidityMs: 3_650 * day, clock: systemClock, random: systemRandom },
  });
  return loadAuthority(dir);
}
beforeAll(async () => {
  [fleet, next, other] = await Promise.all([
    authority("fleet", "Fleet"),
    authority("next", "Fleet"),
    authority("other", "Company"),
  ]);
});
afterAll(() => files[Symbol.dispose]());

const issue = (from: Authority, commonName = "svc-site") =>
  issueCertificate(from, {
    ...{ commonName, names: ["leaf.example.com"], usage: "nats-server", validityMs: 300 * day },
    ...{ clock: systemClock, random: systemRandom },
  });
const hold = async (from: Authority, commonName?: string) => {
  const { certPem, keyPem } = await issue(from, commonName);
  return readHeldCertificate(certPem, keyPem);
};
const cause = (
  held: Awaited<ReturnType<typeof hold>>,
  {
    roots = [fleet.rootPem],
    issuing = spkiPin(fleet.rootPem) as string | undefined,
    at = now,
    jitter = 0,
  } = {},
) => causeToRenew(held, { roots, issuing, now: at, jitter });

test("one that masters issued for this site stays until a third of its life is left, or a little more", async () => {
  const held = await hold(fleet);
  expect(cause(held)).toBeUndefined();
  expect(cause(held, { at: now + 199 * day })).toBeUndefined();
  expect(cause(held, { at: now + 201 * day })).toBe("ends");
  expect(cause(held, { at: now + 181 * day, jitter: 0.999 })).toBe("ends");
  expect(cause(held, { at: now + 179 * day, jitter: 0.999 })).toBeUndefined();
});

test("one without a certificate, or with another key, is renewed", async () => {
  expect(cause(readHeldCertificate("", ""))).toBe("cannot be used");
  expect(cause(readHeldCertificate("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", ""))).toBe(
    "cannot be used",
  );
  const [{ certPem }, { keyPem }] = await Promise.all([issue(fleet), issue(fleet)]);
  expect(cause(readHeldCertificate(certPem, keyPem))).toBe("cannot be used");
});

test("the one that a command wrote is renewed at once, and one of another CA never is", async () => {
  expect(cause(await hold(fleet, "nats"))).toBe("was made elsewhere");
  // Of the root before, which this site does not have any more.
  expect(cause(await hold(fleet, "nats"), { roots: [next.rootPem] })).toBe("was made elsewhere");
  expect(cause(await hold(other, "nats"))).toBeUndefined();
});

test("it follows the root that masters issue from, if the site trusts that", async () => {
  const [held, issuing] = [await hold(fleet), spkiPin(next.rootPem)];
  expect(cause(held, { roots: [fleet.rootPem, next.rootPem], issuing })).toBe("was issued by another root");
  expect(cause(held, { issuing })).toBeUndefined();
  expect(cause(held, { issuing: undefined })).toBeUndefined();
  // Only a signature leads to a root: both have one name.
  expect([held?.leadsTo(fleet.rootPem), held?.leadsTo(next.rootPem)]).toEqual([true, false]);
});

const away = { reason: "no master answers", mayPass: true };
const refused = { reason: "this site was removed", mayPass: false };
test.each([
  ["new", "svc-site", 0, undefined, "up"],
  ["new, and no master answers", "svc-site", 0, away, "up"],
  ["new, and refused", "svc-site", 0, refused, "degraded"],
  ["of a command, and no master answers", "nats", 0, away, "degraded"],
  ["late", "svc-site", 201, away, "degraded"],
  ["ended", "svc-site", 301, undefined, "down"],
] as const)("a certificate that is %s", async (_, name, days, obstacle, status) => {
  const judged = judgeBusCertificate(await hold(fleet, name), obstacle, now + days * day);
  expect(judged.status).toBe(status);
  expect(judged.message).toContain("end");
  if (obstacle !== undefined) expect(judged.message).toContain(obstacle.reason);
});

test("wherever a replacement is interrupted, the next start has a pair that fits", async () => {
  const old = await issue(fleet);
  for (const step of ["nothing", "key", "certificate", "key moved"]) {
    const dir = `${files.path}/${step.replace(" ", "-")}`;
    const paths = certificateFiles(dir);
    mkdirSync(dir);
    writeFileSync(paths.cert, old.certPem);
    writeFileSync(paths.key, old.keyPem);
    const fresh = await issue(fleet);
    if (step !== "nothing") writeFileSync(paths.nextKey, fresh.keyPem);
    if (step === "certificate" || step === "key moved") writeFileSync(paths.nextCert, fresh.certPem);
    if (step === "key moved") renameSync(paths.nextKey, paths.key);
    const settled = settleFiles(paths);
    const isNew = step === "certificate" || step === "key moved";
    expect([step, settled]).toEqual([step, isNew]);
    const [cert, key] = [paths.cert, paths.key].map((path) => readFileSync(path, "utf8"));
    expect(readHeldCertificate(cert, key)?.fits).toBe(true);
    expect(cert).toBe(isNew ? fresh.certPem : old.certPem);
    expect([existsSync(paths.nextCert), existsSync(paths.nextKey)]).toEqual([false, step === "key"]);
  }
});

test("the key that masters are asked for stays the same until it is used, and is secret", async () => {
  const dir = `${files.path}/next-key`;
  mkdirSync(dir);
  const paths = certificateFiles(dir);
  const first = loadNextKey(paths);
  expect(Buffer.compare(loadNextKey(paths).publicKey, first.publicKey)).toBe(0);
  expect(statSync(paths.nextKey).mode & 0o777).toBe(0o600);
  const { certPem } = await issue(fleet);
  replaceFiles(paths, certPem);
  expect(readFileSync(paths.key, "utf8")).toBe(first.pem);
  expect(new X509Certificate(readFileSync(paths.cert, "utf8")).subject).toBe("CN=svc-site");
  expect(Buffer.compare(loadNextKey(paths).publicKey, first.publicKey)).not.toBe(0);
  // One that a full disk left incomplete is made again.
  writeFileSync(paths.nextKey, "-----BEGIN PRIV");
  expect(loadNextKey(paths).privateKey.asymmetricKeyType).toBe("ec");
});
