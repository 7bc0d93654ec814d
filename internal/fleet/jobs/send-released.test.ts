import { expect, test } from "bun:test";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { decodeCall, decodeReleased } from "../../wire/call.ts";
import { openCommand } from "../../wire/command.ts";
import type { Job } from "./records/record.ts";
import { withJobMac } from "./records/record-mac.ts";
import { createCommands } from "./send.ts";

const key = newKeyPair("user", systemRandom);
const mac = createRecordMac(newKeyPair("account", systemRandom));
const [inForce, released, older] = ["ab".repeat(32), "cd".repeat(32), "ef".repeat(32)];
const targets = ["web-1", "web-2", "db-1"];
const job = (snapshot: string | undefined, change: Partial<Job> = {}): Job =>
  withJobMac(mac, {
    ...{ jid: "job-3MPFSICSuHM6n9ASVzK0s68GQu3", function: "state.highstate", args: {}, targets },
    ...{ metadata: {}, timeoutMs: 1_000, createdAt: 0, createdBy: "ann", deadline: 1_000 },
    ...(snapshot === undefined ? {} : { content: { environment: "base", commit: "abc", snapshot } }),
    ...change,
  });
const releaseOf = (snapshot: string) => ({ bytes: Buffer.from(`release of ${snapshot}`), records: [] });

/** @returns what each peel gets: its files, and their release */
function send(one: Job, kind: "send" | "resend" | "sign" = "send") {
  const sent = new Map<string, Uint8Array>();
  const commands = createCommands({
    bus: { publish: (subject, data) => sent.set(subject.split(".").at(-1) ?? "", data) },
    ...{ key, mac, log: recordingLog() },
    released: {
      releaseOf: ({ snapshot }) => ([released, older].includes(snapshot) ? releaseOf(snapshot) : undefined),
    },
  });
  if (kind !== "sign") commands[kind]("dispatch", one, targets);
  else for (const peel of targets) sent.set(peel, commands.sign("dispatch", one, peel) ?? new Uint8Array());
  return targets.map((peel) => {
    const { body } = openCommand(
      sent.get(peel) ?? new Uint8Array(),
      { peel },
      { keys: [key.publicKey], now: 0 },
    );
    const [release] = decodeReleased(body).releases;
    return [decodeCall(body).content?.snapshot, release && Buffer.from(release).toString()];
  });
}
const plain = (snapshot: string) => [snapshot, undefined];
const whole = (snapshot: string) => [snapshot, `release of ${snapshot}`];

test.each(["send", "resend", "sign"] as const)(
  "peels that run released files alone get those that were accepted for them, and the others what is in force (%s)",
  (kind) => {
    const forSome = { released: { commit: "def", snapshot: released, peels: ["web-1", "web-2"] } };
    expect(send(job(inForce, forSome), kind)).toEqual([whole(released), whole(released), plain(inForce)]);
    expect(send(job(inForce), kind)).toEqual([plain(inForce), plain(inForce), plain(inForce)]);
    expect(send(job(released), kind)).toEqual([whole(released), whole(released), whole(released)]);
  },
);

test("what an operator signed stays, with the release of these files if there is one", () => {
  const request = { subject: "svc.job.request", envelope: systemRandom(20) };
  expect(send(job(older, { request }))).toEqual(targets.map(() => whole(older)));
  expect(send(job(inForce, { request }))).toEqual(targets.map(() => plain(inForce)));
});

test("nothing is sent when someone changes the released files of a stored job", () => {
  const forSome = { released: { commit: "def", snapshot: released, peels: ["web-1"] } };
  const known = job(inForce, forSome);
  expect(send(known)).toHaveLength(3);
  for (const change of [{ snapshot: older }, { peels: ["web-1", "db-1"] }]) {
    expect(() => send({ ...known, released: { ...forSome.released, ...change } })).toThrow();
  }
});

test("a job that uses no files has no release", () => {
  expect(send(job(undefined, { function: "test.ping" }))).toEqual(targets.map(() => [undefined, undefined]));
});
