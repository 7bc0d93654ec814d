import type { Plain } from "../../../base/msgpack.ts";
import type { Event } from "./event.ts";

/** A path in an event. `data.disks.0.percent` descends into maps and lists. */
export const eventPath = /^(?:id|source|tag|depth|data(?:\.[A-Za-z0-9_-]{1,64}){1,16})$/;

/**
 * The value at a path of an event, or `undefined` when there is none. Finds only own properties, not
 * inherited ones.
 *
 * @param path has the form of `eventPath`
 */
export function valueAt(event: Event, path: string): Plain | undefined {
  switch (path) {
    case "id":
    case "source":
    case "tag":
    case "depth":
      return event[path];
    default:
  }
  let value: Plain | undefined = event.data;
  for (const key of path.split(".").slice(1)) {
    if (value === null || typeof value !== "object" || value instanceof Uint8Array) return undefined;
    if (Array.isArray(value)) {
      value = /^(?:0|[1-9]\d{0,5})$/.test(key) ? value[Number(key)] : undefined;
    } else {
      value = Object.hasOwn(value, key) ? value[key] : undefined;
    }
    if (value === undefined) return undefined;
  }
  return value;
}
