import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { readTextFile, readTextIfPresent } from "../../base/file.ts";
import type { Log } from "../../base/log.ts";
import { displayPeelId } from "../../base/peel-id.ts";
import { type Bus, clientCertificate, connectBus, peelInboxPrefix, resolveBusCa } from "../../bus/mod.ts";
import { checkDiscovered, createBootstrapCache, parseDocument } from "../../identity/bootstrap/mod.ts";
import { createTrust, exchange } from "../../identity/trust/mod.ts";
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
import {
  type IdentityFiles,
  identityFiles,
  knownPeelId,
  masterUrls,
  parseObject,
  rungOf,
} from "../joining/mod.ts";
import { builtinBusUrl } from "../link/mod.ts";
import { checkSchedule } from "../schedule/mod.ts";

const timeoutMs = 5_000;
const maxDocumentBytes = 256 * 1024;
const reenroll =
  "revoke the peel with svc enroll revoke, delete the file, and start the peel: it enrolls again";

export interface CheckOptions {
  /** The arguments after `check`. */
  argv: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  clock: Clock;
  log: Log;
}

interface Context extends CheckOptions, BusContext {
  config(): PeelConfig;
  peelId(): string;
  files(): IdentityFiles;
  authDir(): string;
  /** Bus URLs from the bootstrap document of a master. */
  discovered: readonly string[] | undefined;
}

/** What a peel needs, in the order in which it needs it. */
const steps: readonly Step<Context>[] = [
  {
    name: "configuration",
    next: "see svc-peel --help for all keys",
    look({ config }) {
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
    look: ({ peelId }) => ({ level: "ok", message: `this is the peel ${displayPeelId(peelId())}` }),
  },
  { name: "data directory", look: ({ env }) => findUnwritable(dataDir(env)) },
  {
    name: "masters",
    needs: ["identity"],
    next: "start the master, open its port in the firewalls, or correct master_url",
    look: lookAtMasters,
  },
  {
    name: "enrollment",
    needs: ["identity"],
    look({ files, authDir, clock }) {
      const text = readTextIfPresent(files().credentials);
      if (text === undefined) {
        return {
          level: "skip",
          message: "not enrolled yet",
          next: "start the peel, and approve it with svc enroll approve",
        };
      }
      const found = judgeCredentials(files().credentials, text, clock.now(), reenroll);
      return found.level === "ok" ? findOpenSecrets(authDir()) : found;
    },
  },
  {
    name: "bus CA",
    needs: ["configuration"],
    next: "set bus_ca to the CA of the bus, or copy the CA to the auth directory as bus-ca.crt",
    look({ ca, client }) {
      client();
      return { level: "ok", message: ca() === undefined ? "the host's trust store" : "the configured CA" };
    },
  },
  ...busSteps(["identity", "bus CA"], ["enrollment"]),
];

const nextIf = (unnamed: boolean) =>
  unnamed ? { next: "set master_url; without it the peel tries https://svc:8443" } : {};

/** Fetches the bootstrap document of each master, as an enrollment does. Stores nothing. */
async function lookAtMasters(context: Context): Promise<Finding> {
  const { config, files, clock, log } = context;
  const urls = masterUrls(config());
  if (urls.length === 0) return { level: "warn", message: "none is configured" };
  const rung = rungOf(config(), files());
  const { signal } = new AbortController();
  let firstUse = "";
  const trust = createTrust({
    rung,
    keepAnchor() {
      firstUse = "; its CA would be trusted on first use: compare it with svc ca fingerprint";
    },
    clock,
    log,
    signal,
  });
  const failures: string[] = [];
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
      context.discovered ??= checkDiscovered("nats_urls of the bootstrap document", document.nats_urls);
      date = Date.parse(answer.headers.get("date") ?? "");
    } catch (thrown) {
      failures.push(thrown instanceof SvcError ? thrown.message : `${url}: ${String(thrown)}`);
    }
  }
  if (failures.length === urls.length) throw new SvcError("unavailable", failures.join("; "));
  if (failures.length > 0) {
    return { level: "warn", message: failures.join("; "), next: "the other masters work; repair this one" };
  }
  // The Date header has a resolution of one second.
  const clocks = Number.isNaN(date)
    ? undefined
    : judgeClock("the master", date - clock.now(), 1_000 + timeoutMs / 10);
  if (clocks !== undefined && clocks.level !== "ok") return clocks;
  const message = `${urls.join(", ")} verified by rung ${rung.rung} of trust${firstUse}`;
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
  const ca = () => resolveBusCa({ explicit: load().bus_ca, env, authDir: authDir() });
  const client = () => clientCertificate(load().bus_tls_cert, load().bus_tls_key);
  const context: Context = {
    ...options,
    discovered: undefined,
    config: load,
    peelId,
    files,
    authDir,
    ca,
    client,
    urls() {
      if (load().bus_url !== "") return [load().bus_url];
      const cache = createBootstrapCache({
        path: join(dataDir(env), "nats-bootstrap.msgpack"),
        masterUrls: masterUrls(load()),
        pins: load().enroll_ca_pin,
        log,
      });
      return cache.load() ?? context.discovered ?? [builtinBusUrl];
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
