import { untilAborted } from "../../base/clock.ts";
import { createParts, startHealthServer } from "../../program/health/mod.ts";
import { tracing } from "../../program/tracing/mod.ts";
import { followAccountKeys, followCommandKeys, loadMasterKeys, reportKeys } from "../keys/mod.ts";
import { createMasterMetrics, type MasterView } from "../metrics/mod.ts";
import { runBusAlone } from "./bus-alone.ts";
import { startMasterHeartbeat } from "./heartbeat.ts";
import { moveBus } from "./move-bus.ts";
import { masterName } from "./name.ts";
import type { MasterOptions, SignedReads } from "./options.ts";
import { audit } from "./parts/audit.ts";
import { busServers } from "./parts/bus-servers.ts";
import { awaitedChecks } from "./parts/catch-up.ts";
import { certificate } from "./parts/certificate.ts";
import { soundClock } from "./parts/clock.ts";
import { busServer, connect, links } from "./parts/connect.ts";
import { decisions } from "./parts/decisions.ts";
import { doors } from "./parts/doors.ts";
import { fleet } from "./parts/fleet.ts";
import { gate } from "./parts/gate.ts";
import { joining } from "./parts/joining.ts";
import { operators } from "./parts/operators.ts";
import { requests } from "./parts/requests.ts";
import { roles } from "./parts/roles.ts";
import { sites } from "./parts/sites.ts";
import { storage } from "./parts/storage.ts";
import { work } from "./parts/work.ts";
import { readyzOnBus } from "./readyz.ts";

const heartbeat = { start: startMasterHeartbeat };
const signingKeys = {
  start(options: Parameters<typeof followAccountKeys>[0]) {
    const accountKeys = followAccountKeys(options);
    return { accountKeys, stop: accountKeys.stop };
  },
};
const commandKeys = {
  start(options: Parameters<typeof followCommandKeys>[0]) {
    const keyring = followCommandKeys(options);
    return { keyring, stop: keyring.stop };
  },
};
const health = { start: startHealthServer };

/**
 * Runs a master until the signal aborts, which may happen at any moment of the start. A configuration that
 * cannot work is reported at once. It waits for a bus that is not available and for a clock that is wrong, and
 * /readyz reports this.
 */
export async function runMaster(options: MasterOptions): Promise<void> {
  const { config, hostname, clock, random, log, signal, service } = options;
  const name = masterName(hostname, random);
  if (config.embedded_bus_only) {
    await moveBus(options);
    return runBusAlone(options);
  }

  await using parts = createParts<MasterView>([connect, storage, soundClock], signal);
  /** What serves the fleet. It stops while the clock is wrong. */
  const planned = (until: AbortSignal) =>
    createParts<MasterView>([decisions, roles, operators, fleet, gate, work, doors], until);
  let serving = planned(signal);
  const awaited = new Map<string, number>();
  const checks = () => ({
    ...parts.checks(),
    ...serving.checks(),
    ...awaitedChecks({ awaited, clock }),
  });
  const metrics = createMasterMetrics(() => ({ ...parts.view(), ...serving.view() }));
  const keys = loadMasterKeys(config.auth_dir);
  const { auth_dir: authDir } = config;
  const { keyring } = await parts.start(commandKeys, { authDir, keys: keys.command, clock, log });
  const accountFiles = { authDir, keys: keys.accountSigning, account: keys.account };
  const { accountKeys } = await parts.start(signingKeys, { ...accountFiles, clock, log });
  const signedReads: SignedReads = { required: config["operators.require_signed"], judge: undefined };
  const { tracer } = await parts.start(tracing, {
    service: "svc-master",
    instance: name,
    config,
    clock,
    log,
  });
  const deps = { ...options, name, tracer, awaited, keys, keyring, accountKeys, metrics, signedReads };
  /** What the heartbeat reports about the keys: more, as soon as the fleet is known. */
  let keyReport = (): Readonly<Record<string, unknown>> => ({
    ...reportKeys(keyring),
    account_keys: accountKeys.publicKeys,
    issues_with: accountKeys.signer.publicKey,
  });
  const certified = await parts.start(certificate, deps);
  const healthServer = await parts.start(health, {
    ...config.health_addr,
    ...{ component: "master", checks, metrics: metrics.render, clock },
  });
  service?.status("waiting for the bus");
  const own = { ...deps, ...certified };
  await parts.start(busServer, own);
  const linked = { ...deps, ...(await parts.start(links, own)) };
  const connected = { ...deps, ...(await parts.start(connect, linked)) };
  await parts.start(readyzOnBus, { bus: connected.bus, name, checks, clock, signedReads });
  await parts.start(busServers, connected);
  const stored = { ...connected, ...(await parts.start(storage, connected)) };
  const { sound } = await parts.start(soundClock, stored);
  const { certificates } = certified;
  await parts.start(heartbeat, {
    ...{ bus: connected.bus, bucket: stored.storage.masterHeartbeats, name, hostname, clock },
    certificateEnds: () => certificates.current().notAfter,
    recoveryWindowMs: config["enroll.recovery_window"],
    caPin: () => certificates.current().root?.pin,
    caRotation: () => certificates.current().rotation,
    clockAheadMs: () => sound.aheadMs,
    keys: () => keyReport(),
  });

  const serve = async () => {
    const until = sound.whileSound(signal);
    serving = planned(until);
    await using running = serving;
    const own = { ...stored, sound, signal: until };
    const audited = { ...own, ...(await running.start(audit, own)) };
    const ruled = { ...audited, ...(await running.start(roles, own)) };
    const registered = { ...ruled, ...(await running.start(operators, { ...certified, ...ruled })) };
    const judging = { ...registered, ...(await running.start(requests, registered)) };
    const kept = { ...judging, ...(await running.start(decisions, judging)) };
    const placed = { ...kept, ...(await running.start(sites, kept)) };
    const known = { ...placed, ...(await running.start(fleet, placed)) };
    keyReport = known.reportKeys;
    const gated = { ...known, ...(await running.start(gate, known)) };
    const working = { ...gated, ...(await running.start(work, gated)) };
    const joined = { ...working, ...(await running.start(joining, working)) };
    const { listener } = await running.start(doors, { ...certified, ...joined });
    service?.ready(`ready; listens on port ${listener.port}, health on port ${healthServer.port}`, () =>
      until.aborted || listener.listening ? undefined : "the listener has exited",
    );
    log.info("master ready", { master: name, enroll_port: listener.port, health_port: healthServer.port });
    options.onReady?.({ enroll: listener.port, health: healthServer.port, routes: listener.routes });
    await untilAborted(until);
  };
  for (;;) {
    await sound.untilSound(signal);
    try {
      await serve();
    } catch (thrown) {
      if (signal.aborted || sound.check().status !== "down") throw thrown;
    }
    if (signal.aborted) return;
    serving = planned(signal);
    service?.status("waiting for the right time: the clock of this host is wrong");
  }
}
