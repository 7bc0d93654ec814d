import { describeError, SvcError } from "../../base/errors.ts";
import type { Environment, Publisher } from "../../tree/publication/mod.ts";
import type { Decision, Refusal } from "./decide.ts";

/** What was decided, and what follows from releases. */
type Steps = Pick<Decision, "publish" | "unchanged" | "offer"> & {
  /** Stored snapshots that come into force, by environment. */
  restore: ReadonlyMap<string, string>;
  /** Environments whose candidates stay as they are. */
  waiting: readonly string[];
};

/**
 * Publishes what was decided, one environment after the other: `base` does not wait for others, and one that does not
 * fit, or whose files cannot be read, stays out alone.
 *
 * @param held snapshots that stay readable although newer ones have replaced them
 * @returns the environments that changed, and those that stay as they are because of a failure
 * @throws SvcError `conflict` when another master took over; the first failure when nothing could be published
 */
export async function bringIntoForce(
  publisher: Publisher,
  { publish, unchanged, offer, restore, waiting }: Steps,
  held: ReadonlySet<string>,
): Promise<{ changed: readonly string[]; refusals: readonly Refusal[] }> {
  const stays = new Set([...unchanged, ...publish.map(({ name }) => name), ...restore.keys()]);
  const waits = [...waiting, ...offer.map(({ name }) => name)];
  const changed: string[] = [];
  const failures: { environment: Environment; thrown: unknown }[] = [];
  const attempt = async (part: { publish?: readonly Environment[]; offer?: readonly Environment[] }) => {
    const names = new Set(part.publish?.map(({ name }) => name));
    const others = publisher.environments().filter((name) => stays.has(name) && !names.has(name));
    const more = { offer: part.offer ?? [], waiting: waits, restore };
    changed.push(...(await publisher.publish(part.publish ?? [], others, held, more)).changed);
  };
  const steps = [
    ...publish.map((environment) => ({ environment, part: { publish: [environment] } })),
    ...offer.map((environment) => ({ environment, part: { offer: [environment] } })),
  ];
  // What is stored comes into force at once, whatever becomes of the rest.
  if (restore.size > 0) await attempt({});
  for (const { environment, part } of steps) {
    try {
      await attempt(part);
    } catch (thrown) {
      if (thrown instanceof SvcError && thrown.kind === "conflict") throw thrown;
      failures.push({ environment, thrown });
    }
  }
  if (failures.length > 0 && failures.length === steps.length) throw failures[0]?.thrown;
  // Environments that are gone go also when nothing else changes, and so does what nobody needs any more.
  if (steps.length === 0 || publisher.environments().some((name) => !stays.has(name))) await attempt({});
  const refusals = failures.map(({ environment, thrown }) => ({
    environment: environment.name,
    stage: "gitfs",
    reason: `not published: ${describeError(thrown)}`,
  }));
  return { changed, refusals };
}
