import { describe, expect, test } from "bun:test";
import { headers, type Msg, type NatsConnection } from "nats";
import { manualClock, settle } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
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
  let frozenMs = 0;
  const nats = {
    subscribe(subject: string, { queue, callback }: { queue: string; callback: never }) {
      expect(queue).toBe("svc.masters");
      callbacks.set(subject, callback);
      return { unsubscribe: () => callbacks.delete(subject) };
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
    bus: { nats, log: recordingLog() },
    budgets: {
      take(...charge) {
        charged.push(charge);
        return within;
      },
    },
    clock: { ...clock, monotonic: () => clock.monotonic() + frozenMs },
  });
  return {
    stored,
    charged,
    clock,
    relay,
    patterns: () => [...callbacks.keys()],
    freeze(ms: number) {
      frozenMs += ms;
    },
    /** @returns the answers that the peel gets */
    send(pattern: string, subject: string, reply: string | undefined = "_R_.x.y") {
      const answers: string[] = [];
      const head = headers();
      head.set("Nats-Expected-Last-Msg-Id", "never");
      const respond = (data: Uint8Array) => answers.push(Buffer.from(data).toString()) > 0;
      const message = { subject, reply, data: text("hi"), headers: head, respond } as unknown as Msg;
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

  test("is dropped while the storage owes many answers", async () => {
    const { send, stored } = startRelay();
    for (let sent = 0; sent < 16_385; sent++) send("svc.relay.$KV.facts.*", "svc.relay.$KV.facts.web-1");
    expect(stored).toHaveLength(16_384);
    stored[0]?.answer("{}");
    await settle();
    send("svc.relay.$KV.facts.*", "svc.relay.$KV.facts.web-1");
    expect(stored).toHaveLength(16_385);
  });

  test("goes to other masters when this one stops", () => {
    const { relay, patterns, clock } = startRelay();
    expect(patterns()).toHaveLength(6);
    relay.stop();
    expect(patterns()).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
