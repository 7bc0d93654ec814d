import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { newId, systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import type { PlannedJob } from "../jobs/records/tombstone.ts";
import { createRolloutController } from "./controller.ts";
import { encodeRollout, encodeTargets, type Rollout } from "./record.ts";
import { storeRollout } from "./start.ts";
import { rolloutTiming } from "./timing.ts";

// A writer of the bucket of rollouts without a command key: a master that takes such a rollout must not
// create jobs for it.

const mac = createRecordMac(newKeyPair("user", systemRandom));
const peels = ["peel-a", "peel-b"];
const check = { function: "test.ping" };
const refusal = "a stored rollout was changed by others: it does not start";

/** The result for a rollout of two peels in two waves that was changed before a master took it. */
async function takeOver(
  change: (rollout: Rollout) => { rollout?: Partial<Rollout>; targets?: string[] },
  wellWere = peels,
) {
  const [bucket, clock, log] = [memoryBucket(), manualClock(), recordingLog()];
  const made: PlannedJob[] = [];
  const releases = {
    newest: () => undefined,
    versionOf: () => undefined,
    insists: () => false,
    onChange: () => () => {},
  };
  const common = { rollouts: bucket, mac, releases, clock, random: systemRandom, log };
  const { rollout: requested } = await storeRollout(
    { ...common, awayOf: async () => [], resolve: async () => peels, running: async () => [], self: "gone" },
    { target: "*", function: "test.ping", waves: 1, check },
    "tester",
  );
  const { driver: _, ...givenBack } = requested;
  const { rollout = {}, targets } = change(requested);
  const changed = { ...givenBack, ...rollout };
  await bucket.put(`${changed.id}.targets`, encodeTargets(targets ?? peels));
  if (changed.id !== requested.id)
    await bucket.put(requested.id, encodeRollout({ ...requested, status: "aborted" }));
  await bucket.put(changed.id, encodeRollout(changed));
  const controller = createRolloutController({
    ...common,
    bus: { onReconnect: () => () => {} },
    jobs: {
      make: async (job) => {
        made.push(job);
        return { jid: job.jid, observed: "made", peels: job.targets.length };
      },
      claim: async ({ jid }) => ({ jid, observed: "forbidden" }),
      cancel: async () => {},
      ended: async (jid) => ({ jid, observed: "ended", counts: { ok: 1 } }),
      wentWell: async () => wellWere,
    },
    self: "taker",
    timing: rolloutTiming,
    jitter: () => 0,
    metrics: { rolloutWave() {}, rolloutEnded() {}, rolloutTaken() {} },
  });
  await clock.pass(5_000);
  await controller.stop();
  return { made, refused: log.records.some(({ event }) => event === refusal) };
}

test("the master that takes over executes the request of the operator", async () => {
  const { made, refused } = await takeOver(() => ({}));
  expect(made.map(({ targets }) => targets)).toEqual([["peel-a"], ["peel-a"], ["peel-b"], ["peel-b"]]);
  expect(refused).toBe(false);
});

const changes: Record<string, (rollout: Rollout) => { rollout?: Partial<Rollout>; targets?: string[] }> = {
  "another function": () => ({ rollout: { function: "cmd.run" } }),
  "other arguments": () => ({ rollout: { args: { text: "other" } } }),
  "another check": ({ plan }) => ({
    rollout: { plan: { ...plan, check: { function: "cmd.run", args: {}, timeoutMs: 1 } } },
  }),
  "a wider gate": ({ plan }) => ({ rollout: { plan: { ...plan, maxFailures: 9 } } }),
  "a later end": ({ plan }) => ({ rollout: { plan: { ...plan, deadline: plan.deadline + 1 } } }),
  "other waves": ({ plan }) => ({ rollout: { plan: { ...plan, bounds: [2] } } }),
  "other peels": () => ({ targets: ["peel-x", "peel-y"] }),
  "others who agreed": () => ({ rollout: { approvedBy: ["mallory"] } }),
  "another id": () => ({ rollout: { id: newId("rol", 0, systemRandom) } }),
  "a claim without proof": () => ({ rollout: { voucher: new Uint8Array(32) } }),
};
for (const [what, change] of Object.entries(changes)) {
  test(`a stored rollout with ${what} begins nothing`, async () => {
    expect(await takeOver(change)).toEqual({ made: [], refused: true });
  });
}

test("the check asks the peels of its wave, whatever job the record names", async () => {
  const { made } = await takeOver(() => ({}), ["peel-a", "peel-z"]);
  expect(made.flatMap(({ targets }) => targets)).not.toContain("peel-z");
});
