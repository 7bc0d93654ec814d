import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { encodePeelId, isPeelId } from "../../base/names/peel-id.ts";
import { described } from "../../base/schema.ts";
import { compileTarget, type ExpandedExpression, matchersOf, type Regexes } from "../../tree/targets/mod.ts";
import type { Call } from "../operation/mod.ts";
import type { Fleet } from "./fleet.ts";
import { type Meter, SliceEnded } from "./pace.ts";

/** The target of a job: an expression over the fleet, or explicit peel ids. */
export type Target = { expression: string } | { peels: readonly string[] };

const maxTargets = 100_000;

/** The two fields of a request that select peels; a request has one of them. */
export const targetFields = {
  target: v.optional(
    v.pipe(
      v.string(),
      v.metadata({
        description: "Which peels, as an expression: `web*`, `G@os:linux and not E@^db`; or `targets`",
        minLength: 1,
      }),
    ),
  ),
  targets: v.optional(
    described(
      v.pipe(v.array(v.string()), v.maxLength(maxTargets, `must have at most ${maxTargets} peels`)),
      "Which peels, by id; or `target`",
    ),
  ),
};

/** That a request has one of the two, for its description; `chosenTarget` checks it. */
export const oneTarget = { oneOf: [{ required: ["target"] }, { required: ["targets"] }] };

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

/** How a request resolves its target: to the peels that the gate fixed, if it did. */
export function resolveFor(
  { peels }: Pick<Call, "peels">,
  resolve: (target: Target) => Promise<string[]>,
): (target: Target) => Promise<string[]> {
  return peels === undefined ? resolve : async () => [...peels];
}

const peelsBetweenChecks = 16;

/**
 * Returns the members of the fleet among these peel ids. Dotted ids are accepted; ids of non-members are left
 * out.
 *
 * @param members sorted encoded peel ids
 * @returns sorted encoded peel ids, each once
 * @throws SvcError `bad_request` for an invalid peel id
 */
export function resolveList(peels: readonly string[], members: readonly string[]): string[] {
  const wanted = new Set(peels.map(encodePeelId));
  for (const id of wanted) {
    if (!isPeelId(id)) throw new SvcError("bad_request", "targets must be a list of peel ids");
  }
  return members.filter((member) => wanted.has(member));
}

/**
 * Returns the members of the fleet that match an expression; it may be interrupted between two peels.
 *
 * @returns sorted encoded peel ids
 * @throws SvcError `bad_request` for a matcher that needs unavailable data, or when it costs too much
 */
export function* resolveExpression(
  expression: ExpandedExpression,
  fleet: Fleet,
  { regexes, meter }: { regexes: Regexes; meter: Meter },
): Generator<void, string[], void> {
  let idsAlone = true;
  for (const { kind } of matchersOf(expression)) {
    if (kind === "setting" && !fleet.hasSettings) {
      throw new SvcError("bad_request", "target: I@ cannot be used here: no settings are available");
    }
    idsAlone &&= kind !== "setting" && kind !== "fact" && kind !== "label";
  }
  const members = fleet.members();
  const range = rangeOf(expression, members);
  if (range !== undefined) return members.slice(...range);
  const test = compileTarget(expression, { regexes, spend: meter.spend });
  const found: string[] = [];
  // Iterating only over ids does not touch the other data, which keeps the CPU cache effective.
  const bare = { id: "", facts: undefined };
  const peels = idsAlone ? undefined : fleet.peels();
  for (let at = 0; at < members.length; ) {
    bare.id = members[at] ?? "";
    try {
      if (test(peels?.[at] ?? bare)) found.push(bare.id);
    } catch (thrown) {
      if (!(thrown instanceof SliceEnded)) throw thrown;
      yield;
      continue;
    }
    at++;
    if (at % peelsBetweenChecks === 0 && meter.isOver()) yield;
  }
  return found;
}

/** The range in the sorted list that a glob of the form `web-1` or `web-*` matches. */
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

/** The first index where the condition holds; it must hold for all later ones. */
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
