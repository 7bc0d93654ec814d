import { expect, test } from "bun:test";
import { systemRandom } from "../../base/id.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import type { Tracer } from "../../base/trace.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { decodeCall, decodeEvidence, encodeCall, readTrace } from "../../wire/call.ts";
import { decodeJob, encodeJob, type Job } from "./records/record.ts";
import { isGenuineJob, withJobMac } from "./records/record-mac.ts";
import { traceReturn } from "./trace-return.ts";

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const mac = createRecordMac(newKeyPair("account", systemRandom));
const job: Job = withJobMac(mac, {
  ...{ jid: "job-3MPFSICSuHM6n9ASVzK0s68GQu3", function: "test.ping", args: {}, targets: ["web-1"] },
  ...{ metadata: {}, timeoutMs: 1_000, createdAt: 0, createdBy: "ann", deadline: 1_000 },
});
const fieldsOf = (bytes: Uint8Array) => decode(bytes) as Record<string, Plain>;

test("a command has its trace, which is neither the call nor evidence", () => {
  const body = encodeCall(job, "r-1", undefined, traceparent);
  expect(readTrace(body)).toBe(traceparent);
  expect(decodeCall(body)).toEqual({ function: "test.ping", args: {} });
  expect(decodeEvidence(body)).toBeUndefined();
  // Without a trace, a command says nothing of one.
  expect(Object.keys(fieldsOf(encodeCall(job, "r-1")))).toEqual(["function", "args", "request_id"]);
});

test.each([
  ["a number", 5],
  ["a text", "x"],
  ["a huge text", `${traceparent}-${"x".repeat(10_000)}`],
  ["a list", [traceparent]],
])("%s in place of a trace counts as none, and the rest stays valid", (_, hostile) => {
  expect(readTrace(encode({ function: "test.ping", args: {}, traceparent: hostile }))).toBeUndefined();
  const stored = encode({ ...fieldsOf(encodeJob(job)), traceparent: hostile });
  expect(decodeJob(stored)).toEqual(decodeJob(encodeJob(job)));
  expect(isGenuineJob(mac, "dispatch", decodeJob(stored))).toBe(true);
});

test("junk has no trace", () => {
  for (const bytes of [new Uint8Array([0xc1]), encode(null), encode([traceparent])]) {
    expect(readTrace(bytes)).toBeUndefined();
  }
});

test("the record of a job keeps its trace, and is as genuine with it as without", () => {
  const stored = decodeJob(encodeJob({ ...job, traceparent }));
  expect(stored.traceparent).toBe(traceparent);
  expect(isGenuineJob(mac, "dispatch", stored)).toBe(true);
  expect("traceparent" in decodeJob(encodeJob(job))).toBe(false);
});

test("a return is shown in the trace of its job, with how it ended and nothing of what it says", () => {
  const begun: [string, unknown][] = [];
  const tracer: Tracer = {
    begin(name, options) {
      begun.push([name, options]);
      return { begin: () => tracer.begin(name), set: () => {}, end: () => {} };
    },
  };
  const ended = { success: false, retcode: 1, return: "secret", started_at: "", duration_ms: 5 };
  const event = { jid: job.jid, peel: "web-1", at: 9, return: ended };
  traceReturn(tracer, undefined, event);
  traceReturn(tracer, traceparent, event);
  traceReturn(tracer, traceparent, { ...event, return: { ...ended, outcome: "timeout" } });
  const about = (outcome: string) => ({
    ...{ kind: "consumer", startedAt: 9, parent: traceparent },
    attributes: { "svc.jid": job.jid, "svc.peel": "web-1", "svc.outcome": outcome },
  });
  expect(begun).toEqual([
    ["return", about("failed")],
    ["return", about("timeout")],
  ]);
});
