import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import { encode } from "../../base/msgpack.ts";
import { createRecordMac, newKeyPair } from "../../identity/mod.ts";
import { decodeCall, encodeCall } from "../../wire/call.ts";
import { signRequest } from "../../wire/signed-request.ts";
import { dispatchJob } from "./dispatch.ts";
import { createOwnRecords } from "./records/own-records.ts";
import { decodeJob } from "./records/record.ts";

test("a signed request that a second master takes is the same job, also after its record was deleted", async () => {
  const clock = manualClock();
  const jobs = memoryBucket();
  const account = newKeyPair("account", systemRandom);
  const sent: string[] = [];
  const subject = "svc.job.request";
  const request = { body: encode({}), operator: "ann", sentAt: clock.now(), nonce: systemRandom(16) };
  const envelope = signRequest(subject, request, newKeyPair("user", systemRandom));
  const master = () => ({
    ...{
      jobs,
      records: createOwnRecords(),
      clock,
      random: systemRandom,
      log: recordingLog(),
      mac: createRecordMac(account),
    },
    ...{ resolve: async () => ["web-1"], alive: () => true, own() {}, metrics: { jobDispatched() {} } },
    send: (_: unknown, { jid }: { jid: string }) => void sent.push(jid),
    signed: { envelope, subject },
  });
  const run = (on: ReturnType<typeof master>) =>
    dispatchJob(on, { target: "web-1", function: "test.ping" }, "ann");
  const { job } = await run(master());
  clock.advance(5_000);
  expect((await run(master())).job.jid).toBe(job.jid);
  // It is there, so nothing is sent again.
  expect(sent).toEqual([job.jid]);
  const { revision = 0 } = (await jobs.get(job.jid)) ?? {};
  await jobs.remove(job.jid, revision);
  expect((await run(master())).job.jid).toBe(job.jid);
  expect(sent).toEqual([job.jid, job.jid]);
  const unsigned = await dispatchJob(
    { ...master(), signed: undefined as never },
    { target: "web-1", function: "test.ping" },
    "ann",
  );
  expect(unsigned.job.jid).not.toBe(job.jid);
});

test("the output of more than 16 peels cannot be followed, and of fewer it is asked for", async () => {
  const clock = manualClock();
  const jobs = memoryBucket();
  const follow = (count: number) =>
    dispatchJob(
      {
        ...{
          jobs,
          records: createOwnRecords(),
          clock,
          random: systemRandom,
          log: recordingLog(),
          alive: () => true,
          own() {},
          send() {},
        },
        mac: createRecordMac(newKeyPair("account", systemRandom)),
        resolve: async () => Array.from({ length: count }, (_, i) => `web-${i + 10}`),
        metrics: { jobDispatched() {} },
      },
      { target: "web-*", function: "test.ping", follow: true },
      "ann",
    );
  await expect(follow(17)).rejects.toThrow("follow: 17 peels match");
  expect(await jobs.entries()).toEqual([]);
  const { job } = await follow(16);
  expect(decodeCall(encodeCall(job))).toEqual({ function: "test.ping", args: {}, follow: true });
  const stored = await jobs.get(job.jid);
  expect(decodeJob(stored?.value ?? new Uint8Array())).toMatchObject({ follow: true, source: "operator" });
});
