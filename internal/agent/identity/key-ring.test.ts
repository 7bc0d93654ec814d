import { expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { identityFiles } from "./identity.ts";
import { createKeyRing } from "./key-ring.ts";

function ring(dir: string) {
  const auth = join(dir, "auth");
  mkdirSync(auth, { recursive: true });
  const files = identityFiles(auth, "web-1");
  const log = recordingLog();
  if (!existsSync(files.seed)) writeFileSync(files.seed, `${newKeyPair("user", systemRandom).seed}\n`);
  return { files, log, keys: createKeyRing(files, log) };
}

test("a key is on disk before masters are asked for it, and the same one is asked for again", () => {
  using directory = temporaryDirectory("ring");
  const { files, keys } = ring(directory.path);
  const next = keys.makeNext(systemRandom);
  expect(readFileSync(files.newSeed, "utf8")).toBe(`${next.seed}\n`);
  expect(statSync(files.newSeed).mode & 0o777).toBe(0o600);
  expect(ring(directory.path).keys.makeNext(systemRandom).publicKey).toBe(next.publicKey);
});

test("both keys stay until something arrived that is sealed to the new one", () => {
  using directory = temporaryDirectory("ring");
  const { files, keys } = ring(directory.path);
  const old = keys.current();
  const next = keys.makeNext(systemRandom);
  keys.adopt(next);
  const names = () => keys.all().map(({ publicKey }) => publicKey);
  expect(names()).toEqual([next.publicKey, old.publicKey]);
  keys.seen(old.publicKey);
  expect(names()).toEqual([next.publicKey, old.publicKey]);
  keys.seen(next.publicKey);
  expect([names(), existsSync(files.oldSeed)]).toEqual([[next.publicKey], false]);
});

test("what is sealed to a key whose answer was lost proves that masters know it", () => {
  using directory = temporaryDirectory("ring");
  const { keys } = ring(directory.path);
  const next = keys.makeNext(systemRandom);
  keys.seen(next.publicKey);
  expect([keys.current().publicKey, keys.next()]).toEqual([next.publicKey, undefined]);
});

test("a crash after any step of the change leaves both keys, and the change completes", () => {
  using directory = temporaryDirectory("ring");
  const begun = join(directory.path, "begun");
  const { files, keys } = ring(begun);
  const old = keys.current();
  const next = keys.makeNext(systemRandom);
  const steps: ((to: typeof files) => void)[] = [
    () => {},
    (to) => writeFileSync(to.oldSeed, `${old.seed}\n`),
    (to) => writeFileSync(to.seed, `${next.seed}\n`),
  ];
  for (const [index] of steps.entries()) {
    const dir = join(directory.path, `crash-${index}`);
    cpSync(begun, dir, { recursive: true });
    const crashed = ring(dir);
    for (const step of steps.slice(0, index + 1)) step(crashed.files);
    const known = crashed.keys.all().map(({ publicKey }) => publicKey);
    expect(known).toContain(old.publicKey);
    expect(known).toContain(next.publicKey);
    crashed.keys.adopt(next);
    expect(crashed.keys.all().map(({ publicKey }) => publicKey)).toEqual([next.publicKey, old.publicKey]);
    expect(existsSync(crashed.files.newSeed)).toBe(false);
  }
});

test("a next key that was cut off at any byte is named, and does not hinder the current one", () => {
  using directory = temporaryDirectory("ring");
  const { files, keys, log } = ring(directory.path);
  const whole = keys.makeNext(systemRandom).seed.length;
  for (let bytes = 0; bytes < whole; bytes++) {
    writeFileSync(files.newSeed, `${newKeyPair("user", systemRandom).seed}\n`);
    truncateSync(files.newSeed, bytes);
    expect(keys.next()).toBeUndefined();
    expect(keys.all().map(({ publicKey }) => publicKey)).toEqual([keys.current().publicKey]);
  }
  expect(log.records.every(({ fields }) => fields.file === files.newSeed)).toBe(true);
});
