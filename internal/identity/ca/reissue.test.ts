import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "../../base/clock.ts";
import { systemRandom as random } from "../../base/id.ts";
import { createAuthority } from "./create.ts";
import { describeCertificate } from "./describe.ts";
import { issueCertificate } from "./issue.ts";
import { loadAuthority } from "./load.ts";
import { reissueIntermediate, reissueRoot } from "./reissue.ts";

const hour = 3_600_000;
const year = 8760 * hour;
const base = mkdtempSync(join(tmpdir(), "svc-reissue-"));
const start = systemClock.now();
const at = (now: number): Clock => ({ ...systemClock, now: () => now });
let count = 0;
let dir: string;

afterAll(() => rmSync(base, { recursive: true, force: true }));

beforeEach(async () => {
  dir = join(base, `ca-${count++}`);
  await create(dir);
});

const create = (path: string) =>
  createAuthority({
    dir: path,
    organization: 'Ex"ample, é',
    rootValidityMs: 10 * year,
    clock: at(start),
    random,
  });

const read = (name: string) => readFileSync(join(dir, name), "utf8");
const snapshot = () => Object.fromEntries(readdirSync(dir).map((name) => [name, read(name)]));

async function issueLeaf() {
  const leaf = await issueCertificate(await loadAuthority(dir), {
    commonName: "nats",
    names: ["bus.example.com"],
    usage: "nats-server",
    validityMs: year,
    clock: at(start),
    random,
  });
  return leaf.certPem;
}

/** Verifies a chain with OpenSSL, as strictly as it can, at a point in time. */
function verify(rootPem: string, chainPem: string, when = start) {
  const [root, chain] = [join(base, `root-${count}.pem`), join(base, `chain-${count++}.pem`)];
  writeFileSync(root, rootPem);
  writeFileSync(chain, chainPem);
  const flags = ["-x509_strict", "-purpose", "sslserver", "-verify_hostname", "bus.example.com"];
  const time = ["-attime", `${Math.floor(when / 1000)}`];
  const done = Bun.spawnSync([
    "openssl",
    "verify",
    ...flags,
    ...time,
    "-CAfile",
    root,
    "-untrusted",
    chain,
    chain,
  ]);
  return done.exitCode === 0 ? "ok" : done.stdout.toString() + done.stderr.toString();
}

describe("reissueRoot", () => {
  test("keeps the pin, the names and the extensions, and replaces root.crt alone", async () => {
    const before = snapshot();
    const { before: old, after } = await reissueRoot({
      dir,
      validityMs: 10 * year,
      clock: at(start + year),
      random,
    });
    expect(after.pin).toBe(old.pin);
    expect(after).toMatchObject({
      subject: old.subject,
      issuer: old.issuer,
      notAfter: Math.floor((start + 11 * year) / 1000) * 1000,
    });
    expect(after.fingerprint).not.toBe(old.fingerprint);
    const { "root.crt": renewed, ...rest } = snapshot();
    const { "root.crt": _, ...restBefore } = before;
    expect(rest).toEqual(restBefore);
    expect(describeCertificate(renewed ?? "")).toEqual(after);
    expect(statSync(join(dir, "root.crt")).mode & 0o777).toBe(0o644);
    const extensions = (pem: string) =>
      Bun.spawnSync(
        [
          "openssl",
          "x509",
          "-noout",
          "-ext",
          "basicConstraints,keyUsage,subjectKeyIdentifier,authorityKeyIdentifier",
        ],
        {
          stdin: new Blob([pem]),
        },
      ).stdout.toString();
    expect(extensions(renewed ?? "")).toBe(extensions(before["root.crt"] ?? ""));
    expect(extensions(renewed ?? "")).toContain("pathlen:1");
  });

  test("old and new certificates verify with the old and the new root", async () => {
    const oldRoot = read("root.crt");
    const oldLeaf = await issueLeaf();
    await reissueRoot({ dir, validityMs: 10 * year, clock: at(start + hour), random });
    const newLeaf = await issueLeaf();
    for (const root of [oldRoot, read("root.crt")]) {
      for (const leaf of [oldLeaf, newLeaf]) expect(verify(root, leaf, start + hour)).toBe("ok");
    }
  });

  test("a root that has expired is renewed as well", async () => {
    await reissueRoot({ dir, validityMs: 10 * year, clock: at(start + 12 * year), random });
    expect(describeCertificate(read("root.crt")).notAfter).toBeGreaterThan(start + 21 * year);
    await loadAuthority(dir);
  });

  test("needs nothing but the root and its key", async () => {
    rmSync(join(dir, "intermediate.crt"));
    rmSync(join(dir, "intermediate.key"));
    const { before, after } = await reissueRoot({
      dir,
      validityMs: 10 * year,
      clock: at(start + hour),
      random,
    });
    expect(after.pin).toBe(before.pin);
  });

  test("refuses without root.key, naming it, and touches nothing", async () => {
    rmSync(join(dir, "root.key"));
    const before = snapshot();
    const options = { dir, validityMs: 10 * year, clock: at(start + hour), random };
    for (const run of [() => reissueRoot(options), () => reissueIntermediate(options)]) {
      await expect(run()).rejects.toMatchObject({
        kind: "bad_request",
        message: expect.stringMatching(new RegExp(`^${join(dir, "root.key")} does not exist`)),
      });
    }
    expect(snapshot()).toEqual(before);
  });

  test("refuses the key of another root, and a certificate that would end no later", async () => {
    const clock = at(start + hour);
    const before = read("root.crt");
    await expect(reissueRoot({ dir, validityMs: year, clock, random })).rejects.toThrow("--root-validity");
    await expect(reissueRoot({ dir, validityMs: 60_000, clock, random })).rejects.toThrow("at least 1h");
    const other = join(base, `ca-${count++}`);
    await create(other);
    copyFileSync(join(other, "root.key"), join(dir, "root.key"));
    await expect(reissueRoot({ dir, validityMs: 10 * year, clock, random })).rejects.toThrow(
      "is not the key of",
    );
    expect(read("root.crt")).toBe(before);
  });

  test("leaves the old certificate whole when the directory cannot be written", async () => {
    const before = snapshot();
    rmSync(join(dir, "root.crt"));
    mkdirSync(join(dir, "root.crt"));
    await expect(
      reissueRoot({ dir, validityMs: 10 * year, clock: at(start + hour), random }),
    ).rejects.toThrow("is a directory");
    const { "root.crt": _, ...rest } = before;
    expect(readdirSync(dir).sort()).toEqual([...Object.keys(rest), "root.crt"].sort());
  });
});

describe("reissueIntermediate", () => {
  test("keeps key and names, lasts five years, and leaves stay valid", async () => {
    const leaf = await issueLeaf();
    const oldIntermediate = read("intermediate.crt");
    const clock = at(start + 2 * year);
    const { before, after } = await reissueIntermediate({ dir, clock, random });
    expect(after).toMatchObject({ pin: before.pin, subject: before.subject, issuer: before.issuer });
    expect(after.notAfter).toBe(Math.floor((start + 7 * year) / 1000) * 1000);
    const later = leaf.replace(oldIntermediate, read("intermediate.crt"));
    expect(later).not.toBe(leaf);
    expect(verify(read("root.crt"), later, start + hour)).toContain("not yet valid");
    expect((await loadAuthority(dir)).intermediatePem).toBe(read("intermediate.crt"));
    const fresh = await issueCertificate(await loadAuthority(dir), {
      commonName: "nats",
      names: ["bus.example.com"],
      usage: "nats-server",
      validityMs: year,
      clock,
      random,
    });
    expect(verify(read("root.crt"), fresh.certPem, start + 2 * year)).toBe("ok");
    expect(new X509Certificate(read("intermediate.crt")).serialNumber).not.toBe(
      new X509Certificate(oldIntermediate).serialNumber,
    );
  });

  test("never outlives the root, and the error says to renew the root first", async () => {
    const clock = at(start + 8 * year);
    const { after } = await reissueIntermediate({ dir, clock, random });
    expect(after.notAfter).toBe(describeCertificate(read("root.crt")).notAfter);
    await expect(reissueIntermediate({ dir, clock, random })).rejects.toThrow("svc ca renew-root");
    await reissueRoot({ dir, validityMs: 10 * year, clock, random });
    const again = await reissueIntermediate({ dir, clock, random });
    expect(again.after.notAfter).toBe(Math.floor((start + 13 * year) / 1000) * 1000);
  });

  test("refuses the intermediate of another CA with the same names", async () => {
    const other = join(base, `ca-${count++}`);
    await create(other);
    copyFileSync(join(other, "intermediate.crt"), join(dir, "intermediate.crt"));
    await expect(reissueIntermediate({ dir, clock: at(start + year), random })).rejects.toThrow(
      "does not belong to the CA",
    );
  });
});
