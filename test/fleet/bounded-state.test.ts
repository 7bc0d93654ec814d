import { expect, test } from "bun:test";
import fc from "fast-check";
import { createLog } from "../../internal/base/log.ts";
import type { Budget } from "../../internal/base/meter.ts";
import type { Change, Entry } from "../../internal/bus/storage/entry.ts";
import { type BudgetKind, budgetKinds, createBudgets } from "../../internal/fleet/budget/budgets.ts";
import { createLogLines } from "../../internal/fleet/budget/log-lines.ts";
import { paceOf, paceWatch } from "../../internal/fleet/budget/pace-watch.ts";
import { createEarlyEvents } from "../../internal/fleet/jobs/early-events.ts";
import { manualClock } from "../harness/clock.ts";

// Whatever peels send, in whatever order: what a master keeps of it in memory, and writes into its log, stays
// within bounds that follow from the number of peels and the time, not from the number of messages.

const peels = 3;
const budget: Budget = { perMinute: 60, burst: 5 };
const linesPerMinute = 10;
const kibibyte = 1024;

const message = fc.record({
  kind: fc.constantFrom(...budgetKinds),
  peel: fc.nat(peels - 1),
  jid: fc.string({ maxLength: 2_000 }),
  bytes: fc.nat(1_000_000),
  success: fc.boolean(),
  /** Sent so many times in a row. */
  times: fc.integer({ min: 1, max: 300 }),
  /** Milliseconds to the next. */
  pause: fc.nat(5_000),
});

test("no sequence of messages makes a master keep more than its bound", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 60 }), async (messages) => {
      const clock = manualClock();
      const began = clock.monotonic();
      let lines = 0;
      let passed = 0;
      let reported = 0;
      let revision = 0;
      const log = createLog({ level: "debug", format: "json", clock, write: () => lines++ });
      const said = createLogLines(linesPerMinute, clock, log);
      const early = createEarlyEvents(clock);
      const limits = Object.fromEntries(budgetKinds.map((kind) => [kind, budget]));
      const budgets = createBudgets({
        limits: limits as Record<BudgetKind, Budget>,
        onExceeded: (kind, peel) => said.say("warn", kind, peel),
        onFlood: (peel, kind) => said.say("error", `flood ${kind}`, peel),
        clock,
      });
      let change = (_: Change) => {};
      const stored = new Map<string, Entry>();
      const watched = {
        get: async (key: string) => stored.get(key),
        watch(run: (change: Change) => void) {
          change = run;
          return { ready: Promise.resolve(), caughtUp: () => Promise.resolve(), stop: () => {} };
        },
      };
      const pace = paceWatch(watched, paceOf(budgets, "facts"), clock);
      const watch = pace.watch(() => reported++);
      await watch.ready;

      for (const { kind, peel: number, jid, bytes, success, times, pause } of messages) {
        const peel = `peel-${number}`;
        for (let time = 0; time < times; time++) {
          if (kind === "facts") {
            const entry = {
              key: peel,
              revision: ++revision,
              storedAt: 0,
              value: new Uint8Array(bytes % kibibyte),
            };
            stored.set(peel, entry);
            change(entry);
            continue;
          }
          if (!budgets.take(peel, kind, bytes)) continue;
          passed++;
          const returned = { success, retcode: 0, return: jid, started_at: "", duration_ms: 1 };
          early.retain({ jid: `${jid}${time}`, peel, at: 0, return: returned });
        }
        expect(early.bytes).toBeLessThanOrEqual(peels * 64 * kibibyte);
        // What waits to be reported has one timer for all of it, and its value stays in the bucket.
        expect(clock.pending).toBeLessThanOrEqual(2);
        await clock.pass(pause);
      }
      const minutes = (clock.monotonic() - began) / 60_000;
      const meters = peels * budgetKinds.length;
      expect(passed).toBeLessThanOrEqual(meters * (5 + 60 * minutes) + 1e-6);
      expect(reported).toBeLessThanOrEqual(peels * (5 + 60 * minutes) + 1e-6);
      // Two causes for each meter, and one line with a count.
      expect(lines).toBeLessThanOrEqual(2 * meters * (linesPerMinute + 1) * (1 + minutes));
      watch.stop();
      said.stop();
      expect(clock.pending).toBe(0);
    }),
    { numRuns: 60 },
  );
});
