import { existsSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { type AssetName, replicasFor } from "../../bus/assets/mod.ts";
import { type Bus, clientCertificate, connectBus, resolveBusCa } from "../../bus/connection/mod.ts";
import { createSystemBus } from "../../bus/servers/mod.ts";
import { warnOfTokenFiles } from "../../doors/rest/mod.ts";
import { lintPolicy } from "../../fleet/policy/mod.ts";
import { loadRules, refusedMessage } from "../../fleet/reactor/rules/mod.ts";
import { inspectRoles } from "../../fleet/roles/mod.ts";
import { describeCertificate, loadAuthority } from "../../identity/ca/mod.ts";
import { inspectProvider } from "../../identity/oidc/mod.ts";
import { dataDir, loadMasterConfig, type MasterConfig } from "../../program/config/mod.ts";
import {
  type BusContext,
  busSteps,
  type Finding,
  findOpenSecrets,
  findUnreadable,
  findUnwritable,
  judgeCredentials,
  judgeEnd,
  once,
  type Step,
  type StepResult,
  storageSteps,
  takeSteps,
  tracesStep,
} from "../../program/diagnosis/mod.ts";
import { createFileCertificate, isEmbedded } from "../certificate/mod.ts";
import { inspectEvidence } from "../daemon/mod.ts";
import { loadMasterKeys, readOperatorFiles } from "../keys/mod.ts";

const needed = ["master-heartbeat", "enrollments", "jobs", "settings", "secrets", "leases"] as const;
const renewMaster =
  "issue other credentials with svc nats-auth init in a fresh directory, and move them here";

export interface CheckOptions {
  /** What follows the name of the program, without the word `check`. */
  argv: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  clock: Clock;
  random: Random;
  log: Log;
}

interface Context extends CheckOptions, BusContext {
  config(): MasterConfig;
  /** The options that say where traces go. */
  tracing(): MasterConfig;
  connectAs(who: "master" | "system"): Promise<Bus>;
}

/** What a master needs, in the order in which it would fail without it. */
const steps: readonly Step<Context>[] = [
  {
    name: "configuration",
    next: "svc-master --help lists every key",
    check({ config }) {
      return { level: "ok", message: `auth_dir ${config().auth_dir}, bus_url ${config().bus_url}` };
    },
  },
  {
    name: "keys",
    needs: ["configuration"],
    check({ config, clock }) {
      const { credentials } = loadMasterKeys(config().auth_dir);
      // Throws with file and line.
      readOperatorFiles(config().auth_dir);
      const found = judgeCredentials("master.creds", credentials, clock.now(), renewMaster);
      return found.level === "ok" ? findOpenSecrets(config().auth_dir) : found;
    },
  },
  {
    name: "certificate",
    needs: ["configuration"],
    next: "svc ca init makes an embedded CA; with your own CA set enroll.tls_cert and enroll.tls_key",
    async check({ config, ...options }) {
      const values = config();
      if (isEmbedded(values)) {
        const { intermediatePem } = await loadAuthority(values["ca.dir"]);
        const { notAfter } = describeCertificate(intermediatePem);
        return judgeEnd("the intermediate CA", notAfter, options.clock.now(), "svc ca renew-intermediate");
      }
      const metrics = { certificateNotAfter() {}, certificateRenewal() {} };
      const source = await createFileCertificate({ ...options, config: values, metrics });
      source.stop();
      const { notAfter } = source.current();
      return judgeEnd("enroll.tls_cert", notAfter, options.clock.now(), "replace the pair of files");
    },
  },
  {
    name: "tokens",
    needs: ["configuration"],
    check({ config, clock, log }) {
      const tokens = config()["api.tokens"];
      const warnings: string[] = [];
      const warn = (message: string, fields?: Record<string, unknown>) =>
        void warnings.push(`${fields?.path}: ${message}`);
      warnOfTokenFiles(tokens, { ...log, warn }, { clock });
      if (warnings.length > 0) return { level: "warn", message: warnings.join("; ") };
      if (tokens.length > 0) return { level: "ok", message: `${tokens.length} of the REST API` };
      const others = "the REST API is off until svc token create makes one, or api.oidc names a provider";
      return { level: "ok", message: `none in the configuration: ${others}` };
    },
  },
  {
    name: "evidence",
    needs: ["configuration"],
    next: "correct the file of enroll.evidence; until then, evidence of this type is refused",
    async check({ config }) {
      const types = await inspectEvidence(config());
      return {
        level: "ok",
        message: types.length === 0 ? "none is accepted" : `accepted: ${types.join(", ")}`,
      };
    },
  },
  {
    name: "identity providers",
    needs: ["configuration"],
    next: "correct issuer and ca_file of api.oidc, or open the way to the provider; masters use the keys that they keep until then",
    async check({ config, clock }) {
      const providers = config()["api.oidc"];
      if (providers.length === 0) return { level: "ok", message: "none" };
      const signal = new AbortController().signal;
      const found = await Promise.all(
        providers.map((provider) => inspectProvider(provider, { clock, signal })),
      );
      const problems = found.flatMap(({ problem }) => problem ?? []);
      if (problems.length > 0) return { level: "warn", message: problems.join("; ") };
      return { level: "ok", message: found.map(({ issuer, keys }) => `${issuer}: keys: ${keys}`).join("; ") };
    },
  },
  {
    name: "console",
    needs: ["configuration"],
    check({ config }) {
      const { "console.enabled": enabled, "api.tokens": tokens, "api.oidc": providers } = config();
      const at = `/console/ on port ${config()["enroll.addr"].port}`;
      if (enabled === false) return { level: "ok", message: "turned off" };
      const open = enabled === true || tokens.length > 0 || providers.length > 0;
      if (open) return { level: "ok", message: `served at ${at}` };
      return { level: "ok", message: `served at ${at} as soon as svc token create makes a token` };
    },
  },
  tracesStep,
  {
    name: "directories",
    needs: ["configuration"],
    check({ config }) {
      return findUnreadable([config().states_dir, config().settings_dir]);
    },
  },
  {
    name: "roles",
    needs: ["configuration"],
    next: "correct the file; masters that run keep the last good roles until then",
    check({ config }) {
      const path = config().roles_file;
      const { roles, isOpen } = inspectRoles(path);
      if (isOpen) {
        const message = `${path}: group or others can change it, and so what operators may do`;
        return { level: "warn", message, next: `chmod go-w ${path}` };
      }
      if (roles === 0) return { level: "ok", message: "only the built-in roles" };
      return { level: "ok", message: `${roles === 1 ? "1 role" : `${roles} roles`} in ${path}` };
    },
  },
  {
    name: "reactor rules",
    needs: ["configuration"],
    next: "correct the file; masters that run keep the last good rules until then",
    check({ config }) {
      if (!config()["reactor.enabled"]) return { level: "ok", message: "none, as the reactor is off" };
      const directory = config()["reactor.dir"];
      const { rules, refused, files } = loadRules(directory);
      const refusal = refusedMessage(refused);
      if (refusal !== undefined) return { level: "warn", message: refusal };
      const inFiles = files.length === 1 ? "1 file" : `${files.length} files`;
      return {
        level: "ok",
        message: `${rules.length === 1 ? "1 rule" : `${rules.length} rules`} in ${inFiles} of ${directory}`,
      };
    },
  },
  {
    name: "enrollment policy",
    needs: ["configuration"],
    next: "correct the file; masters that run keep the last good policy until then",
    check: ({ config }) => findPolicy(config()["enroll.policy"]),
  },
  {
    name: "data directory",
    needs: ["configuration"],
    check({ config, env }) {
      // A master keeps there what it clones, and nothing else.
      if (config()["gitfs.remotes"].length > 0) return findUnwritable(dataDir(env));
      return { level: "ok", message: "none is needed, as no files come from Git" };
    },
  },
  {
    name: "bus CA",
    needs: ["configuration"],
    next: "name the CA of the bus in bus_ca; bus_tls_cert and bus_tls_key are only for a bus that asks for them",
    check({ ca, client }) {
      client();
      return {
        level: "ok",
        message: ca() === undefined ? "the host's trust store" : "a CA of its own",
      };
    },
  },
  ...busSteps(["configuration", "bus CA"], ["keys"]),
  {
    name: "system account",
    needs: ["bus credentials"],
    next: "system.creds and master.creds must be from one run of svc nats-auth init",
    async check({ connectAs }) {
      await connectAs("system");
      return { level: "ok", message: "system.creds are accepted: revocations can be enforced" };
    },
  },
  ...storageSteps(needed satisfies readonly AssetName[]),
];

function findPolicy(path: string): Finding {
  if (!existsSync(path)) return { level: "ok", message: "none: operators decide about hosts" };
  const { policy, problems, warnings } = lintPolicy(path);
  const [problem] = problems;
  if (problem !== undefined) throw new SvcError("bad_request", problem);
  const count = policy?.rules.length ?? 0;
  const message = `${count === 1 ? "1 rule" : `${count} rules`} in ${path}`;
  if (warnings.length === 0) return { level: "ok", message };
  const next = "svc enroll policy lint shows what to look at; svc enroll policy test tries the rules";
  return { level: "warn", message: [message, ...warnings].join("; "), next };
}

/** Tests the configuration of a master without starting one; nothing is written. */
export async function checkMaster(options: CheckOptions): Promise<StepResult[]> {
  const open: Bus[] = [];
  const load = once(() => {
    const loaded = loadMasterConfig(options.argv, options.env);
    if (loaded.kind === "run") return loaded.values;
    throw new SvcError("usage", "a flag that only prints something is not for check");
  });
  const ca = () => resolveBusCa({ explicit: load().bus_ca, env: options.env, authDir: load().auth_dir });
  const client = () => clientCertificate(load().bus_tls_cert, load().bus_tls_key);
  const connectAs = async (who: "master" | "system") => {
    const keys = loadMasterKeys(load().auth_dir);
    const [pem, pair] = [ca(), client()];
    const bus = await connectBus({
      urls: [load().bus_url],
      name: "svc-master-check",
      identity: { credentials: who === "master" ? keys.credentials : keys.systemCredentials },
      ...defined({ ca: pem, clientCertificate: pair }),
      clock: options.clock,
      log: options.log,
    });
    open.push(bus);
    return bus;
  };
  const connect = once(() => connectAs("master"));
  const knownServers = async () => {
    const system = await createSystemBus(await connectAs("system"));
    system.stop();
    return system.present();
  };
  try {
    const context = {
      ...options,
      config: load,
      urls: () => [load().bus_url],
      ca,
      client,
      connect,
      tracing: load,
      connectAs,
      knownServers,
      adviceOnStart: () =>
        load().embedded_bus ? "start svc-master: it runs this bus (embedded_bus)" : undefined,
      replicasOn: (size: number) => replicasFor(load().storage_replicas, size).replicas,
    };
    return await takeSteps(steps, context);
  } finally {
    await Promise.all(open.map((bus) => bus.drain()));
  }
}
