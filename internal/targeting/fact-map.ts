import type { Plain } from "../base/msgpack.ts";

/** A fact as it is kept in memory: a scalar, a list, or a map. What is null or binary is left out. */
export type FactValue = string | number | boolean | readonly FactValue[] | FactMap;

/** A map whose keys are shared with the maps of other peels that have the same ones in the same order. */
export class FactMap {
  readonly keys: readonly string[];
  readonly values: readonly FactValue[];

  constructor(keys: readonly string[], values: readonly FactValue[]) {
    this.keys = keys;
    this.values = values;
  }
}

// A peel writes its own facts: what it may cost the masters is bounded here.
const maxTextLength = 1024;
const maxTextTotal = 64 * 1024;
const maxValues = 4096;
/** Texts and lists that may be worth sharing; longer ones are mostly unique. */
const maxSharedLength = 2048;

/** Makes facts ready to be kept and matched. Peels of one fleet share nearly all of what they say. */
export interface FactPacker {
  /** @returns the facts, and whether some of them were beyond the bounds and are left out */
  pack(facts: Plain): { facts: FactMap; cut: boolean };
}

/** @param poolSize how many texts, lists and sets of keys are remembered for sharing, at most twice */
export function createFactPacker(poolSize = 16_384): FactPacker {
  const texts = createPool<string>(poolSize);
  const lists = createPool<readonly FactValue[]>(poolSize / 4);
  const keySets = createPool<readonly string[]>(poolSize / 4);

  return {
    pack(plain) {
      let valuesLeft = maxValues;
      let textLeft = maxTextTotal;
      let cut = false;
      const drop = () => {
        cut = true;
        return undefined;
      };
      const packText = (text: string): string | undefined => {
        if (text.length > maxTextLength || text.length > textLeft) return drop();
        textLeft -= text.length;
        // A text cut out of a message would keep the whole message.
        return texts(text, () => Buffer.from(text).toString());
      };
      const packMap = (map: Record<string, Plain>): FactMap => {
        const keys: string[] = [];
        const values: FactValue[] = [];
        for (const [name, item] of Object.entries(map)) {
          const key = packText(name);
          const value = key === undefined ? undefined : packValue(item);
          if (key === undefined || value === undefined) continue;
          keys.push(key);
          values.push(value);
        }
        return new FactMap(
          keySets(JSON.stringify(keys), () => keys),
          values,
        );
      };
      const packList = (list: readonly Plain[]): readonly FactValue[] => {
        const items = list.flatMap((item) => {
          const value = packValue(item);
          return value === undefined ? [] : [value];
        });
        if (items.some((item) => typeof item === "object")) return items;
        const text = JSON.stringify(items);
        return text.length > maxSharedLength ? items : lists(text, () => items);
      };
      const packValue = (value: Plain): FactValue | undefined => {
        if (value === null || value instanceof Uint8Array) return undefined;
        if (--valuesLeft < 0) return drop();
        if (typeof value === "string") return packText(value);
        if (typeof value !== "object") return value;
        return Array.isArray(value) ? packList(value) : packMap(value);
      };
      const isMap = plain !== null && typeof plain === "object" && !Array.isArray(plain);
      const facts = packMap(isMap && !(plain instanceof Uint8Array) ? plain : {});
      return { facts, cut };
    },
  };
}

/**
 * Remembers values by a text, in two generations: what was not asked for while a whole generation
 * filled up is forgotten. Unique values come and go, common ones stay.
 */
function createPool<T>(size: number): (text: string, make: () => T) => T {
  let young = new Map<string, T>();
  let old = new Map<string, T>();
  return (text, make) => {
    const found = young.get(text);
    if (found !== undefined) return found;
    const value = old.get(text) ?? make();
    if (young.size >= size) {
      old = young;
      young = new Map();
    }
    young.set(typeof value === "string" ? value : text, value);
    return value;
  };
}
