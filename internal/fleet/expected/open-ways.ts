import type { Clock } from "../../base/clock.ts";
import { displayPeelId } from "../../base/peel-id.ts";
import type { OpenWay } from "../enrollment/mod.ts";
import type { ExpectedHost } from "./record.ts";
import { type ExpectedStore, readAllExpected } from "./store.ts";

const mostNamed = 3;

/** The hosts that are expected now, together for each operator: there may be thousands. */
export async function openExpected(store: ExpectedStore, clock: Pick<Clock, "now">): Promise<OpenWay[]> {
  const now = clock.now();
  const byOperator = new Map<string, ExpectedHost[]>();
  for (const { host } of await readAllExpected(store)) {
    if (host.endsAt <= now || host.taken !== undefined) continue;
    byOperator.set(host.by, [...(byOperator.get(host.by) ?? []), host]);
  }
  return [...byOperator].map(([by, hosts]) => ({
    ...{ kind: "expected", name: by, peels: named(hosts), decides: "approve", by },
    uses: hosts.length,
    endsAt: Math.max(...hosts.map(({ endsAt }) => endsAt)),
    conditions: hosts.some(({ labels = {} }) => Object.keys(labels).length > 0)
      ? "the key of each host, once; it gets the labels of its entry"
      : "the key of each host, once",
  }));
}

function named(hosts: readonly ExpectedHost[]): string {
  const shown = hosts
    .slice(0, mostNamed)
    .map(({ peelId }) => displayPeelId(peelId))
    .join(", ");
  return hosts.length <= mostNamed ? shown : `${shown} and ${hosts.length - mostNamed} more`;
}
