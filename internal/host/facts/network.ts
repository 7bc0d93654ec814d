import type { FactTable } from "./fact.ts";
import type { Host, InterfaceAddress } from "./host.ts";

const maxInterfaces = 256;
/** Virtual interfaces of containers and guests, which are short-lived. */
const shortLived = /^(veth|cali|lxc|lxd|vnet|tap|cilium|ifb|azv)/;

/** Addresses by interface name. */
type Interfaces = ReadonlyMap<string, readonly InterfaceAddress[]>;

function interfacesOf(host: Host): Interfaces {
  const temporary = temporaryAddresses(host.read("/proc/net/if_inet6") ?? "");
  const entries = Object.entries(host.interfaces())
    .filter(([name]) => !shortLived.test(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, maxInterfaces)
    .map(([name, addresses]) => {
      const lasting = addresses.filter(({ address }) => !temporary.has(expandIpv6(address)));
      return [name, lasting] as const;
    });
  return new Map(entries);
}

const temporaryFlag = 0x01;

/**
 * The temporary addresses in /proc/net/if_inet6, which the kernel replaces daily (RFC 8981), as 32
 * hexadecimal digits.
 */
function temporaryAddresses(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const line of text.split("\n")) {
    const [address, , , , flags] = line.trim().split(/\s+/);
    if (address !== undefined && Number.parseInt(flags ?? "0", 16) & temporaryFlag) found.add(address);
  }
  return found;
}

/** Expands an IPv6 address to 32 hexadecimal digits; other input gives an invalid address. */
function expandIpv6(address: string): string {
  const [head = "", tail] = address.split("::");
  const groups = (text: string) => text.split(":").filter(Boolean);
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const missing = Math.max(0, 8 - left.length - right.length);
  const zeros: string[] = Array(tail === undefined ? 0 : missing).fill("0");
  return [...left, ...zeros, ...right].map((group) => group.padStart(4, "0")).join("");
}

function addressesByInterface(host: Host, family?: "IPv4" | "IPv6"): Record<string, string[]> {
  return Object.fromEntries([...interfacesOf(host)].map(([name, list]) => [name, addressesOf(list, family)]));
}

function addressesOf(list: readonly InterfaceAddress[], family?: "IPv4" | "IPv6"): string[] {
  return list
    .filter((entry) => family === undefined || entry.family === family)
    .map((entry) => entry.address);
}

function allAddresses(host: Host, family: "IPv4" | "IPv6"): string[] {
  const lists = [...interfacesOf(host).values()].flatMap((list) => addressesOf(list, family));
  return [...new Set(lists)].sort();
}

/** Addresses that other hosts may reach: those of a name are not looked up. */
function outwardAddresses(host: Host, family: "IPv4" | "IPv6"): string[] {
  return allAddresses(host, family).filter((address) => !/^(?:127\.|::1$|fe80:)/.test(address));
}

/** The gateway of the default route with the lowest metric in /proc/net/route. */
export function parseIpv4Gateway(text: string): string | undefined {
  let best: { metric: number; gateway: string } | undefined;
  for (const line of text.split("\n").slice(1)) {
    const [, destination, gateway, , , , metric, mask] = line.trim().split(/\s+/);
    if (destination !== "00000000" || mask !== "00000000" || gateway === undefined) continue;
    if (!/^[0-9A-F]{8}$/i.test(gateway) || gateway === "00000000") continue;
    const found = { metric: Number(metric), gateway };
    if (best === undefined || found.metric < best.metric) best = found;
  }
  // The kernel prints the address in host byte order: the last byte first.
  return best?.gateway
    .match(/../g)
    ?.reverse()
    .map((byte) => Number.parseInt(byte, 16))
    .join(".");
}

/** The gateway of the default route with the lowest metric in /proc/net/ipv6_route. */
export function parseIpv6Gateway(text: string): string | undefined {
  let best: { metric: number; gateway: string } | undefined;
  for (const line of text.split("\n")) {
    const [destination, prefix, , , gateway, metric] = line.trim().split(/\s+/);
    if (destination === undefined || prefix !== "00" || !/^0{32}$/.test(destination)) continue;
    if (gateway === undefined || !/^[0-9a-f]{32}$/i.test(gateway) || /^0{32}$/.test(gateway)) continue;
    const found = { metric: Number.parseInt(metric ?? "", 16), gateway };
    if (best === undefined || found.metric < best.metric) best = found;
  }
  return best === undefined ? undefined : compressIpv6(best.gateway);
}

/** Formats 32 hexadecimal digits according to RFC 5952. */
function compressIpv6(digits: string): string {
  const groups = (digits.match(/.{4}/g) ?? []).map((group) => Number.parseInt(group, 16).toString(16));
  const text = groups.join(":");
  const [maxLength] = [...text.matchAll(/(?:^|:)0(?::0)+(?=:|$)/g)].sort((a, b) => b[0].length - a[0].length);
  if (maxLength === undefined) return text;
  const before = text.slice(0, maxLength.index);
  const after = text.slice(maxLength.index + maxLength[0].length).replace(/^:/, "");
  return `${before}::${after}`;
}

interface Resolver {
  nameservers: string[];
  search: string[];
  domain: string;
  options: string[];
}

/** Parses /etc/resolv.conf (resolv.conf(5)); the last `search` or `domain` applies. */
export function parseResolvConf(text: string): Resolver {
  const resolver: Resolver = { nameservers: [], search: [], domain: "", options: [] };
  for (const line of text.split("\n")) {
    const [key, ...values] = line
      .replace(/\s*[#;].*$/, "")
      .trim()
      .split(/\s+/);
    const [value] = values;
    if (value === undefined) continue;
    if (key === "nameserver") resolver.nameservers.push(value);
    if (key === "search") resolver.search = values;
    if (key === "domain") resolver.domain = value;
    if (key === "options") resolver.options = values;
  }
  return resolver;
}

function hardwareAddresses(host: Host): Record<string, string> {
  const names = host.list("/sys/class/net").filter((name) => !shortLived.test(name));
  const fromKernel = names.flatMap((name) => {
    const address = host.read(`/sys/class/net/${name}/address`)?.trim();
    return address ? [[name, address] as const] : [];
  });
  if (fromKernel.length > 0) return Object.fromEntries(fromKernel.slice(0, maxInterfaces));
  const known = [...interfacesOf(host)].flatMap(([name, [first]]) =>
    first === undefined ? [] : [[name, first.mac] as const],
  );
  return Object.fromEntries(known);
}

const ipv4Gateway = (host: Host) => parseIpv4Gateway(host.read("/proc/net/route") ?? "");
const ipv6Gateway = (host: Host) => parseIpv6Gateway(host.read("/proc/net/ipv6_route") ?? "");

/** Names and addresses, without temporary ones. */
export const networkFacts: FactTable = {
  fqdn: (host) => host.hostname,
  host: (host) => host.hostname.split(".")[0] ?? "",
  localhost: (host) => host.hostname,
  nodename: (host) => host.uname.nodename,
  domain: (host) => host.hostname.split(".").slice(1).join("."),
  ipv4: (host) => allAddresses(host, "IPv4"),
  ipv6: (host) => allAddresses(host, "IPv6"),
  fqdn_ip4: (host) => outwardAddresses(host, "IPv4"),
  fqdn_ip6: (host) => outwardAddresses(host, "IPv6"),
  ip_interfaces: (host) => addressesByInterface(host),
  ip4_interfaces: (host) => addressesByInterface(host, "IPv4"),
  ip6_interfaces: (host) => addressesByInterface(host, "IPv6"),
  hwaddr_interfaces: hardwareAddresses,
  ip4_gw: ipv4Gateway,
  ip6_gw: ipv6Gateway,
  dns(host) {
    const text = host.read("/etc/resolv.conf");
    return text === undefined ? undefined : { ...parseResolvConf(text) };
  },
};
