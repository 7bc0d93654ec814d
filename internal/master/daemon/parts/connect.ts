import { abortable } from "../../../base/abortable.ts";
import { defined } from "../../../base/defined.ts";
import {
  type Bus,
  clientCertificate,
  connectBusForever,
  createSystemBus,
  resolveBusCa,
} from "../../../bus/mod.ts";
import { assemble, type CheckResult, type OffersOf } from "../../../program/health/mod.ts";
import { startEmbeddedBus } from "../embedded-bus.ts";
import type { MasterDeps } from "../options.ts";

/** The embedded nats-server of this master, if it has one. */
export const busServer = {
  async start(deps: MasterDeps) {
    return (await startEmbeddedBus(deps)) ?? { stop() {} };
  },
};

/** A connection that is not established yet. */
const absent = { connected: false, reconnects: 0 };

/** Connects to the bus, and reports the connections that are not established yet. */
export const links = {
  start({ config, env, clock, log, signal }: MasterDeps) {
    const ca = resolveBusCa({ explicit: config.bus_ca, env, authDir: config.auth_dir });
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
      async stop() {
        // Where nobody answers a connection takes up to 30 s.
        await Promise.all([...made.values()].map((bus) => bus?.drain()));
      },
    };
  },
};

type Links = OffersOf<typeof links>;

/** Both connections of a master. It waits for a bus that is not available. */
export const connect = {
  waits: { bus: "not connected yet" },
  start: ({ connect, keys, signal }: MasterDeps & Links) =>
    assemble(async (stack) => {
      const bus = await connect("svc-master", keys.credentials);
      const systemBus = await connect("svc-master-system", keys.systemCredentials);
      const system = await abortable(createSystemBus(systemBus), signal, (late) => late.stop());
      stack.defer(() => system.stop());
      return { bus, system, checks: { bus: () => checkBus([bus, systemBus]) } };
    }),
};

export type Connected = OffersOf<typeof connect>;

/** A server that no longer answers is detected here, long before its connection breaks. */
async function checkBus(connections: readonly Bus[]): Promise<CheckResult> {
  if (!connections.every(({ connected }) => connected)) return { status: "down", message: "not connected" };
  await Promise.all(connections.map(({ nats }) => nats.flush()));
  return { status: "up" };
}
