import { join } from "node:path";
import { type Clock, untilAborted } from "../../base/clock.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { encodePeelsAccount } from "../../bus/accounts/peels-account.ts";
import { clientCertificate } from "../../bus/client-certificate.ts";
import { type Bus, connectBusForever, resolveBusCa } from "../../bus/connect.ts";
import { createSystemBus } from "../../bus/system.ts";
import { startPublisher } from "../../fleet/bootstrap/publish.ts";
import { createDirectory } from "../../fleet/enrollment/directory.ts";
import { createDisconnections } from "../../fleet/enrollment/disconnections.ts";
import { createEnforcer } from "../../fleet/enrollment/enforce.ts";
import { repairOrphans } from "../../fleet/enrollment/repair.ts";
import { createRevocations } from "../../fleet/enrollment/revocations.ts";
import { readAlive } from "../../fleet/jobs/alive.ts";
import { createBoard } from "../../fleet/jobs/board.ts";
import { startScheduleResults } from "../../fleet/jobs/schedule-results.ts";
import { createCommands } from "../../fleet/jobs/send.ts";
import { type RolloutTiming, rolloutTiming } from "../../fleet/rollout/timing.ts";
import { createDocument } from "../../identity/bootstrap/document.ts";
import { createVouch } from "../../identity/record-mac.ts";
import { spkiPin } from "../../identity/trust/pin.ts";
import { dataDir, type MasterConfig } from "../../program/config/load.ts";
import type { Check, CheckResult } from "../../program/health/check.ts";
import { startHealthServer } from "../../program/health/server.ts";
import { createCertificateSource } from "../certificate/certificate.ts";
import type { EnrollCertificate } from "../certificate/certificate-source.ts";
import { serveEnrollments } from "../doors/bus/enrollment.ts";
import { serveJobs } from "../doors/bus/job.ts";
import { serveTargets } from "../doors/bus/target.ts";
import { bootstrapRoutes } from "../doors/http/bootstrap-routes.ts";
import { docsRoutes } from "../doors/http/docs-routes.ts";
import { enrollRoutes } from "../doors/http/enroll-routes.ts";
import { enrollmentRoutes } from "../doors/http/enrollment-routes.ts";
import { jobRoutes } from "../doors/http/job-routes.ts";
import { type ServedRoute, startListener } from "../doors/http/listener.ts";
import { warnOfTokenFiles } from "../doors/http/tokens.ts";
import { serveHello } from "../doors/peels/hello.ts";
import { createMasterMetrics, type MasterView } from "../metrics/metrics.ts";
import { startBinaries } from "./binaries.ts";
import { runBusAlone, startEmbeddedBus } from "./embedded-bus.ts";
import { startMasterHeartbeat } from "./heartbeat.ts";
import { loadMasterKeys } from "./keys.ts";
import { masterName } from "./name.ts";
import { startMasterReactor } from "./reactor.ts";
import { startRollouts } from "./rollouts.ts";
import { type MasterSettings, startSettings } from "./settings.ts";
import { startStateFiles } from "./state-files.ts";
import { openStorage } from "./storage.ts";
import { startTargeting } from "./targeting.ts";

export interface MasterOptions {
  config: MasterConfig;
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  clock: Clock;
  random: Random;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
  /** Other limits than those of the specification, for those who cannot wait for them. */
  rolloutTiming?: RolloutTiming;
  /** Called when the master serves, with the ports it really has and the routes behind the first. */
  onReady?(serving: { enroll: number; health: number; routes: readonly ServedRoute[] }): void;
}

/** A server that no longer answers is found out here long before its connection breaks. */
async function checkBus(connections: readonly Bus[]): Promise<CheckResult> {
  if (!connections.every(({ connected }) => connected)) return { status: "down", message: "not connected" };
  await Promise.all(connections.map(({ nats }) => nats.flush()));
  return { status: "up" };
}

/** A connection that was not made yet. */
const absent = { connected: false, reconnects: 0 };

/**
 * Runs a master until the signal aborts. What cannot work is told at once; a bus that is away is
 * waited for, with /readyz saying so.
 */
export async function runMaster(options: MasterOptions): Promise<void> {
  const { config, env, hostname, clock, random, jitter, log, signal } = options;
  const name = masterName(hostname, random);
  if (config.embedded_bus_only) return runBusAlone(options);
  await using stack = new AsyncDisposableStack();

  const keys = loadMasterKeys(config.auth_dir);
  const view: MasterView = {};
  const metrics = createMasterMetrics(view);
  const certificates = await createCertificateSource({ ...options, metrics });
  stack.defer(() => certificates.stop());
  const busCa = resolveBusCa({ explicit: config.bus_ca, env, authDir: config.auth_dir });
  const client = clientCertificate(config.bus_tls_cert, config.bus_tls_key);

  const checks: Record<string, Check> = {
    bus: () => ({ status: "down", message: "not connected yet" }),
    "enroll-server": () => ({ status: "down", message: "not started yet" }),
    "sched-consumer": () => ({ status: "down", message: "not running yet" }),
    "target-service": () => ({ status: "down", message: "not started yet" }),
  };
  if (certificates.check !== undefined) checks.ca = certificates.check;
  const health = startHealthServer({
    ...config.health_addr,
    component: "master",
    checks,
    metrics: metrics.render,
    clock,
  });
  stack.defer(() => health.stop());

  const busServer = await startEmbeddedBus({ ...options, metrics });
  stack.defer(() => busServer?.stop());
  const connections: Record<string, Bus | undefined> = {};
  view.bus = () =>
    Object.fromEntries(
      Object.entries(connections).map(([name, { connected, reconnects } = absent]) => [
        name,
        { connected, reconnects },
      ]),
    );
  const connect = async (name: string, credentials: string) => {
    connections[name] = undefined;
    const connection = await connectBusForever(
      {
        urls: [config.bus_url],
        name,
        identity: { credentials },
        ...(busCa === undefined ? {} : { ca: busCa }),
        ...(client === undefined ? {} : { clientCertificate: client }),
        clock,
        log: log.with({ connection: name }),
      },
      signal,
    );
    connections[name] = connection;
    return connection;
  };
  const bus = await connect("svc-master", keys.credentials);
  stack.defer(() => bus.drain());
  const systemConnection = await connect("svc-master-system", keys.systemCredentials);
  checks.bus = () => checkBus([bus, systemConnection]);
  stack.defer(() => systemConnection.drain());
  const system = await createSystemBus(systemConnection);
  stack.defer(() => system.stop());

  const storage = await openStorage({
    bus,
    system,
    configuredReplicas: config.storage_replicas,
    clock,
    log,
    signal,
  });
  const scheduleResults = startScheduleResults({ bus, jobs: storage.jobs, metrics, clock, log });
  stack.defer(() => scheduleResults.stop());
  checks["sched-consumer"] = () =>
    scheduleResults.running ? { status: "up" } : { status: "down", message: "not running" };
  const { enrollments } = storage;
  const directory = createDirectory({ enrollments, log });
  stack.defer(() => directory.stop());
  await directory.ready;
  view.enrollments = () => directory.countByState();
  view.credentials = () => directory.credentials(clock.now());
  const repairing = repairOrphans({ enrollments, directory, clock, log });
  stack.defer(() => repairing.stop());

  const revocations = createRevocations({ bucket: storage.revocations, log });
  stack.defer(() => revocations.stop());
  const account = keys.account.publicKey;
  const enforcer = createEnforcer({
    revocations,
    system,
    account,
    encodeAccount: (list, issuedAt) =>
      encodePeelsAccount({
        account,
        masters: keys.mastersAccount,
        revocations: list,
        issuedAt,
        signer: keys.operatorSigning,
      }),
    clock,
    log,
  });
  const reconciling = enforcer.start();
  stack.defer(() => reconciling.stop());
  const disconnections = createDisconnections(system, account, clock);
  stack.defer(() => disconnections.stop());
  let settings: MasterSettings | undefined;
  const targeting = await startTargeting({
    storage,
    directory,
    settingsDir: config.settings_dir,
    settings: async () => (await settings?.view.load()) ?? new Map(),
    clock,
    log,
  });
  stack.defer(() => targeting.stop());
  settings = startSettings({
    bus,
    storage,
    directory,
    index: targeting.index,
    path: config.settings_dir,
    name,
    command: keys.command,
    metrics,
    clock,
    random,
    jitter,
    log,
  });
  stack.defer(() => settings?.stop());
  checks.settings = settings.check;

  const decisions = {
    directory,
    enrollments,
    clock,
    revocations,
    enforce: { enforcer, disconnections, metrics, clock, log },
  };
  const { resolver, alive } = targeting;
  const vouch = createVouch(keys.command);
  const commands = createCommands({ bus, key: keys.command, vouch, log });
  const { send } = commands;
  const { index } = targeting;
  view.peelsAlive = () => (index.running ? directory.members().filter(index.alive).length : undefined);
  const settle = { bus, jobs: storage.jobs, alive, metrics, clock };
  const board = createBoard({ ...settle, send, jitter, log });
  stack.defer(() => board.stop());
  view.jobsRunning = board.running;
  await board.ready;
  const jobs = {
    dispatch: {
      jobs: storage.jobs,
      resolve: resolver.resolve,
      alive,
      send,
      vouch,
      own: board.own,
      metrics,
      clock,
      random,
      log,
    },
    cancel: { ...settle, send, vouch, log },
    show: { bus, jobs: storage.jobs, alive: readAlive(storage.peelHeartbeats), clock },
    board,
  };
  const rollouts = await startRollouts({
    ...jobs,
    bus,
    name,
    timing: options.rolloutTiming ?? rolloutTiming,
    metrics,
    clock,
    random,
    jitter,
    log,
  });
  stack.defer(() => rollouts.stop());
  view.rollouts = rollouts.view;
  const tokens = config["api.tokens"];
  warnOfTokenFiles(tokens, log);
  const commandKeys = [keys.command.publicKey];
  const describeFleet = () => {
    const root = certificates.current().root;
    return createDocument(
      {
        ca_bundle_pem: root?.pem ?? "",
        fingerprint: root?.pin ?? "",
        nats_urls: [...config.bus_advertise_urls],
        command_keys: commandKeys,
      },
      clock.now(),
    );
  };
  let document = describeFleet();
  const publisher = startPublisher({ secrets: storage.secrets, document, pinOf: spkiPin, clock, log });
  stack.defer(() => publisher.stop());
  const missed = (peel: string, limit: number) =>
    board.missed(peel, limit).flatMap(({ kind, job }) => commands.sign(kind, job, peel) ?? []);
  const binaries = await startBinaries({ bus, jobs: storage.jobs, board, clock, jitter, log });
  stack.defer(() => binaries.stop());
  const stateFiles = startStateFiles({
    bus,
    leases: storage.leases,
    command: keys.command,
    members: directory.members,
    binaries: binaries.cache,
    statesDir: config.states_dir,
    git: {
      remotes: config["gitfs.remotes"],
      intervalMs: config["gitfs.interval"],
      sshKey: config["gitfs.ssh_key"],
    },
    gitDir: join(dataDir(env), "gitfs"),
    name,
    clock,
    jitter,
    log,
    signal,
  });
  stack.defer(() => stateFiles.stop());
  if (stateFiles.check !== undefined) checks.gitfs = stateFiles.check;
  const reactor = startMasterReactor({
    ...{ config, bus, storage, directory, index, dispatch: jobs.dispatch, command: keys.command },
    ...{ name, metrics, clock, jitter, log },
  });
  stack.defer(() => reactor?.stop());
  if (reactor !== undefined) {
    checks.reactor = reactor.check;
    view.reactor = reactor.view;
  }
  const leases = [settings.lease, stateFiles.lease, ...(reactor === undefined ? [] : [reactor.lease])];
  view.leases = () => Object.fromEntries(leases.map(({ name, tenure }) => [name, tenure !== undefined]));
  const hello = serveHello({
    bus,
    document: () => document,
    missed,
    settings: settings.tell,
    states: stateFiles.inForce,
    clock,
    log,
  });
  stack.defer(() => hello.stop());
  const routes = [
    ...enrollRoutes({
      state: { enrollments, directory, metrics },
      challenge: { challenges: storage.challenges, clock, random },
      enroll: {
        enrollments,
        challenges: storage.challenges,
        clock,
        random,
        get ownCaSpki() {
          return certificates.current().root?.pin;
        },
        metrics,
        log,
      },
      deliver: { enrollments, account: keys.account, commandKeys, clock, random, log },
      clock,
    }),
    ...bootstrapRoutes({ document: () => document }, clock),
    ...(tokens.length === 0
      ? []
      : [...enrollmentRoutes(decisions), ...jobRoutes(jobs, clock), ...rollouts.routes]),
  ];
  const listener = await startListener({
    ...config["enroll.addr"],
    certificate: certificates.current(),
    tokens,
    metrics,
    clock,
    log,
    routes: config["api.docs_enabled"] ? [...routes, ...docsRoutes(routes)] : routes,
  });
  stack.defer(() => listener.stop());
  const useCertificate = (certificate: EnrollCertificate) => {
    listener.setCertificate(certificate);
    if ((certificate.root?.pem ?? "") === document.ca_bundle_pem) return;
    document = describeFleet();
    publisher.update(document);
  };
  stack.defer(certificates.onChange(useCertificate));
  // One that was renewed while the listener started.
  useCertificate(certificates.current());
  checks["enroll-server"] = () =>
    listener.listening ? { status: "up" } : { status: "down", message: "the listener has exited" };
  const busDoor = { bus, clock, log };
  serveEnrollments(busDoor, decisions);
  serveJobs(busDoor, jobs);
  serveTargets(busDoor, { resolver });
  rollouts.serve();
  checks["target-service"] = targeting.check;
  const heartbeat = startMasterHeartbeat({
    bus,
    bucket: storage.masterHeartbeats,
    name,
    hostname,
    certificateEnds: () => certificates.current().notAfter,
    clock,
  });
  stack.defer(() => heartbeat.stop());

  log.info("master ready", { master: name, enroll_port: listener.port, health_port: health.port });
  options.onReady?.({ enroll: listener.port, health: health.port, routes: listener.routes });
  await untilAborted(signal);
}
