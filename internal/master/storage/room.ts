import { sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import {
  type AssetName,
  assets,
  type Fullness,
  fittingHistory,
  fullest,
  fullnessOf,
  keepFewerRevisions,
  probeStorage,
  readFullness,
  silentAssets,
  streamName,
} from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { deleteStream } from "../../bus/jetstream/mod.ts";
import type { RecentStreams } from "../../bus/streams/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import type { MasterView } from "../metrics/mod.ts";
import { growReplicas } from "./grow-replicas.ts";
import { renewTransient, transient } from "./renew-transient.ts";

const measureMs = 10_000;
/** How old the list of streams may be that is measured. */
const listedWithinMs = 2_000;
const retryMs = 10_000;
/** Below what a check may take, so that it can say what is slow. */
const answerMs = 1_800;
/** The parts of it: to list the streams, and then to find those because of which that fails. */
const listMs = 1_200;
const findMs = 500;
/** From this part of its limit on the audit gets more room: it makes none by itself. */
const widePart = 0.7;
const widenEveryMs = 10 * 60_000;
/** Streams that make room by themselves: one peel that fills them must not take a master out of service. */
const makesRoom: ReadonlySet<AssetName> = new Set(["events", "job-events"]);
const lackAdvice =
  "systemctl restart svc-master if that lasts, on the host of that master: it creates what is missing";
/** Masters do not need it, and an operator who stops it must not take them out of service. */
const ofOperators: AssetName = "probe";

/** The room on the bus, as one master watches it. */
export interface WatchedRoom {
  /** `storage` of /readyz: writes, reads, and looks for full streams. */
  check(): Promise<CheckResult>;
  view: NonNullable<MasterView["storage"]>;
  stop(): void;
}

export interface RoomOptions {
  bus: Bus;
  streams: RecentStreams;
  /** Of this master. */
  name: string;
  /** Creates and adjusts all storage, once. */
  provision: () => Promise<unknown>;
  /** How many replicas each stream should have on the servers that there are now. */
  replicas: () => number;
  log: Log;
}

interface Watching extends RoomOptions {
  readonly grow: ReturnType<typeof growReplicas>;
  readonly renew: ReturnType<typeof renewTransient>;
  measured: readonly Fullness[];
  /** The stream that was warned of last. */
  warnedOf: string;
  widenedAt: number | undefined;
}

/**
 * Measures how full each stream is, and provisions again after a restart of the bus that lost some: a server
 * that has less room than before does not open streams whose limits it cannot reserve. It also gives
 * streams the replicas that a grown cluster has room for.
 */
export function watchRoom(options: RoomOptions): WatchedRoom {
  const { bus, replicas: wanted, log } = options;
  const { clock } = bus;
  const stopping = new AbortController();
  const provision = () =>
    options.provision().catch((thrown) => log.warn("storage is not ready", { error: describeError(thrown) }));
  const drop = (asset: AssetName) => deleteStream(bus, streamName(asset), answerMs);
  const watching: Watching = {
    ...options,
    grow: growReplicas({ provision, wanted, clock }),
    renew: renewTransient({ provision, clock, log, drop }),
    ...{ measured: [], warnedOf: "", widenedAt: undefined },
  };
  const measureOrReport = () => {
    measure(watching).catch((thrown) =>
      log.debug("the room on the bus is not known", { reason: describeError(thrown) }),
    );
  };
  const unsubscribe = bus.onReconnect(() => {
    restore(options, stopping.signal).catch(() => {
      // Only the stop signal ends it.
    });
  });
  const timer = clock.every(measureMs, measureOrReport);
  measureOrReport();
  return {
    check: () => check(options),
    view() {
      const { measured } = watching;
      const limited = measured.filter(({ maxBytes }) => maxBytes > 0);
      return {
        bytes: Object.fromEntries(measured.map(({ asset, bytes }) => [asset, bytes])),
        limits: Object.fromEntries(limited.map(({ asset, maxBytes }) => [asset, maxBytes])),
      };
    },
    stop() {
      stopping.abort();
      unsubscribe();
      timer.cancel();
    },
  };
}

async function check({ bus, name }: RoomOptions): Promise<CheckResult> {
  const [found] = await Promise.all([
    readFullness(bus, listMs).catch((thrown) => nameSilent(bus, thrown)),
    probeStorage(bus, "master-probe", name, answerMs),
  ]);
  if (!Array.isArray(found)) return found;
  const worst = fullest(found);
  const yields = (one: AssetName) =>
    makesRoom.has(one) || found.some(({ asset, revisions }) => asset === one && revisions !== undefined);
  if (worst?.full === true && !yields(worst.asset)) {
    return { status: "down", message: worst.fullness, next: worst.advice };
  }
  const missing = missingFrom(found);
  if (missing.length > 0) {
    const message = `the bus does not offer ${missing.map(streamName).join(", ")}`;
    return { status: "degraded", message, next: lackAdvice };
  }
  if (worst === undefined) return { status: "up" };
  return { status: "degraded", message: worst.fullness, next: worst.advice };
}

/** @throws what was thrown, when all streams answer after all */
async function nameSilent(bus: Bus, thrown: unknown): Promise<CheckResult> {
  const silent = await silentAssets(bus, findMs);
  if (silent.length === 0) throw thrown;
  const isNeeded = silent.some((asset) => asset !== ofOperators);
  const names = silent.map(streamName).join(", ");
  return {
    status: isNeeded ? "down" : "degraded",
    message: `${names}: no answer, or no leader`,
    next: "svc cluster check; restart the bus server that stores them, one at a time where there are several",
  };
}

async function measure(watching: Watching): Promise<void> {
  const { streams, log } = watching;
  const listed = await streams.list(listedWithinMs);
  const measured = fullnessOf(listed);
  watching.measured = measured;
  const leaderless = listed.filter(({ hasLeader }) => !hasLeader);
  await watching.renew(fullnessOf(leaderless).map(({ asset }) => asset));
  const worst = fullest(measured);
  if (worst !== undefined && worst.asset !== watching.warnedOf) {
    log.warn("a stream on the bus is nearly full", { asset: worst.asset, reason: worst.message });
  }
  watching.warnedOf = worst?.asset ?? "";
  await watching.grow(measured);
  await widenAudit(watching);
  await dropRevisions(watching);
}

async function widenAudit(watching: Watching): Promise<void> {
  const { measured, widenedAt, bus, provision, log } = watching;
  const audit = measured.find(({ asset }) => asset === "audit");
  if (audit === undefined || audit.bytes < audit.maxBytes * widePart || audit.maxBytes <= 0) return;
  const now = bus.clock.monotonic();
  if (widenedAt !== undefined && now - widenedAt < widenEveryMs) return;
  watching.widenedAt = now;
  await provision().catch((thrown) =>
    log.warn("the audit gets no more room", { error: describeError(thrown) }),
  );
}

/** What is kept of earlier values must not keep out what peels store now. */
async function dropRevisions({ measured, bus }: Watching): Promise<void> {
  for (const { stream, bytes, maxBytes, revisions: retains } of measured) {
    if (retains === undefined) continue;
    const fits = fittingHistory({ bytes, maxBytes }, { wanted: retains, retains });
    if (fits < retains) await keepFewerRevisions(bus, stream, fits);
  }
}

/** Provisions until nothing is missing, or the bus was away again. */
async function restore({ bus, provision, log }: RoomOptions, signal: AbortSignal): Promise<void> {
  const { reconnects } = bus;
  while (!signal.aborted && bus.reconnects === reconnects) {
    try {
      const missing = missingFrom(await readFullness(bus));
      if (missing.length === 0) return;
      log.warn("streams are missing after a restart of the bus", { missing: missing.join(", ") });
      await provision();
    } catch (thrown) {
      log.warn("storage is not ready", { error: describeError(thrown), retry_in_ms: retryMs });
    }
    await sleep(bus.clock, retryMs, signal);
  }
}

/** What is not listed was removed, was never created, or has no leader at this moment. */
function missingFrom(found: readonly Fullness[]): AssetName[] {
  const there = new Set(found.map(({ asset }) => asset));
  return (Object.keys(assets) as AssetName[]).filter((asset) => !transient.has(asset) && !there.has(asset));
}
