import { describe, expect, test } from "bun:test";
import { encode, type Plain } from "../../../base/msgpack.ts";
import type { DeliveredMessage } from "../../../bus/streams/consumer.ts";
import { encodePeelEvent, encodeServiceEvent } from "../../../wire/peel-event.ts";
import { encodeScheduledRun } from "../../../wire/scheduled-run.ts";
import { type Enrollment, encodeRecord } from "../../enrollment/record/record.ts";
import { encodeJob, type Job } from "../../jobs/records/record.ts";
import { createJobLookup } from "./job-lookup.ts";
import { type Reading, readEnrollment, readEvent, readReturn, readScheduled } from "./read-event.ts";

const at = Date.UTC(2026, 0, 1);
const jid = `job-${"0".repeat(26)}1`;
const result = {
  success: true,
  retcode: 0,
  return: 1,
  started_at: "2026-01-01T00:00:00.000Z",
  duration_ms: 1,
};

const message = (subject: string, data: Uint8Array): DeliveredMessage => ({
  subject,
  data,
  storedAt: at,
  sequence: 7,
  deliveries: 1,
});
const causeOf = (reading: Reading) =>
  reading !== undefined && "dropped" in reading ? reading.dropped : reading;
const eventOf = (reading: Reading) => (reading !== undefined && "event" in reading ? reading.event : reading);

describe("an event of a peel", () => {
  test("gets its tag and source from its subject, and always depth 0", () => {
    const data = encode({ data: { percent: 91 }, depth: -5, source: "other", tag: "x" });
    expect(eventOf(readEvent(message("svc.event.web1.disk.full", data)))).toEqual({
      id: "events:7",
      tag: "disk/full",
      source: "web1",
      origin: "peel",
      at,
      depth: 0,
      data: { percent: 91 },
    });
  });

  test("that is sent again has the same, unique id", () => {
    const data = encodePeelEvent({ data: {}, id: "abc" });
    const idOf = (peel: string) =>
      (eventOf(readEvent(message(`svc.event.${peel}.x`, data))) as { id: string }).id;
    expect([idOf("web1"), idOf("web2")]).toEqual(["peel:web1:abc", "peel:web2:abc"]);
    const claimed = encodePeelEvent({ data: {}, id: "7" });
    expect(eventOf(readEvent(message("svc.event.events.x", claimed)))).toMatchObject({ id: "peel:events:7" });
  });

  test("cannot split its tag with characters in a token", () => {
    const data = encodePeelEvent({ data: {} });
    expect(eventOf(readEvent(message("svc.event.web1.svc/peel/web2.lost", data)))).toMatchObject({
      tag: "svc_peel_web2/lost",
      origin: "peel",
    });
  });

  test.each<[string, string, Uint8Array]>([
    ["no MessagePack", "svc.event.web1.x", Buffer.from("text")],
    ["a list", "svc.event.web1.x", encode([1])],
    ["data that is not a map", "svc.event.web1.x", encode({ data: 5 })],
    ["a long id", "svc.event.web1.x", encode({ id: "x".repeat(65) })],
    ["no tag", "svc.event.web1", encode({})],
    ["a source that is not a peel", "svc.event._other.x", encode({})],
    ["a long tag", `svc.event.web1.${"x".repeat(513)}`, encode({})],
    ["many segments", `svc.event.web1${".x".repeat(33)}`, encode({})],
  ])("with %s is malformed", (_, subject, data) => {
    expect(causeOf(readEvent(message(subject, data)))).toBe("malformed");
  });
});

test("an event of the service contains its depth and its subject", () => {
  const data = encodeServiceEvent({ data: { revision: 3 }, source: "web1", depth: 2 });
  expect(eventOf(readEvent(message("svc.event._master.svc.peel.web1.lost", data)))).toMatchObject({
    tag: "svc/peel/web1/lost",
    source: "web1",
    origin: "service",
    depth: 2,
  });
  expect(causeOf(readEvent(message("svc.event._master.x", encode({ data: {} }))))).toBe("malformed");
});

describe("the return of a job", () => {
  const job: Job = {
    jid,
    function: "test.ping",
    args: {},
    targets: ["web1"],
    metadata: { reactor: { rule: "r", event: "e", depth: 1 }, ticket: 5 },
    timeoutMs: 1,
    createdAt: at,
    createdBy: "ann",
    deadline: at + 1,
  };
  const lookup = (metadata: Record<string, Plain> = job.metadata) => {
    let requested = 0;
    const jobOf = createJobLookup({
      async get(key) {
        requested++;
        if (key !== jid) return undefined;
        return { key, value: encodeJob({ ...job, metadata }), revision: 1, storedAt: at };
      },
    });
    return { jobOf, requested: () => requested };
  };
  const returned = (subject: string, value: unknown = result) => message(subject, encode(value));

  test("contains the data of the job, one step deeper than its reaction", async () => {
    const { jobOf, requested } = lookup();
    const read = await readReturn(returned(`svc.job.${jid}.return.web1`), jobOf);
    expect(eventOf(read)).toEqual({
      id: `return:${jid}:web1`,
      tag: `svc/job/${jid}/return/web1`,
      source: "web1",
      origin: "service",
      at,
      depth: 2,
      data: {
        jid,
        peel: "web1",
        peel_id: "web1",
        function: "test.ping",
        success: true,
        retcode: 0,
        outcome: "ok",
        return: 1,
        metadata: job.metadata,
        created_by: "ann",
      },
    });
    await readReturn(returned(`svc.job.${jid}.return.web1`), jobOf);
    expect(requested()).toBe(1);
  });

  test.each<[unknown, number]>([
    [undefined, 0],
    [null, 0],
    ["deep", 0],
    [{ depth: "1" }, 0],
    [{ depth: -1 }, 0],
    [{ depth: 1.5 }, 0],
    [{ depth: 0 }, 1],
  ])("with %j of a reactor in the metadata has depth %i", async (reactor, depth) => {
    const { jobOf } = lookup(reactor === undefined ? {} : { reactor: reactor as Plain });
    expect(eventOf(await readReturn(returned(`svc.job.${jid}.return.web1`), jobOf))).toMatchObject({ depth });
  });

  test("that is large is omitted from the event", async () => {
    const large = { ...result, return: "x".repeat(65 * 1024), error: "e".repeat(5_000) };
    const read = await readReturn(returned(`svc.job.${jid}.return.web1`, large), lookup().jobOf);
    const { data } = eventOf(read) as { data: Record<string, Plain> };
    expect(data).toMatchObject({ return_omitted: true, success: true, error: "e".repeat(4_096) });
    expect(data).not.toHaveProperty("return");
  });

  test("of another peel or an unknown job is forged; other bytes are malformed", async () => {
    const { jobOf } = lookup();
    const cause = async (subject: string, value?: unknown) =>
      causeOf(await readReturn(returned(subject, value), jobOf));
    expect(await cause(`svc.job.${jid}.return.web2`)).toBe("forged");
    expect(await cause(`svc.job.job-${"1".repeat(27)}.return.web1`)).toBe("forged");
    expect(await cause(`svc.job.${jid}.return.web1`, { success: 1 })).toBe("malformed");
    expect(await cause("svc.job.x.return.web1")).toBe("malformed");
  });

  test("is redelivered when the job lookup fails, and is looked up again", async () => {
    let broken = true;
    const { jobOf } = lookup();
    const sometimes = createJobLookup({
      get: async (key) => {
        if (broken) throw new Error("away");
        return { key, value: encodeJob(job), revision: 1, storedAt: at };
      },
    });
    const subject = `svc.job.${jid}.return.web1`;
    await expect(readReturn(returned(subject), sometimes)).rejects.toThrow("away");
    broken = false;
    expect(await readReturn(returned(subject), sometimes)).toEqual(
      await readReturn(returned(subject), jobOf),
    );
  });
});

test("the result of a schedule has its entry in the tag, and other bytes are malformed", () => {
  const run = { schedule: "nightly run", call: { function: "test.ping", args: {} }, result };
  const subject = `svc.job.${jid}.schedule.web1`;
  expect(eventOf(readScheduled(message(subject, encodeScheduledRun(run))))).toMatchObject({
    id: `schedule:${jid}:web1`,
    tag: "svc/schedule/nightly_run/web1",
    source: "web1",
    depth: 0,
    data: { schedule: "nightly run", function: "test.ping", success: true, outcome: "ok" },
  });
  expect(causeOf(readScheduled(message(subject, encode(result))))).toBe("malformed");
});

describe("a stored enrollment", () => {
  const record: Enrollment = {
    id: `enr-${"0".repeat(27)}`,
    peelId: "web1",
    publicKey: "U",
    curvePublicKey: "X",
    hostname: "h",
    metadata: { os: "linux" },
    state: "pending",
    trustedCaSpki: "sha256:00",
    trustMismatch: true,
    createdAt: at - 5,
    updatedAt: at,
  };
  const read = (value: Enrollment) => readEnrollment(message("$KV.enrollments.x", encodeRecord(value)), {});

  test("that is pending is an event with its creation time and the data for a decision", () => {
    expect(eventOf(read(record))).toEqual({
      id: record.id,
      tag: "svc/enrollment/created",
      source: "web1",
      origin: "service",
      at: at - 5,
      depth: 0,
      data: { id: record.id, peel_id: "web1", hostname: "h", trust: "MISMATCH!", metadata: { os: "linux" } },
    });
  });

  test("that was decided or removed is ignored; other bytes are malformed", () => {
    expect(read({ ...record, state: "approved" })).toBeUndefined();
    expect(readEnrollment(message("$KV.enrollments.x", new Uint8Array()), {})).toBeUndefined();
    expect(causeOf(readEnrollment(message("$KV.enrollments.x", encode({ a: 1 })), {}))).toBe("malformed");
  });
});
