import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Clock, untilAborted } from "../base/clock.ts";
import { SvcError } from "../base/errors.ts";
import {
  makeDirectory,
  publicMode,
  readTextFile,
  readTextIfPresent,
  secretMode,
  writeFileAtomic,
} from "../base/file.ts";
import type { Random } from "../base/id.ts";
import type { Log } from "../base/log.ts";
import { writing } from "../base/new-files.ts";
import { parseDocument } from "../bootstrap/document.ts";
import { clientCertificate } from "../bus/client-certificate.ts";
import { connectBusForever, resolveBusCa } from "../bus/connect.ts";
import { peelInboxPrefix } from "../bus/subjects.ts";
import { assertAdvertiseUrl } from "../config/bus-url.ts";
import type { PeelConfig } from "../config/load.ts";
import { collectFacts } from "../facts/collect.ts";
import type { Check } from "../health/check.ts";
import { startHealthServer } from "../health/server.ts";
import { displayPeelId } from "../identity/peel-id.ts";
import { chooseRung } from "../trust/ladder.ts";
import { enrollPeel } from "./enroll.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { type IdentityFiles, identityFiles, loadOrCreateKey, resolvePeelId } from "./identity.ts";
import { createMasterClient, type MasterClient } from "./master-client.ts";
import { publishFacts } from "./publish-facts.ts";
import { startWorker } from "./worker.ts";

const defaultMasterUrl = "https://svc:8443";
const builtinBusUrl = "tls://bus:4222";
/** Attempts at the guessed master before a peel without any configuration gives up. */
const guessedMasterAttempts = 4;

export interface PeelOptions {
  config: PeelConfig;
  /** Where everything the peel keeps lives: `SVC_DATA_DIR`, or /data. */
  dataDir: string;
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  /** A number in [0, 1). */
  jitter: () => number;
  clock: Clock;
  random: Random;
  log: Log;
  signal: AbortSignal;
  /** Called when the peel is connected and takes jobs. */
  onReady?(ports: { health: number }): void;
}

/** Runs a peel until the signal aborts: enrolls if it must, connects, beats, and takes jobs. */
export async function runPeel(options: PeelOptions): Promise<void> {
  const { config, env, clock, log, signal } = options;
  await using stack = new AsyncDisposableStack();

  const authDir = join(options.dataDir, "auth");
  writing(authDir, () => makeDirectory(authDir, 0o700));
  const peelId = resolvePeelId({ configured: config.id, hostname: options.hostname, authDir });
  const files = identityFiles(authDir, peelId);
  const busCa = resolveBusCa({ explicit: config.bus_ca, env, authDir });
  const client = clientCertificate(config.bus_tls_cert, config.bus_tls_key);

  const checks: Record<string, Check> = {
    bus: () => ({ status: "down", message: "not connected yet" }),
  };
  const health = startHealthServer({ ...config.health_addr, component: "peel", checks, clock });
  stack.defer(() => health.stop());

  const masters = mastersOf(options, files);
  if (!existsSync(files.credentials)) await enroll(options, peelId, files, masters);
  const commandKeys = await loadCommandKeys(files, masters);

  const bus = await connectBusForever(
    {
      urls: await busUrls(config, masters, log),
      name: `svc-peel ${displayPeelId(peelId)}`,
      identity: { credentials: readTextFile(files.credentials, "the bus credentials") },
      ...(busCa === undefined ? {} : { ca: busCa }),
      ...(client === undefined ? {} : { clientCertificate: client }),
      inboxPrefix: peelInboxPrefix(peelId),
      clock,
      log,
    },
    signal,
  );
  stack.defer(() => bus.drain());
  checks.bus = () => (bus.connected ? { status: "up" } : { status: "down", message: "not connected" });
  startWorker({ bus, peelId, commandKeys, clock, log, signal });
  const heartbeat = startHeartbeat(bus, peelId);
  stack.defer(() => heartbeat.stop());
  const facts = publishFacts(bus, peelId, collectFacts(options.hostname));
  stack.defer(() => facts.stop());
  log.info("peel connected", { peel_id: displayPeelId(peelId) });
  options.onReady?.({ health: health.port });
  await untilAborted(signal);
}

function masterUrls(config: PeelConfig): readonly string[] {
  return config.master_urls.length > 0 ? config.master_urls : [config.master_url].filter(Boolean);
}

function mastersOf(options: PeelOptions, files: IdentityFiles): MasterClient {
  const { config } = options;
  const configured = masterUrls(config);
  const hasCredentials = existsSync(files.credentials);
  const anchor = readTextIfPresent(files.anchor);
  return createMasterClient({
    urls: configured.length > 0 ? configured : [defaultMasterUrl],
    ...(configured.length > 0 ? {} : { maxAttempts: guessedMasterAttempts }),
    rung: chooseRung({
      ...(config.enroll_ca === "" ? {} : { enrollCa: readTextFile(config.enroll_ca, "enroll_ca") }),
      pins: config.enroll_ca_pin,
      ...(anchor === undefined ? {} : { anchor }),
      hasCredentials,
      mode: config.enroll_trust,
    }),
    clock: options.clock,
    jitter: options.jitter,
    log: options.log,
    signal: options.signal,
  });
}

async function enroll(
  options: PeelOptions,
  peelId: string,
  files: IdentityFiles,
  masters: MasterClient,
): Promise<void> {
  const anchor = await masters.anchor();
  if (anchor.firstUse && anchor.ca !== undefined) writeFileAtomic(files.anchor, anchor.ca, publicMode);
  const enrolled = await enrollPeel({
    masters,
    peelId,
    key: loadOrCreateKey(files.seed, options.random),
    hostname: options.hostname,
    metadata: { os: process.platform, arch: process.arch },
    clock: options.clock,
    jitter: options.jitter,
    log: options.log,
    signal: options.signal,
  });
  // The command keys first: with credentials on disk the enrollment counts as done.
  writing(files.commandKeys, () =>
    writeFileAtomic(files.commandKeys, `${enrolled.commandKeys.join("\n")}\n`, publicMode),
  );
  writing(files.credentials, () => writeFileAtomic(files.credentials, enrolled.credentials, secretMode));
  options.log.info("enrolled", { peel_id: displayPeelId(peelId), credentials: files.credentials });
}

async function loadCommandKeys(files: IdentityFiles, masters: MasterClient): Promise<string[]> {
  const stored = readTextIfPresent(files.commandKeys)?.split("\n").filter(Boolean) ?? [];
  if (stored.length > 0) return stored;
  const { body } = await masters.request("GET", "/api/v1/enroll/ca");
  const keys = parseDocument(body)?.command_keys ?? [];
  if (keys.length === 0)
    throw new SvcError("unavailable", "the master names no command keys: is it up to date?");
  writeFileAtomic(files.commandKeys, `${keys.join("\n")}\n`, publicMode);
  return keys;
}

/** Where the bus is: the configured URL, else what the bootstrap document says, else the built-in name. */
async function busUrls(config: PeelConfig, masters: MasterClient, log: Log): Promise<string[]> {
  if (config.bus_url !== "") return [config.bus_url];
  // The guessed master is for enrolling alone.
  if (masterUrls(config).length === 0) return [builtinBusUrl];
  const { body } = await masters.request("GET", "/api/v1/enroll/ca");
  const urls = (parseDocument(body)?.nats_urls ?? []).filter((url) => {
    try {
      assertAdvertiseUrl("nats_urls", url);
      return true;
    } catch (cause) {
      log.warn("advertised bus URL refused", { error: cause });
      return false;
    }
  });
  return urls.length > 0 ? urls : [builtinBusUrl];
}
