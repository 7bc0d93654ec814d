import { expect, test } from "bun:test";
import { createOwnRecords } from "./own-records.ts";
import { decodeJob, encodeJob, type Job } from "./record.ts";

const job: Job = {
  jid: "job-1",
  function: "cmd.run",
  args: { command: "true", list: [1, null, { deep: new Uint8Array([1]) }] },
  target: "web-*",
  targets: ["web-1", "web-2"],
  metadata: { ticket: "x" },
  timeoutMs: 60_000,
  createdAt: 1_000,
  createdBy: "ann",
  source: "operator",
  request: {
    subject: "svc.job.request",
    envelope: new Uint8Array([1, 2]),
    approvals: [{ operator: "bob", envelope: new Uint8Array([3]) }],
    part: { size: 3, places: [0, 2], beside: [new Uint8Array(32)] },
  },
  voucher: new Uint8Array(32).fill(7),
  deadline: 61_000,
  settled: {
    status: "failed",
    counts: { ok: 1, failed: 1 },
    finishedAt: 2_000,
    offline: [],
    places: { failed: [1] },
  },
};

test("a record that was written here is read back as the job that it is, once", () => {
  const records = createOwnRecords();
  const bytes = records.encode(job);
  expect(records.decode(job.jid, Uint8Array.from(bytes))).toBe(job);
  const decoded = records.decode(job.jid, bytes);
  expect(decoded).not.toBe(job);
  expect(Object.keys(decoded).toSorted()).toEqual(Object.keys(job).toSorted());
  expect(encodeJob(decoded)).toEqual(bytes);
});

test("a record that another one has changed is decoded, and so is one that was written before the last", () => {
  const records = createOwnRecords();
  const changed = { ...job, function: "test.ping" };
  const first = records.encode(job);
  const other = encodeJob({ ...job, createdBy: "mallory" });
  expect(records.decode(job.jid, other).createdBy).toBe("mallory");
  records.encode(changed);
  expect(records.decode(job.jid, first)).not.toBe(job);
  expect(records.decode(job.jid, encodeJob(changed))).toBe(changed);
});

test("records that no watch shows are forgotten, and decoded when one does", () => {
  const records = createOwnRecords();
  const large = (jid: string): Job => ({ ...job, jid, args: { text: "x".repeat(4 * 1024 * 1024) } });
  const first = records.encode(large("job-a"));
  for (const jid of ["job-b", "job-c", "job-d", "job-e"]) records.encode(large(jid));
  expect(records.decode("job-a", first)).toEqual(decodeJob(first));
});
