import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { systemJitter, systemRandom } from "../../internal/base/id.ts";
import { runMaster } from "../../internal/master/daemon/run.ts";
import { loadMasterConfig } from "../../internal/program/config/mod.ts";
import { natsServerDirectory } from "./bus.ts";
import { type LogRecord, recordingLog } from "./log.ts";
import { type Ran, svc } from "./svc.ts";

/** The environment in which the server of the tests is found. */
export const busEnvironment = () => ({ PATH: `${natsServerDirectory()}:${process.env.PATH}` });

/** A fleet in a directory of `svc init`, whose programs run in this process. */
export interface FleetDirectory {
  readonly dir: string;
  readonly url: string;
  /** PEM of its root. */
  readonly ca: string;
  readonly token: string;
  /** Runs `svc` as its operator. */
  svc(...argv: string[]): Promise<Ran>;
}

/** Ports of a fleet on this host. */
export interface FleetPorts {
  bus: number;
  api: number;
}

export const portFlags = ({ bus, api }: FleetPorts) => ["--bus-port", `${bus}`, "--api-port", `${api}`];

/** Creates a fleet. @param argv other words than those of `svc init` */
export async function fleetDirectory(
  dir: string,
  ports: FleetPorts,
  argv: readonly string[] = ["init", dir],
): Promise<FleetDirectory> {
  const made = await svc([...argv, ...portFlags(ports)], { env: busEnvironment() });
  if (made.exit !== 0) throw new Error(`svc ${argv[0]} failed: ${made.stderr}`);
  const read = (name: string) => readFileSync(join(dir, name), "utf8");
  return {
    dir,
    url: `https://localhost:${ports.api}`,
    ca: read("auth/ca/root.crt"),
    token: read("operator.token").trim(),
    svc: (...rest) => svc(["--config", join(dir, "svc.yaml"), ...rest], { env: busEnvironment() }),
  };
}

/** Starts its master, with its bus. */
export async function startMasterOf({
  dir,
}: Pick<FleetDirectory, "dir">): Promise<AsyncDisposable & { records: LogRecord[] }> {
  const flags = ["--config", join(dir, "master.yaml"), "--health-addr", "127.0.0.1:0"];
  const invocation = loadMasterConfig(flags, { SVC_DATA_DIR: dir });
  if (invocation.kind !== "run") throw new Error("the master's configuration does not run");
  const log = recordingLog();
  const stopping = new AbortController();
  const ready = Promise.withResolvers<unknown>();
  const running = runMaster({
    config: invocation.values,
    env: busEnvironment(),
    hostname: "localhost",
    clock: systemClock,
    random: systemRandom,
    jitter: systemJitter,
    log,
    signal: stopping.signal,
    onReady: ready.resolve,
  });
  running.catch(ready.reject);
  await ready.promise;
  return {
    records: log.records,
    async [Symbol.asyncDispose]() {
      stopping.abort(new Error("the test is over"));
      await running;
    },
  };
}
