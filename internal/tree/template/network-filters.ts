import { isIP } from "node:net";
import { isInNetwork, parseIp, parseIpNetwork } from "../../base/ip-network.ts";
import { type Args, Fault, type Filter, itemsOf, type Test, take, textOf, type Value } from "../jinja/mod.ts";

type Version = 4 | 6 | undefined;

/** More hosts than these are not listed. */
const mostHosts = 65_536;

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
    if (to - from > BigInt(mostHosts))
      throw new Fault(`network_hosts: the network has more than ${mostHosts} hosts`);
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
  return isKept(textOf(value), textOf(options ?? ""), version);
}

function addresses(value: Value, args: Args, version: Version): Value {
  const [options = ""] = take("ipaddr", args, ["options?"]);
  const wanted = textOf(options ?? "");
  const items = itemsOf(value);
  if (items === undefined) return isKept(textOf(value), wanted, version) ? textOf(value) : null;
  return items.map(textOf).filter((text) => isKept(text, wanted, version));
}

/** Whether a text is an address, with or without the length of a network, of the kinds that the options name. */
function isKept(text: string, options: string, version: Version): boolean {
  const [, address = ""] = /^([^/%]+)(?:\/\d{1,3})?(?:%.*)?$/.exec(text) ?? [];
  const found = isIP(address);
  if (found === 0 || (version !== undefined && found !== version)) return false;
  return options
    .split(",")
    .map((each) => each.trim())
    .every((option) => option === "" || kindOf(option)(address));
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
      `unknown option ${JSON.stringify(option.slice(0, 40))}: use ${Object.keys(kinds).join(", ")}, public or global`,
    );
  return isIn(networks);
}

interface Range {
  first: bigint;
  size: bigint;
  isV6: boolean;
}

/** @throws Fault */
function networkOf(text: string): Range {
  const [, address = "", length] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const bytes = isIP(address) === 0 ? undefined : parseIp(address);
  const isV6 = bytes?.length === 16;
  const most = isV6 ? 128 : 32;
  const bits = length === undefined ? most : Number(length);
  if (bytes === undefined || bits > most)
    throw new Fault(`${JSON.stringify(text.slice(0, 60))} is not a network`);
  const size = 1n << BigInt(most - bits);
  const number = bytes.reduce((all, byte) => (all << 8n) | BigInt(byte), 0n);
  return { first: number - (number % size), size, isV6 };
}

function addressText(number: bigint, isV6: boolean): string {
  const group = isV6 ? 16n : 8n;
  const parts = Array.from(
    { length: isV6 ? 8 : 4 },
    (_, at) => (number >> (group * BigInt((isV6 ? 7 : 3) - at))) & ((1n << group) - 1n),
  );
  if (!isV6) return parts.join(".");
  const text = parts.map((part) => part.toString(16)).join(":");
  const [longest] = [...text.matchAll(/(?:^|:)0(?::0)+(?=:|$)/g)].sort(
    (one, other) => other[0].length - one[0].length,
  );
  if (longest === undefined) return text;
  return `${text.slice(0, longest.index)}::${text.slice(longest.index + longest[0].length).replace(/^:/, "")}`;
}
