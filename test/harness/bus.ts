import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { isOlderVersion } from "../../internal/base/dotted-version.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { initNatsAuth } from "../../internal/bus/accounts/init.ts";
import { type Bus, connectBus } from "../../internal/bus/connection/connect.ts";
import { oldestForReplicas } from "../../internal/bus/servers/replica-servers.ts";
import { createAuthority } from "../../internal/identity/ca/create.ts";
import { issueCertificate } from "../../internal/identity/ca/issue.ts";
import { loadAuthority } from "../../internal/identity/ca/load.ts";
import { freePorts } from "./free-ports.ts";
import { recordingLog } from "./log.ts";
import { type Program, startProgram } from "./process.ts";
import { temporaryDirectory } from "./temporary.ts";

const year = 365 * 24 * 3600_000;

/** A real nats-server with JetStream and TLS, with the keys and the CA of a fleet around it. */
export interface TestBus extends AsyncDisposable {
  /** `tls://127.0.0.1:<port>`; the port stays across restarts. */
  readonly url: string;
  /** Everything of this fleet lives below it. */
  readonly dir: string;
  /** What `svc nats-auth init` wrote, with the CA in `ca/`: the auth directory of a master. */
  readonly authDir: string;
  /** Path of the CA certificate that verifies the bus. */
  readonly caFile: string;
  readonly caPem: string;
  server(): Program;
  /** Ends the server with this signal and starts it again on the same port and store. */
  restart(signal?: NodeJS.Signals): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
}

/** The nats-server of the tests, or the one that `TEST_NATS_SERVER` names; a missing one fails them. */
export function natsServerPath(): string {
  const named = process.env.TEST_NATS_SERVER;
  if (named) return named;
  const own = join(import.meta.dir, "../../.tools/bin/nats-server");
  const found = existsSync(own) ? own : Bun.which("nats-server");
  if (found === null) throw new Error("no nats-server: run the tests with make test, which installs one");
  return found;
}

/** The directory of that server, for a search path. */
export function natsServerDirectory(): string {
  return dirname(realpathSync(natsServerPath()));
}

/** A version of nats-server next to the one of the tests. */
export interface ServerVersion {
  version: string;
  path: string;
}

/** The versions that `make tools` unpacked, the oldest first; only that of the tests where it unpacked none. */
export function natsServerVersions(): ServerVersion[] {
  const own = natsServerPath();
  const all = join(natsServerDirectory(), "..");
  const found = readdirSync(all).filter((name) => /^\d+\.\d+\.\d+$/.test(name));
  if (found.length === 0) return [{ version: versionOf(own), path: own }];
  return found
    .toSorted((one, other) => one.localeCompare(other, "en", { numeric: true }))
    .map((version) => ({ version, path: join(all, version, "nats-server") }));
}

/** Those of them that can store a stream on more than one server. */
export function replicatingServers(): ServerVersion[] {
  return natsServerVersions().filter(({ version }) => !isOlderVersion(version, oldestForReplicas));
}

function versionOf(path: string): string {
  const { stdout } = Bun.spawnSync([path, "--version"]);
  return /v(\d+\.\d+\.\d+)/.exec(stdout.toString())?.[1] ?? "unknown";
}

/**
 * @param options.maxFileStore what the server offers on disk, as its configuration has it; asked at each start
 * @param options.server path of another nats-server
 */
export async function startBus(
  options: { maxFileStore?: () => string; server?: string } = {},
): Promise<TestBus> {
  const files = temporaryDirectory("bus");
  const authDir = join(files.path, "auth");
  const clock = systemClock;
  const random = systemRandom;
  makeDirectory(authDir, 0o700);
  await createAuthority({
    dir: join(authDir, "ca"),
    organization: "Test",
    rootValidityMs: 10 * year,
    clock,
    random,
  });
  const authority = await loadAuthority(join(authDir, "ca"));
  const issued = await issueCertificate(authority, {
    commonName: "nats",
    names: ["localhost", "127.0.0.1"],
    usage: "nats-server",
    validityMs: year,
    clock,
    random,
  });
  const at = (name: string) => join(files.path, name);
  writeFileSync(at("nats-server.crt"), issued.certPem);
  writeFileAtomic(at("nats-server.key"), issued.keyPem, secretMode);
  writeFileSync(at("nats-ca.crt"), authority.rootPem);
  initNatsAuth({
    dir: authDir,
    listen: { host: "127.0.0.1", port: 4222 },
    storeDir: at("store"),
    tls: { cert: at("nats-server.crt"), key: at("nats-server.key") },
    operator: "test",
    hostname: "test",
    clock,
    random,
  });

  const [port = 0] = await freePorts(1);
  let program: Program | undefined;
  const serverConfig = join(authDir, "nats-server.conf");
  const written = readFileSync(serverConfig, "utf8");
  const start = async () => {
    const { maxFileStore } = options;
    if (maxFileStore !== undefined) {
      const limited = written.replace("jetstream {", `jetstream {\n  max_file_store: ${maxFileStore()}`);
      writeFileAtomic(serverConfig, limited, secretMode);
    }
    const command = [
      options.server ?? natsServerPath(),
      "-c",
      serverConfig,
      "-a",
      "127.0.0.1",
      "-p",
      `${port}`,
    ];
    program = startProgram(command);
    await program.waitFor("Server is ready");
  };
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    program?.kill(signal);
    await program?.exited;
  };
  try {
    await start();
  } catch (thrown) {
    files[Symbol.dispose]();
    throw thrown;
  }
  return {
    get url() {
      return `tls://127.0.0.1:${port}`;
    },
    dir: files.path,
    authDir,
    caFile: at("nats-ca.crt"),
    caPem: authority.rootPem,
    server: () => {
      if (program === undefined) throw new Error("the bus was not started");
      return program;
    },
    start,
    stop,
    async restart(signal) {
      await stop(signal);
      await start();
    },
    async [Symbol.asyncDispose]() {
      await program?.[Symbol.asyncDispose]();
      files[Symbol.dispose]();
    },
  };
}

/** Connects to a test bus with one of its credentials files. */
export function connectTo(bus: TestBus, credentials: "master" | "system" | "admin" | "direct"): Promise<Bus> {
  return connectBus({
    urls: [bus.url],
    name: `test-${credentials}`,
    identity: { credentials: readFileSync(join(bus.authDir, `${credentials}.creds`), "utf8") },
    ca: bus.caPem,
    clock: systemClock,
    log: recordingLog(),
  });
}
