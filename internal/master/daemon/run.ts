import { untilAborted } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { MasterKeys } from "../../fleet/masters/mod.ts";
import { createParts, healthWords, startHealthServer } from "../../program/health/mod.ts";
import { reportKeys } from "../keys/mod.ts";
import type { MasterView } from "../metrics/mod.ts";
import { runBusAlone } from "./bus-alone.ts";
import { startMasterHeartbeat } from "./heartbeat.ts";
import { moveBus } from "./move-bus.ts";
import { nextSteps } from "./next-steps.ts";
import type { MasterDeps, MasterOptions } from "./options.ts";
import { startBase } from "./parts/base.ts";
import { busServers } from "./parts/bus-servers.ts";
import { awaitedChecks } from "./parts/catch-up.ts";
import { type Certificate, certificate } from "./parts/certificate.ts";
import { soundClock } from "./parts/clock.ts";
import { busRestarts, busServer, connect, links } from "./parts/connect.ts";
import { type Foundation, planServing, serve } from "./parts/serve.ts";
import { storage } from "./parts/storage.ts";
import { readyzOnBus } from "./readyz.ts";

const heartbeat = { start: startMasterHeartbeat };
const health = { start: startHealthServer };

/**
 * Runs a master until the signal aborts, which may happen at any moment of the start. A configuration that
 * cannot work is reported at once. It waits for a bus that is not available and for a clock that is wrong, and
 * /readyz reports this.
 */
export async function runMaster(options: MasterOptions): Promise<void> {
  const { config, clock, signal, service } = options;
  if (config.embedded_bus_only) {
    await moveBus(options);
    return runBusAlone(options);
  }
  await using parts = createParts<MasterView>([connect, storage, soundClock], signal);
  /** The parts that serve the fleet. They stop while the clock is wrong. */
  let serving = planServing(signal);
  const base = await startBase(options, parts, () => ({ ...parts.view(), ...serving.view() }));
  const checks = () => ({ ...parts.checks(), ...serving.checks(), ...awaitedChecks({ ...base, clock }) });
  const certified = await parts.start(certificate, { base });
  const healthServer = await parts.start(health, {
    ...config.health_addr,
    ...{ component: "master", checks, nextSteps: nextSteps(base.config) },
    ...{ metrics: base.metrics.render, clock, log: base.log },
  });
  service?.status("waiting for the bus");
  const foundation = await startFoundation(base, certified, parts, checks);
  const { sound } = foundation.clock;
  let keyReport = () => reportOwnKeys(base);
  let limited: Reported["limited"] = () => [];
  let fileReport: Reported["files"] = () => undefined;
  const reported = {
    ...{ keys: () => keyReport(), limited: () => limited(), files: () => fileReport() },
    isHealthOff: healthServer.isOff,
  };
  await parts.start(heartbeat, heartbeatOptions(foundation, reported));
  for (;;) {
    await sound.untilSound(signal);
    const until = sound.whileSound(signal);
    serving = planServing(until);
    try {
      await using running = serving;
      const { listener, reportKeys, reportFiles } = await serve(running, {
        ...foundation,
        base: { ...base, signal: until },
      });
      keyReport = reportKeys;
      fileReport = reportFiles;
      limited = listener.limited;
      announce(base, { listener, healthPort: healthServer.port, until });
      await untilAborted(until);
    } catch (thrown) {
      if (signal.aborted || sound.check().status !== "down") throw thrown;
    }
    if (signal.aborted) return;
    serving = planServing(signal);
    service?.status("waiting for the right time: the clock of this host is wrong");
  }
}

/** Connects to the bus, opens the storage, and compares the clock. */
async function startFoundation(
  base: MasterDeps,
  certificate: Certificate,
  parts: ReturnType<typeof createParts<MasterView>>,
  checks: Parameters<(typeof readyzOnBus)["start"]>[0]["checks"],
): Promise<Foundation> {
  const { config, name, clock, signedReads, budgets } = base;
  const server = await parts.start(busServer, { base, certificate });
  const connection = await parts.start(connect, {
    base,
    links: await parts.start(links, { base, certificate }),
  });
  await parts.start(readyzOnBus, {
    ...{ bus: connection.bus, name, checks, nextSteps: nextSteps(config) },
    ...{ clock, signedReads, budgets },
  });
  // Before the storage: servers that are too old keep it closed.
  await parts.start(busServers, { base, connection });
  const opened = await parts.start(storage, { base, connection });
  await parts.start(busRestarts, { base, bus: connection.bus, server });
  return {
    ...{ base, certificate, server, connection, opened },
    clock: await parts.start(soundClock, { base, connection, opened }),
  };
}

/** What a heartbeat reports about the keys until the fleet is known. */
function reportOwnKeys({ keyring, accountKeys }: MasterDeps): ReturnType<Reported["keys"]> {
  return {
    ...reportKeys(keyring),
    account_keys: accountKeys.publicKeys,
    issues_with: accountKeys.signer.publicKey,
  };
}

type Reported = Pick<Parameters<typeof startMasterHeartbeat>[0], "limited" | "files" | "isHealthOff"> & {
  /** Those that change while the fleet is asked; what this master has alone is added. */
  keys(): Omit<MasterKeys, "settings_keys">;
};

function heartbeatOptions(
  { base, certificate: { certificates }, server, connection, opened, clock: { sound } }: Foundation,
  reported: Reported,
): Parameters<typeof startMasterHeartbeat>[0] {
  const { name, hostname, clock, config, settingsKeys } = base;
  return {
    ...{ bus: connection.bus, bucket: opened.storage.masterHeartbeats, name, hostname, clock },
    ...reported,
    keys: () => ({
      ...defined({ keys_problem: settingsKeys.problem }),
      ...reported.keys(),
      settings_keys: settingsKeys.publicKeys,
    }),
    certificateEnds: () => certificates.current().notAfter,
    recoveryWindowMs: config["enroll.recovery_window"],
    caPin: () => certificates.current().root?.pin,
    caRotation: () => certificates.current().rotation,
    clockAheadMs: () => sound.aheadMs,
    busRestarts: server.restarts,
  };
}

function announce(
  { name, log, service, onReady }: MasterDeps,
  {
    listener,
    healthPort,
    until,
  }: {
    listener: Awaited<ReturnType<typeof serve>>["listener"];
    healthPort: number | undefined;
    until: AbortSignal;
  },
): void {
  service?.ready(`ready; listens on port ${listener.port}, ${healthWords(healthPort)}`, () =>
    until.aborted || listener.listening ? undefined : "the listener has exited",
  );
  const ports = { enroll_port: listener.port, ...defined({ health_port: healthPort }) };
  log.info("master ready", { master: name, ...ports });
  onReady?.({ enroll: listener.port, ...defined({ health: healthPort }), routes: listener.routes });
}
