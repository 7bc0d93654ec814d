import { createBoundedMap } from "../../base/bounded-map.ts";
import { SvcError } from "../../base/errors.ts";
import type { CompareFiles } from "../../fleet/approvals/mod.ts";

/** Candidates are few, and each is compared with what is in force. */
const maxRemembered = 1_024;

/** How many files of a snapshot differ from those of another one. */
interface Changes {
  added: number;
  changed: number;
  removed: number;
}

/** @returns `undefined` when files cannot be compared in time, or are no longer stored */
export type CountChanges = (
  of: { before: string | undefined; after: string },
  budget: Parameters<CompareFiles>[1],
) => Promise<Changes | undefined>;

/** Counts what differs between snapshots, each pair once. */
export function countChanges(compare: CompareFiles): CountChanges {
  const known = createBoundedMap<Changes>(maxRemembered);
  return async ({ before, after }, budget) => {
    const pair = `${before ?? "nothing"} ${after}`;
    const counted = known.get(pair);
    if (counted !== undefined) return counted;
    try {
      const { added, changed, removed } = await compare({ before, after, withText: false }, budget);
      return known.set(pair, { added, changed, removed });
    } catch (thrown) {
      if (thrown instanceof SvcError) return undefined;
      throw thrown;
    }
  };
}
