import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createPrivateKey, X509Certificate } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
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
import { systemRandom } from "../../base/id.ts";
import { createAuthority } from "./create.ts";
import { issueCertificate } from "./issue.ts";
import { type Authority, loadAuthority } from "./load.ts";

const hour = 3_600_000;
const names = ["root.crt", "root.key", "intermediate.crt", "intermediate.key"];
const base = mkdtempSync(join(tmpdir(), "svc-ca-"));
const random = systemRandom;
const clock = systemClock;
let count = 0;

afterAll(() => rmSync(base, { recursive: true, force: true }));

const fresh = () => join(base, `ca-${count++}`);
const at = (now: number): Clock => ({ ...systemClock, now: () => now });

function create(dir: string, change: Partial<Parameters<typeof createAuthority>[0]> = {}) {
  return createAuthority({
    dir,
    organization: "Example",
    rootValidityMs: 87_600 * hour,
    clock,
    random,
    ...change,
  });
}

function issue(authority: Authority, change: Partial<Parameters<typeof issueCertificate>[1]> = {}) {
  return issueCertificate(authority, {
    commonName: "nats",
    names: ["bus.example.com", "10.0.0.5", "2001:db8::5"],
    usage: "nats-server",
    validityMs: 8760 * hour,
    clock,
    random,
    ...change,
  });
}

function openssl(...args: string[]) {
  const done = Bun.spawnSync(["openssl", ...args], { stdin: "ignore" });
  return { exit: done.exitCode, text: done.stdout.toString() + done.stderr.toString() };
}

function snapshot(dir: string) {
  return Object.fromEntries(
    readdirSync(dir).map((name) => [name, readFileSync(join(dir, name)).toString("hex")]),
  );
}

const modes = (dir: string) =>
  Object.fromEntries(readdirSync(dir).map((name) => [name, statSync(join(dir, name)).mode & 0o777]));

describe("createAuthority", () => {
  test("returns the summary of the root, and OpenSSL agrees", async () => {
    const dir = fresh();
    const now = Date.UTC(2026, 0, 1);
    const root = await create(dir, { clock: at(now) });
    expect(root.subject).toBe("O=Example, CN=Example Root CA");
    expect(root.notBefore).toBe(now - 5 * 60_000);
    expect(root.notAfter).toBe(now + 87_600 * hour);
    const path = join(dir, "root.crt");
    expect(openssl("x509", "-in", path, "-noout", "-fingerprint", "-sha256").text).toContain(
      root.fingerprint,
    );
    const spki = Bun.spawnSync([
      "sh",
      "-c",
      `openssl x509 -in ${path} -noout -pubkey | openssl pkey -pubin -outform DER | sha256sum`,
    ]);
    expect(root.pin).toBe(`sha256:${spki.stdout.toString().slice(0, 64)}`);
    const intermediate = new X509Certificate(readFileSync(join(dir, "intermediate.crt")));
    expect(Date.parse(intermediate.validTo)).toBe(now + 43_800 * hour);
    const text = openssl("x509", "-in", path, "-noout", "-text").text;
    expect(text).toContain("CA:TRUE, pathlen:1");
    expect(text).toContain("Certificate Sign, CRL Sign");
    expect(openssl("x509", "-in", join(dir, "intermediate.crt"), "-noout", "-text").text).toContain(
      "pathlen:0",
    );
  });

  test.each([0o000, 0o077])("gives the files their modes under umask %o", async (mask) => {
    const dir = fresh();
    const before = process.umask(mask);
    try {
      await create(dir);
    } finally {
      process.umask(before);
    }
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(modes(dir)).toEqual({
      "root.crt": 0o644,
      "root.key": 0o600,
      "intermediate.crt": 0o644,
      "intermediate.key": 0o600,
    });
  });

  test("leaves the mode of a directory that was there", async () => {
    const dir = fresh();
    mkdirSync(dir);
    chmodSync(dir, 0o755);
    await create(dir);
    expect(statSync(dir).mode & 0o777).toBe(0o755);
  });

  test.each(names)("refuses when %s exists, and touches nothing", async (name) => {
    const dir = fresh();
    mkdirSync(dir);
    writeFileSync(join(dir, name), "mine");
    await expect(create(dir)).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringContaining(join(dir, name)),
    });
    expect(snapshot(dir)).toEqual({ [name]: Buffer.from("mine").toString("hex") });
  });

  test("of several at once one wins, and its material is whole", async () => {
    const dir = fresh();
    const results = await Promise.allSettled([1, 2, 3, 4].map((i) => create(dir, { organization: `O${i}` })));
    const won = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    expect(won).toHaveLength(1);
    const authority = await loadAuthority(dir);
    expect(new X509Certificate(authority.rootPem).fingerprint256).toBe(won[0]?.fingerprint ?? "");
    expect(readdirSync(dir).sort()).toEqual([...names].sort());
  });

  test("never lets the intermediate outlive a short root", async () => {
    const dir = fresh();
    const root = await create(dir, { rootValidityMs: 2 * hour });
    const { intermediatePem } = await loadAuthority(dir);
    expect(Date.parse(new X509Certificate(intermediatePem).validTo)).toBe(root.notAfter);
  });

  test("refuses an empty or endless name and an impossible validity", async () => {
    const dir = fresh();
    await expect(create(dir, { organization: " " })).rejects.toThrow("organization");
    await expect(create(dir, { commonName: "x".repeat(65) })).rejects.toThrow("common name");
    await expect(create(dir, { commonName: "Example Intermediate CA" })).rejects.toThrow(
      "reserved for the intermediate",
    );
    await expect(create(dir, { rootValidityMs: 0 })).rejects.toThrow("at least 1h");
    await expect(create(dir, { rootValidityMs: 9000 * 8760 * hour })).rejects.toThrow(
      "before the year 10000",
    );
    expect(existsSync(dir)).toBe(false);
  });

  test("special characters in a name do not change its structure", async () => {
    const dir = fresh();
    await create(dir, { organization: '#A, CN=evil + "b" é \\' });
    const read = [
      "x509",
      "-in",
      join(dir, "root.crt"),
      "-noout",
      "-subject",
      "-nameopt",
      "sep_multiline,utf8",
    ];
    expect(openssl(...read).text.split("\n")).toEqual([
      "subject=",
      '    O=#A, CN=evil + "b" é \\',
      '    CN=#A, CN=evil + "b" é \\ Root CA',
      "",
    ]);
  });
});

describe("loadAuthority", () => {
  let good: string;
  let other: string;

  beforeAll(async () => {
    good = fresh();
    other = fresh();
    await create(good);
    await create(other);
  });

  const copy = () => {
    const dir = fresh();
    mkdirSync(dir);
    for (const name of names) copyFileSync(join(good, name), join(dir, name));
    return dir;
  };

  test("does without the key of the root", async () => {
    const dir = copy();
    rmSync(join(dir, "root.key"));
    expect((await loadAuthority(dir)).hasRootKey).toBe(false);
    expect((await loadAuthority(good)).hasRootKey).toBe(true);
  });

  test.each(["root.crt", "intermediate.crt", "intermediate.key"])(
    "names a missing %s, and what to do with what is there",
    async (name) => {
      const dir = copy();
      rmSync(join(dir, name));
      const message = `cannot read the CA file ${join(dir, name)}: no such file: copy the files of one CA, or create a CA in an empty directory with svc ca init --dir DIR`;
      await expect(loadAuthority(dir)).rejects.toMatchObject({ kind: "bad_request", message });
    },
  );

  test("names the command where there is no CA", async () => {
    const dir = fresh();
    const message = `cannot read the CA file ${join(dir, "root.crt")}: no such file: create a CA with svc ca init --dir ${dir}`;
    await expect(loadAuthority(dir)).rejects.toMatchObject({ kind: "bad_request", message });
  });

  test.each(names)("notices %s of another CA", async (name) => {
    const dir = copy();
    copyFileSync(join(other, name), join(dir, name));
    const error = await loadAuthority(dir).catch((thrown) => thrown);
    expect(error.message).toContain(dir);
    expect(error.message).toContain("svc ca init");
  });

  test.each(names)("notices that %s is junk, and does not repeat it", async (name) => {
    const dir = copy();
    writeFileSync(join(dir, name), "-----BEGIN junk");
    const error = await loadAuthority(dir).catch((thrown) => thrown);
    expect(error.message).toContain(join(dir, name));
    expect(error.message).not.toContain("junk");
    expect(error.message).toContain("svc ca init");
  });

  test("reads a key in the older notation", async () => {
    const dir = copy();
    const key = join(dir, "intermediate.key");
    const sec1 = openssl("ec", "-in", key).text;
    writeFileSync(key, sec1.slice(sec1.indexOf("-----BEGIN EC")));
    expect((await issue(await loadAuthority(dir))).certPem).toContain("BEGIN CERTIFICATE");
  });
});

describe("issueCertificate", () => {
  let dir: string;
  let authority: Authority;

  beforeAll(async () => {
    dir = fresh();
    await create(dir);
    authority = await loadAuthority(dir);
  });

  const verify = async (pem: string, ...extra: string[]) => {
    const leaf = join(dir, `leaf-${count++}.pem`);
    writeFileSync(leaf, pem);
    return openssl(
      ...["verify", "-x509_strict", "-CAfile", join(dir, "root.crt"), "-untrusted", leaf, ...extra, leaf],
    );
  };

  test("verifies strictly as server and client, for its names alone", async () => {
    const { certPem } = await issue(authority);
    expect((await verify(certPem, "-purpose", "sslserver", "-verify_hostname", "bus.example.com")).exit).toBe(
      0,
    );
    expect((await verify(certPem, "-purpose", "sslclient")).exit).toBe(0);
    expect((await verify(certPem, "-purpose", "sslserver", "-verify_ip", "10.0.0.5")).exit).toBe(0);
    expect((await verify(certPem, "-purpose", "sslserver", "-verify_ip", "2001:db8::5")).exit).toBe(0);
    expect((await verify(certPem, "-verify_hostname", "other.example.com")).exit).not.toBe(0);
  });

  test("an enrollment certificate is for servers alone", async () => {
    const { certPem } = await issue(authority, { usage: "enroll", names: ["localhost"] });
    expect((await verify(certPem, "-purpose", "sslserver")).exit).toBe(0);
    expect((await verify(certPem, "-purpose", "sslclient")).exit).not.toBe(0);
  });

  test("the key belongs to the leaf, and serials differ and are positive", async () => {
    const issued = [await issue(authority), await issue(authority)];
    const leaves = issued.map(({ certPem }) => new X509Certificate(certPem));
    expect(new Set(leaves.map((leaf) => leaf.serialNumber)).size).toBe(2);
    for (const leaf of leaves) expect(leaf.serialNumber).toMatch(/^[4-7][0-9A-F]{39}$/);
    const keys = issued.map(({ keyPem }) => createPrivateKey(keyPem));
    expect(leaves.map((leaf) => keys.map((key) => leaf.checkPrivateKey(key)))).toEqual([
      [true, false],
      [false, true],
    ]);
  });

  test("never outlives the intermediate, and reports when it is clamped", async () => {
    const end = Date.parse(new X509Certificate(authority.intermediatePem).validTo);
    const long = await issue(authority, { validityMs: 100_000 * hour });
    expect(long).toMatchObject({ clamped: true, notAfter: end });
    const now = clock.now();
    const short = await issue(authority, { validityMs: hour, clock: at(now) });
    expect(short).toMatchObject({ clamped: false, notAfter: Math.floor((now + hour) / 1000) * 1000 });
    await expect(issue(authority, { clock: at(end) })).rejects.toThrow("intermediate.crt expired at");
  });

  test.each([
    "bus_.",
    "-a",
    "a..b",
    "10.0.0.300",
    "exämple.com",
    "*.com.",
    "*",
    "a b",
    "fe80::1%eth0",
    "x".repeat(64),
    "",
  ])("refuses the name %p and repeats it", async (name) => {
    await expect(issue(authority, { names: ["ok.example.com", name] })).rejects.toThrow(JSON.stringify(name));
  });

  test("takes a wildcard, drops doubles, and needs a name", async () => {
    const { certPem } = await issue(authority, {
      names: ["*.Example.com", "*.example.com", "10.0.0.5", "10.0.0.5"],
    });
    expect(new X509Certificate(certPem).subjectAltName).toBe("DNS:*.example.com, IP Address:10.0.0.5");
    await expect(issue(authority, { names: [] })).rejects.toThrow("at least one");
  });
});
