import { subscribe } from "../../base/subscribe.ts";
import type { FleetIndex } from "../../fleet/targeting/mod.ts";
import { readHeartbeat } from "../../wire/heartbeat.ts";
import type { Instance } from "../../wire/instance.ts";

/** @param storedAt when the bus stored the heartbeat, milliseconds since the Unix epoch */
type OnInstance = (peel: string, instance: Instance | undefined, storedAt: number) => void;

/** What the last heartbeats of peels say about the commands that they take. */
export interface Beats {
  /** The site whose commands a peel receives; `undefined` for a peel that receives its own commands alone. */
  siteOf(peel: string): string | undefined;
  /** Whether a peel obeys operators only, so that it runs released state files alone. */
  insists(peel: string): boolean;
  /** Calls `run` with the process that sent each heartbeat from now on. @returns a function that unsubscribes */
  onInstance(run: OnInstance): () => void;
  stop(): void;
}

/**
 * Follows which peels receive the commands for all peels of their site, and which obey operators only. Nothing depends
 * on the truth of it: a peel that claims the first and does not receive them gets its own command when it has not
 * accepted the first, and a peel decides by itself which files it runs.
 */
export function followBeats(index: Pick<FleetIndex, "onBeat">): Beats {
  const sites = new Map<string, string>();
  const insisting = new Set<string>();
  const listeners = new Set<OnInstance>();
  const stop = index.onBeat((peel, _, value, storedAt) => {
    const { site, administrators, instance } = readHeartbeat(value) ?? {};
    for (const run of listeners) run(peel, instance, storedAt);
    if (site === undefined) sites.delete(peel);
    else sites.set(peel, site);
    if (administrators === undefined) insisting.delete(peel);
    else insisting.add(peel);
  });
  return {
    siteOf: (peel) => sites.get(peel),
    insists: (peel) => insisting.has(peel),
    onInstance: (run) => subscribe(listeners, run),
    stop,
  };
}
