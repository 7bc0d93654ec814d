import { isIP } from "node:net";
import { quote } from "../../base/cut.ts";
import { isInNetwork, parseIp, parseIpNetwork } from "../../base/names/ip-network.ts";
import { type Filter, type Test, take, textOf } from "../jinja/mod.ts";
import { type Args, Fault, itemsOf, Tuple, type Value } from "../jinja/values/mod.ts";
import { addressIn, addressText, networkOf } from "./addresses.ts";

type Version = 4 | 6 | undefined;

/** More hosts than these are not listed. */
const maxHosts = 65_536;

/** Filters of Salt for addresses and networks. */
export const networkFilters: Readonly<Record<string, Filter>> = {
  is_ip: (value, args) => isAddress(value, args, undefined),
  is_ipv4: (value, args) => isAddress(value, args, 4),
  is_ipv6: (value, args) => isAddress(value, args, 6),
  ipaddr: (value, args) => addresses(value, args, undefined),
  ipv4: (value, args) => addresses(value, args, 4),
  ipv6: (value, args) => addresses(value, args, 6),
  ip_host: (value) => {
    const host = textOf(value);
    const version = isIP(host.replace(/\/.*$/, ""));
    if (version === 0 || host.includes("/")) return version === 0 ? null : host;
    return `${host}/${version === 4 ? 32 : 128}`;
  },
  network_hosts: (value, _, { run }) => {
    const { first, size, isV6 } = networkOf(textOf(value));
    const isWhole = size <= 2n;
    const from = isWhole ? first : first + 1n;
    const to = first + size - (isWhole ? 1n : isV6 ? 1n : 2n);
    if (to - from > BigInt(maxHosts))
      throw new Fault(`network_hosts: the network has more than ${maxHosts} hosts`);
    run.budget.make(Number(to - from) * 16);
    return Array.from({ length: Number(to - from) + 1 }, (_, at) => addressText(from + BigInt(at), isV6));
  },
  network_size: (value) => {
    const { size } = networkOf(textOf(value));
    if (size > BigInt(Number.MAX_SAFE_INTEGER))
      throw new Fault("network_size: the network is too large to be counted");
    return Number(size);
  },
  ipwrap: (value) =>
    itemsOf(value) === undefined ? wrapped(value) : [...(itemsOf(value) ?? [])].map(wrapped),
};

export const networkTests: Readonly<Record<string, Test>> = {
  ipaddr: (value, args) => isAddress(value, args, undefined) === true,
  ipv4: (value, args) => isAddress(value, args, 4) === true,
  ipv6: (value, args) => isAddress(value, args, 6) === true,
};

/** An IPv6 address goes into brackets. */
function wrapped(value: Value): Value {
  return typeof value === "string" && isIP(value) === 6 ? `[${value}]` : value;
}

function isAddress(value: Value, args: Args, version: Version): Value {
  const [options = ""] = take("is_ip", args, ["options?"]);
  return kept(value, textOf(options ?? ""), version) !== undefined;
}

/** Of a list the addresses, those of version 4 first; of a text itself, or none. */
function addresses(value: Value, args: Args, version: Version): Value {
  const [options = ""] = take("ipaddr", args, ["options?"]);
  const wanted = textOf(options ?? "");
  if (Array.isArray(value) || value instanceof Tuple) {
    const items = itemsOf(value) ?? [];
    const versions = version === undefined ? ([4, 6] as const) : [version];
    return versions.flatMap((each) => items.flatMap((item) => kept(item, wanted, each) ?? []));
  }
  const isText = typeof value === "string" || value instanceof Uint8Array;
  return (isText ? kept(value, wanted, version) : undefined) ?? null;
}

/** An address as Python writes it, if it has the version and the kinds that the options name. */
function kept(value: Value, options: string, version: Version): string | undefined {
  const found = addressIn(value);
  if (found === undefined || (version !== undefined && found.version !== version)) return undefined;
  const isOfKinds = options
    .split(",")
    .map((each) => each.trim())
    .every((option) => option === "" || kindOf(option)(found.address));
  return isOfKinds ? found.text : undefined;
}

const kinds: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.0/8", "::1"],
  multicast: ["224.0.0.0/4", "ff00::/8"],
  link_local: ["169.254.0.0/16", "fe80::/10"],
  unspecified: ["0.0.0.0", "::"],
  reserved: ["240.0.0.0/4"],
  private: [
    ...[
      "10.0.0.0/8",
      "172.16.0.0/12",
      "192.168.0.0/16",
      "127.0.0.0/8",
      "169.254.0.0/16",
      "fc00::/7",
      "fe80::/10",
      "::1",
    ],
  ],
};

function kindOf(option: string): (address: string) => boolean {
  const isIn = (networks: readonly string[]) => (address: string) => {
    const bytes = parseIp(address);
    return (
      bytes !== undefined &&
      networks.some((each) => {
        const network = parseIpNetwork(each);
        return network !== undefined && isInNetwork(bytes, network);
      })
    );
  };
  if (option === "public" || option === "global") {
    const isPrivate = isIn([
      ...(kinds.private ?? []),
      ...(kinds.multicast ?? []),
      ...(kinds.unspecified ?? []),
    ]);
    return (address) => !isPrivate(address);
  }
  const networks = Object.hasOwn(kinds, option) ? kinds[option] : undefined;
  if (networks === undefined)
    throw new Fault(
      `unknown option ${quote(option, 40)}: use ${Object.keys(kinds).join(", ")}, public or global`,
    );
  return isIn(networks);
}
