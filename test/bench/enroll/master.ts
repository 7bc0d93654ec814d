import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory, secretMode, writeFileAtomic } from "../../../internal/base/files/file.ts";
import type { TestBus } from "../../harness/bus.ts";
import { portsOfMaster } from "../../harness/log-records.ts";
import { until } from "../../harness/until.ts";

/** The compiled master in a process of its own. */
export interface BenchMaster extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
  readonly token: string;
}

/** With much in store, and other work on the machine. */
const patienceMs = 300_000;

/**
 * Starts a master on this bus. Its log goes to a file, as under a service manager, not to this process.
 *
 * @param command how to run it, such as `["dist/svc-master"]`
 * @param flags of this master besides those of the bench
 * @param name of its log and its data; a second master needs another one
 */
export async function startBenchMaster(
  bus: TestBus,
  command: readonly string[],
  flags: readonly string[] = [],
  name = "master",
): Promise<BenchMaster> {
  const token = "bench-token-0123456789";
  const tokenFile = join(bus.dir, "token");
  const configFile = join(bus.dir, "master.yaml");
  const dataDir = join(bus.dir, name);
  const logFile = join(bus.dir, `${name}.log`);
  makeDirectory(dataDir, 0o700);
  writeFileAtomic(tokenFile, `${token}\n`, secretMode);
  writeFileAtomic(configFile, `api: {tokens: [{username: bench, token_file: ${tokenFile}}]}\n`, secretMode);
  const log = openSync(logFile, "a", 0o600);
  const child = Bun.spawn(
    [
      ...[...command, "--config", configFile, "--bus-url", bus.url, "--bus-ca", bus.caFile],
      ...["--auth-dir", bus.authDir, "--enroll-addr", "127.0.0.1:0", "--health-addr", "127.0.0.1:0"],
      ...flags,
    ],
    { stdin: "ignore", stdout: log, stderr: log, env: { ...process.env, SVC_DATA_DIR: dataDir } },
  );
  closeSync(log);
  const stop = async () => {
    child.kill();
    await child.exited;
  };
  try {
    const port = await portOf(logFile, child);
    return { pid: child.pid, port, token, [Symbol.asyncDispose]: stop };
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

/** Waits for the record that says where the master listens. A watch of the file misses one now and then. */
async function portOf(logFile: string, child: { readonly killed: boolean }): Promise<number> {
  const text = await until(
    () => readFileSync(logFile, "utf8"),
    (found) => child.killed || portsOfMaster(found) !== undefined,
    patienceMs,
  );
  const ports = portsOfMaster(text);
  if (ports === undefined) throw new Error(`no master: ${text}`);
  return ports.enroll;
}
