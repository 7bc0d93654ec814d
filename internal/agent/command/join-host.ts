import { closeSync, existsSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import {
  createFileAtomic,
  makeDirectory,
  publicMode,
  readTextIfPresent,
  secretMode,
  writeFileAtomic,
} from "../../base/files/file.ts";
import { lockFile } from "../../base/files/lock-file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { formatYaml } from "../../base/yaml/yaml.ts";
import { installationIdOf, systemHost } from "../../host/facts/mod.ts";
import { parseDocument } from "../../identity/bootstrap/mod.ts";
import type { JoinToken } from "../../identity/join-token/mod.ts";
import { createTrust, pinnedRoots, rootsOf, spkiPin } from "../../identity/trust/mod.ts";
import { loadPeelConfig, type PeelConfig } from "../../program/config/mod.ts";
import { createProver } from "../evidence/mod.ts";
import {
  type IdentityFiles,
  identityFiles,
  leaveTwin,
  readEnrollmentId,
  resolvePeelId,
  storeEnrollmentId,
} from "../identity/mod.ts";
import {
  CredentialsGone,
  createMasterClient,
  enrollAndStore,
  type MasterClient,
  masterUrls,
  planJoin,
} from "../joining/mod.ts";
import { createAdministrators, createCommandKeys, createRecoveryKeys } from "../trust/mod.ts";
import { healthFlag } from "./health-flag.ts";

/** Failed requests until this peel reports that no master answers: about half a minute. */
const firstAttempts = 6;

export interface JoinHostOptions {
  /** Absent for a host that may be a member already. */
  token?: JoinToken;
  configFile: string;
  /** `--id`, with dots. */
  id?: string;
  /** `--health-addr`, as it was written. */
  healthAddr?: string;
  /** Where everything the peel keeps lives. */
  dataDir: string;
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  clock: Clock;
  jitter: () => number;
  random: Random;
  log: Log;
  signal: AbortSignal;
}

/** A host that is a member of its fleet. */
export interface Joined {
  /** Encoded. */
  peelId: string;
  enrollmentId?: string;
  /** It was a member before; nothing was changed. */
  before?: true;
  /** Its credentials were issued to an attempt that was cut off: the daemon recovers them. */
  lacksCredentials?: true;
}

/**
 * Makes this host a member of the fleet of a token: it verifies a master by the pins of the token, writes the
 * configuration and what it trusts, and enrolls. Each step that was done before is left as it is, so that it can be
 * repeated after a failure.
 *
 * @throws SvcError `conflict` on a host of another fleet, or while another join runs, `usage` without a token on a
 *   host that is not a member, `unavailable` when no master answers, `forbidden` when the token is refused; TrustError
 */
export async function joinHost(options: JoinHostOptions): Promise<Joined> {
  const authDir = join(options.dataDir, "auth");
  writing(authDir, () => makeDirectory(authDir, 0o700));
  const path = join(authDir, "join.lock");
  writing(path, () => closeSync(openSync(path, "a", secretMode)));
  const lock = lockFile(path);
  if (lock === undefined) {
    throw new SvcError(
      "conflict",
      `another svc-peel join is running on this host (${path}): wait until it has ended, and run this again`,
    );
  }
  try {
    return await joinOnce(options, authDir);
  } finally {
    lock.release();
  }
}

async function joinOnce(options: JoinHostOptions, authDir: string): Promise<Joined> {
  const { token, dataDir, configFile, log } = options;
  const text = readTextIfPresent(configFile) ?? "";
  const before = readConfig(options, text);
  if (options.id !== undefined && before.id !== "" && before.id !== options.id) {
    throw new SvcError(
      "conflict",
      `${configFile} has the id ${before.id}: leave out --id, or change it there`,
    );
  }
  const healthAddr = addedHealthAddr(options, text);
  const configured = options.id ?? before.id;
  const peelId = resolvePeelId({ configured, hostname: options.hostname, authDir });
  const files = identityFiles(authDir, peelId);
  leaveTwin({
    ...{ ...options, peelId, files },
    belongings: ["outbox", "settings-snapshot.msgpack"].map((name) => join(dataDir, name)),
    machineId: installationIdOf(systemHost(options.hostname, options.env)),
  });
  const enrollmentId = readEnrollmentId(files.enrollment);
  if (existsSync(files.credentials) || enrollmentId !== undefined) {
    if (token !== undefined) planJoin(knownFleet(configFile, authDir, before, files), token);
    const lacks = existsSync(files.credentials) ? undefined : (true as const);
    return { peelId, before: true, ...defined({ enrollmentId, lacksCredentials: lacks }) };
  }
  if (token === undefined) {
    throw new SvcError(
      "usage",
      "this host has no join token: give --token-file FILE (- is standard input), SVC_JOIN_TOKEN, or the systemd credential join-token",
    );
  }
  const added = planJoin(knownFleet(configFile, authDir, before, files), token);
  const id = before.id === "" ? options.id : undefined;
  const own = defined({ id, health_addr: healthAddr });
  const named = Object.keys(own).length === 0 ? "" : formatYaml(own);
  const next = withLines(configFile, text, `${named}${added}`, (merged) => readConfig(options, merged));
  const masters = await firstContact(options, masterUrls(next.values), token, files);
  if (next.text !== text) {
    writing(configFile, () => {
      makeDirectory(dirname(configFile), 0o755);
      writeFileAtomic(configFile, next.text, publicMode);
    });
    log.info("configuration written", { path: configFile });
  }
  try {
    const id = await enrollAndStore({
      ...{ ...options, masters, peelId, files, token },
      ...defined({ prove: createProver(next.values, options) }),
      commandKeys: createCommandKeys(files.commandKeys, log),
      recoveryKeys: createRecoveryKeys(files.recoveryKeys, log),
      administrators: createAdministrators(files, log),
    });
    return { peelId, enrollmentId: id };
  } catch (thrown) {
    if (!(thrown instanceof CredentialsGone)) throw thrown;
    // The command ran twice at once, and the other run has them.
    if (existsSync(files.credentials)) return { peelId, enrollmentId: thrown.enrollmentId, before: true };
    storeEnrollmentId(files.enrollment, thrown.enrollmentId);
    log.warn("the credentials were issued to an attempt that was cut off", {
      ...{ enrollment_id: thrown.enrollmentId, peel_id: displayPeelId(peelId) },
    });
    return { peelId, enrollmentId: thrown.enrollmentId, lacksCredentials: true };
  }
}

/** @returns the address that the file lacks @throws SvcError `conflict` where it has another one */
function addedHealthAddr(
  { configFile, env, healthAddr }: Pick<JoinHostOptions, "configFile" | "healthAddr" | "env">,
  text: string,
): string | undefined {
  if (healthAddr === undefined || !/^health_addr:/m.test(text)) return healthAddr;
  const [kept, wanted] = [
    { configFile, env },
    { configFile, env, healthAddr },
  ].map((how) => readConfig(how, text).health_addr);
  if (kept?.host === wanted?.host && kept?.port === wanted?.port) return undefined;
  throw new SvcError(
    "conflict",
    `${configFile} has another health_addr: leave out --health-addr, or change it there`,
  );
}

/** How the peel of this configuration writes its log. @throws SvcError `bad_request` for a file with a problem */
export const logFormatOf = (files: Pick<JoinHostOptions, "configFile" | "env">): "json" | "text" =>
  readConfig(files, readTextIfPresent(files.configFile) ?? "").log_format === "text" ? "text" : "json";

function readConfig(
  { configFile, healthAddr, env }: Pick<JoinHostOptions, "configFile" | "healthAddr" | "env">,
  text: string,
): PeelConfig {
  const loaded = loadPeelConfig(["--config", configFile, ...healthFlag(healthAddr)], env, () => text);
  if (loaded.kind !== "run") throw new SvcError("internal", "internal error");
  return loaded.values;
}

function knownFleet(configFile: string, authDir: string, config: PeelConfig, files: IdentityFiles) {
  const pinsIn = (path: string) => rootsOf(readTextIfPresent(path) ?? "").map(spkiPin);
  const named = config.enroll_ca === "" ? config.enroll_ca_pin : pinsIn(config.enroll_ca);
  return {
    ...{ configFile, authDir, urls: masterUrls(config), busUrl: config.bus_url },
    pins: config.enroll_ca === "" && named.length === 0 ? undefined : named,
    anchored: existsSync(files.anchor) ? pinsIn(files.anchor) : undefined,
  };
}

/**
 * The configuration with further lines.
 *
 * @throws SvcError `bad_request` for a file that nothing can be appended to
 */
function withLines(
  configFile: string,
  text: string,
  lines: string,
  read: (text: string) => PeelConfig,
): { text: string; values: PeelConfig } {
  if (lines === "") return { text, values: read(text) };
  const end = text === "" || text.endsWith("\n") ? "" : "\n";
  const merged = `${text}${end}# Written by svc-peel join.\n${lines}`;
  try {
    return { text: merged, values: read(merged) };
  } catch (cause) {
    throw new SvcError(
      "bad_request",
      `${configFile} is not in a form that lines can be added to; add these yourself, and run this command again:\n${lines.trimEnd()}`,
      { cause },
    );
  }
}

/**
 * Verifies a master, and stores the root that did it, for the masters and for the bus.
 *
 * @returns a client that waits for the masters however long that takes
 * @throws SvcError `unavailable` when none answers; TrustError when none belongs to the fleet of the token
 */
async function firstContact(
  options: JoinHostOptions,
  urls: readonly string[],
  { pins }: Pick<JoinToken, "pins">,
  files: IdentityFiles,
): Promise<MasterClient> {
  const { clock, log, signal } = options;
  const trust = createTrust({
    rung: pins.length > 0 ? { rung: 2, pins } : { rung: 4, firstUse: false },
    storeAnchor: () => {},
    ...{ clock, log, signal },
  });
  const client = { ...options, urls, trust };
  const first = createMasterClient({ ...client, attempts: firstAttempts });
  const { status, body, verifiedBy } = await first.request("GET", "/api/v1/enroll/ca").catch((thrown) => {
    if (!(thrown instanceof SvcError) || thrown.kind !== "unavailable") throw thrown;
    throw new SvcError(
      "unavailable",
      `${thrown.message}: check that this host reaches it (name, port, firewall), and run this command again`,
      { cause: thrown },
    );
  });
  const document = status === 200 ? parseDocument(body) : undefined;
  if (document === undefined) {
    throw new SvcError("unavailable", `${urls.join(", ")} is not a master of svc (status ${status})`);
  }
  const roots = pinnedRoots(document.ca_bundle_pem, pins).map((pem) => `${pem.trim()}\n`);
  const anchor = roots.find((pem) => spkiPin(pem) === verifiedBy);
  if (anchor !== undefined) storeRoots(files.anchor, anchor);
  // The bus has a certificate of the same CA, unless its operator set up another one.
  if (roots.length > 0) storeRoots(files.busCa, roots.join(""));
  return createMasterClient(client);
}

/** Stores roots where none are yet. Another run of this command may store the same at this moment. */
function storeRoots(path: string, pem: string): void {
  if (existsSync(path)) return;
  try {
    writing(path, () => createFileAtomic(path, pem, publicMode));
  } catch (thrown) {
    if (readTextIfPresent(path) !== pem) throw thrown;
  }
}
