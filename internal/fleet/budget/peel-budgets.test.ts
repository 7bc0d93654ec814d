import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { loadMasterConfig } from "../../program/config/mod.ts";
import { type BudgetKind, createBudgets } from "./budgets.ts";
import { limitsOf } from "./peel-budgets.ts";

function defaults() {
  const invocation = loadMasterConfig([], {}, () => undefined);
  if (invocation.kind !== "run") throw new Error("the configuration does not run");
  return invocation.values;
}

function fresh() {
  const clock = manualClock();
  const refused: string[] = [];
  const budgets = createBudgets({
    limits: limitsOf(defaults()),
    onExceeded: (kind, peel) => refused.push(`${kind} of ${peel} refused`),
    onFlood: (peel, kind) => refused.push(`${kind} of ${peel} is a flood`),
    clock,
  });
  const send = (kind: BudgetKind, bytes: number, count = 1) => {
    for (let n = 0; n < count; n++) budgets.take("web-1", kind, bytes);
  };
  return { clock, refused, send, budgets };
}

test("a peel that runs 1,000 jobs a minute is never refused", () => {
  const { clock, refused, send } = fresh();
  for (let ms = 0; ms < 10 * 60_000; ms += 60) {
    send("messages", 200);
    send("messages", 4_000);
    if (ms % 10_020 === 0) send("heartbeats", 300);
    clock.advance(60);
  }
  expect(refused).toEqual([]);
});

test.each([
  ["facts", 1_000],
  ["events", 10_000],
] as const)("%s that come %i times within two seconds are a flood, and no sooner", (kind, atOnce) => {
  const { clock, refused, budgets } = fresh();
  const note = (count: number) => {
    for (let n = 0; n < count; n++) budgets.note("web-1", kind, 100);
  };
  note(atOnce - 1);
  clock.advance(2_000);
  note(atOnce - 1);
  expect(refused).toEqual([]);
  note(1);
  expect(refused).toEqual([`${kind} of web-1 is a flood`]);
});

test("a peel that fetches 20,000 state files as fast as it can is never refused", () => {
  const { refused, send } = fresh();
  send("hello", 100);
  // At most 256 digests fit into a request; large files need a request each.
  send("requests", 20_000, Math.ceil(20_000 / 256) + 1_000);
  expect(refused).toEqual([]);
});

// On a cluster, all that a peel sends to the storage also counts as relayed, and events and facts as they are sent.
function relayedTo({ budgets }: ReturnType<typeof fresh>, peel: string) {
  return {
    comeBack() {
      budgets.take(peel, "connections");
      budgets.take(peel, "hello", 100);
    },
    facts() {
      budgets.take(peel, "relayed", 50_000);
      budgets.note(peel, "facts", 50_000);
      budgets.pace(peel, "facts", 50_000);
    },
    beat() {
      budgets.take(peel, "relayed", 300);
      budgets.take(peel, "heartbeats", 300);
    },
    results(count: number) {
      for (let n = 0; n < count; n++) {
        budgets.take(peel, "relayed", 30_000);
        budgets.take(peel, "messages", 30_000);
      }
    },
    events(count: number) {
      for (let n = 0; n < count; n++) {
        budgets.take(peel, "relayed", 30_000);
        budgets.note(peel, "events", 30_000);
      }
    },
  };
}

test.each(["results", "events"] as const)(
  "a fleet that restarts with 1,000 %s in each outbox is neither refused nor taken for a flood",
  (waiting) => {
    const masters = fresh();
    for (let n = 0; n < 500; n++) {
      const peel = relayedTo(masters, `web-${n}`);
      peel.comeBack();
      peel.facts();
      peel.beat();
      peel[waiting](1_000);
    }
    expect(masters.refused).toEqual([]);
  },
);

test("a peel that loses its connection again and again is neither refused nor taken for a flood", () => {
  const masters = fresh();
  const peel = relayedTo(masters, "web-1");
  for (let ms = 0; ms < 10 * 60_000; ms += 2_000) {
    peel.comeBack();
    peel.facts();
    peel.beat();
    peel.results(16);
    peel.events(16);
    masters.clock.advance(2_000);
  }
  expect(masters.refused).toEqual([]);
});

test("what a peel repeated while the bus was frozen is not taken for a flood when all of it comes at once", () => {
  const masters = fresh();
  const peel = relayedTo(masters, "web-1");
  // It sends again 5 s after it sent first; a server that does not answer for four minutes has lost it.
  for (let n = 0; n < 240 / 5; n++) {
    peel.facts();
    peel.results(16);
    peel.events(16);
  }
  for (let n = 0; n < 240 / 10; n++) peel.beat();
  expect(masters.refused.filter((line) => line.endsWith("flood"))).toEqual([]);
});

test("a peel whose functions set facts all the time is neither refused nor taken for a flood", () => {
  const masters = fresh();
  const peel = relayedTo(masters, "web-1");
  for (let ms = 0; ms < 10 * 60_000; ms += 200) {
    peel.facts();
    masters.clock.advance(200);
  }
  expect(masters.refused).toEqual([]);
});
