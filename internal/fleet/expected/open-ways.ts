import type { Clock } from "../../base/clock.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { OpenWay } from "../enrollment/mod.ts";
import type { ExpectedHost } from "./record.ts";
import type { ExpectedView } from "./view.ts";

const maxNamed = 3;

/** The hosts that are expected now, together for each operator: there may be thousands. */
export async function openExpected(
  view: Pick<ExpectedView, "all">,
  clock: Pick<Clock, "now">,
): Promise<OpenWay[]> {
  const now = clock.now();
  const byOperator = new Map<string, ExpectedHost[]>();
  for (const { host } of await view.all()) {
    if (host === undefined || host.endsAt <= now || host.takenBy !== undefined) continue;
    const hosts = byOperator.get(host.by);
    if (hosts === undefined) byOperator.set(host.by, [host]);
    else hosts.push(host);
  }
  return [...byOperator].map(([by, hosts]) => ({
    ...{ kind: "expected", name: by, peels: named(hosts), decides: "approve", by },
    uses: hosts.length,
    endsAt: hosts.reduce((last, one) => Math.max(last, one.endsAt), 0),
    conditions: hosts.some(({ labels = {} }) => Object.keys(labels).length > 0)
      ? "the key of each host, once; it gets the labels of its entry"
      : "the key of each host, once",
  }));
}

function named(hosts: readonly ExpectedHost[]): string {
  const shown = hosts
    .slice(0, maxNamed)
    .map(({ peelId }) => displayPeelId(peelId))
    .join(", ");
  return hosts.length <= maxNamed ? shown : `${shown} and ${hosts.length - maxNamed} more`;
}
