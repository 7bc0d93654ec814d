import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import type { Subject } from "../../tree/plan/mod.ts";
import type { Merged } from "../../tree/settings/mod.ts";
import { type Hide, valueWith } from "../settings/mod.ts";
import type { PlanTokens } from "./tokens.ts";

/** A secret has its name and nothing that a target could be compared with, as on the peel. */
const withoutValue: Hide = () => ({});
const asItIs: Hide = (secret) => secret;
const here = { secret: true } as const;
type TokenOf = PlanTokens["tokenOf"];

type PlanSettings = Pick<Subject, "settings" | "shownSettings" | "isSecret">;

/** Gives the settings of a peel as a plan is made with them, with tokens in place of secrets: of equal ones, once. */
export function createPlanSettings(tokenOf: TokenOf): (merged: Merged) => PlanSettings {
  const known = new WeakMap<Merged, PlanSettings>();
  return (merged) => {
    const found = known.get(merged) ?? settingsOf(merged, tokenOf);
    known.set(merged, found);
    return found;
  };
}

function settingsOf(merged: Merged, tokenOf: TokenOf): PlanSettings {
  const places = valueWith(merged, () => here as unknown as Plain);
  return {
    settings: mapOf(withTokens(valueWith(merged, asItIs), places, [], tokenOf)),
    shownSettings: mapOf(valueWith(merged, withoutValue)),
    isSecret: (path) => isSecretAt(places, path),
  };
}

/** @param places the same value, with a mark in place of each secret */
function withTokens(value: Plain, places: unknown, path: readonly string[], tokenOf: TokenOf): Plain {
  if (places === here) return tokenOf(value, path);
  if (Array.isArray(value)) {
    const marks: readonly unknown[] = Array.isArray(places) ? places : [];
    return value.map((item, at) => withTokens(item, marks[at], [...path, String(at)], tokenOf));
  }
  if (!isMap(value)) return value;
  const marks = isMap(places) ? places : {};
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      withTokens(inner as Plain, marks[name], [...path, name], tokenOf),
    ]),
  );
}

const mapOf = (value: Plain): Record<string, Plain> => (isMap(value) ? (value as Record<string, Plain>) : {});

/** Whether there is a secret at a place, or in the values of a map or a list that is there. */
function isSecretAt(places: unknown, path: readonly string[]): boolean {
  let at: unknown = places;
  for (const name of path) {
    if (at === here) return true;
    if (!isMap(at)) return false;
    at = Object.hasOwn(at, name) ? at[name] : undefined;
  }
  if (at === here) return true;
  if (Array.isArray(at)) return at.some(holdsSecret);
  // What is in a map inside is noticed when it is read there.
  return isMap(at) && Object.values(at).some((inner) => (isMap(inner) ? inner === here : holdsSecret(inner)));
}

function holdsSecret(value: unknown): boolean {
  if (value === here) return true;
  if (Array.isArray(value)) return value.some(holdsSecret);
  return isMap(value) && Object.values(value).some(holdsSecret);
}
