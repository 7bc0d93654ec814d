import type { Plain } from "../../base/msgpack.ts";
import type { FactMap } from "../../tree/targets/mod.ts";
import { packedFact } from "../peels/mod.ts";

/** The longest fact of an inventory, in characters of JSON: a peel writes its facts itself. */
const maxFact = 2_048;

/** The chosen facts that a peel has; one that is too long is left out. @param names as paths */
export function chooseFacts(facts: FactMap | undefined, names: readonly string[]): Record<string, Plain> {
  const found = names.flatMap((name) => {
    const value = packedFact(facts, name);
    if (value === undefined || sizeOf(value) > maxFact) return [];
    return [[name, value] as const];
  });
  return Object.fromEntries(found);
}

/** Texts are short enough in the memory of a master. */
const sizeOf = (value: Plain) => (typeof value === "object" ? JSON.stringify(value).length : 0);
