import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { connectBus } from "../../internal/bus/connection/connect.ts";
import { recordingLog } from "../harness/log.ts";
import { answerCommands } from "../harness/worker.ts";
import type { Behavior } from "./behavior.ts";
import { createCounter } from "./counter.ts";
import { enlist, mintMember, peelsAccountKey } from "./credentials.ts";
import { type LightPeel, startLightPeel } from "./light/peel.ts";
import { type SimulatedPeel, startSimulatedPeel } from "./peel.ts";

// A process of the simulator: many peels, told what to do by the harness.

/** Where the fleet lives. */
export interface Site {
  busUrl: string;
  /** The servers that its light peels connect to, in turns; only `busUrl` unless given. */
  urls?: readonly string[];
  caPem: string;
  authDir: string;
  dataDir: string;
  commandKeys: readonly string[];
  /** Its peels are light ones: they cost little, and believe every command. */
  light: boolean;
  /** The site whose label its peels have. */
  label?: string;
  /** The site whose commands its light peels hear. */
  siteName?: string;
  /** Where the records of its peels are written, if not at `busUrl`. */
  storeUrl?: string;
}

export type FleetCommand =
  | { start: { site: Site; peels: readonly string[]; perSecond: number } }
  | { behave: { peels: readonly string[]; behavior: Behavior } }
  | { away: readonly string[] }
  | { back: readonly string[] }
  | { restart: readonly string[] }
  | { stop: readonly string[] }
  | { reset: true }
  | { lost: string }
  | { greeted: true }
  | { gone: string }
  | { reported: readonly string[] }
  | { reports: true }
  | { report: true };

/** What a process knows of its peels. Times are milliseconds since the Unix epoch. */
export interface FleetReport {
  peels: number;
  connectedAt: number[];
  greetedAt: number[];
  complaints: Readonly<Record<string, number>>;
}

const peels = new Map<string, SimulatedPeel>();
const lightPeels = new Set<LightPeel>();
const counter = createCounter();

async function start({ site, peels: ids, perSecond }: Extract<FleetCommand, { start: unknown }>["start"]) {
  const account = peelsAccountKey(site.authDir);
  const members = ids.map((id) => ({ ...mintMember(id, account, site.siteName), site: site.label }));
  const bus = await connectBus({
    urls: [site.storeUrl ?? site.busUrl],
    name: "fleet-simulator",
    identity: { credentials: readFileSync(join(site.authDir, "master.creds"), "utf8") },
    ca: site.caPem,
    clock: systemClock,
    log: recordingLog(),
  });
  await enlist(bus, site.authDir, members);
  await bus.nats.close();
  const started = systemClock.monotonic();
  await Promise.all(
    members.map(async (member, at) => {
      await sleep(systemClock, Math.max(0, started + (at * 1000) / perSecond - systemClock.monotonic()));
      if (site.light) {
        const { busUrl, urls = [busUrl] } = site;
        const peel = startLightPeel({ ...site, urls, first: at % urls.length, member, counter });
        lightPeels.add(peel);
        peels.set(member.peelId, peel);
      } else peels.set(member.peelId, await startSimulatedPeel({ ...site, member, counter }));
    }),
  );
}

const each = (ids: readonly string[], act: (peel: SimulatedPeel) => void | Promise<void>) =>
  Promise.all(
    ids.map((id) => {
      const peel = peels.get(id);
      if (peel === undefined) throw new Error(`no simulated peel ${id}`);
      return act(peel);
    }),
  );

async function run(command: FleetCommand): Promise<void> {
  if ("start" in command) return start(command.start);
  if ("behave" in command) {
    const { behavior } = command.behave;
    await each(command.behave.peels, (peel) => peel.behave(behavior));
  } else if ("away" in command) await each(command.away, (peel) => peel.goAway());
  else if ("back" in command) await each(command.back, (peel) => peel.comeBack());
  else if ("restart" in command) await each(command.restart, (peel) => peel.restart());
  else if ("stop" in command) {
    await each(command.stop, (peel) => peel.stop());
    for (const id of command.stop) {
      for (const one of lightPeels) if (one === peels.get(id)) lightPeels.delete(one);
      peels.delete(id);
    }
  } else if ("reports" in command) for (const peel of lightPeels) peel.report();
  else if ("reset" in command) counter.reset();
  else if ("lost" in command) {
    for (const { url, peelId } of lightPeels) if (url() === command.lost) counter.gone(peelId);
  } else if ("greeted" in command) await counter.allGreeted(peels.size);
  else if ("gone" in command) await counter.isGone(command.gone);
  else if ("reported" in command) await counter.allNotified(command.reported, peels.keys());
}

answerCommands(async (command: FleetCommand): Promise<FleetReport> => {
  await run(command);
  return {
    peels: peels.size,
    connectedAt: [...counter.connectedAt.values()],
    greetedAt: [...counter.greetedAt.values()],
    complaints: counter.complaints,
  };
});
