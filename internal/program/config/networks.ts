import { formatDuration } from "../../base/duration.ts";
import { type IpNetwork, parseIpNetwork } from "../../base/ip-network.ts";
import { kindOf, type YamlNode } from "../../base/yaml.ts";
import { readFields } from "./fields.ts";
import { listOf } from "./list.ts";
import { Complaint, type OptionType } from "./option.ts";
import { duration, integer } from "./scalar.ts";

/** A named network with a budget of its own. */
export interface NamedNetwork {
  readonly name: string;
  readonly cidr: readonly IpNetwork[];
  /** Requests at once. */
  readonly capacity: number;
  /** Milliseconds until one more request is allowed. */
  readonly refill: number;
}

const fields = {
  cidr: listOf({ name: "networks", placeholder: "<cidr>", read: readNetwork }),
  capacity: integer(1, 1_000_000),
  refill: duration(1),
};

const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** The map under `enroll.networks`, as a list of named networks. It has no flag. */
export const namedNetworks: OptionType<readonly NamedNetwork[]> = {
  name: "map of {cidr, capacity, refill}",
  placeholder: "",
  fromYaml(node: YamlNode) {
    if (node.kind !== "map")
      throw new Complaint(`expected a map of networks, found ${kindOf(node)}`, node.at);
    const taken = new Map<string, string>();
    return node.entries.map(({ key, keyAt, value }) => {
      try {
        const network = readOne(key, value);
        for (const text of network.cidr.map(formatNetwork)) {
          const other = taken.get(text);
          if (other !== undefined) throw new Complaint(`cidr: ${text} is a network of ${other} already`);
          taken.set(text, key);
        }
        return network;
      } catch (thrown) {
        if (!(thrown instanceof Complaint)) throw thrown;
        throw new Complaint(`${JSON.stringify(key.slice(0, 60))}: ${thrown.message}`, thrown.at ?? keyAt);
      }
    });
  },
  fromFlag: () => {
    throw new Complaint("can only be set in the file");
  },
  format: (networks) =>
    JSON.stringify(
      Object.fromEntries(
        networks.map(({ name, cidr, capacity, refill }) => [
          name,
          { cidr: cidr.map(formatNetwork), capacity, refill: formatDuration(refill) },
        ]),
      ),
    ),
};

function readOne(name: string, node: YamlNode): NamedNetwork {
  if (!nameForm.test(name)) {
    throw new Complaint("expected a name of at most 63 letters, digits, dots, hyphens and underscores");
  }
  const { cidr = [], capacity, refill } = readFields(node, fields);
  if (cidr.length === 0) throw new Complaint("cidr is missing: a list such as [192.0.2.0/24]");
  if (capacity === undefined) throw new Complaint("capacity is missing: the number of requests at once");
  if (refill === undefined)
    throw new Complaint("refill is missing: the time until one more request, such as 1s");
  return { name, cidr: cidr.flatMap((text) => parseIpNetwork(text) ?? []), capacity, refill };
}

function readNetwork(text: string): string {
  if (parseIpNetwork(text) !== undefined) return text;
  throw new Complaint(
    `${JSON.stringify(text.slice(0, 60))} is not a network such as 192.0.2.0/24 or 2001:db8::/48: bits beyond the length must be zero`,
  );
}

/** A network as it is written. */
export function formatNetwork({ bytes, bits }: IpNetwork): string {
  if (bytes.length === 4) return `${bytes.join(".")}/${bits}`;
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[at * 2] ?? 0) << 8) | (bytes[at * 2 + 1] ?? 0)).toString(16),
  );
  // The parser of URLs writes an address in its short form.
  return `${new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1)}/${bits}`;
}
