import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Clock, sleep } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { readTextFile, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { makePrivateDirectory, writing } from "../../base/files/new-files.ts";
import type { Log } from "../../base/log.ts";
import { isOfCluster, routesOf, serverNameOf, standAlone, storeDirOf } from "./cluster-block.ts";
import { freePort } from "./port.ts";
import { type BusServerOptions, startBusServer } from "./supervise.ts";

const retryMs = 2_000;

/** What moves the data of a server that was alone. It knows how to talk to servers; this file knows where data is. */
export interface Movers {
  /** Saves everything on the server at this URL to a new directory. */
  save(url: string, backup: string): Promise<void>;
  /**
   * Puts what was saved onto the cluster, and returns when all of it is there. What is there already is left as it
   * is, so that it can be repeated.
   *
   * @param hosts of the other servers
   * @throws SvcError `conflict` where the cluster has something else
   */
  restore(backup: string, hosts: readonly string[]): Promise<void>;
}

/**
 * Moves the data of a server that was alone to the cluster that its configuration is a part of now, before the server
 * starts there: a server of a cluster does not see what it stored alone, and removes it in the end. Each step can be
 * repeated after a crash. What was stored stays in the directory `before-the-cluster`.
 *
 * @throws SvcError when it cannot work at all; the reason of the signal
 */
export async function moveToCluster(
  options: Omit<BusServerOptions, "onRestart"> & { movers: Movers },
): Promise<void> {
  const { dir, movers, clock, log, signal } = options;
  const config = join(dir, "nats-server.conf");
  // A missing one is reported where the server starts.
  if (!existsSync(config)) return;
  const text = readTextFile(config, "the configuration of the embedded bus");
  const storeDir = storeDirOf(text);
  if (storeDir === undefined) return;
  const [store, aside] = [join(storeDir, "jetstream"), join(dir, "moving")];
  const moved = join(aside, "jetstream");
  if (!isOfCluster(text)) {
    // An operator took the configuration back before the data was on the cluster.
    if (existsSync(moved) && !existsSync(store)) {
      writing(store, () => renameSync(moved, store));
      rmSync(aside, { recursive: true, force: true });
      log.warn("the bus continues alone: its configuration has no cluster any more");
    }
    return;
  }
  if (isOfOneServer(store)) {
    if (existsSync(moved)) {
      throw new SvcError(
        "conflict",
        `${moved} and ${store} both hold data of this server: move one of them away`,
      );
    }
    writing(moved, () => {
      makePrivateDirectory(aside);
      renameSync(store, moved);
    });
  }
  if (!existsSync(moved)) return;
  log.info("the data of this server moves to the cluster", { from: moved });
  const backup = join(aside, "backup");
  if (!existsSync(join(backup, "backup.json"))) {
    rmSync(backup, { recursive: true, force: true });
    await save(text, { ...options, aside, backup });
  }
  const own = serverNameOf(text);
  const others = routesOf(text).filter((host) => host !== own);
  await untilRestored(() => movers.restore(backup, others), { clock, log, signal });
  const kept = join(dir, "before-the-cluster");
  rmSync(kept, { recursive: true, force: true });
  writing(kept, () => renameSync(aside, kept));
  log.info("the data of this server is on the cluster", { kept });
}

async function save(
  text: string,
  {
    aside,
    backup,
    movers,
    ...options
  }: Parameters<typeof moveToCluster>[0] & { aside: string; backup: string },
): Promise<void> {
  const port = await freePort();
  const own = standAlone(text, { port, storeDir: aside });
  writing(aside, () => writeFileAtomic(join(aside, "nats-server.conf"), own, secretMode));
  const server = await startBusServer({ ...options, dir: aside, onRestart: () => {} });
  try {
    await movers.save(`tls://127.0.0.1:${port}`, backup);
  } finally {
    await server.stop();
  }
}

async function untilRestored(
  restore: () => Promise<void>,
  { clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<void> {
  let said = "";
  for (;;) {
    try {
      return await restore();
    } catch (thrown) {
      if (thrown instanceof SvcError && thrown.kind === "conflict") throw thrown;
      const error = describeError(thrown);
      if (error !== said) log.warn("the cluster does not take the data yet", { error, retry_in_ms: retryMs });
      said = error;
    }
    await sleep(clock, retryMs, signal);
  }
}

/**
 * Whether a JetStream directory is one of a server that was alone.
 *
 * @param store holds a directory for each account; that of the system account has the group of a cluster
 */
function isOfOneServer(store: string): boolean {
  if (!existsSync(store)) return false;
  const accounts = readdirSync(store);
  const holds = (account: string, name: string) => existsSync(join(store, account, name));
  return !accounts.some((one) => holds(one, "_js_")) && accounts.some((one) => holds(one, "streams"));
}
