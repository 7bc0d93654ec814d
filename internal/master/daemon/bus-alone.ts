import { join, resolve } from "node:path";
import { untilAborted } from "../../base/clock.ts";
import { readTextIfPresent } from "../../base/files/file.ts";
import { type CheckResult, startHealthServer } from "../../program/health/mod.ts";
import { startEmbeddedBus } from "../bus/mod.ts";
import { followMasters, judgeBusCertificate, readHeldCertificate } from "../site/mod.ts";
import type { MasterOptions } from "./options.ts";

/** Why a bus without a master, which belongs to no site, keeps its certificate. */
const byHand =
  'it is not renewed by itself: see "Hosts without a master" of the page on replacing the root, and for a site set site and master_urls';

/**
 * Runs the bus and nothing else until the signal aborts: `embedded_bus_only`. That of a site follows the masters.
 *
 * @throws SvcError saying why it cannot be started
 */
export async function runBusAlone(options: MasterOptions): Promise<void> {
  const { config, clock, jitter, log, signal, service } = options;
  const dir = resolve(config.embedded_bus_dir);
  const { site, master_urls: masterUrls } = config;
  const follower =
    site === "" ? undefined : followMasters({ ...{ site, dir, masterUrls, clock, jitter, log, signal } });
  const byHandOnly = (): CheckResult => {
    const held = readHeldCertificate(readTextIfPresent(join(dir, "nats-server.crt")), undefined);
    const found = judgeBusCertificate(held, undefined, clock.now());
    return { ...found, message: `${found.message}; ${byHand}` };
  };
  const certificate = follower?.check ?? byHandOnly;
  const server = await startEmbeddedBus({ ...options, metrics: { busRestarted() {} } });
  follower?.attach(server);
  const health = startHealthServer({
    ...config.health_addr,
    ...{ component: "master", checks: () => ({ certificate }), clock, log },
  });
  if (!health.isOff()) log.info("health is served", { health_port: health.port });
  log.info("bus ready, without a master");
  service?.ready("bus ready, without a master");
  await untilAborted(signal);
  follower?.stop();
  health.stop();
  await server?.stop();
}
