import { defined } from "../../base/defined.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";

/** A fact, or a value inside one, that is not what it was. */
export interface FactChange {
  /** As a path: `os`, `mounts:/:fstype`. */
  name: string;
  /** Absent when it did not exist. */
  before?: Plain;
  /** Absent when it does not exist any more. */
  after?: Plain;
}

type Facts = { readonly [name: string]: Plain };

/** What differs between two versions of the facts of a peel: maps by their values, lists as a whole; in order of names. */
export function factChanges(before: Facts, after: Facts): FactChange[] {
  const changes: FactChange[] = [];
  const compare = (path: string, one: Facts, other: Facts) => {
    const names = new Set([...Object.keys(one), ...Object.keys(other)]);
    for (const name of [...names].sort()) {
      const from = Object.hasOwn(one, name) ? one[name] : undefined;
      const to = Object.hasOwn(other, name) ? other[name] : undefined;
      const at = path === "" ? name : `${path}:${name}`;
      if (isMap(from) && isMap(to)) compare(at, from, to);
      else if (!Bun.deepEquals(from, to)) {
        changes.push({
          name: at,
          ...defined({ before: from, after: to }),
        });
      }
    }
  };
  compare("", before, after);
  return changes;
}
