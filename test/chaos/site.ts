import { join } from "node:path";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { createMaster, createPeel, type MasterUnit } from "./daemons.ts";
import { type Answer, type Question, requestMaster } from "./door.ts";
import { createNetwork, type Network } from "./network.ts";
import type { Recorder } from "./recorder.ts";
import { createServers, type Servers } from "./servers.ts";
import type { Unit } from "./unit.ts";

/** The fleet of a run. */
export interface Site {
  readonly dir: string;
  readonly network: Network;
  readonly servers: Servers;
  readonly masters: readonly MasterUnit[];
  readonly peels: readonly Unit[];
  readonly recorder: Recorder;
  request(master: MasterUnit, question: Question): Promise<Answer>;
}

const startWithinMs = 120_000;
/** Peels start in groups: all at once would be slow rather than parallel. */
const group = 5;

/** Starts a cluster, its masters and its peels; all peels are members and connected when this resolves. */
export async function startSite(
  dir: string,
  options: { natsServer: string; masters: number; peels: number; recorder: Recorder },
): Promise<Site> {
  const { natsServer, recorder } = options;
  const network = createNetwork();
  const servers = await createServers(network, dir, natsServer);
  const [first, second, ...later] = servers.list;
  // In the order of docs/clusters.md: servers that start at once can elect a leader without one of them.
  for (const server of [first, second]) server?.start();
  await Promise.any([first, second].map((server) => server?.wrote("JetStream cluster new metadata leader")));
  for (const server of later) server.start();
  for (const server of servers.list) await server.wrote("Server is ready");
  const count = (max: number) => Array.from({ length: max }, (_, index) => index + 1);
  const masters = count(options.masters).map((number) => createMaster(network, servers, dir, number));
  for (const master of masters) {
    master.start();
    await master.wrote("master ready");
  }
  const peels = count(options.peels).map((number) => createPeel(network, servers, masters, dir, number));
  const request: Site["request"] = (master, question) =>
    requestMaster(network, master, servers.caPem, question);
  const site = { dir, network, servers, masters, peels, recorder, request };
  for (let from = 0; from < peels.length; from += group) await admit(site, peels.slice(from, from + group));
  return site;
}

/** Starts peels and approves them. */
async function admit({ masters, request, recorder }: Site, peels: readonly Unit[]): Promise<void> {
  const [master] = masters;
  if (master === undefined) throw new Error("no master is configured");
  for (const peel of peels) peel.start();
  const until = systemClock.monotonic() + startWithinMs;
  while (!peels.every((peel) => peel.output().includes('"peel connected"'))) {
    if (systemClock.monotonic() > until) throw new Error(`no connection:\n${peels[0]?.output()}`);
    const pending = await request(master, { path: "/api/v1/enrollments?state=pending" });
    for (const { id } of (pending.json ?? []) as { id: string }[]) {
      const path = `/api/v1/enrollments/${id}/approve`;
      const requested = {
        door: "rest",
        master: master.host.name,
        operation: "approve",
        enrollment: id,
      } as const;
      await recorder.call(requested, request(master, { method: "POST", path, body: {} }));
    }
    await sleep(systemClock, 300);
  }
}

/** Where the peel of this unit writes what its commands do. */
export function effectsOf(peel: Unit): string {
  return join(peel.dir, "effects");
}
