import { seeded } from "../harness/seeded.ts";

/** What can be broken. */
export const faultKinds = [
  "kill bus",
  "kill master",
  "kill peels",
  "freeze bus",
  "freeze master",
  "freeze peels",
  "cut off bus",
  "cut off master",
  "split cluster",
  "flapping link",
  "full disk",
  "slow disk",
  "wrong clock",
  "damaged journal",
  "damaged block",
  "rolling restart",
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** One fault as it was drawn; how it is done is in faults.ts. */
export interface Fault {
  readonly kind: FaultKind;
  /** Numbers in [0, 1) that select the victim and the place of the damage. */
  readonly victim: number;
  readonly place: number;
  /** How long it stays. */
  readonly ms: number;
  /** By how much a wrong clock is ahead, or behind. */
  readonly offsetSeconds: number;
}

const offsets = [10, 120, -120, 200 * 86_400] as const;

/**
 * Draws faults without end: the same seed and kinds give the same faults. Each kind comes once before any comes again, so
 * that a short run has many kinds.
 */
export function* drawFaults(seed: number, kinds: readonly FaultKind[]): Generator<Fault, never> {
  const random = seeded(seed);
  for (;;) {
    const bag = [...kinds];
    while (bag.length > 0) {
      const [kind] = bag.splice(Math.floor(random() * bag.length), 1);
      const [victim, place, length, offset] = [random(), random(), random(), random()];
      if (kind === undefined) continue;
      const offsetSeconds = offsets[Math.floor(offset * offsets.length)] ?? offsets[0];
      yield { kind, victim, place, ms: 4_000 + Math.floor(length * 8_000), offsetSeconds };
    }
  }
}
