import { expect, test } from "bun:test";
import { memoryBucket } from "../../../../test/harness/bucket.ts";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { encodeBase64 } from "../../../base/base64.ts";
import { newId, systemRandom } from "../../../base/id.ts";
import { newKeyPair } from "../../../identity/mod.ts";
import { copyMessage } from "../../../wire/enrollment-messages.ts";
import { decodeRecord, type Enrollment, encodeRecord } from "../record/mod.ts";
import { noteCopy } from "./note-copy.ts";

const [copied, own, stranger] = [1, 2, 3].map(() => newKeyPair("user", systemRandom)) as [Key, Key, Key];
type Key = ReturnType<typeof newKeyPair>;
const challenge = new Uint8Array(32).fill(5);
const id = newId("enr", 0, systemRandom);
const claimBy = (signer: Key, message = copyMessage(challenge, own.publicKey)) => ({
  copy_of: { public_key: copied.publicKey, signature: encodeBase64(signer.sign(message)) },
});

async function setup(state: Enrollment["state"] = "active") {
  const clock = manualClock(Date.parse("2026-01-01T00:00:00Z"));
  const enrollments = memoryBucket();
  const record: Enrollment = {
    ...{ id, peelId: "web-1", publicKey: copied.publicKey, curvePublicKey: "X", state },
    ...{ createdAt: clock.now(), updatedAt: clock.now() },
  };
  await enrollments.create(id, encodeRecord(record));
  const notified: string[] = [];
  const note = (metadata: Record<string, never> | ReturnType<typeof claimBy> | undefined) =>
    noteCopy(
      {
        ...{ enrollments: enrollments as never, clock, log: recordingLog() },
        directory: { newestOf: (key) => (key === copied.publicKey ? { id, state } : undefined) },
        notifyOfCopy: async (noted, peel) => void notified.push(`${noted} ${peel}`),
      },
      {
        ...{ peelId: "web-1", publicKey: own.publicKey, curvePublicKey: "X", challengeId: "chl-1" },
        ...{ signature: new Uint8Array(64), ...(metadata === undefined ? {} : { metadata }) },
      },
      challenge,
    );
  const at = async () => decodeRecord((await enrollments.get(id))?.value ?? new Uint8Array()).copiedAt;
  return { clock, note, notified, at };
}

test("a proven copy is reported once in ten minutes", async () => {
  const { clock, note, notified, at } = await setup();
  const first = clock.now();
  await note(claimBy(copied));
  clock.advance(9 * 60_000);
  await note(claimBy(copied));
  expect([notified, await at()]).toEqual([[`${id} web-1`], first]);
  clock.advance(60_000);
  await note(claimBy(copied));
  expect(notified).toHaveLength(2);
});

test.each<[string, ReturnType<typeof claimBy> | undefined, Enrollment["state"]]>([
  ["without a claim", undefined, "active"],
  ["with a claim by another key", claimBy(stranger), "active"],
  [
    "with a claim for another challenge",
    claimBy(copied, copyMessage(new Uint8Array(32), own.publicKey)),
    "active",
  ],
  ["with a claim for another host", claimBy(copied, copyMessage(challenge, stranger.publicKey)), "active"],
  ["of a peel that is not a member", claimBy(copied), "revoked"],
])("a host %s is not reported", async (_, metadata, state) => {
  const { note, notified, at } = await setup(state);
  await note(metadata);
  expect([notified, await at()]).toEqual([[], undefined]);
});
