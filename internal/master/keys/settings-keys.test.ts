import { afterEach, beforeEach, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { addNextKey } from "../../bus/accounts/mod.ts";
import { followSettingsKeys, judgeSettingsKeys, readSettingsKeys } from "./settings-keys.ts";

/** The files are looked at every minute in any case; a test does not wait for the watch. */
const rescanMs = 60_000;
let made: ReturnType<typeof temporaryDirectory>;
let dir: string;
const seed = () => join(dir, "settings.seed");

beforeEach(() => {
  made = temporaryDirectory("svc-settings-keys-");
  dir = made.path;
});
afterEach(() => made[Symbol.dispose]());

function follow() {
  const clock = manualClock();
  const log = recordingLog();
  const keys = followSettingsKeys({ authDir: dir, keys: readSettingsKeys(dir), clock, log });
  let changes = 0;
  keys.onChange(() => changes++);
  return {
    keys,
    log,
    reread: () => clock.advance(rescanMs),
    changes: () => changes,
    check: () => judgeSettingsKeys(keys, dir),
    [Symbol.dispose]: () => keys.stop(),
  };
}

test("a fleet without one is named with both ways to it, and the first and the next are read without a restart", () => {
  using at = follow();
  expect(at.check()).toEqual({
    status: "degraded",
    message: `${seed()} is missing`,
    next: `restore ${seed()} from the backup of this fleet, or copy it from auth_dir of another master; a fleet that never had one gets it by svc keys rotate settings --dir ${dir}`,
  });
  const one = addNextKey(dir, "settings", systemRandom);
  at.reread();
  expect([at.keys.publicKeys, at.check().status]).toEqual([[one.publicKey], "up"]);
  const two = addNextKey(dir, "settings", systemRandom);
  at.reread();
  expect(at.keys.publicKeys).toEqual([one.publicKey, two.publicKey]);
  expect(at.keys.current).toEqual({ current: one, next: two });
  at.reread();
  expect(at.changes()).toBe(2);
});

test.each([
  ["is damaged", () => writeFileSync(seed(), "garbage"), "not a valid curve seed"],
  ["is gone", () => rmSync(seed()), "no such file"],
])(
  "a file that %s while the master runs leaves the key in use, and is named until it is back",
  (_, harm, reason) => {
    const { seed: text, publicKey } = addNextKey(dir, "settings", systemRandom);
    using at = follow();
    harm();
    at.reread();
    at.reread();
    expect(at.keys.publicKeys).toEqual([publicKey]);
    expect(at.check()).toEqual({
      status: "degraded",
      message: `${seed()}: ${reason}`,
      next: `restore ${seed()} from the backup of this fleet, or copy it from auth_dir of another master`,
    });
    expect(at.log.records.filter(({ level }) => level === "error")).toHaveLength(1);
    writeFileSync(seed(), text);
    at.reread();
    expect([at.check().status, at.changes()]).toEqual(["up", 0]);
  },
);
