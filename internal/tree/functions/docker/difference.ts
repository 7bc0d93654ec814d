import type { Plain } from "../../../base/msgpack.ts";
import { canonicalAddress, canonicalNetwork } from "../../../base/names/ip-address.ts";
import { isJson, type Json } from "./engine.ts";

/** Lists to which an image adds its own items, so that only the wanted ones count. */
const additive = new Set(["Env"]);

/** Fields with addresses, which the engine returns as they were written, and how they compare. */
const spellings: Readonly<Record<string, (text: string) => string>> = {
  Subnet: canonicalNetwork,
  IPRange: canonicalNetwork,
  Gateway: canonicalAddress,
  Dns: canonicalAddress,
  HostIp: canonicalAddress,
  IPv4Address: canonicalAddress,
  IPv6Address: canonicalAddress,
  ExtraHosts: (line) => line.replace(/(?<=^[^:]*:).*$/, canonicalAddress),
};

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
    const found = Array.isArray(now) ? now : [];
    const list = key === "Config" ? poolsLike(wanted, found) : found;
    const hasAll = wanted.every((each) => list.some((other) => isSame(key, each, other)));
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
  const one = spellings[key];
  if (one !== undefined && typeof wanted === "string" && typeof now === "string")
    return one(wanted) === one(now);
  return wanted === (now ?? (wanted === false ? false : wanted === 0 ? 0 : wanted === "" ? "" : undefined));
}

/** The engine adds a pool of the family that is not wanted: IPv4 always, and IPv6 where it is enabled. */
function poolsLike(wanted: readonly Plain[], found: readonly Plain[]): readonly Plain[] {
  const families = wanted.map(familyOf);
  return families.includes(undefined) ? found : found.filter((pool) => families.includes(familyOf(pool)));
}

function familyOf(pool: Plain): "ipv4" | "ipv6" | undefined {
  const subnet = isJson(pool) ? pool.Subnet : undefined;
  if (typeof subnet !== "string") return undefined;
  return subnet.includes(":") ? "ipv6" : "ipv4";
}

function isEqual(a: readonly Plain[], b: readonly Plain[]): boolean {
  return a.length === b.length && a.every((each, at) => each === b[at]);
}
