import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createCommandKeys } from "./command-keys.ts";

const newKey = () => newKeyPair("user", systemRandom).publicKey;

test("keys are kept, and replaced as a whole", () => {
  using files = temporaryDirectory("keys");
  const file = join(files.path, "peel.command-keys");
  const [one, two] = [newKey(), newKey()];
  const keys = createCommandKeys(file, recordingLog());
  expect(keys.current).toEqual([]);
  keys.replace([one, two]);
  expect(keys.current).toEqual([one, two]);
  expect(keys.differs([two, one])).toBe(false);
  expect(keys.differs([two])).toBe(true);
  keys.replace([two]);
  expect(createCommandKeys(file, recordingLog()).current).toEqual([two]);
  expect(readFileSync(file, "utf8")).toBe(`${two}\n`);
});

test("an empty list, or one without a valid key, changes nothing", () => {
  using files = temporaryDirectory("keys");
  const file = join(files.path, "peel.command-keys");
  const one = newKey();
  writeFileSync(file, `${one}\njunk\n\n`);
  const keys = createCommandKeys(file, recordingLog());
  keys.replace([]);
  keys.replace(["junk", "U".repeat(56), newKeyPair("account", systemRandom).publicKey]);
  expect(keys.current).toEqual([one]);
});
