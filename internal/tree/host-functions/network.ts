import type { Plain } from "../../base/msgpack.ts";
import { isInNetwork, parseIp, parseIpNetwork } from "../../base/names/ip-network.ts";
import { isMap } from "../../base/plain-map.ts";
import { serialOf } from "../../host/modules/mod.ts";
import { type HostFunction, type HostTools, reading, text } from "./function.ts";

type Args = Readonly<Record<string, Plain>>;

/** Functions that look at the network of the host, as its facts have it. */
export const networkFunctions: readonly HostFunction[] = [
  ...["network.ip_addrs", "network.ipaddrs"].map((name) =>
    reading(
      name,
      ["interface?", "include_loopback?", "cidr?"],
      "Lists the IPv4 addresses, of one interface if it is named.",
      (args, tools) => addresses("ip4_interfaces", args, tools),
    ),
  ),
  ...["network.ip_addrs6", "network.ipaddrs6"].map((name) =>
    reading(
      name,
      ["interface?", "include_loopback?", "cidr?"],
      "Lists the IPv6 addresses, of one interface if it is named.",
      (args, tools) => addresses("ip6_interfaces", args, tools),
    ),
  ),
  reading("network.interfaces", [], "Returns the interfaces with their addresses.", (_, tools) => {
    const [v4, v6, hardware] = ["ip4_interfaces", "ip6_interfaces", "hwaddr_interfaces"].map((name) =>
      factMap(name, tools),
    );
    const names = [...new Set([v4, v6, hardware].flatMap((each) => Object.keys(each ?? {})))].sort();
    const listed = (list: Plain | undefined) =>
      Array.isArray(list) ? list.map((address) => ({ address })) : [];
    return Object.fromEntries(
      names.map((name) => [
        name,
        { up: true, hwaddr: hardware?.[name] ?? null, inet: listed(v4?.[name]), inet6: listed(v6?.[name]) },
      ]),
    );
  }),
  reading(
    "network.hw_addr",
    ["iface"],
    "Returns the hardware address of an interface.",
    (args, tools) => factMap("hwaddr_interfaces", tools)[text(args, "iface")] ?? "",
  ),
  reading(
    "network.interface_ip",
    ["iface"],
    "Returns the first IPv4 address of an interface.",
    (args, tools) => {
      const found = factMap("ip4_interfaces", tools)[text(args, "iface")];
      return Array.isArray(found) ? (found[0] ?? "") : "";
    },
  ),
  reading(
    "network.get_hostname",
    [],
    "Returns the name of the host.",
    (_, { context }) => context.facts.get("host") ?? "",
  ),
  reading(
    "network.get_fqdn",
    [],
    "Returns the full name of the host.",
    (_, { context }) => context.facts.get("fqdn") ?? "",
  ),
  reading(
    "dnsutil.serial",
    ["zone?", "update?"],
    "Returns the serial of a zone, or the next one with update; only the state module.run stores it.",
    ({ zone, update }, { context }) =>
      serialOf(typeof zone === "string" ? zone : "", update === true, context),
  ),
];

function factMap(name: string, { context }: HostTools): Record<string, Plain> {
  const found = context.facts.get(name);
  return isMap(found) ? { ...found } : {};
}

function addresses(fact: string, args: Args, tools: HostTools): Plain {
  const only = typeof args.interface === "string" ? args.interface : undefined;
  const found = Object.entries(factMap(fact, tools))
    .filter(([name]) => only === undefined || name === only)
    .flatMap(([, list]) => (Array.isArray(list) ? list : []))
    .filter((address): address is string => typeof address === "string");
  const withLoopback = args.include_loopback === true || only !== undefined;
  const network = typeof args.cidr === "string" ? parseIpNetwork(args.cidr) : undefined;
  return [...new Set(found)].filter((address) => {
    if (!withLoopback && /^(?:127\.|::1$)/.test(address)) return false;
    const bytes = parseIp(address);
    return network === undefined || (bytes !== undefined && isInNetwork(bytes, network));
  });
}
