import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { type Bus, connectBus } from "../../internal/bus/connection/connect.ts";
import { natsServerDirectory } from "./bus.ts";
import { binaries } from "./fleet.ts";
import { freePorts } from "./free-ports.ts";
import { recordingLog } from "./log.ts";
import { type Program, runProgram, startProgram } from "./process.ts";
import { temporaryDirectory } from "./temporary.ts";

type Done = Awaited<ReturnType<typeof runProgram>>;

/**
 * Hosts on the addresses 127.0.0.2 and up, each with a file /etc/hosts of its own in a mount namespace: names lead to
 * these addresses, and `localhost` to the own one. So all of them have the same ports, as real hosts do.
 */
export interface ClusterHosts extends AsyncDisposable {
  /** `n1.fleet.test` and so on. */
  readonly names: readonly string[];
  /** For fleets. */
  readonly dir: string;
  readonly ports: {
    readonly bus: number;
    readonly api: number;
    readonly route: number;
    readonly health: number;
  };
  /** Flags of `svc init` for these ports. */
  readonly flags: readonly string[];
  /** Makes the programs of this host listen on its address only. @param dir of the host */
  place(host: number, dir: string): void;
  /** Starts the master of a host. It may still wait when this returns. */
  startMaster(host: number, dir: string, binary?: string): Program;
  start(host: number, command: readonly string[], env?: Record<string, string>): Program;
  /** Runs a program on a host to its end. */
  run(host: number, command: readonly string[]): Promise<Done>;
  /** Connects to the server of a host as its master does. @param dir of the host */
  connect(host: number, dir: string): Promise<Bus>;
  /** Whether the master of a host answers its readiness with 200. */
  isReady(host: number): Promise<boolean>;
}

/**
 * @param count how many hosts there may be
 * @param server path of the nats-server of all masters
 */
export async function startHosts(count = 4, server?: string): Promise<ClusterHosts> {
  const files = temporaryDirectory("hosts");
  const [bus = 0, api = 0, route = 0, health = 0] = await freePorts(4);
  const names = Array.from({ length: count }, (_, i) => `n${i + 1}.fleet.test`);
  const addressOf = (host: number) => `127.0.0.${host + 1}`;
  for (const host of names.keys()) {
    const lines = names.map((name, i) => `${addressOf(i + 1)} ${name}`);
    writeFileSync(
      join(files.path, `hosts-${host + 1}`),
      `${addressOf(host + 1)} localhost\n${lines.join("\n")}\n`,
    );
  }
  const started: Program[] = [];
  const asRoot = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const on = (host: number, command: readonly string[]) => [
    ...["unshare", ...asRoot, "--mount", "sh", "-e", "-c", 'mount --bind "$0" /etc/hosts; exec "$@"'],
    ...[join(files.path, `hosts-${host}`), ...command],
  ];
  const start: ClusterHosts["start"] = (host, command, env = {}) => {
    const program = startProgram(on(host, command), { cwd: files.path, env });
    started.push(program);
    return program;
  };
  const edit = (path: string, change: (text: string) => string) =>
    writeFileSync(path, change(readFileSync(path, "utf8")));
  return {
    names,
    dir: files.path,
    ports: { bus, api, route, health },
    flags: ["--bus-port", `${bus}`, "--api-port", `${api}`],
    place(host, dir) {
      edit(join(dir, "bus/nats-server.conf"), (text) =>
        text.replace(/(listen: )"(?:0\.0\.0\.0|127\.0\.0\.\d+):/g, `$1"${addressOf(host)}:`),
      );
      edit(join(dir, "master.yaml"), (text) => text.replace(/addr: :(\d+)/, `addr: ${addressOf(host)}:$1`));
    },
    startMaster: (host, dir, binary = binaries.master) =>
      start(
        host,
        [binary, "--config", join(dir, "master.yaml"), "--health-addr", `${addressOf(host)}:${health}`],
        {
          PATH: `${server === undefined ? natsServerDirectory() : dirname(server)}:${process.env.PATH}`,
          SVC_DATA_DIR: dir,
        },
      ),
    start,
    run: (host, command) => runProgram(on(host, command), { cwd: files.path }),
    connect: (host, dir) =>
      connectBus({
        urls: [`tls://${addressOf(host)}:${bus}`],
        // The names of the hosts lead nowhere outside of them.
        tlsName: names[host - 1] ?? "",
        name: "test-master",
        identity: { credentials: readFileSync(join(dir, "auth/master.creds"), "utf8") },
        ca: readFileSync(join(dir, "bus/nats-ca.crt"), "utf8"),
        clock: systemClock,
        log: recordingLog(),
      }),
    async isReady(host) {
      const answer = await fetch(`http://${addressOf(host)}:${health}/readyz`).catch(() => undefined);
      return answer?.status === 200;
    },
    async [Symbol.asyncDispose]() {
      for (const program of started.reverse()) await program[Symbol.asyncDispose]();
      files[Symbol.dispose]();
    },
  };
}
