import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import type { Subject } from "../../tree/plan/mod.ts";
import type { Merged } from "../../tree/settings/mod.ts";
import { type Hide, valueWith } from "../settings/mod.ts";

/** A secret has its name and nothing that a target could be compared with, as on the peel. */
const withoutValue: Hide = () => ({});
const here = { secret: true } as const;

type PlanSettings = Pick<Subject, "settings" | "shownSettings" | "isSecret">;

/** Gives the settings of a peel as a plan is made with them, with tokens in place of secrets: of equal ones, once. */
export function createPlanSettings(tokenOf: Hide): (merged: Merged) => PlanSettings {
  const known = new WeakMap<Merged, PlanSettings>();
  return (merged) => {
    const found = known.get(merged) ?? settingsOf(merged, tokenOf);
    known.set(merged, found);
    return found;
  };
}

function settingsOf(merged: Merged, tokenOf: Hide): PlanSettings {
  let places: Plain | undefined;
  return {
    settings: mapOf(valueWith(merged, tokenOf)),
    shownSettings: mapOf(valueWith(merged, withoutValue)),
    isSecret(path) {
      places ??= valueWith(merged, () => here as unknown as Plain);
      return isSecretAt(places, path);
    },
  };
}

const mapOf = (value: Plain): Record<string, Plain> => (isMap(value) ? (value as Record<string, Plain>) : {});

/** Whether there is a secret at a place, or in the values of a map or a list that is there. */
function isSecretAt(places: Plain, path: readonly string[]): boolean {
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
