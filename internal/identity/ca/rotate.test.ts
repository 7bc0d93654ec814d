import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { createAuthority } from "./create.ts";
import { authorityStamp, loadInForce } from "./in-force.ts";
import { issueCertificate } from "./issue.ts";
import { loadAuthority } from "./load.ts";
import { abortRotation, activateRotation, finishRotation, readRotation, startRotation } from "./rotate.ts";

const clock = systemClock;
const random = systemRandom;
const hour = 3_600_000;
let files: ReturnType<typeof temporaryDirectory>;
let dir: string;
let pin: string;

beforeEach(async () => {
  files = temporaryDirectory("ca-rotate");
  dir = join(files.path, "ca");
  const made = await createAuthority({
    ...{ dir, organization: "Example", rootValidityMs: 100 * 24 * hour, clock, random },
  });
  pin = made.pin;
});
afterEach(() => files[Symbol.dispose]());

const start = (options: { withoutRootKey?: boolean } = {}) =>
  startRotation({
    ...{ dir, rootValidityMs: 1000 * 24 * hour, withoutRootKey: false, clock, random },
    ...options,
  });
const issue = async () =>
  issueCertificate((await loadInForce(dir)).authority, {
    ...{ commonName: "m", names: ["localhost"], usage: "enroll", validityMs: hour, clock, random },
  });

/** Whether a TLS client that trusts these roots alone accepts what is issued now. */
async function isTrusted(ca: string): Promise<boolean> {
  const { certPem, keyPem } = await issue();
  const server = Bun.serve({ port: 0, tls: { cert: certPem, key: keyPem }, fetch: () => new Response("ok") });
  try {
    const tls = { ca, rejectUnauthorized: true };
    await fetch(`https://localhost:${server.port}/`, { tls, keepalive: false });
    return true;
  } catch {
    return false;
  } finally {
    await server.stop(true);
  }
}

test("each phase issues what its roots verify; who has only the old root is served until finish", async () => {
  const started = await start();
  expect(started).toMatchObject({ phase: "start", made: true, current: { pin } });
  const { current, next } = started;
  expect(next.pin).not.toBe(pin);
  expect([await isTrusted(current.pem), await isTrusted(next.pem)]).toEqual([true, false]);

  expect(await activateRotation(dir)).toMatchObject({ phase: "activate", current, next });
  expect([await isTrusted(current.pem), await isTrusted(next.pem)]).toEqual([true, true]);
  expect(await isTrusted(next.pem + current.pem)).toBe(true);

  expect(await finishRotation(dir)).toEqual(next);
  expect([await isTrusted(current.pem), await isTrusted(next.pem)]).toEqual([false, true]);
  expect(readdirSync(dir).sort()).toEqual([
    "intermediate.crt",
    "intermediate.key",
    "retired.crt",
    "root.crt",
    "root.key",
  ]);
  expect((await loadAuthority(dir)).rootPem).toBe(next.pem);
  expect(statSync(join(dir, "intermediate.key")).mode & 0o777).toBe(0o600);
});

test("every phase can be repeated, and another rotation can follow", async () => {
  const { next } = await start();
  expect(await start()).toMatchObject({ next, made: false });
  await activateRotation(dir);
  expect(await activateRotation(dir)).toMatchObject({ next });
  await finishRotation(dir);
  expect(await finishRotation(dir)).toEqual(next);
  const again = await start();
  expect(again).toMatchObject({ made: true, current: next });
  await activateRotation(dir);
  expect(await finishRotation(dir)).toEqual(again.next);
});

test.each(["start", "activate"])("abort goes back from %s, and can be repeated", async (phase) => {
  await start();
  if (phase === "activate") await activateRotation(dir);
  expect(await abortRotation(dir)).toMatchObject({ root: { pin }, ran: true });
  expect(await abortRotation(dir)).toMatchObject({ root: { pin }, ran: false });
  expect(await readRotation(dir)).toEqual({ current: (await loadInForce(dir)).root });
  expect(existsSync(join(dir, "next"))).toBe(false);
  expect(readdirSync(dir)).toHaveLength(5);
  expect(await start()).toMatchObject({ made: true, current: { pin } });
});

test("the wrong phase is refused with the command that comes next, and changes nothing", async () => {
  const before = authorityStamp(dir);
  await expect(activateRotation(dir)).rejects.toThrow(/svc ca rotate start/);
  await expect(finishRotation(dir)).rejects.toThrow(/svc ca rotate start/);
  expect(authorityStamp(dir)).toBe(before ?? "");
  await start();
  await expect(finishRotation(dir)).rejects.toThrow(/svc ca rotate activate/);
  await activateRotation(dir);
  await expect(start()).rejects.toThrow(/svc ca rotate finish/);
  writeFileSync(join(dir, "next", "phase"), "finish\n");
  await expect(abortRotation(dir)).rejects.toThrow(/cannot be undone/);
  await expect(activateRotation(dir)).rejects.toThrow(/svc ca rotate finish/);
});

describe("an interrupted run", () => {
  test("of start leaves no rotation, and the next run makes one", async () => {
    mkdirSync(join(dir, ".rotation-abc"));
    writeFileSync(join(dir, ".rotation-abc", "root.key"), "half");
    expect(await readRotation(dir)).toMatchObject({ current: { pin } });
    expect(await start()).toMatchObject({ made: true });
    expect(existsSync(join(dir, ".rotation-abc"))).toBe(false);
  });

  test("of finish after each write: the next root counts, and the next run completes it", async () => {
    const { next } = await start();
    await activateRotation(dir);
    const activated = join(files.path, "activated");
    cpSync(dir, activated, { recursive: true });
    const names = ["intermediate.key", "root.key", "intermediate.crt", "root.crt"];
    await finishRotation(dir);
    const finished = join(files.path, "retired.crt");
    cpSync(join(dir, "retired.crt"), finished);
    const { known } = await loadInForce(dir);
    for (let done = 0; done <= names.length; done++) {
      rmSync(dir, { recursive: true });
      cpSync(activated, dir, { recursive: true });
      writeFileSync(join(dir, "next", "phase"), "finish\n");
      if (done > 0) cpSync(finished, join(dir, "retired.crt"));
      for (const name of names.slice(0, done)) cpSync(join(dir, "next", name), join(dir, name));
      expect((await loadInForce(dir)).root).toEqual(next);
      expect(await isTrusted(next.pem)).toBe(true);
      expect(await finishRotation(dir)).toEqual(next);
      expect((await loadAuthority(dir)).rootPem).toBe(next.pem);
      expect((await loadInForce(dir)).known).toEqual(known);
      expect(existsSync(join(dir, "next"))).toBe(false);
    }
  });

  test("of a copy does not count until it is whole, and then is named", async () => {
    await start();
    rmSync(join(dir, "next", "intermediate.key"));
    await expect(loadInForce(dir)).rejects.toThrow(/next\/intermediate\.key/);
    const found = await loadInForce(dir, { lenient: true });
    expect(found).toMatchObject({ root: { pin }, problem: expect.stringContaining("intermediate.key") });
    expect(found.rotation).toBeUndefined();
    writeFileSync(join(dir, "next", "phase"), "activate\n");
    await expect(loadInForce(dir, { lenient: true })).rejects.toThrow(/next\/intermediate\.key/);
  });
});

describe("bad input", () => {
  test("without the root key only on request, and then nothing leads from the old root to the next", async () => {
    rmSync(join(dir, "root.key"));
    await expect(start()).rejects.toThrow(/root\.key does not exist.*--without-root-key/);
    expect(existsSync(join(dir, "next"))).toBe(false);
    const { current, next } = await start({ withoutRootKey: true });
    await activateRotation(dir);
    expect([await isTrusted(current.pem), await isTrusted(next.pem)]).toEqual([false, true]);
  });

  test("a next root key that was taken away leaves no old one behind", async () => {
    await start();
    await activateRotation(dir);
    rmSync(join(dir, "next", "root.key"));
    await finishRotation(dir);
    expect(existsSync(join(dir, "root.key"))).toBe(false);
    expect((await loadAuthority(dir)).hasRootKey).toBe(false);
  });

  test.each([
    ["phase", "later\n", /next\/phase contains neither/],
    ["phase", undefined, /next\/phase does not exist: copy/],
    ["root.crt", "junk", /next\/root\.crt is not a certificate/],
    ["intermediate.key", "junk", /next\/intermediate\.key is not an unencrypted private key/],
  ])("a bad %s of the next authority is named, and nothing changes", async (name, text, message) => {
    await start();
    const path = join(dir, "next", name);
    if (text === undefined) rmSync(path);
    else writeFileSync(path, text);
    await expect(activateRotation(dir)).rejects.toThrow(message);
    await expect(readRotation(dir)).rejects.toThrow(message);
    expect(await abortRotation(dir)).toMatchObject({ ran: true, root: { pin } });
  });

  test("a cross certificate of another fleet is refused", async () => {
    const other = join(files.path, "other");
    await createAuthority({ dir: other, organization: "Example", rootValidityMs: hour * 24, clock, random });
    await startRotation({
      ...{ dir: other, rootValidityMs: hour * 24, withoutRootKey: false, clock, random },
    });
    await start();
    cpSync(join(other, "next", "cross.crt"), join(dir, "next", "cross.crt"));
    await expect(activateRotation(dir)).rejects.toThrow(/does not lead from the current root/);
  });

  test("a directory without a CA says who rotates with an external one", async () => {
    await expect(readRotation(files.path)).rejects.toThrow(/ca\.mode external.*the operator of that CA/);
  });
});

test("the next root has the names of the current one, and the next intermediate too", async () => {
  const { current, next } = await start();
  expect(new X509Certificate(next.pem).subject).toBe(new X509Certificate(current.pem).subject);
  const authority = await loadAuthority(join(dir, "next"));
  expect(new X509Certificate(authority.intermediatePem).issuer).toBe(new X509Certificate(next.pem).subject);
});
