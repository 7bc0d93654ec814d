import { isMap } from "../../../base/plain-map.ts";
/** One value of nested facts or settings, by its path. */
export interface Leaf {
  /** As targets write it: `ip_interfaces:eth0`. */
  path: string;
  text: string;
}

/** The values of nested maps by their paths, in order. A list of plain values is one value. */
export function flatten(value: unknown, path = ""): Leaf[] {
  if (isMap(value)) {
    const inner = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
    if (inner.length > 0)
      return inner.flatMap(([name, one]) => flatten(one, path === "" ? name : `${path}:${name}`));
  }
  if (Array.isArray(value) && value.some((one) => isMap(one) || Array.isArray(one))) {
    return value.flatMap((one, index) => flatten(one, `${path}:${index}`));
  }
  return [{ path, text: textOf(value) }];
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
