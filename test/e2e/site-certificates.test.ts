import { afterAll, beforeAll, expect, test } from "bun:test";
import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rfc3339, systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { parseNames } from "../../internal/base/names/subject-name.ts";
import { inspectCertificate } from "../../internal/bus/servers/mod.ts";
import { certificateMessage } from "../../internal/fleet/sites/mod.ts";
import { newSerial } from "../../internal/identity/ca/build.ts";
import { newSigningKey } from "../../internal/identity/ca/key.ts";
import { buildLeafCertificate } from "../../internal/identity/ca/leaf.ts";
import { loadInForce } from "../../internal/identity/ca/mod.ts";
import { type KeyPair, keyPairFromSeed, newKeyPair, parseCredentials } from "../../internal/identity/mod.ts";
import { rootsOf, spkiPin } from "../../internal/identity/trust/mod.ts";
import type { Program } from "../harness/process.ts";
import { letEnroll, type SiteFleet, startSiteFleet, untilSite } from "../harness/site-fleet.ts";
import { until } from "../harness/until.ts";

// docs/sites.md, "Certificates": the bus of a site gets its certificates by itself, follows the root, and gets nothing
// that is not its own.

const day = 24 * 3_600_000;
let fleet: SiteFleet;
let master: Program;
let site: Program;
let peel: Program;
let firstKey = "";

const at = (name: string) => join(fleet.siteDir("berlin"), "bus", name);
const ca = () => join(fleet.dir, "auth/ca");
const leaf = () => new X509Certificate(readFileSync(at("nats-server.crt"), "utf8"));
const renewals = () => site.output().match(/the certificate of the bus was renewed/g)?.length ?? 0;
const served = async () =>
  (
    await inspectCertificate(
      { host: "127.0.0.3", port: fleet.hosts.ports.bus },
      { ca: readFileSync(at("nats-ca.crt"), "utf8"), clock: systemClock },
    )
  ).notAfter;
const rotate = (step: string, ...more: string[]) => fleet.svc("ca", "rotate", step, "--dir", ca(), ...more);
/** A program looks when its files change; otherwise some minutes later. */
const checkNow = () => appendFileSync(at("nats-ca.crt"), "\n");

/** Puts a certificate there that was issued some days ago, before its CA was, and ends some days from now. */
async function place(commonName: string, issued: number, left: number, texts: string[]) {
  const { intermediatePem, signingKey } = (await loadInForce(ca())).authority;
  const { keys, pem: keyPem } = await newSigningKey();
  const certPem = await buildLeafCertificate(
    {
      ...{ commonName, publicKey: keys.publicKey, serial: newSerial(systemRandom), usage: "nats-server" },
      names: parseNames(texts),
      validity: { notBefore: systemClock.now() - issued * day, notAfter: systemClock.now() + left * day },
    },
    { certificate: new X509Certificate(intermediatePem), key: signingKey },
  );
  const one = { keyPem, certPem: certPem + intermediatePem };
  writeFileSync(at("nats-server.key"), one.keyPem);
  writeFileSync(at("nats-server.crt"), one.certPem);
  return one;
}

/** The roots that the site trusts. */
const trusted = (path = at("nats-ca.crt")) => rootsOf(readFileSync(path, "utf8")).map(spkiPin);
const names = () => [fleet.hosts.names[1] ?? "", "localhost", "127.0.0.1"];

beforeAll(async () => {
  fleet = await startSiteFleet(4, ["--site-port", "PORT"]);
  letEnroll(fleet);
  master = await fleet.startMaster();
  const adding = fleet.hosts.start(1, fleet.addWords("berlin", 2));
  await adding.waitFor("waiting for the server of berlin");
  firstKey = readFileSync(at("nats-server.key"), "utf8");
  site = fleet.startSite("berlin", 2);
  expect(await adding.exited).toBe(0);
}, 120_000);
afterAll(() => fleet?.[Symbol.asyncDispose](), 60_000);

test("a site that starts for the first time gets a certificate for a key that it made, and the audit has it", async () => {
  await site.waitFor("the certificate of the bus was renewed");
  expect(leaf().subject).toBe("CN=svc-site");
  expect(leaf().subjectAltName).toBe(`DNS:${fleet.hosts.names[1]}, DNS:localhost, IP Address:127.0.0.1`);
  expect(readFileSync(at("nats-server.key"), "utf8")).not.toBe(firstKey);
  expect(existsSync(at("nats-server.key.next"))).toBe(false);
  await until(served, (notAfter) => notAfter === Date.parse(leaf().validTo));
  const shown = await untilSite(fleet, "berlin", "up");
  expect(Date.parse(shown?.certificate_ends ?? "")).toBe(Date.parse(leaf().validTo));
  expect(await fleet.certificateOf(site, 2)).toMatchObject({
    status: "up",
    message: expect.stringContaining("ends at"),
  });
  const audit = await fleet.svc("audit", "list", "--action", "sites.certificate", "--output", "json");
  expect(JSON.parse(audit.stdout)).toMatchObject([
    { operator: "site:berlin", outcome: "done", subjects: { site: "berlin", names: names() } },
    { operator: "site:berlin", outcome: "begun" },
  ]);
}, 60_000);

test("one that is about to end is renewed, and no peel is disconnected", async () => {
  peel = await fleet.startPeel("web-1", 2, { site: "berlin" });
  const before = renewals();
  await place("svc-site", 300, 65, names());
  await until(() => renewals() === before + 1);
  const left = Date.parse(leaf().validTo) - systemClock.now();
  expect(left).toBeGreaterThan(364 * day);
  await until(served, (notAfter) => notAfter === Date.parse(leaf().validTo));
  expect((await fleet.svc("run", "web-1", "test.ping")).code).toBe(0);
  expect(peel.output()).not.toContain("bus disconnected");
}, 60_000);

test("one with a name that masters do not know stays, and readiness says so", async () => {
  const before = renewals();
  await place("svc-site", 300, 65, [...names(), "old.example.com"]);
  const check = await until(
    () => fleet.certificateOf(site, 2),
    ({ message = "" }) => message.includes("old.example.com"),
  );
  expect(check.status).toBe("degraded");
  expect(renewals()).toBe(before);
  expect(leaf().subjectAltName).toContain("old.example.com");
}, 60_000);

test("after it has ended, and while the link is cut off for it, the site gets another one", async () => {
  site.kill("SIGTERM");
  await site.exited;
  await place("svc-site", 300, -1, names());
  site = fleet.startSite("berlin", 2);
  await site.waitFor("the certificate of the bus was renewed");
  await untilSite(fleet, "berlin", "up", 1);
  expect(await fleet.certificateOf(site, 2)).toMatchObject({ status: "up" });
}, 120_000);

test("what a crash left between two files is ended at the next start", async () => {
  site.kill("SIGTERM");
  await site.exited;
  const one = await place("svc-site", 1, 300, names());
  writeFileSync(at("nats-server.crt.next"), one.certPem);
  writeFileSync(at("nats-server.key.next"), one.keyPem);
  writeFileSync(at("nats-server.key"), firstKey);
  site = fleet.startSite("berlin", 2);
  await site.waitFor("bus ready");
  await untilSite(fleet, "berlin", "up", 1);
  expect([renewals(), leaf().serialNumber]).toEqual([0, new X509Certificate(one.certPem).serialNumber]);
}, 60_000);

test("a rotation of the root is followed, finish waits for the site, and the link works with the next root alone", async () => {
  const disconnected = () => peel.output().match(/bus disconnected/g)?.length ?? 0;
  const before = disconnected();
  expect((await rotate("start")).code).toBe(0);
  const { next } = (await loadInForce(ca())).rotation ?? {};
  await master.waitFor("the rotation of the root changed");
  checkNow();
  await until(() => trusted().length === 2);
  const activated = await until(
    () => rotate("activate"),
    ({ code }) => code === 0,
  );
  expect(activated.code).toBe(0);
  await until(() => (master.output().match(/the certificate of the bus was issued again/g)?.length ?? 0) > 0);
  const early = await until(
    () => rotate("finish"),
    ({ stderr }) => !stderr.includes("running master"),
  );
  expect([early.code, early.stderr]).toEqual([1, expect.stringMatching(/1 site without.*berlin/)]);
  const status = await rotate("status");
  expect(status.stdout).toContain("it has not asked for it yet");
  checkNow();
  const shown = await until(
    () => fleet.stateOf("berlin"),
    (found) => found?.certificate_root === next?.pin,
  );
  expect(shown?.state).toBe("up");
  expect((await rotate("finish")).code).toBe(0);
  await until(() => master.output().match(/the rotation of the root changed/g)?.length === 3);
  checkNow();
  await until(() => trusted().join() === next?.pin);
  expect(disconnected()).toBe(before);
  // Both ends of the link connect again, and know the next root alone.
  master.kill("SIGTERM");
  await master.exited;
  master = await fleet.startMaster();
  await untilSite(fleet, "berlin", "up", 1);
  expect((await fleet.svc("run", "web-1", "test.ping")).code).toBe(0);
  expect(disconnected()).toBe(before);
}, 240_000);

/** A request from anyone who can reach a master. */
async function request(
  name: string,
  key: KeyPair,
  more: { proof?: KeyObject; [field: string]: unknown } = {},
) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const der = publicKey.export({ format: "der", type: "spki" });
  const signedAt = rfc3339(systemClock.now());
  const message = certificateMessage({ site: name, publicKey: der, signedAt });
  const { proof = privateKey, ...fields } = more;
  const answer = await fetch(`https://127.0.0.2:${fleet.hosts.ports.api}/api/v1/sites/${name}/certificate`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      public_key: der.toString("base64"),
      signed_at: signedAt,
      signature: Buffer.from(key.sign(message)).toString("base64"),
      proof: sign("sha256", message, { key: proof, dsaEncoding: "ieee-p1363" }).toString("base64"),
      ...fields,
    }),
    tls: { rejectUnauthorized: false },
  });
  return [answer.status, ((await answer.json()) as { error?: string }).error];
}
const linkKey = (name: string) =>
  parseCredentials(readFileSync(join(fleet.siteDir(name), "bus/link.creds"), "utf8")).key;

test("nobody gets a certificate of a site but its server, and that one gets its own names alone", async () => {
  const adding = fleet.hosts.start(1, fleet.addWords("munich", 3));
  await adding.waitFor("waiting for the server of munich");
  const seed = readFileSync(join(fleet.hosts.dir, "peel-web-1/auth/web-1.seed"), "utf8").trim();
  const refused = [401, expect.stringContaining("not signed by the key of this site")];
  expect(await request("berlin", linkKey("munich"))).toEqual(refused);
  expect(await request("berlin", keyPairFromSeed("user", seed))).toEqual(refused);
  expect(await request("berlin", newKeyPair("user", systemRandom))).toEqual(refused);
  expect(await request("nowhere", linkKey("berlin"))).toEqual(refused);
  expect(await request("berlin", linkKey("berlin"), { names: ["master.example.com"] })).toEqual([
    400,
    expect.stringContaining("names"),
  ]);
  const { privateKey: other } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  expect(await request("berlin", linkKey("berlin"), { proof: other })).toEqual([
    400,
    expect.stringContaining("proof"),
  ]);
  expect((await request("munich", linkKey("munich")))[0]).toBe(200);
  expect((await fleet.svc("cluster", "remove-site", "munich")).code).toBe(0);
  expect(await request("munich", linkKey("munich"))).toEqual([403, expect.stringContaining("was removed")]);
  adding.kill("SIGKILL");
  await adding.exited;
}, 60_000);

test("a site that names no masters keeps its certificate, works, and reports what to do", async () => {
  site.kill("SIGTERM");
  await site.exited;
  const path = join(fleet.siteDir("berlin"), "master.yaml");
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace(/^site: .*\nmaster_urls:\n(?: +- .*\n)+/m, ""));
  expect(readFileSync(path, "utf8")).not.toContain("master_urls");
  const { serialNumber } = leaf();
  site = fleet.startSite("berlin", 2);
  await untilSite(fleet, "berlin", "up", 1);
  expect(await fleet.certificateOf(site, 2)).toMatchObject({
    status: "up",
    message: expect.stringContaining("not renewed by itself"),
  });
  expect((await fleet.svc("run", "web-1", "test.ping")).code).toBe(0);
  expect(leaf().serialNumber).toBe(serialNumber);
  // The two lines are all that it needs.
  site.kill("SIGTERM");
  await site.exited;
  writeFileSync(path, text);
  await place("nats", 300, 65, names());
  site = fleet.startSite("berlin", 2);
  await site.waitFor("the certificate of the bus was renewed");
}, 120_000);

test("a site that was off during a whole rotation follows when it is back", async () => {
  site.kill("SIGTERM");
  await site.exited;
  expect((await rotate("start")).code).toBe(0);
  for (const step of ["activate", "finish"]) expect((await rotate(step, "--force")).code).toBe(0);
  const { root } = await loadInForce(ca());
  await until(() => trusted(join(fleet.dir, "bus/nats-ca.crt")).join() === root.pin);
  site = fleet.startSite("berlin", 2);
  await untilSite(fleet, "berlin", "up");
  expect(trusted()).toEqual([root.pin]);
  await until(
    () => fleet.stateOf("berlin"),
    (found) => found?.certificate_root === root.pin,
  );
}, 240_000);
