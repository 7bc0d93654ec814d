import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { formatNetwork, parseIp, sourceNetwork } from "../../base/names/ip-network.ts";

/** What was refused counts for one to two of these. */
const halfMs = 5 * 60_000;
const maxSources = 1_024;
const maxListed = 5;
/** Fewer are one impatient client. */
const fewestRefused = 10;

/** A source of which a master refuses requests or connections, because there are too many. */
export interface LimitedSource {
  /** As in `cidr` of `enroll.networks`: an IPv4 address, or an IPv6 /64. */
  source: string;
  /** How many were refused within the last five to ten minutes. */
  refused: number;
  /** The named network whose budget it spends. */
  network?: string;
}

/** The sources that a master limits. */
export interface LimitedSources {
  /** One more was refused. */
  note(ip: string): void;
  /** Those with the most refused ones, first. */
  list(): LimitedSource[];
}

/** @param networkOf the named network of an address */
export function createLimitedSources(
  networkOf: (ip: string) => string | undefined,
  clock: Pick<Clock, "monotonic">,
): LimitedSources {
  let since = clock.monotonic();
  let [current, previous] = [new Map<string, number>(), new Map<string, number>()];
  const turn = () => {
    const ageMs = clock.monotonic() - since;
    if (ageMs < halfMs) return;
    previous = ageMs < 2 * halfMs ? current : new Map();
    current = new Map();
    since += ageMs;
  };
  return {
    note(ip) {
      turn();
      const address = parseIp(ip);
      if (address !== undefined) count(current, formatNetwork(sourceNetwork(address)));
    },
    list() {
      turn();
      const all = new Map(previous);
      for (const [source, refused] of current) all.set(source, (all.get(source) ?? 0) + refused);
      return [...all]
        .filter(([, refused]) => refused >= fewestRefused)
        .sort(([, one], [, other]) => other - one)
        .slice(0, maxListed)
        .map(([source, refused]) => {
          const [ip = ""] = source.split("/");
          return { source, refused, ...defined({ network: networkOf(ip) }) };
        });
    },
  };
}

/**
 * Counts one more. In a full table each source loses one instead: those with few go, and one with many stays, whatever
 * number of others comes (Misra and Gries).
 */
function count(counts: Map<string, number>, source: string): void {
  const known = counts.get(source);
  if (known !== undefined || counts.size < maxSources) {
    counts.set(source, (known ?? 0) + 1);
    return;
  }
  for (const [other, refused] of counts) {
    if (refused === 1) counts.delete(other);
    else counts.set(other, refused - 1);
  }
}
