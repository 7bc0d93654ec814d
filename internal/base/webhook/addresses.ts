import { type IpNetwork, isInNetwork, parseIp, parseIpNetwork } from "../names/ip-network.ts";

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
  const names = new Set(allow.filter((entry) => parseIpNetwork(entry) === undefined).map(nameOf));
  const open = networksOf(allow);
  const refused = Object.entries(closed).map(([kind, ranges]) => ({ kind, networks: networksOf(ranges) }));
  return {
    refusal(host, address) {
      if (names.has(nameOf(host))) return undefined;
      const bytes = parseIp(address);
      if (bytes === undefined) return "a malformed address";
      if (contains(open, bytes)) return undefined;
      // A gateway or the kernel would deliver it to the IPv4 address inside.
      const inside = embedded(bytes);
      return refused.find(
        ({ networks }) => contains(networks, bytes) || (inside !== undefined && contains(networks, inside)),
      )?.kind;
    },
  };
}

function networksOf(ranges: readonly string[]): IpNetwork[] {
  return ranges.flatMap((range) => parseIpNetwork(range) ?? []);
}

function contains(networks: readonly IpNetwork[], address: Uint8Array): boolean {
  return networks.some((network) => isInNetwork(address, network));
}

/** `hooks.example.com.` is the same host. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}

/** The IPv4 address in an IPv6 address that is compatible, NAT64 or 6to4; mapped ones are IPv4 already. */
function embedded(address: Uint8Array): Uint8Array | undefined {
  if (address.length === 4) return undefined;
  const starts = (...bytes: number[]) => bytes.every((byte, at) => address[at] === byte);
  const isZero = (from: number, to: number) => address.subarray(from, to).every((byte) => byte === 0);
  if (starts(0x20, 0x02)) return address.subarray(2, 6);
  if (starts(0x00, 0x64, 0xff, 0x9b) && isZero(4, 12)) return address.subarray(12);
  return isZero(0, 12) ? address.subarray(12) : undefined;
}
