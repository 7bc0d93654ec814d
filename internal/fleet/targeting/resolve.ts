import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { encodePeelId, isPeelId } from "../../identity/peel-id.ts";
import { compileTarget } from "../../tree/targets/evaluate.ts";
import { type ExpandedExpression, matchersOf } from "../../tree/targets/expression.ts";
import { described } from "../operation/schema.ts";
import type { Fleet } from "./fleet.ts";

/** Who a job is for: an expression over the fleet, or explicit peel ids. */
export type Target = { expression: string } | { peels: readonly string[] };

const mostTargets = 100_000;

/** The two fields of a request that tell whom it means, of which it has one. */
export const targetFields = {
  target: v.optional(
    described(v.string(), "Which peels, as an expression: `web*`, `G@os:linux and not E@^db`; or `targets`"),
  ),
  targets: v.optional(
    described(
      v.pipe(v.array(v.string()), v.maxLength(mostTargets, `must have at most ${mostTargets} peels`)),
      "Which peels, by id; or `target`",
    ),
  ),
};

interface TargetFields {
  target?: string | undefined;
  targets?: readonly string[] | undefined;
}

/** The target of a request as it came in, whether it may be used or not. */
export function targetOf({ target, targets }: TargetFields): Target {
  return target === undefined ? { peels: targets ?? [] } : { expression: target };
}

/** The target of a request. @throws SvcError `bad_request` unless it has one of the two */
export function chosenTarget(fields: TargetFields): Target {
  if ((fields.target === undefined) === (fields.targets === undefined)) {
    throw new SvcError("bad_request", "give either target or targets");
  }
  return targetOf(fields);
}

const budgetMs = 2_000;
const peelsBetweenLooks = 16;

/**
 * The members of the fleet among these peel ids. Dotted ids are accepted; who is no member is left out.
 *
 * @param members encoded peel ids in order
 * @returns encoded peel ids in order, each once
 * @throws SvcError `bad_request` for something that is no peel id
 */
export function resolveList(peels: readonly string[], members: readonly string[]): string[] {
  const wanted = new Set(peels.map(encodePeelId));
  for (const id of wanted) {
    if (!isPeelId(id)) throw new SvcError("bad_request", "targets must be a list of peel ids");
  }
  return members.filter((member) => wanted.has(member));
}

/**
 * The members of the fleet that an expression means.
 *
 * @returns encoded peel ids in order
 * @throws SvcError `bad_request` for a matcher that this fleet cannot answer, or when it takes over 2 s
 */
export function resolveExpression(expression: ExpandedExpression, fleet: Fleet, clock: Clock): string[] {
  let idsAlone = true;
  for (const { kind } of matchersOf(expression)) {
    if (kind === "setting" && !fleet.hasSettings) {
      throw new SvcError("bad_request", "target: I@ cannot be used here: no settings are at hand");
    }
    idsAlone &&= kind !== "setting" && kind !== "fact";
  }
  const members = fleet.members();
  const range = rangeOf(expression, members);
  if (range !== undefined) return members.slice(...range);
  const test = compileTarget(expression);
  const started = clock.monotonic();
  const found: string[] = [];
  // Going through the ids alone leaves everything else that is known in peace, and in the cache.
  const bare = { id: "", facts: undefined };
  const peels = idsAlone ? undefined : fleet.peels();
  for (let at = 0; at < members.length; at++) {
    bare.id = members[at] ?? "";
    if (test(peels?.[at] ?? bare)) found.push(bare.id);
    if (at % peelsBetweenLooks === 0 && clock.monotonic() - started > budgetMs) {
      throw new SvcError("bad_request", `target: takes more than ${budgetMs / 1000} s; write it simpler`);
    }
  }
  return found;
}

/** Where in the sorted list a glob of the forms `web-1` and `web-*` matches, from and to. */
function rangeOf(
  expression: ExpandedExpression,
  members: readonly string[],
): [from: number, to: number] | undefined {
  const prefix = expression.kind === "id" ? /^([^*?[]*)\*?$/.exec(expression.glob)?.[1] : undefined;
  if (expression.kind !== "id" || prefix === undefined) return undefined;
  const from = firstAt(members, (member) => member >= prefix);
  if (prefix === expression.glob) return [from, members[from] === prefix ? from + 1 : from];
  return [from, firstAt(members, (member) => member >= prefix && !member.startsWith(prefix))];
}

/** The first position where the condition holds; once it does it holds for all that follow. */
function firstAt(members: readonly string[], holds: (member: string) => boolean): number {
  let low = 0;
  let high = members.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(members[middle] ?? "")) high = middle;
    else low = middle + 1;
  }
  return low;
}
