import { isIP } from "node:net";
import { abortable } from "../../../base/abortable.ts";
import { defined } from "../../../base/defined.ts";
import {
  type Bus,
  clientCertificate,
  connectBus,
  connectBusForever,
  resolveBusCa,
} from "../../../bus/connection/mod.ts";
import type { BusServer } from "../../../bus/server/mod.ts";
import { createSystemBus, placeOf } from "../../../bus/servers/mod.ts";
import { createRecentStreams } from "../../../bus/streams/mod.ts";
import { publishBusRestarts } from "../../../fleet/events/mod.ts";
import { assemble, type CheckResult, type OffersOf } from "../../../program/health/mod.ts";
import { startEmbeddedBus, trustedByMaster } from "../../bus/mod.ts";
import { followAuthority } from "../follow-authority.ts";
import { moveBus } from "../move-bus.ts";
import type { MasterDeps } from "../options.ts";
import type { Certificate } from "./certificate.ts";

/** The embedded nats-server of this master, if it has one. Its certificate follows the authority of the fleet. */
export const busServer = {
  start: ({ base, certificate }: { base: MasterDeps; certificate: Certificate }) =>
    assemble(async (stack) => {
      const follow = followAuthority({ ...base, ...certificate });
      await follow.settled();
      await moveBus(base);
      let report = () => {};
      const busRestarted = () => {
        base.metrics.busRestarted();
        report();
      };
      const server = await startEmbeddedBus({ ...base, metrics: { busRestarted } });
      if (server !== undefined) stack.defer(() => server.stop());
      follow.attach(server);
      stack.defer(() => follow.stop());
      return {
        restarts: () => server?.restarts(),
        /** @param run called at each restart from now on */
        onRestart(run: () => void) {
          report = run;
        },
        ...(server === undefined ? {} : { checks: { "bus-disk": () => judgeDisk(server) } }),
      };
    }),
};

export type EmbeddedBus = OffersOf<typeof busServer>;

/** Reports the restarts of that server as events. */
export const busRestarts = {
  start({ base, bus, server }: { base: MasterDeps; bus: Bus; server: EmbeddedBus }) {
    const { name, clock, log } = base;
    const { report, stop } = publishBusRestarts({ bus, name, restarts: server.restarts, clock, log });
    server.onRestart(report);
    return { stop };
  },
};

function judgeDisk({ diskProblem }: Pick<BusServer, "diskProblem">): CheckResult {
  const problem = diskProblem();
  return problem === undefined ? { status: "up" } : { status: "down", ...problem };
}

/** How long one server may take to accept a connection. */
const oneServerMs = 5_000;

/** A connection that is not established yet. */
const absent = { connected: false, reconnects: 0 };

/** Connects to the bus, and reports the connections that are not established yet. */
export const links = {
  start({ base, certificate }: { base: MasterDeps; certificate: Certificate }) {
    const { config, env, clock, log, signal } = base;
    const { certificates } = certificate;
    const ca = trustedByMaster(
      () => resolveBusCa({ explicit: config.bus_ca, env, authDir: config.auth_dir }),
      () => certificates.current().inForce,
    );
    const client = clientCertificate(config.bus_tls_cert, config.bus_tls_key);
    const made = new Map<string, Bus | undefined>();
    return {
      view: {
        bus: () =>
          Object.fromEntries(
            [...made].map(([name, { connected, reconnects } = absent]) => [name, { connected, reconnects }]),
          ),
      },
      /** Connects, and retries until it succeeds. @throws the reason of the signal */
      async connect(name: string, credentials: string): Promise<Bus> {
        made.set(name, undefined);
        const connecting = connectBusForever(
          {
            urls: [config.bus_url],
            name,
            identity: { credentials },
            isAwaited: true,
            ...defined({ ca, clientCertificate: client }),
            clock,
            log: log.with({ connection: name }),
          },
          signal,
        );
        // One attempt takes up to 20 s where nobody answers.
        const bus = await abortable(connecting, signal, (late) => void late.nats.close());
        made.set(name, bus);
        return bus;
      },
      /**
       * Connects to one server of the cluster, as the bus names it, once.
       *
       * @throws SvcError `unavailable`
       */
      connectTo(address: string, credentials: string): Promise<Bus> {
        const { host } = placeOf(config.bus_url);
        return connectBus({
          urls: [`tls://${address}`],
          name: "svc-master-replicas",
          identity: { credentials },
          timeoutMs: oneServerMs,
          ...defined({ ca, clientCertificate: client }),
          // Addresses that servers report are often IP addresses, and their certificates name all servers.
          ...(isIP(host) === 0 && isIP(placeOf(`tls://${address}`).host) !== 0 ? { tlsName: host } : {}),
          clock,
          log: log.with({ connection: "svc-master-replicas" }),
        });
      },
      async stop() {
        // Where nobody answers a connection takes up to 30 s.
        await Promise.all([...made.values()].map((bus) => bus?.drain()));
      },
    };
  },
};

type Links = OffersOf<typeof links>;

/**
 * The connections of a master. It waits for a bus that is not available. What peels send arrives on a
 * connection of its own: the rest of the work does not queue behind a peel that floods. So are claims sent on one of
 * their own: the bus reads nothing else from it while it looks through the connections of an account.
 */
export const connect = {
  waits: { bus: "not connected yet" },
  start: ({ base: { keys, signal }, links: { connect, connectTo } }: { base: MasterDeps; links: Links }) =>
    assemble(async (stack) => {
      const bus = await connect("svc-master", keys.credentials);
      const peelBus = await connect("svc-master-peels", keys.credentials);
      const systemBus = await connect("svc-master-system", keys.systemCredentials);
      const claimsBus = await connect("svc-master-claims", keys.systemCredentials);
      const opened = createSystemBus(systemBus, { claims: claimsBus });
      const system = await abortable(opened, signal, (late) => late.stop());
      stack.defer(() => system.stop());
      return {
        bus,
        peelBus,
        streams: createRecentStreams(bus),
        system,
        connectTo: (address: string) => connectTo(address, keys.credentials),
        connectAs: connectTo,
        /** Resolves once the servers have all subscriptions; those of a connection that breaks are sent with the next. */
        subscribed: () => Promise.allSettled([bus, peelBus].map(({ nats }) => nats.flush())),
        checks: { bus: () => checkBus([bus, systemBus], [peelBus, claimsBus]) },
      };
    }),
};

export type Connected = OffersOf<typeof connect>;

/**
 * A server that no longer answers is detected here, long before its connection breaks.
 *
 * @param busy connections to the same servers that are not probed: the answer would wait behind what peels send, or
 *   behind claims
 */
async function checkBus(connections: readonly Bus[], busy: readonly Bus[]): Promise<CheckResult> {
  if (![...connections, ...busy].every(({ connected }) => connected)) {
    return { status: "down", message: "not connected" };
  }
  await Promise.all(connections.map(({ nats }) => nats.flush()));
  return { status: "up" };
}
