import { expect, test } from "bun:test";
import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from "node:crypto";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { rfc3339, systemClock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { systemRandom } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { createAuthority } from "../../identity/ca/create.ts";
import { certifyKey } from "../../identity/ca/issue.ts";
import { loadAuthority } from "../../identity/ca/load.ts";
import { type KeyPair, newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { invoke } from "../operation/mod.ts";
import { renewSiteCertificate, type SiteCertificateDeps } from "./certificate-operation.ts";
import { decodeCertificate, encodeCertificate } from "./certificate-record.ts";
import { certificateMessage } from "./certificate-request.ts";
import { followSites } from "./follow.ts";
import { encodeSite, type SiteRecord } from "./record.ts";

// Which sites masters issue for. test/e2e/site-certificates.test.ts asks the real programs.

const mac = createRecordMac(newKeyPair("account", systemRandom));
const hour = 3_600_000;
const account = () => newKeyPair("account", systemRandom).publicKey;

async function masters() {
  using files = temporaryDirectory("site-certificates");
  const dir = `${files.path}/ca`;
  await createAuthority({
    ...{
      dir,
      organization: "Fleet",
      rootValidityMs: 10_000 * hour,
      clock: systemClock,
      random: systemRandom,
    },
  });
  const authority = await loadAuthority(dir);
  const clock = manualClock(systemClock.now());
  const log = recordingLog();
  const bucket = memoryBucket();
  const sites = followSites({ bucket, mac, log });
  const audit: unknown[] = [];
  const deps: SiteCertificateDeps = {
    ...{ bucket, mac, sites, clock },
    async certify(key, names) {
      const publicKey = await crypto.subtle.importKey(
        "spki",
        new Uint8Array(key.export({ format: "der", type: "spki" })),
        { name: "ECDSA", namedCurve: "P-256" },
        true,
        ["verify"],
      );
      const issued = await certifyKey(authority, publicKey, {
        ...{ commonName: "svc-site", names, usage: "nats-server", validityMs: 8760 * hour },
        ...{ clock, random: systemRandom },
      });
      return { ...issued, root: "sha256:0" };
    },
    async record({ site, names }) {
      audit.push({ site, names });
      return async (end) => void audit.push(end);
    },
  };
  const add = async (name: string, changes: Partial<SiteRecord> = {}) => {
    const key = newKeyPair("user", systemRandom);
    const site: SiteRecord = {
      ...{ name, urls: [`tls://leaf.${name}.example.com:4222`], account: account() },
      ...{ users: { link: key.publicKey, system: key.publicKey }, systemSigner: account() },
      ...{ jwts: { link: "a", system: "b" }, createdAt: 1_000, createdBy: "ann", former: [] },
      ...changes,
    };
    await bucket.put(name, encodeSite(mac, site));
    return { key, site };
  };
  interface Requested {
    site: string;
    key: KeyPair;
    /** Of the new key; another one signs `proof` when it is given. */
    proof?: KeyObject;
    curve?: string;
    signedAt?: number;
    fields?: Record<string, unknown>;
  }
  const request = ({ site, key, proof, curve = "P-256", signedAt = clock.now(), fields = {} }: Requested) => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: curve });
    const der = publicKey.export({ format: "der", type: "spki" });
    const message = certificateMessage({ site, publicKey: der, signedAt: rfc3339(signedAt) });
    const signed = sign("sha256", message, { key: proof ?? privateKey, dsaEncoding: "ieee-p1363" });
    const requested = {
      site,
      public_key: der.toString("base64"),
      signed_at: rfc3339(signedAt),
      signature: Buffer.from(key.sign(message)).toString("base64"),
      proof: signed.subarray(0, 64).toString("base64"),
      ...fields,
    };
    const caller = { kind: "anonymous", door: "rest" } as const;
    return invoke(renewSiteCertificate, deps, { fields: requested }, { caller, log, clock });
  };
  return { request, add, audit, bucket, clock, sites, deps };
}

test("a site gets the names that it was added with, each certificate is in the audit, and masters know its end", async () => {
  const { request, add, audit, sites } = await masters();
  const { key } = await add("berlin");
  const { certificate, not_after } = await request({ site: "berlin", key });
  const leaf = new X509Certificate(certificate);
  expect(leaf.subjectAltName).toBe("DNS:leaf.berlin.example.com, DNS:localhost, IP Address:127.0.0.1");
  expect([leaf.subject, leaf.ca]).toEqual(["CN=svc-site", false]);
  expect(sites.certificateOf("berlin")?.notAfter).toBe(Date.parse(not_after));
  expect(audit).toEqual([
    { site: "berlin", names: ["leaf.berlin.example.com", "localhost", "127.0.0.1"] },
    { outcome: "done" },
  ]);
  expect(sites.open().map(({ name }) => name)).toEqual(["berlin"]);
});

test("nobody else gets one, and nothing is recorded or stored for them", async () => {
  const { request, add, audit, bucket, clock } = await masters();
  const { key } = await add("berlin");
  const munich = await add("munich");
  const removed = await add("paris", { removedAt: 2_000 });
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const before = bucket.keys;
  const cases = [
    [{ site: "berlin", key: munich.key }, "unauthorized"],
    [{ site: "berlin", key: newKeyPair("user", systemRandom) }, "unauthorized"],
    [{ site: "rome", key }, "unauthorized"],
    [{ site: "berlin", key, signedAt: clock.now() - 301_000 }, "unauthorized"],
    [{ site: "berlin", key, signedAt: clock.now() + 301_000 }, "unauthorized"],
    [{ site: "berlin", key, fields: { signed_at: rfc3339(clock.now() + 1) } }, "unauthorized"],
    [{ site: "paris", key: removed.key }, "forbidden"],
    [{ site: "berlin", key, proof: other }, "bad_request"],
    [{ site: "berlin", key, curve: "P-384" }, "bad_request"],
    [{ site: "berlin", key, fields: { names: ["master.example.com"] } }, "bad_request"],
    [{ site: "berlin", key, fields: { public_key: "AAAA" } }, "bad_request"],
    [{ site: "../x", key }, "bad_request"],
  ] as const;
  for (const [requested, kind] of cases) await expect(request(requested)).rejects.toMatchObject({ kind });
  expect([audit, bucket.keys]).toEqual([[], before]);
});

test("a site that was removed and added again is another one: its key before gets nothing", async () => {
  const { request, add, sites } = await masters();
  const first = await add("berlin");
  await request({ site: "berlin", key: first.key });
  await add("berlin", { removedAt: 2_000, users: first.site.users, account: first.site.account });
  const second = await add("berlin", {
    former: [{ account: first.site.account, system: first.site.users.system }],
  });
  expect(sites.certificateOf("berlin")).toBeUndefined();
  await expect(request({ site: "berlin", key: first.key })).rejects.toMatchObject({ kind: "unauthorized" });
  await request({ site: "berlin", key: second.key });
  expect(sites.certificateOf("berlin")?.account).toBe(second.site.account);
});

test("one site gets at most twelve certificates in a day, and the others get theirs", async () => {
  const { request, add, audit, clock } = await masters();
  const [berlin, munich] = [await add("berlin"), await add("munich")];
  for (let i = 0; i < 12; i++) await request({ site: "berlin", key: berlin.key });
  const entries = audit.length;
  await expect(request({ site: "berlin", key: berlin.key })).rejects.toMatchObject({ kind: "rate_limited" });
  await request({ site: "munich", key: munich.key });
  expect(audit.length).toBe(entries + 2);
  clock.advance(24 * hour + 1);
  await request({ site: "berlin", key: berlin.key });
});

test("when the CA or the audit fails, nothing is issued", async () => {
  const { request, add, audit, sites, deps } = await masters();
  const { key } = await add("berlin");
  const { certify, record } = deps;
  deps.certify = () => Promise.reject(new SvcError("conflict", "this fleet has no CA"));
  await expect(request({ site: "berlin", key })).rejects.toMatchObject({ kind: "conflict" });
  expect(audit.at(-1)).toEqual({ outcome: "failed", reason: "this fleet has no CA" });
  deps.record = () => Promise.reject(new SvcError("unavailable", "the audit cannot be written"));
  deps.certify = () => Promise.reject(new Error("asked"));
  await expect(request({ site: "berlin", key })).rejects.toMatchObject({ kind: "unavailable" });
  Object.assign(deps, { certify, record });
  expect(sites.certificateOf("berlin")).toBeUndefined();
});

test("an attacker who controls the bus cannot make or move the record of a certificate", () => {
  const one = {
    ...{ site: "berlin", account: account(), root: "sha256:0" },
    ...{ issuedAt: 1_000, notAfter: 2_000, recent: [1_000] },
  };
  const bytes = encodeCertificate(mac, one);
  expect(decodeCertificate(mac, "berlin", bytes)).toEqual(one);
  expect(decodeCertificate(mac, "munich", bytes)).toBeUndefined();
  const later = { ...(decode(bytes) as object), not_after: rfc3339(9_000_000) };
  expect(decodeCertificate(mac, "berlin", encode(later))).toBeUndefined();
});
