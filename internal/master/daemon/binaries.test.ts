import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { freeBudgets } from "../../../test/harness/operator-budgets.ts";
import { provisionedBus } from "../../../test/harness/provisioned-bus.ts";
import { newId, systemRandom } from "../../base/id.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { openBlobStore } from "../../bus/storage/blob-store.ts";
import { openBucket } from "../../bus/storage/bucket.ts";
import { uploadBinary } from "../../cli/upgrade/upload.ts";
import { decodeBinaryCatalog } from "../../fleet/binaries/catalog.ts";
import { encodeJob, type Job } from "../../fleet/jobs/records/record.ts";
import { claimRollout } from "../../fleet/rollout/claim.ts";
import { encodeRollout, encodeTargets, type Rollout, targetsKey } from "../../fleet/rollout/record.ts";
import { encodeBinaryManifest } from "../../host/binary/manifest.ts";
import { startBinaries } from "./binaries.ts";

const bus = provisionedBus();
const log = recordingLog();
const clock = manualClock();

function binaryOf(name: string) {
  const bytes = Buffer.from(name);
  const manifest = {
    sha256: sha256Hex(bytes),
    size: bytes.length,
    platform: "linux-x64" as const,
    version: "",
    chunks: [sha256Hex(bytes)],
  };
  return {
    manifest,
    ...encodeBinaryManifest(manifest),
    chunk: async () => bytes,
    [Symbol.asyncDispose]: async () => {},
  };
}

const call = (manifest: string) => ({ function: "upgrade.apply", args: { manifest } });

function rolloutOf(manifest: string, finishedAt?: number): Rollout {
  return {
    id: newId("rol", clock.now(), systemRandom),
    ...call(manifest),
    metadata: {},
    plan: { bounds: [1], waveWaitMs: 0, maxFailures: 0, timeoutMs: 1, deadline: clock.now() },
    status: finishedAt === undefined ? "paused" : "completed",
    step: "ready",
    waves: [],
    failures: 0,
    forbidden: [],
    token: 1,
    heartbeatAt: clock.now(),
    createdAt: clock.now(),
    createdBy: "alice",
    ...(finishedAt === undefined ? {} : { finishedAt }),
  };
}

function jobOf(manifest: string): Job {
  const now = clock.now();
  return {
    jid: newId("job", now, systemRandom),
    ...call(manifest),
    targets: ["web-1"],
    metadata: {},
    timeoutMs: 1,
    createdAt: now,
    createdBy: "alice",
    deadline: now + 1,
  };
}

test("a binary that an unfinished rollout or job references stays, even when four are newer", async () => {
  const jobs = await openBucket(bus.master, "jobs");
  const rollouts = await openBucket(bus.master, "rollouts");
  const all = Array.from({ length: 7 }, (_, index) => binaryOf(`binary ${index}`));
  const [byRollout = "", byJob = "", byEnded = ""] = all.map(({ digest }) => digest);
  const job = jobOf(byJob);
  await jobs.put(job.jid, encodeJob(job));
  for (const rollout of [rolloutOf(byRollout), rolloutOf(byEnded, clock.now())]) {
    await rollouts.put(targetsKey(rollout.id), encodeTargets(["web-1"]));
    await rollouts.put(rollout.id, encodeRollout(rollout));
    await claimRollout(rollouts, rollout, ["web-1"]);
  }
  const { content: _, ...listed } = job;
  const running = {
    ...listed,
    targets: 1,
    status: "running" as const,
    counts: {},
    created_at: "",
    created_by: "",
    deadline: "",
  };
  const controller = { list: async () => ({ jobs: [running], unsearched: 0 }) };
  const binaries = await startBinaries({
    budgets: freeBudgets,
    bus: bus.master,
    name: "master-1",
    jobs,
    controller,
    clock,
    jitter: () => 0,
    log,
  });
  for (const binary of all) await uploadBinary(bus.master, binary, () => {});
  const store = openBlobStore(bus.master, "binaries");
  const catalog = decodeBinaryCatalog((await store.get((await store.head())?.digest ?? "")) ?? Buffer.of());
  const newest = all.slice(3).reverse();
  expect(catalog.binaries.map(({ manifest }) => manifest)).toEqual([
    ...newest.map(({ digest }) => digest),
    byJob,
    byRollout,
  ]);
  expect(await binaries.cache.get(byRollout)).toEqual(Buffer.from(all[0]?.data ?? []));
  expect(clock.pending).toBe(1);
  binaries.stop();
  expect(clock.pending).toBe(0);
});
