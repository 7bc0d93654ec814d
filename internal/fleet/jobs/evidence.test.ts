import { expect, test } from "bun:test";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { isProven, merkleTree } from "../../identity/merkle/merkle.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { decodeEvidence, encodeCall, encodeStop } from "../../wire/call.ts";
import { openCommand } from "../../wire/command.ts";
import { parse } from "../operation/mod.ts";
import { decodeJob, encodeJob, type Job } from "./records/record.ts";
import { isGenuineJob, withCancelMac, withJobMac } from "./records/record-mac.ts";
import { jobRequestSchema } from "./request.ts";
import { createCommands } from "./send.ts";

// What an operator signed goes with the commands of a job, to each peel with its own proof.

const key = newKeyPair("user", systemRandom);
const mac = createRecordMac(newKeyPair("account", systemRandom));
const targets = ["web-1", "web-2", "web-3"];
const envelope = systemRandom(200);
const bare: Job = {
  ...{ jid: "job-3MPFSICSuHM6n9ASVzK0s68GQu3", function: "cmd.run", args: { command: "id" }, targets },
  ...{ metadata: {}, timeoutMs: 1_000, createdAt: 0, createdBy: "ann", requestId: "r-1", deadline: 1_000 },
};
const signed = { ...bare, request: { subject: "svc.job.request", envelope } };
const sent = new Map<string, Uint8Array>();
const commands = createCommands({
  ...{ bus: { publish: (subject, data) => sent.set(subject, data) }, key, mac, log: recordingLog() },
  recordsOf: (operator) => [encode(operator)],
});
const bodyFor = (kind: "dispatch" | "stop", job: Job, peel: string) => {
  commands.send(kind, job, [peel]);
  const subject = `svc.job.${job.jid}.${kind}.${peel}`;
  return openCommand(sent.get(subject) ?? new Uint8Array(), { peel }, { keys: [key.publicKey], now: 0 }).body;
};

test("a command of a signed job carries the request, the records of its operator, and the proof of the peel", () => {
  const job = withJobMac(mac, signed);
  for (const peel of targets) {
    const body = bodyFor("dispatch", job, peel);
    const evidence = decodeEvidence(body);
    expect(Buffer.from(evidence?.request ?? []).equals(envelope)).toBe(true);
    expect(evidence?.records.map((bytes) => decode(bytes))).toEqual(["ann"]);
    expect(isProven(peel, evidence?.proof ?? [], merkleTree(targets).root)).toBe(true);
    // In the reply to a hello it is the same.
    const again = commands.sign("dispatch", job, peel) ?? new Uint8Array();
    expect(openCommand(again, { peel }, { keys: [key.publicKey], now: 0 }).body).toEqual(body);
  }
});

test("a command of a wave carries the proof among all peels of the rollout, and the agreements of others", () => {
  const all = ["db-1", "db-2", ...targets, "web-4"];
  const tree = merkleTree(all);
  const wave = ["web-1", "web-3"];
  const approvals = [{ operator: "ben", envelope: systemRandom(90) }];
  const request = { subject: "svc.rollout.start", envelope, approvals, part: tree.partOf(wave) };
  // As another master reads it.
  const job = decodeJob(encodeJob(withJobMac(mac, { ...bare, targets: wave, request })));
  for (const peel of wave) {
    const evidence = decodeEvidence(bodyFor("dispatch", job, peel));
    expect(isProven(peel, evidence?.proof ?? [], tree.root)).toBe(true);
    expect(evidence?.step).toBeUndefined();
    expect(evidence?.approvals?.map(({ request: agreed }) => Buffer.from(agreed).toString("hex"))).toEqual(
      approvals.map((one) => Buffer.from(one.envelope).toString("hex")),
    );
    expect(evidence?.approvals?.[0]?.records.map((bytes) => decode(bytes))).toEqual(["ben"]);
  }
  const check = withJobMac(mac, { ...bare, targets: wave, request: { ...request, step: "check" } });
  expect(decodeEvidence(bodyFor("dispatch", check, "web-1"))?.step).toBe("check");
  // What was changed on the bus is sent, and proves nothing.
  const changed = { ...request, part: { ...request.part, places: [0, 1] } };
  const body = bodyFor("dispatch", withJobMac(mac, { ...bare, targets: wave, request: changed }), "web-1");
  expect(isProven("web-1", decodeEvidence(body)?.proof ?? [], tree.root)).toBe(false);
  const endless = { ...request, part: { ...request.part, size: Number.POSITIVE_INFINITY } };
  expect(() => decodeJob(encodeJob({ ...bare, request: endless }))).toThrow();
});

test("a command of a job that nobody signed carries nothing more", () => {
  expect(bodyFor("dispatch", withJobMac(mac, bare), "web-1")).toEqual(Buffer.from(encodeCall(bare, "r-1")));
  const cancelled = withCancelMac(mac, withJobMac(mac, { ...bare, cancelledAt: 5, cancelledBy: "bob" }));
  expect(bodyFor("stop", cancelled, "web-1")).toEqual(Buffer.from(encodeStop(undefined)));
  expect(decodeEvidence(encodeCall(bare))).toBeUndefined();
  expect(decodeEvidence(new Uint8Array())).toBeUndefined();
});

test("a command to stop carries what was signed to stop it, and the records of its signer", () => {
  const cancelRequest = { subject: "svc.job.x.cancel", envelope: systemRandom(50) };
  const job = { ...signed, cancelledAt: 5, cancelledBy: "bob", cancelRequest };
  const evidence = decodeEvidence(bodyFor("stop", withCancelMac(mac, withJobMac(mac, job)), "web-1"));
  expect(Buffer.from(evidence?.request ?? []).equals(cancelRequest.envelope)).toBe(true);
  expect(evidence?.records.map((bytes) => decode(bytes))).toEqual(["bob"]);
  expect(evidence?.proof).toBeUndefined();
});

test("the record of a job keeps what was signed, and its MAC does not cover it", () => {
  const job = withJobMac(mac, signed);
  const stored = decodeJob(encodeJob(job));
  expect(stored.request?.subject).toBe("svc.job.request");
  expect(Buffer.from(stored.request?.envelope ?? []).equals(envelope)).toBe(true);
  const { request: _, ...bare } = stored;
  expect([isGenuineJob(mac, "dispatch", stored), isGenuineJob(mac, "dispatch", bare)]).toEqual([true, true]);
});

test("the digest of the targets is 32 bytes, or text over REST", () => {
  const { root } = merkleTree(targets);
  const read = (targets_digest: unknown) =>
    parse(jobRequestSchema, { fields: { target: "*", function: "test.ping", targets_digest } })
      .targets_digest;
  expect(Buffer.from(read(root) ?? []).equals(root)).toBe(true);
  expect(Buffer.from(read(Buffer.from(root).toString("hex")) ?? []).equals(root)).toBe(true);
  for (const wrong of [root.subarray(1), "00", Buffer.from(root).toString("base64"), 5, null, []]) {
    expect(() => read(wrong)).toThrow("targets_digest must be 32 bytes, or 64 hexadecimal digits");
  }
});
