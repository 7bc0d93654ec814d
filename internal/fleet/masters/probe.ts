import { SvcError } from "../../base/errors.ts";
import {
  type AssetName,
  fullest,
  inspectAssets,
  inspectFullness,
  maxReplicas,
  type Probed,
  probeStorage,
} from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";

const answerMs = 2_000;
/** All that answer use the same key: one value is kept. */
const key = "svc";

/** What a fleet cannot do without. */
const essential = [
  "master-heartbeat",
  "enrollments",
  "jobs",
  "facts",
  "peel-heartbeat",
  "revocations",
  "leases",
] as const satisfies readonly AssetName[];
const filled: readonly AssetName[] = [...essential, "rollouts", "job-events"];

/** What was found out about the storage of the bus. */
export interface StorageProbe {
  missing: string[];
  count: number;
  problem?: string;
  full?: { message: string; refuses: boolean };
  replicas: number;
  stored_at?: number;
}

/**
 * Writes and reads a value, and looks for what is missing or full.
 *
 * @throws SvcError `unavailable` when JetStream does not answer
 */
export async function probe(bus: Bus, probed: Probed): Promise<StorageProbe> {
  const states = await inspectAssets(bus, essential);
  const [written, fullness, replicas] = await Promise.all([
    probeStorage(bus, probed, key, answerMs).then(({ storedAt }) => ({ stored_at: storedAt }), problemOf),
    inspectFullness(bus, filled, answerMs),
    maxReplicas(bus, essential),
  ]);
  const worst = fullest(fullness);
  return {
    missing: essential.filter((name) => states.get(name) === "missing"),
    count: essential.length,
    ...written,
    ...(worst === undefined ? {} : { full: { message: worst.message, refuses: worst.full } }),
    replicas,
  };
}

function problemOf(thrown: unknown): { problem: string } {
  if (thrown instanceof SvcError) return { problem: thrown.message };
  throw thrown;
}
