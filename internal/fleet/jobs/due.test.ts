import { expect, test } from "bun:test";
import { judgeDue } from "./due.ts";
import type { Outcome } from "./records/mod.ts";

/** What is known of a target: its outcome, whether it accepted the job, and since when it is away. */
type Target = [Outcome, "accepted" | "silent", ("connected" | number)?];

test.each<[string, Target[], { complete: boolean; isDue: boolean; away: [string, number | undefined][] }]>([
  ["no targets", [], { complete: true, isDue: true, away: [] }],
  [
    "all ended",
    [
      ["ok", "accepted"],
      ["failed", "silent", 5],
    ],
    { complete: true, isDue: true, away: [] },
  ],
  ["offline", [["offline", "silent", 5]], { complete: true, isDue: true, away: [] }],
  [
    "one that is connected",
    [
      ["ok", "accepted"],
      ["pending", "silent", "connected"],
    ],
    { complete: false, isDue: false, away: [] },
  ],
  [
    "one that is away",
    [
      ["ok", "accepted"],
      ["pending", "silent", 5],
    ],
    { complete: false, isDue: true, away: [["p1", 5]] },
  ],
  [
    "one that was never there",
    [["pending", "silent"]],
    { complete: false, isDue: true, away: [["p0", undefined]] },
  ],
  [
    "one that is away and works on it",
    [["pending", "accepted", 5]],
    { complete: false, isDue: false, away: [] },
  ],
  [
    "one of each",
    [
      ["pending", "silent", 5],
      ["pending", "silent", "connected"],
      ["ok", "accepted"],
    ],
    { complete: false, isDue: false, away: [["p0", 5]] },
  ],
  [
    "a failure and one that is away",
    [
      ["failed", "accepted"],
      ["pending", "silent", 7],
    ],
    { complete: false, isDue: true, away: [["p1", 7]] },
  ],
])("of %s", (_, targets, expected) => {
  const of = (peel: string) => targets[Number(peel.slice(1))] ?? ["ok", "silent"];
  const due = judgeDue(
    targets.map(([outcome], i) => [`p${i}`, outcome] as const),
    (peel) => ({ acknowledged: of(peel)[1] === "accepted" }),
    (peel) => {
      const since = of(peel)[2];
      if (since === "connected") return { connected: true };
      return { connected: false, ...(since === undefined ? {} : { since }) };
    },
  );
  expect({ ...due, away: [...due.away] }).toEqual(expected);
});
