import type { Clock } from "../../base/clock.ts";
import type { AssetName } from "../../bus/assets.ts";
import type { Bus } from "../../bus/connect.ts";
import { clockDifference, inspectAssets } from "../../bus/inspect.ts";
import { greetServer, inspectCertificate, placeOf, resolveHost } from "../../bus/probe.ts";
import { newerCredentials } from "../../bus/request.ts";
import { judgeClock, judgeEnd } from "./findings.ts";
import type { Finding, Step } from "./step.ts";

/** What the steps on the way to a bus work with. */
export interface BusContext {
  /** Servers, in the order to try. */
  urls(): readonly string[];
  /** PEM of the CA that verifies the server. */
  ca(): string | undefined;
  client(): { cert: string; key: string } | undefined;
  /** Opens the connection, or the one that is open already. */
  connect(): Promise<Bus>;
  clock: Clock;
}

/**
 * The way to the bus, step by step: name, connection, TLS, credentials.
 *
 * @param config names of the steps without which it is not known where the bus is
 * @param identity names of the steps without which there is nobody to be
 */
export function busSteps(
  config: readonly string[],
  identity: readonly string[],
): readonly Step<BusContext>[] {
  return [
    {
      name: "bus name",
      needs: config,
      next: "correct the host in the URL, or the name service of this host",
      look: ({ urls }) =>
        firstOf(urls(), async (url) => {
          const place = placeOf(url);
          return { level: "ok", message: `${place.host} is ${(await resolveHost(place)).join(", ")}` };
        }),
    },
    {
      name: "bus connection",
      needs: ["bus name"],
      next: "start the bus there, open the port in firewalls, or correct the URL",
      look: ({ urls, clock }) =>
        firstOf(urls(), async (url) => {
          return { level: "ok", message: `${url}: nats-server ${await greetServer(placeOf(url), clock)}` };
        }),
    },
    {
      name: "bus TLS",
      needs: ["bus connection"],
      next: "see the log of the bus",
      look: ({ urls, ca, client, clock }) =>
        firstOf(urls(), async (url) => {
          const options = { ca: ca(), client: client(), clock };
          const { notAfter, problem } = await inspectCertificate(placeOf(url), options);
          const ends = judgeEnd(
            "the certificate of the bus",
            notAfter,
            clock.now(),
            "issue another with svc ca issue, and reload the bus",
          );
          if (problem === undefined || ends.level === "fail") return ends;
          return {
            level: "fail",
            message: `the certificate of ${url} is not believed: ${problem}`,
            next: "name the CA that signed it as the CA of the bus, or connect to a name that it is for",
          };
        }),
    },
    {
      name: "bus credentials",
      needs: ["bus TLS", ...identity],
      next: "take credentials that this bus knows: they may be of another fleet, revoked, or ended",
      async look({ connect }) {
        const { nats } = await connect();
        return { level: "ok", message: `accepted by ${nats.info?.server_name ?? nats.getServer()}` };
      },
    },
  ];
}

/**
 * What is stored on the bus, and its clock.
 *
 * @param names what these credentials must be able to read; the first one tells the time
 */
export function storageSteps(names: readonly [AssetName, ...AssetName[]]): readonly Step<BusContext>[] {
  return [
    {
      name: "storage",
      needs: ["bus credentials"],
      next: "see the log of the bus: is JetStream on, and its disk not full?",
      async look({ connect }) {
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
        if (missing === "") return { level: "ok", message: `${names.length} buckets and streams are there` };
        return {
          level: "warn",
          message: `not there yet: ${missing}`,
          next: "start a master, or restart one: it makes what is missing",
        };
      },
    },
    {
      name: "clock",
      needs: ["storage"],
      async look({ connect }) {
        const bus = await connect();
        const states = await inspectAssets(bus, [names[0]]);
        if (states.get(names[0]) !== "there") {
          return { level: "warn", message: "not compared: there is nothing stored yet that tells the time" };
        }
        const { aheadMs, roundTripMs } = await clockDifference(bus, names[0]);
        return judgeClock("the bus", aheadMs, roundTripMs / 2);
      },
    },
  ];
}

/** The first of several servers that is well; what was found of the last when none is. */
async function firstOf(urls: readonly string[], look: (url: string) => Promise<Finding>): Promise<Finding> {
  const [url = "", ...others] = urls;
  if (others.length === 0) return look(url);
  const found = await look(url).catch(() => undefined);
  return found === undefined || found.level === "fail" ? firstOf(others, look) : found;
}
