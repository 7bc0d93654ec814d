import { SvcError } from "../../base/errors.ts";
import type { Catalog } from "../../tree/files/mod.ts";
import type { Content } from "../../wire/content.ts";
import type { NamedSnapshots } from "./held-snapshots.ts";

const base = "base";
/** Earlier files of one environment, and those of all but `base` together, that something unfinished may name. */
export const maxHeld = { ofOne: 100, ofOthers: 1_000 } as const;

/**
 * Whether one more request may use the files of an environment. What has not ended keeps its files readable, however many
 * newer ones there are: pushes and work that never ends, again and again, would fill the storage of
 * the bus. `base` has room of its own, so that a branch cannot stop it.
 *
 * @throws SvcError `conflict`
 */
export async function assertRoom(
  { held }: Pick<Catalog, "held">,
  { environment, snapshot }: Pick<Content, "environment" | "snapshot">,
  named: NamedSnapshots,
): Promise<void> {
  const own = snapshotsOf(held, (name) => name === environment);
  const others = environment === base ? new Set<string>() : snapshotsOf(held, (name) => name !== base);
  if (own.size < maxHeld.ofOne && others.size < maxHeld.ofOthers) return;
  // What was replaced a moment ago is held as well, whether or not something names it.
  const needed = await named();
  if (needed?.has(snapshot)) return;
  const count = (held: ReadonlySet<string>) =>
    needed === undefined ? held.size : [...held].filter((one) => needed.has(one)).length;
  if (count(own) >= maxHeld.ofOne) throw tooMany(maxHeld.ofOne, environment);
  if (count(others) >= maxHeld.ofOthers)
    throw tooMany(maxHeld.ofOthers, `the environments other than ${base}`);
}

function snapshotsOf(held: Catalog["held"], isMeant: (environment: string) => boolean): Set<string> {
  const lists = [...held].flatMap(([name, list]) => (isMeant(name) ? list : []));
  return new Set(lists.map(({ snapshot }) => snapshot));
}

function tooMany(count: number, of: string): SvcError {
  return new SvcError(
    "conflict",
    `nothing was started: jobs, rollouts and requests that have not ended name ${count} earlier versions of the state files of ${of}; cancel those that nobody needs (svc job list --status running, svc rollout list, svc approval list)`,
  );
}
