import { abortable } from "../../../base/abortable.ts";
import { describeError } from "../../../base/errors.ts";
import { displayPeelId } from "../../../base/names/peel-id.ts";
import { type BusOptions, connectBus } from "../../../bus/connection/mod.ts";
import { peelInboxPrefix } from "../../../bus/subjects/subjects.ts";
import { TrustError } from "../../../identity/trust/mod.ts";
import { assemble, type CheckResult } from "../../../program/health/mod.ts";
import { sendReports } from "../../compliance/mod.ts";
import { readPeelCredentials } from "../../identity/mod.ts";
import { grantedSite } from "../../joining/mod.ts";
import {
  type BusSource,
  builtinBusAdvice,
  builtinBusUrl,
  type Connection,
  createConnection,
  createSpread,
  findBus,
  followCluster,
  type Obstacle,
  returnToSite,
  type Spread,
  startRecovery,
  withHedging,
} from "../../link/mod.ts";
import type { PeelDeps } from "../options.ts";
import { startSession } from "../session.ts";
import type { LocalPhase } from "./local.ts";
import type { Masters } from "./masters.ts";
import type { OwnCalls } from "./own-calls.ts";
import type { Stores } from "./stores.ts";

/** The connected phase: the bus is found, however long that takes, and from then on masters give work. */
const requestEveryMs = 5 * 60_000;

export const bus = {
  start: (deps: BusDeps & Stores & LocalPhase & OwnCalls & Masters) =>
    assemble(async (stack) => {
      const { config, cache, refresh, clock, jitter, log, signal } = deps;
      const spread = createSpread(jitter);
      const openAs = openWith({ ...deps, spread });
      const open = opener(deps, openAs);
      const explicit = config.bus_url !== "";
      const first = await findBus({
        sources: sourcesOf(deps),
        // One attempt takes up to 20 s where nobody answers.
        open: (urls) => abortable(open(urls), signal, (late) => void late.nats.close()),
        clock,
        jitter,
        log,
        signal,
      });
      const connection = createConnection({ first, open, clock, jitter, log });
      stack.defer(() => connection.stop());
      connection.onConnect(deps.obstacle.clear);
      // The client library would try again at its own pace.
      stack.defer(
        deps.obstacle.onRest(() => {
          if (!connection.connected) void connection.restart();
        }),
      );
      deps.attachUpgrades(withHedging(connection, clock));
      deps.renewer.attach({ connection, open: openAs, refresh });
      deps.attachIdentity(deps.renewer);
      const session = startSession({
        ...deps,
        connection,
        grantedSite: () => grantedSite(deps.files.credentials),
        spread,
        onCluster: followCluster({ ...deps, connection, explicit }),
      });
      stack.defer(() => session.stop());
      const reporting = sendReports({
        ...deps,
        ...{ connection: withHedging(connection, clock), dir: deps.reports.dir },
        mayPublish: deps.renewer.mayPublish,
      });
      stack.defer(() => reporting.stop());
      deps.startup.connected();
      if (refresh !== undefined) {
        const recovery = startRecovery({
          connection,
          discover: async () => {
            const { urls } = await refresh();
            return explicit ? undefined : urls;
          },
          isAtSite: () => connection.isAt(cache.ofSite),
          isHalted: () => deps.obstacle.isHalted,
          clock,
          jitter,
          log,
        });
        stack.defer(() => recovery.stop());
      }
      const returning = returnToSite({
        connection,
        isAway: () => !explicit && cache.ofSite.length > 0 && !connection.isAt(cache.ofSite),
        open: () =>
          connectWith({ ...deps, spread })(cache.ofSite, readPeelCredentials(deps.files.credentials)),
        clock,
        jitter,
        log,
      });
      stack.defer(() => returning.stop());
      return {
        checks: {
          bus: () => checkBus(deps, connection),
          async kv(): Promise<CheckResult> {
            await session.heartbeat.store();
            return { status: "up" };
          },
        },
        view: { connected: () => connection.connected },
      };
    }),
};

interface BusDeps extends PeelDeps {
  /** What connections to the bus are verified with. */
  tls: Pick<BusOptions, "ca" | "clientCertificate">;
  obstacle: Obstacle;
  /** Whether another program listens on `health_addr`. */
  isHealthOff(): boolean;
}

/** Where the address of the bus is looked for, in this order. */
function sourcesOf(deps: BusDeps & Masters): BusSource[] {
  if (deps.config.bus_url !== "") return [{ name: "bus_url", urls: explicitUrls(deps) }];
  return [
    { name: "cache", urls: deps.cache.load },
    {
      name: "bootstrap document",
      urls: () => (deps.obstacle.isHalted ? undefined : deps.firstDocument()),
    },
    { name: "succession", urls: () => deps.succession?.bus_urls },
    { name: "builtin", urls: () => [builtinBusUrl], next: builtinBusAdvice },
  ];
}

/** Whether the peel is connected, and to which bus. */
async function checkBus(
  { config, cache, obstacle, site }: BusDeps & Masters,
  connection: Connection,
): Promise<CheckResult> {
  if (!connection.connected) return { status: "down", message: obstacle.reason ?? "not connected" };
  // A server that no longer answers is found out here long before its connection breaks.
  await connection.flush();
  if (config.bus_url !== "" || cache.ofSite.length === 0) return { status: "up" };
  const name = site() ?? "";
  return connection.isAt(cache.ofSite)
    ? { status: "up", message: `at the bus of site ${name}` }
    : {
        status: "degraded",
        message: `the bus of site ${name} did not answer: connected to that of the masters`,
      };
}

type LinkDeps = BusDeps & { spread: Spread };

/**
 * The address of `bus_url`. When nothing answered there, the masters are requested too, only for what the peel
 * trusts: the root of the bus may have been replaced while this peel was off.
 */
function explicitUrls({
  config,
  obstacle,
  refresh,
  clock,
  log,
}: BusDeps & Masters): () => Promise<readonly string[]> {
  let nextRequestAt: number | undefined;
  return async () => {
    const now = clock.monotonic();
    if (nextRequestAt !== undefined && now >= nextRequestAt && !obstacle.isHalted) {
      nextRequestAt = now + requestEveryMs;
      await refresh?.().catch((thrown) => {
        const level = thrown instanceof TrustError ? "error" : "debug";
        log[level]("the masters could not be asked for the root of the bus", {
          reason: describeError(thrown),
        });
      });
    }
    nextRequestAt ??= now;
    return [config.bus_url];
  };
}

/** Opens one connection, with the credentials as they are on disk at that moment. */
function opener(deps: BusDeps, open: ReturnType<typeof openWith>) {
  return (urls: readonly string[]) =>
    deps.obstacle.attempt(async () => open(urls, readPeelCredentials(deps.files.credentials)));
}

/** Opens one connection with these credentials: to the bus of the site, or else to that of the masters. */
function openWith(deps: LinkDeps & Masters) {
  const connect = connectWith(deps);
  return async (urls: readonly string[], credentials: string) => {
    const ofSite = deps.cache.ofSite.filter((url) => urls.includes(url));
    const others = urls.filter((url) => !ofSite.includes(url));
    if (ofSite.length === 0 || others.length === 0) return connect(urls, credentials);
    try {
      return await connect(ofSite, credentials);
    } catch (thrown) {
      deps.log.warn("the bus of the site is not reachable", { error: describeError(thrown) });
      return connect(others, credentials);
    }
  };
}

/** Connects to one of these servers, and to no other ones after that. */
function connectWith({ peelId, tls, obstacle, spread, clock, log }: LinkDeps) {
  return (urls: readonly string[], credentials: string) =>
    connectBus({
      ...tls,
      urls,
      name: `svc-peel ${displayPeelId(peelId)}`,
      identity: { credentials },
      inboxPrefix: peelInboxPrefix(peelId),
      onRefused: obstacle.refused,
      reconnectDelayMs: spread.reconnectDelayMs,
      clock,
      log,
    });
}
