import { expect, test } from "bun:test";
import { runShortLives } from "../identities/short-lives.ts";

// Longer than a lifetime: without renewals, no peel would be connected at the end. make identities runs more
// peels for longer.

const peels = 5;

test("peels whose credentials last a minute stay connected, while the bus and a master are killed", async () => {
  const verdict = await runShortLives({
    peels,
    lengthMs: 72_000,
    faults: [
      { atMs: 12_000, victim: "bus", downMs: 2_000 },
      { atMs: 40_000, victim: "first master", downMs: 3_000 },
    ],
  });
  expect(verdict).toMatchObject({ wrong: [] });
  expect(verdict.renewals + verdict.recoveries).toBeGreaterThanOrEqual(peels);
  expect(verdict.outcomes.ok ?? 0).toBeGreaterThan(peels * 60);
}, 180_000);
