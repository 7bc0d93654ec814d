import { serveAdmin } from "../admin/serve.ts";
import { type Clock, rfc3339, sleep } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Random } from "../base/id.ts";
import type { Log } from "../base/log.ts";
import { encode } from "../base/msgpack.ts";
import { version } from "../base/version.ts";
import { createDocument } from "../bootstrap/document.ts";
import { type AssetName, provision, provisionOne, replicasFor } from "../bus/assets.ts";
import { type Bucket, openBucket } from "../bus/bucket.ts";
import { clientCertificate } from "../bus/client-certificate.ts";
import { type Bus, connectBusForever, resolveBusCa } from "../bus/connect.ts";
import { createSystemBus, type SystemBus } from "../bus/system.ts";
import type { MasterConfig } from "../config/load.ts";
import { createDirectory } from "../enrollment/directory.ts";
import type { Check } from "../health/check.ts";
import { startHealthServer } from "../health/server.ts";
import { bootstrapRoutes } from "../http/bootstrap-routes.ts";
import { enrollRoutes } from "../http/enroll-routes.ts";
import { enrollmentRoutes } from "../http/enrollment-routes.ts";
import { jobRoutes } from "../http/job-routes.ts";
import { startListener } from "../http/listener.ts";
import { warnOfTokenFiles } from "../http/tokens.ts";
import { loadEnrollCertificate } from "./certificate.ts";
import { loadMasterKeys } from "./keys.ts";

const provisionRetryMs = 2_000;
const heartbeatMs = 5_000;

export interface MasterOptions {
  config: MasterConfig;
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  clock: Clock;
  random: Random;
  log: Log;
  signal: AbortSignal;
  /** Called when the master serves, with the ports it really has. */
  onReady?(ports: { enroll: number; health: number }): void;
}

/**
 * Runs a master until the signal aborts. What cannot work is told at once; a bus that is away is
 * waited for, with /readyz saying so.
 */
export async function runMaster(options: MasterOptions): Promise<void> {
  const { config, env, clock, random, log, signal } = options;
  await using stack = new AsyncDisposableStack();

  const keys = loadMasterKeys(config.auth_dir);
  const certificate = await loadEnrollCertificate(options);
  const busCa = resolveBusCa({ explicit: config.bus_ca, env, authDir: config.auth_dir });
  const client = clientCertificate(config.bus_tls_cert, config.bus_tls_key);

  const checks: Record<string, Check> = {
    bus: () => ({ status: "down", message: "not connected yet" }),
    "enroll-server": () => ({ status: "down", message: "not started yet" }),
  };
  const health = startHealthServer({ ...config.health_addr, component: "master", checks, clock });
  stack.defer(() => health.stop());

  const connect = (name: string, credentials: string) =>
    connectBusForever(
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
  const bus = await connect("svc-master", keys.credentials);
  stack.defer(() => bus.drain());
  const systemConnection = await connect("svc-master-system", keys.systemCredentials);
  stack.defer(() => systemConnection.drain());
  const system = await createSystemBus(systemConnection);
  stack.defer(() => system.stop());
  checks.bus = () => (bus.connected ? { status: "up" } : { status: "down", message: "not connected" });

  const replicas = await provisionStorage(bus, system, options);
  const buckets = await openBuckets(bus, () => provisionOne(bus, "enroll-challenges", replicas, log));
  const directory = createDirectory({ enrollments: buckets.enrollments, log });
  stack.defer(() => directory.stop());
  await directory.ready;

  const apply = { enrollments: buckets.enrollments, clock };
  const dispatch = {
    bus,
    jobs: buckets.jobs,
    members: async () => {
      await directory.caughtUp();
      return directory.members();
    },
    commandKey: keys.command,
    clock,
    random,
    log,
  };
  const tokens = config["api.tokens"];
  warnOfTokenFiles(tokens, log);
  const commandKeys = [keys.command.publicKey];
  const document = createDocument(
    {
      ca_bundle_pem: certificate.root?.pem ?? "",
      fingerprint: certificate.root?.pin ?? "",
      nats_urls: [...config.bus_advertise_urls],
      command_keys: commandKeys,
    },
    clock.now(),
  );
  const listener = startListener({
    ...config["enroll.addr"],
    certificate,
    tokens,
    clock,
    log,
    routes: [
      ...enrollRoutes({
        enrollments: buckets.enrollments,
        directory,
        challenge: { challenges: buckets.challenges, clock, random },
        enroll: { ...buckets, clock, random, ownCaSpki: certificate.root?.pin, log },
        deliver: { enrollments: buckets.enrollments, account: keys.account, clock, random, log },
        commandKeys,
        clock,
      }),
      ...bootstrapRoutes(document),
      ...(tokens.length === 0
        ? []
        : [
            ...enrollmentRoutes({ directory, apply }),
            ...jobRoutes({
              dispatch,
              show: { bus, jobs: buckets.jobs, heartbeats: buckets.heartbeats, clock },
            }),
          ]),
    ],
  });
  stack.defer(() => listener.stop());
  checks["enroll-server"] = () => ({ status: "up" });
  serveAdmin({ bus, apply, dispatch, log });
  startMasterHeartbeat(bus, buckets.masterHeartbeats, options, stack);

  log.info("master ready", { enroll_port: listener.port, health_port: health.port });
  options.onReady?.({ enroll: listener.port, health: health.port });
  await aborted(signal);
}

/** Provisions all storage, again and again until JetStream agrees: a cluster may still be electing. */
async function provisionStorage(bus: Bus, system: SystemBus, options: MasterOptions): Promise<number> {
  const { config, clock, log, signal } = options;
  for (;;) {
    try {
      const { replicas, warning } = replicasFor(config.storage_replicas, system.servers().jetstream);
      if (warning !== undefined) log.warn(warning);
      await provision(bus, replicas, log);
      return replicas;
    } catch (cause) {
      log.warn("storage is not ready", { error: describeError(cause), retry_in_ms: provisionRetryMs });
    }
    await sleep(clock, provisionRetryMs, signal);
  }
}

async function openBuckets(
  bus: Bus,
  recreateChallenges: () => Promise<void>,
): Promise<{
  enrollments: Bucket;
  challenges: Bucket;
  jobs: Bucket;
  heartbeats: Bucket;
  masterHeartbeats: Bucket;
}> {
  const open = (name: AssetName) => openBucket(bus, name);
  return {
    enrollments: await open("enrollments"),
    challenges: await openBucket(bus, "enroll-challenges", recreateChallenges),
    jobs: await open("jobs"),
    heartbeats: await open("peel-heartbeat"),
    masterHeartbeats: await open("master-heartbeat"),
  };
}

function startMasterHeartbeat(
  bus: Bus,
  bucket: Bucket,
  { hostname, clock, log }: MasterOptions,
  stack: AsyncDisposableStack,
): void {
  const id = bus.nats.info?.client_id ?? 0;
  const key = `${hostname.replace(/[^A-Za-z0-9-]/g, "-")}-${id}`;
  const startedAt = rfc3339(clock.now());
  const beat = () => {
    bucket.put(key, encode({ hostname, version, started_at: startedAt })).catch((cause) => {
      if (bus.connected) log.warn("master heartbeat not stored", { error: cause });
    });
  };
  beat();
  const timer = clock.every(heartbeatMs, beat);
  stack.defer(() => timer.cancel());
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
