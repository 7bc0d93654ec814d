import * as v from "valibot";
import { quote } from "../../base/cut.ts";
import { keysOf } from "../../base/document/read.ts";
import {
  duration,
  fields,
  integer,
  mapOf,
  type Problem,
  readBy,
  refuse,
} from "../../base/document/schemas.ts";
import { formatDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { formatNetwork, type IpNetwork, parseIpNetwork } from "../../base/names/ip-network.ts";
import type { OptionType } from "./option.ts";

/** A named network with a budget of its own. */
export interface NamedNetwork {
  readonly name: string;
  readonly cidr: readonly IpNetwork[];
  /** Requests at once. */
  readonly capacity: number;
  /** Milliseconds until one more request is allowed. */
  readonly refill: number;
  /** How many connections to the HTTPS listener its addresses may have together. */
  readonly connections?: number | undefined;
}

const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

const examples: Readonly<Record<string, string>> = {
  cidr: "a list such as [192.0.2.0/24]",
  capacity: "the number of requests at once",
  refill: "the time until one more request, such as 1s",
};
const missing = (key: string) => `${key} is missing: ${examples[key]}`;

const network = fields(
  {
    cidr: v.pipe(v.array(v.pipe(v.string(), readBy(readNetwork))), v.minLength(1, missing("cidr"))),
    capacity: integer(1, 1_000_000),
    refill: duration(1),
    connections: v.exactOptional(integer(1, 16_384)),
  },
  { missing },
);

/** The map under `enroll.networks`, as a list of named networks. It has no flag. */
export const namedNetworks: OptionType<readonly NamedNetwork[]> = {
  name: "map of {cidr, capacity, refill, connections}",
  placeholder: "",
  schema: v.pipe(
    mapOf(
      network,
      v.pipe(
        v.string(),
        v.regex(
          nameForm,
          ({ input }) =>
            `${quote(input, 60)}: expected a name of at most 63 letters, digits, dots, hyphens and underscores`,
        ),
      ),
      (found) => `expected a map of networks, found ${found}`,
    ),
    refuse((networks) => twiceIn(networks)),
    v.transform((map) => Array.from(map, ([name, given]) => ({ name, ...given }))),
  ),
  nameOf: ([name, ...rest]) => (name === undefined ? [] : [quote(String(name), 60), ...keysOf(rest)]),
  format: (networks) =>
    JSON.stringify(
      Object.fromEntries(
        networks.map(({ name, cidr, refill, ...numbers }) => [
          name,
          { cidr: cidr.map(formatNetwork), ...numbers, refill: formatDuration(refill) },
        ]),
      ),
    ),
};

/** A range belongs to one network. */
function twiceIn(networks: ReadonlyMap<string, Pick<NamedNetwork, "cidr">>): Problem | undefined {
  const taken = new Map<string, string>();
  for (const [name, { cidr }] of networks) {
    for (const [at, range] of cidr.map(formatNetwork).entries()) {
      const other = taken.get(range);
      if (other !== undefined) {
        return { message: `${range} is a network of ${other} already`, at: [name, "cidr", at] };
      }
      taken.set(range, name);
    }
  }
  return undefined;
}

function readNetwork(written: string): IpNetwork {
  const network = parseIpNetwork(written);
  if (network !== undefined) return network;
  throw new SvcError(
    "bad_request",
    `${quote(written, 60)} is not a network such as 192.0.2.0/24 or 2001:db8::/48: bits beyond the length must be zero`,
  );
}
