import { SvcError } from "../../base/errors.ts";
import { cleanEnvironment } from "../../base/process/environment.ts";
import { runProcess } from "../../base/process/process.ts";
import type { Connection } from "../link/mod.ts";
import { type FetchBinaryOptions, fetchBinary } from "./fetch-binary.ts";
import { upgradeFiles } from "./files.ts";
import { type WatchdogAbove, watchdogAbove } from "./parent.ts";
import { createUpgrades, type Upgrades } from "./upgrade.ts";

const versionTimeoutMs = 10_000;
/** The running executable. Its path may name another file by now. */
const executable = "/proc/self/exe";

export interface UpgradeHostOptions extends Omit<FetchBinaryOptions, "connection" | "signal" | "seed"> {
  dataDir: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** Whether a watchdog runs this process. */
export function hasWatchdog(env: UpgradeHostOptions["env"]): boolean {
  return watchdogAbove(env, process.ppid) !== undefined;
}

/** Upgrades of the running executable, fetched from the masters and applied by the watchdog. */
export function upgradesOfHost(options: UpgradeHostOptions): {
  upgrades: Upgrades;
  watchdog: WatchdogAbove | undefined;
  /** From now on binaries can be fetched. */
  attach(connection: Pick<Connection, "connected" | "request">): void;
} {
  const { dataDir, env, clock } = options;
  let connection: Pick<Connection, "connected" | "request"> | undefined;
  const upgrades = createUpgrades({
    ...options,
    files: upgradeFiles(dataDir),
    isWatched: () => hasWatchdog(env),
    executable,
    fetch(manifest, path, signal) {
      if (connection === undefined) throw new SvcError("unavailable", "the bus is away");
      return fetchBinary({ ...options, connection, signal, seed: executable }, manifest, path);
    },
    async request(path, signal) {
      const argv = [path, "--version"];
      const env = cleanEnvironment(undefined);
      const run = runProcess({ argv, env, cwd: "/", timeoutMs: versionTimeoutMs, signal, clock });
      const { stdout } = await run;
      const said = /^svc-peel ([\w.+~-]{1,64})\n$/.exec(stdout.text)?.[1];
      if (said !== undefined) return said;
      throw new SvcError("bad_request", "the binary is not an svc-peel that runs on this host");
    },
  });
  return {
    upgrades,
    watchdog: watchdogAbove(env, process.ppid),
    attach(next) {
      connection = next;
    },
  };
}
