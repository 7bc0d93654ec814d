import { describe, expect, test } from "bun:test";
import { headers, type Msg, type NatsConnection } from "nats";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { relayToStorage } from "./relay.ts";

const text = (value: string) => Buffer.from(value);

/** A relay on a bus that only takes notes. */
function startRelay({ within = true } = {}) {
  const clock = manualClock();
  const callbacks = new Map<string, (error: null, message: Msg) => void>();
  const stored: {
    subject: string;
    data: Uint8Array;
    headers: unknown;
    answer(reply: string | Error): void;
  }[] = [];
  const charged: unknown[] = [];
  const noted: unknown[] = [];
  const outcomes: string[] = [];
  const said: string[] = [];
  let frozenMs = 0;
  const nats = {
    subscribe(subject: string, { queue, callback }: { queue: string; callback: never }) {
      expect(queue).toBe("svc.masters");
      callbacks.set(subject, callback);
      return { drain: async () => void callbacks.delete(subject) };
    },
    request(subject: string, data: Uint8Array, options: { headers?: unknown }) {
      const { promise, resolve, reject } = Promise.withResolvers<{ data: Uint8Array }>();
      const answer = (reply: string | Error) =>
        reply instanceof Error ? reject(reply) : resolve({ data: text(reply) });
      stored.push({ subject, data, headers: options.headers, answer });
      return promise;
    },
  } as unknown as NatsConnection;
  const relay = relayToStorage({
    bus: { nats, clock, log: recordingLog() },
    budgets: {
      take(...charge) {
        charged.push(charge);
        return within;
      },
      note: (...one) => noted.push(one),
    },
    admits: ({ site, peel }) => site === undefined || peel.startsWith(site),
    lines: { say: (_, event, peel) => said.push(`${peel} ${event}`) },
    metrics: { relayed: (outcome) => outcomes.push(outcome) },
    clock: { ...clock, monotonic: () => clock.monotonic() + frozenMs },
  });
  return {
    stored,
    charged,
    noted,
    outcomes,
    said,
    clock,
    relay,
    patterns: () => [...callbacks.keys()],
    freeze(ms: number) {
      frozenMs += ms;
    },
    /** @returns the answers that the peel gets */
    send(pattern: string, subject: string, reply: string | undefined = "_R_.x.y", data = text("hi")) {
      const answers: string[] = [];
      const head = headers();
      head.set("Nats-Expected-Last-Msg-Id", "never");
      const respond = (data: Uint8Array) => answers.push(Buffer.from(data).toString()) > 0;
      const message = { subject, reply, data, headers: head, respond } as unknown as Msg;
      callbacks.get(pattern)?.(null, message);
      return answers;
    },
  };
}

describe("what peels send to the storage of a cluster", () => {
  test.each([
    ["svc.relay.$KV.peel-heartbeat.*", "$KV.peel-heartbeat.web-1"],
    ["svc.relay.$KV.facts.*", "$KV.facts.web-1"],
    ["svc.relay.svc.job.*.ack.*", "svc.job.job-1.ack.web-1"],
    ["svc.relay.svc.job.*.return.*", "svc.job.job-1.return.web-1"],
    ["svc.relay.svc.job.*.schedule.*", "svc.job.job-1.schedule.web-1"],
    ["svc.relay.svc.event.*.>", "svc.event.web-1.a.b"],
  ])("%s is stored without its headers, charged to its peel, and acknowledged", async (pattern, subject) => {
    const { send, stored, charged } = startRelay();
    const answers = send(pattern, `svc.relay.${subject}`);
    expect(stored).toMatchObject([{ subject, data: text("hi"), headers: undefined }]);
    expect(charged).toEqual([["web-1", "relayed", 2]]);
    stored[0]?.answer('{"seq":1}');
    await settle();
    expect(answers).toEqual(['{"seq":1}']);
  });

  test.each([
    ["svc.from.*.$KV.facts.*", "$KV.facts.web-1"],
    ["svc.from.*.svc.job.*.return.*", "svc.job.job-1.return.web-1"],
    ["svc.from.*.svc.event.*.>", "svc.event.web-1.a.b"],
  ])(
    "%s over the link of a site is stored for peels of that site, and costs others nothing",
    (pattern, subject) => {
      const { send, stored, charged } = startRelay();
      send(pattern, `svc.from.web.${subject}`);
      expect([stored, charged]).toMatchObject([[{ subject }], [["web-1", "relayed", 2]]]);
      send(pattern, `svc.from.db.${subject}`);
      expect([stored.length, charged.length]).toEqual([1, 1]);
    },
  );

  // Each master sees all events and facts that come over no link. What is stored is counted where it is read.
  test.each([
    ["$KV.facts.web-1", "svc.from.*.$KV.facts.*", "svc.from.web.", [["web-1", "facts", 2]]],
    ["svc.event.web-1.a", "svc.from.*.svc.event.*.>", "svc.from.web.", [["web-1", "events", 2]]],
    ["svc.job.j.return.web-1", "svc.from.*.svc.job.*.return.*", "svc.from.web.", []],
    ["$KV.facts.web-1", "svc.relay.$KV.facts.*", "svc.relay.", []],
    ["svc.event.web-1.a", "svc.relay.svc.event.*.>", "svc.relay.", []],
    ["svc.job.j.return.web-1", "svc.relay.svc.job.*.return.*", "svc.relay.", []],
  ])("%s from %s is demand here, unless it is counted elsewhere", (subject, pattern, prefix, expected) => {
    const { send, stored, noted } = startRelay();
    send(pattern, `${prefix}${subject}`);
    expect([stored.length, noted]).toEqual([1, expected]);
  });

  test.each([
    ["$KV.peel-heartbeat.web-1", "svc.relay.$KV.peel-heartbeat.*", "heartbeats"],
    ["$KV.compliance.web-1", "svc.relay.$KV.compliance.*", "reports"],
    ["$KV.compliance-diffs.web-1", "svc.relay.$KV.compliance-diffs.*", "reports"],
    ["svc.job.j.ack.web-1", "svc.relay.svc.job.*.ack.*", "messages"],
  ])("%s is demand for its budget also when it is dropped", (subject, pattern, kind) => {
    const beyond = startRelay({ within: false });
    beyond.send(pattern, `svc.relay.${subject}`);
    const unanswerable = startRelay();
    unanswerable.send(pattern, `svc.relay.${subject}`, "");
    const frozen = startRelay();
    frozen.freeze(4_000);
    frozen.send(pattern, `svc.relay.${subject}`, "");
    const foreign = startRelay();
    foreign.send(pattern.replace("svc.relay", "svc.from.*"), `svc.from.db.${subject}`, "");
    const noted = [beyond, unanswerable, frozen, foreign].map((relay) => relay.noted);
    expect(noted).toEqual([[["web-1", kind, 2]], [["web-1", kind, 2]], [], []]);
  });

  test("is not acknowledged when the storage does not answer: the peel sends it again", async () => {
    const { send, stored } = startRelay();
    const answers = send("svc.relay.$KV.facts.*", "svc.relay.$KV.facts.web-1");
    stored[0]?.answer(new Error("TIMEOUT"));
    await settle();
    expect(answers).toEqual([]);
  });

  test.each([undefined, "svc.job.request", "$KV.enrollments.x"])(
    "is dropped with the reply subject %s",
    (reply) => {
      const { send, stored } = startRelay();
      send("svc.relay.$KV.facts.*", "svc.relay.$KV.facts.web-1", reply ?? "");
      expect(stored).toEqual([]);
    },
  );

  test("is dropped beyond the budget of the peel", () => {
    const { send, stored } = startRelay({ within: false });
    send("svc.relay.$KV.facts.*", "svc.relay.$KV.facts.web-1");
    expect(stored).toEqual([]);
  });

  test("is dropped when it waited in a frozen master", () => {
    const { send, stored, freeze, clock } = startRelay();
    freeze(4_000);
    send("svc.relay.$KV.facts.*", "svc.relay.$KV.facts.web-1");
    expect(stored).toEqual([]);
    clock.advance(2_000);
    send("svc.relay.$KV.facts.*", "svc.relay.$KV.facts.web-1");
    expect(stored).toHaveLength(1);
  });

  const facts = "svc.relay.$KV.facts.*";
  const sendFacts = (relay: ReturnType<typeof startRelay>, peel: string, bytes: number, times = 1) => {
    const data = Buffer.alloc(bytes);
    for (let sent = 0; sent < times; sent++)
      relay.send(facts, `svc.relay.$KV.facts.${peel}`, undefined, data);
  };
  const bytesOf = ({ stored }: ReturnType<typeof startRelay>) =>
    stored.reduce((total, { data }) => total + data.length, 0);
  const mebibyte = 1024 * 1024;

  test("is dropped while the storage owes many answers to its peel, and others are served", async () => {
    const relay = startRelay();
    sendFacts(relay, "web-1", 2, 15_000);
    expect(relay.stored).toHaveLength(64);
    expect(new Set(relay.said)).toEqual(
      new Set(["web-1 message of a peel not relayed: too much waits for the storage"]),
    );
    sendFacts(relay, "web-2", 2);
    expect(relay.stored).toHaveLength(65);
    relay.stored[0]?.answer("{}");
    await settle();
    sendFacts(relay, "web-1", 2, 2);
    expect(relay.stored).toHaveLength(66);
    // All of it was charged, so that a flood is seen.
    expect(relay.charged).toHaveLength(15_003);
    expect(relay.outcomes.filter((outcome) => outcome !== "full")).toEqual(["answered"]);
  });

  test("waits for the storage in bounded memory, of one peel and of all", () => {
    const relay = startRelay();
    sendFacts(relay, "web-1", mebibyte, 6);
    expect(bytesOf(relay)).toBe(4 * mebibyte);
    for (let peel = 2; peel <= 40; peel++) sendFacts(relay, `web-${peel}`, mebibyte, 6);
    expect(bytesOf(relay)).toBe(128 * mebibyte);
    const many = startRelay();
    for (let peel = 0; peel < 300; peel++) sendFacts(many, `web-${peel}`, 1, 64);
    expect(many.stored).toHaveLength(16_384);
  });

  test("is counted by what became of it", async () => {
    const relay = startRelay();
    sendFacts(relay, "web-1", 2, 2);
    relay.stored[0]?.answer("{}");
    relay.stored[1]?.answer(new Error("TIMEOUT"));
    await settle();
    relay.freeze(4_000);
    sendFacts(relay, "web-1", 2);
    expect(relay.outcomes).toEqual(["answered", "unanswered", "late"]);
  });

  test("goes to other masters when this one stops, which finishes what it took", async () => {
    const relay = startRelay();
    expect(relay.patterns()).toHaveLength(16);
    const answers = relay.send(facts, "svc.relay.$KV.facts.web-1");
    let isStopped = false;
    const stopping = relay.relay.stop().then(() => {
      isStopped = true;
    });
    await settle();
    expect([relay.patterns(), isStopped]).toEqual([[], false]);
    relay.stored[0]?.answer('{"seq":1}');
    await stopping;
    expect(answers).toEqual(['{"seq":1}']);
    expect(relay.clock.pending).toBe(0);
  });

  test("does not keep a master that stops waiting for a storage that is away", async () => {
    const relay = startRelay();
    sendFacts(relay, "web-1", 2);
    await relay.clock.until(relay.relay.stop(), 5_000);
    expect(relay.clock.pending).toBe(0);
  });
});
