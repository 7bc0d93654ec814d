import { expect, test } from "bun:test";
import { merkleTree } from "../../identity/merkle/mod.ts";
import type { Rollout } from "./record.ts";
import { jobOfWave, requestOfWave } from "./wave-job.ts";

const check = { function: "test.ping", args: {}, timeoutMs: 2 };
const rollout: Rollout = {
  ...{ id: "rol-1", function: "pkg.upgrade", args: { name: "vim" }, metadata: { ticket: "7" } },
  ...{ status: "running", step: "dispatching", failures: 0, forbidden: [], token: 1 },
  plan: { bounds: [1, 3], waveWaitMs: 0, maxFailures: 0, check, timeoutMs: 1, deadline: 9 },
  waves: [1, 2].map((n) => ({ job: { jid: `job-${n}`, createdAt: n }, begunAt: n, gone: 0 })),
  ...{ heartbeatAt: 1, createdAt: 1, createdBy: "ann", requestId: "r", approvedBy: ["bob"] },
};
const targets = ["a", "b", "c"];
const intent = { jid: "job-3", createdAt: 3 };
const metadata = { ticket: "7", rollout: "rol-1", wave: "2/2" };

test("the job of a wave is for its peels, and that of its check for those that succeeded", () => {
  const common = { ...intent, createdBy: "ann" };
  expect(jobOfWave(rollout, targets, intent)).toEqual({
    ...{ ...common, function: "pkg.upgrade", args: { name: "vim" }, timeoutMs: 1, metadata },
    targets: ["b", "c"],
  });
  expect(jobOfWave(rollout, targets, intent, { check, succeeded: ["a", "c"] })).toEqual({
    ...{ ...common, ...check, metadata: { ...metadata, check: true }, targets: ["c"] },
  });
});

test("what an operator signed goes with each wave, and says that a check is one", () => {
  const request = { subject: "svc.rollouts.start", envelope: new Uint8Array([1]) };
  const tree = () => merkleTree(targets);
  const unsigned = { requestId: "r", approvedBy: ["bob"] };
  expect(requestOfWave(rollout, "wave", tree)).toEqual(unsigned);
  const signed = requestOfWave({ ...rollout, request }, "wave", tree);
  expect(signed).toMatchObject({ ...unsigned, signed: request });
  expect(signed.partOf?.(["b", "c"])).toEqual(tree().partOf(["b", "c"]));
  expect(requestOfWave({ ...rollout, request }, "check", tree).signed).toEqual({ ...request, step: "check" });
});
