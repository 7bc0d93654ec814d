import { expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { keyPairFromSeed } from "../../identity/mod.ts";
import { makeRecoveryKey } from "./recovery-key.ts";

test("a fleet of an earlier version gets a recovery key, once", () => {
  using dir = temporaryDirectory("recovery-key");
  const made = makeRecoveryKey(dir.path, systemRandom);
  expect(readFileSync(made.pub, "utf8")).toBe(`${made.publicKey}\n`);
  expect(keyPairFromSeed("user", readFileSync(made.seed, "utf8")).publicKey).toBe(made.publicKey);
  expect([made.seed, made.pub].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o644]);

  // The seed was taken offline: another one must not take its place.
  rmSync(made.seed);
  expect(() => makeRecoveryKey(dir.path, systemRandom)).toThrow("peels keep the first recovery key");
  expect(readdirSync(dir.path)).toEqual(["recovery.pub"]);
});

test("what was interrupted after the seed is completed with the same key", () => {
  using dir = temporaryDirectory("recovery-key");
  const made = makeRecoveryKey(dir.path, systemRandom);
  rmSync(made.pub);
  expect(makeRecoveryKey(dir.path, systemRandom)).toEqual(made);
});

test("a damaged seed is named, and nothing is written", () => {
  using dir = temporaryDirectory("recovery-key");
  writeFileSync(join(dir.path, "recovery.seed"), "SUA");
  expect(() => makeRecoveryKey(dir.path, systemRandom)).toThrow(
    "does not contain the seed of a recovery key",
  );
  expect(readdirSync(dir.path)).toEqual(["recovery.seed"]);
});
