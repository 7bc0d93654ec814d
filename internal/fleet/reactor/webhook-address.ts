import { BlockList, isIPv6 } from "node:net";
import { type Network, parseNetwork } from "../../base/network.ts";

/** What only processes of the same host or the same link, or the virtual machines of a provider, can reach. */
const closed: Readonly<Record<string, readonly string[]>> = {
  "a loopback address": ["127.0.0.0/8", "::1/128", "0.0.0.0/8", "::/128"],
  "a metadata address": [
    ...["169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192"],
    ...["fd00:ec2::254", "fd20:ce::254"],
  ],
  "a link-local address": ["169.254.0.0/16", "fe80::/10"],
  "a multicast address": ["224.0.0.0/4", "255.255.255.255", "ff00::/8"],
};

/** Tells whether a webhook may connect to an address. */
export interface WebhookAddresses {
  /**
   * @param host the host in the URL of the rule, in lower case
   * @param address what it resolved to
   * @returns what kind of address it is, when it is refused
   */
  refusal(host: string, address: string): string | undefined;
}

/** @param allow names of hosts, addresses and ranges that are allowed whatever they are */
export function createWebhookAddresses(allow: readonly string[]): WebhookAddresses {
  const names = new Set(allow.filter((entry) => parseNetwork(entry) === undefined).map(nameOf));
  const open = listOf(allow);
  const refused = Object.entries(closed).map(([kind, ranges]) => ({ kind, list: listOf(ranges) }));
  return {
    refusal(host, address) {
      if (names.has(nameOf(host)) || contains(open, address)) return undefined;
      // A gateway or the kernel would deliver it to the IPv4 address inside.
      const inside = embedded(address);
      return refused.find(
        ({ list }) => contains(list, address) || (inside !== undefined && contains(list, inside)),
      )?.kind;
    },
  };
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  const networks = ranges.map(parseNetwork).filter((network): network is Network => network !== undefined);
  for (const { address, prefix, family } of networks) list.addSubnet(address, prefix, family);
  return list;
}

function contains(list: BlockList, address: string): boolean {
  return list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** `hooks.example.com.` is the same host. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}

/** The IPv4 address in an IPv6 address that is mapped, compatible, NAT64 or 6to4. */
function embedded(address: string): string | undefined {
  if (!isIPv6(address)) return undefined;
  // The URL writes every address in one form: hexadecimal groups, one run of zeros left out.
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, "")}]/`);
  const [head = "", tail] = hostname.slice(1, -1).split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => "0");
  const groups = [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16));
  const dotted = ([high = 0, low = 0]: number[]) =>
    [high >> 8, high & 255, low >> 8, low & 255].map(String).join(".");
  const isZero = (from: number, to: number) => groups.slice(from, to).every((group) => group === 0);
  if (groups[0] === 0x2002) return dotted(groups.slice(1, 3));
  if (groups[0] === 0x64 && groups[1] === 0xff9b && isZero(2, 6)) return dotted(groups.slice(6));
  if (isZero(0, 5) && (groups[5] === 0 || groups[5] === 0xffff)) return dotted(groups.slice(6));
  return undefined;
}
