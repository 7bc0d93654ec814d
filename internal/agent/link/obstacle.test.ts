import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { SvcError } from "../../base/errors.ts";
import { createObstacle } from "./obstacle.ts";

const minute = 60_000;
const cause = Object.assign(new Error("Authorization Violation"), { code: "AUTHORIZATION_VIOLATION" });
const refusal = new SvcError("unavailable", "refused", { cause });

/** A peel that tries each second to connect, to servers that refuse it. */
function start(directory: { path: string }) {
  const clock = manualClock();
  const credentials = join(directory.path, "web-1.creds");
  writeFileSync(credentials, "the first");
  const obstacle = createObstacle({ credentials, again: "enroll again", clock, log: recordingLog() });
  let rests = 0;
  obstacle.onRest(() => rests++);
  let dials = 0;
  let refuses = true;
  const tryOnce = () =>
    obstacle
      .attempt(async () => {
        dials++;
        if (refuses) throw refusal;
      })
      .catch(() => {});
  return {
    ...{ clock, obstacle, credentials, tryOnce },
    rests: () => rests,
    accept() {
      refuses = false;
    },
    /** @returns how often the bus was asked in this time */
    async during(ms: number) {
      const before = dials;
      for (let passed = 0; passed < ms; passed += 1_000) {
        await tryOnce();
        clock.advance(1_000);
      }
      return dials - before;
    },
  };
}

test("a bus that refuses the peel is asked ever more seldom, and in the end each five minutes", async () => {
  using directory = temporaryDirectory("obstacle");
  const { during, rests, accept, obstacle } = start(directory);
  expect([await during(minute), rests()]).toEqual([60, 0]);
  expect(await during(10 * minute)).toBeLessThanOrEqual(5);
  expect(await during(100 * minute)).toBe(20);
  accept();
  await during(5 * minute);
  expect(obstacle.blocked.refusals).toBe(0);
});

test("while masters halt a peel the bus is not asked, and after the time it is", async () => {
  using directory = temporaryDirectory("obstacle");
  const { during, rests, obstacle } = start(directory);
  expect(await during(3_000)).toBe(3);
  obstacle.halt(5 * minute);
  expect([obstacle.isHalted, rests(), await during(5 * minute)]).toEqual([true, 1, 0]);
  expect(await during(1_000)).toBe(1);
  obstacle.halt(Number.POSITIVE_INFINITY);
  expect(await during(600 * minute)).toBe(0);
  obstacle.endHalt();
  expect([obstacle.isHalted, await during(1_000)]).toEqual([false, 1]);
});

test("other credentials are worth an attempt, and no more than that", async () => {
  using directory = temporaryDirectory("obstacle");
  const { during, obstacle, credentials } = start(directory);
  await during(3_000);
  obstacle.halt(Number.POSITIVE_INFINITY);
  expect(await during(10 * minute)).toBe(0);
  writeFileSync(credentials, "the second");
  expect(await during(10 * minute)).toBeLessThanOrEqual(6);
});

test("new credentials, and a connection, end a halt", async () => {
  using directory = temporaryDirectory("obstacle");
  const { during, obstacle, accept, tryOnce } = start(directory);
  await during(3_000);
  obstacle.halt(Number.POSITIVE_INFINITY);
  obstacle.clear();
  expect([obstacle.isHalted, await during(1_000)]).toEqual([false, 1]);
  obstacle.halt(1_000);
  expect(await during(1_000)).toBe(0);
  accept();
  await tryOnce();
  expect(obstacle.isHalted).toBe(false);
});
