import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { decodeForeign, type Plain } from "../../base/msgpack.ts";
import { suggestion, suggestName } from "../../base/nearest.ts";
import { displayPeelId, encodePeelId, isPeelId } from "../../base/peel-id.ts";
import type { Bucket } from "../../bus/mod.ts";
import { lookUpFact } from "../../host/facts/mod.ts";
import type { Directory, Member } from "../enrollment/mod.ts";
import { described, operation, plain } from "../operation/mod.ts";
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
    const { peelId, member } = memberNamed(directory, id);
    return { peel: showMember(peelId, member, index) };
  },
});

/** Where a master reads the facts of one peel. */
export interface FactsDeps {
  directory: PeelsDeps["directory"];
  facts: Pick<Bucket, "get">;
}

export const getFacts = operation({
  name: "facts.get",
  kind: "read",
  summary: "Show the stored facts of a peel",
  admits: ["operator"],
  scope,
  input: v.strictObject({
    id: described(v.string(), "Peel id, with dots or encoded"),
    name: v.optional(described(v.string(), "One fact, or a value inside it: `mounts:/:fstype`")),
  }),
  output: v.object({ value: plain }),
  touches: ({ id }) => ({ peel: encodePeelId(id) }),
  async run({ directory, facts }: FactsDeps, { id, name }) {
    await directory.caughtUp();
    const { peelId } = memberNamed(directory, id);
    const shown = displayPeelId(peelId);
    const entry = await facts.get(peelId);
    if (entry === undefined) throw new SvcError("not_found", `${shown} has stored no facts yet`);
    const all = factsIn(entry.value);
    if (all === undefined) throw new SvcError("not_found", `the stored facts of ${shown} cannot be read`);
    if (name === undefined) return { value: all };
    const value = lookUpFact(all, name);
    if (value !== undefined) return { value };
    const near = suggestion(name, Object.keys(all));
    throw new SvcError("not_found", `${shown} has no fact ${JSON.stringify(name.slice(0, 100))}${near}`);
  },
});

/** What a peel stored; `undefined` when it is not a map. */
function factsIn(stored: Uint8Array): Record<string, Plain> | undefined {
  try {
    const value = decodeForeign(stored);
    const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
    return isMap && !(value instanceof Uint8Array) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The member with this id, with dots or encoded. @throws SvcError `not_found` with the nearest one */
function memberNamed(
  directory: Pick<Directory, "members" | "memberOf" | "stateOf">,
  id: string,
): { peelId: string; member: Member } {
  const peelId = encodePeelId(id);
  const member = directory.memberOf(peelId);
  if (member !== undefined) return { peelId, member };
  const name = displayPeelId(peelId).slice(0, 255);
  const state = directory.stateOf(peelId);
  if (state !== undefined) {
    throw new SvcError("not_found", `${name} is not a member of the fleet: its enrollment is ${state}`);
  }
  const near = suggestName(name, directory.members().map(displayPeelId));
  throw new SvcError("not_found", `there is no peel ${JSON.stringify(name)}${near}`);
}

/** A part of what is stored would look like silent peels. @throws SvcError `unavailable` */
function assertIndexed({ running }: Pick<FleetIndex, "running">): void {
  if (running) return;
  throw new SvcError("unavailable", "the fleet is not read completely yet: ask again in a few seconds");
}
