import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { settle } from "../../../test/harness/clock.ts";
import { expectOnce, fleet, master, pass, peels } from "../../../test/harness/rollout-masters.ts";
import { systemRandom } from "../../base/id.ts";
import { isProven, merkleTree, partialTree } from "../../identity/merkle/merkle.ts";
import { abort, pause, resume } from "./command.ts";
import { pruneRollouts } from "./prune.ts";
import { decodeRollout, encodeRollout } from "./record.ts";
import { loadRollout, loadTargets } from "./show.ts";
import { rolloutTiming } from "./timing.ts";

const check = { function: "test.ping" };

test("a rollout goes through its canary and its waves, and its list is frozen", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  const a = master("a", bucket, world);
  const { rollout, targets } = await a.start({ check, wave_wait: "5s" });
  expect(targets).toEqual(peels);
  await pass(30_000, a);
  const ended = await loadRollout(bucket, rollout.id);
  expect([ended.status, ended.failures, ended.driver]).toEqual(["completed", 0, undefined]);
  expectOnce(world, ended);
  expect(world.jobs()).toHaveLength(6);
  expect(await loadTargets(bucket, rollout.id)).toEqual(peels);
});

test("each job of a signed rollout carries what was signed, also from the master that takes it over", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  const [a, b] = [master("a", bucket, world), master("b", bucket, world)];
  const request = { subject: "svc.rollout.start", envelope: systemRandom(20) };
  const tree = merkleTree(peels);
  const start = (digest: Uint8Array) => a.start({ check, wave_wait: "5s", targets_digest: digest }, request);
  await expect(start(new Uint8Array(32))).rejects.toThrow("other peels match the target now (5)");
  const { id } = (await start(tree.root)).rollout;
  await pass(1_000, a);
  await a.controller.stop();
  await pass(90_000, b);
  const ended = await loadRollout(bucket, id);
  expect([ended.status, ended.request, world.jobs().length]).toEqual(["completed", undefined, 6]);
  for (const { jid, targets, metadata } of world.jobs()) {
    const { signed, partOf } = world.requested.get(jid) ?? {};
    expect(signed).toEqual({ ...request, ...(metadata.check === true ? { step: "check" as const } : {}) });
    const proofs = partialTree(partOf?.(targets) ?? { size: 0, places: [], beside: [] }, targets);
    for (const peel of targets) expect(isProven(peel, proofs.proofOf(peel) ?? [], tree.root)).toBe(true);
  }
});

const steps = ["dispatching", "waiting", "soaking", "asking", "checking"] as const;

for (const step of steps) {
  test(`a driver that dies while ${step} is followed by another after its time, and nothing runs twice`, async () => {
    const [bucket, world] = [memoryBucket(), fleet()];
    const a = master("a", bucket, world, step);
    const b = master("b", bucket, world);
    const { rollout } = await a.start({ check, wave_wait: "2s" });
    await pass(3_000, a, b);
    expect((await loadRollout(bucket, rollout.id)).step).toBe(step);
    const seen = (await loadRollout(bucket, rollout.id)).heartbeatAt - rollout.createdAt;
    await pass(rolloutTiming.silenceMs + seen - 4_000, b);
    expect(b.taken).toEqual([]);
    await pass(2_000, b);
    expect(b.taken).toEqual(["silent"]);
    await pass(30_000, b);
    const ended = await loadRollout(bucket, rollout.id);
    expect([ended.status, ended.token]).toEqual(["completed", 2]);
    expectOnce(world, ended);
  });

  test(`a driver that is frozen while ${step} and resumes late changes nothing`, async () => {
    const [bucket, world] = [memoryBucket(), fleet()];
    world.well = false;
    const a = master("a", bucket, world, step);
    const b = master("b", bucket, world);
    const finishAll = async () => {
      for (const { jid, targets } of world.jobs()) world.finish(jid, { ok: targets.length });
      await settle();
    };
    const { rollout } = await a.start({ check, wave_wait: "2s" });
    for (let turn = 0; turn < 6; turn++) {
      await finishAll();
      await pass(1_000, a, b);
    }
    await pass(rolloutTiming.silenceMs, b);
    expect(b.taken).toEqual(["silent"]);
    // The first one resumes during the work of the other.
    a.thaw(rolloutTiming.silenceMs + 1_000);
    for (let turn = 0; turn < 40; turn++) {
      await finishAll();
      await pass(1_000, a, b);
    }
    const ended = await loadRollout(bucket, rollout.id);
    expect([ended.status, ended.token]).toEqual(["completed", 2]);
    expectOnce(world, ended);
    expect(a.taken).toEqual([]);
    expect(a.records.map(({ event }) => event)).toContain("rollout belongs to another master");
  });
}

test("a master that was frozen itself takes nothing from a driver that was running the whole time", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  world.well = false;
  const a = master("a", bucket, world);
  const b = master("b", bucket, world);
  const { rollout } = await a.start();
  await settle();
  b.freeze();
  await pass(100_000, a);
  b.thaw(100_000);
  await pass(30_000, a, b);
  expect([b.taken, (await loadRollout(bucket, rollout.id)).token]).toEqual([[], 1]);
});

test("a master that stops gives its rollouts back, and another continues at once", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  world.well = false;
  const a = master("a", bucket, world);
  const b = master("b", bucket, world);
  const { rollout } = await a.start();
  await settle();
  const stopped = a.controller.stop();
  await settle();
  await stopped;
  await pass(1_000, b);
  expect(b.taken).toEqual(["given_back"]);
  const before = await loadRollout(bucket, rollout.id);
  expect([before.driver, before.step]).toEqual(["b", "waiting"]);
  world.well = true;
  for (const { jid } of world.jobs()) world.finish(jid, { ok: 1 });
  await pass(5_000, b);
  expectOnce(world, await loadRollout(bucket, rollout.id));
});

test("the gate closes when more peels failed than allowed, and no further wave starts", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  world.well = false;
  const a = master("a", bucket, world);
  const { rollout } = await a.start({ max_failures: "20%" });
  await settle();
  world.finish(world.jobs()[0]?.jid ?? "", { failed: 1 });
  await settle();
  expect(world.jobs()).toHaveLength(2);
  world.finish(world.jobs()[1]?.jid ?? "", { ok: 1, timeout: 1 });
  await pass(5_000, a);
  const ended = await loadRollout(bucket, rollout.id);
  expect([ended.status, ended.failures, ended.reason]).toEqual([
    "failed",
    2,
    "2 failed by wave 2 of 3, at most 1 may",
  ]);
  expect(world.jobs()).toHaveLength(2);
});

test("a failed check closes the gate too", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  world.well = false;
  const a = master("a", bucket, world);
  const { rollout } = await a.start({ check });
  await settle();
  world.finish(world.jobs()[0]?.jid ?? "", { ok: 1 });
  await settle();
  expect(world.jobs()[1]?.metadata.check).toBe(true);
  world.finish(world.jobs()[1]?.jid ?? "", { failed: 1 });
  await pass(5_000, a);
  expect((await loadRollout(bucket, rollout.id)).status).toBe("failed");
  expect(world.jobs()).toHaveLength(2);
});

test("no wave starts after the deadline; the current one runs to its end", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  world.well = false;
  const a = master("a", bucket, world);
  const { rollout } = await a.start({ deadline: "30s" });
  await pass(60_000, a);
  expect((await loadRollout(bucket, rollout.id)).status).toBe("running");
  world.finish(world.jobs()[0]?.jid ?? "", { ok: 1 });
  await pass(1_000, a);
  const ended = await loadRollout(bucket, rollout.id);
  expect([ended.status, ended.reason]).toEqual(["failed", "the deadline passed after wave 1 of 3"]);
  expect(world.jobs()).toHaveLength(1);
});

test("a pause lets the current wave end and no other start, also under another driver", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  world.well = false;
  const a = master("a", bucket, world, "waiting");
  const b = master("b", bucket, world);
  const { rollout } = await a.start();
  await settle();
  expect((await pause(b.command, rollout.id, "tester")).status).toBe("paused");
  await pass(70_000, b);
  expect(b.taken).toEqual(["silent"]);
  world.finish(world.jobs()[0]?.jid ?? "", { ok: 1 });
  await pass(100_000, b);
  const held = await loadRollout(bucket, rollout.id);
  expect([held.status, held.step, held.waves.length]).toEqual(["paused", "soaking", 1]);
  world.well = true;
  await resume(b.command, rollout.id, "tester");
  await pass(5_000, b);
  const ended = await loadRollout(bucket, rollout.id);
  expect([ended.status, ended.pause]).toEqual(["completed", undefined]);
  expectOnce(world, ended);
});

for (const step of ["ready", ...steps] as const) {
  test(`an abort while ${step} ends it at once, although its driver is frozen; nothing starts when that driver resumes`, async () => {
    const [bucket, world] = [memoryBucket(), fleet()];
    world.well = false;
    const a = master("a", bucket, world, step);
    const b = master("b", bucket, world);
    const { rollout } = await a.start({ check, wave_wait: "2s" });
    for (let turn = 0; turn < 6; turn++) {
      const [first, second] = world.jobs();
      if (first !== undefined && step !== "waiting") world.finish(first.jid, { ok: 1 });
      if (second !== undefined && step === "ready") world.finish(second.jid, { ok: 1 });
      await pass(1_000, a, b);
    }
    expect((await loadRollout(bucket, rollout.id)).step).toBe(step);
    const jobs = world.jobs().length;
    await abort(b.command, rollout.id, "tester");
    await pass(1_000, b);
    const ended = await loadRollout(bucket, rollout.id);
    expect([ended.status, ended.reason]).toEqual(["aborted", "aborted by tester"]);
    a.thaw(2_000);
    await pass(80_000, a, b);
    expect(world.jobs()).toHaveLength(jobs);
    expect(await loadRollout(bucket, rollout.id)).toEqual(ended);
    expect(world.cancelled.length).toBe(step === "waiting" || step === "checking" ? 1 : 0);
  });
}

test("an ended rollout cannot be paused, resumed or aborted", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  const a = master("a", bucket, world);
  const { rollout } = await a.start();
  await pass(5_000, a);
  for (const [name, run] of Object.entries({
    pause,
    resume,
    abort,
  })) {
    await expect(run(a.command, rollout.id, "tester")).rejects.toThrow(
      `the rollout has ended (completed): there is nothing to ${name}`,
    );
  }
  await expect(abort(a.command, "rol-nonsense", "tester")).rejects.toThrow("the rollout does not exist");
});

test("failing storage is retried, and uncertain steps are verified before the next one", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  const a = master("a", bucket, world);
  const { make } = world.port;
  let failures = 2;
  world.port.make = async (job) => {
    if (failures-- > 0) throw new Error("the bus is away");
    return make(job);
  };
  const { rollout } = await a.start();
  await pass(20_000, a);
  const ended = await loadRollout(bucket, rollout.id);
  expect([ended.status, ended.forbidden.length]).toEqual(["completed", 2]);
  expectOnce(world, ended);
});

test("rollouts are listed newest first and page by page; too many at once are refused", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  world.well = false;
  const a = master("a", bucket, world);
  const ids: string[] = [];
  for (let i = 0; i < 50; i++) {
    ids.unshift(
      (await a.start({ metadata: { i }, function: "test.echo", args: { text: `${i}` } })).rollout.id,
    );
    a.clock.advance(1_000);
  }
  await settle();
  await expect(a.start()).rejects.toThrow("50 rollouts are already running");
  const first = await a.controller.list({ limit: 3 });
  expect(first.map(({ id }) => id)).toEqual(ids.slice(0, 3));
  const next = await a.controller.list({ limit: 2, after: ids[2] as string });
  expect(next.map(({ id }) => id)).toEqual(ids.slice(3, 5));
  expect(await a.controller.list({ limit: 2, status: "failed" })).toEqual([]);
  await expect(a.controller.list({ limit: 1, after: "rol-x" })).rejects.toThrow(
    "cursor must be the value that the previous page returned",
  );
});

test("a rollout that is started twice runs once, and can run again after its end", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  const a = master("a", bucket, world);
  const b = master("b", bucket, world);
  const both = await Promise.allSettled([a.start(), b.start(), b.start()]);
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
  await expect(a.start()).rejects.toThrow(/^rol-\w+ does the same on the same peels$/);
  await pass(20_000, a, b);
  expectOnce(world, await loadRollout(bucket, (await a.controller.list({ limit: 9 }))[0]?.id ?? ""));
  await a.start();
});

test("the newest ended rollouts are kept, and a list is removed with its record", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  const a = master("a", bucket, world);
  const ids: string[] = [];
  for (let i = 0; i < 4; i++) {
    ids.push((await a.start()).rollout.id);
    await pass(3_000, a);
  }
  const entries = await bucket.entries();
  const known = entries
    .filter(({ key }) => !key.includes("."))
    .map(({ value, revision }) => ({ rollout: decodeRollout(value), revision }));
  await pruneRollouts(bucket, known, 2);
  expect(bucket.keys.filter((key) => key.startsWith("place."))).toHaveLength(1);
  expect(bucket.keys.filter((key) => key.startsWith("rol-"))).toEqual(
    ids
      .slice(2)
      .flatMap((id) => [id, `${id}.targets`])
      .sort(),
  );
});

test("a record is stored and read without loss", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  const a = master("a", bucket, world);
  const { rollout } = await a.start({ check, metadata: { ticket: "7" } });
  await pass(3_000, a);
  const stored = await loadRollout(bucket, rollout.id);
  expect(decodeRollout(encodeRollout(stored))).toEqual(stored);
  expect(stored.waves[0]?.check?.counts).toEqual({ ok: 1 });
  const request = {
    ...{ subject: "svc.rollout.start", envelope: systemRandom(9) },
    approvals: [{ operator: "ben", envelope: systemRandom(9) }],
  };
  expect(decodeRollout(encodeRollout({ ...stored, request })).request).toEqual(request);
});
