import { afterAll, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { createRecoveryKeys } from "./recovery-keys.ts";

const files = temporaryDirectory("recovery-keys");
afterAll(() => files[Symbol.dispose]());
const [first, second] = [
  newKeyPair("user", systemRandom).publicKey,
  newKeyPair("user", systemRandom).publicKey,
];

test("the first that are learned stay, for the owner alone", () => {
  const file = join(files.path, "keys");
  const keys = createRecoveryKeys(file, recordingLog());
  expect(keys.current).toEqual([]);
  expect([keys.lacks([]), keys.lacks(["x"]), keys.lacks([first])]).toEqual([false, false, true]);
  // A master without recovery.pub names none.
  keys.learn([]);
  keys.learn(["x"]);
  expect(keys.current).toEqual([]);
  keys.learn([first, "x"]);
  expect(readFileSync(file, "utf8")).toBe(`${first}\n`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  // Such as from a stolen master.
  keys.learn([second]);
  expect([keys.current, keys.lacks([second])]).toEqual([[first], false]);
});

test("a file that was cut off at any byte holds no keys, and nothing takes its place", () => {
  const file = join(files.path, "cut");
  for (let end = 0; end < first.length; end++) {
    writeFileSync(file, first.slice(0, end));
    const keys = createRecoveryKeys(file, recordingLog());
    keys.learn([second]);
    expect([keys.current, readFileSync(file, "utf8")]).toEqual([[], first.slice(0, end)]);
  }
});
