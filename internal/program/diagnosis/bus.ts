import type { Clock } from "../../base/clock.ts";
import { type AssetName, clockDifference, inspectAssets, maxReplicas } from "../../bus/assets/mod.ts";
import { type Bus, nameAdvice, newerCredentials } from "../../bus/connection/mod.ts";
import {
  type BusServerInfo,
  greetServer,
  inspectCertificate,
  placeOf,
  replicaAdvice,
  replicaProblem,
  resolveHost,
  surveyServers,
} from "../../bus/servers/mod.ts";
import { judgeClock, judgeEnd } from "./findings.ts";
import { type Finding, type Step, setClock } from "./step.ts";

/** A master that runs the bus issues its certificate; for any other bus, an operator does. */
const renewBusCertificate =
  "where svc-master runs the bus, restart it: it issues one; elsewhere, svc ca issue nats-server --force with the names and the directory of the bus, then nats-server --signal reload";

/** The context of the bus steps. */
export interface BusContext {
  /** Server URLs, in the order to try. */
  urls(): readonly string[];
  /** PEM of the CA that verifies the server. */
  ca(): string | undefined;
  client(): { cert: string; key: string } | undefined;
  /** Opens the connection, or returns the open one. */
  connect(): Promise<Bus>;
  /** What to do where the host of a URL does not exist; absent where the URL is configured. */
  adviceOnName?(): string | undefined;
  /** How the bus is started, where that is known. */
  adviceOnStart?(): string | undefined;
  /** The servers that the system account knows, for credentials that may query it. */
  knownServers?(): Promise<readonly BusServerInfo[]>;
  /** How many replicas a master would give to what it stores on a cluster of this size. */
  replicasOn?(clusterSize: number): number;
  clock: Clock;
}

/**
 * The steps of a bus connection: name, connection, TLS, credentials.
 *
 * @param config names of the steps that provide the bus URLs
 * @param identity names of the steps that provide the credentials
 */
export function busSteps(
  config: readonly string[],
  identity: readonly string[],
): readonly Step<BusContext>[] {
  return [
    {
      name: "bus name",
      needs: config,
      next: ({ adviceOnName }) => adviceOnName?.() ?? nameAdvice,
      check: ({ urls }) =>
        firstOf(urls(), async (url) => {
          const place = placeOf(url);
          return { level: "ok", message: `${place.host} is ${(await resolveHost(place)).join(", ")}` };
        }),
    },
    {
      name: "bus connection",
      needs: ["bus name"],
      next: ({ adviceOnStart }) =>
        adviceOnStart?.() ??
        "start the bus (where embedded_bus is set: svc-master), open the port in the firewalls, or correct the URL",
      check: ({ urls, client, clock }) =>
        firstOf(urls(), async (url) => {
          const version = await greetServer(placeOf(url), { client: client(), clock });
          return { level: "ok", message: `${url}: nats-server ${version}` };
        }),
    },
    {
      name: "bus TLS",
      needs: ["bus connection"],
      next: "set the tls section of nats-server.conf on the host of the bus, and restart the bus; with verify: true there, configure a client certificate here",
      check: ({ urls, ca, client, clock }) =>
        firstOf(urls(), async (url) => {
          const options = { ca: ca(), client: client(), clock };
          const { notAfter, problem } = await inspectCertificate(placeOf(url), options);
          const ends = judgeEnd("the certificate of the bus", notAfter, clock.now(), renewBusCertificate);
          if (problem === undefined || ends.level === "fail") return ends;
          if (problem === "CERT_NOT_YET_VALID") {
            return { level: "fail", message: `the certificate of ${url} is not valid yet`, next: setClock };
          }
          return {
            level: "fail",
            message: `the certificate of ${url} is not trusted: ${problem}`,
            next: "set the CA that signed it as the CA of the bus, or connect to a name in the certificate",
          };
        }),
    },
    {
      name: "bus credentials",
      needs: ["bus TLS", ...identity],
      next: "use credentials of this bus: these may belong to another fleet, or be revoked or expired",
      async check({ connect }) {
        const { nats } = await connect();
        return { level: "ok", message: `accepted by ${nats.info?.server_name ?? nats.getServer()}` };
      },
    },
  ];
}

/**
 * The steps for the storage and the clock of the bus.
 *
 * @param names the assets that these credentials must be able to read; the first one provides the time
 */
export function storageSteps(names: readonly [AssetName, ...AssetName[]]): readonly Step<BusContext>[] {
  return [
    {
      name: "storage",
      needs: ["bus credentials"],
      next: "set jetstream in nats-server.conf on the host of the bus, make room on its disk, and restart the bus",
      async check({ connect }) {
        const states = await inspectAssets(await connect(), names);
        const those = (state: string) => names.filter((name) => states.get(name) === state).join(", ");
        const [refused, missing] = [those("refused"), those("missing")];
        if (refused !== "") {
          return {
            level: "fail",
            message: `these credentials may not read ${refused}`,
            next: newerCredentials,
          };
        }
        if (missing === "") return { level: "ok", message: `${names.length} buckets and streams exist` };
        return {
          level: "warn",
          message: `do not exist yet: ${missing}`,
          next: "start or restart a master: it creates the missing ones",
        };
      },
    },
    {
      name: "bus servers",
      needs: ["storage"],
      check: (context) => judgeServers(context, (bus) => maxReplicas(bus, names)),
    },
    {
      name: "clock",
      needs: ["storage"],
      async check({ connect }) {
        const bus = await connect();
        const states = await inspectAssets(bus, [names[0]]);
        if (states.get(names[0]) !== "there") {
          return {
            level: "warn",
            message: "not compared: nothing is stored on the bus yet",
            next: "start a master",
          };
        }
        const { aheadMs, roundTripMs } = await clockDifference(bus, names[0]);
        return judgeClock("the bus", aheadMs, roundTripMs / 2);
      },
    },
  ];
}

/**
 * Whether every server of the cluster may store the replicas that there are, or would be.
 *
 * @param replicasOf how many replicas the most replicated asset has
 */
export async function judgeServers(
  context: BusContext,
  replicasOf: (bus: Bus) => Promise<number>,
): Promise<Finding> {
  const bus = await context.connect();
  const { servers: surveyed, silent } = await surveyServers(bus, context.client());
  const known = (await context.knownServers?.()) ?? [];
  const servers = [...new Map([...surveyed, ...known].map((one) => [one.name, one])).values()];
  const problem = replicaProblem(servers);
  const replicas = Math.max(await replicasOf(bus), context.replicasOn?.(servers.length) ?? 1);
  if (problem !== undefined && (replicas > 1 || servers.length > 1)) {
    return { level: replicas > 1 ? "fail" : "warn", message: problem, next: replicaAdvice };
  }
  const named = servers.map(({ name, version }) => `${name} ${version}`).join(", ");
  if (known.length > 0 || silent.length === 0) return { level: "ok", message: `nats-server on ${named}` };
  return {
    level: "warn",
    message: `nats-server on ${named}; the version at ${silent.join(", ")} is not known: no answer`,
    next: "start these servers, or open their port in the firewalls; svc-master check asks them over the bus",
  };
}

/** The finding of the first healthy server, or of the last server when none is healthy. */
async function firstOf(urls: readonly string[], check: (url: string) => Promise<Finding>): Promise<Finding> {
  const [url = "", ...others] = urls;
  if (others.length === 0) return check(url);
  const found = await check(url).catch(() => undefined);
  return found === undefined || found.level === "fail" ? firstOf(others, check) : found;
}
