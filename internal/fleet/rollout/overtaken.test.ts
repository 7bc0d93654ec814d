import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { fleet, master, pass } from "../../../test/harness/rollout-masters.ts";
import { systemRandom } from "../../base/id.ts";
import { abort, resume } from "./command.ts";
import { loadRollout } from "./show.ts";

const [inForce, old, next] = ["aa".repeat(32), "bb".repeat(32), "cc".repeat(32)];
const files = (snapshot: string, environment = "base") => ({ environment, commit: "local", snapshot });
const mixed = { content: files(inForce), released: files(old) };
const signed = { subject: "svc.rollout.start", envelope: systemRandom(20) };

/** A rollout whose first wave runs, and the release before. */
async function running(...start: Parameters<ReturnType<typeof master>["start"]>) {
  const [bucket, world] = [memoryBucket(), fleet()];
  const one = master("a", bucket, world);
  one.release(old);
  const { rollout } = await one.start(...start);
  const shown = async () => {
    const { status, pause, waves } = await loadRollout(bucket, rollout.id);
    return { status, reason: pause?.reason, waves: waves.length };
  };
  return { ...one, id: rollout.id, shown };
}

test("a release pauses a rollout that nobody signed, until an operator resumes it", async () => {
  for (const given of [mixed, { content: files(old) }]) {
    const one = await running({ wave_wait: "60s" }, undefined, given);
    await pass(5_000, one);
    expect(await one.shown()).toEqual({ status: "running", reason: undefined, waves: 1 });
    one.release(next);
    await pass(1_000, one);
    const paused = { status: "paused" as const, reason: "base was released anew", waves: 1 };
    expect(await one.shown()).toEqual(paused);
    await pass(120_000, one);
    expect(await one.shown()).toEqual(paused);
    expect(one.records.filter(({ event }) => event === "rollout paused")).toHaveLength(1);
    await resume(one.command, one.id, "ann");
    await pass(30_000, one);
    // The release that paused it does not pause it again; the next one does.
    expect(await one.shown()).toMatchObject({ status: "running", waves: 2 });
    one.release(old.replace("b", "d"));
    await pass(1_000, one);
    expect(await one.shown()).toEqual({ ...paused, waves: 2 });
    await abort(one.command, one.id, "ann");
    await pass(5_000, one);
    expect((await one.shown()).status).toBe("aborted");
  }
});

test("a rollout continues that an operator signed, and one whose files are released again", async () => {
  const continues: [Parameters<typeof running>, string][] = [
    [[{ wave_wait: "2s" }, signed, mixed], next],
    [[{ wave_wait: "2s" }, undefined, mixed], old],
    // It runs no files.
    [[{ wave_wait: "2s" }], next],
    [[{ wave_wait: "2s" }, undefined, { content: files(inForce, "feature") }], next],
  ];
  for (const [start, snapshot] of continues) {
    const one = await running(...start);
    await pass(1_000, one);
    one.release(snapshot);
    await pass(60_000, one);
    expect((await one.shown()).status).toBe("completed");
  }
});

test("a release that a master did not know of when it started a rollout pauses that", async () => {
  const one = await running({ wave_wait: "60s" }, undefined, {
    content: files(inForce),
    released: files(old),
  });
  // The files were determined before this release, and the rollout is stored after it.
  one.release(next);
  const late = await one.start({ wave_wait: "60s", function: "test.version" }, undefined, mixed);
  await pass(1_000, one);
  const { status } = await loadRollout(one.command.rollouts, late.rollout.id);
  expect(status).toBe("paused");
});
