import type { Plain } from "../../base/msgpack.ts";
import type { Facts } from "./fact.ts";

/**
 * Finds the fact at a path: `mounts:/var:fstype`, or `ipv4:0` for the first item of a list. A key may contain
 * a colon itself; the shortest key that leads to a value wins.
 */
export function findFact(facts: Facts, path: string): Plain | undefined {
  return descend(facts, path.split(":"));
}

function descend(at: Plain | Facts | undefined, words: readonly string[]): Plain | undefined {
  if (words.length === 0) return at as Plain | undefined;
  if (Array.isArray(at)) {
    const [index = "", ...rest] = words;
    return /^\d{1,9}$/.test(index) ? descend(at[Number(index)], rest) : undefined;
  }
  if (typeof at !== "object" || at === null || at instanceof Uint8Array) return undefined;
  for (let length = 1; length <= words.length; length++) {
    const key = words.slice(0, length).join(":");
    if (!Object.hasOwn(at, key)) continue;
    const found = descend((at as Facts)[key], words.slice(length));
    if (found !== undefined) return found;
  }
  return undefined;
}
