import * as v from "valibot";
import { isPeelId } from "../../base/names/peel-id.ts";
import { described } from "../../base/schema.ts";
import type { Directory } from "../enrollment/store/mod.ts";
import { type Call, limitField } from "../operation/mod.ts";
import type { FleetIndex, Resolver } from "../targeting/mod.ts";
import { assertIndexed } from "./assert-indexed.ts";

/** Peels on one page, at most. */
export const maxPeels = 1_000;

/** The field that chooses peels; all of them unless given. */
export const targetField = v.optional(
  described(v.string(), "Which peels, as an expression: `web*`, `G@os:linux`"),
  "*",
);

/** The fields that choose a page of peels. */
export const peelPageFields = {
  target: targetField,
  limit: limitField(maxPeels),
  cursor: v.optional(
    described(
      v.pipe(v.string(), v.check(isPeelId, "must be the value that the previous page returned")),
      "Where the page starts, from the previous page",
    ),
  ),
};

/** Where the peels of a target are known, and which facts about them. */
export interface FoundDeps {
  directory: Pick<Directory, "members">;
  index: Pick<FleetIndex, "factsOf" | "caughtUp" | "running">;
  resolver: Pick<Resolver, "resolve">;
}

/**
 * The peels of a target, once a master has seen everything that was stored before.
 *
 * @returns sorted encoded ids
 * @throws SvcError `bad_request` for the target; `unavailable` while the fleet is not read
 */
export async function peelsOf({ index, resolver }: FoundDeps, target: string): Promise<string[]> {
  assertIndexed(index);
  const [found] = await Promise.all([
    resolver.resolve({ expression: target }),
    index.caughtUp({ facts: true, heartbeats: true }),
  ]);
  return found;
}

/**
 * One page of the peels of a target. It can be shorter than the limit, but it has one item when there is one:
 * otherwise a list would never end.
 *
 * @param show the item of a peel; `undefined` when it left the fleet a moment ago
 * @throws SvcError as `peelsOf`
 */
export async function pageOfPeels<Item extends { peel_id: string }>(
  deps: FoundDeps,
  { target, limit, cursor = "" }: { target: string; limit: number; cursor?: string | undefined },
  { answerBytes = Number.POSITIVE_INFINITY }: Pick<Call, "answerBytes">,
  show: (peelId: string) => Item | undefined,
): Promise<{ items: Item[]; next?: string }> {
  const found = await peelsOf(deps, target);
  const from = found.findIndex((peelId) => peelId > cursor);
  const items: Item[] = [];
  let bytes = 0;
  for (const peelId of from < 0 ? [] : found.slice(from)) {
    const item = show(peelId);
    if (item === undefined) continue;
    bytes += Buffer.byteLength(JSON.stringify(item));
    const last = items.at(-1);
    if (last !== undefined && (items.length === limit || bytes > answerBytes)) {
      return { items, next: last.peel_id };
    }
    items.push(item);
  }
  return { items };
}
