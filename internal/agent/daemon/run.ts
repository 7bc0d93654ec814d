import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Clock, untilAborted } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import {
  createFileAtomic,
  makeDirectory,
  publicMode,
  readTextFile,
  secretMode,
  writeFileAtomic,
} from "../../base/file.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { writing } from "../../base/new-files.ts";
import { version } from "../../base/version.ts";
import { clientCertificate } from "../../bus/client-certificate.ts";
import { connectBus, resolveBusCa } from "../../bus/connect.ts";
import { peelInboxPrefix } from "../../bus/subjects.ts";
import { systemHost } from "../../host/facts/host.ts";
import { keepFresh } from "../../host/facts/keep-fresh.ts";
import { runFactProgram } from "../../host/facts/run-program.ts";
import { openFactStore } from "../../host/facts/store.ts";
import type { CallContext } from "../../host/modules/function.ts";
import { createBootstrapCache } from "../../identity/bootstrap/cache.ts";
import { displayPeelId } from "../../identity/peel-id.ts";
import { createTrust } from "../../identity/trust/anchor.ts";
import { TrustError } from "../../identity/trust/mismatch.ts";
import type { PeelConfig } from "../../program/config/load.ts";
import type { Check } from "../../program/health/check.ts";
import { startHealthServer } from "../../program/health/server.ts";
import { startStartupStates } from "../execution/startup-states.ts";
import { createPeelStates } from "../execution/states.ts";
import { type CommandKeys, createCommandKeys } from "../joining/command-keys.ts";
import { credentialsExpiry } from "../joining/credentials-expiry.ts";
import { enrollPeel } from "../joining/enroll.ts";
import { fetchDocument } from "../joining/fetch-document.ts";
import { type IdentityFiles, identityFiles, loadOrCreateKey, resolvePeelId } from "../joining/identity.ts";
import { createMasterClient, type MasterClient } from "../joining/master-client.ts";
import { masterUrls, rungOf } from "../joining/master-trust.ts";
import { type Connection, createConnection } from "../link/connection.ts";
import { type BusSource, builtinBusUrl, findBus } from "../link/find-bus.ts";
import { followCluster } from "../link/follow-cluster.ts";
import { startRecovery } from "../link/recover.ts";
import { checkSchedule } from "../schedule/check.ts";
import { openStateFiles } from "../state-files/state-files.ts";
import { upgradeFiles } from "../upgrade/files.ts";
import { upgradesOfHost } from "../upgrade/upgrade-host.ts";
import { type Local, startLocal } from "./local.ts";
import { createPeelMetrics, type PeelView } from "./metrics.ts";
import { startSchedule } from "./schedule.ts";
import { createSendEvent } from "./send-event.ts";
import { startSession } from "./session.ts";
import { openPeelSettings } from "./settings.ts";

const defaultMasterUrl = "https://svc:8443";
/** Attempts to reach the default master before a peel without configuration gives up. */
const guessedMasterAttempts = 4;

export interface PeelOptions {
  config: PeelConfig;
  /** The data directory: `SVC_DATA_DIR`, or /data. */
  dataDir: string;
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  /** A number in [0, 1). */
  jitter: () => number;
  clock: Clock;
  random: Random;
  log: Log;
  signal: AbortSignal;
  /** Called when the peel is connected and accepts jobs. */
  onReady?(ports: { health: number }): void;
}

/**
 * Runs a peel until the signal aborts. It starts with its local phase, which does not wait for anything. Then
 * it enrolls if needed, connects to the bus, with retries, sends heartbeats and accepts jobs.
 */
export async function runPeel(options: PeelOptions): Promise<void> {
  const { config, env, clock, jitter, log, signal } = options;
  await using stack = new AsyncDisposableStack();

  checkSchedule(config.schedule);
  const authDir = join(options.dataDir, "auth");
  writing(authDir, () => makeDirectory(authDir, 0o700));
  const peelId = resolvePeelId({ configured: config.id, hostname: options.hostname, authDir });
  const files = identityFiles(authDir, peelId);
  const busCa = resolveBusCa({ explicit: config.bus_ca, env, authDir });
  const client = clientCertificate(config.bus_tls_cert, config.bus_tls_key);

  const checks: Record<string, Check> = {
    bus: () => ({ status: "down", message: "not connected yet" }),
    kv: () => ({ status: "down", message: "not connected yet" }),
  };
  const facts = await openFactStore({
    dataDir: options.dataDir,
    host: systemHost(options.hostname, env),
    own: { id: displayPeelId(peelId), svc_version: version },
    run: (path) => runFactProgram(path, { env, clock, signal }),
    clock,
    log,
  });
  const freshness = keepFresh({ ...options, facts });
  stack.defer(() => freshness.stop());
  const commandKeys = createCommandKeys(files.commandKeys, log);
  const settings = openPeelSettings({ ...options, peelId, files, commandKeys });
  const stateFiles = openStateFiles({ ...options, dir: config.states_cache, peelId, commandKeys });
  const context = (stop: AbortSignal): CallContext => ({
    clock,
    facts,
    settings,
    states,
    sendEvent,
    signal: stop,
  });
  const states = createPeelStates({ ...options, peelId, stateFiles, context });
  let live: Connection | undefined;
  const { upgrades, watchdog } = upgradesOfHost({ ...options, peelId, connection: () => live });
  const local = startLocal({
    ...options,
    peelId,
    context,
    upgrades,
    isWatched: watchdog !== undefined,
  });
  stack.defer(() => local.stop());
  const sendEvent = createSendEvent({ ...options, outbox: local.outbox, peelId });
  const metrics = createPeelMetrics({
    ...viewOf(local),
    watchdogRestarts: () => watchdog?.restarts ?? 0,
    lastUpgrade: () => upgradeFiles(options.dataDir).state().outcome,
    connected: () => live?.connected === true,
    credentialsExpiry: () => credentialsExpiry(files.credentials),
  });
  const health = startHealthServer({
    ...config.health_addr,
    component: "peel",
    checks,
    metrics: metrics.render,
    clock,
  });
  stack.defer(() => health.stop());
  const schedule = startSchedule({ ...options, entries: config.schedule, local, peelId });
  stack.defer(() => schedule.stop());
  const startup = startStartupStates({ ...options, settings, stateFiles, executor: local.executor });
  stack.defer(() => startup.stop());
  log.info("peel started", { peel_id: displayPeelId(peelId), health_port: health.port });

  const masters = mastersOf(options, files);
  if (!existsSync(files.credentials)) await enroll({ ...options, peelId, files, masters, commandKeys });
  const configured = masterUrls(config);
  const cache = createBootstrapCache({
    path: join(options.dataDir, "nats-bootstrap.msgpack"),
    masterUrls: configured,
    pins: config.enroll_ca_pin,
    log,
  });
  // The default master is only for enrollment.
  const refresh =
    configured.length === 0
      ? undefined
      : () => fetchDocument({ masters, attempts: Math.max(2, configured.length), cache, commandKeys, log });
  if (commandKeys.current.length === 0) {
    if (refresh === undefined) {
      log.error("no command keys: every job is refused until master_urls is set", {
        file: files.commandKeys,
      });
    } else await refresh().catch((thrown) => unlessMismatch(thrown, log));
  }

  const open = (urls: readonly string[]) =>
    connectBus({
      urls,
      name: `svc-peel ${displayPeelId(peelId)}`,
      identity: { credentials: readTextFile(files.credentials, "the bus credentials") },
      ...(busCa === undefined ? {} : { ca: busCa }),
      ...(client === undefined ? {} : { clientCertificate: client }),
      inboxPrefix: peelInboxPrefix(peelId),
      clock,
      log,
    });
  const explicit = config.bus_url !== "";
  const sources: BusSource[] = explicit
    ? [{ name: "bus_url", urls: () => [config.bus_url] }]
    : [
        { name: "cache", urls: cache.load },
        {
          name: "bootstrap document",
          urls: () => refresh?.().catch((thrown) => unlessMismatch(thrown, log)),
        },
        { name: "builtin", urls: () => [builtinBusUrl] },
      ];
  const first = await findBus({ sources, open, clock, jitter, log, signal });
  const connection = createConnection({ first, open, clock, jitter, log });
  live = connection;
  stack.defer(() => connection.stop());
  checks.bus = async () => {
    if (!connection.connected) return { status: "down", message: "not connected" };
    // This detects an unresponsive server long before its connection breaks.
    await connection.flush();
    return { status: "up" };
  };

  const session = startSession({
    connection,
    peelId,
    commandKeys,
    facts,
    settings,
    stateFiles,
    onCluster: followCluster({ connection, explicit, cache, commandKeys, refresh, log }),
    local,
    clock,
    jitter,
    log,
  });
  stack.defer(() => session.stop());
  startup.connected();
  checks.kv = async () => {
    await session.heartbeat.store();
    return { status: "up" };
  };
  if (!explicit && refresh !== undefined) {
    const recovery = startRecovery({ connection, discover: refresh, clock, jitter, log });
    stack.defer(() => recovery.stop());
  }
  log.info("peel connected", { peel_id: displayPeelId(peelId) });
  options.onReady?.({ health: health.port });
  await untilAborted(signal);
}

function viewOf({
  executor,
  outbox,
  counts,
}: Local): Omit<PeelView, "connected" | "credentialsExpiry" | "watchdogRestarts" | "lastUpgrade"> {
  return {
    refused: () => counts.refused,
    jobs: () => counts.jobs,
    queued: () => executor.queued,
    outbox: () => ({
      messages: outbox.messages,
      bytes: outbox.bytes,
      dropped: counts.outboxDropped,
      refused: counts.outboxRefused,
    }),
    scheduleSkipped: () => counts.scheduleSkipped,
    connects: () => counts.connects,
    factsStoredAt: () => counts.factsStoredAt,
  };
}

/** Before the first connection, a failed verification of a master stops the peel. An unreachable master does not. */
function unlessMismatch(thrown: unknown, log: Log): undefined {
  if (thrown instanceof TrustError || !(thrown instanceof SvcError)) throw thrown;
  log.warn("no bootstrap document", { reason: describeError(thrown) });
}

function mastersOf(options: PeelOptions, files: IdentityFiles): MasterClient {
  const { config, clock, log, signal } = options;
  const configured = masterUrls(config);
  const trust = createTrust({
    rung: rungOf(config, files),
    keepAnchor: (pem) => writing(files.anchor, () => createFileAtomic(files.anchor, pem, publicMode)),
    clock,
    log,
    signal,
  });
  return createMasterClient({
    urls: configured.length > 0 ? configured : [defaultMasterUrl],
    ...(configured.length > 0 ? {} : { attempts: guessedMasterAttempts }),
    trust,
    clock,
    jitter: options.jitter,
    log,
    signal,
  });
}

async function enroll(
  options: PeelOptions & {
    peelId: string;
    files: IdentityFiles;
    masters: MasterClient;
    commandKeys: CommandKeys;
  },
): Promise<void> {
  const { files, peelId, log } = options;
  const enrolled = await enrollPeel({
    ...options,
    key: loadOrCreateKey(files.seed, options.random),
    metadata: { os: process.platform, arch: process.arch },
  });
  try {
    // Command keys first: with credentials on disk, the enrollment counts as complete.
    options.commandKeys.replace(enrolled.commandKeys);
    writing(files.credentials, () => writeFileAtomic(files.credentials, enrolled.credentials, secretMode));
  } catch (cause) {
    const reason = cause instanceof SvcError ? cause.message : describeError(cause);
    throw new SvcError(
      "storage",
      `${reason}: these credentials are issued only once; run svc enroll revoke ${enrolled.enrollmentId} and restart the peel`,
      { cause },
    );
  }
  log.info("enrolled", { peel_id: displayPeelId(peelId), credentials: files.credentials });
}
