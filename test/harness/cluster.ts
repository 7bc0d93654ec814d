import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { initNatsAuth } from "../../internal/bus/accounts/init.ts";
import { createAuthority } from "../../internal/identity/ca/create.ts";
import { issueCertificate } from "../../internal/identity/ca/issue.ts";
import { loadAuthority } from "../../internal/identity/ca/load.ts";
import { natsServerPath, type TestBus } from "./bus.ts";
import { freePorts } from "./free-ports.ts";
import { type Program, startProgram } from "./process.ts";
import { temporaryDirectory } from "./temporary.ts";

const year = 365 * 24 * 3600_000;

/** One server of a cluster; its ports and its store stay across restarts. */
export interface Node extends Pick<TestBus, "url" | "caPem"> {
  readonly name: string;
  stop(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
  program(): Program;
}

/** Servers that route to each other over mutual TLS on loopback, with JetStream and one fleet's keys. */
export interface TestCluster extends AsyncDisposable {
  readonly nodes: readonly Node[];
  /** The cluster as a master sees it, entered by its first server. */
  readonly bus: TestBus;
  /** The same, entered by another server. */
  through(node: Node): TestBus;
}

/** Starts a cluster; it serves clients when this resolves, and elects its leaders meanwhile. */
export async function startCluster(size = 3): Promise<TestCluster> {
  const files = temporaryDirectory("cluster");
  const at = (name: string) => join(files.path, name);
  const authDir = at("auth");
  const fleet = { clock: systemClock, random: systemRandom };
  makeDirectory(authDir, 0o700);
  const caDir = join(authDir, "ca");
  await createAuthority({ dir: caDir, organization: "Test", rootValidityMs: 10 * year, ...fleet });
  const authority = await loadAuthority(caDir);
  const names = ["localhost", "127.0.0.1"];
  const usage = { commonName: "nats", names, usage: "nats-server" as const, validityMs: year };
  const issued = await issueCertificate(authority, { ...usage, ...fleet });
  const tls = { cert: at("nats-server.crt"), key: at("nats-server.key") };
  writeFileSync(tls.cert, issued.certPem);
  writeFileAtomic(tls.key, issued.keyPem, secretMode);
  writeFileSync(at("nats-ca.crt"), authority.rootPem);
  const listen = { host: "127.0.0.1", port: 4222 };
  initNatsAuth({
    dir: authDir,
    listen,
    storeDir: at("store"),
    tls,
    operator: "test",
    hostname: "n0",
    ...fleet,
  });

  const configuration = readFileSync(join(authDir, "nats-server.conf"), "utf8");
  const ports = await freePorts(size * 2);
  const routePorts = ports.slice(0, size);
  const routes = routePorts.map((port) => `"nats-route://127.0.0.1:${port}"`).join(", ");
  const nodes = routePorts.map((routePort, index): Node => {
    const name = `n${index}`;
    const config = at(`${name}.conf`);
    const cluster = `
cluster {
  name: test
  listen: "127.0.0.1:${routePort}"
  routes: [${routes}]
  tls { cert_file: "${tls.cert}", key_file: "${tls.key}", ca_file: "${at("nats-ca.crt")}", verify: true, timeout: 10 }
}
`;
    const own = configuration
      .replace('server_name: "n0"', `server_name: "${name}"`)
      .replaceAll(`"${at("store")}`, `"${at(`store-${name}`)}`);
    writeFileAtomic(config, own + cluster, secretMode);
    const port = `${ports[size + index]}`;
    let program: Program | undefined;
    return {
      name,
      url: `tls://127.0.0.1:${port}`,
      caPem: authority.rootPem,
      program() {
        if (program === undefined) throw new Error(`${name} was not started`);
        return program;
      },
      async start() {
        program = startProgram([natsServerPath(), "-c", config, "-a", "127.0.0.1", "-p", port]);
        await program.waitFor("Server is ready");
      },
      async stop(signal = "SIGTERM") {
        program?.kill(signal);
        await program?.exited;
      },
    };
  });
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop("SIGKILL")));
    files[Symbol.dispose]();
  };
  const through = (node: Node): TestBus => ({
    url: node.url,
    dir: files.path,
    authDir,
    caFile: at("nats-ca.crt"),
    caPem: authority.rootPem,
    server: () => node.program(),
    start: () => node.start(),
    stop: (signal) => node.stop(signal),
    async restart(signal) {
      await node.stop(signal);
      await node.start();
    },
    [Symbol.asyncDispose]: stop,
  });
  try {
    await Promise.all(nodes.map((node) => node.start()));
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  const [first] = nodes;
  if (first === undefined) throw new Error("a cluster has at least one server");
  return { nodes, bus: through(first), through, [Symbol.asyncDispose]: stop };
}
