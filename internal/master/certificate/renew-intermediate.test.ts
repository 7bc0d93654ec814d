import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom as random } from "../../base/id.ts";
import { createAuthority } from "../../identity/ca/create.ts";
import { loadInForce } from "../../identity/ca/in-force.ts";
import { startRotation } from "../../identity/ca/rotate.ts";
import { isIntermediateDue, renewIntermediate } from "./renew-intermediate.ts";

const year = 8760 * 3_600_000;

test("an intermediate is due in its last third, where the root key is and the root lasts longer", async () => {
  using files = temporaryDirectory("intermediate");
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const start = clock.now();
  const create = async (name: string, rootYears: number) => {
    const dir = join(files.path, name);
    await createAuthority({ dir, organization: "Test", rootValidityMs: rootYears * year, clock, random });
    return dir;
  };
  const isDue = async (dir: string, years: number) =>
    isIntermediateDue(await loadInForce(dir), start + years * year);
  const long = await create("long", 10);
  expect([await isDue(long, 3.3), await isDue(long, 3.4)]).toEqual([false, true]);
  // It ends with its root: another one would not last longer.
  expect(await isDue(await create("short", 5), 4.9)).toBe(false);
  await startRotation({ dir: long, rootValidityMs: 10 * year, withoutRootKey: false, clock, random });
  expect(await isDue(long, 3.4)).toBe(false);
  const offline = await create("offline", 10);
  rmSync(join(offline, "root.key"));
  expect(await isDue(offline, 4.9)).toBe(false);

  const failures: string[] = [];
  const log = recordingLog();
  const onFailure = (reason: string) => failures.push(reason);
  await renewIntermediate({ dir: offline, clock, random, log, onFailure });
  expect(failures.join()).toContain("root.key does not exist");
  expect(log.records).toEqual([]);
});
