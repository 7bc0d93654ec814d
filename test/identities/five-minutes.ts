import { expect, test } from "bun:test";
import { systemRandom } from "../../internal/base/id.ts";
import { seeded } from "../harness/seeded.ts";
import { type Fault, runShortLives } from "./short-lives.ts";

// Five lifetimes of 20 peels, with a fault every 8 to 20 seconds. SEED repeats the faults of a run.

const peels = 20;
const lengthMs = 300_000;
const seed = Number(process.env.SEED ?? Buffer.from(systemRandom(4)).readUInt32LE());
const victims = ["bus", "first master", "second master"] as const;

/** Draws faults; the last one is over before the end. One master always runs. */
function drawFaults(random: () => number): Fault[] {
  const faults: Fault[] = [];
  for (let atMs = 8_000; atMs < lengthMs - 30_000; atMs += 8_000 + random() * 12_000) {
    const victim = victims[Math.floor(random() * victims.length)] ?? "bus";
    faults.push({ atMs, victim, downMs: 500 + random() * 4_000 });
  }
  return faults;
}

test(`20 peels for five minutes of credentials that last one (SEED=${seed})`, async () => {
  const faults = drawFaults(seeded(seed));
  const verdict = await runShortLives({ peels, lengthMs, faults });
  process.stdout.write(`SEED=${seed}, ${faults.length} faults: ${JSON.stringify(verdict)}\n`);
  expect(verdict).toMatchObject({ wrong: [] });
  // About one every 40 s.
  expect(verdict.renewals + verdict.recoveries).toBeGreaterThan(peels * 5);
}, 600_000);
