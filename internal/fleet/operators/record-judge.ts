import type { Clock } from "../../base/clock.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { SignedOperatorRecord } from "../../wire/operator-record.ts";
import { chainAbove } from "../../wire/operator-standing.ts";
import type { Registry } from "./registry.ts";

/** More records than a fleet has operators, with those that were removed. */
const maxRemembered = 10_000;

/** Judges which records of operators are kept outside the bus. */
export interface RecordJudge {
  /** Takes a record that counted once: after a loss the record of its signer may be missing as well. */
  remember(stored: Uint8Array): void;
  /** Whether an administrator who counts signed it, or it counted once. */
  isGood(stored: Uint8Array, record: SignedOperatorRecord): boolean;
}

export function createRecordJudge({
  registry,
  clock,
}: {
  registry: Pick<Registry, "standing">;
  clock: Pick<Clock, "now">;
}): RecordJudge {
  const known = new Set<string>();
  const remember = (digest: string) => {
    if (known.size < maxRemembered) known.add(digest);
  };
  return {
    remember: (stored) => remember(sha256Hex(stored)),
    isGood(stored, record) {
      const digest = sha256Hex(stored);
      if (known.has(digest)) return true;
      const { standing } = registry;
      const isGood = standing.isSigned(record) && chainAbove(standing, record, clock.now()) !== undefined;
      if (isGood) remember(digest);
      return isGood;
    },
  };
}
