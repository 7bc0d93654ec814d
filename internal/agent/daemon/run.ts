import { join } from "node:path";
import { untilAborted } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { makeDirectory } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import { removeLeftovers } from "../../base/files/remove-leftovers.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { clientCertificate, resolveBusCa } from "../../bus/connection/mod.ts";
import { installationIdOf, systemHost } from "../../host/facts/mod.ts";
import { restAfterWork } from "../../program/daemon/mod.ts";
import { createParts, healthWords, startHealthServer } from "../../program/health/mod.ts";
import { tracing } from "../../program/tracing/mod.ts";
import { createInstance } from "../../wire/instance.ts";
import { checkAutomation, checkOperatorRoles, createInsistence, type Insistence } from "../consent/mod.ts";
import {
  createKeyRing,
  enrollAgain,
  identityFiles,
  leaveTwin,
  reportDamagedFiles,
  resolvePeelId,
} from "../identity/mod.ts";
import { createObstacle } from "../link/mod.ts";
import { openReleases } from "../releases/mod.ts";
import { checkSchedule } from "../schedule/mod.ts";
import { type Accepted, openAccepted, outrank, warnOfOutranked } from "../succession/mod.ts";
import {
  type Administrators,
  createAdministrators,
  createCommandKeys,
  createRecoveryKeys,
  createRefusedStatements,
  createRoots,
} from "../trust/mod.ts";
import { inEachFleet } from "./in-each-fleet.ts";
import type { PeelView } from "./metrics.ts";
import type { PeelDeps, PeelOptions } from "./options.ts";
import { bus } from "./parts/bus.ts";
import { local } from "./parts/local.ts";
import { masters } from "./parts/masters.ts";
import { ownCalls } from "./parts/own-calls.ts";
import { stores } from "./parts/stores.ts";

const health = { start: startHealthServer };
const resting = { start: ({ clock }: Pick<PeelDeps, "clock">) => restAfterWork(clock) };

type LinkedView = Pick<PeelView, "connected" | "renewals">;

/**
 * Runs a peel until the signal aborts, which it may do at any moment of the start. It starts in its local
 * phase, which waits for nobody; then it enrolls if it must, finds the bus however long that takes, beats,
 * and takes jobs.
 */
export async function runPeel(options: PeelOptions): Promise<void> {
  const { config, clock, log, signal } = options;
  checkSchedule(config.schedule);
  checkAutomation(config.automation_functions);
  checkOperatorRoles(config.operator_roles);
  const authDir = join(options.dataDir, "auth");
  const { deps, accepted } = identify(options, authDir);
  const { peelId } = deps;
  const ways = outrank(options, accepted.statement);
  reportDamagedFiles(deps.files, ways.config.bus_ca || ways.env.BUS_CA_FILE || deps.files.busCa, log);
  if (accepted.statement !== undefined) warnOfOutranked(options, accepted.statement, log);
  const client = clientCertificate(config.bus_tls_cert, config.bus_tls_key);
  // What cannot be read is reported before anything starts.
  resolveBusCa({ explicit: ways.config.bus_ca, env: ways.env, authDir });
  const again = enrollAgain(deps.files);
  const obstacle = createObstacle({ ...deps, credentials: deps.files.credentials, again });
  const notYet = () => obstacle.reason ?? "not connected yet";
  const connected = { ...bus, waits: { bus: notYet, kv: notYet } };
  const guide = { ...masters, waits: { credentials: () => obstacle.reason ?? "no credentials yet" } };
  await using parts = createParts<Pick<PeelView, "spans">>([], signal);
  const planned = (until: AbortSignal) => createParts<LinkedView>([connected, guide], until);
  /** The connected phase. It starts again when this peel joins another fleet. */
  let linked = planned(signal);

  // The local phase.
  const instance = displayPeelId(peelId);
  const { worked, during } = await parts.start(resting, deps);
  const traced = await parts.start(tracing, { service: "svc-peel", instance, config, clock, log });
  const known = { ...deps, ...traced, ...(await parts.start(stores, deps)), during };
  const able = { ...known, ...(await parts.start(local, known)) };
  const metrics = metricsOf({
    ...able.shown,
    spans: () => parts.view().spans?.() ?? {},
    connected: () => linked.view().connected?.() === true,
    renewals: () => linked.view().renewals?.() ?? {},
  });
  const healthServer = await parts.start(health, {
    ...config.health_addr,
    component: "peel",
    checks: () => ({ ...parts.checks(), ...linked.checks() }),
    metrics,
    clock,
    log,
  });
  const active = { ...able, ...(await parts.start(ownCalls, able)) };
  options.service?.ready(`started as ${displayPeelId(peelId)}; ${healthWords(healthServer.port)}`);
  worked();
  const port = defined({ health_port: healthServer.port });
  log.info("peel started", { peel_id: displayPeelId(peelId), ...port });

  const tls = () => {
    const { config, env } = outrank(options, accepted.statement);
    return defined({
      ca: readAgain(() => resolveBusCa({ explicit: config.bus_ca, env, authDir })),
      clientCertificate: client,
    });
  };
  await inEachFleet({
    ...{ deps, accepted, signal },
    // Its masters answer a peel that is halted, which is on the bus of no other fleet.
    isConnected: () => linked.view().connected?.() === true || obstacle.isHalted,
    async join(fleet) {
      linked = planned(fleet.signal);
      await using running = linked;
      const here = { ...able, ...fleet, obstacle, again };
      const guided = { ...active, ...fleet, ...(await running.start(guide, here)) };
      await running.start(connected, { ...guided, isHealthOff: healthServer.isOff, tls: tls(), obstacle });
      worked();
      log.info("peel connected", { peel_id: displayPeelId(peelId) });
      options.onReady?.(defined({ health: healthServer.port }));
      await untilAborted(fleet.signal);
    },
  });
}

/** Renders the metrics. The library behind them is loaded for the first scrape: most peels are never scraped. */
function metricsOf(view: PeelView): () => Promise<string> {
  let render: (() => Promise<string>) | undefined;
  return async () => {
    const { createPeelMetrics } = await import("./metrics.ts");
    render ??= createPeelMetrics(view).render;
    return render();
  };
}

/** Who this peel is, and whose commands it obeys. @throws SvcError naming what it cannot read or write */
function identify(options: PeelOptions, authDir: string): { deps: PeelDeps; accepted: Accepted } {
  writing(authDir, () => makeDirectory(authDir, 0o700));
  const peelId = resolvePeelId({ configured: options.config.id, hostname: options.hostname, authDir });
  const files = identityFiles(authDir, peelId);
  const { log } = options;
  // A crash leaves seeds and credentials in them.
  writing(authDir, () => removeLeftovers(Object.values(files)));
  leaveTwin({
    ...options,
    peelId,
    files,
    belongings: ["outbox", "compliance", "settings-snapshot.msgpack"].map((name) =>
      join(options.dataDir, name),
    ),
    machineId: installationIdOf(systemHost(options.hostname, options.env)),
  });
  // First: it completes what the others read.
  const accepted = openAccepted(files);
  const commandKeys = createCommandKeys(files.commandKeys, log);
  const recoveryKeys = createRecoveryKeys(files.recoveryKeys, log);
  const ways = () => outrank(options, accepted.statement);
  const refusedStatements = createRefusedStatements(options);
  const roots = createRoots({ ways, files, refusedStatements, clock: options.clock, log });
  const keys = createKeyRing(files, log);
  const administrators = createAdministrators(files, log);
  const trust = { commandKeys, recoveryKeys, administrators, refusedStatements, roots };
  const { config } = options;
  const insistence =
    config.require_operator === "on" ? insist(options, files.releases, administrators) : undefined;
  const instance = createInstance(options.random, options.clock.now());
  return {
    deps: { ...options, peelId, instance, files, keys, ...trust, ...defined({ insistence }) },
    accepted,
  };
}

function insist(
  { config, clock, log }: PeelOptions,
  file: string,
  administrators: Administrators,
): Insistence {
  log.info("this peel obeys operators only", { administrators: administrators.current.length });
  const { release_roles: roles, release_environments: environments } = config;
  const releases = openReleases({ file, administrators, roles, environments, clock, log });
  return createInsistence({ administrators, config, releases, clock });
}

/**
 * A text that each connection reads again, because roots change; the last one while it cannot be read.
 *
 * @returns `undefined` where there is none at the start
 * @throws what the first look throws
 */
function readAgain(read: () => string | undefined): (() => string | undefined) | undefined {
  let last = read();
  if (last === undefined) return undefined;
  return () => {
    try {
      last = read() ?? last;
    } catch {
      // The file is being replaced.
    }
    return last;
  };
}
