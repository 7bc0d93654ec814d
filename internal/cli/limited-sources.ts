import type { Masters } from "./fleet-reads.ts";

/** A source that masters limit, and what to write if hosts or people of the operator are behind it. */
export interface LimitedSource {
  message: string;
  next: string;
}

/** The sources that masters limit, the most refused first. */
export function limitedSources({ masters }: Pick<Masters, "masters">): LimitedSource[] {
  const found = new Map<string, { refused: number; network: string | undefined; by: string[] }>();
  for (const { name, limited = [] } of masters) {
    for (const { source, refused, network } of limited) {
      const known = found.get(source);
      const by = [...(known?.by ?? []), name];
      found.set(source, { refused: refused + (known?.refused ?? 0), network: network ?? known?.network, by });
    }
  }
  return [...found]
    .sort(([, one], [, other]) => other.refused - one.refused)
    .map(([source, { refused, network, by }]) => ({
      message: `${source} is limited: ${by.join(", ")} refused ${refused} of its requests and connections within 10 minutes`,
      next: `if your hosts or people are behind it, ${adviceFor(source, network)}`,
    }));
}

function adviceFor(source: string, network: string | undefined): string {
  if (network !== undefined)
    return `raise capacity and connections of enroll.networks.${network} on the masters`;
  const [address = ""] = source.split("/");
  const name = ["site", ...address.split(/[.:]+/).filter(Boolean)].join("-");
  const cidr = source.includes(":") ? `'${source}'` : source;
  const budget = "capacity: 500, refill: 1s, connections: 500";
  return `write on the masters enroll.networks: {${name}: {cidr: [${cidr}], ${budget}}}`;
}
