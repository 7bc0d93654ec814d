import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { systemRandom } from "../../base/id.ts";
import { createSlots } from "../../base/slots.ts";
import { deriveCurveKey } from "../../identity/curve.ts";
import { newKeyPair } from "../../identity/mod.ts";
import type { SettingsAnswer } from "../../wire/settings-answer.ts";
import { createEnvelopeMaker, encodeSettings } from "../../wire/settings-envelope.ts";
import { answerSettings } from "./answer.ts";
import { encodeSettingsRecord, type SettingsRecord } from "./record.ts";
import { watchVersions } from "./versions.ts";

const maker = createEnvelopeMaker(newKeyPair("user", systemRandom), systemRandom);
const curvePublicKey = deriveCurveKey(newKeyPair("user", systemRandom)).publicKey;
const peelId = "web-1";
const envelope = maker.make(
  encodeSettings({ port: 80 }),
  { peelId, curvePublicKey },
  { version: 5, digest: new Uint8Array(32) },
);
/** Of the same version, as two peels can have it. */
const anothers = maker.make(
  encodeSettings({ port: 80 }),
  { peelId: "web-2", curvePublicKey },
  { version: 5, digest: new Uint8Array(32) },
);
const error = "top.sls:1: broken";
const record = (fields: Omit<SettingsRecord, "peelId">) => encodeSettingsRecord({ peelId, ...fields });

const plain = ({ envelope, ...rest }: SettingsAnswer) => ({ ...rest, envelope: envelope && [...envelope] });

/** A master that follows the bucket, and how often it reads it. */
async function world(stored?: Uint8Array) {
  const bucket = memoryBucket();
  if (stored !== undefined) await bucket.put(peelId, stored);
  let [reads, checks] = [0, 0];
  let lag: Error | undefined;
  const versions = watchVersions({
    watch(onChange, keys) {
      const watch = bucket.watch((change) => void (lag === undefined && onChange(change)), keys);
      return {
        ...watch,
        async caughtUp() {
          checks++;
          if (lag !== undefined) throw lag;
        },
      };
    },
  });
  await versions.ready;
  const get = (key: string) => {
    reads++;
    return bucket.get(key);
  };
  const deps = { bucket: { get }, versions, slots: createSlots({ atOnce: 2 }) };
  return {
    bucket,
    request: (version: number) => answerSettings(deps, peelId, version),
    /** What is stored from now on is not seen. */
    stall() {
      lag = new Error("not read completely");
    },
    requested: () => ({ reads, checks }),
  };
}

test.each([
  ["nothing is stored", undefined, 0, {}, 0],
  ["nothing is stored any more", undefined, 5, {}, 0],
  ["the peel has it", record({ envelope }), 5, {}, 0],
  ["the peel has none", record({ envelope }), 0, { envelope }, 1],
  ["the peel has an earlier one", record({ envelope }), 4, { envelope }, 1],
  ["the peel has a later one", record({ envelope }), 6, { envelope }, 1],
  ["newer ones cannot be compiled", record({ envelope, error }), 5, { error }, 1],
  ["none could ever be compiled", record({ error }), 0, { error }, 1],
  ["those of another peel are stored", record({ envelope: anothers }), 5, { envelope: anothers }, 1],
  ["the record has neither", record({}), 0, {}, 1],
])("%s", async (_, stored, version, answer, reads) => {
  const { request, requested } = await world(stored);
  expect(plain(await request(version))).toEqual(plain(answer));
  expect(requested()).toEqual({ reads, checks: 1 });
});

test("a record that cannot be read is an error, however often it is asked for", async () => {
  const { request } = await world(new Uint8Array([0xc1]));
  for (const version of [0, 5]) {
    expect(await request(version).catch((thrown) => thrown)).toMatchObject({ kind: "storage" });
  }
});

test("what follows the start counts, and an error that went away is not reported again", async () => {
  const { bucket, request, requested } = await world();
  await bucket.put(peelId, record({ envelope }));
  expect(await request(4)).toHaveProperty("envelope");
  await bucket.put(peelId, record({ envelope, error }));
  expect(await request(5)).toEqual({ error });
  await bucket.put(peelId, record({ envelope }));
  const { reads } = requested();
  expect(await request(5)).toEqual({});
  expect(requested().reads).toBe(reads);
});

test("a master whose view lags reads what is stored", async () => {
  const { bucket, request, stall } = await world();
  stall();
  await bucket.put(peelId, record({ envelope }));
  expect(await request(0)).toHaveProperty("envelope");
});

test("a thousand calls at the same time share two reads", async () => {
  const { request, requested } = await world(record({ envelope }));
  const reported = await Promise.all(Array.from({ length: 1_000 }, () => request(5)));
  expect(reported.every((one) => Object.keys(one).length === 0)).toBe(true);
  expect(requested()).toEqual({ reads: 0, checks: 2 });
});
