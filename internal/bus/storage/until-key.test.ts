import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import type { Bus } from "../connection/connect.ts";
import { type KeyCheck, untilKey } from "./until-key.ts";

/** A bus that the test controls. */
function setup() {
  const callbacks = new Set<() => void>();
  const onReconnect = new Set<() => void>();
  const subjects: string[] = [];
  const clock = manualClock();
  const bus = {
    clock,
    nats: {
      subscribe(subject: string, { callback }: { callback: () => void }) {
        subjects.push(subject);
        callbacks.add(callback);
        return { unsubscribe: () => callbacks.delete(callback) };
      },
      flush: async () => {},
    },
    onReconnect(run: () => void) {
      onReconnect.add(run);
      return () => onReconnect.delete(run);
    },
  } as unknown as Pick<Bus, "nats" | "onReconnect" | "clock">;
  const stop = new AbortController();
  const checks: boolean[] = [];
  const next = { check: async (): Promise<KeyCheck<string>> => ({}) };
  const found = untilKey(bus, { bucket: "jobs", key: "j", signal: stop.signal }, (isLate) => {
    checks.push(isLate);
    return next.check();
  });
  found.catch(() => {});
  const change = async () => {
    for (const run of callbacks) run();
    await settle();
  };
  const reconnect = async () => {
    for (const run of onReconnect) run();
    await settle();
  };
  const followers = () => callbacks.size + onReconnect.size;
  return { clock, stop, checks, next, found, change, reconnect, subjects, followers };
}

test("looks at the start, after each change and when the bus is back, until there is a result", async () => {
  const { checks, next, found, change, reconnect, subjects, followers } = setup();
  await settle();
  expect([subjects, checks.length]).toEqual([["$KV.jobs.j"], 1]);
  await change();
  await reconnect();
  expect([checks.length, followers()]).toEqual([3, 2]);
  next.check = async () => ({ found: "the end" });
  await change();
  expect([await found, followers()]).toEqual(["the end", 0]);
});

test("a change in the middle of a look leads to another one", async () => {
  const { checks, next, change } = setup();
  const slow = Promise.withResolvers<KeyCheck<string>>();
  next.check = () => slow.promise;
  await settle();
  await change();
  expect(checks).toHaveLength(1);
  slow.resolve({});
  await settle();
  expect(checks).toHaveLength(2);
});

test("a change that is reported before it is stored is found anyway", async () => {
  const { clock, checks, next, found, change } = setup();
  await settle();
  await change();
  expect(checks).toHaveLength(2);
  // Only now it is stored; nothing reports it again.
  next.check = async () => ({ found: "the end" });
  clock.advance(20);
  await settle();
  expect([checks.length, await found, clock.pending]).toEqual([3, "the end", 0]);
});

test("a read that requests another one gets it when nothing changed, and learns that", async () => {
  const { clock, checks, next, reconnect } = setup();
  next.check = async () => ({ again: (run) => clock.after(1_000, run) });
  await settle();
  clock.advance(999);
  await reconnect();
  clock.advance(999);
  await settle();
  expect([checks, clock.pending]).toEqual([[false, false], 1]);
  clock.advance(1);
  await settle();
  expect(checks).toEqual([false, false, true]);
});

test("ends with the reason of the signal, also during a check", async () => {
  for (const isSlow of [false, true]) {
    const { stop, next, found, followers } = setup();
    const slow = Promise.withResolvers<KeyCheck<string>>();
    if (isSlow) next.check = () => slow.promise;
    await settle();
    stop.abort(new Error("nobody waits any more"));
    slow.resolve({});
    await expect(found).rejects.toThrow("nobody waits any more");
    expect(followers()).toBe(0);
  }
});
