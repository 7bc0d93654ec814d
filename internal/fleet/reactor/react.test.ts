import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { SvcError } from "../../base/errors.ts";
import { createSlots } from "../../base/slots.ts";
import type { Event } from "./events/event.ts";
import { createLimits } from "./limits.ts";
import { createMatcher } from "./match.ts";
import type { Performance } from "./perform.ts";
import { createReactor, maxDeliveries } from "./react.ts";
import type { Action, Rule } from "./rules/rule.ts";

const emit = (tag: string): Action => ({ kind: "emit", tag, data: {} });
const rule = (name: string, ...actions: Action[]): Rule => ({
  name,
  match: ["disk/*"],
  when: [],
  actions,
  file: "rules.yaml",
  at: { line: 1, column: 1 },
});
const clock = manualClock();
const event = (id: string, more: Partial<Event> = {}): Event => ({
  id,
  tag: "disk/full",
  source: "web1",
  origin: "peel",
  at: clock.now(),
  depth: 0,
  data: {},
  ...more,
});

function setup(rules: readonly Rule[], { enableChaining = true, workers = 2, stormRate = 0 } = {}) {
  const counts: Record<string, number> = {};
  const count = (name: string, by = 1) => {
    counts[name] = (counts[name] ?? 0) + by;
  };
  const performed: string[] = [];
  const firings: string[] = [];
  const state = { held: true, fail: (_: Performance): Promise<void> => Promise.resolve() };
  const limits = createLimits({
    maxChainDepth: 3,
    enableChaining,
    defaultThrottleMs: 0,
    sourceRateLimit: 0,
    maxEventAgeMs: 0,
    stormRate,
    breakerCooldownMs: 60_000,
    clock,
  });
  const matcher = createMatcher(rules);
  const stopping = new AbortController();
  const reactor = createReactor({
    limits,
    matcher: () => matcher,
    async perform(doing) {
      performed.push(`${doing.rule}/${doing.index} of ${doing.event.id}`);
      await state.fail(doing);
    },
    pool: createSlots({ atOnce: workers }),
    assertTenure() {
      if (!state.held) throw new SvcError("conflict", "over");
    },
    signal: stopping.signal,
    onFired: (rule) => void firings.push(rule),
    metrics: {
      reactorDropped: (cause) => count(cause),
      reactorFired: (name) => count(`fires ${name}`),
      reactorAction: (kind, result) => count(`${kind} ${result}`),
      reactorRepeated: () => count("repeated"),
      reactorReacted: () => {},
    },
    now: clock.now,
    log: recordingLog(),
  });
  return { reactor, counts, performed, firings, state, stopping };
}

test("each rule that matches fires once, its actions in their order", async () => {
  const { reactor, counts, performed } = setup([rule("a", emit("x"), emit("y")), rule("b", emit("z"))]);
  await reactor.handle(event("1"), 1);
  expect(performed.filter((one) => one.startsWith("a"))).toEqual(["a/0 of 1", "a/1 of 1"]);
  expect(counts).toEqual({ "fires a": 1, "fires b": 1, "emit ok": 3 });
});

test("a redelivered event in progress is waited for, and a finished one has no effect", async () => {
  const { reactor, counts, performed, state } = setup([rule("a", emit("x"))]);
  const gate = Promise.withResolvers<void>();
  state.fail = () => gate.promise;
  const first = reactor.handle(event("1"), 1);
  const second = reactor.handle(event("1"), 2);
  await settle();
  gate.resolve();
  await Promise.all([first, second]);
  await reactor.handle(event("1"), 3);
  expect(performed).toEqual(["a/0 of 1"]);
  expect(counts).toEqual({ "fires a": 1, "emit ok": 1, repeated: 2 });
});

test("an unfinished event is redelivered, and only its unfinished actions are repeated", async () => {
  const { reactor, counts, performed, firings, state } = setup([rule("a", emit("x"), emit("y"))]);
  state.fail = ({ index }) =>
    index === 1 ? Promise.reject(new SvcError("storage", "away")) : Promise.resolve();
  await expect(reactor.handle(event("1"), 1)).rejects.toThrow("are not finished yet");
  state.fail = () => Promise.resolve();
  await reactor.handle(event("1"), 2);
  expect(performed).toEqual(["a/0 of 1", "a/1 of 1", "a/1 of 1"]);
  expect(counts).toEqual({ "fires a": 1, "emit ok": 2, "emit again": 1 });
  // For people as for the metric: once for each event.
  expect(firings).toEqual(["a"]);
});

test("a permanent error is counted, and the following actions are performed", async () => {
  const { reactor, counts, state } = setup([rule("a", emit("x"), emit("y"))]);
  state.fail = ({ index }) =>
    index === 0 ? Promise.reject(new SvcError("not_found", "no peel")) : Promise.resolve();
  await reactor.handle(event("1"), 1);
  expect(counts).toEqual({ "fires a": 1, "emit failed": 1, "emit ok": 1 });
});

test("a webhook that failed is over, whatever was wrong", async () => {
  const { reactor, counts, state } = setup([rule("a", { kind: "webhook", url: "https://h/" })]);
  state.fail = () => Promise.reject(new SvcError("unavailable", "no answer"));
  await reactor.handle(event("1"), 1);
  expect(counts).toEqual({ "fires a": 1, "webhook failed": 1 });
});

test("after the tenure nothing is started, and the event is redelivered to the next holder", async () => {
  const { reactor, performed, state, counts } = setup([rule("a", emit("x"), emit("y"))]);
  state.fail = async () => {
    state.held = false;
  };
  await expect(reactor.handle(event("1"), 1)).rejects.toThrow("over");
  await expect(reactor.handle(event("2"), 1)).rejects.toThrow("over");
  expect(performed).toEqual(["a/0 of 1"]);
  expect(counts["fires a"]).toBe(1);
});

test("every event and every fire that is dropped is counted under its cause", async () => {
  const { reactor, counts } = setup([rule("a", emit("x"))], { stormRate: 2 });
  for (let n = 0; n < 5; n++) await reactor.handle(event(`e${n}`), 1);
  await reactor.handle(event("deep", { depth: 4 }), 1);
  await reactor.handle(event("forged", { tag: "svc/x" }), 1);
  await reactor.handle(event("forged", { tag: "svc/x" }), 2);
  await reactor.handle(event("often"), maxDeliveries + 1);
  expect(counts).toEqual({
    "fires a": 2,
    "emit ok": 2,
    breaker_open: 3,
    chain_depth: 1,
    forged: 1,
    given_up: 1,
    repeated: 1,
  });
});

test("without chaining an emit is refused, and the other actions are performed", async () => {
  const hook: Action = { kind: "webhook", url: "https://h/" };
  const { reactor, counts, performed } = setup([rule("a", emit("x"), hook)], { enableChaining: false });
  await reactor.handle(event("1"), 1);
  expect(counts).toEqual({ "fires a": 1, chaining_disabled: 1, "webhook ok": 1 });
  expect(performed).toEqual(["a/1 of 1"]);
});

test("no more actions than there are workers are done at a time", async () => {
  const { reactor, performed, state } = setup([rule("a", emit("x"))], { workers: 2 });
  const gates: (() => void)[] = [];
  state.fail = () => new Promise((resolve) => gates.push(resolve));
  const all = Promise.all(["1", "2", "3", "4"].map((id) => reactor.handle(event(id), 1)));
  await settle();
  expect(performed).toHaveLength(2);
  gates.shift()?.();
  await settle();
  expect(performed).toHaveLength(3);
  while (gates.length > 0) {
    gates.shift()?.();
    await settle();
  }
  await all;
  expect(performed).toHaveLength(4);
});

test("a report of masters is nothing to a reactor without a rule for it, and an event like others with one", async () => {
  const report = (id: string) =>
    event(id, { tag: "svc/job/job-1/ended", source: "_master", origin: "service", depth: 9 });
  const without = setup([rule("clean", emit("cleaned"))]);
  await without.reactor.handle(report("a"), 1);
  expect(without.counts).toEqual({});
  const chasing = setup([{ ...rule("chase", emit("chased")), match: ["svc/job/*/ended"] }]);
  await chasing.reactor.handle(report("a"), 1);
  await chasing.reactor.handle({ ...report("b"), depth: 0 }, 1);
  expect(chasing.counts).toMatchObject({ chain_depth: 1, "fires chase": 1 });
});
