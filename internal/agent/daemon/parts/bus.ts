import { abortable } from "../../../base/abortable.ts";
import { readTextFile } from "../../../base/file.ts";
import { displayPeelId } from "../../../base/peel-id.ts";
import { type BusOptions, connectBus, peelInboxPrefix } from "../../../bus/mod.ts";
import { assemble, type CheckResult } from "../../../program/health/mod.ts";
import {
  type BusSource,
  builtinBusUrl,
  createConnection,
  findBus,
  followCluster,
  startRecovery,
} from "../../link/mod.ts";
import type { PeelDeps } from "../options.ts";
import { startSession } from "../session.ts";
import type { LocalPhase } from "./local.ts";
import type { Masters } from "./masters.ts";
import type { OwnCalls } from "./own-calls.ts";
import type { Stores } from "./stores.ts";

/** The connected phase: the bus is found, however long that takes, and from then on masters give work. */
export const bus = {
  waits: { bus: "not connected yet", kv: "not connected yet" },
  start: (deps: PeelDeps & Stores & LocalPhase & OwnCalls & Masters & { tls: BusTls }) =>
    assemble(async (stack) => {
      const { config, cache, refresh, firstDocument, clock, jitter, log, signal } = deps;
      const open = opener(deps);
      const explicit = config.bus_url !== "";
      const sources: BusSource[] = explicit
        ? [{ name: "bus_url", urls: () => [config.bus_url] }]
        : [
            { name: "cache", urls: cache.load },
            { name: "bootstrap document", urls: firstDocument },
            { name: "builtin", urls: () => [builtinBusUrl] },
          ];
      const first = await findBus({
        sources,
        // One attempt takes up to 20 s where nobody answers.
        open: (urls) => abortable(open(urls), signal, (late) => void late.nats.close()),
        clock,
        jitter,
        log,
        signal,
      });
      const connection = createConnection({ first, open, clock, jitter, log });
      stack.defer(() => connection.stop());
      deps.attachUpgrades(connection);
      const session = startSession({
        ...deps,
        connection,
        onCluster: followCluster({ ...deps, connection, explicit }),
      });
      stack.defer(() => session.stop());
      deps.startup.connected();
      if (!explicit && refresh !== undefined) {
        const recovery = startRecovery({ connection, discover: refresh, clock, jitter, log });
        stack.defer(() => recovery.stop());
      }
      return {
        checks: {
          async bus(): Promise<CheckResult> {
            if (!connection.connected) return { status: "down", message: "not connected" };
            // A server that no longer answers is found out here long before its connection breaks.
            await connection.flush();
            return { status: "up" };
          },
          async kv(): Promise<CheckResult> {
            await session.heartbeat.store();
            return { status: "up" };
          },
        },
        view: { connected: () => connection.connected },
      };
    }),
};

/** What connections to the bus are verified with. */
type BusTls = Pick<BusOptions, "ca" | "clientCertificate">;

/** Opens one connection, with the credentials as they are on disk at that moment. */
function opener({ files, peelId, tls, clock, log }: PeelDeps & { tls: BusTls }) {
  return (urls: readonly string[]) =>
    connectBus({
      ...tls,
      urls,
      name: `svc-peel ${displayPeelId(peelId)}`,
      identity: { credentials: readTextFile(files.credentials, "the bus credentials") },
      inboxPrefix: peelInboxPrefix(peelId),
      clock,
      log,
    });
}
