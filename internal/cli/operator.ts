import { homedir, userInfo } from "node:os";
import { abortable } from "../base/abortable.ts";
import { rfc3339 } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { SvcError } from "../base/errors.ts";
import { readTextFile } from "../base/files/file.ts";
import { createLog } from "../base/log.ts";
import type { Span } from "../base/trace.ts";
import { operatorInboxPrefix } from "../bus/accounts/mod.ts";
import {
  type Bus,
  type BusIdentity,
  type BusOptions,
  clientCertificate,
  connectBus,
  isCredentialsRefused,
  isNotAllowed,
  type Requester,
} from "../bus/connection/mod.ts";
import {
  assertFleetOf,
  deriveCurveKey,
  formatCredentials,
  type KeyPair,
  type OperatorFile,
  openSealed,
  parseCredentials,
  readClaims,
  readOperatorFile,
} from "../identity/mod.ts";
import type { Cli } from "../program/command-line/mod.ts";
import { loadOperatorConfig, operatorOptions } from "../program/config/mod.ts";
import type { TracingConfig } from "../program/tracing/mod.ts";
import { nonceBytes, signRequest } from "../wire/signed-request.ts";
import { closeAtOnce } from "./close-at-once.ts";
import { loginFile } from "./contexts.ts";
import { isRenewalDue } from "./renewal-due.ts";
import { spanOf } from "./span.ts";

/** How long the bus may take to accept the connection, where no option says otherwise. */
const connectMs = 10_000;
/** Nobody waits long for an address that may be another one the next time. */
const trialMs = 1_000;

/** The arguments that say how the operator connects. */
export type OperatorCli = Pick<Cli, "config" | "context" | "env" | "clock" | "random" | "stderr"> &
  Partial<Pick<Cli, "span" | "warn" | "connectTimeoutMs" | "command">>;

/**
 * Who is at the keyboard: the name that is recorded as the decider. The name comes from the system by the user id,
 * as the runtime only knows the environment, which anybody can set or lack.
 */
export function operatorName(): string {
  try {
    const { stdout, success } = Bun.spawnSync(["id", "-un"], { timeout: 2_000, stderr: "ignore" });
    const name = stdout.toString().trim();
    if (success && name !== "") return name;
  } catch {
    // Not every system has the command.
  }
  return userInfo().username;
}

/**
 * Connects to the bus as the configured operator, hands the connection over, and closes it.
 *
 * @param use gets the connection, and the fleet of the operator file that names the caller, if there is one
 * @param as credentials in place of the configured ones
 * @throws SvcError naming the key or file that is missing, or that the bus cannot be reached
 */
export async function withBus<T>(
  cli: OperatorCli,
  use: (bus: Bus, fleet: string | undefined) => Promise<T>,
  as?: { credsFile: string },
): Promise<T> {
  // Read once: to read it takes longer than most masters need to answer.
  const configured = readConfigured(cli);
  const span = await spanOf(configured.config, cli);
  const options = { ...busOf(configured, cli, as), span };
  const bus = await connectInTime(options, cli).catch((thrown) => {
    throw as === undefined ? explainRefusal(thrown, cli) : thrown;
  });
  try {
    const result = await use(bus, configured.file?.fleet);
    if (as === undefined) await renewInTime(bus, configured, cli);
    await bus.close();
    return result;
  } catch (thrown) {
    if (as === undefined && isNotAllowed(thrown)) await explainOutdated(bus, configured, cli);
    throw thrown;
  } finally {
    if (!bus.nats.isClosed()) await closeAtOnce([bus], cli.clock);
  }
}

const notInTime = (urls: readonly string[]) =>
  new SvcError("unavailable", `cannot connect to the bus at ${urls.join(", ")}: no answer in time`);

/** Connects within the time that the command has for it, whatever the servers of the bus do. */
async function connectInTime(options: BusOptions, { clock, connectTimeoutMs }: OperatorCli): Promise<Bus> {
  const limitMs = connectTimeoutMs ?? connectMs;
  const late = new AbortController();
  const timer = clock.after(limitMs, () => late.abort(notInTime(options.urls)));
  // A frozen server never answers, and a name may have two addresses: the next one is tried in time.
  const timeoutMs = Math.ceil(limitMs / Math.max(2, options.urls.length));
  const connecting = connectBus({ ...options, timeoutMs });
  return await abortable(connecting, late.signal, (bus) => void bus.nats.close()).finally(() =>
    timer.cancel(),
  );
}

/** Adds to a refusal of an operator file who can give another one. */
function explainRefusal(thrown: unknown, cli: OperatorCli): unknown {
  if (!(thrown instanceof SvcError) || !isCredentialsRefused(thrown)) return thrown;
  const { credsFile, operatorFile } = operatorFiles(cli);
  if (credsFile !== "" || operatorFile === "") return thrown;
  const { name, jwt, fleet } = readOperatorFile(operatorFile);
  const { exp = Number.POSITIVE_INFINITY } = readClaims(jwt);
  const hasEnded = exp * 1000 <= cli.clock.now();
  const why = hasEnded
    ? `its JWT ended at ${rfc3339(exp * 1000)}`
    : `${name} is disabled or removed, or has other roles, or this bus belongs to another fleet than the operator file (${fleet})`;
  return new SvcError(
    thrown.kind,
    `${thrown.message}: ${why}; an operator with role admin makes another file with svc operator renew ${name}`,
    { cause: thrown },
  );
}

/** The configuration of svc on this host, for this person. @throws SvcError as `loadOperatorConfig` */
function configOf({ config, context, env }: OperatorCli): ReturnType<typeof loadOperatorConfig> {
  if (config !== undefined && context !== undefined) {
    throw new SvcError(
      "usage",
      "--config and --context exclude each other: each names an operator and a fleet",
    );
  }
  const login = loginFile(context);
  return loadOperatorConfig({
    configFlag: config,
    env,
    home: homedir(),
    isPerson: process.getuid?.() !== 0,
    context: context !== undefined,
    ...defined({ login }),
  });
}

/**
 * The operator file that signs requests.
 *
 * @throws SvcError `bad_request` when none is configured, or it has no key
 */
export function ownOperatorFile(cli: OperatorCli): OperatorFile & { key: KeyPair; path: string } {
  const path = configOf(cli)["master.operator_file"];
  if (path === "") {
    throw new SvcError(
      "bad_request",
      "you have no operator file: run svc login --new, and give an operator with role admin the line it prints",
    );
  }
  const { key, ...file } = readOperatorFile(path);
  if (key !== undefined) return { ...file, key, path };
  throw new SvcError(
    "bad_request",
    `${path} has no seed: install it with svc login on the host with the key`,
  );
}

/** The operator file that the connection is made with; `undefined` with other credentials. */
function fileInUse({ config, file }: Configured): OperatorFile | undefined {
  return config["master.creds_file"] === "" && config["master.nkey_seed_file"] === "" ? file : undefined;
}

/** Renews the JWT of an operator file once a day, so that its end stays far away, and its roles are current. */
async function renewInTime(bus: Bus, configured: Configured, cli: OperatorCli): Promise<void> {
  const file = fileInUse(configured);
  if (file !== undefined && isRenewalDue(file, cli.clock.now())) await renewFile(bus, configured, cli);
}

/**
 * Renews an operator file that could not ask for something: its roles may allow more since, also by an upgrade.
 * The command is not repeated, because a part of it may be done.
 *
 * @throws SvcError `forbidden` when the renewed file may ask for more
 */
async function explainOutdated(bus: Bus, configured: Configured, cli: OperatorCli): Promise<void> {
  const file = fileInUse(configured);
  if (file === undefined) return;
  await renewFile(bus, configured, cli);
  const subjectsOf = ({ jwt }: OperatorFile) => String(readClaims(jwt).nats.tags);
  if (subjectsOf(file) === subjectsOf(readOperatorFile(configured.path))) return;
  throw new SvcError(
    "forbidden",
    `${configured.path} lacked what ${file.name} may do now: it is renewed, run the command again`,
  );
}

async function renewFile(bus: Bus, configured: Configured, cli: OperatorCli): Promise<void> {
  const { path } = configured;
  const { renewOperatorFile } = await import("./renew.ts");
  await renewOperatorFile(bus, path, cli.clock.now(), async (renewed) => {
    const ca = renewed.caPem === "" ? {} : { ca: renewed.caPem };
    const { ca: _, ...options } = busOf(configured, cli);
    const identity = identityOfFile(renewed, path);
    const tried = await connectBus({
      ...options,
      ...ca,
      urls: renewed.busUrls,
      identity,
      timeoutMs: trialMs,
    });
    await tried.nats.close();
  });
}

/** What is configured for the person at the keyboard. */
interface Configured {
  config: ReturnType<typeof loadOperatorConfig>;
  /** Of the operator file; empty without one. */
  path: string;
  file?: OperatorFile;
}

/** @throws SvcError as `loadOperatorConfig` and `readOperatorFile` */
function readConfigured(cli: OperatorCli): Configured {
  const config = configOf(cli);
  const path = config["master.operator_file"];
  return { config, path, ...(path === "" ? {} : { file: readOperatorFile(path) }) };
}

/** How the operator connects. @throws SvcError naming the key or file that is missing */
export function operatorBus(cli: OperatorCli, as?: { credsFile: string }): BusOptions & { ca?: string } {
  return busOf(readConfigured(cli), cli, as);
}

/** The span of the command, for a connection of `operatorBus`. @throws SvcError as `loadOperatorConfig` */
export function operatorSpan(cli: OperatorCli): Promise<Span> {
  return spanOf(configOf(cli), cli);
}

/** Where the commands of the operator send traces. @throws SvcError as `loadOperatorConfig` */
export const operatorTracing = (cli: OperatorCli): TracingConfig => configOf(cli);

function busOf(
  { config, path, file }: Configured,
  cli: OperatorCli,
  as?: { credsFile: string },
): BusOptions & { ca?: string } {
  const ca = config["master.tls_ca"];
  const client = clientCertificate(config["master.tls_cert"], config["master.tls_key"]);
  const credentials = config["master.creds_file"];
  const seed = config["master.nkey_seed_file"];
  /** Credentials that are named apply to the bus that is named with them. */
  const own = as === undefined && credentials === "" && seed === "" ? file : undefined;
  const identity =
    as !== undefined
      ? { credentials: readTextFile(as.credsFile, "--creds") }
      : own !== undefined
        ? identityOfFile(own, path)
        : identityOf(credentials, seed);
  if (as === undefined && own === undefined && file !== undefined) assertOneFleet(identity, file, path);
  const requester = requesterOf(file, cli);
  return {
    urls: own === undefined || isNamed(config["master.urls"]) ? config["master.urls"] : own.busUrls,
    name: "svc",
    // Masters answer a signed request in the inbox of the key that signed it, and nowhere else.
    ...(requester === undefined ? {} : { inboxPrefix: operatorInboxPrefix(requester.key) }),
    identity,
    ...(ca === "" ? {} : { ca: readTextFile(ca, "master.tls_ca") }),
    ...(ca === "" && own !== undefined && own.caPem !== "" ? { ca: own.caPem } : {}),
    ...defined({ clientCertificate: client, requester }),
    clock: cli.clock,
    log: createLog({
      level: "error",
      format: "text",
      clock: cli.clock,
      write: (line) => cli.stderr.write(line),
    }),
  };
}

/**
 * Refuses an operator file of another fleet than the credentials that are configured next to it: its signature would
 * have no effect there.
 *
 * @throws SvcError `forbidden` naming both fleets
 */
function assertOneFleet(identity: BusIdentity, file: OperatorFile, path: string): void {
  if (!("credentials" in identity)) return;
  const fleet = fleetOf(identity.credentials);
  if (fleet !== undefined) assertFleetOf(file, path, fleet);
}

/** The account of credentials, which names the fleet; `undefined` for a text that the bus refuses as well. */
function fleetOf(credentials: string): string | undefined {
  try {
    const { iss, nats } = readClaims(parseCredentials(credentials).jwt);
    return typeof nats.issuer_account === "string" ? nats.issuer_account : iss;
  } catch {
    return undefined;
  }
}

/** Whether a configuration names a bus itself: then that of an operator file does not count. */
function isNamed(urls: readonly string[]): boolean {
  return urls.join() !== String(operatorOptions["master.urls"].default);
}

/** The credentials file and the operator file that are configured; each empty without one. */
export function operatorFiles(cli: OperatorCli): { credsFile: string; operatorFile: string } {
  const config = configOf(cli);
  return { credsFile: config["master.creds_file"], operatorFile: config["master.operator_file"] };
}

/** Number of peels above which the person at a terminal is prompted. */
export function confirmAbove(cli: OperatorCli): number {
  return configOf(cli)["master.confirm_above"];
}

/** Signs with the key of an operator file; a file without one only names the operator. */
function requesterOf(
  file: OperatorFile | undefined,
  { clock, random, command }: OperatorCli,
): Requester | undefined {
  if (file?.key === undefined) return undefined;
  const { key, name } = file;
  return {
    name,
    key: key.publicKey,
    ...defined({ command }),
    sign: (subject, body) =>
      signRequest(subject, { body, operator: name, sentAt: clock.now(), nonce: random(nonceBytes) }, key),
    unseal: (sealed, purpose) => openSealed(sealed, deriveCurveKey(key), purpose),
  };
}

/** @throws SvcError `bad_request` for a file without a key */
function identityOfFile({ jwt, key }: OperatorFile, path: string): BusIdentity {
  if (key !== undefined) return { credentials: formatCredentials(jwt, key.seed) };
  throw new SvcError(
    "bad_request",
    `${path} has no seed: install it with svc login, which adds the key that svc login --new made`,
  );
}

function identityOf(credentialsFile: string, seedFile: string): BusIdentity {
  if (credentialsFile !== "") return { credentials: readTextFile(credentialsFile, "master.creds_file") };
  if (seedFile !== "") return { seed: readTextFile(seedFile, "master.nkey_seed_file") };
  throw new SvcError(
    "bad_request",
    "master.creds_file is not set: name your credentials in the configuration (admin.creds of svc nats-auth init), or install an operator file with svc login",
  );
}
