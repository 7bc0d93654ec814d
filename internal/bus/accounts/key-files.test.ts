import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { createRecordMac, newKeyPair } from "../../identity/mod.ts";
import {
  addNextKey,
  isFinishInterrupted,
  readAccountKeys,
  readCommandKeys,
  readKeySlot,
  replaceKey,
} from "./key-files.ts";

let made: ReturnType<typeof temporaryDirectory>;
let dir: string;
const first = newKeyPair("user", systemRandom);
const path = (name: string) => join(dir, name);

beforeEach(() => {
  made = temporaryDirectory("svc-keys-");
  dir = made.path;
  writeFileSync(path("command.seed"), `${first.seed}\n`);
});

afterEach(() => made[Symbol.dispose]());

test("the next command key stands next to the current one, secret, and there is never a second one", () => {
  const next = addNextKey(dir, "command", systemRandom);
  expect(statSync(path("command-next.seed")).mode & 0o777).toBe(0o600);
  expect(readCommandKeys(dir)).toMatchObject({
    current: { publicKey: first.publicKey },
    next: { publicKey: next.publicKey },
    earlier: [],
  });
  expect(() => addNextKey(dir, "command", systemRandom)).toThrow("svc keys finish command");
  expect(readCommandKeys(dir).next?.publicKey).toBe(next.publicKey);
});

test("finish puts the next key in place, and the MAC of the one before counts only for the records that were open", () => {
  const next = addNextKey(dir, "command", systemRandom);
  replaceKey(dir, "command", ["job-1", "rol-1"]);
  const found = readCommandKeys(dir);
  expect(found.current.publicKey).toBe(next.publicKey);
  expect(found.next).toBeUndefined();
  expect(found.earlier.map(({ publicKey, records }) => [publicKey, [...records]])).toEqual([
    [first.publicKey, ["job-1", "rol-1"]],
  ]);
  expect(found.earlier[0]?.mac("job", "x")).toEqual(createRecordMac(first)("job", "x"));
  const text = readFileSync(path("command-earlier.json"), "utf8");
  expect(text).not.toContain(first.seed);
  expect(statSync(path("command-earlier.json")).mode & 0o777).toBe(0o600);
  // Nothing else is left behind.
  expect(readdirSync(dir).sort()).toEqual(["command-earlier.json", "command.seed"]);
});

test("a finish that was interrupted after any step leaves a whole set of keys, and can be repeated", () => {
  const next = addNextKey(dir, "command", systemRandom);
  const nextText = readFileSync(path("command-next.seed"), "utf8");
  replaceKey(dir, "command", ["job-1"]);
  // Ended after the first step: the list is there, both keys are as they were.
  writeFileSync(path("command.seed"), `${first.seed}\n`);
  writeFileSync(path("command-next.seed"), nextText);
  expect(readCommandKeys(dir)).toMatchObject({
    current: { publicKey: first.publicKey },
    next: { publicKey: next.publicKey },
  });
  replaceKey(dir, "command", ["job-2"]);
  expect([...(readCommandKeys(dir).earlier[0]?.records ?? [])]).toEqual(["job-1", "job-2"]);
  // Ended after the second one: the next key is in place, and its file is still there.
  writeFileSync(path("command-next.seed"), nextText);
  expect(isFinishInterrupted(dir, "command")).toBe(true);
  expect(readCommandKeys(dir)).toMatchObject({ current: { publicKey: next.publicKey }, next: undefined });
  replaceKey(dir, "command");
  expect(existsSync(path("command-next.seed"))).toBe(false);
  expect(isFinishInterrupted(dir, "command")).toBe(false);
  expect(readCommandKeys(dir).earlier).toHaveLength(1);
});

test("a rotation after an interrupted finish completes it first", () => {
  const next = addNextKey(dir, "command", systemRandom);
  writeFileSync(path("command.seed"), `${next.seed}\n`);
  const other = addNextKey(dir, "command", systemRandom);
  expect(readCommandKeys(dir)).toMatchObject({
    current: { publicKey: next.publicKey },
    next: { publicKey: other.publicKey },
  });
});

test.each([
  ["half of a seed", "command-next.seed", first.seed.slice(0, 30)],
  ["a key of another kind", "command-next.seed", newKeyPair("account", systemRandom).seed],
  ["nothing", "command-next.seed", ""],
  ["half of a list", "command-earlier.json", '{"v":1,"keys":[{"public_'],
  [
    "a short secret",
    "command-earlier.json",
    '{"v":1,"keys":[{"public_key":"U","record_mac_key":"AA","records":[]}]}',
  ],
])("%s in a file is refused with its name, and never shown", (_, name, text) => {
  writeFileSync(path(name), text);
  let message = "";
  try {
    readCommandKeys(dir);
  } catch (thrown) {
    message = (thrown as Error).message;
  }
  expect(message).toStartWith(`${path(name)}: `);
  expect(message.split("\n")).toHaveLength(1);
  if (text !== "") expect(message).not.toContain(text);
});

test("where nothing can be written, nothing changes", () => {
  addNextKey(dir, "command", systemRandom);
  const before = readdirSync(dir).sort();
  // Also the superuser, who runs the tests, cannot write where a directory is.
  const { current, next } = readCommandKeys(dir);
  expect(() => addNextKey(join(dir, "command.seed"), "command", systemRandom)).toThrow();
  expect(readdirSync(dir).sort()).toEqual(before);
  expect(readCommandKeys(dir)).toMatchObject({
    current: { publicKey: current.publicKey },
    next: { publicKey: next?.publicKey ?? "" },
  });
});

test("the first signing key of an account takes nothing away; the second one drops the first", () => {
  const one = addNextKey(dir, "account", systemRandom);
  expect(one.publicKey).toStartWith("A");
  expect(readAccountKeys(dir)).toMatchObject({ current: undefined, next: { publicKey: one.publicKey } });
  replaceKey(dir, "account");
  expect(readAccountKeys(dir)).toMatchObject({ current: { publicKey: one.publicKey }, dropped: [] });
  const two = addNextKey(dir, "account", systemRandom);
  replaceKey(dir, "account");
  expect(readAccountKeys(dir)).toMatchObject({
    current: { publicKey: two.publicKey },
    next: undefined,
    dropped: [one.publicKey],
  });
});

test("settings get their first key at once, then a next one, secret, and never a third", () => {
  const one = addNextKey(dir, "settings", systemRandom);
  expect(one.publicKey).toStartWith("X");
  expect(readKeySlot(dir, "settings")).toEqual({ current: one, next: undefined });
  const two = addNextKey(dir, "settings", systemRandom);
  expect(readKeySlot(dir, "settings")).toEqual({ current: one, next: two });
  for (const name of ["settings.seed", "settings-next.seed"])
    expect(statSync(path(name)).mode & 0o777).toBe(0o600);
  expect(() => addNextKey(dir, "settings", systemRandom)).toThrow(
    /holds the next settings key already: copy it to every master$/,
  );
  rmSync(path("settings.seed"));
  // The first one is not made again: what it encrypted would be lost.
  expect(() => addNextKey(dir, "settings", systemRandom)).toThrow(
    `${path("settings.seed")}: no such file: restore it from the backup of this fleet`,
  );
  expect(existsSync(path("settings.seed"))).toBe(false);
});
