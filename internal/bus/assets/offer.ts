import type { Bus } from "../connection/mod.ts";
import { listStreams, managerOf } from "../jetstream/mod.ts";
import type { SystemBus } from "../servers/mod.ts";
import { type AssetName, assets, streamName } from "./assets.ts";
import type { Offer } from "./room.ts";

/**
 * What the bus offers to the service: what its smallest server has, without what other streams on that server
 * reserve, and no more than the account may store.
 *
 * @returns `undefined` when no server says
 * @throws JetStreamError, NatsError when JetStream does not answer
 */
export async function readOffer(bus: Bus, system: Pick<SystemBus, "storage">): Promise<Offer | undefined> {
  const servers = await system.storage();
  if (servers.length === 0) return undefined;
  const own = await ownReservation(bus);
  const { limits } = await (await managerOf(bus)).getAccountInfo();
  const mayStore = limits.max_storage > 0 ? limits.max_storage : Number.POSITIVE_INFINITY;
  const left = servers.map(({ storage, reservedStorage }) => storage - Math.max(0, reservedStorage - own));
  return {
    storage: Math.max(0, Math.min(mayStore, ...left)),
    memory: Math.min(...servers.map(({ memory }) => memory)),
  };
}

/** What the limits of the streams of the service reserve on disk. */
async function ownReservation(bus: Bus): Promise<number> {
  const names = new Map((Object.keys(assets) as AssetName[]).map((name) => [streamName(name), name]));
  const streams = await listStreams(bus);
  return streams
    .filter(({ name, onDisk }) => onDisk && names.has(name))
    .reduce((sum, { maxBytes }) => sum + Math.max(0, maxBytes), 0);
}
