import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { systemRandom } from "../../base/id.ts";
import { createNonces } from "./nonces.ts";

const nonce = () => systemRandom(16);

test("a nonce is taken once, on whichever master, and by each operator for itself", async () => {
  const [bucket, clock] = [memoryBucket(), manualClock()];
  const [one, two] = [createNonces({ bucket, clock }), createNonces({ bucket, clock })];
  const used = nonce();
  expect(await one.take("UA", used, true)).toBe(true);
  expect(await one.take("UA", used, true)).toBe(false);
  expect(await two.take("UA", used, true)).toBe(false);
  expect(await two.take("UB", used, true)).toBe(true);
  expect(await two.take("UA", nonce(), true)).toBe(true);
});

test("of two requests at once one is taken", async () => {
  const [bucket, clock] = [memoryBucket(), manualClock()];
  const [one, two] = [createNonces({ bucket, clock }), createNonces({ bucket, clock })];
  const used = nonce();
  const taken = await Promise.all([one, one, two, two].map((nonces) => nonces.take("UA", used, true)));
  expect(taken.filter((isNew) => isNew)).toHaveLength(1);
});

test("an emptied bucket does not let a master take a request again", async () => {
  const clock = manualClock();
  let bucket = memoryBucket();
  const nonces = createNonces({ bucket: { create: (key, value) => bucket.create(key, value) }, clock });
  const used = nonce();
  expect(await nonces.take("UA", used, true)).toBe(true);
  bucket = memoryBucket();
  clock.advance(120_000);
  expect(await nonces.take("UA", used, true)).toBe(false);
  // By then its time has passed twice over.
  clock.advance(250_000);
  expect(await nonces.take("UA", used, true)).toBe(true);
});

test("what is not stored is not taken, and what changes nothing does not need it", async () => {
  const [bucket, clock] = [memoryBucket(), manualClock()];
  bucket.beforeWrite = () => {
    throw new SvcError("storage", "no leader");
  };
  const nonces = createNonces({ bucket, clock });
  await expect(nonces.take("UA", nonce(), true)).rejects.toMatchObject({ kind: "storage" });
  const read = nonce();
  expect(await nonces.take("UA", read, false)).toBe(true);
  expect(await nonces.take("UA", read, false)).toBe(false);
});

test("a storage that is silent delays a request that changes nothing for a second", async () => {
  const [bucket, clock] = [memoryBucket(), manualClock()];
  bucket.beforeWrite = () => new Promise<void>(() => {});
  const nonces = createNonces({ bucket, clock });
  const taking = nonces.take("UA", nonce(), false);
  clock.advance(999);
  expect(clock.pending).toBe(1);
  expect(await clock.until(taking, 1)).toBe(true);
});

test("a master that remembers too many of a key refuses, forgets none that is in time, and says when", async () => {
  const [bucket, clock] = [memoryBucket(), manualClock()];
  const nonces = createNonces({ bucket, clock, max: 3 });
  const used = [nonce(), nonce(), nonce()];
  for (const one of used) expect(await nonces.take("UA", one, true)).toBe(true);
  const refusedFor = (retryAfterMs: number, wait: string) => ({
    kind: "rate_limited",
    retryAfterMs,
    message: `this master remembers as many requests with this key as it may: try again in ${wait}`,
  });
  clock.advance(60_000);
  await expect(nonces.take("UA", nonce(), true)).rejects.toMatchObject(refusedFor(300_000, "5m"));
  expect(await nonces.take("UB", nonce(), true)).toBe(true);
  clock.advance(120_000);
  await expect(nonces.take("UA", nonce(), true)).rejects.toMatchObject(refusedFor(180_000, "3m"));
  for (const one of used) expect(await nonces.take("UA", one, true)).toBe(false);
  clock.advance(400_000);
  expect(await nonces.take("UA", nonce(), true)).toBe(true);
});
