import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { encode } from "../../base/msgpack.ts";
import { provision } from "../../bus/assets/assets.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { returnSubject } from "../../bus/subjects/subjects.ts";
import { eventStream } from "../../doors/rest/stream.ts";
import type { FeedSink } from "../operation/feed.ts";
import type { JobEvent } from "./events.ts";
import { readEvents } from "./read-events.ts";
import type { Job } from "./records/record.ts";
import { createRelay, type Relay } from "./relay.ts";

let bus: TestBus;
let master: Bus;

beforeAll(async () => {
  bus = await startBus();
  master = await connectTo(bus, "master");
  await provision(master, { replicas: 1, onlyRaise: true }, recordingLog());
});
afterAll(async () => {
  await master?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

const large = 200_000;
const count = 60;
const peels = Array.from({ length: count }, (_, at) => `web-${at}`);
const clock = manualClock();
const job: Job = {
  ...{ jid: `job-${"7".repeat(27)}`, function: "cmd.run", args: {}, targets: peels, metadata: {} },
  ...{ timeoutMs: 60_000, createdAt: 0, createdBy: "ann", deadline: Number.MAX_SAFE_INTEGER },
};
const valueFrom = (peel: string) => `${peel} `.repeat(large / 7).slice(0, large);
const returned = (peel: string) =>
  encode({ success: true, retcode: 0, started_at: "", duration_ms: 1, return: valueFrom(peel) });
const news = (event: JobEvent) => ({ targets: count, counts: {}, event });

/** A stream of REST whose client has not read anything yet. */
function openStream(onBroken: (reason: unknown) => void = () => {}, withSealed?: true) {
  const sent: string[] = [];
  const reread = new Set<string>();
  const request: Bus["nats"]["request"] = (subject, data = "", ...rest) => {
    const [, peel] = /return\.(web-\d+)/.exec(`${subject} ${Buffer.from(data)}`) ?? [];
    if (peel !== undefined) reread.add(peel);
    return master.nats.request(subject, data, ...rest);
  };
  const counting = { ...master, nats: Object.create(master.nats, { request: { value: request } }) };
  let relay: Relay | undefined;
  let sink: FeedSink | undefined;
  const leaving = new AbortController();
  const response = eventStream({
    ...{ clock, signal: leaving.signal, heartbeatMs: 30_000, maxDurationMs: 30 * 60_000 },
    start(found) {
      const send: FeedSink["send"] = (event, data) => {
        sent.push(event);
        found.send(event, data);
      };
      sink = { ...found, send };
      const options = { bus: counting, sink, signal: leaving.signal, only: undefined, onBroken };
      relay = createRelay(job, { ...options, ...(withSealed && { withSealed }) });
      return () => leaving.abort();
    },
  });
  if (relay === undefined || sink === undefined) throw new Error("not started");
  return { response, relay, sink, sent, reread };
}

test("a client that reads nothing costs little, and gets every return whole when it reads on", async () => {
  for (const peel of peels) await master.nats.request(returnSubject(job.jid, peel), returned(peel));
  const events: JobEvent[] = [];
  await readEvents(master, job, (event) => events.push(event));
  expect(events).toHaveLength(count);
  const { response, relay, sink, sent, reread } = openStream();
  for (const event of events.splice(0)) relay.pass(news(event));
  for (let at = 0; at < 1_000; at++) {
    const output = { peel: "web-0", output: "x".repeat(4_000), skipped: 0 };
    relay.pass({ targets: count, counts: {}, output });
  }
  // Two returns fill what the door keeps; the others wait.
  expect(sent.length).toBeLessThan(4);
  const settled = relay.settle().then(() => sink.close());
  const text = await response.text();
  await settled;
  const values = [...text.matchAll(/"peel":"(web-\d+)".*"return":"([^"]*)"/g)];
  expect(values.map(([, peel = ""]) => peel).sort()).toEqual(peels.toSorted());
  expect(values.filter(([, peel = "", value]) => value !== valueFrom(peel))).toEqual([]);
  expect(text).not.toContain('"truncated"');
  // What was not read from the bus again had waited in memory, and of what was written meanwhile nothing is left.
  expect((count - reread.size) * large).toBeLessThan(5 * 1024 * 1024);
  expect(sent.filter((event) => event === "output")).toEqual([]);
});

test("what a return hides goes to the one who can open it, also where it was read again", async () => {
  const sealedJob = "sealed-";
  const value = {
    ...{ success: true, retcode: 0, started_at: "", duration_ms: 1, return: valueFrom("web-0") },
    sealed: Buffer.from(sealedJob.repeat(4)),
  };
  const text = Buffer.from(value.sealed).toString("base64");
  for (const withSealed of [undefined, true] as const) {
    const { response, relay, sink } = openStream(undefined, withSealed);
    for (let at = 0; at < 3; at++) relay.pass(news({ jid: job.jid, peel: "web-0", at: 0, return: value }));
    const settled = relay.settle().then(() => sink.close());
    const read = await response.text();
    await settled;
    expect(read.split(`"sealed":"${text}"`)).toHaveLength(withSealed ? 4 : 1);
    expect(read).not.toContain(sealedJob);
    expect(read.includes('"sealed"')).toBe(withSealed === true);
  }
});

test("a return that is no longer stored is said to be cut", async () => {
  const { response, relay, sink } = openStream();
  for (const at of Array(40).keys()) {
    const value = { success: true, retcode: 0, started_at: "", duration_ms: 1, return: valueFrom("gone") };
    relay.pass(news({ jid: job.jid, peel: `gone-${at}`, at: 0, return: value }));
  }
  const settled = relay.settle().then(() => sink.close());
  const text = await response.text();
  await settled;
  expect(text.match(/event: return/g)).toHaveLength(40);
  expect(text.match(/"truncated":true/g)?.length).toBeGreaterThan(0);
});

test("a client that takes nothing for a minute is given up", async () => {
  const broken: unknown[] = [];
  const { relay } = openStream((reason) => broken.push(reason));
  for (const peel of ["web-0", "web-1", "web-2", "web-3"]) {
    const value = { success: true, retcode: 0, started_at: "", duration_ms: 1, return: valueFrom(peel) };
    relay.pass(news({ jid: job.jid, peel, at: 0, return: value }));
  }
  const settled = relay.settle();
  clock.advance(60_001);
  await expect(settled).rejects.toThrow("the client reads too slowly");
  expect(broken).toHaveLength(1);
});
