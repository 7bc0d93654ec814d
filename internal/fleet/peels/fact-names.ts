import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import type { FactMap } from "../../tree/targets/mod.ts";

const maxName = 512;

/**
 * A field with names of facts, with commas between them: over REST it is one parameter.
 *
 * @param max how many
 */
export function factNames(max: number, description: string) {
  const isList = (text: string) => {
    const names = namesIn(text);
    return names.length <= max && names.every((name) => name !== "" && name.length <= maxName);
  };
  return v.pipe(
    v.string(),
    v.check(isList, `must be 1 to ${max} names of facts, with commas between them`),
    v.description(description),
  );
}

/** The names in such a field, each once. */
export function namesIn(text: string): string[] {
  return [...new Set(text.split(",").map((name) => name.trim()))];
}

/** A field with the name of one fact, or of a value inside it. */
export const factName = v.pipe(
  v.string(),
  v.maxLength(maxName, `must be at most ${maxName} characters`),
  v.description("One fact, or a value inside it: `mounts:/:fstype`"),
);

/** The facts of peels, as a master has them in memory. */
export type FactsOf = (peelId: string) => FactMap | undefined;

/**
 * Checks names that no chosen peel has: one that no member has at all is a mistake.
 *
 * @param missing the names, as paths
 * @param members encoded ids of all members
 * @throws SvcError `bad_request` with the nearest name
 */
export function checkFactNames(
  missing: readonly string[],
  members: readonly string[],
  factsOf: FactsOf,
): void {
  if (missing.length === 0) return;
  const keySets = new Set<readonly string[]>();
  for (const peelId of members) {
    const facts = factsOf(peelId);
    if (facts !== undefined) keySets.add(facts.keys);
  }
  // Nothing is known: then it is not the name that is wrong.
  if (keySets.size === 0) return;
  const known = new Set<string>();
  for (const keys of keySets) for (const key of keys) known.add(key);
  for (const path of missing) {
    const [name = ""] = path.split(":");
    if (known.has(name) || known.has(path)) continue;
    const near = suggestion(name, [...known]);
    throw new SvcError("bad_request", `no peel has a fact ${JSON.stringify(name.slice(0, 100))}${near}`);
  }
}
