import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";

/** A fact in memory: a scalar, a list, or a map. Null and binary values are left out. */
export type FactValue = string | number | boolean | readonly FactValue[] | FactMap;

/** A map that shares its keys with maps of other peels that have the same keys in the same order. */
export class FactMap {
  readonly keys: readonly string[];
  readonly values: readonly FactValue[];

  constructor(keys: readonly string[], values: readonly FactValue[]) {
    this.keys = keys;
    this.values = values;
  }
}

// Peels write their own facts, so these limits bound the memory of the masters.
const maxTextLength = 1024;
/** Maximum size of the facts of one peel in characters, roughly as JSON. */
const maxTotal = 64 * 1024;
const scalarCost = 8;
/** Limits for sharing lists and maps; longer and deeper ones are mostly unique. */
const maxSharedLength = 2048;
const maxSharedDepth = 3;

/**
 * Converts facts for storage and matching. Deduplicates values, because the peels of a fleet share most of
 * them.
 */
export interface FactPacker {
  /** @returns the facts, and whether some exceeded the limits and were left out */
  pack(facts: Plain): { facts: FactMap; cut: boolean };
}

/** @param poolSize how many texts, and how many lists and maps, are remembered for sharing, at most */
export function createFactPacker(poolSize = 16_384): FactPacker {
  const texts = createBoundedMap<string>(poolSize);
  const keySets = createBoundedMap<readonly string[]>(poolSize);
  const compounds = createBoundedMap<readonly FactValue[] | FactMap>(poolSize);

  return {
    pack(plain) {
      let left = maxTotal;
      let dropped = 0;
      let cut = false;
      const drop = (): undefined => {
        dropped++;
        return undefined;
      };
      const take = (cost: number): boolean => {
        if (cost > left) {
          cut = true;
          return false;
        }
        left -= cost;
        return true;
      };
      const packText = (text: string): string | undefined => {
        if (text.length > maxTextLength) cut = true;
        else if (take(text.length)) return texts.get(text) ?? texts.set(text, text);
        return drop();
      };
      const packValue = (value: Plain, depth: number): FactValue | undefined => {
        if (value === null) return undefined;
        if (typeof value === "string") return packText(value);
        if (typeof value === "boolean" || Number.isFinite(value)) {
          return take(scalarCost) ? (value as number | boolean) : drop();
        }
        if (typeof value === "number" || value instanceof Uint8Array) return drop();
        const shared = depth <= maxSharedDepth ? JSON.stringify(value) : "";
        const known = shared.length > maxSharedLength ? undefined : compounds.get(shared);
        if (known !== undefined) return take(shared.length) ? known : drop();
        const before = dropped;
        const packed = Array.isArray(value) ? packList(value, depth + 1) : packMap(value, depth + 1);
        // The text does not contain dropped values, so it could equal the facts of another peel.
        const isShared = shared !== "" && shared.length <= maxSharedLength && dropped === before;
        return isShared ? compounds.set(shared, packed) : packed;
      };
      const packList = (list: readonly Plain[], depth: number): readonly FactValue[] => {
        const items: FactValue[] = [];
        for (const item of list) {
          const value = packValue(item, depth);
          if (value !== undefined) items.push(value);
        }
        return items;
      };
      const packMap = (map: Record<string, Plain>, depth: number): FactMap => {
        const keys: string[] = [];
        const values: FactValue[] = [];
        for (const name in map) {
          const key = packText(name);
          const value = key === undefined ? undefined : packValue(map[name] ?? null, depth);
          if (key === undefined || value === undefined) continue;
          keys.push(key);
          values.push(value);
        }
        const text = JSON.stringify(keys);
        return new FactMap(keySets.get(text) ?? keySets.set(text, keys), values);
      };
      const facts = packMap(isMap(plain) ? plain : {}, 0);
      return { facts, cut };
    },
  };
}
