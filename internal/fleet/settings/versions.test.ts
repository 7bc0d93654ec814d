import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { systemRandom } from "../../base/id.ts";
import { deriveCurveKey } from "../../identity/curve.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { createEnvelopeMaker, encodeSettings } from "../../wire/settings-envelope.ts";
import { encodeSettingsRecord } from "./record.ts";
import { watchVersions } from "./versions.ts";

const maker = createEnvelopeMaker(newKeyPair("user", systemRandom), systemRandom);
const curvePublicKey = deriveCurveKey(newKeyPair("user", systemRandom)).publicKey;
const envelopeOf = (peelId: string, version: number) =>
  maker.make(
    encodeSettings({ port: 80 }),
    { peelId, curvePublicKey },
    { version, digest: new Uint8Array(32) },
  );

test("the version of each peel is that of its stored envelope, while there is one", async () => {
  const bucket = memoryBucket();
  await bucket.put("web-1", encodeSettingsRecord({ peelId: "web-1", envelope: envelopeOf("web-1", 5) }));
  await bucket.put("web-2", encodeSettingsRecord({ peelId: "web-2", error: "top.sls:1: broken" }));
  await bucket.put("web-3", new Uint8Array([0xc1]));
  await bucket.put("_fence", new Uint8Array([1]));
  const versions = watchVersions(bucket);
  await versions.ready;
  expect(["web-1", "web-2", "web-3", "_fence"].map(versions.versionOf)).toEqual([
    5,
    undefined,
    undefined,
    undefined,
  ]);
  await bucket.put("web-1", encodeSettingsRecord({ peelId: "web-1", envelope: envelopeOf("web-1", 6) }));
  expect(versions.versionOf("web-1")).toBe(6);
  const { revision } = (await bucket.get("web-1")) ?? { revision: 0 };
  await bucket.remove("web-1", revision);
  expect(versions.versionOf("web-1")).toBeUndefined();
});
