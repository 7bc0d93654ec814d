import { join } from "node:path";
import { untilAborted } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { makeDirectory } from "../../base/file.ts";
import { writing } from "../../base/new-files.ts";
import { displayPeelId } from "../../base/peel-id.ts";
import { clientCertificate, resolveBusCa } from "../../bus/mod.ts";
import { createParts, startHealthServer } from "../../program/health/mod.ts";
import { createCommandKeys, identityFiles, resolvePeelId } from "../joining/mod.ts";
import { checkSchedule } from "../schedule/mod.ts";
import { createPeelMetrics, type PeelView } from "./metrics.ts";
import type { PeelDeps, PeelOptions } from "./options.ts";
import { bus } from "./parts/bus.ts";
import { local } from "./parts/local.ts";
import { masters } from "./parts/masters.ts";
import { ownCalls } from "./parts/own-calls.ts";
import { stores } from "./parts/stores.ts";

const health = { start: startHealthServer };

/**
 * Runs a peel until the signal aborts, which it may do at any moment of the start. It starts in its local
 * phase, which waits for nobody; then it enrolls if it must, finds the bus however long that takes, beats,
 * and takes jobs.
 */
export async function runPeel(options: PeelOptions): Promise<void> {
  const { config, env, clock, log, signal } = options;
  checkSchedule(config.schedule);
  const authDir = join(options.dataDir, "auth");
  const deps = identify(options, authDir);
  const { peelId } = deps;
  const busCa = resolveBusCa({ explicit: config.bus_ca, env, authDir });
  const client = clientCertificate(config.bus_tls_cert, config.bus_tls_key);
  const tls = defined({ ca: busCa, clientCertificate: client });
  await using parts = createParts<Pick<PeelView, "connected">>([bus], signal);

  // The local phase.
  const known = { ...deps, ...(await parts.start(stores, deps)) };
  const able = { ...known, ...(await parts.start(local, known)) };
  const metrics = createPeelMetrics({
    ...able.shown,
    connected: () => parts.view().connected?.() === true,
  });
  const healthServer = await parts.start(health, {
    ...config.health_addr,
    component: "peel",
    checks: parts.checks,
    metrics: metrics.render,
    clock,
  });
  const active = { ...able, ...(await parts.start(ownCalls, able)) };
  options.service?.ready(`started as ${displayPeelId(peelId)}; health on port ${healthServer.port}`);
  log.info("peel started", { peel_id: displayPeelId(peelId), health_port: healthServer.port });

  // The connected phase.
  const guided = { ...active, ...(await parts.start(masters, deps)) };
  await parts.start(bus, { ...guided, tls });
  log.info("peel connected", { peel_id: displayPeelId(peelId) });
  options.onReady?.({ health: healthServer.port });
  await untilAborted(signal);
}

/** Who this peel is, and whose commands it obeys. @throws SvcError naming what it cannot read or write */
function identify(options: PeelOptions, authDir: string): PeelDeps {
  writing(authDir, () => makeDirectory(authDir, 0o700));
  const peelId = resolvePeelId({ configured: options.config.id, hostname: options.hostname, authDir });
  const files = identityFiles(authDir, peelId);
  return { ...options, peelId, files, commandKeys: createCommandKeys(files.commandKeys, options.log) };
}
