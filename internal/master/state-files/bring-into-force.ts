import { describeError, SvcError } from "../../base/errors.ts";
import type { Environment, Publisher } from "../../tree/publication/mod.ts";
import type { Decision, Refusal } from "./decide.ts";

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
  { publish, unchanged }: Pick<Decision, "publish" | "unchanged">,
  held: ReadonlySet<string>,
): Promise<{ changed: readonly string[]; refusals: readonly Refusal[] }> {
  const stays = new Set([...unchanged, ...publish.map(({ name }) => name)]);
  const changed: string[] = [];
  const failures: { environment: Environment; thrown: unknown }[] = [];
  const attempt = async (environments: readonly Environment[]) => {
    const names = environments.map(({ name }) => name);
    const others = publisher.environments().filter((name) => stays.has(name) && !names.includes(name));
    changed.push(...(await publisher.publish(environments, others, held)).changed);
  };
  for (const environment of publish) {
    try {
      await attempt([environment]);
    } catch (thrown) {
      if (thrown instanceof SvcError && thrown.kind === "conflict") throw thrown;
      failures.push({ environment, thrown });
    }
  }
  if (failures.length > 0 && failures.length === publish.length) throw failures[0]?.thrown;
  // Environments that are gone go also when nothing else changes, and so does what nobody needs any more.
  if (publish.length === 0 || publisher.environments().some((name) => !stays.has(name))) await attempt([]);
  const refusals = failures.map(({ environment, thrown }) => ({
    environment: environment.name,
    stage: "gitfs",
    reason: `not published: ${describeError(thrown)}`,
  }));
  return { changed, refusals };
}
