import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ManualClock, manualClock, settle } from "../../../test/harness/clock.ts";
import { type LogRecord, recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom as random } from "../../base/id.ts";
import { createAuthority } from "../../identity/ca/create.ts";
import { issueCertificate } from "../../identity/ca/issue.ts";
import { loadAuthority } from "../../identity/ca/load.ts";
import { checkPair } from "../../identity/ca/pair.ts";
import { reissueIntermediate, reissueRoot } from "../../identity/ca/reissue.ts";
import { activateRotation, finishRotation, startRotation } from "../../identity/ca/rotate.ts";
import { splitPem } from "../../identity/trust/pin.ts";
import { loadMasterConfig } from "../../program/config/mod.ts";
import { createCertificateSource } from "./certificate.ts";
import type { CertificateOptions, CertificateSource } from "./certificate-source.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const year = 8760 * hour;
const start = Date.UTC(2026, 0, 1);

let files: ReturnType<typeof temporaryDirectory>;
let ca: string;
let clock: ManualClock;
let sources: CertificateSource[];
let records: LogRecord[];
let ends: Record<string, number>;
let renewals: string[];

beforeEach(async () => {
  files = temporaryDirectory("certificate");
  ca = join(files.path, "ca");
  clock = manualClock(start);
  [sources, records, ends, renewals] = [[], [], {}, []];
  await createAuthority({ dir: ca, organization: "Test", rootValidityMs: 10 * year, clock, random });
});

afterEach(() => {
  for (const source of sources) source.stop();
  files[Symbol.dispose]();
});

function config(...flags: string[]) {
  const invocation = loadMasterConfig(
    ["--auth-dir", files.path, "--ca-dir", ca, ...flags],
    {},
    () => undefined,
  );
  if (invocation.kind !== "run") throw new Error("the configuration does not run");
  return invocation.values;
}

async function open(flags: string[], change: Partial<CertificateOptions> = {}): Promise<CertificateSource> {
  const source = await createCertificateSource({
    config: config(...flags),
    hostname: "master-1",
    clock,
    random,
    log: recordingLog(records),
    metrics: {
      certificateNotAfter: (certificate, epochMs) => {
        ends[certificate] = epochMs;
      },
      certificateRenewal: (result) => renewals.push(result),
    },
    ...change,
  });
  sources.push(source);
  return source;
}

/** Resolves with the next certificate of a source. */
const nextOf = (source: CertificateSource) =>
  new Promise<ReturnType<CertificateSource["current"]>>((resolve) => {
    const stop = source.onChange((certificate) => {
      stop();
      resolve(certificate);
    });
  });

/** Advances the clock in steps until the source logs something, and returns that record. */
async function until(event: string, stepMs: number): Promise<LogRecord> {
  const from = records.length;
  for (;;) {
    clock.advance(stepMs);
    // Issuing takes turns of the event loop, not time: the record comes when it is done.
    await clock.asleep(2);
    const found = records.slice(from).find((record) => record.event === event);
    if (found !== undefined) return found;
  }
}

const short = ["--ca-mode", "embedded", "--ca-enroll-cert-validity", "9s"];
const leafOf = (pem: string) => new X509Certificate(pem);

describe("the embedded CA", () => {
  test("issues at the start for the host, localhost and the configured names", async () => {
    const source = await open(["--ca-enroll-sans", "svc.example.com,10.0.0.9"]);
    const { cert, key, notAfter, root } = source.current();
    expect(leafOf(cert).subject).toBe("CN=svc-master");
    expect(leafOf(cert).subjectAltName).toBe(
      "DNS:master-1, DNS:localhost, DNS:svc.example.com, IP Address:10.0.0.9",
    );
    expect(notAfter).toBe(start + 2160 * hour);
    expect(root?.pem).toBe(readFileSync(join(ca, "root.crt"), "utf8"));
    expect(ends).toEqual({ enroll: notAfter, intermediate: start + 5 * year, root: start + 10 * year });
    expect(checkPair({ cert, key }, { cert: "c", key: "k" }, start).notAfter).toBe(notAfter);
    expect(source.check.run()).toEqual({ status: "up" });
  });

  test("rotates four hundred times, each time before a third of the life is left", async () => {
    const source = await open(short);
    const seen = new Set<string>();
    let { cert } = source.current();
    for (let round = 0; round < 400; round++) {
      const from = clock.now();
      const next = nextOf(source);
      clock.advance(6 * second);
      const renewed = await next;
      expect(renewed).toBe(source.current());
      expect(
        leafOf(renewed.cert).checkIssued(leafOf(readFileSync(join(ca, "intermediate.crt"), "utf8"))),
      ).toBe(true);
      expect(renewed.notAfter - from).toBeGreaterThanOrEqual(9 * second);
      expect(renewed.cert).not.toBe(cert);
      cert = renewed.cert;
      seen.add(leafOf(cert).serialNumber);
      await clock.asleep(2);
    }
    expect(seen.size).toBe(400);
    expect(renewals).toEqual(Array(400).fill("ok"));
    expect(records.filter(({ level }) => level !== "info")).toEqual([]);
    expect(clock.pending).toBe(2);
  }, 60_000);

  test("a life of 90 days is renewed after 54 to 60, though no timer is that long", async () => {
    // The watch of the directory, which looks every minute as well, is not what this is about.
    await open([], { clock: { ...clock, every: (ms, run) => clock.every(60 * ms, run) } });
    await until("enrollment certificate issued", hour);
    const days = (clock.now() - start) / (24 * hour);
    expect(days).toBeGreaterThanOrEqual(54);
    expect(days).toBeLessThanOrEqual(60 + 1 / 24);
  });

  test("pauses after failures double from 1 s and stay at 5 minutes", async () => {
    await open(short);
    renameSync(join(ca, "intermediate.key"), join(ca, "away"));
    const pauses: unknown[] = [];
    while (pauses.length < 11) {
      pauses.push((await until("enrollment certificate not renewed", second)).fields.retry_in_ms);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((s) => s * second));
  });

  test("while issuing fails it serves the old one, warns, tries with growing pauses, and recovers", async () => {
    const source = await open(short);
    const before = source.current();
    renameSync(join(ca, "intermediate.key"), join(ca, "away"));
    const first = await until("enrollment certificate not renewed", 100);
    expect(first.level).toBe("warn");
    expect(first.fields).toMatchObject({
      error: expect.stringContaining(join(ca, "intermediate.key")),
      served_until: "2026-01-01T00:00:09.000Z",
      retry_in_ms: 1000,
    });
    expect((await until("enrollment certificate not renewed", 100)).fields.retry_in_ms).toBe(2000);
    expect(source.current()).toBe(before);
    expect(source.check.run()).toMatchObject({
      status: "degraded",
      message: expect.stringContaining("intermediate.key"),
    });
    expect((await until("enrollment certificate not renewed", 100)).fields.retry_in_ms).toBe(4000);
    clock.advance(2 * second);
    expect(source.check.run()).toMatchObject({ status: "down", message: expect.stringContaining("expired") });
    expect(renewals).toEqual(["failed", "failed", "failed"]);
    renameSync(join(ca, "away"), join(ca, "intermediate.key"));
    const next = nextOf(source);
    clock.advance(2 * second);
    await next;
    expect(source.current()).not.toBe(before);
    expect(source.check.run()).toEqual({ status: "up" });
  });

  test("an intermediate is issued again in time, for the same key, where the root key is", async () => {
    const path = join(ca, "intermediate.crt");
    const before = leafOf(readFileSync(path, "utf8"));
    // Two thirds of its life are 3.33 years. It looks every minute, so the years pass before it starts.
    clock.advance(3.33 * year);
    const source = await open(short);
    await until("enrollment certificate issued", hour);
    expect(readFileSync(path, "utf8")).toBe(before.toString());
    clock.advance(0.01 * year);
    await until("the intermediate of the CA was issued again", hour);
    const after = leafOf(readFileSync(path, "utf8"));
    expect(after.publicKey.equals(before.publicKey)).toBe(true);
    expect(Date.parse(after.validTo) - clock.now()).toBeGreaterThan(4.9 * year);
    await until("enrollment certificate issued", second);
    const [, chain = ""] = splitPem(source.current().cert);
    expect(leafOf(chain).validTo).toBe(after.validTo);
    expect(ends.intermediate).toBe(Date.parse(after.validTo));
  });

  test("an expiring intermediate is reported when a renewal gains nothing, and its renewal is noticed", async () => {
    // Kept elsewhere, as the documentation advises.
    renameSync(join(ca, "root.key"), join(files.path, "root.key"));
    clock.advance(5 * year - 6 * second);
    const source = await open(short);
    expect(source.current().notAfter).toBe(start + 5 * year);
    const reported = await until("enrollment certificate not renewed", 100);
    expect(reported.fields.error).toMatch(/ends with the intermediate.*svc ca renew-intermediate/);
    expect(clock.now()).toBeLessThan(start + 5 * year);
    renameSync(join(files.path, "root.key"), join(ca, "root.key"));
    await reissueIntermediate({ dir: ca, clock, random });
    const next = nextOf(source);
    clock.advance(5 * second);
    expect((await next).notAfter).toBeGreaterThan(start + 5 * year);
    expect(ends.intermediate).toBeGreaterThan(start + 9 * year);
  });

  test("files of the CA that were replaced are used within a minute, under the same pin", async () => {
    const source = await open([]);
    const pin = source.current().root?.pin;
    clock.advance(24 * hour);
    await reissueRoot({ dir: ca, validityMs: 10 * year, clock, random });
    const next = nextOf(source);
    clock.advance(minute);
    expect((await next).root).toEqual({ pem: readFileSync(join(ca, "root.crt"), "utf8"), pin: pin ?? "" });
    expect(ends.root).toBe(start + 10 * year + 24 * hour);
    expect(records.filter(({ level }) => level === "warn")).toEqual([]);
  });

  test("the phases of a rotation are followed within a minute each, without a restart", async () => {
    const source = await open([]);
    const before = source.current();
    const followed = async () => {
      const next = nextOf(source);
      clock.advance(minute);
      return next;
    };
    const options = { dir: ca, rootValidityMs: 10 * year, withoutRootKey: false, clock, random };
    const { current, next } = await startRotation(options);
    const started = await followed();
    expect(started).toMatchObject({ root: before.root, rotation: { phase: "start", next } });
    expect(splitPem(started.cert)).toHaveLength(2);
    await activateRotation(ca);
    const activated = await followed();
    expect(activated).toMatchObject({ root: current, rotation: { phase: "activate", next } });
    // The leaf, the next intermediate, and what leads to the current root.
    expect(splitPem(activated.cert)).toHaveLength(3);
    await finishRotation(ca);
    const finished = await followed();
    expect(finished.root).toEqual(next);
    expect(finished.rotation).toBeUndefined();
    expect(splitPem(finished.cert)).toHaveLength(2);
    const reported = records.filter(({ event }) => event === "the rotation of the root changed");
    expect(reported.map(({ fields }) => fields.phase)).toEqual(["start", "activate", "none"]);
    expect(renewals).toEqual(["ok", "ok", "ok"]);
  });

  test("a next authority that is copied in part does not count at a start, and changes nothing later", async () => {
    const options = { dir: ca, rootValidityMs: 10 * year, withoutRootKey: false, clock, random };
    await startRotation(options);
    const away = join(files.path, "intermediate.key");
    renameSync(join(ca, "next", "intermediate.key"), away);
    const source = await open([]);
    expect(source.current().rotation).toBeUndefined();
    expect(records.find(({ level }) => level === "warn")).toMatchObject({
      event: "the next root does not count yet",
      fields: { error: expect.stringContaining("next/intermediate.key") },
    });
    const next = nextOf(source);
    renameSync(away, join(ca, "next", "intermediate.key"));
    clock.advance(minute);
    expect((await next).rotation?.phase).toBe("start");
  });

  test("another root is used as well, with a warning that names both pins", async () => {
    const source = await open([]);
    const old = source.current().root?.pin;
    rmSync(ca, { recursive: true });
    await createAuthority({ dir: ca, organization: "Other", rootValidityMs: 10 * year, clock, random });
    const next = nextOf(source);
    clock.advance(minute);
    const pin = (await next).root?.pin;
    expect(pin).not.toBe(old);
    expect(records.filter(({ level }) => level === "warn").map(({ fields }) => fields)).toEqual([
      { old, new: pin },
    ]);
  });

  test("a CA directory that is missing for a while does not matter before a renewal is due", async () => {
    const source = await open([]);
    renameSync(ca, `${ca}-away`);
    clock.advance(48 * hour);
    expect(records.filter(({ level }) => level === "warn")).toEqual([]);
    expect(source.check.run()).toEqual({ status: "up" });
  });

  test("is fatal at the start when it is absent, and names the command", async () => {
    rmSync(join(ca, "root.crt"));
    await expect(open(["--ca-mode", "embedded"])).rejects.toThrow(
      /root\.crt: no such file: copy the files of one CA, or .* svc ca init --dir DIR/,
    );
  });

  test("stops without a timer left, also while it issues", async () => {
    const source = await open(short);
    clock.advance(6 * second);
    source.stop();
    await settle();
    expect(renewals).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

describe("files", () => {
  const external = () => [
    ...["--ca-mode", "external"],
    ...["--enroll-tls-cert", at("tls/tls.crt"), "--enroll-tls-key", at("tls/tls.key")],
  ];
  const at = (name: string) => join(files.path, name);

  async function newPair(validityMs = 24 * hour, now = clock) {
    const authority = await loadAuthority(ca);
    const names = ["localhost"];
    return issueCertificate(authority, {
      commonName: "svc-master",
      names,
      usage: "enroll",
      validityMs,
      clock: now,
      random,
    });
  }
  type Pair = Awaited<ReturnType<typeof newPair>>;

  const write = (directory: string, pair: Pair) => {
    mkdirSync(at(directory), { recursive: true });
    writeFileSync(at(`${directory}/tls.crt`), pair.certPem);
    writeFileSync(at(`${directory}/tls.key`), pair.keyPem);
  };

  test("that expired are named, with the two files to replace", async () => {
    const pair = await newPair(hour);
    write("tls", pair);
    const source = await open(external());
    expect(source.check.run()).toEqual({ status: "up" });
    clock.advance(pair.notAfter - clock.now());
    expect(source.check.run()).toEqual({
      status: "down",
      message: expect.stringMatching(/^the certificate of the HTTPS listener expired at \d/),
      next: `replace ${at("tls/tls.crt")} and ${at("tls/tls.key")}: this master serves them within a minute`,
    });
  });

  test("are served as they are, and never touch the CA", async () => {
    const pair = await newPair();
    write("tls", pair);
    rmSync(ca, { recursive: true });
    const source = await open(external());
    expect(source.current()).toEqual({ cert: pair.certPem, key: pair.keyPem, notAfter: pair.notAfter });
    expect([source.check.name, source.check.run()]).toEqual(["certificate", { status: "up" }]);
    expect(ends).toEqual({ enroll: pair.notAfter });
  });

  test("auto is external without a root, and refuses what cannot be served by name", async () => {
    rmSync(ca, { recursive: true });
    await expect(open(["--enroll-tls-cert", at("none.crt")])).rejects.toThrow(at("none.crt"));
  });

  test("a replaced pair is used, by the periodic look", async () => {
    write("tls", await newPair());
    const source = await open(external());
    const pair = await newPair();
    write("tls", pair);
    clock.advance(60 * second);
    expect(source.current()).toMatchObject({ cert: pair.certPem, key: pair.keyPem });
    expect(renewals).toEqual(["ok"]);
  });

  test("a pair that does not match is not used, is reported once, and is used when it matches", async () => {
    const [old, next] = [await newPair(), await newPair()];
    write("tls", old);
    const source = await open(external());
    const expired = await newPair(second);
    const late = await newPair(24 * hour, manualClock(start + 2 * hour));
    clock.advance(2 * second);
    const cases: [string, () => void][] = [
      ["is not the key of", () => writeFileSync(at("tls/tls.crt"), next.certPem)],
      ["is not a certificate", () => writeFileSync(at("tls/tls.crt"), "junk")],
      ["no such file", () => unlinkSync(at("tls/tls.crt"))],
      ["expired at", () => write("tls", expired)],
      ["is not valid before", () => write("tls", late)],
      ["is not an unencrypted private key", () => writeFileSync(at("tls/tls.key"), "junk")],
    ];
    for (const [reason, change] of cases) {
      records.length = 0;
      change();
      clock.advance(300 * second);
      expect(records.map(({ level, fields }) => [level, fields.error])).toEqual([
        ["warn", expect.stringContaining(reason)],
      ]);
      expect(JSON.stringify(records)).not.toContain("PRIVATE");
      expect(source.current().cert).toBe(old.certPem);
    }
    write("tls", late);
    clock.advance(2 * hour);
    expect(source.current().cert).toBe(late.certPem);
    expect(renewals.filter((result) => result === "ok")).toEqual(["ok"]);
  });

  test("a pair that is replaced file by file is one change", async () => {
    write("tls", await newPair());
    const source = await open(external());
    const pair = await newPair();
    writeFileSync(at("tls/tls.crt"), pair.certPem);
    clock.advance(second);
    writeFileSync(at("tls/tls.key"), pair.keyPem);
    clock.advance(60 * second);
    expect(source.current().cert).toBe(pair.certPem);
  });

  test.each(["files", "certbot", "kubernetes"])("a swap as %s do it is noticed at once", async (kind) => {
    const [first, other] = [
      await newPair(24 * hour, manualClock(systemClock.now())),
      await newPair(24 * hour, manualClock(systemClock.now())),
    ];
    write("data-1", first);
    write("data-2", other);
    const link = (target: string, path: string) => {
      symlinkSync(target, `${path}-new`);
      renameSync(`${path}-new`, path);
    };
    const swap = (n: 1 | 2) => {
      mkdirSync(at("tls"), { recursive: true });
      if (kind === "kubernetes") link(`../data-${n}`, at("tls/..data"));
      for (const name of ["tls.crt", "tls.key"]) {
        if (kind === "certbot") link(`../data-${n}/${name}`, at(`tls/${name}`));
        else if (kind === "kubernetes" && n === 1) symlinkSync(`..data/${name}`, at(`tls/${name}`));
        else if (kind === "files") {
          writeFileSync(at(`tls/.${name}`), readFileSync(at(`data-${n}/${name}`)));
          renameSync(at(`tls/.${name}`), at(`tls/${name}`));
        }
      }
    };
    swap(1);
    const source = await open(external(), { clock: systemClock });
    expect(source.current().cert).toBe(first.certPem);
    const next = nextOf(source);
    swap(2);
    expect((await next).cert).toBe(other.certPem);
    expect(records.filter(({ level }) => level === "warn")).toEqual([]);
  });
});
