import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { openRelease, signRelease } from "../../wire/release.ts";
import { newestOf } from "./order.ts";
import { planRestore } from "./plan.ts";
import { readContents, restoreDecisions } from "./restore.ts";
import { verificationOf } from "./verify.ts";

const at = Date.UTC(2026, 10, 28);
const keyOf = (kind: "user" | "account", byte: number) =>
  newKeyPair(kind, () => new Uint8Array(32).fill(byte));
const [anna, thief] = [keyOf("user", 1), keyOf("user", 2)];
const releaseBy = (signer: typeof anna, version: number) =>
  signRelease(
    {
      ...{ fleet: keyOf("account", 3).publicKey, environment: "base", snapshot: "ab".repeat(32) },
      ...{ version, releasedAt: at + version, operator: "anna" },
    },
    signer,
  );
const stored = (value: Uint8Array, key = "base") => ({ bucket: "releases", key, value });
const judge = {
  ...{ now: at, pendingTtlMs: 0, vouched: () => true },
  isGoodOperator: () => true,
  isGoodRelease: (_: Uint8Array, { key }: { key: string }) => key === anna.publicKey,
};

test.each<[string, Uint8Array | undefined, number]>([
  ["an older one after an older backup", releaseBy(anna, 5), 7],
  ["nothing", undefined, 7],
  ["one that nobody signed who may", releaseBy(thief, 99), 7],
  ["bytes of something else", new Uint8Array([1]), 7],
  ["a newer one", releaseBy(anna, 8), 8],
])("where the bus has %s, the last good release is in force", async (_, there, version) => {
  const buckets = { enrollments: memoryBucket(), revocations: memoryBucket(), releases: memoryBucket() };
  if (there !== undefined) await buckets.releases.put("base", there);
  const known = () => [stored(releaseBy(anna, 7))];
  await restoreDecisions(buckets, known, () => judge, {});
  const found = openRelease((await buckets.releases.get("base"))?.value ?? new Uint8Array());
  expect([found.version, found.key]).toEqual([version, anna.publicKey]);
  const { differences } = verificationOf(known(), await readContents(buckets), judge);
  expect(differences.map(({ problem }) => problem)).toEqual(version === 8 ? ["unlogged"] : []);
});

test("a release that no longer counts is not put back", async () => {
  const contents = { enrollments: [], revocations: [], releases: [] };
  const refusing = { ...judge, isGoodOperator: () => true, isGoodRelease: () => false };
  const { lost, over } = planRestore([stored(releaseBy(anna, 7))], contents, refusing);
  expect([lost, over.length]).toEqual([[], 1]);
});

test("a release under the key of another environment does not count", () => {
  const plan = planRestore(
    [],
    {
      enrollments: [],
      revocations: [],
      releases: [
        { key: "other", value: releaseBy(anna, 7), revision: 1, storedAt: 0 },
        { key: "base.seen", value: releaseBy(anna, 7), revision: 2, storedAt: 0 },
      ],
    },
    judge,
  );
  expect(plan.unlogged.map(({ key }) => key)).toEqual(["base.seen"]);
});

test("a bus without the bucket gets no releases, and the newest decision of a backup may be one", async () => {
  const buckets = { enrollments: memoryBucket(), revocations: memoryBucket() };
  const known = [stored(releaseBy(anna, 7)), stored(releaseBy(anna, 6), "base.seen")];
  const { lost } = planRestore(known, await readContents(buckets), judge);
  expect(lost).toEqual([]);
  expect(newestOf(known, judge)).toEqual({
    ...{ at: at + 7, bucket: "releases", key: "base", peelId: "", state: "released" },
  });
});
