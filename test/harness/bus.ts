import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { initNatsAuth } from "../../internal/bus/accounts/init.ts";
import { type Bus, connectBus } from "../../internal/bus/connect.ts";
import { createAuthority } from "../../internal/identity/ca/create.ts";
import { issueCertificate } from "../../internal/identity/ca/issue.ts";
import { loadAuthority } from "../../internal/identity/ca/load.ts";
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

/** The nats-server of the tests; a missing one fails them. */
export function natsServerPath(): string {
  const own = join(import.meta.dir, "../../.tools/bin/nats-server");
  const found = existsSync(own) ? own : Bun.which("nats-server");
  if (found === null) throw new Error("no nats-server: run the tests with make test, which installs one");
  return found;
}

export async function startBus(): Promise<TestBus> {
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

  let port = -1;
  let program: Program | undefined;
  const start = async () => {
    const command = [
      natsServerPath(),
      "-c",
      join(authDir, "nats-server.conf"),
      "-a",
      "127.0.0.1",
      "-p",
      `${port}`,
    ];
    program = startProgram(command);
    await program.waitFor("Server is ready");
    port = Number(/Listening for client connections on 127\.0\.0\.1:(\d+)/.exec(program.output())?.[1]);
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
