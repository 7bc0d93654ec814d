import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { attempt, describeError, SvcError } from "../../base/errors.ts";
import { readTextFile, readTextIfPresent } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { type Bus, clientCertificate, connectBus, resolveBusCa } from "../../bus/connection/mod.ts";
import { peelInboxPrefix } from "../../bus/subjects/subjects.ts";
import { checkDiscovered, createBootstrapCache, parseDocument } from "../../identity/bootstrap/mod.ts";
import { createTrust, exchange, nameOfRung, TrustError } from "../../identity/trust/mod.ts";
import { dataDir, loadPeelConfig, type PeelConfig } from "../../program/config/mod.ts";
import {
  type BusContext,
  busSteps,
  type Finding,
  findOpenSecrets,
  findUnwritable,
  judgeClock,
  judgeCredentials,
  once,
  type Step,
  type StepResult,
  takeSteps,
} from "../../program/diagnosis/mod.ts";
import { inspectProofs } from "../evidence/mod.ts";
import {
  enrollAgain,
  type IdentityFiles,
  identityFiles,
  knownPeelId,
  readEnrollmentId,
} from "../identity/mod.ts";
import {
  acrossRotations,
  createMasterClient,
  type MasterClient,
  masterUrls,
  parseObject,
  rungOf,
} from "../joining/mod.ts";
import { builtinBusAdvice, builtinBusUrl } from "../link/mod.ts";
import { checkSchedule } from "../schedule/mod.ts";
import { outrank, readAccepted, type Ways } from "../succession/mod.ts";
import { readRoots } from "../trust/mod.ts";
import { inspectEnrollment } from "./inspect-enrollment.ts";
import { inspectSuccession } from "./inspect-succession.ts";

const timeoutMs = 5_000;
const maxDocumentBytes = 256 * 1024;
const renewsItself = "nothing, while the peel runs and reaches a master: it renews them by itself";

export interface CheckOptions {
  /** The arguments after `check`. */
  argv: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  clock: Clock;
  log: Log;
}

interface Context extends CheckOptions, BusContext {
  ways(): Ways;
  config(): PeelConfig;
  peelId(): string;
  files(): IdentityFiles;
  authDir(): string;
  /** Bus URLs from the bootstrap document of a master. */
  discovered: readonly string[] | undefined;
  /** URLs of masters that this peel cannot verify. */
  untrusted: string[];
  /** A master that answered. */
  master: MasterClient | undefined;
}

/** What a peel needs, in the order in which it needs it. */
const steps: readonly Step<Context>[] = [
  {
    name: "configuration",
    next: "see svc-peel --help for all keys",
    check({ config }) {
      checkSchedule(config().schedule);
      const urls = masterUrls(config());
      const named = urls.length === 0 ? "no master is configured" : `masters ${urls.join(", ")}`;
      return { level: urls.length === 0 ? "warn" : "ok", message: named, ...nextIf(urls.length === 0) };
    },
  },
  {
    name: "identity",
    needs: ["configuration"],
    next: "set id, or --id",
    check: ({ peelId }) => ({ level: "ok", message: `this is the peel ${displayPeelId(peelId())}` }),
  },
  { name: "data directory", check: ({ env }) => findUnwritable(dataDir(env)) },
  {
    name: "masters",
    needs: ["identity"],
    check: checkMasters,
  },
  {
    name: "succession",
    needs: ["identity"],
    next: "see docs/succession.md",
    check: (context) => inspectSuccession(context.untrusted, context.files(), context),
  },
  {
    name: "evidence",
    needs: ["configuration"],
    next: "correct the key of the configuration, or the file; an enrolled peel continues without",
    check({ config }) {
      const types = inspectProofs(config());
      const message = types.length === 0 ? "none is configured" : `configured: ${types.join(", ")}`;
      return { level: "ok", message };
    },
  },
  {
    name: "enrollment",
    needs: ["identity"],
    async check({ files, authDir, clock, config, master }) {
      const text = readTextIfPresent(files().credentials);
      const next =
        recoverable(files(), config()) ?? `revoke the peel with svc enroll revoke, ${enrollAgain(files())}`;
      if (text === undefined && readEnrollmentId(files().enrollment) !== undefined) {
        return { level: "fail", message: `${files().credentials} is missing`, next };
      }
      if (text === undefined) {
        return {
          level: "skip",
          message: "not enrolled yet",
          next: "start the peel, and approve it with svc enroll approve",
        };
      }
      const found = judgeText(files().credentials, text, clock.now(), next);
      if (found.level === "fail") return found;
      const refused = master === undefined ? undefined : await inspectEnrollment(files(), master);
      if (refused !== undefined) return refused;
      return found.level === "ok" ? findOpenSecrets(authDir()) : { ...found, next: renewsItself };
    },
  },
  {
    name: "bus CA",
    needs: ["identity"],
    next: "set bus_ca to the CA of the bus, or copy the CA to the auth directory as bus-ca.crt",
    check({ ca, client }) {
      client();
      return { level: "ok", message: ca() === undefined ? "the host's trust store" : "the configured CA" };
    },
  },
  ...busSteps(["identity", "bus CA"], ["enrollment"]),
];

/** Credentials that cannot be read are lost: a peel recovers them like those that ended. */
function judgeText(file: string, text: string, now: number, next: string): Finding {
  try {
    return judgeCredentials(file, text, now, next);
  } catch (thrown) {
    return { level: "fail", message: `${file}: ${describeError(thrown)}`, next };
  }
}

/** What to do about credentials that ended or are lost, where the peel can recover them. */
function recoverable(files: IdentityFiles, config: PeelConfig): string | undefined {
  if (readTextIfPresent(files.seed) === undefined) return undefined;
  if (masterUrls(config).length === 0 && readTextIfPresent(files.anchor) === undefined) {
    return "set master_url, and start the peel: it recovers them by itself";
  }
  return "start the peel: it recovers them by itself, as long as its enrollment has not ended";
}

const nextIf = (unnamed: boolean) =>
  unnamed ? { next: "set master_url; without it the peel tries https://svc:8443" } : {};

/** Fetches the bootstrap document of each master, as an enrollment does. Stores nothing. */
async function checkMasters(context: Context): Promise<Finding> {
  const { config, files, clock, log } = context;
  const urls = masterUrls(config());
  if (urls.length === 0) return { level: "warn", message: "none is configured", ...nextIf(true) };
  const rung = rungOf(config(), files());
  const { signal } = new AbortController();
  let firstUse = "";
  const trust = createTrust({
    rung,
    ...acrossRotations(context.ways(), files(), readRoots({ ways: context.ways, files: files() })),
    storeAnchor() {
      firstUse = "; its CA would be trusted on first use: compare it with svc ca fingerprint";
    },
    clock,
    log,
    signal,
  });
  const failures: string[] = [];
  let next = "start the master, open its port in the firewalls, or correct master_url";
  let date = Number.NaN;
  for (const url of urls) {
    try {
      const answer = await trust.use(url, ({ ca }) =>
        exchange({
          url: `${url}/api/v1/enroll/ca`,
          headers: { Accept: "application/json" },
          verify: { ca },
          timeoutMs,
          maxBytes: maxDocumentBytes,
          clock,
          signal,
        }),
      );
      const document = answer.status === 200 ? parseDocument(parseObject(answer.text)) : undefined;
      if (document === undefined) {
        throw new SvcError("unavailable", `${url} is not a master (status ${answer.status})`);
      }
      context.master ??= createMasterClient({ urls: [url], trust, clock, log, signal, jitter: () => 0 });
      context.discovered ??= checkDiscovered("nats_urls of the bootstrap document", document.nats_urls);
      date = Date.parse(answer.headers.get("date") ?? "");
    } catch (thrown) {
      if (thrown instanceof TrustError) {
        // The master is there.
        next = "see the step succession, and compare svc ca fingerprint with enroll_ca_pin in peel.yaml";
        context.untrusted.push(url);
      }
      const words = describeError(thrown);
      failures.push(words.startsWith(url) ? words : `${url}: ${words}`);
    }
  }
  if (failures.length === urls.length) {
    return { level: "fail", message: failures.join("; "), next };
  }
  if (failures.length > 0) {
    return { level: "warn", message: failures.join("; "), next: "the other masters work; repair this one" };
  }
  // The Date header has a resolution of one second.
  const clocks = Number.isNaN(date)
    ? undefined
    : judgeClock("the master", date - clock.now(), 1_000 + timeoutMs / 10);
  if (clocks !== undefined && clocks.level !== "ok") return clocks;
  const message = `${urls.join(", ")} verified by ${nameOfRung(rung)}${firstUse}`;
  return { level: firstUse === "" ? "ok" : "warn", message };
}

/** Tests the configuration of a peel without starting one. Writes nothing. */
export async function checkPeel(options: CheckOptions): Promise<StepResult[]> {
  const { env, clock, log } = options;
  const open: Bus[] = [];
  const load = once(() => {
    const loaded = loadPeelConfig(options.argv, env);
    if (loaded.kind === "run") return loaded.values;
    throw new SvcError("usage", "check does not accept flags that only print something");
  });
  const authDir = () => join(dataDir(env), "auth");
  const peelId = once(() =>
    knownPeelId({ configured: load().id, hostname: options.hostname, authDir: authDir() }),
  );
  const files = () => identityFiles(authDir(), peelId());
  const accepted = once(() => readAccepted(files()));
  /** As the peel uses it, after a succession. */
  const ways = once(() => outrank({ config: load(), env }, accepted()));
  /** Without an identity there is no succession either: that is the finding of another step. */
  const isNamed = () => {
    return attempt(() => peelId() !== "", false);
  };
  const waysNow = (): Ways => (isNamed() ? ways() : { config: load(), env });
  const ca = () => resolveBusCa({ explicit: ways().config.bus_ca, env: ways().env, authDir: authDir() });
  const client = () => clientCertificate(load().bus_tls_cert, load().bus_tls_key);
  const context: Context = {
    ...options,
    discovered: undefined,
    untrusted: [],
    master: undefined,
    ways: waysNow,
    config: () => waysNow().config,
    peelId,
    files,
    authDir,
    ca,
    client,
    urls() {
      const { config } = ways();
      if (config.bus_url !== "") return [config.bus_url];
      const statement = accepted();
      const cache = createBootstrapCache({
        path: join(dataDir(env), "nats-bootstrap.msgpack"),
        masterUrls: masterUrls(config),
        pins: statement === undefined ? config.enroll_ca_pin : [statement.fingerprint],
        log,
      });
      return cache.load() ?? context.discovered ?? statement?.bus_urls ?? [builtinBusUrl];
    },
    adviceOnName() {
      const isBuiltin = ways().config.bus_url === "" && context.urls().includes(builtinBusUrl);
      return isBuiltin ? builtinBusAdvice : undefined;
    },
    connect: once(async () => {
      const [pem, pair] = [ca(), client()];
      const bus = await connectBus({
        urls: context.urls(),
        name: "svc-peel-check",
        identity: { credentials: readTextFile(files().credentials, "the bus credentials") },
        ...defined({ ca: pem, clientCertificate: pair }),
        inboxPrefix: peelInboxPrefix(peelId()),
        clock,
        log,
      });
      open.push(bus);
      return bus;
    }),
  };
  try {
    return await takeSteps(steps, context);
  } finally {
    await Promise.all(open.map((bus) => bus.drain()));
  }
}
