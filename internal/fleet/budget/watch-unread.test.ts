import { expect, test } from "bun:test";
import type { Bus } from "../../bus/connection/mod.ts";
import { watchUnread } from "./watch-unread.ts";

/** A bus that only takes notes. */
function start(isRelayed: boolean) {
  const callbacks = new Map<string, (error: null, message: object) => void>();
  const noted: unknown[] = [];
  let relayed = isRelayed;
  let serving = true;
  let late = false;
  const bus = {
    nats: {
      subscribe(subject: string, { queue, callback }: { queue?: string; callback: never }) {
        // Each master counts all of it.
        expect(queue).toBeUndefined();
        callbacks.set(subject, callback);
        return { unsubscribe: () => callbacks.delete(subject) };
      },
    },
    serve(subject: string, _queue: string, answer: (data: Uint8Array, subject: string) => Uint8Array) {
      callbacks.set(subject, (_, message) => {
        const { data, subject: sent } = message as { data: Uint8Array; subject: string };
        answer(data, sent);
      });
      return {
        stop() {
          serving = false;
        },
      };
    },
  } as unknown as Pick<Bus, "nats" | "log" | "serve">;
  const watch = watchUnread({
    bus,
    budgets: { note: (...one) => noted.push(one) },
    relayed: () => relayed,
    isLate: () => late,
  });
  return {
    ...{ watch, noted },
    get patterns() {
      return [...callbacks.keys()];
    },
    get serving() {
      return serving;
    },
    become(now: boolean) {
      relayed = now;
    },
    thaw() {
      late = true;
    },
    /** @returns what this message was counted as */
    send(pattern: string, subject: string) {
      const before = noted.length;
      callbacks.get(pattern)?.(null, { subject, data: new Uint8Array(3) });
      return noted.slice(before);
    },
  };
}

const events = ["svc.event.*.>", "svc.event.web-1.a.b"] as const;
const facts = ["$KV.facts.*", "$KV.facts.web-1"] as const;
const through = ([pattern, subject]: readonly [string, string]) =>
  [`svc.relay.${pattern}`, `svc.relay.${subject}`] as const;

test("events and facts are counted once, where the peel sent them", () => {
  const unread = start(false);
  const { send, become } = unread;
  expect([send(...events), send(...facts)]).toEqual([[["web-1", "events", 3]], [["web-1", "facts", 3]]]);
  become(true);
  // The relay has stored them.
  expect([send(...events), send(...facts)]).toEqual([[], []]);
  expect(send(...through(events))).toEqual([["web-1", "events", 3]]);
  expect(send(...through(facts))).toEqual([["web-1", "facts", 3]]);
});

test("what waited while this master was frozen is not counted", () => {
  for (const isRelayed of [false, true]) {
    const { send, thaw } = start(isRelayed);
    thaw();
    const sent = [send(...events), send(...facts), send(...through(events)), send(...through(facts))];
    expect(sent).toEqual([[], [], [], []]);
  }
});

test("progress and differences are counted too, and nothing is when it has stopped", () => {
  const unread = start(true);
  expect(unread.send("svc.job.*.progress.*", "svc.job.j.progress.web-1")).toEqual([["web-1", "progress", 3]]);
  expect(unread.send("$KV.compliance-diffs.*", "$KV.compliance-diffs.web-1")).toEqual([
    ["web-1", "reports", 3],
  ]);
  unread.watch.stop();
  expect([unread.patterns, unread.serving]).toEqual([["svc.job.*.progress.*"], false]);
});
