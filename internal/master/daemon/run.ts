import { untilAborted } from "../../base/clock.ts";
import { createParts, startHealthServer } from "../../program/health/mod.ts";
import { createMasterMetrics, type MasterView } from "../metrics/mod.ts";
import { runBusAlone } from "./embedded-bus.ts";
import { startMasterHeartbeat } from "./heartbeat.ts";
import { loadMasterKeys } from "./keys.ts";
import { masterName } from "./name.ts";
import type { MasterOptions } from "./options.ts";
import { certificate } from "./parts/certificate.ts";
import { busServer, connect, links } from "./parts/connect.ts";
import { decisions } from "./parts/decisions.ts";
import { doors } from "./parts/doors.ts";
import { fleet } from "./parts/fleet.ts";
import { storage } from "./parts/storage.ts";
import { work } from "./parts/work.ts";

const heartbeat = { start: startMasterHeartbeat };
const health = { start: startHealthServer };

/**
 * Runs a master until the signal aborts, which it may do at any moment of the start. What cannot work is
 * told at once; a bus that is away is waited for, with /readyz saying so.
 */
export async function runMaster(options: MasterOptions): Promise<void> {
  const { config, hostname, clock, random, log, signal } = options;
  const name = masterName(hostname, random);
  if (config.embedded_bus_only) return runBusAlone(options);

  await using parts = createParts<MasterView>([connect, storage, fleet, work, doors], signal);
  const metrics = createMasterMetrics(parts.view);
  const deps = { ...options, name, keys: loadMasterKeys(config.auth_dir), metrics };
  const certified = await parts.start(certificate, deps);
  const healthServer = await parts.start(health, {
    ...config.health_addr,
    component: "master",
    checks: parts.checks,
    metrics: metrics.render,
    clock,
  });
  options.service?.status("waiting for the bus");
  await parts.start(busServer, deps);
  const linked = { ...deps, ...(await parts.start(links, deps)) };
  const connected = { ...deps, ...(await parts.start(connect, linked)) };
  const stored = { ...connected, ...(await parts.start(storage, connected)) };
  const kept = { ...stored, ...(await parts.start(decisions, stored)) };
  const known = { ...kept, ...(await parts.start(fleet, kept)) };
  const working = { ...known, ...(await parts.start(work, known)) };
  const { listener } = await parts.start(doors, { ...certified, ...working });
  await parts.start(heartbeat, {
    bus: connected.bus,
    bucket: stored.storage.masterHeartbeats,
    name,
    hostname,
    certificateEnds: () => certified.certificates.current().notAfter,
    clock,
  });

  options.service?.ready(`ready; listens on port ${listener.port}, health on port ${healthServer.port}`);
  log.info("master ready", { master: name, enroll_port: listener.port, health_port: healthServer.port });
  options.onReady?.({ enroll: listener.port, health: healthServer.port, routes: listener.routes });
  await untilAborted(signal);
}
