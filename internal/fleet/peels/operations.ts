import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { suggestName } from "../../base/nearest.ts";
import { displayPeelId, encodePeelId, isPeelId } from "../../base/peel-id.ts";
import type { Directory } from "../enrollment/mod.ts";
import { described, operation } from "../operation/mod.ts";
import type { FleetIndex, Resolver } from "../targeting/mod.ts";
import { type FactsAndLives, type ShownPeel, showMember, shownPeel } from "./peel.ts";

/** What a master answers from: all of it is in its memory. */
export interface PeelsDeps {
  directory: Pick<Directory, "caughtUp" | "members" | "memberOf" | "stateOf">;
  index: FactsAndLives & Pick<FleetIndex, "caughtUp" | "running">;
  resolver: Pick<Resolver, "resolve">;
}

/** The same, at a door whose answers have a limit. */
export interface PeelsDoorDeps extends PeelsDeps {
  /** Bytes that one answer may have. */
  answerBytes(): number;
}

/** Peels on one page, at most. */
export const mostPeels = 1_000;
const limitText = `must be 1 to ${mostPeels}`;
const scope = { kind: "facts", action: "read" } as const;

export const listPeels = operation({
  name: "peels.list",
  kind: "read",
  summary: "List peels, by id",
  description:
    "The members of the fleet, with what the master that answers has in memory. A page can be shorter than `limit`.",
  admits: ["operator"],
  scope,
  input: v.strictObject({
    target: v.optional(described(v.string(), "Which peels, as an expression: `web*`, `G@os:linux`"), "*"),
    limit: v.optional(
      v.pipe(
        v.number(limitText),
        v.integer(limitText),
        v.minValue(1, limitText),
        v.maxValue(mostPeels, limitText),
        v.description("Maximum number of items"),
      ),
      500,
    ),
    cursor: v.optional(
      described(
        v.pipe(v.string(), v.check(isPeelId, "must be the value that the previous page returned")),
        "Where the page starts, from the previous page",
      ),
    ),
  }),
  output: v.object({ peels: v.array(shownPeel), next: v.exactOptional(v.string()) }),
  touches: ({ target }) => ({ peels: { expression: target } }),
  async run({ directory, index, resolver, answerBytes }: PeelsDoorDeps, { target, limit, cursor = "" }) {
    assertIndexed(index);
    const [found] = await Promise.all([
      resolver.resolve({ expression: target }),
      index.caughtUp({ facts: true, heartbeats: true }),
    ]);
    const from = found.findIndex((peelId) => peelId > cursor);
    const peels: ShownPeel[] = [];
    let bytes = 0;
    for (const peelId of from < 0 ? [] : found.slice(from)) {
      const member = directory.memberOf(peelId);
      // It left the fleet a moment ago.
      if (member === undefined) continue;
      const shown = showMember(peelId, member, index);
      bytes += Buffer.byteLength(JSON.stringify(shown));
      const isFull = peels.length === limit || bytes > answerBytes();
      const last = peels.at(-1);
      if (isFull && last !== undefined) return { peels, next: last.peel_id };
      peels.push(shown);
    }
    return { peels };
  },
});

export const showPeel = operation({
  name: "peels.show",
  kind: "read",
  summary: "Show a peel",
  admits: ["operator"],
  scope,
  input: v.strictObject({ id: described(v.string(), "Peel id, with dots or encoded") }),
  output: v.object({ peel: shownPeel }),
  touches: ({ id }) => ({ peel: encodePeelId(id) }),
  async run({ directory, index }: PeelsDeps, { id }) {
    assertIndexed(index);
    await Promise.all([directory.caughtUp(), index.caughtUp({ facts: true, heartbeats: true })]);
    const peelId = encodePeelId(id);
    const member = directory.memberOf(peelId);
    if (member !== undefined) return { peel: showMember(peelId, member, index) };
    const name = displayPeelId(peelId).slice(0, 255);
    const state = directory.stateOf(peelId);
    if (state !== undefined) {
      throw new SvcError("not_found", `${name} is not a member of the fleet: its enrollment is ${state}`);
    }
    const near = suggestName(name, directory.members().map(displayPeelId));
    throw new SvcError("not_found", `there is no peel ${JSON.stringify(name)}${near}`);
  },
});

/** A part of what is stored would look like silent peels. @throws SvcError `unavailable` */
function assertIndexed({ running }: Pick<FleetIndex, "running">): void {
  if (running) return;
  throw new SvcError("unavailable", "the fleet is not read completely yet: ask again in a few seconds");
}
