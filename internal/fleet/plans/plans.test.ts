import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { treeOf } from "../../../test/harness/settings-tree.ts";
import { memoryFiles } from "../../../test/harness/states.ts";
import { until } from "../../../test/harness/until.ts";
import { writeTar } from "../../base/files/tar.ts";
import { systemRandom } from "../../base/id.ts";
import { sha256 } from "../../base/sha256.ts";
import { createPlans, readDocument } from "./plans.ts";
import { openPlanStore } from "./store.ts";

const files = {
  "top.sls": "base:\n  '*':\n    - web\n",
  "web.sls": "x:\n  test.nop:\n    - name: {{ settings.app.port }}-{{ settings.password }}\n",
};
const settings = { "top.sls": "base:\n  '*': [app]\n", "app.sls": "app: {port: 80}\npassword: hunter22\n" };
const content = { environment: "base", commit: "local", snapshot: "0".repeat(64) };

function open({ isStuck = false }: { isStuck?: boolean } = {}) {
  const clock = manualClock();
  const blobs = new Map<string, Uint8Array>();
  const store = openPlanStore({
    ...{ bucket: memoryBucket(), clock },
    blobs: {
      put: async (digest, data) => void blobs.set(digest, new Uint8Array(data)),
      get: async (digest) => blobs.get(digest),
    },
  });
  const plans = createPlans({
    ...{ store, clock, random: systemRandom, log: recordingLog(), signal: new AbortController().signal },
    openFiles: isStuck ? () => new Promise(() => {}) : async () => ({ source: memoryFiles(files), content }),
    ...{ settings: () => treeOf(settings), strictFacts: false, compat: "strict" },
    factsOf: async (peel) => (peel === "bare" ? undefined : { os: "Debian" }),
    ...{ labelsOf: () => ({}), lastRunOf: () => undefined },
  });
  const ended = async (id: string) => {
    const { plan } = await until(
      () => store.get(id),
      (found) => found.plan.state === "done" || found.plan.state === "failed",
    );
    return plan;
  };
  return { plans, store, clock, ended };
}

const wanted = { operator: "ann", target: "*", peels: ["web-1", "web-2"], environment: "base" };
const archive = writeTar(
  Object.entries({ ...files, "web.sls": files["web.sls"].replace("80", "81") }).map(([path, text]) => ({
    ...{ path: `states/${path}`, executable: false, data: Buffer.from(text.replace("x:", "y:")) },
  })),
);

test("a tree comes in chunks, in their order, from the one who began it", async () => {
  const { plans, store, ended } = open();
  const id = await plans.begin(wanted);
  const half = Math.floor(archive.length / 2);
  const chunk = (seq: number, bytes: Uint8Array, operator = "ann") =>
    plans.take({ id, seq, bytes, operator });
  await chunk(0, archive.subarray(0, half));
  await expect(chunk(0, archive.subarray(0, half))).rejects.toThrow("chunk 1 is next");
  await expect(chunk(1, archive.subarray(half), "bob")).rejects.toThrow("another operator began it");
  await expect(chunk(1, new Uint8Array())).rejects.toThrow("1 to 524288 bytes");
  await chunk(1, archive.subarray(half));
  const end = (bytes: Uint8Array) => plans.end({ id, digest: sha256(bytes), operator: "ann" });
  await expect(end(archive.subarray(1))).rejects.toThrow("not what this digest is of");
  await end(archive);
  await expect(chunk(2, archive)).rejects.toThrow("has ended");
  const plan = await ended(id);
  expect(plan.problem).toBeUndefined();
  const { groups, commit, compared_with: base } = await readDocument(store, plan);
  expect([commit, base]).toEqual(["local", content]);
  expect(groups.map(({ count, changes }) => [count, changes.map(({ op, id: state }) => op + state)])).toEqual(
    [[2, ["~y"]]],
  );
});

test("an upload without a chunk for a minute is dropped", async () => {
  const { plans, clock } = open();
  const id = await plans.begin(wanted);
  clock.advance(60_000);
  await expect(plans.take({ id, seq: 0, bytes: archive, operator: "ann" })).rejects.toThrow("has ended");
});

test("two are made at once, and more are refused until one of them is given up", async () => {
  const { plans, store, clock } = open({ isStuck: true });
  const first = await plans.make(wanted);
  await plans.make(wanted);
  await expect(plans.make(wanted)).rejects.toMatchObject({ kind: "rate_limited" });
  clock.advance(60_000);
  expect((await store.get(first)).plan).toMatchObject({ state: "failed", problem: expect.any(String) });
  await plans.make(wanted);
});

test("peels without facts are named, secrets are hidden, and what cannot be read fails with its reason", async () => {
  const { plans, store, ended } = open();
  const { plan } = await store.get(
    await plans.make({ ...wanted, peels: ["bare", "web-1"], sinceLastRun: true }),
  );
  const document = await readDocument(store, await ended(plan.id));
  expect(document).toMatchObject({ peels: 2, compared_with: "last run" });
  expect(document.cannot_be_bound).toEqual([{ peel: "bare", reason: "it has stored no facts" }]);
  expect(document.groups[0]?.changes[0]).toMatchObject({ op: "+", name: "80-********" });
  await expect(plans.make(wanted, Buffer.from("no archive"))).rejects.toThrow("not a tar archive");
  const empty = await plans.make(
    wanted,
    writeTar([{ path: "a", executable: false, data: new Uint8Array() }]),
  );
  const failed = await readDocument(store, await ended(empty));
  expect(failed.groups[0]?.error?.[0]).toContain("no top.sls");
});
