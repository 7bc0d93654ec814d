import type { Plain } from "../../../base/msgpack.ts";
import { isJson, type Json } from "./engine.ts";

/** Lists to which an image adds its own items, so that only the wanted ones count. */
const additive = new Set(["Env"]);

/**
 * The fields in which an object of Docker is not as wanted. What is not wanted in particular may be anything: Docker
 * and the image fill it in.
 *
 * @returns names, such as `HostConfig.RestartPolicy`; never a value
 */
export function difference(wanted: Json, found: Json, prefix = ""): string[] {
  return Object.entries(wanted).flatMap(([key, value]) => {
    const now = found[key];
    if (isJson(value) && isJson(now) && (key === "HostConfig" || key === "IPAM"))
      return difference(value, now, `${prefix}${key}.`);
    return isSame(key, value, now) ? [] : [`${prefix}${key}`];
  });
}

function isSame(key: string, wanted: Plain, now: Plain | undefined): boolean {
  if (Array.isArray(wanted)) {
    const list = Array.isArray(now) ? now : [];
    const hasAll = wanted.every((each) => list.some((other) => isSame("", each, other)));
    return (
      hasAll &&
      (additive.has(key) ||
        (key === "Cmd" || key === "Entrypoint" ? isEqual(wanted, list) : list.length === wanted.length))
    );
  }
  if (isJson(wanted)) {
    if (!isJson(now)) return Object.keys(wanted).length === 0;
    // Labels of the image stay, and ports and volumes that it exposes.
    return Object.entries(wanted).every(([name, value]) => isSame(name, value, now[name]));
  }
  return wanted === (now ?? (wanted === false ? false : wanted === 0 ? 0 : wanted === "" ? "" : undefined));
}

function isEqual(a: readonly Plain[], b: readonly Plain[]): boolean {
  return a.length === b.length && a.every((each, at) => each === b[at]);
}
