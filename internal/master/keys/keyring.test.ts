import { afterEach, beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { addNextKey, readCommandKeys, replaceKey } from "../../bus/accounts/mod.ts";
import { createRecordMac, isVouched, newKeyPair } from "../../identity/mod.ts";
import { followCommandKeys } from "./keyring.ts";

/** The files are looked at every minute in any case; a test does not wait for the watch. */
const rescanMs = 60_000;
const first = newKeyPair("user", systemRandom);
let made: ReturnType<typeof temporaryDirectory>;
let dir: string;

beforeEach(() => {
  made = temporaryDirectory("svc-keyring-");
  dir = made.path;
  writeFileSync(join(dir, "command.seed"), first.seed);
});
afterEach(() => made[Symbol.dispose]());

function follow() {
  const clock = manualClock();
  const log = recordingLog();
  const keyring = followCommandKeys({ authDir: dir, keys: readCommandKeys(dir), clock, log });
  let changes = 0;
  keyring.onChange(() => changes++);
  return {
    keyring,
    log,
    reread: () => clock.advance(rescanMs),
    changes: () => changes,
    [Symbol.dispose]: () => keyring.stop(),
  };
}

test("it reads the next key without a restart, signs with it only when told, and drops the first at the end", () => {
  using at = follow();
  const { keyring } = at;
  const next = addNextKey(dir, "command", systemRandom);
  at.reread();
  expect(keyring.publicKeys).toEqual([first.publicKey, next.publicKey]);
  expect([keyring.signer.publicKey, keyring.next]).toEqual([first.publicKey, next.publicKey]);
  expect(keyring.signer.accepted.map(({ publicKey }) => publicKey)).toEqual([...keyring.publicKeys]);
  keyring.useNext();
  const message = Buffer.from("x");
  expect(keyring.signer.publicKey).toBe(next.publicKey);
  expect(keyring.signer.sign(message)).toEqual(next.sign(message));
  expect(keyring.first.publicKey).toBe(first.publicKey);
  at.reread();
  expect(keyring.signer.publicKey).toBe(next.publicKey);
  replaceKey(dir, "command", ["job-1"]);
  at.reread();
  expect(keyring.publicKeys).toEqual([next.publicKey]);
  expect([keyring.signer.publicKey, keyring.next]).toEqual([next.publicKey, undefined]);
  expect(at.changes()).toBe(3);
});

test("records of either key count during the change; after it those of the first one that were open", () => {
  using at = follow();
  const { mac } = at.keyring;
  const old = createRecordMac(first);
  const counts = (id: string, made: Uint8Array) => isVouched(mac, id, made, (one) => one("job", id));
  const next = addNextKey(dir, "command", systemRandom);
  at.reread();
  const made = createRecordMac(next);
  expect([counts("job-1", old("job", "job-1")), counts("job-1", made("job", "job-1"))]).toEqual([true, true]);
  expect(mac("job", "job-1")).toEqual(old("job", "job-1"));
  at.keyring.useNext();
  expect(mac("job", "job-1")).toEqual(made("job", "job-1"));
  expect(counts("job-1", old("job", "job-1"))).toBe(true);
  replaceKey(dir, "command", ["job-1"]);
  at.reread();
  expect(counts("job-1", old("job", "job-1"))).toBe(true);
  expect(counts("job-2", old("job", "job-2"))).toBe(false);
  expect(counts("job-1", new Uint8Array())).toBe(false);
  expect(counts("job-2", made("job", "job-2"))).toBe(true);
});

test("a file that is copied half leaves the keys in use, and is reported once", () => {
  using at = follow();
  const next = newKeyPair("user", systemRandom);
  writeFileSync(join(dir, "command-next.seed"), next.seed.slice(0, 20));
  at.reread();
  at.reread();
  expect(at.keyring.publicKeys).toEqual([first.publicKey]);
  expect(at.keyring.problem).toContain("command-next.seed");
  expect(at.log.records.filter(({ level }) => level === "error")).toHaveLength(1);
  writeFileSync(join(dir, "command-next.seed"), next.seed);
  at.reread();
  expect(at.keyring.problem).toBeUndefined();
  expect(at.keyring.next).toBe(next.publicKey);
});
